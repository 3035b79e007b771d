//! Twin of `shaders/pair_emit.wgsl`.

use super::blocks::{Overrides, partners_kept};
use super::pair_walk::{PairInput, walk_pairs};
use crate::grid::Params;
use crate::types::Pair;

/// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = u32::MAX;

/// Writes the pairs whose places fall into the window `first_pair .. first_pair + pair_capacity`: from the partners that
/// counting kept, or by the walk once more where an entry has more of them.
///
/// `slots` and the scanned `offsets` are the output of [`pair_count`](super::pair_count::pair_count). Returns
/// `pair_capacity` pairs; those that the shader leaves unwritten are `(0, 0)`.
pub fn pair_emit(
    params: &Params,
    input: &PairInput<'_>,
    overrides: Overrides,
    slots: &[u32],
    offsets: &[u32],
) -> Vec<Pair> {
    let mut pairs = vec![Pair { a: 0, b: 0 }; params.pair_capacity as usize];
    let entries = params.entry_capacity as usize;
    let kept = partners_kept(params);
    for (index, ends) in (0..params.entry_capacity).zip(offsets.windows(2)) {
        let mut place = ends[0];
        let mut write = |own: u32, other: u32| {
            if place != NO_PLACE {
                if let Some(slot) = place
                    .checked_sub(params.first_pair)
                    .and_then(|place| pairs.get_mut(place as usize))
                {
                    *slot = Pair {
                        a: own.min(other),
                        b: own.max(other),
                    };
                }
                place += 1;
            }
        };
        if ends[1] != NO_PLACE && ends[1] - ends[0] <= kept {
            for k in 0..(ends[1] - ends[0]) as usize {
                write(
                    input.table.records[index as usize].object,
                    slots[k * entries + index as usize],
                );
            }
        } else {
            walk_pairs(params, input, overrides, index, write);
        }
    }
    pairs
}
