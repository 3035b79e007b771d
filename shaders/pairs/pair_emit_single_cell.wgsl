// uses: common/workgroup, pairs/pair_test_clusters, pairs/pair_walk_single_cell

// Writes the pairs of the rows that `pair_emit_cached` listed.

// Number of listed rows, then the rows, unordered.
@group(0) @binding(9) var<storage, read> pair_walks: array<u32>;

fn walk_count() -> u32 {
    return pair_walks[0];
}

fn walking_row(place: u32) -> u32 {
    return pair_walks[1u + place];
}

fn walking_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}

fn append_bits(row: u32, bits: u32, count: u32) {
}
