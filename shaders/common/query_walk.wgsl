// Every candidate of a query: the large list and, on every level, the cells that its search bounds cover and as far
// before as objects there reach. What it finds goes to `accept_result`.

fn test_record(query: Query, record: u32) {
    let squared = distance_to(query, records[2u * record], records[2u * record + 1u]);
    if (squared >= 0.0) {
        found(query, record, squared);
    }
}

fn found(query: Query, record: u32, squared: f32) {
    let object = records[2u * record].w;
    if (admitted(query, object)) {
        accept_result(object, squared);
    }
}

fn admitted(query: Query, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return passes_filters(query.layers, query.owner, objects[2u * object].w, objects[2u * object + 1u].w);
}

fn test_range(query: Query, entries: vec2<u32>) {
    let share = share_of(entries.y - entries.x);
    for (var k = share.x; k < share.y; k += 1u) {
        let entry = entries.x + k;
        if (is_home_entry(entry)) {
            test_record(query, entry_record(entry));
        }
    }
}

fn walk_level(query: Query, level: Level) {
    let inverse = axis_inverse(level.inverse, grid.x_detail);
    let bounds_lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
    let bounds_upper = vec3<i32>(level.upper_x, level.upper_y, level.upper_z);
    // Cells that objects of the level may be entered in.
    let lower = max(cell_of(query.search_min, inverse) - reach_of_objects(query), bounds_lower);
    let upper = min(cell_of(query.search_max, inverse), bounds_upper);
    if (any(lower > upper)) {
        return;
    }
    let rows = (f32(upper.y) - f32(lower.y) + 1.0) * (f32(upper.z) - f32(lower.z) + 1.0);
    let row_cells = f32(upper.x >> level.x_shift) - f32(lower.x >> level.x_shift) + 1.0;
    // Hashed slots would be looked at again and again.
    let is_crowded = level.table_mask != DENSE && rows * row_cells >= f32(level.table_size);
    let turns = (f32(upper.y) - f32(lower.y) + 2.0) * (f32(upper.z) - f32(lower.z) + 2.0);
    if (is_crowded || rows >= f32(level_objects(level, query.world)) || !takes_turns(turns)) {
        test_level(query, level);
        return;
    }
    for (var z = lower.z; z <= upper.z; z += 1) {
        for (var y = lower.y; y <= upper.y; y += 1) {
            let row = long_row_of(level, lower.x, upper.x, y, z, query.world);
            let share = share_of(row.count);
            for (var k = share.x; k < share.y; k += 1u) {
                let entry = row_entry(row, k);
                let record = entry_record(entry);
                let squared = distance_to(query, records[2u * record], records[2u * record + 1u]);
                if (squared >= 0.0) {
                    let low = bitcast<vec3<i32>>(records[2u * record].xyz);
                    if (is_met_here(level, entry, low, query, lower, upper, y, z)) {
                        found(query, record, squared);
                    }
                }
            }
        }
    }
}

// All candidates, whatever axes have periods.
fn walk_image(query: Query) {
    test_range(query, large_list(query.world));
    var index = grid.first_level;
    for (var visited = 0u; visited < MAX_LEVELS && index != NO_LEVEL; visited += 1u) {
        let level = grid.levels[index];
        walk_level(query, level);
        index = level.next;
    }
}
