//! Twin of `shaders/pair_count.wgsl`.

use super::blocks::{Overrides, add64};
use super::pair_walk::{PairInput, walk_pairs};
use crate::counters::word;
use crate::grid::Params;

/// How many pairs each entry reports: the walk without writing. Returns `entry_capacity` words and adds the box tests to
/// the counters where they are counted.
pub fn pair_count(params: &Params, input: &PairInput<'_>, overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    (0..params.entry_capacity)
        .map(|index| {
            let mut found = 0u32;
            let candidates = walk_pairs(params, input, overrides, index, |_| found = found.wrapping_add(1));
            add64(counters, word::PAIR_CANDIDATES, u64::from(candidates));
            found
        })
        .collect()
}
