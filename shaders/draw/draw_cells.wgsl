// uses: common/box, common/cells, common/entry, common/grid, common/prelude, common/rows, common/workgroup
// uses: draw/cell_lines, draw/lines

// Draws occupied cells as boxes. Each cell is drawn for the first of its entries: once per world, occasionally more
// often if hashed cells share buckets.

@group(0) @binding(4) var<storage, read> objects: array<vec4<u32>>;
// In the uniform scheme, the object of each entry.
@group(0) @binding(6) var<storage, read> values: array<u32>;

// Maximum number of entries per bucket that are searched for an earlier entry of the same cell.
const MAX_SHARING: u32 = 8u;

// Cells in which a record has entries: none if it is in the large list or ignored.
fn cells_entered(record: u32) -> Placement {
    let nowhere = Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
    if (SCHEME == SCHEME_UNIFORM) {
        let low = objects[2u * (params.first_object + record)];
        let high = objects[2u * (params.first_object + record) + 1u];
        if (!enters_cells(classify(low, high), records[2u * record + 1u].w)) {
            return nowhere;
        }
        return place_uniform(low.xyz, high.xyz, params.cell_inverse);
    }
    // Records are in entry order, those of objects in cells first.
    if (record >= starts[grid.table_cells]) {
        return nowhere;
    }
    let low = unordered(bitcast<vec3<i32>>(records[2u * record].xyz));
    let high = unordered(bitcast<vec3<i32>>(records[2u * record + 1u].xyz));
    let placement = place_single_cell(low, high, grid.base_inverse, grid.stretch);
    let cell = placement.lower >> vec3<u32>(x_detail(), 0u, 0u);
    return Placement(placement.level, cell, cell);
}

fn is_entered_in(record: u32, level: u32, cell: vec3<i32>) -> bool {
    let entered = cells_entered(record);
    return entered.level == level && all(entered.lower <= cell) && all(cell <= entered.upper);
}

fn is_first_of(cell: vec3<i32>, level_index: u32, record: u32) -> bool {
    let level = grid.levels[level_index];
    let world = records[2u * record + 1u].w;
    let first_x = cell.x << x_detail();
    var is_cut = false;
    for (var fine = 0i; fine < (1i << x_detail()); fine += 1i) {
        let x = first_x + fine;
        if (x >= level.lower_x && x <= level.upper_x) {
            let key = key_of(level, vec3<i32>(x, cell.y, cell.z), world);
            let all = starts[key + 1u] - starts[key];
            let count = min(all, MAX_SHARING);
            is_cut = is_cut || all > count;
            for (var k = 0u; k < count; k += 1u) {
                let other = entry_record(starts[key] + k);
                if (other == record) {
                    return true;
                }
                if (is_entered_in(other, level_index, cell)) {
                    return false;
                }
            }
        }
    }
    // `record` was not found: the search was cut short, or the table had no room for its entry.
    return is_cut;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let record = flat_workgroup(group, groups) * WORKGROUP + local;
    if (record == 0u) {
        atomicStore(&draw_args[1], 1u);
    }
    if (record >= draw.rows) {
        return;
    }
    let entered = cells_entered(record);
    if (entered.level == NO_LEVEL || ((draw.levels >> entered.level) & 1u) == 0u) {
        return;
    }
    let size = vec3<u32>(entered.upper - entered.lower) + vec3<u32>(1u);
    for (var k = 0u; k < min(size.x * size.y * size.z, MAX_COVER); k += 1u) {
        let cell = entered.lower + vec3<i32>(vec3<u32>(k % size.x, (k / size.x) % size.y, k / (size.x * size.y)));
        if (is_first_of(cell, entered.level, record)) {
            let place = atomicAdd(&draw_args[4], BOX_VERTICES);
            if (place < draw.capacity) {
                write_cell(place, grid.levels[entered.level], grid.stretch, cell, level_color(entered.level));
                atomicMax(&draw_args[0], place + BOX_VERTICES);
            }
        }
    }
}
