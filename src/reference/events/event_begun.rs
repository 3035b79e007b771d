//! Twin of `shaders/events/event_begun.wgsl`.

use super::event::word;
use crate::api::types::PairEvent;
use crate::shared::blocks::EventParams;

/// The rows of the pairs that begin, as many as there is room for.
pub fn event_begun(params: &EventParams, rows: &[PairEvent], counters: &[u32]) -> Vec<PairEvent> {
    let count = counters[word::BEGUN].min(params.begun_capacity) as usize;
    rows[counters[word::PERSISTING] as usize..][..count].to_vec()
}
