//! Twin of `shaders/table/keys.wgsl`.

use crate::api::types::Aabb;
use crate::reference::runs::map;
use crate::shared::grid::{Class, Grid, HOME_FLAGS, NO_LEVEL, Params, classify, key_of, place};

/// Hierarchical and adaptive scheme: one entry per object, keyed by the cell of its lower corner.
///
/// Returns keys and values, a word an object each. Past the cells come the key of the large list and that of objects
/// that take no part, so that sorting splits them off. A value is the object with all home flags (bits 29 to 31).
pub fn keys(params: &Params, objects: &[Aabb], grid: &Grid, worlds: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let objects = params.objects(objects);
    let key = |index: u32| {
        let object = &objects[index as usize];
        let world = params.world_of(worlds, index as usize);
        match classify(object) {
            Class::Invalid | Class::Excluded => params.absent_key(grid),
            Class::Infinite => params.large_key(grid, world),
            Class::Finite => match place(params, grid, object) {
                placement if placement.level == NO_LEVEL => params.large_key(grid, world),
                placement => key_of(&grid.levels[placement.level as usize], placement.lower, world),
            },
        }
    };
    let count = objects.len() as u32;
    (map(count, key), (0..count).map(|index| index | HOME_FLAGS).collect())
}
