// uses: common/counters, common/round, common/round_counters, queries/query

// What a walk adds to the counters.

// Ahead of the walk, which then need not carry what it says.
fn begin_counters(query: Query) {
    if (!query.valid && is_first_of_all()) {
        atomicAdd(&counters[COUNTER_QUERIES_INVALID], 1u);
    }
}

fn finish_counters() {
    note_rounds();
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[COUNTER_QUERY_CANDIDATES], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[COUNTER_QUERY_CANDIDATES + 1u], 1u);
        }
    }
}
