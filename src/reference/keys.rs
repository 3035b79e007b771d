//! Twin of `shaders/keys.wgsl`.

use crate::grid::{Class, Grid, HOME_FLAG, NO_LEVEL, Params, classify, key_of, place};
use crate::types::Aabb;

/// Hierarchical scheme: one entry an object, keyed by the cell of its lower corner.
///
/// Returns keys and values, a word an object each. Past the cells come the key of the large list and that of objects
/// that take no part, so that sorting splits them off. A value is the object with the home flag (bit 31).
pub fn keys(params: &Params, objects: &[Aabb], grid: &Grid) -> (Vec<u32>, Vec<u32>) {
    let objects = objects.iter().take(params.object_count as usize);
    let key = |object: &Aabb| match classify(object) {
        Class::Invalid | Class::Excluded => grid.table_cells + 1,
        Class::Infinite => grid.table_cells,
        Class::Finite => match place(params, grid, object) {
            placement if placement.level == NO_LEVEL => grid.table_cells,
            placement => key_of(&grid.levels[placement.level as usize], placement.lower),
        },
    };
    objects
        .enumerate()
        .map(|(index, object)| (key(object), index as u32 | HOME_FLAG))
        .unzip()
}
