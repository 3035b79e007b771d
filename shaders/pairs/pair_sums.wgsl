// uses: common/wide, common/workgroup, pairs/pair_params
// needs: counted

// Layout of `pair_offsets` in schemes with one entry per object. Places of pairs follow from tiles and sums, without a
// scan pass.
//   tiles   one per workgroup of rows: the place of each row's pairs in the tile, then the tile's number of pairs
//   sums    one per tile after the first, as 64 bits, low word first
//   claims  number of claimed chunks of `pair_cache`, or more if some claims failed
//   words   next place of each entry between rounds
//
// Sum n adds up the tiles below n, from n with its last nonzero hex digit set to 0: sum 0x230 covers tiles 0x200 to
// 0x22f. So the count before tile 0x231 is sum 0x200 + sum 0x230 + sum 0x231. A counting pass adds a tile's count to
// each sum that covers the tile.

const TILE_WORDS: u32 = 257u;
const DIGIT_BITS: u32 = 4u;
const DIGITS: u32 = 16u;

fn row_word(row: u32) -> u32 {
    return row + row / WORKGROUP;
}

fn last_tile() -> u32 {
    return pair_params.rows / WORKGROUP;
}

fn sum_place(number: u32) -> u32 {
    return TILE_WORDS * (last_tile() + 1u) + 2u * (number - 1u);
}

fn claimed_chunks() -> u32 {
    return sum_place(last_tile() + 1u);
}

fn sums_end() -> u32 {
    return claimed_chunks() + 1u;
}

// Returns the number of pairs in all earlier tiles.
fn before_tile(tile: u32) -> vec2<u32> {
    var sum = vec2<u32>(0u);
    for (var shift = 0u; shift < 32u && (tile >> shift) != 0u; shift += DIGIT_BITS) {
        let digits = tile >> shift;
        let place = sum_place(digits << shift);
        let has_digit = digits % DIGITS != 0u;
        sum = add64(sum, select(vec2<u32>(0u), vec2<u32>(counted(place), counted(place + 1u)), has_digit));
    }
    return sum;
}
