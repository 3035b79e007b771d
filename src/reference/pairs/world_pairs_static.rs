use std::collections::HashMap;

use super::pair_static::{StaticPairReads, walk_static};
use crate::api::types::ALL_WORLDS;
use crate::layout::blocks::{Overrides, PairBlocks};
use crate::layout::grid::Record;

/// Adds the numbers of static partners of moving objects of all worlds, by the partner's world.
pub fn world_pairs_static(
    params: &PairBlocks,
    input: &StaticPairReads<'_>,
    overrides: Overrides,
    world_pairs: &mut [u32],
) {
    let of_all = |&(_, record): &(u32, &Record)| record.world == ALL_WORLDS;
    let mut queriers = (0..).zip(input.own_records).filter(of_all).peekable();
    if queriers.peek().is_none() {
        return;
    }
    let worlds: HashMap<_, _> = input
        .table
        .records
        .iter()
        .map(|record| (record.object, record.world))
        .collect();
    for (record, _) in queriers {
        walk_static(params, input, overrides, record, |other| {
            let pairs = &mut world_pairs[worlds[&other].min(params.world_count) as usize];
            *pairs = pairs.wrapping_add(1);
        });
    }
}
