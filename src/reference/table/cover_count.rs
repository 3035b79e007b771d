//! Twin of `shaders/table/cover_count.wgsl`.

use super::cover::{COVER_SHIFTS, Cover, larger_keys};
use crate::api::types::Aabb;
use crate::reference::runs::{LENGTH, in_runs};
use crate::shared::blocks::COVER_TILE;
use crate::shared::grid::{Grid, Params};

const _: () = assert!((LENGTH as usize).is_multiple_of(COVER_TILE));

/// The entries that the objects of each tile would have in the cover table, for each choice of its cells: words as
/// `[shift - 1][tile]`.
pub fn cover_count(params: &Params, objects: &[Aabb], grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let objects = params.objects(objects);
    if grid.cover_below == 0 {
        return vec![0; COVER_SHIFTS as usize * objects.len().div_ceil(COVER_TILE)];
    }
    let of_runs = |shift| {
        let larger = larger_keys(grid, shift);
        in_runs(objects.len() as u32, move |run| {
            let run = run.start as usize..run.end as usize;
            let sum = |(objects, keys): (&[Aabb], &[u32])| -> u32 {
                let entered = objects.iter().zip(keys).filter(|(_, key)| larger.contains(key));
                entered.map(|(object, _)| Cover::of(grid, object, shift).count()).sum()
            };
            let tiles = objects[run.clone()]
                .chunks(COVER_TILE)
                .zip(keys[run].chunks(COVER_TILE));
            tiles.map(sum).collect::<Vec<_>>()
        })
    };
    (1..=COVER_SHIFTS).flat_map(of_runs).flatten().collect()
}
