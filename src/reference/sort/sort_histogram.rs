use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DigitCounts {
    /// Number of keys by digit value in each tile, `[tile][digit value]`.
    pub tiles: Vec<u32>,
    /// Number of keys by digit value: in total, then per group of tiles, `[group][digit value]`.
    pub sums: Vec<u32>,
}

/// Counts the keys by digit value: per tile, per group of tiles, and in total.
pub fn sort_histogram(sort: &SortParams, grid: &Grid, keys: &[u32]) -> DigitCounts {
    let digits = sort.digits();
    let mut counts = DigitCounts {
        tiles: vec![0; sort.counter_words() as usize],
        sums: vec![0; sort.sum_words() as usize],
    };
    for (tile, of_tile) in tile_counts(sort, grid, keys).enumerate() {
        let group = 1 + tile / sort.group_tiles as usize;
        for (digit, count) in of_tile.into_iter().enumerate() {
            counts.tiles[tile * digits + digit] = count;
            counts.sums[digit] += count;
            counts.sums[group * digits + digit] += count;
        }
    }
    counts
}

/// Number of keys by digit value, for each tile that has keys.
pub(super) fn tile_counts(sort: &SortParams, grid: &Grid, keys: &[u32]) -> impl Iterator<Item = Vec<u32>> {
    let keys = &keys[..keys.len().min(grid.entry_count as usize)];
    let tiles = keys.chunks(sort.tile_keys(keys.len())).take(sort.tiles as usize);
    tiles.map(|keys| {
        let mut counts = vec![0; sort.digits()];
        keys.iter().for_each(|&key| counts[sort.digit_of(key)] += 1);
        counts
    })
}
