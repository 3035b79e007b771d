// uses: sort/sort

// Layout of the counts by digit value. The counts of a tile are contiguous, and so are the sums of a group of tiles.
// The scatter pass adds up the sums of earlier groups and the counts of earlier tiles in its group, so no scan pass is
// needed. There are about as many groups as tiles per group.

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
