// uses: common/round, common/workgroup, pairs/pair_static, pairs/pair_static_{variant}
// uses: pairs/pair_write, queries/query_image_own

// Writes the pairs of moving and static objects: from cached partners, or by a second walk if a moving object has more
// partners. The next place of each moving object, from earlier rounds, follows the offsets.

fn accept_result(query: Query, other: u32, distance: u32) {
    write_pair(query.querier, other);
}

// Returns false if some partners are not cached. The second walk then writes all pairs of the row.
fn write_cached(row: u32, places: vec2<u32>) -> bool {
    if (!all_cached(places, STATIC_CACHED)) {
        return false;
    }
    let own = own_records[2u * row].w;
    for (var k = 0u; k < min(places.y - places.x, STATIC_CACHED); k += 1u) {
        write_pair(own, cached_partner(row, k));
    }
    return true;
}

fn needs_walk(row: u32, index: u32) -> bool {
    if (round.first == 0u) {
        let places = places_of(index);
        return begin_at(places) && !write_cached(row, places);
    }
    return resume_row(index, STATIC_CACHED);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row >= round.walks) {
        return;
    }
    let index = round.first_row + row;
    if (!needs_walk(row, index)) {
        return;
    }
    begin_round();
    walk_static(row);
    if (round.is_last == 0u) {
        pair_offsets[progress_of(index)] = place_of_next;
    }
}
