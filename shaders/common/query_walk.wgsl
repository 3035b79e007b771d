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

fn test_range(query: Query, entries: vec2<u32>) {
    let share = share_of(entries.y - entries.x);
    for (var k = share.x; k < share.y; k += 1u) {
        let entry = entries.x + k;
        if (is_home_entry(entry)) {
            test_record(query, entry_record(entry));
        }
    }
}

// Without cells.
fn test_level(query: Query, level: Level) {
    let all = level_records(level, query.world);
    let share = share_of(all.y - all.x);
    for (var k = share.x; k < share.y; k += 1u) {
        if (is_of_level(level, all.x + k)) {
            test_record(query, all.x + k);
        }
    }
}

fn walk_level(query: Query, level: Level) {
    let cells = cells_of(query, level);
    let lower = cells.lower;
    let upper = cells.upper;
    if (any(lower > upper)) {
        return;
    }
    let turns = (f32(upper.y) - f32(lower.y) + 2.0) * (f32(upper.z) - f32(lower.z) + 2.0);
    if (are_crowded(cells, query, level) || !takes_turns(turns)) {
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
