// uses: common/workgroup, pairs/pair_sums_multi_cell, pairs/pair_walk_multi_cell

// Counts the pairs of the uniform scheme. Caches neither partners nor bits, since its walk already binds the maximum
// number of buffers.

fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_workgroup(group, groups);
}

fn cache_partner(entry: u32, place: u32, other: u32, is_pair: bool) {
}

fn store_partners(index: u32, before: u32, count: u32) {
}

fn end_rows(entry: u32) {
}
