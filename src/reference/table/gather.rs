//! Twin of `shaders/table/gather.wgsl`.

use crate::api::types::Aabb;
use crate::reference::runs::map;
use crate::shared::grid::{Grid, ID_MASK, Params, Record, SCHEME_UNIFORM, ordered};

/// Boxes as ordered integers in the order in which the walks read them: sorted by cell where an object has one entry,
/// those of the cover table behind it, else by object. Returns a record an entry or an object.
pub fn gather(params: &Params, objects: &[Aabb], values: &[u32], grid: &Grid, worlds: &[u32]) -> Vec<Record> {
    let count = if params.scheme == SCHEME_UNIFORM {
        params.object_count
    } else {
        grid.entry_count
    };
    map(count, |index| {
        let object = if params.scheme == SCHEME_UNIFORM {
            index
        } else {
            values[index as usize] & ID_MASK
        };
        let name = params.first_object + object;
        let bounds = &objects[name as usize];
        Record {
            low: bounds.min.map(ordered),
            object: name,
            high: bounds.max.map(ordered),
            world: params.world_of(worlds, object as usize),
        }
    })
}
