// uses: common/prelude, common/round, common/workgroup, queries/query_images, queries/query_input

// The walk once more, writing the objects whose places fall into the page that the output buffer shows. What earlier
// rounds wrote of a query stands behind the offsets.

@group(0) @binding(7) var<storage, read_write> query_offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> query_objects: array<u32>;

// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> place_of_next: u32;

fn distance_limit() -> u32 {
    return MISS;
}

fn accept_result(object: u32, distance: u32) {
    let place = place_of_next;
    if (place >= params.first_result && place - params.first_result < params.result_capacity && place != NO_PLACE) {
        query_objects[place - params.first_result] = object;
    }
    place_of_next = place + select(1u, 0u, place == NO_PLACE);
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index >= params.asker_count) {
        return;
    }
    let query = begin_query(index);
    let answer = answer_of(query, index);
    place_of_next = query_offsets[answer];
    let end = query_offsets[answer + 1u];
    // Nothing of this query shows in the page; a page's end past 32 bits lies past every place.
    let window_end = params.first_result + min(params.result_capacity, NO_PLACE - params.first_result);
    if (place_of_next == end || end <= params.first_result || place_of_next >= window_end) {
        return;
    }
    let progress = params.query_count + 1u + answer;
    if (!is_first_of_all()) {
        place_of_next = query_offsets[progress];
    }
    if (place_of_next >= window_end || (place_of_next == end && end != NO_PLACE)) {
        return;
    }
    begin_round();
    walk_query(query);
    if (!is_last_of_all()) {
        query_offsets[progress] = place_of_next;
    }
}
