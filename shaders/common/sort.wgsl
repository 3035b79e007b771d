// One digit of a stable LSD radix sort of keys with values. The counts lie as `[digit][tile]`, so that one exclusive
// scan over all of them gives every tile its places.

const DIGITS: u32 = 256u;
const SORT_WORKGROUP: u32 = 128u;
const KEYS_PER_THREAD: u32 = 15u;
const SORT_TILE: u32 = 1920u;

struct SortParams {
    shift: u32,
    tiles: u32,
}

@group(0) @binding(0) var<uniform> sort: SortParams;

fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

fn digit_of(key: u32) -> u32 {
    return (key >> sort.shift) & (DIGITS - 1u);
}
