use super::sort_scatter::move_keys;
use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// [`sort_scatter`](super::sort_scatter::sort_scatter) with serial tiles. `digit_counts` is the output of
/// [`sort_scan_serial`](super::sort_scan_serial::sort_scan_serial).
pub fn sort_scatter_serial(
    sort: &SortParams,
    grid: &Grid,
    keys: &[u32],
    values: &[u32],
    digit_counts: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let tiles = sort.tiles as usize;
    let (counts, totals) = digit_counts.split_at(sort.digits() * tiles);
    let mut below = 0u32;
    let mut places = Vec::with_capacity(counts.len());
    for (counts, &total) in counts.chunks_exact(tiles).zip(totals) {
        places.extend(counts.iter().map(|&count| below.wrapping_add(count)));
        below = below.wrapping_add(total);
    }
    move_keys(sort, grid, keys, values, places)
}
