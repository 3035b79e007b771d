use crate::layout::blocks::SortParams;

/// Replaces the counts of each digit value by their prefix sums over the tiles. Writes the totals after all counts.
pub fn sort_scan_serial(sort: &SortParams, digit_counts: &mut [u32]) {
    let (counts, totals) = digit_counts.split_at_mut(sort.digits() * sort.tiles as usize);
    for (counts, total) in counts.chunks_exact_mut(sort.tiles as usize).zip(totals) {
        let mut running = 0u32;
        for count in counts {
            let before = running;
            running = running.wrapping_add(*count);
            *count = before;
        }
        *total = running;
    }
}
