// Every candidate of a query: the large list and, on every level, the cells that its search bounds cover and as far
// before as objects there reach. What it finds goes to `accept_result`.

fn test_entry(query: Query, entry: u32) -> f32 {
    let record = entry_record(entry);
    return distance_to(query, records[2u * record], records[2u * record + 1u]);
}

fn found(query: Query, entry: u32, squared: f32) {
    let object = records[2u * entry_record(entry)].w;
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
    for (var entry = entries.x; entry < entries.y; entry += 1u) {
        if (is_home_entry(entry)) {
            let squared = test_entry(query, entry);
            if (squared >= 0.0) {
                found(query, entry, squared);
            }
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
    let entries = level_entries(level, query.world);
    let rows = (f32(upper.y) - f32(lower.y) + 1.0) * (f32(upper.z) - f32(lower.z) + 1.0);
    if (rows >= f32(entries.y - entries.x)) {
        test_range(query, entries);
        return;
    }
    for (var z = lower.z; z <= upper.z; z += 1) {
        for (var y = lower.y; y <= upper.y; y += 1) {
            let row = row_of(level, lower.x, upper.x, y, z, query.world);
            for (var k = 0u; k < row.count; k += 1u) {
                let entry = row_entry(row, k);
                let squared = test_entry(query, entry);
                if (squared >= 0.0) {
                    let low = bitcast<vec3<i32>>(records[2u * entry_record(entry)].xyz);
                    if (is_met_here(level, entry, low, query, lower, upper, y, z)) {
                        found(query, entry, squared);
                    }
                }
            }
        }
    }
}

fn walk_image(query: Query) {
    test_range(query, large_list(query.world));
    var index = grid.first_level;
    for (var visited = 0u; visited < MAX_LEVELS && index != NO_LEVEL; visited += 1u) {
        let level = grid.levels[index];
        walk_level(query, level);
        index = level.next;
    }
}

// Periodic axes have three images of an asker: itself, one period ahead and one behind.
fn walk_query(given: Query) {
    if (!given.answers) {
        return;
    }
    let is_periodic = (periods() > vec3<f32>(0.0)) & vec3<bool>(given.asker != NO_OBJECT);
    let images = select(vec3<i32>(0), vec3<i32>(1), is_periodic);
    for (var z = -images.z; z <= images.z; z += 1) {
        for (var y = -images.y; y <= images.y; y += 1) {
            for (var x = -images.x; x <= images.x; x += 1) {
                var query = given;
                query.image = vec3<i32>(x, y, z);
                walk_image(with_search_bounds(query));
            }
        }
    }
}
