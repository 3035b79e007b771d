//! Twin of `shaders/table/cover_emit.wgsl`.

use super::cover::{COVER_LANES, Cover, larger_keys};
use crate::api::types::Aabb;
use crate::shared::blocks::COVER_TILE;
use crate::shared::grid::{Grid, Params, key_of};

const LANES: usize = COVER_LANES as usize;

/// Writes an entry for every cell of the cover table that a larger box covers, x fastest, behind the entries of the
/// objects. A value is the object, without home flags.
///
/// `cover_sums` is as [`cover_layout`](super::cover_layout::cover_layout) leaves it; keys and values have room for all
/// entries of the grid.
pub fn cover_emit(
    params: &Params,
    objects: &[Aabb],
    grid: &Grid,
    keys: &mut [u32],
    values: &mut [u32],
    cover_sums: &[u32],
    worlds: &[u32],
) {
    if grid.cover_below == 0 {
        return;
    }
    let larger = larger_keys(grid, grid.cover_shift);
    let objects = params.objects(objects);
    let tiles = objects.len().div_ceil(COVER_TILE);
    let places = &cover_sums[(grid.cover_shift as usize - 1) * tiles..][..tiles];
    for (tile, &first) in places.iter().enumerate() {
        let mut place = objects.len() + first as usize;
        // A lane's objects, and then those of the next one.
        let of_lanes = (0..LANES).flat_map(|lane| (lane..COVER_TILE).step_by(LANES));
        for object in of_lanes.map(|index| tile * COVER_TILE + index) {
            if object >= objects.len() || !larger.contains(&keys[object]) {
                continue;
            }
            let world = params.world_of(worlds, object);
            for cell in Cover::of(grid, &objects[object], grid.cover_shift).cells() {
                keys[place] = key_of(&grid.cover, cell, world);
                values[place] = object as u32;
                place += 1;
            }
        }
    }
}
