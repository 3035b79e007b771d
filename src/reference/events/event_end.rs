use crate::api::types::PairEvent;
use crate::layout::counters::event_word as word;

/// Returns the ended pairs in their previous order. Writes their number to the counters. `matched` are the scanned
/// marks of [`event_match`](super::event_match::event_match()).
pub fn event_end(previous_rows: &[PairEvent], matched: &[u32], counters: &mut [u32]) -> Vec<PairEvent> {
    counters[word::ENDED] = previous_rows.len() as u32 - counters[word::MATCHED];
    let marks = matched.windows(2);
    let ended = previous_rows
        .iter()
        .zip(marks)
        .filter(|(_, marks)| marks[0] == marks[1]);
    ended.map(|(&row, _)| row).collect()
}
