//! Twin of `shaders/pair_emit.wgsl`.

use super::blocks::Overrides;
use super::pair_walk::{PairInput, walk_pairs};
use crate::grid::Params;
use crate::types::Pair;

/// The walk once more, writing the pairs whose places fall into the window `first_pair .. first_pair + pair_capacity`.
///
/// `offsets` is the scanned output of [`pair_count`](super::pair_count::pair_count). Returns `pair_capacity` pairs; those that the
/// shader leaves unwritten are `(0, 0)`.
pub fn pair_emit(params: &Params, input: &PairInput<'_>, overrides: Overrides, offsets: &[u32]) -> Vec<Pair> {
    let mut pairs = vec![Pair { a: 0, b: 0 }; params.pair_capacity as usize];
    for (index, &offset) in (0..params.entry_capacity).zip(offsets) {
        let mut place = offset;
        walk_pairs(params, input, overrides, index, |pair| {
            // The largest u32 stands for every place that does not fit 32 bits.
            if place != u32::MAX {
                if let Some(slot) = place
                    .checked_sub(params.first_pair)
                    .and_then(|place| pairs.get_mut(place as usize))
                {
                    *slot = pair;
                }
                place += 1;
            }
        });
    }
    pairs
}
