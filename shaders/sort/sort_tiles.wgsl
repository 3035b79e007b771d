// uses: sort/sort

// Counts of a tile are contiguous, and so are the sums of a group of tiles, which the histogram adds up. A scatter
// finds the keys of earlier tiles from few words, so the counts need no scan pass. The number of groups is about that
// of tiles per group.

// Most bits of a digit (read by the host), and digits of that width.
const MAX_DIGIT_BITS: u32 = 8u;
const MAX_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit; `sort_scatter` sorts by four bits at a time.
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
