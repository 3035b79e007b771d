// uses: sort/sort

// Layout of the counts: a row of words per group of tiles, then per tile, a word per digit value. The scatter pass adds
// up the rows of groups and of earlier tiles in its group, so no scan pass is needed.

// Maximum bits of a digit (also read by Rust code), and number of its values.
const MAX_DIGIT_BITS: u32 = 8u;
const MAX_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit value, and `sort_scatter` sorts twice by four bits.
const_assert MAX_DIGITS == 1u << MAX_DIGIT_BITS && MAX_DIGIT_BITS == 8u;

fn group_of(tile: u32) -> u32 {
    return tile >> sort.group_bits;
}

fn tile_groups() -> u32 {
    return group_of(sort.tiles - 1u) + 1u;
}

// First word of a group's row. `counts` is the first word of all rows.
fn group_row(counts: u32, bits: u32, group: u32) -> u32 {
    return counts + (group << bits);
}

fn tile_row(counts: u32, bits: u32, tile: u32) -> u32 {
    return group_row(counts, bits, tile_groups() + tile);
}
