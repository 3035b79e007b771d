//! Twin of `shaders/table/cover_count.wgsl`.

use super::cover::{COVER_SHIFTS, Cover, larger_keys};
use crate::api::types::Aabb;
use crate::shared::blocks::COVER_TILE;
use crate::shared::grid::{Grid, Params};

/// The entries that the objects of each tile would have in the cover table, for each choice of its cells: words as
/// `[shift - 1][tile]`.
pub fn cover_count(params: &Params, objects: &[Aabb], grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let objects = params.objects(objects);
    let tiles = || objects.chunks(COVER_TILE).zip(keys.chunks(COVER_TILE));
    let choices = (1..=COVER_SHIFTS).flat_map(|shift| {
        tiles().map(move |(objects, keys)| {
            if grid.cover_below == 0 {
                return 0;
            }
            let larger = larger_keys(grid, shift);
            let entered = objects.iter().zip(keys).filter(|(_, key)| larger.contains(key));
            entered.map(|(object, _)| Cover::of(grid, object, shift).count()).sum()
        })
    });
    choices.collect()
}
