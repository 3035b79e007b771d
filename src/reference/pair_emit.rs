//! Twin of `shaders/pair_emit.wgsl`.

use super::blocks::Overrides;
use super::pair_walk::{PairInput, walk_pairs};
use crate::grid::Params;
use crate::types::Pair;

/// The largest u32 stands for every place that does not fit 32 bits.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Writes an entry's pairs as far as their places fall into the window: twin of `shaders/common/pair_write.wgsl`.
pub(crate) struct Writer<'a> {
    params: &'a Params,
    pairs: &'a mut [Pair],
    /// Of the next pair.
    pub place: u32,
}

impl<'a> Writer<'a> {
    pub fn new(params: &'a Params, pairs: &'a mut [Pair], place: u32) -> Self {
        Self { params, pairs, place }
    }

    pub fn write(&mut self, own: u32, other: u32) {
        if self.place == NO_PLACE {
            return;
        }
        let slot = self.place.checked_sub(self.params.first_pair);
        if let Some(slot) = slot.and_then(|slot| self.pairs.get_mut(slot as usize)) {
            *slot = Pair {
                a: own.min(other),
                b: own.max(other),
            };
        }
        self.place += 1;
    }

    /// Whether the window shows any of the places from the next one up to `end`.
    pub fn shows_before(&self, end: u32) -> bool {
        let window_end = self.params.first_pair.saturating_add(self.params.pair_capacity);
        self.place != end && end > self.params.first_pair && self.place < window_end
    }
}

/// Writes the pairs of an entry whose partners were all kept; whether they were. `ends` are the places of its first pair
/// and of the next entry's.
pub(crate) fn written_from_slots(
    params: &Params,
    input: &PairInput<'_>,
    slots: &[u32],
    index: u32,
    ends: &[u32],
    kept: u32,
    writer: &mut Writer<'_>,
) -> bool {
    let entries = params.entry_capacity as usize;
    let is_kept = ends[1] != NO_PLACE && ends[1] - ends[0] <= kept;
    if is_kept {
        for k in 0..(ends[1] - ends[0]) as usize {
            let own = input.table.records[index as usize].object;
            writer.write(own, slots[k * entries + index as usize]);
        }
    }
    is_kept
}

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
    let kept = params.partners_kept;
    for (index, ends) in (0..params.entry_capacity).zip(offsets.windows(2)) {
        let mut writer = Writer::new(params, &mut pairs, ends[0]);
        if !written_from_slots(params, input, slots, index, ends, kept, &mut writer) {
            walk_pairs(params, input, overrides, index, |own, other| writer.write(own, other));
        }
    }
    pairs
}
