//! Twin of `shaders/pairs/world_pairs_static.wgsl`.

use crate::layout::grid::{Params, Record};

/// Adds to the pairs of each world those with static objects, from the counts a moving object before they are scanned;
/// modulo 2^32. `records` are those of the moving objects.
pub fn world_pairs_static(params: &Params, records: &[Record], counts: &[u32], world_pairs: &mut [u32]) {
    let counts = &counts[params.entry_capacity as usize..][..params.object_count as usize];
    for (record, &count) in records.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let pairs = &mut world_pairs[record.world as usize];
        *pairs = pairs.wrapping_add(count);
    }
}
