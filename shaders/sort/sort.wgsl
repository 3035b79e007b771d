// One digit (range of bits) of a stable LSD radix sort of keys and values, by tiles of keys. For fields, see
// src/layout/blocks.rs.

struct SortParams {
    shift: u32,
    bits: u32,
    tile: u32,
    tiles: u32,
    counts: u32,
    group_bits: u32,
    levels: u32,
    unwritten: u32,
    next_bits: u32,
    next_counts: u32,
}

@group(0) @binding(11) var<uniform> sort: SortParams;

fn digits() -> u32 {
    return 1u << sort.bits;
}

fn digit_of(key: u32) -> u32 {
    return (key >> sort.shift) & (digits() - 1u);
}
