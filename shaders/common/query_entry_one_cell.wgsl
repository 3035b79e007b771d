// An object has one entry, in the cell of its lower corner, and may reach into the next cells.

fn entry_record(entry: u32) -> u32 {
    return entry;
}

fn is_home_entry(entry: u32) -> bool {
    return true;
}

// Whether the entry lies in the row y, z of the query's cells rather than in one that shares its slots.
fn is_met_here(level: Level, entry: u32, low: vec3<i32>, query: Query, lower: vec3<i32>, upper: vec3<i32>, y: i32, z: i32) -> bool {
    let cell = cell_of(flush_bits(unordered(low)), axis_inverse(level.inverse, grid.x_detail));
    return cell.y == y && cell.z == z && cell.x >= lower.x && cell.x <= upper.x;
}

fn reach_of_objects(query: Query) -> vec3<i32> {
    // Askers look for lower corners.
    let reach = select(cell_reach(), 0, query.asker != NO_OBJECT);
    return vec3<i32>(reach << grid.x_detail, reach, reach);
}

fn level_objects(level: Level, world: u32) -> u32 {
    let entries = level_entries(level, world);
    return entries.y - entries.x;
}

// Every object of the level, without cells.
fn test_level(query: Query, level: Level) {
    test_range(query, level_entries(level, query.world));
}
