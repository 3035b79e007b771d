// uses: common/workgroup, pairs/pair_params, pairs/pair_walk_multi_cell

// Writes the pairs of the uniform scheme. Every entry walks again, since no partners are cached.

fn walk_count() -> u32 {
    return pair_params.entry_rows;
}

fn walking_row(place: u32) -> u32 {
    return place;
}

fn walking_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_workgroup(group, groups);
}
