// What a walk adds to the counters at its end.

@group(0) @binding(8) var<storage, read_write> counters: array<atomic<u32>>;

fn finish_counters(query: Query) {
    if (!query.valid) {
        atomicAdd(&counters[COUNTER_QUERIES_INVALID], 1u);
    }
    if (!all_turns_taken()) {
        atomicOr(&counters[COUNTER_STATUS], STATUS_CUT);
    }
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[COUNTER_QUERY_CANDIDATES], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[COUNTER_QUERY_CANDIDATES + 1u], 1u);
        }
    }
}
