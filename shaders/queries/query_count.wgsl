// uses: common/candidates, common/counters, common/round, common/round_counters, common/workgroup, queries/query
// uses: queries/query_input, queries/query_params

// Counts the results of each query. A last count of 0 follows: its exclusive prefix sum is the total.

@group(0) @binding(7) var<storage, read_write> query_offsets: array<u32>;

fn distance_limit() -> u32 {
    return MISS;
}

fn accept_result(query: Query, object: u32, distance: u32) {
    found += 1u;
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index < round.walks) {
        let query = begin_query(index);
        let answer = answer_of(query, index);
        count_invalid(query.valid, COUNTER_QUERIES_INVALID);
        begin_round();
        if (!is_first_of_all()) {
            found = query_offsets[answer];
        }
        walk_query(query);
        record_rounds();
        add_candidates(COUNTER_QUERY_CANDIDATES);
        query_offsets[answer] = found;
    } else if (index == round.walks) {
        query_offsets[query_params.count] = 0u;
    }
}
