//! Twin of `shaders/pairs/pair_count.wgsl`.

use super::pair_emit_cached::cached_partners;
use super::pair_sums::{add_up, no_words};
use super::pair_walk::{PairReads, Test, walk_tests};
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, add64};
use crate::layout::grid::Params;
use crate::shared::runs::each;

/// What [`pair_count`] writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs of each entry, and a last word of zero. The shader writes them for the uniform scheme alone.
    pub counts: Vec<u32>,
    /// What the shader writes for the other schemes in place of the counts: places of the entries' pairs within tiles
    /// of rows, and sums of tiles ([`pair_sums`](super::pair_sums)). Words that are not written are 0 here.
    pub words: Vec<u32>,
    /// In scenes that are not crowded: the first partners of each entry, partner `k` of entry `i` at `k *
    /// entry_capacity + i`; words past an entry's count are zero here and left as they are by the shader.
    pub slots: Vec<u32>,
    /// A bit for each box in the rows of an entry, tested or passed over, as far as [`Params::pair_bit_words`] go: word
    /// `k` of entry `i` at `k * entry_capacity + i`. Words past an entry's boxes are zero here and left as they are by
    /// the shader. Only the form for crowded scenes writes them.
    pub bits: Vec<u32>,
    /// How many boxes the rows of each entry have. The shader does not write that.
    pub boxes: Vec<u32>,
}

/// How many pairs each entry reports: the walk without writing pairs. Twin, too, of the variant for crowded scenes,
/// which tests clusters and keeps bits (`shaders/pairs/pair_test_clusters.wgsl`,
/// `shaders/pairs/pair_count_crowded.wgsl`). Adds the box tests to the counters where they are counted, and the pairs,
/// but for those of the uniform scheme.
pub fn pair_count(params: &Params, input: &PairReads<'_>, overrides: Overrides, counters: &mut [u32]) -> PairCounts {
    let entries = params.entry_capacity as usize;
    let kept = cached_partners(params, input.table.grid);
    let bit_words = params.pair_bit_words as usize;
    let mut bits = vec![0; entries * bit_words];
    let mut slots = vec![0; entries * params.cached_partners as usize];
    let mut boxes = Vec::with_capacity(entries);
    let mut counts = Vec::with_capacity(entries + 1);
    for index in each(0..params.entry_capacity) {
        let mut found = 0u32;
        let mut candidates = 0;
        // Among the boxes in the rows.
        let mut place = 0;
        walk_tests(params, input, overrides, index, |test| {
            candidates += 1;
            let (other, is_pair) = match test {
                Test::Of { other, is_pair, .. } => (other, is_pair),
                Test::OfCluster { passed_over } => {
                    place += passed_over.len();
                    return;
                }
            };
            let word = place / 32;
            if word < bit_words {
                bits[word * entries + index as usize] |= u32::from(is_pair) << (place % 32);
            }
            place += 1;
            if is_pair && found < kept {
                slots[found as usize * entries + index as usize] = other;
            }
            found = found.wrapping_add(u32::from(is_pair));
        });
        if overrides.count_candidates {
            add64(counters, word::PAIR_CANDIDATES, candidates as u64);
        }
        counts.push(found);
        boxes.push(place as u32);
    }
    let mut words = Vec::new();
    if !params.is_uniform() {
        words = no_words(params, 0);
        add_up(params, 0, &counts, &mut words, counters);
    }
    counts.push(0);
    PairCounts {
        counts,
        words,
        slots,
        bits,
        boxes,
    }
}
