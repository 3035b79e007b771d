// uses: common/box, common/cells, common/grid, common/rows
// needs: Query

// The cells in which a query finds an object.

// Whether the object is found in this entry, in the row y, z of the query's cells. With one entry an object, the entry
// may be of another cell that shares the row's slots. With an entry in every cell that an object covers, the object
// counts in the first cell that it shares with the query.
fn is_met_here(
    level: Level,
    entry: u32,
    low: vec3<i32>,
    query: Query,
    lower: vec3<i32>,
    upper: vec3<i32>,
    y: i32,
    z: i32,
) -> bool {
    let detail = select(grid.x_detail, 0u, SCHEME == SCHEME_UNIFORM);
    let home = cell_of(flush_bits(unordered(low)), axis_inverse(level.inverse, detail));
    if (SCHEME != SCHEME_UNIFORM) {
        return home.y == y && home.z == z && home.x >= lower.x && home.x <= upper.x;
    }
    // Lower corners lie in the home cell.
    let first = select(max(home, lower), home, query.seeks_corners);
    if (any(first < lower) || first.x > upper.x || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, query.world);
    return starts[key] <= entry && entry < starts[key + 1u];
}

// Cells that objects reach into past the one that has their entry.
fn reach_of_objects(query: Query) -> vec3<i32> {
    let reach = select(cell_reach(), 0, query.seeks_corners);
    return vec3<i32>(reach << grid.x_detail, reach, reach);
}
