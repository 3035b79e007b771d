//! Twin of `shaders/query_nearest.wgsl`.

use super::blocks::Overrides;
use super::query_count::finish_counters;
use super::query_walk::{QueryInput, walk_query};
use crate::grid::Params;
use crate::queries::Neighbor;

/// The nearest objects of each query, by distance and then by index, from all walks: `nearest` of them a query, [`Neighbor::NONE`] where
/// there are fewer. Adds invalid queries and, where they are counted, box tests to the counters.
pub fn query_nearest(
    params: &Params,
    walks: &[QueryInput<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<Neighbor> {
    let wanted = params.nearest as usize;
    let mut nearest = vec![Neighbor::NONE; wanted * params.query_count as usize];
    // In units of the query's scale, beside the scale.
    let mut answers = vec![(Vec::<Neighbor>::new(), 1.0f32); params.query_count as usize];
    for (walk, input) in walks.iter().enumerate() {
        for index in 0..input.count(params) {
            let (query, answer) = input.begin(params, index);
            let (found, scale) = &mut answers[answer as usize];
            *scale = query.scale;
            let candidates = walk_query(params, input, overrides, &query, |object, squared_distance| {
                let place =
                    found.partition_point(|other| (other.squared_distance, other.object) < (squared_distance, object));
                if place < wanted {
                    found.truncate(wanted - 1);
                    found.insert(
                        place,
                        Neighbor {
                            object,
                            squared_distance,
                        },
                    );
                }
            });
            finish_counters(counters, &query, candidates, walk == 0);
        }
    }
    for (slots, (found, scale)) in nearest.chunks_mut(wanted.max(1)).zip(answers) {
        // Back from units of the scale, which is a power of two.
        let unit = f32::from_bits((254 << 23) - scale.to_bits());
        for (slot, neighbor) in slots.iter_mut().zip(found) {
            *slot = Neighbor {
                squared_distance: neighbor.squared_distance * unit * unit,
                ..neighbor
            };
        }
    }
    nearest
}
