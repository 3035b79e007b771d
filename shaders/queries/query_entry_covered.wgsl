// uses: common/box, common/cells, common/grid, common/rows
// needs: Query

// An object has an entry in every cell it covers and is reported in the first one that it shares with the query.

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
    let home = cell_of(flush_bits(unordered(low)), vec3<f32>(level.inverse));
    // Lower corners lie in the home cell.
    let first = select(max(home, lower), home, query.seeks_corners);
    if (any(first < lower) || first.x > upper.x || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, query.world);
    return starts[key] <= entry && entry < starts[key + 1u];
}

fn reach_of_objects(query: Query) -> vec3<i32> {
    return vec3<i32>(0);
}
