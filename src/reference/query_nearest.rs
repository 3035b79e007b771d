//! Twin of `shaders/query_nearest.wgsl`.

use super::blocks::Overrides;
use super::query_count::finish_counters;
use super::query_walk::{QueryInput, walk_query};
use crate::grid::Params;
use crate::queries::Neighbor;

/// The nearest objects of each query, by distance and then by index: `nearest` of them a query, [`Neighbor::NONE`] where
/// there are fewer. Adds invalid queries and, where they are counted, box tests to the counters.
pub fn query_nearest(
    params: &Params,
    input: &QueryInput<'_>,
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<Neighbor> {
    let wanted = params.nearest as usize;
    let mut nearest = vec![Neighbor::NONE; wanted * params.query_count as usize];
    for index in 0..params.query_count {
        let (query, answer) = input.begin(params, index);
        let mut found: Vec<Neighbor> = Vec::new();
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
        finish_counters(counters, &query, candidates);
        // Back from units of the scale, which is a power of two.
        let unit = f32::from_bits((254 << 23) - query.scale.to_bits());
        let slots = &mut nearest[answer as usize * wanted..][..wanted];
        for (slot, neighbor) in slots.iter_mut().zip(found) {
            *slot = Neighbor {
                squared_distance: neighbor.squared_distance * unit * unit,
                ..neighbor
            };
        }
    }
    nearest
}
