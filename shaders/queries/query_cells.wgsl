// uses: common/box, common/cells, common/entry, common/grid, common/rows, queries/query_entry
// needs: FILTERS, Query, objects

// Where a query looks on a level, and whom it may find.

// Cells that objects of a level may be entered in; none where a lower one is past an upper one.
struct Cells {
    lower: vec3<i32>,
    upper: vec3<i32>,
}

fn cells_of(query: Query, level: Level) -> Cells {
    let inverse = axis_inverse(level.inverse, grid.x_detail);
    let bounds_lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
    let bounds_upper = vec3<i32>(level.upper_x, level.upper_y, level.upper_z);
    let lower = max(cell_of(query.search_min, inverse) - reach_of_objects(query), bounds_lower);
    return Cells(lower, min(cell_of(query.search_max, inverse), bounds_upper));
}

// Cells per axis, as the table has them along x. Differences of integers: drivers may put floats together in another
// order, and floats of cells far out are too coarse for that.
fn cell_counts(cells: Cells, level: Level) -> vec3<f32> {
    let shifts = vec3<u32>(level.x_shift, 0u, 0u);
    let counts = bitcast<vec3<u32>>((cells.upper >> shifts) - (cells.lower >> shifts)) + 1u;
    return select(vec3<f32>(counts), vec3<f32>(0.0), cells.lower > cells.upper);
}

// Whether looking at all of the level is less than looking at so many cells.
fn are_crowded(counts: vec3<f32>, query: Query, level: Level) -> bool {
    let rows = counts.y * counts.z;
    let is_dense = level.table_mask == DENSE;
    // Hashed slots would be looked at again and again.
    let is_repeated = !is_dense && rows * counts.x >= f32(level.table_size);
    // Images may look at the same cells. Those of other worlds lie elsewhere, unless they are hashed.
    let bounds_lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
    let bounds = Cells(bounds_lower, vec3<i32>(level.upper_x, level.upper_y, level.upper_z));
    let level_counts = cell_counts(bounds, level);
    let looks_twice = is_dense && rows * counts.x > level_counts.x * level_counts.y * level_counts.z;
    return is_repeated || looks_twice || rows >= f32(listing_of(level, query.world).count);
}

fn admitted(query: Query, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return passes_filters(query.layers, query.owner, objects[2u * object].w, objects[2u * object + 1u].w);
}
