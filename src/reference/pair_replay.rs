//! Twin of `shaders/pair_replay.wgsl`.

use super::blocks::Overrides;
use super::pair_count::PairCounts;
use super::pair_emit::{Writer, written_from_slots};
use super::pair_walk::{PairInput, walk_tests};
use crate::grid::Params;
use crate::types::Pair;

/// Writes the pairs of crowded boxes without testing any box again: the walk finds the candidates and counting kept a bit for
/// each of the first [`Params::pair_bit_words`] × 32 of them. Entries that counting kept all partners of are written from
/// those.
///
/// `kept` is the output of [`pair_count`](super::pair_count::pair_count), with its counts scanned. Returns `pair_capacity`
/// pairs, those that the shader leaves unwritten being `(0, 0)`, and for each entry the place of its next pair, 0 where the
/// shader says none.
pub fn pair_replay(params: &Params, input: &PairInput<'_>, kept: &PairCounts) -> (Vec<Pair>, Vec<u32>) {
    let mut pairs = vec![Pair { a: 0, b: 0 }; params.pair_capacity as usize];
    let entries = params.entry_capacity as usize;
    let places = (0..params.entry_capacity)
        .zip(kept.counts.windows(2))
        .map(|(index, ends)| {
            let mut writer = Writer::new(params, &mut pairs, ends[0]);
            if written_from_slots(
                params,
                input,
                &kept.slots,
                index,
                ends,
                params.partners_kept,
                &mut writer,
            ) || !writer.shows_before(ends[1])
            {
                return 0;
            }
            let mut tests = 0;
            let no_filters = Overrides {
                filters: false,
                count_candidates: false,
            };
            walk_tests(params, input, no_filters, index, |own, other, _| {
                let word = tests / 32;
                if word < params.pair_bit_words as usize
                    && kept.bits[word * entries + index as usize] >> (tests % 32) & 1 == 1
                {
                    writer.write(own, other);
                }
                tests += 1;
            });
            writer.place
        });
    let places = places.collect();
    (pairs, places)
}
