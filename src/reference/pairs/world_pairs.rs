use crate::api::types::ALL_WORLDS;
use crate::layout::blocks::PairBlocks;
use crate::layout::grid::{ID_MASK, Record, SCHEME_UNIFORM};

/// Returns the number of pairs of each world, then of two objects of all worlds, modulo 2^32. `counts` are the
/// unscanned counts of the entries' rows, then of moving objects, whose static partners
/// [`world_pairs_static`](super::world_pairs_static::world_pairs_static) counts if they are of all worlds.
pub fn world_pairs(params: &PairBlocks, records: &[Record], values: &[u32], counts: &[u32]) -> Vec<u32> {
    let mut world_pairs = vec![0u32; params.world_count as usize + 1];
    for (row, &count) in counts.iter().take(params.pairs.rows as usize).enumerate() {
        if count == 0 {
            continue;
        }
        let record = match row.checked_sub(params.pairs.entry_rows as usize) {
            Some(record) => record,
            None if params.scheme == SCHEME_UNIFORM => (values[row] & ID_MASK) as usize,
            None => row >> params.pairs.split_bits,
        };
        let world = records[record].world;
        if world == ALL_WORLDS && row >= params.pairs.entry_rows as usize {
            continue;
        }
        let pairs = &mut world_pairs[world.min(params.world_count) as usize];
        *pairs = pairs.wrapping_add(count);
    }
    world_pairs
}
