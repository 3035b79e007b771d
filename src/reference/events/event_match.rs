use super::event::{self, Generations};
use crate::api::types::{Pair, PairEvent};
use crate::layout::blocks::EventParams;

/// Looks up the `pairs` of a step among the rows of the previous step. Returns a mark for each pair and each previous
/// row: 1 if found, else 0. The lists of marks are one longer than the capacities.
pub fn event_match(
    params: &EventParams,
    pairs: &[Pair],
    generations: Generations<'_>,
    previous_rows: &[PairEvent],
    previous_table: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let mut marks = vec![0; params.pair_capacity as usize + 1];
    let mut matched = vec![0; params.previous_capacity as usize + 1];
    for (mark, &pair) in marks.iter_mut().zip(pairs) {
        let row = event::row_of(params, generations, pair);
        let found = event::find(previous_rows, previous_table, params.previous_mask, &row);
        if let Some(place) = found.checked_sub(1) {
            *mark = 1;
            matched[place as usize] = 1;
        }
    }
    (marks, matched)
}
