//! Twin of `shaders/sort_histogram.wgsl`.

use super::blocks::{DIGITS, SORT_TILE, SortParams};
use crate::grid::Grid;

/// How many keys of each tile of 1920 have each digit.
///
/// Returns `256 * tiles` words as `[digit][tile]`, so that one exclusive scan over all of them gives every tile its
/// places.
pub fn sort_histogram(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let tiles = sort.tiles as usize;
    let mut counts = vec![0; DIGITS * tiles];
    let keys = &keys[..keys.len().min(grid.entry_count as usize)];
    for (tile, keys) in keys.chunks(SORT_TILE).take(tiles).enumerate() {
        for &key in keys {
            counts[sort.digit_of(key) * tiles + tile] += 1;
        }
    }
    counts
}
