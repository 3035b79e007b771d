use super::large_table::{LARGE_TABLE_SHIFTS, LargeCells, bounds, larger_keys, level_past_large_table};
use crate::api::types::Aabb;
use crate::layout::grid::{DENSE, Grid, Level, Params, key_of};
use crate::shared::wgsl::number;

/// Writes the entries of larger boxes after those of the objects. `keys` and `values` must have room for them. A value
/// is the object's index without primary flags. `large_table_sums` comes from [`choose_large_table`].
pub fn large_table_emit(
    params: &Params,
    objects: &[Aabb],
    grid: &Grid,
    keys: &mut [u32],
    values: &mut [u32],
    large_table_sums: &[u32],
    worlds: &[u32],
) {
    if grid.large_table_below == 0 {
        return;
    }
    let larger = larger_keys(grid, grid.large_table_shift);
    let objects = params.objects(objects);
    let length = params.large_table_tile as usize;
    let tiles = objects.len().div_ceil(length);
    let places = &large_table_sums[(grid.large_table_shift as usize - 1) * tiles..][..tiles];
    for (tile, &first) in places.iter().enumerate() {
        let mut place = objects.len() + first as usize;
        for object in tile * length..objects.len().min((tile + 1) * length) {
            if !larger.contains(&keys[object]) {
                continue;
            }
            let world = params.world_of(worlds, object);
            for cell in LargeCells::of(grid, &objects[object], grid.large_table_shift).cells() {
                keys[place] = key_of(&grid.large_table, cell, world);
                values[place] = object as u32;
                place += 1;
            }
        }
    }
}

pub(crate) const CROWDED_CELL: u32 = number("table/large_table_emit", "CROWDED_CELL");

/// Chooses the cell size of the large-object table. Replaces the number of entries of each tile by the place of the
/// tile's first entry. `large_table_sums` is the output of [`large_table_sums`](super::keys::large_table_sums). Sums
/// saturate.
pub fn choose_large_table(params: &Params, large_table_sums: &mut [u32], grid: &mut Grid) {
    let tiles = large_table_sums.len() / LARGE_TABLE_SHIFTS as usize;
    let mut totals = [0u32; LARGE_TABLE_SHIFTS as usize];
    for (sums, total) in large_table_sums.chunks_exact_mut(tiles.max(1)).zip(&mut totals) {
        for sum in sums {
            let before = *total;
            *total = total.saturating_add(*sum);
            *sum = before;
        }
    }
    if grid.large_table_below == 0 {
        return;
    }
    let room = params.table_capacity - grid.table_cells;
    let fits = |cover: &Level| {
        cover.count <= params.large_table_capacity
            && cover.count / CROWDED_CELL <= cover.table_size
            && cover.table_size <= room
    };
    let choice = (1..).zip(totals).find_map(|(shift, total)| {
        let cover = large_table(params, grid, shift, total);
        fits(&cover).then_some((shift, cover))
    });
    match choice {
        Some((shift, cover)) => {
            grid.large_table_shift = shift;
            grid.large_table = cover;
            grid.key_count = cover.table_base + cover.table_size + 1;
            grid.entry_count += cover.count;
        }
        None => grid.large_table_below = 0,
    }
}

fn large_table(params: &Params, grid: &Grid, shift: u32, entries: u32) -> Level {
    let [lower, upper] = bounds(grid, shift);
    let cells: [u32; 3] = std::array::from_fn(|axis| (upper[axis] - lower[axis]) as u32 + 1);
    let stride_z = cells[0].saturating_mul(cells[1]);
    let stride_world = stride_z.saturating_mul(cells[2]);
    Level {
        count: entries,
        table_base: params.ignored_key(grid) + 1,
        table_size: stride_world.saturating_mul(params.world_count),
        table_mask: DENSE,
        stride_y: cells[0],
        stride_z,
        lower_x: lower[0],
        lower_y: lower[1],
        lower_z: lower[2],
        next: level_past_large_table(grid, shift),
        upper_x: upper[0],
        upper_y: upper[1],
        upper_z: upper[2],
        stride_world,
        ..Level::default()
    }
}
