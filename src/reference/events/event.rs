//! Reference passes of `shaders/events/event.wgsl` and `shaders/events/event_rows.wgsl`.

use crate::api::types::{Pair, PairEvent, STATIC_BIT};
use crate::layout::blocks::EventParams;
use crate::shared::murmur::hash;

/// Generations of the objects: bindings 2 and 3.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generations<'a> {
    pub statics: &'a [u32],
    pub moving: &'a [u32],
}

pub fn row_of(event: &EventParams, generations: Generations<'_>, pair: Pair) -> PairEvent {
    let [[a, a_generation], [b, b_generation]] = [pair.a, pair.b].map(|object| {
        let (index, generations, mark) = match object.checked_sub(event.static_count) {
            None => (object, generations.statics, STATIC_BIT),
            Some(index) => (index, generations.moving, 0),
        };
        [index | mark, generations.get(index as usize).copied().unwrap_or(0)]
    });
    PairEvent {
        a,
        a_generation,
        b,
        b_generation,
    }
}

/// Masked, the hash is the first slot to search.
pub fn hash_of(row: &PairEvent) -> u32 {
    hash(&bytemuck::cast::<_, [u32; 4]>(*row))
}

/// Returns 1 plus the index of `row` in `rows`, or 0 without one. `table` is the hash table of `rows`.
pub fn find(rows: &[PairEvent], table: &[u32], mask: u32, row: &PairEvent) -> u32 {
    let hash = hash_of(row);
    (0..=mask)
        .map(|probe| table[(hash.wrapping_add(probe) & mask) as usize])
        .take_while(|&entry| entry != 0)
        .find(|&entry| rows[entry as usize - 1] == *row)
        .unwrap_or(0)
}
