use super::scan_reduce::{join, split};
use crate::api::counters::word;
use crate::layout::blocks::{ScanParams, saturate64};

/// Replaces the tiles' sums by offsets and writes the total to the counters. Sets the status bit if the total exceeds
/// the capacity.
pub fn scan_spine(scan: &ScanParams, tile_sums: &mut [[u32; 2]], counters: &mut [u32]) {
    let mut carry = 0u64;
    for sum in tile_sums {
        let value = join(*sum);
        *sum = split(carry);
        carry = carry.wrapping_add(value);
    }
    let total = scan.total_word as usize;
    counters[total..total + 2].copy_from_slice(&split(carry));
    if saturate64(carry) > scan.capacity {
        counters[word::STATUS] |= scan.status_bit;
    }
}
