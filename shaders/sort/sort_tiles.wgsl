// uses: sort/sort

// Counts of a tile are contiguous. So are the sums of a group of tiles, which the histogram pass adds up. A scatter
// pass finds the number of keys in earlier tiles from few words, so the counts need no scan pass. The number of groups
// is about the number of tiles per group.

// Maximum bits of a digit (also read by Rust code), and number of its values.
const MAX_DIGIT_BITS: u32 = 8u;
const MAX_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit value, and `sort_scatter` sorts twice by four bits.
const_assert MAX_DIGITS == 1u << MAX_DIGIT_BITS && MAX_DIGIT_BITS == 8u;

fn count_word(tile: u32, digit: u32) -> u32 {
    return (tile << sort.bits) + digit;
}

fn total_word(digit: u32) -> u32 {
    return sort.sums + digit;
}

fn group_word(tile_group: u32, digit: u32) -> u32 {
    return sort.sums + ((tile_group + 1u) << sort.bits) + digit;
}
