// One digit (range of bits) of a stable LSD radix sort of keys and values, by tiles of keys. For fields, see
// src/layout/blocks.rs.

struct SortParams {
    shift: u32,
    bits: u32,
    tile: u32,
    tiles: u32,
    sums: u32,
    group_tiles: u32,
    unwritten: u32,
}

@group(0) @binding(0) var<uniform> sort: SortParams;

fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

fn digits() -> u32 {
    return 1u << sort.bits;
}

fn digit_of(key: u32) -> u32 {
    return (key >> sort.shift) & (digits() - 1u);
}
