//! Twin of `shaders/sort/sort_histogram_strips.wgsl`.

use super::sort_histogram::tile_counts;
use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// How many keys of each strip have each digit.
///
/// Returns `2^bits * tiles` words as `[digit][strip]`, and `2^bits` more that are 0 here and unwritten on the GPU:
/// [`sort_scan_strips`](super::sort_scan_strips::sort_scan_strips) fills them.
pub fn sort_histogram_strips(sort: &SortParams, grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let strips = sort.tiles as usize;
    let mut counts = vec![0; sort.counter_words() as usize];
    for (strip, of_strip) in tile_counts(sort, grid, keys).enumerate() {
        for (digit, count) in of_strip.into_iter().enumerate() {
            counts[digit * strips + strip] = count;
        }
    }
    counts
}
