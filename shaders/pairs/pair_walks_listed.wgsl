// uses: common/workgroup

// The entries that `pair_emit_kept` left to walk: their number, and then they, in no particular order.

@group(0) @binding(9) var<storage, read> pair_walks: array<u32>;

fn walk_count() -> u32 {
    return pair_walks[0];
}

fn walking_entry(place: u32) -> u32 {
    return pair_walks[1u + place];
}

fn walking_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}
