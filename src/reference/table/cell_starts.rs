//! Twin of `shaders/table/cell_starts.wgsl`.

use crate::shared::grid::Grid;

/// The cell table: word `k` is the first sorted entry whose key is `k` or more, for every cell, the large list and the
/// entries that take no part, and for the cells of the cover table.
///
/// Returns `key_count` words of the grid: the shader writes no word past these. The word of what takes no part is the
/// end of the large list.
pub fn cell_starts(grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let keys = &keys[..keys.len().min(grid.entry_count as usize)];
    let words = grid.key_count as usize;
    let mut starts = Vec::with_capacity(words);
    for (entry, &key) in keys.iter().enumerate() {
        let end = (key as usize + 1).min(words);
        starts.resize(end.max(starts.len()), entry as u32);
    }
    starts.resize(words, keys.len() as u32);
    starts
}
