use super::query::squared_float;
use super::query_count::finish_counters;
use super::query_rings::walk_nearest;
use super::query_walk::QueryReads;
use crate::api::queries::NearestObject;
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::shared::runs::{self, Walked};

/// The nearest objects found so far, by distance ([`distance_key`](super::query::distance_key)), then index.
#[derive(Clone)]
pub(crate) struct Nearest {
    wanted: usize,
    found: Vec<(u32, u32)>,
}

impl Nearest {
    pub const fn new(wanted: usize) -> Self {
        let found = Vec::new();
        Self { wanted, found }
    }

    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Largest distance that counts.
    pub fn limit(&self) -> u32 {
        self.found
            .get(self.wanted - 1)
            .map_or(u32::MAX, |&(distance, _)| distance)
    }

    pub fn insert(&mut self, object: u32, distance: u32) {
        if let Err(place) = self.found.binary_search(&(distance, object))
            && place < self.wanted
        {
            self.found.truncate(self.wanted - 1);
            self.found.insert(place, (distance, object));
        }
    }

    pub fn write(&self, slots: &mut [NearestObject]) {
        for (slot, &(distance, object)) in slots.iter_mut().zip(&self.found) {
            *slot = NearestObject {
                object,
                squared_distance: squared_float(distance),
            };
        }
    }
}

/// Returns the `params.queries.nearest` nearest objects of each query over all `walks`, by distance, then index, padded
/// with [`NearestObject::NONE`]. Adds the numbers of invalid queries and box tests to the counters.
pub fn query_nearest(
    params: &QueryBlocks,
    walks: &[QueryReads<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<NearestObject> {
    let wanted = params.queries.nearest as usize;
    let mut nearest = vec![NearestObject::NONE; wanted * params.queries.count as usize];
    let mut answers = vec![Nearest::new(wanted); params.queries.count as usize];
    for (walk, input) in walks.iter().enumerate() {
        let nearer = |index: u32| {
            let (query, answer) = input.begin(params, index);
            let mut found = answers[answer as usize].clone();
            let before = found.limit();
            let candidates = walk_nearest(params, input, overrides, &query, before, |object, distance| {
                found.insert(object, distance);
                found.limit()
            });
            let is_invalid = !query.valid;
            (answer, found, Walked { candidates, is_invalid })
        };
        for (answer, found, walked) in runs::walk(input.count(params), nearer) {
            answers[answer as usize] = found;
            finish_counters(counters, walked, walk == 0);
        }
    }
    for (slots, found) in nearest.chunks_mut(wanted.max(1)).zip(answers) {
        found.write(slots);
    }
    nearest
}
