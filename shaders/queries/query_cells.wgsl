// uses: common/box, common/cells, common/entry, common/grid, common/rows
// needs: FILTERS, Query, image_of, objects

// Cells of a level that a query reads, and their objects.

// Range of cells. Empty if `lower` exceeds `upper` on an axis.
struct Cells {
    lower: vec3<i32>,
    upper: vec3<i32>,
}

// Cells per axis by which objects extend past the cell of their entry.
fn reach_of_objects(query: Query) -> vec3<i32> {
    let reach = select(cell_reach(), 0, query.seeks_corners);
    return vec3<i32>(reach << x_detail(), reach, reach);
}

fn cells_of(query: Query, level: Level) -> Cells {
    let inverse = axis_inverse(level.inverse, grid.stretch);
    let bounds_lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
    let bounds_upper = vec3<i32>(level.upper_x, level.upper_y, level.upper_z);
    let lower = max(cell_of(query.search_min, inverse) - reach_of_objects(query), bounds_lower);
    return Cells(lower, min(cell_of(query.search_max, inverse), bounds_upper));
}

// Number of cells per axis; along x, of buckets. Uses integer differences, since drivers may reorder float sums, and
// floats of far cells are too coarse.
fn cell_counts(cells: Cells, level: Level) -> vec3<f32> {
    let shifts = vec3<u32>(level.x_shift, 0u, 0u);
    let counts = bitcast<vec3<u32>>((cells.upper >> shifts) - (cells.lower >> shifts)) + 1u;
    return select(vec3<f32>(counts), vec3<f32>(0.0), cells.lower > cells.upper);
}

fn are_crowded(counts: vec3<f32>, query: Query, level: Level) -> bool {
    if (WORLDS && query.world == ALL_WORLDS) {
        return true;
    }
    let rows = counts.y * counts.z;
    let is_dense = level.table_mask == DENSE;
    // With more cells than hashed buckets, some buckets would be read repeatedly.
    let is_repeated = !is_dense && rows * counts.x >= f32(level.table_size);
    // Images may read cells twice: in total, more cells than a world has on a dense level.
    let bounds_lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z);
    let bounds = Cells(bounds_lower, vec3<i32>(level.upper_x, level.upper_y, level.upper_z));
    let level_counts = cell_counts(bounds, level);
    let looks_twice = is_dense && rows * counts.x > level_counts.x * level_counts.y * level_counts.z;
    return is_repeated || looks_twice || rows >= f32(listing_of(level, query.world).row.count);
}

// Smallest number of loop iterations per row. The uniform scheme first counts the entries of all rows.
fn row_iterations() -> f32 {
    return select(2.0, 3.0, SCHEME == SCHEME_UNIFORM);
}

// True if the walk would meet each object more than MAX_MEETINGS_PER_OBJECT times on average.
fn meets_entries_again(query: Query, second: u32, level: Level) -> bool {
    if (SCHEME != SCHEME_UNIFORM) {
        return false;
    }
    let listing = listing_of(level, query.world);
    let most = MAX_MEETINGS_PER_OBJECT * listing.row.count;
    if (!listing.is_of_records || grid.entry_count <= most) {
        return false;
    }
    var entries = 0u;
    for (var image = 0u; image <= second; image += 1u) {
        let cells = cells_of(image_of(query, image), level);
        let is_walked = (image & ~second) == 0u && all(cells.lower <= cells.upper);
        for (var z = select(cells.upper.z + 1, cells.lower.z, is_walked); z <= cells.upper.z; z += 1) {
            for (var y = cells.lower.y; y <= cells.upper.y; y += 1) {
                let row = row_of(level, cells.lower.x, cells.upper.x, y, z, query.world);
                entries += min(row.count, 0xffffffffu - entries);
            }
        }
    }
    return entries > most;
}

// True if the object counts at this entry, met in row `y`, `z` of the query's cells. With one entry per object, the
// entry's cell must be one of the query's, as other cells may share the bucket. In the uniform scheme, an object counts
// in the first cell shared with the query.
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
    let primary = cell_of(flush_bits(unordered(low)), axis_inverse(level.inverse, grid.stretch));
    if (SCHEME != SCHEME_UNIFORM) {
        return primary.y == y && primary.z == z && primary.x >= lower.x && primary.x <= upper.x;
    }
    // Lower corners count only in the primary cell.
    let first = select(max(primary, lower), primary, query.seeks_corners);
    if (any(first < lower) || first.x > upper.x || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, query.world);
    return starts[key] <= entry && entry < starts[key + 1u];
}

fn admitted(query: Query, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return passes_filters(query.layers, query.group, objects[2u * object].w, objects[2u * object + 1u].w);
}
