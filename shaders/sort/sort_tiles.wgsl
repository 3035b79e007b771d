// uses: sort/sort

// Layout of the counts: a row of words per group of tiles, then per tile, a word per digit value. The scatter pass adds
// up the rows of groups and of earlier tiles in its group, so no scan pass is needed.

// Maximum bits of a digit (also read by Rust code), and number of its values.
const MAX_DIGIT_BITS: u32 = 8u;
const MAX_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit value, and `sort_scatter` sorts twice by four bits.
const_assert MAX_DIGITS == 1u << MAX_DIGIT_BITS && MAX_DIGIT_BITS == 8u;

fn tile_groups() -> u32 {
    return ((sort.tiles - 1u) >> sort.group_bits) + 1u;
}
