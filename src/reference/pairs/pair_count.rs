use super::pair_cache::PairCache;
use super::pair_sums::{add_up, claimed_word, initial_words};
use super::pair_walk::{PairReads, Test, walk_tests};
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, PairBlocks, add64};
use crate::reference::table::layout::keeps_bits;

/// Words that no entry writes are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairCountOutput {
    /// Number of pairs of each row, then 0. A row is an entry, or with `PairParams::split_bits` a part of its walk. The
    /// shader writes them in the uniform scheme only.
    pub counts: Vec<u32>,
    /// In the other schemes, the place of each row's pairs within its tile, the sums of tiles, and the number of
    /// claimed chunks ([`pair_sums`](super::pair_sums)).
    pub words: Vec<u32>,
    /// Cached partners ([`pair_cache`](super::pair_cache)) if the scene is not crowded. The shader claims chunks in any
    /// order.
    pub cache: Vec<u32>,
    /// If the scene is crowded, one bit per candidate of a row, also of members of missed clusters, in up to
    /// `PairParams::bit_words` words. Word `k` of row `i` is at `k * entry_rows + i`.
    pub bits: Vec<u32>,
    /// Number of candidates of each row. Not written by the shader.
    pub boxes: Vec<u32>,
}

/// Counts the pairs of each row. Also the reference pass of `shaders/pairs/pair_count_crowded.wgsl`. Adds the number
/// of box tests to the counters and, except in the uniform scheme, the number of pairs.
pub fn pair_count(
    params: &PairBlocks,
    input: &PairReads<'_>,
    overrides: Overrides,
    counters: &mut [u32],
) -> PairCountOutput {
    let rows = params.pairs.entry_rows as usize;
    let keeps_bits = keeps_bits(params, input.table.grid);
    let bit_words = params.pairs.bit_words as usize;
    let mut bits = vec![0; rows * bit_words];
    let mut cache = PairCache::new(params);
    let mut boxes = Vec::with_capacity(rows);
    let mut counts = Vec::with_capacity(rows + 1);
    for row in 0..params.pairs.entry_rows {
        let mut found = 0u32;
        let mut candidates = 0;
        let mut place = 0;
        walk_tests(params, input, overrides, row, |test| {
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
                bits[word * rows + row as usize] |= u32::from(is_pair) << (place % 32);
            }
            place += 1;
            if is_pair && !keeps_bits {
                cache.store(row, found, other);
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
        words[claimed_word(params)] = cache.claimed;
        add_up(params, 0, &counts, &mut words, counters);
    }
    counts.push(0);
    PairCountOutput {
        counts,
        words,
        cache: cache.words,
        bits,
        boxes,
    }
}
