use super::large_table::{LARGE_TABLE_SHIFTS, LargeCells, larger_keys};
use crate::api::types::Aabb;
use crate::layout::grid::{Class, Grid, LARGE_TABLE_TILE, NO_LEVEL, Params, classify, enters_cells, key_of, place};
use crate::shared::runs::{RUN_LENGTH, in_runs, map};

const _: () = assert!((RUN_LENGTH as usize).is_multiple_of(LARGE_TABLE_TILE as usize));

/// Returns one key per object. The value sorted along with a key is the object's index with all primary flags (bits 29
/// to 31) set.
pub fn keys(params: &Params, objects: &[Aabb], grid: &Grid, worlds: &[u32]) -> Vec<u32> {
    let objects = params.objects(objects);
    let key = |index: u32| {
        let object = &objects[index as usize];
        let world = params.world_of(worlds, index as usize);
        match classify(object) {
            Class::Invalid | Class::Excluded => params.ignored_key(grid),
            class if !enters_cells(class, world) => params.large_key(grid, world),
            _ => match place(params, grid.finest_cell(), object) {
                placement if placement.level == NO_LEVEL => params.large_key(grid, world),
                placement => key_of(&grid.levels[placement.level as usize], placement.lower, world),
            },
        }
    };
    map(objects.len() as u32, key)
}

/// Returns the number of entries in the large-object table, as `[shift - 1][tile]`.
pub fn large_table_sums(params: &Params, objects: &[Aabb], grid: &Grid, keys: &[u32]) -> Vec<u32> {
    let objects = params.objects(objects);
    let tile = params.large_table_tile as usize;
    if grid.large_table_below == 0 {
        return vec![0; LARGE_TABLE_SHIFTS as usize * objects.len().div_ceil(tile)];
    }
    let of_runs = |shift| {
        let larger = larger_keys(grid, shift);
        in_runs(objects.len() as u32, move |run| {
            let run = run.start as usize..run.end as usize;
            let sum = |(objects, keys): (&[Aabb], &[u32])| -> u32 {
                let entered = objects.iter().zip(keys).filter(|(_, key)| larger.contains(key));
                entered
                    .map(|(object, _)| LargeCells::of(grid, object, shift).count())
                    .sum()
            };
            let tiles = objects[run.clone()].chunks(tile).zip(keys[run].chunks(tile));
            tiles.map(sum).collect::<Vec<_>>()
        })
    };
    (1..=LARGE_TABLE_SHIFTS).flat_map(of_runs).flatten().collect()
}
