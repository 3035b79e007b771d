//! Reference pass of `shaders/queries/query_nearest.wgsl`.

use super::query::squared_float;
use super::query_count::finish_counters;
use super::query_rings::walk_nearest;
use super::query_walk::QueryReads;
use crate::api::queries::NearestObject;
use crate::layout::blocks::Overrides;
use crate::layout::grid::Params;
use crate::shared::runs::{Walked, map};

/// Returns the `params.nearest` nearest objects of each query over all `walks`, by distance, then index, padded with
/// [`NearestObject::NONE`]. Adds the numbers of invalid queries and box tests to the counters.
pub fn query_nearest(
    params: &Params,
    walks: &[QueryReads<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<NearestObject> {
    let wanted = params.nearest as usize;
    let mut nearest = vec![NearestObject::NONE; wanted * params.query_count as usize];
    let mut answers = vec![Vec::<(u32, u32)>::new(); params.query_count as usize];
    for (walk, input) in walks.iter().enumerate() {
        let nearer = |index: u32| {
            let (query, answer) = input.begin(params, index);
            let mut found = answers[answer as usize].clone();
            let limit = |found: &[(u32, u32)]| found.get(wanted - 1).map_or(u32::MAX, |&(distance, _)| distance);
            let before = limit(&found);
            let candidates = walk_nearest(params, input, overrides, &query, before, |object, distance| {
                if let Err(place) = found.binary_search(&(distance, object))
                    && place < wanted
                {
                    found.truncate(wanted - 1);
                    found.insert(place, (distance, object));
                }
                limit(&found)
            });
            let is_invalid = !query.valid;
            (answer, found, Walked { candidates, is_invalid })
        };
        for (answer, found, walked) in map(input.count(params), nearer) {
            answers[answer as usize] = found;
            finish_counters(counters, walked, walk == 0);
        }
    }
    for (slots, found) in nearest.chunks_mut(wanted.max(1)).zip(answers) {
        for (slot, (distance, object)) in slots.iter_mut().zip(found) {
            *slot = NearestObject {
                object,
                squared_distance: squared_float(distance),
            };
        }
    }
    nearest
}
