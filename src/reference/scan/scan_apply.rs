use super::scan_reduce::join;
use crate::layout::blocks::{SCAN_TILE, ScanParams, saturate64};

/// Replaces each word by the sum of all earlier words, at most the largest `u32`.
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
