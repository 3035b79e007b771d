// uses: sort/sort

// Where tiles are counted. The counts of a tile lie side by side, and so do those of a group of tiles, which are summed
// up as tiles are counted. So who moves a tile finds what earlier tiles have by adding few words, and the counts need
// no pass of their own to be scanned (a reduction in two steps). Groups are about as many as the tiles of one.

// Largest number of bits of a digit, and the number of digits of that width. The host reads the first from here.
const MOST_DIGIT_BITS: u32 = 8u;
const MOST_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit. `sort_scatter` has 128, and sorts a tile by four bits at a
// time.
const_assert MOST_DIGITS == 1u << MOST_DIGIT_BITS && MOST_DIGIT_BITS == 8u;

fn count_word(tile: u32, digit: u32) -> u32 {
    return (tile << sort.bits) + digit;
}

// The sum over all tiles.
fn total_word(digit: u32) -> u32 {
    return sort.sums + digit;
}

fn group_word(tile_group: u32, digit: u32) -> u32 {
    return sort.sums + ((tile_group + 1u) << sort.bits) + digit;
}
