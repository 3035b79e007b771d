use super::pair_excludes::slots_of;
use crate::api::types::Pair;
use crate::layout::blocks::Exclusions;

/// Returns the hash table of the listed pairs, and for each slot the index of its row plus one, or 0 if free. A shader
/// may insert rows in another order; [`Excludes::is_listed`](super::pair_excludes::Excludes::is_listed) finds each pair
/// in either table.
pub fn pair_exclude(exclusions: &Exclusions, list: &[Pair]) -> (Vec<[u32; 2]>, Vec<u32>) {
    let mut table = vec![[0; 2]; exclusions.slots() as usize];
    let mut rows = vec![0; table.len()];
    for (row, pair) in (1..).zip(list) {
        let Pair { a, b } = Pair::new(pair.a, pair.b);
        if a == b || b >= exclusions.object_count {
            continue;
        }
        let slot = slots_of(exclusions, [a, b]).find(|&slot| table[slot] == [a, b] || rows[slot] == 0);
        if let Some(slot) = slot.filter(|&slot| rows[slot] == 0) {
            table[slot] = [a, b];
            rows[slot] = row;
        }
    }
    (table, rows)
}
