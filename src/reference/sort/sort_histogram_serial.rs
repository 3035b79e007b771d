use super::sort_histogram::tile_counts;
use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// Returns the number of keys, `[digit value][tile]`, then a word per digit value for the totals: 0 here, unwritten on
/// the GPU until [`sort_scan_serial`](super::sort_scan_serial::sort_scan_serial).
pub fn sort_histogram_serial(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let tiles = sort.tiles as usize;
    let mut counts = vec![0; sort.count_words() as usize];
    for (tile, of_serial_tile) in tile_counts(sort, grid, keys).enumerate() {
        for (digit, count) in of_serial_tile.into_iter().enumerate() {
            counts[digit * tiles + tile] = count;
        }
    }
    counts
}
