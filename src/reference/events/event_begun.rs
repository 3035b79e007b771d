use crate::api::types::PairEvent;
use crate::layout::blocks::EventParams;
use crate::layout::counters::event_word as word;

/// Returns the begun pairs, up to the capacity.
pub fn event_begun(params: &EventParams, rows: &[PairEvent], counters: &[u32]) -> Vec<PairEvent> {
    let count = counters[word::BEGUN].min(params.begun_capacity) as usize;
    rows[counters[word::PERSISTING] as usize..][..count].to_vec()
}
