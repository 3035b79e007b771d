use super::event;
use crate::api::types::PairEvent;
use crate::layout::blocks::EventParams;

/// Returns the hash table of a step's rows. A slot holds a row's index plus one, or 0 if free. A shader may insert rows
/// in another order; [`event::find`] finds each row in either table.
pub fn event_insert(params: &EventParams, rows: &[PairEvent]) -> Vec<u32> {
    let mut table = vec![0; params.table_mask as usize + 1];
    for (entry, row) in (1..).zip(rows) {
        let mut place = event::hash_of(row) & params.table_mask;
        while table[place as usize] != 0 {
            place = (place + 1) & params.table_mask;
        }
        table[place as usize] = entry;
    }
    table
}
