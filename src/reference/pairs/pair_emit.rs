use super::pair_walk::{PairReads, walk_pairs};
use crate::api::types::Pair;
use crate::layout::blocks::{Overrides, PairBlocks};

pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Reference pass of `shaders/pairs/pair_write.wgsl`.
pub(crate) struct Writer<'a> {
    params: &'a PairBlocks,
    pairs: &'a mut [Pair],
    pub place: u32,
}

impl<'a> Writer<'a> {
    pub fn new(params: &'a PairBlocks, pairs: &'a mut [Pair], place: u32) -> Self {
        Self { params, pairs, place }
    }

    pub fn write(&mut self, own: u32, other: u32) {
        if self.place == NO_PLACE {
            return;
        }
        let slot = self.place.checked_sub(self.params.pairs.first);
        if let Some(slot) = slot.and_then(|slot| self.pairs.get_mut(slot as usize)) {
            *slot = Pair::new(own, other);
        }
        self.place += 1;
    }

    /// Returns true if pairs before place `end` are in the page.
    pub fn shows(&self, end: u32) -> bool {
        let page_end = self.params.pairs.first.saturating_add(self.pairs.len() as u32);
        self.place != end && end > self.params.pairs.first && self.place < page_end
    }
}

/// Writes the pairs of the rows in `walks` within the page `first_pair .. first_pair + pairs.len()`.
///
/// `walks` are the result of [`pair_emit_cached`](super::pair_emit_cached::pair_emit_cached), or all entries in the
/// uniform scheme. `offsets` are the scanned counts of [`pair_count`](super::pair_count::pair_count).
pub fn pair_emit(
    params: &PairBlocks,
    input: &PairReads<'_>,
    overrides: Overrides,
    walks: impl IntoIterator<Item = u32>,
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    for row in walks {
        let mut writer = Writer::new(params, pairs, offsets[row as usize]);
        walk_pairs(params, input, overrides, row, |own, other| writer.write(own, other));
    }
}
