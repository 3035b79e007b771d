use super::event::{self, Generations};
use crate::api::counters::Status;
use crate::api::types::{Pair, PairEvent};
use crate::layout::blocks::EventParams;
use crate::layout::counters::event_word as word;

/// Returns the rows of a step: persisting pairs, then begun ones, both in pair order. Writes the number of begun pairs
/// and the bits of `status` that report missing pairs. `marks` are the scanned marks of
/// [`event_match`](super::event_match::event_match()), with their total in `counters`.
pub fn event_emit(
    params: &EventParams,
    pairs: &[Pair],
    generations: Generations<'_>,
    status: u32,
    marks: &[u32],
    counters: &mut [u32],
) -> Vec<PairEvent> {
    let persists = |&pair: &usize| marks[pair + 1] != marks[pair];
    let (persisting, begun): (Vec<_>, Vec<_>) = (0..pairs.len()).partition(persists);
    counters[word::BEGUN] = begun.len() as u32;
    counters[word::STATUS] = status & Status::LACKS_PAIRS.bits();
    let rows = persisting.into_iter().chain(begun);
    rows.map(|pair| event::row_of(params, generations, pairs[pair]))
        .collect()
}
