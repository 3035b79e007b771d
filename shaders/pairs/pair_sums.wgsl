// uses: common/prelude, common/wide, common/workgroup
// needs: counted

// Layout of pair counts, from which the places of pairs are found without a scan.
//   tiles   one per workgroup of rows: the place within the tile of each row's pairs, then the tile's number of pairs
//   sums    one per tile number above 0, as 64 bits, low word first
//   words   progress of each entry between rounds
//
// A sum belongs to the last nonzero base-16 digit of its number: number 0x230 has the sum of tiles 0x200 to 0x22f. The
// count before a tile is therefore one sum per nonzero digit of its number. Counting adds a tile's count to the sums of
// its later siblings in each digit.

const TILE_WORDS: u32 = 257u;
const DIGIT_BITS: u32 = 4u;
const DIGITS: u32 = 16u;

fn row_word(row: u32) -> u32 {
    return row + row / WORKGROUP;
}

fn last_tile() -> u32 {
    return params.pair_rows / WORKGROUP;
}

fn sum_place(number: u32) -> u32 {
    return TILE_WORDS * (last_tile() + 1u) + 2u * (number - 1u);
}

fn sums_end() -> u32 {
    return sum_place(last_tile() + 1u);
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
