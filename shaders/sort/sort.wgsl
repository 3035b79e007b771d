// One digit of a stable LSD radix sort of keys with values. Each tile of keys is counted and then moved.

struct SortParams {
    // Lowest bit of the digit, and how many it has.
    shift: u32,
    bits: u32,
    // Keys of a tile; 0 where tiles share the keys evenly.
    tile: u32,
    tiles: u32,
    // First word of the digit's sums.
    sums: u32,
    // Tiles whose counts are summed up together.
    group_tiles: u32,
    // So many values lie nowhere yet: each is that of the object of its place.
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
