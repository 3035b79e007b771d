//! Reference pass of `shaders/pairs/pair_count.wgsl`.

use super::pair_emit_cached::cached_partners;
use super::pair_sums::{add_up, initial_words};
use super::pair_walk::{PairReads, Test, walk_tests};
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, add64};
use crate::layout::grid::Params;
use crate::shared::runs::each;

/// Output of [`pair_count`]. Words that no entry writes are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCountOutput {
    /// Number of pairs of each entry, then 0. The shader writes them in the uniform scheme only.
    pub counts: Vec<u32>,
    /// In the other schemes, the place of each entry's pairs within its tile, and the sums of tiles
    /// ([`pair_sums`](super::pair_sums)).
    pub words: Vec<u32>,
    /// First partners of each entry if the scene is not crowded: partner `k` of entry `i` is at `k * entry_capacity +
    /// i`.
    pub slots: Vec<u32>,
    /// If the scene is crowded, one bit per candidate of an entry, also of members of missed clusters, in up to
    /// [`Params::pair_bit_words`] words. Word `k` of entry `i` is at `k * entry_capacity + i`.
    pub bits: Vec<u32>,
    /// Number of candidates of each entry. Not written by the shader.
    pub boxes: Vec<u32>,
}

/// Counts the pairs of each entry. Also the reference pass of `shaders/pairs/pair_count_crowded.wgsl`. Adds the number
/// of box tests to the counters and, except in the uniform scheme, the number of pairs.
pub fn pair_count(
    params: &Params,
    input: &PairReads<'_>,
    overrides: Overrides,
    counters: &mut [u32],
) -> PairCountOutput {
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
        // Index of the candidate.
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
        words = initial_words(params, 0);
        add_up(params, 0, &counts, &mut words, counters);
    }
    counts.push(0);
    PairCountOutput {
        counts,
        words,
        slots,
        bits,
        boxes,
    }
}
