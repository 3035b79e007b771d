//! Reference pass of `shaders/sort/sort_histogram_serial.wgsl`.

use super::sort_histogram::tile_counts;
use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// Returns the keys of each digit and tile, `[digit][tile]`, then a word per digit for the totals: 0 here, unwritten on
/// the GPU until [`sort_scan_serial`](super::sort_scan_serial::sort_scan_serial).
pub fn sort_histogram_serial(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let tiles = sort.tiles as usize;
    let mut counts = vec![0; sort.counter_words() as usize];
    for (tile, of_serial_tile) in tile_counts(sort, grid, keys).enumerate() {
        for (digit, count) in of_serial_tile.into_iter().enumerate() {
            counts[digit * tiles + tile] = count;
        }
    }
    counts
}
