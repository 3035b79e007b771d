// uses: common/round, common/workgroup, pairs/pair_emit_{variant}, pairs/pair_excludes, pairs/pair_filter
// uses: pairs/pair_own, pairs/pair_write
// needs: walk_count, walk_pairs, walking_group, walking_row

// Writes the pairs of entries whose partners are not all cached, by a second walk. The next place of each row, from
// earlier rounds or `pair_replay`, follows the offsets.

fn visit_candidate(own: Own, other: u32, meets: bool) -> bool {
    if (meets) {
        if (admitted(own, other) && !is_excluded(own.object, other)) {
            write_pair(own.object, other);
        }
    }
    return meets;
}

fn needs_walk(row: u32) -> bool {
    if (round.first == 0u) {
        return begin_row(row);
    }
    return resume_row(row, 0u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = walking_group(group, groups) * WORKGROUP + local;
    if (place >= walk_count()) {
        return;
    }
    let row = walking_row(place);
    // A loop of one iteration: CPU drivers skip loops that no lane enters, but execute both sides of branches.
    for (var walks = needs_walk(row); walks; walks = false) {
        begin_round();
        walk_pairs(row);
        if (round.is_last == 0u) {
            pair_offsets[progress_of(row)] = place_of_next;
        }
    }
}
