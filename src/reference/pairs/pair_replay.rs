use super::pair_count::PairCountOutput;
use super::pair_emit::Writer;
use super::pair_walk::{PairReads, Test, walk_tests};
use crate::api::types::Pair;
use crate::layout::blocks::{Overrides, PairBlocks};

/// Writes the pairs whose bit in `kept` is set. Returns the place of the next pair for each row of `walks`.
///
/// `walks` are the result of [`pair_emit_cached`](super::pair_emit_cached::pair_emit_cached). `kept` is the output of
/// [`pair_count`](super::pair_count::pair_count), with its counts scanned.
pub fn pair_replay(
    params: &PairBlocks,
    input: &PairReads<'_>,
    kept: &PairCountOutput,
    walks: &[u32],
    pairs: &mut [Pair],
) -> Vec<u32> {
    let rows = params.pairs.entry_rows as usize;
    let next_of = |&row: &u32| {
        let mut writer = Writer::new(params, pairs, kept.counts[row as usize]);
        let mut place = 0;
        let no_filters = Overrides {
            filters: false,
            count_candidates: false,
        };
        walk_tests(params, input, no_filters, row, |test| {
            let (own, other) = match test {
                Test::Of { own, other, .. } => (own, other),
                Test::OfCluster { passed_over } => {
                    place += passed_over.len();
                    return;
                }
            };
            let word = place / 32;
            if word < params.pairs.bit_words as usize && kept.bits[word * rows + row as usize] >> (place % 32) & 1 == 1
            {
                writer.write(own, other);
            }
            place += 1;
        });
        writer.place
    };
    walks.iter().map(next_of).collect()
}
