use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// Counts the keys: `[row][digit value]`, with rows as in `shaders/sort/sort_tiles.wgsl`.
pub fn sort_histogram(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; sort.count_words() as usize];
    for (tile, of_tile) in tile_counts(sort, grid, keys).enumerate() {
        let rows: Vec<_> = (0..=sort.levels).map(|level| sort.row(level, tile)).collect();
        for (digit, count) in of_tile.into_iter().enumerate() {
            rows.iter().for_each(|row| counts[row + digit] += count);
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
