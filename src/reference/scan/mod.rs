pub mod scan_apply;
pub mod scan_reduce;
pub mod scan_spine;

use crate::layout::blocks::ScanParams;

/// Runs all three passes: replaces `data` by its exclusive prefix sums and writes the total to the counters.
pub fn scan(scan: &ScanParams, data: &mut [u32], counters: &mut [u32]) {
    let mut tile_sums = scan_reduce::scan_reduce(scan, data);
    scan_spine::scan_spine(scan, &mut tile_sums, counters);
    scan_apply::scan_apply(scan, data, &tile_sums);
}
