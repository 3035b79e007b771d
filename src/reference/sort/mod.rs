pub mod sort_histogram;
pub mod sort_histogram_serial;
pub mod sort_scan_serial;
pub mod sort_scatter;
pub mod sort_scatter_serial;

use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

pub(crate) fn sort_digit(sort: &SortParams, grid: &Grid, keys: &[u32], values: &[u32]) -> (Vec<u32>, Vec<u32>) {
    if sort.tile == 0 {
        let mut counts = sort_histogram_serial::sort_histogram_serial(sort, grid, keys);
        sort_scan_serial::sort_scan_serial(sort, &mut counts);
        sort_scatter_serial::sort_scatter_serial(sort, grid, keys, values, &counts)
    } else {
        let counts = sort_histogram::sort_histogram(sort, grid, keys);
        sort_scatter::sort_scatter(sort, grid, keys, values, &counts)
    }
}
