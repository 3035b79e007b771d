//! Reference pass of `shaders/pairs/pair_emit_cached.wgsl`.

use super::pair_emit::Writer;
use crate::api::types::Pair;
use crate::layout::grid::{Grid, ID_MASK, Params};
use crate::reference::table::layout::keeps_bits;

/// Number of partners per entry that [`pair_count`](super::pair_count::pair_count) caches; 0 if it stores bits instead.
pub fn cached_partners(params: &Params, grid: &Grid) -> u32 {
    if keeps_bits(params, grid) {
        0
    } else {
        params.cached_partners
    }
}

/// Writes the pairs of entries whose partners are all cached, within the page `first_pair .. first_pair + pairs.len()`.
/// Returns the other entries with pairs in the page, which need a walk. The shader lists them unordered.
///
/// `values` are the sorted values. `slots` are the cached partners, `offsets` the scanned counts of
/// [`pair_count`](super::pair_count::pair_count).
pub fn pair_emit_cached(
    params: &Params,
    grid: &Grid,
    values: &[u32],
    slots: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) -> Vec<u32> {
    let stride = params.entry_capacity as usize;
    let kept = cached_partners(params, grid);
    (0..params.entry_capacity)
        .zip(offsets.windows(2))
        .filter(|&(entry, ends)| {
            let partners = |place: usize| slots[place * stride + entry as usize];
            let own = params.first_object + (values[entry as usize] & ID_MASK);
            Writer::new(params, pairs, ends[0]).write_cached(ends[1], kept, own, partners)
        })
        .map(|(entry, _)| entry)
        .collect()
}
