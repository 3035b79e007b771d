//! Twin of `shaders/scan/scan_apply.wgsl`.

use super::scan_reduce::join;
use crate::layout::blocks::{SCAN_TILE, ScanParams, saturate64};

/// Third of three scan passes: every word becomes the sum of all words before it, or the largest `u32` where that is
/// less.
pub fn scan_apply(scan: &ScanParams, data: &mut [u32], tile_sums: &[[u32; 2]]) {
    let count = data.len().min(scan.count as usize);
    for (tile, &sum) in data[..count].chunks_mut(SCAN_TILE).zip(tile_sums) {
        let mut running = join(sum);
        for word in tile {
            let value = std::mem::replace(word, saturate64(running));
            running = running.wrapping_add(u64::from(value));
        }
    }
}
