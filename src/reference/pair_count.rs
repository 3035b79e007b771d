//! Twin of `shaders/pair_count.wgsl`.

use super::blocks::{Overrides, add64, partners_kept};
use super::pair_walk::{PairInput, walk_pairs};
use crate::counters::word;
use crate::grid::Params;

/// What [`pair_count`] writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs of each entry, and a last word that stays zero for the scan to put the total into.
    pub counts: Vec<u32>,
    /// Hierarchical scheme: the first partners of each entry, partner `k` of entry `i` at `k * entry_capacity + i`; words
    /// past an entry's count are zero here and left as they are by the shader.
    pub slots: Vec<u32>,
}

/// How many pairs each entry reports: the walk without writing pairs. Adds the box tests to the counters where they are
/// counted.
pub fn pair_count(params: &Params, input: &PairInput<'_>, overrides: Overrides, counters: &mut [u32]) -> PairCounts {
    let entries = params.entry_capacity as usize;
    let kept = partners_kept(params);
    let mut slots = vec![0; entries * kept as usize];
    let mut counts = Vec::with_capacity(entries + 1);
    for index in 0..params.entry_capacity {
        let mut found = 0u32;
        let candidates = walk_pairs(params, input, overrides, index, |_, other| {
            if found < kept {
                slots[found as usize * entries + index as usize] = other;
            }
            found = found.wrapping_add(1);
        });
        add64(counters, word::PAIR_CANDIDATES, u64::from(candidates));
        counts.push(found);
    }
    counts.push(0);
    PairCounts { counts, slots }
}
