use super::pair_cache::cache_words;
use super::pair_emit::{NO_PLACE, Writer};
use super::pair_static::{StaticPairReads, walk_static};
use crate::api::types::Pair;
use crate::layout::blocks::{Overrides, PairBlocks, static_cached_partners};

/// Writes the pairs of moving and static objects within the page `first_pair .. first_pair + pairs.len()`.
///
/// `offsets` are the scanned counts of [`pair_count`](super::pair_count::pair_count), then of
/// [`pair_static_count`](super::pair_static_count::pair_static_count).
pub fn pair_static_emit(
    params: &PairBlocks,
    input: &StaticPairReads<'_>,
    overrides: Overrides,
    cache: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    let (entries, rows) = (params.pairs.entry_rows as usize, params.pairs.static_rows() as usize);
    let kept = static_cached_partners(params);
    let behind = cache_words(params);
    for (row, ends) in (0..params.pairs.static_rows()).zip(offsets[entries..].windows(2)) {
        let own = input.own_records[row as usize].object;
        let mut writer = Writer::new(params, pairs, ends[0]);
        if !writer.shows(ends[1]) {
            continue;
        }
        if ends[1] == NO_PLACE || ends[1] - ends[0] > kept {
            walk_static(params, input, overrides, row, |other| writer.write(own, other));
            continue;
        }
        for place in 0..(ends[1] - ends[0]) as usize {
            writer.write(own, cache[behind + place * rows + row as usize]);
        }
    }
}
