// uses: common/box, common/cells, common/grid, common/rows
// needs: Query

// An object has one entry, in the cell of its lower corner, and may reach into the next cells.

// Whether the entry lies in the row y, z of the query's cells rather than in one that shares its slots.
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
    let cell = cell_of(flush_bits(unordered(low)), axis_inverse(level.inverse, grid.x_detail));
    return cell.y == y && cell.z == z && cell.x >= lower.x && cell.x <= upper.x;
}

fn reach_of_objects(query: Query) -> vec3<i32> {
    let reach = select(cell_reach(), 0, query.seeks_corners);
    return vec3<i32>(reach << grid.x_detail, reach, reach);
}
