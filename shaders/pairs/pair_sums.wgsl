// uses: common/prelude, common/wide, common/workgroup
// needs: counted

// Where counting leaves what the places of pairs are found by, so that they need no scan. A tile is the rows of a
// workgroup: it has a word per row, with the place of the row's pairs within the tile, and a last one with the number
// of all of them.
//
// Sums of tiles lie behind all tiles, one per number of a tile above 0. It stands for the last digit of that number
// which is not 0, to the base of 16: number 0x230 has the sum of the tiles 0x200 to 0x22f. So what lies before a tile
// is as many sums as its number has digits, and counting adds what a tile has to the sums of its later siblings in each
// digit. Sums are 64-bit numbers of two words, low first.

const TILE_WORDS: u32 = 257u;
const DIGIT_BITS: u32 = 4u;
const DIGITS: u32 = 16u;

fn row_word(row: u32) -> u32 {
    return row + row / WORKGROUP;
}

// The highest number of a tile.
fn last_tile() -> u32 {
    return params.pair_rows / WORKGROUP;
}

// Where the sum of a number lies, which is not 0.
fn sum_place(number: u32) -> u32 {
    return TILE_WORDS * (last_tile() + 1u) + 2u * (number - 1u);
}

// Where the words behind the sums begin.
fn sums_end() -> u32 {
    return sum_place(last_tile() + 1u);
}

// What the tiles before this one have.
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
