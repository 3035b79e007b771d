//! Sums of pair counts, and places of pairs: twin of `shaders/pairs/pair_sums.wgsl`,
//! `shaders/pairs/pair_sums_single_cell.wgsl` and `shaders/pairs/pair_write.wgsl`.

use crate::api::counters::{Status, word};
use crate::layout::blocks::{add64, saturate64, wide};
use crate::layout::grid::Params;
use crate::shared::wgsl::number;

/// Words of a tile: those of its rows, and one more.
const TILE_WORDS: usize = number("pairs/pair_sums", "TILE_WORDS") as usize;
/// Rows of a tile.
const TILE: usize = TILE_WORDS - 1;
/// Bits of a digit of a tile's number.
const DIGIT_BITS: usize = number("pairs/pair_sums", "DIGIT_BITS") as usize;

/// Where the word of a row lies.
pub const fn row_word(row: usize) -> usize {
    row + row / TILE
}

/// Words of all rows.
pub const fn tile_words(params: &Params) -> usize {
    TILE_WORDS * (params.pair_rows as usize / TILE + 1)
}

/// The words that counting writes, where nothing was counted yet. Those of rows are `unwritten`, sums are 0.
pub fn no_words(params: &Params, unwritten: u32) -> Vec<u32> {
    let mut words = vec![unwritten; tile_words(params)];
    words.resize(words.len() + 2 * (params.pair_rows as usize / TILE), 0);
    words
}

/// Where the sum of a number above 0 lies among the sums.
const fn sum_place(number: usize) -> usize {
    2 * (number - 1)
}

/// What the tiles before this one have.
fn before_tile(sums: &[u32], tile: usize) -> u64 {
    let digits = (0..32).step_by(DIGIT_BITS).filter(|shift| tile >> shift & 0xf != 0);
    digits.fold(0, |sum: u64, shift| {
        sum.wrapping_add(wide(sums, sum_place(tile >> shift << shift)))
    })
}

/// Adds what a tile has to the sums of its later siblings, in each digit.
fn add_to_sums(sums: &mut [u32], tile: usize, value: u64) {
    let last = sums.len() / 2;
    for shift in (0..32).step_by(DIGIT_BITS) {
        let own = tile >> shift;
        let later = own + 1..(own | 0xf) + 1;
        for sibling in later.take_while(|sibling| sibling << shift <= last) {
            add64(sums, sum_place(sibling << shift), value);
        }
    }
}

/// Counts the rows from `first` on, which may share their first tile with rows that were counted before. Writes places
/// within tiles and adds to sums, to the word past the rows as well. Adds to the pairs that are needed, and sets the
/// status bit where those are more than the output has room for.
pub fn add_up(params: &Params, first: usize, counts: &[u32], words: &mut [u32], counters: &mut [u32]) {
    let end = first + counts.len();
    let (tiles, sums) = words.split_at_mut(tile_words(params));
    for (tile, words) in tiles
        .chunks_mut(TILE_WORDS)
        .enumerate()
        .take(end / TILE + 1)
        .skip(first / TILE)
    {
        let is_shared = tile * TILE < first || first > 0 && tile * TILE == first;
        let start = if is_shared { u64::from(words[TILE]) } else { 0 };
        let mut place = start;
        for row in first.max(tile * TILE)..((tile + 1) * TILE).min(end + 1) {
            words[row % TILE] = saturate64(place);
            place += counts.get(row - first).map_or(0, |&count| u64::from(count));
        }
        words[TILE] = saturate64(place);
        add_to_sums(sums, tile, place - start);
        add64(counters, word::PAIRS_NEEDED, place - start);
    }
    if saturate64(wide(counters, word::PAIRS_NEEDED)) > params.pair_capacity {
        counters[word::STATUS] |= Status::PAIRS.bits();
    }
}

/// The places of all rows and of the word past them.
pub fn places(params: &Params, words: &[u32]) -> Vec<u32> {
    let (tiles, sums) = words.split_at(tile_words(params));
    let place = |row: usize| saturate64(before_tile(sums, row / TILE)).saturating_add(tiles[row_word(row)]);
    (0..=params.pair_rows as usize).map(place).collect()
}
