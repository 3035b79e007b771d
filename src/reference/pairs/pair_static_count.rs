use super::pair_count::PairCountOutput;
use super::pair_static::{StaticPairReads, walk_static};
use super::pair_sums::add_up;
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, PairBlocks, add64, static_cached_partners};

/// Counts the static partners of each moving object, followed by 0. Adds the number of box tests to the counters.
/// Except in the uniform scheme, adds the counts to the `words` of [`pair_count`](super::pair_count). Partner `k` of
/// object `i` is at `k * rows + i` in `cache`.
pub fn pair_static_count(
    params: &PairBlocks,
    input: &StaticPairReads<'_>,
    overrides: Overrides,
    words: &mut [u32],
    counters: &mut [u32],
) -> PairCountOutput {
    let rows = params.pairs.static_rows() as usize;
    let kept = static_cached_partners(params);
    let mut cache = vec![0; rows * kept as usize];
    let mut counts = Vec::with_capacity(rows + 1);
    for row in 0..params.pairs.static_rows() {
        let mut found = 0u32;
        let candidates = walk_static(params, input, overrides, row, |other| {
            if found < kept {
                cache[found as usize * rows + row as usize] = other;
            }
            found = found.wrapping_add(1);
        });
        add64(counters, word::PAIR_CANDIDATES, u64::from(candidates));
        counts.push(found);
    }
    if !params.is_uniform() {
        add_up(params, params.pairs.entry_rows as usize, &counts, words, counters);
    }
    counts.push(0);
    PairCountOutput {
        counts,
        cache,
        ..PairCountOutput::default()
    }
}
