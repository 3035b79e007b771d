//! Twin of `shaders/queries/query_emit.wgsl`.

use super::query_walk::{QueryReads, walk_query};
use crate::shared::blocks::Overrides;
use crate::shared::grid::Params;

/// The walks once more, writing the objects whose places fall into the window of the output that starts at
/// `first_result`. Returns as many objects as the window shows.
pub fn query_emit(params: &Params, walks: &[QueryReads<'_>], overrides: Overrides, offsets: &[u32]) -> Vec<u32> {
    let first = u64::from(params.first_result);
    let all = offsets.last().map_or(0, |&end| u64::from(end.min(u32::MAX - 1)));
    let shown = all.saturating_sub(first).min(u64::from(params.result_capacity));
    let mut results = vec![0; shown as usize];
    let mut places: Vec<_> = offsets.iter().map(|&place| u64::from(place)).collect();
    for input in walks {
        for index in 0..input.count(params) {
            let (query, answer) = input.begin(params, index);
            let place = &mut places[answer as usize];
            // Nothing of this query shows in the window.
            if offsets[answer as usize + 1] <= params.first_result || *place >= first + shown {
                continue;
            }
            walk_query(params, input, overrides, &query, |object, _| {
                if (first..first + shown).contains(place) {
                    results[(*place - first) as usize] = object;
                }
                *place += 1;
            });
        }
    }
    results
}
