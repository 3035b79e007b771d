//! Reference passes of `shaders/pairs/pair_sums.wgsl` and `shaders/pairs/pair_sums_single_cell.wgsl`.

use crate::api::counters::{Status, word};
use crate::layout::blocks::{PairBlocks, add64, saturate64, wide};
use crate::shared::wgsl::number;

const TILE_WORDS: usize = number("pairs/pair_sums", "TILE_WORDS") as usize;
const TILE: usize = TILE_WORDS - 1;
const DIGIT_BITS: usize = number("pairs/pair_sums", "DIGIT_BITS") as usize;

/// Index of a row's word. Each tile has a further word for its sum.
pub const fn row_word(row: usize) -> usize {
    row + row / TILE
}

pub const fn tile_words(params: &PairBlocks) -> usize {
    TILE_WORDS * (params.pairs.rows as usize / TILE + 1)
}

/// Index of the number of claimed chunks, which follows the sums.
pub const fn claimed_word(params: &PairBlocks) -> usize {
    tile_words(params) + 2 * (params.pairs.rows as usize / TILE)
}

/// Returns the words before counting: `unwritten` in all tiles, sums of 0, and no claimed chunks.
pub fn initial_words(params: &PairBlocks, unwritten: u32) -> Vec<u32> {
    let mut words = vec![unwritten; tile_words(params)];
    words.resize(claimed_word(params) + 1, 0);
    words
}

const fn sum_place(number: usize) -> usize {
    2 * (number - 1)
}

fn before_tile(sums: &[u32], tile: usize) -> u64 {
    let digits = (0..32).step_by(DIGIT_BITS).filter(|shift| tile >> shift & 0xf != 0);
    digits.fold(0, |sum: u64, shift| {
        sum.wrapping_add(wide(sums, sum_place(tile >> shift << shift)))
    })
}

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

/// Adds the counts of the rows from `first` on to `words`, as places in tiles and sums of tiles. The first tile may
/// hold earlier rows. Adds the total to the needed pairs. Sets the status bit if they exceed the capacity.
pub fn add_up(params: &PairBlocks, first: usize, counts: &[u32], words: &mut [u32], counters: &mut [u32]) {
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
    if saturate64(wide(counters, word::PAIRS_NEEDED)) > params.pairs.capacity {
        counters[word::STATUS] |= Status::PAIRS.bits();
    }
}

/// Returns the place of each row's first pair, then the end of the last row's pairs.
pub fn places(params: &PairBlocks, words: &[u32]) -> Vec<u32> {
    let (tiles, sums) = words.split_at(tile_words(params));
    let place = |row: usize| saturate64(before_tile(sums, row / TILE)).saturating_add(tiles[row_word(row)]);
    (0..=params.pairs.rows as usize).map(place).collect()
}
