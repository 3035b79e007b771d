use crate::layout::blocks::{SCAN_TILE, ScanParams};

/// Returns the 64-bit sum of each tile of 2048 words, low word first.
pub fn scan_reduce(scan: &ScanParams, data: &[u32]) -> Vec<[u32; 2]> {
    data[..data.len().min(scan.count as usize)]
        .chunks(SCAN_TILE)
        .map(|tile| split(tile.iter().map(|&word| u64::from(word)).sum()))
        .collect()
}

pub(crate) fn split(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

pub(crate) fn join(words: [u32; 2]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}
