//! Twin of `shaders/pair_static_emit.wgsl`.

use super::blocks::{Overrides, partners_kept, static_partners_kept};
use super::pair_static::{StaticPairInput, walk_static};
use crate::grid::Params;
use crate::types::Pair;

/// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = u32::MAX;

/// Writes the pairs of moving and static objects whose places fall into the window `first_pair .. first_pair + pairs.len()`:
/// from the partners that counting kept, or by the walk once more where a moving object has more of them.
///
/// `slots` and the scanned `offsets` hold what both counts left: first that of
/// [`pair_count`](super::pair_count::pair_count), then that of
/// [`pair_static_count`](super::pair_static_count::pair_static_count).
pub fn pair_static_emit(
    params: &Params,
    input: &StaticPairInput<'_>,
    overrides: Overrides,
    slots: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    let (entries, rows) = (params.entry_capacity as usize, params.static_rows() as usize);
    let kept = static_partners_kept(params);
    let behind = partners_kept(params) as usize * entries;
    for (row, ends) in (0..params.static_rows()).zip(offsets[entries..].windows(2)) {
        let own = input.own_records[row as usize].object;
        let mut place = ends[0];
        let mut write = |other: u32| {
            if place != NO_PLACE {
                if let Some(slot) = place
                    .checked_sub(params.first_pair)
                    .and_then(|place| pairs.get_mut(place as usize))
                {
                    *slot = Pair { a: other, b: own };
                }
                place += 1;
            }
        };
        if ends[1] != NO_PLACE && ends[1] - ends[0] <= kept {
            for k in 0..(ends[1] - ends[0]) as usize {
                write(slots[behind + k * rows + row as usize]);
            }
        } else {
            walk_static(params, input, overrides, row, write);
        }
    }
}
