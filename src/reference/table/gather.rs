use crate::api::types::Aabb;
use crate::layout::grid::{Grid, ID_MASK, Params, Record, SCHEME_UNIFORM, ordered};
use crate::shared::runs::map;

pub fn gather(
    params: &Params,
    objects: &[Aabb],
    keys: &[u32],
    values: &[u32],
    grid: &Grid,
    worlds: &[u32],
) -> (Vec<u32>, Vec<Record>) {
    (cell_starts(grid, keys), records(params, objects, values, grid, worlds))
}

/// Returns the index of the first entry of each key, `key_count` words. The first entry of the ignored objects' key is
/// the end of the large list.
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

/// Returns one record per entry, or per object in the uniform scheme.
pub fn records(params: &Params, objects: &[Aabb], values: &[u32], grid: &Grid, worlds: &[u32]) -> Vec<Record> {
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
