// uses: common/counters, common/grid, common/wide, common/workgroup, draw/cell_lines, draw/lines

// Draws the cells that rays visit as boxes.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> static_grid: Grid;
// Level, then x, y and z in whole cells. Levels of the static table follow the others.
@group(0) @binding(3) var<storage, read> ray_cells: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> step_counters: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    let needed = vec2<u32>(step_counters[COUNTER_RAY_CELLS_NEEDED], step_counters[COUNTER_RAY_CELLS_NEEDED + 1u]);
    let rows = rows_shown(needed, draw.first, draw.rows);
    if (row == 0u) {
        write_args(rows, BOX_VERTICES);
    }
    if (row >= rows || row >= draw.capacity / BOX_VERTICES) {
        return;
    }
    let visited = ray_cells[row];
    let cell = bitcast<vec3<i32>>(visited.yzw);
    let index = visited.x % MAX_LEVELS;
    if (visited.x < MAX_LEVELS) {
        write_cell(BOX_VERTICES * row, grid.levels[index], grid.stretch, cell, level_color(index));
    } else {
        write_cell(BOX_VERTICES * row, static_grid.levels[index], static_grid.stretch, cell, level_color(index));
    }
}
