//! Twin of `shaders/sort/sort_histogram.wgsl` and `shaders/sort/sort_histogram_strips.wgsl`.

use crate::shared::blocks::SortParams;
use crate::shared::grid::Grid;

/// How many keys of each tile have each digit.
///
/// Returns `2^bits * tiles` words as `[digit][tile]`, and `2^bits` more that are 0 here and unwritten on the GPU:
/// [`sort_scan`](super::sort_scan::sort_scan) fills them.
pub fn sort_histogram(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let tiles = sort.tiles as usize;
    let mut counts = vec![0; sort.counter_words() as usize];
    let keys = &keys[..keys.len().min(grid.entry_count as usize)];
    for (tile, keys) in keys.chunks(sort.tile_keys(keys.len())).take(tiles).enumerate() {
        for &key in keys {
            counts[sort.digit_of(key) * tiles + tile] += 1;
        }
    }
    counts
}
