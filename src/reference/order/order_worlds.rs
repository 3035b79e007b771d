use crate::api::types::Pair;
use crate::layout::worlds::Worlds;

/// Returns the world of each pair. `values` holds the row indices, sorted by both objects.
pub fn order_worlds(pairs: &[Pair], values: &[u32], worlds: Worlds<'_>) -> Vec<u32> {
    values.iter().map(|&row| worlds.of_pair(&pairs[row as usize])).collect()
}
