//! Twin of `shaders/pairs/pair_count.wgsl`.

use super::pair_walk::{PairReads, walk_tests};
use crate::api::counters::word;
use crate::shared::blocks::{Overrides, add64};
use crate::shared::grid::Params;

/// What [`pair_count`] writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs of each entry, and a last word that stays zero for the scan to put the total into.
    pub counts: Vec<u32>,
    /// Hierarchical scheme: the first partners of each entry, partner `k` of entry `i` at `k * entry_capacity + i`;
    /// words past an entry's count are zero here and left as they are by the shader.
    pub slots: Vec<u32>,
    /// A bit for each box test of an entry, as far as [`Params::pair_bit_words`] go: word `k` of entry `i` at
    /// `k * entry_capacity + i`. Words past an entry's tests are zero here and left as they are by the shader.
    pub bits: Vec<u32>,
}

/// How many pairs each entry reports: the walk without writing pairs. Twin, too, of the form for crowded boxes, which
/// keeps bits (`shaders/pairs/pair_test_strips.wgsl`). Adds the box tests to the counters where they are
/// counted.
pub fn pair_count(params: &Params, input: &PairReads<'_>, overrides: Overrides, counters: &mut [u32]) -> PairCounts {
    let entries = params.entry_capacity as usize;
    let kept = params.partners_kept;
    let bit_words = params.pair_bit_words as usize;
    let mut bits = vec![0; entries * bit_words];
    let mut slots = vec![0; entries * kept as usize];
    let mut counts = Vec::with_capacity(entries + 1);
    for index in 0..params.entry_capacity {
        let mut found = 0u32;
        let mut candidates = 0;
        walk_tests(params, input, overrides, index, |_, other, is_pair, _| {
            let word = candidates / 32;
            if word < bit_words {
                bits[word * entries + index as usize] |= u32::from(is_pair) << (candidates % 32);
            }
            candidates += 1;
            if is_pair && found < kept {
                slots[found as usize * entries + index as usize] = other;
            }
            found = found.wrapping_add(u32::from(is_pair));
        });
        if overrides.count_candidates {
            add64(counters, word::PAIR_CANDIDATES, candidates as u64);
        }
        counts.push(found);
    }
    counts.push(0);
    PairCounts { counts, slots, bits }
}
