use super::pair_cache::stored_partners;
use super::pair_emit::{NO_PLACE, Writer};
use crate::api::types::Pair;
use crate::layout::blocks::PairBlocks;
use crate::layout::grid::{Grid, ID_MASK};
use crate::reference::table::layout::keeps_bits;

/// Writes the pairs of rows whose partners are all cached, within the page `first_pair .. first_pair + pairs.len()`.
/// Returns the other rows with pairs in the page, which need a walk. The shader lists them unordered.
///
/// `offsets` are the scanned counts of [`pair_count`](super::pair_count::pair_count).
pub fn pair_emit_cached(
    params: &PairBlocks,
    grid: &Grid,
    values: &[u32],
    cache: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) -> Vec<u32> {
    let keeps_bits = keeps_bits(params, grid);
    (0..params.pairs.entry_rows)
        .zip(offsets.windows(2))
        .filter(|&(row, ends)| {
            let mut writer = Writer::new(params, pairs, ends[0]);
            if !writer.shows(ends[1]) {
                return false;
            }
            if ends[1] == NO_PLACE || keeps_bits {
                return true;
            }
            let own = params.first_object + (values[(row >> params.pairs.split_bits) as usize] & ID_MASK);
            let partners = stored_partners(params, cache, row, ends[1] - ends[0]);
            partners.into_iter().for_each(|partner| writer.write(own, partner));
            writer.place != ends[1]
        })
        .map(|(row, _)| row)
        .collect()
}
