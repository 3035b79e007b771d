//! Reference pass of `shaders/pairs/pair_static_emit.wgsl`.

use super::pair_emit::Writer;
use super::pair_static::{StaticPairReads, walk_static};
use crate::api::types::Pair;
use crate::layout::blocks::{Overrides, static_cached_partners};
use crate::layout::grid::Params;
use crate::shared::runs::each;

/// Writes the pairs of moving and static objects within the page `first_pair .. first_pair + pairs.len()`.
///
/// `slots` are the cached partners, `offsets` the scanned counts of [`pair_count`](super::pair_count::pair_count), then
/// of [`pair_static_count`](super::pair_static_count::pair_static_count).
pub fn pair_static_emit(
    params: &Params,
    input: &StaticPairReads<'_>,
    overrides: Overrides,
    slots: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    let (entries, rows) = (params.entry_capacity as usize, params.static_rows() as usize);
    let kept = static_cached_partners(params);
    let behind = params.cached_partners as usize * entries;
    for (row, ends) in each((0..params.static_rows()).zip(offsets[entries..].windows(2))) {
        let own = input.own_records[row as usize].object;
        let partner = |place: usize| slots[behind + place * rows + row as usize];
        if Writer::new(params, pairs, ends[0]).write_cached(ends[1], kept, own, partner) {
            let mut writer = Writer::new(params, pairs, ends[0]);
            walk_static(params, input, overrides, row, |other| writer.write(own, other));
        }
    }
}
