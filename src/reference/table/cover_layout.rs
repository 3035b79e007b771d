//! Twin of `shaders/table/cover_layout.wgsl`.

use super::cover::{COVER_SHIFTS, bounds, level_past_cover};
use super::size::{OCTAVES, SLOTS, top_exponent};
use crate::shared::grid::{DENSE, Grid, Level, Params, level_inverse};
use crate::shared::wgsl::number;

/// Entries of a cell that is looked up, on average, from which on that takes more than it saves.
pub(crate) const CROWDED_CELL: u32 = number("table/cover_layout", "CROWDED_CELL");

/// Turns the entries of each tile into the place of its first one, for each choice of the cover table's cells, and
/// takes the finest cells for which the entries and the cells have room and are not crowded; none where no choice is
/// so. How crowded a cell is that an object looks up follows from the sample of
/// [`density`](super::density::density): objects may lie in few cells.
///
/// `cover_sums` is the output of [`cover_count`](super::cover_count::cover_count). Sums that exceed a word stay at its
/// largest value.
pub fn cover_layout(
    params: &Params,
    size_statistics: &[u32],
    density: &[u32],
    cover_sums: &mut [u32],
    grid: &mut Grid,
) {
    let tiles = cover_sums.len() / COVER_SHIFTS as usize;
    let mut totals = [0u32; COVER_SHIFTS as usize];
    for (sums, total) in cover_sums.chunks_exact_mut(tiles.max(1)).zip(&mut totals) {
        for sum in sums {
            let before = *total;
            *total = total.saturating_add(*sum);
            *sum = before;
        }
    }
    if grid.cover_below == 0 {
        return;
    }
    let room = params.table_capacity - grid.table_cells;
    let fits = |cover: &Level, cells_in_use: u32| {
        cover.count <= params.cover_capacity
            && cover.count / CROWDED_CELL <= cover.table_size.min(cells_in_use)
            && cover.table_size <= room
    };
    let choice = (1..).zip(totals).find_map(|(shift, total)| {
        let cover = cover_table(params, grid, shift, total);
        fits(&cover, cells_in_use(size_statistics, density, grid, shift)).then_some((shift, cover))
    });
    match choice {
        Some((shift, cover)) => {
            grid.cover_shift = shift;
            grid.cover = cover;
            grid.key_count = cover.table_base + cover.table_size + 1;
            grid.entry_count += cover.count;
        }
        None => grid.cover_below = 0,
    }
}

/// How many cells objects would lie in if all held as many, of the largest power of two that is no larger than cells
/// with this shift.
fn cells_in_use(size_statistics: &[u32], density: &[u32], grid: &Grid, shift: u32) -> u32 {
    let inverse = level_inverse(grid.base_inverse, grid.cover_below - 1 + shift).to_bits();
    // Sides that are no power of two round down.
    let exponent = 127 - (inverse >> 23) as i32 - i32::from(inverse & 0x7f_ffff != 0);
    let octave = top_exponent(size_statistics[1024]) - exponent;
    let octave = octave.clamp(0, OCTAVES as i32 - 1) as usize;
    let (entered, shared) = (density[2 * octave], density[2 * octave + 1]);
    let by_chance = entered * entered / (2 * SLOTS) + entered / 64;
    entered * entered / (2 * shared.saturating_sub(by_chance).max(1))
}

/// The table has a cell for each in which the lower corner of an object that looks it up may lie, and comes behind all
/// other keys.
fn cover_table(params: &Params, grid: &Grid, shift: u32, entries: u32) -> Level {
    let [lower, upper] = bounds(grid, shift);
    let cells: [u32; 3] = std::array::from_fn(|axis| (upper[axis] - lower[axis]) as u32 + 1);
    let stride_z = cells[0].saturating_mul(cells[1]);
    let stride_world = stride_z.saturating_mul(cells[2]);
    Level {
        count: entries,
        table_base: params.absent_key(grid) + 1,
        table_size: stride_world.saturating_mul(params.world_count),
        table_mask: DENSE,
        stride_y: cells[0],
        stride_z,
        lower_x: lower[0],
        lower_y: lower[1],
        lower_z: lower[2],
        next: level_past_cover(grid, shift),
        upper_x: upper[0],
        upper_y: upper[1],
        upper_z: upper[2],
        stride_world,
        ..Level::default()
    }
}
