use super::lines::{cell_lines, draw_args, level_color};
use crate::api::counters::word;
use crate::api::types::{LineVertex, RayCell};
use crate::layout::blocks::{BOX_VERTICES, DrawParams, rows_shown, wide};
use crate::layout::grid::{Grid, MAX_LEVELS, Params};

/// `grids` are those of the moving and the static table.
pub fn draw_ray_cells(
    params: &Params,
    draw: &DrawParams,
    grids: [&Grid; 2],
    ray_cells: &[RayCell],
    step_counters: &[u32],
) -> (Vec<LineVertex>, [u32; 5]) {
    let needed = wide(step_counters, word::RAY_CELLS_NEEDED);
    let rows = rows_shown(needed, draw.first, draw.rows);
    let args = draw_args(draw, rows, BOX_VERTICES);
    let lines = ray_cells[..rows as usize].iter().flat_map(|visited| {
        let index = visited.level % MAX_LEVELS;
        let grid = grids[usize::from(visited.level >= MAX_LEVELS)];
        let cell = [visited.x, visited.y, visited.z];
        cell_lines(
            params,
            &grid.levels[index as usize],
            grid.stretch,
            cell,
            level_color(draw, index),
        )
    });
    (lines.take(args[0] as usize).collect(), args)
}
