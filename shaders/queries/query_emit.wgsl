// uses: common/page, common/round, common/workgroup, queries/query_input, queries/query_params

// Writes the results that are in the page, by a second walk. The next place of each query, from earlier rounds, follows
// the offsets.

@group(0) @binding(7) var<storage, read_write> query_offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> query_objects: array<u32>;

fn distance_limit() -> u32 {
    return MISS;
}

fn accept_result(query: Query, object: u32, distance: u32) {
    if (shows_next(query_params.first, query_params.capacity)) {
        query_objects[place_of_next - query_params.first] = object;
    }
    advance_place();
}

// A separate function: see decision 45.
fn must_walk(answer: u32) -> bool {
    place_of_next = query_offsets[answer];
    let end = query_offsets[answer + 1u];
    if (!shows(query_params.first, query_params.capacity, place_of_next, end)) {
        return false;
    }
    if (!is_first_of_all()) {
        place_of_next = query_offsets[query_params.count + 1u + answer];
    }
    return has_more(query_params.first, query_params.capacity, end);
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index >= round.walks) {
        return;
    }
    let query = begin_query(index);
    let answer = answer_of(query, index);
    if (must_walk(answer)) {
        begin_round();
        walk_query(query);
        if (!is_last_of_all()) {
            query_offsets[query_params.count + 1u + answer] = place_of_next;
        }
    }
}
