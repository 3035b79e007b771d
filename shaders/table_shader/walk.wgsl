// uses: common/box, common/cells, common/entry, common/grid, common/prelude, common/rows, queries/query
// uses: queries/query_cells, queries/query_image_own

// Queries over a step's table, for the caller's shader: objects that overlap a box or are within a radius, one at a
// time, and the entries of a cell. See src/addons/table_shader.rs.

// Object of each entry; read in the uniform scheme only.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const ALL_LAYERS: u32 = 0xffffffffu;

// Position of a walk: entries read without cells, all records of a level, a row of cells, or the end.
const WALK_ENTRIES: u32 = 0u;
const WALK_RECORDS: u32 = 1u;
const WALK_ROW: u32 = 2u;
const WALK_DONE: u32 = 3u;

struct Walk {
    // Last result: object, squared distance between its box and the query, record of the box.
    object: u32,
    squared_distance: f32,
    record: u32,
    // Internal fields follow.
    query: Query,
    place: u32,
    level: u32,
    following: u32,
    // Number of levels left. Bounds the walk of an unbuilt table.
    levels_left: u32,
    // Rows of cells that the walk may still read. Bounds the walk of any query.
    rows_left: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
    y: i32,
    z: i32,
    row: Row,
    passed: u32,
}

fn is_half() -> bool {
    return false;
}

// Query for the objects that overlap a box, in world 0 and all layers.
fn box_query(lower: vec3<f32>, upper: vec3<f32>) -> Query {
    return sphere_box_query(lower, upper, 0.0);
}

// Query for the objects within `radius` of `center`, in world 0 and all layers.
fn sphere_query(center: vec3<f32>, radius: f32) -> Query {
    return sphere_box_query(center, center, radius);
}

fn sphere_box_query(lower: vec3<f32>, upper: vec3<f32>, radius: f32) -> Query {
    let low = vec4<u32>(bitcast<vec3<u32>>(lower), ALL_LAYERS);
    let high = vec4<u32>(bitcast<vec3<u32>>(upper), 0u);
    return query_of(low, high, bitcast<u32>(radius), 0u);
}

fn begin_walk(query: Query) -> Walk {
    var walk: Walk;
    walk.object = NO_OBJECT;
    walk.query = query;
    walk.place = select(WALK_DONE, WALK_ENTRIES, query.answers);
    walk.following = grid.first_level;
    walk.levels_left = MAX_LEVELS;
    walk.rows_left = params.object_count;
    walk.row = large_list(query.world);
    return walk;
}

// Moves to the next object. Returns false after the last one.
fn next_object(walk: ptr<function, Walk>) -> bool {
    for (; (*walk).place != WALK_DONE;) {
        if ((*walk).passed == (*walk).row.count) {
            go_on(walk);
        } else {
            let entry = row_entry((*walk).row, (*walk).passed);
            (*walk).passed += 1u;
            if (finds(walk, entry)) {
                return true;
            }
        }
    }
    return false;
}

// False if the caller's loop or a driver ended the walk early.
fn walk_is_complete(walk: ptr<function, Walk>) -> bool {
    return (*walk).place == WALK_DONE;
}

// Reserves the rows of `cells`. Returns false if fewer are left.
fn takes_rows(walk: ptr<function, Walk>, cells: Cells) -> bool {
    let left = (*walk).rows_left;
    let past_y = bitcast<u32>(cells.upper.y - cells.lower.y);
    let past_z = bitcast<u32>(cells.upper.z - cells.lower.z);
    if (past_y >= left || past_z >= left / (past_y + 1u)) {
        return false;
    }
    (*walk).rows_left = left - (past_y + 1u) * (past_z + 1u);
    return true;
}

// Moves to the next row or level.
fn go_on(walk: ptr<function, Walk>) {
    (*walk).passed = 0u;
    if ((*walk).place == WALK_ROW && ((*walk).y < (*walk).upper.y || (*walk).z < (*walk).upper.z)) {
        let is_last = (*walk).y == (*walk).upper.y;
        (*walk).z += select(0, 1, is_last);
        (*walk).y = select((*walk).y + 1, (*walk).lower.y, is_last);
    } else {
        let index = (*walk).following;
        if (index == NO_LEVEL || (*walk).levels_left == 0u) {
            (*walk).place = WALK_DONE;
            return;
        }
        let level = grid.levels[index];
        let cells = cells_of((*walk).query, level);
        (*walk).level = index;
        (*walk).following = level.next;
        (*walk).levels_left -= 1u;
        (*walk).place = WALK_ENTRIES;
        (*walk).row = Row(0u, 0u, 0u, 0u);
        if (any(cells.lower > cells.upper)) {
            return;
        }
        let counts = cell_counts(cells, level);
        let query = (*walk).query;
        if (are_crowded(counts, query, level) || !takes_rows(walk, cells) || meets_entries_again(query, 0u, level)) {
            let listing = listing_of(level, query.world);
            (*walk).place = select(WALK_ENTRIES, WALK_RECORDS, listing.is_of_records);
            (*walk).row = listing.row;
            return;
        }
        (*walk).place = WALK_ROW;
        (*walk).lower = cells.lower;
        (*walk).upper = cells.upper;
        (*walk).y = cells.lower.y;
        (*walk).z = cells.lower.z;
    }
    let level = grid.levels[(*walk).level];
    (*walk).row = row_of(level, (*walk).lower.x, (*walk).upper.x, (*walk).y, (*walk).z, (*walk).query.world);
}

// True if the query finds the object of `entry`. In a walk over records, `entry` is a record.
fn finds(walk: ptr<function, Walk>, entry: u32) -> bool {
    let query = (*walk).query;
    let level = grid.levels[min((*walk).level, MAX_LEVELS - 1u)];
    let is_record = (*walk).place == WALK_RECORDS;
    if ((*walk).place != WALK_ROW && !is_listed(is_record, entry)) {
        return false;
    }
    let record = listed_record(is_record, entry);
    let low = records[2u * record];
    let distance = distance_to(query, low, records[2u * record + 1u]);
    if (distance == MISS) {
        return false;
    }
    if ((*walk).place == WALK_ROW) {
        let corner = bitcast<vec3<i32>>(low.xyz);
        if (!is_met_here(level, entry, corner, query, (*walk).lower, (*walk).upper, (*walk).y, (*walk).z)) {
            return false;
        }
    }
    if (!admitted(query, low.w)) {
        return false;
    }
    (*walk).object = low.w;
    (*walk).squared_distance = bitcast<f32>(squared_bits(distance));
    (*walk).record = record;
    return true;
}

// Corners of a record's box, with the margin.
fn record_min(record: u32) -> vec3<f32> {
    return bitcast<vec3<f32>>(unordered(bitcast<vec3<i32>>(records[2u * record].xyz)));
}

fn record_max(record: u32) -> vec3<f32> {
    return bitcast<vec3<f32>>(unordered(bitcast<vec3<i32>>(records[2u * record + 1u].xyz)));
}

fn record_object(record: u32) -> u32 {
    return records[2u * record].w;
}

// Finest level that has objects. `level_after` returns the next; both return NO_LEVEL at the end.
fn first_level() -> u32 {
    return grid.first_level;
}

fn level_after(level: u32) -> u32 {
    return grid.levels[level].next;
}

fn cell_size(level: u32) -> vec3<f32> {
    let halves = select(1.0, 2.0, SCHEME == SCHEME_ADAPTIVE);
    return halves / axis_inverse(grid.levels[level].inverse, grid.stretch);
}

fn cell_at(level: u32, position: vec3<f32>) -> vec3<i32> {
    let bits = flat(bitcast<vec3<u32>>(position));
    return cell_of(flush_bits(bits), axis_inverse(grid.levels[level].inverse, grid.stretch));
}

// Entries `x .. y`, which include all entries of a cell. Other cells may share its bucket: see `is_in_cell`.
fn cell_entries(level: u32, cell: vec3<i32>, world: u32) -> vec2<u32> {
    let row = row_of(grid.levels[level], cell.x, cell.x, cell.y, cell.z, world);
    let lower = vec3<i32>(grid.levels[level].lower_x, grid.levels[level].lower_y, grid.levels[level].lower_z);
    let upper = vec3<i32>(grid.levels[level].upper_x, grid.levels[level].upper_y, grid.levels[level].upper_z);
    let is_outside = any(cell < lower) || any(cell > upper);
    return vec2<u32>(row.begin, row.begin + select(row.count, 0u, is_outside));
}

// True if the lower corner of the entry's object is in the cell, or in the uniform scheme any part of the object.
fn is_in_cell(level: u32, entry: u32, cell: vec3<i32>, world: u32) -> bool {
    let record = entry_record(entry);
    let first = cell_at(level, record_min(record));
    let last = select(first, cell_at(level, record_max(record)), SCHEME == SCHEME_UNIFORM);
    return all(first <= cell) && all(cell <= last) && records[2u * record + 1u].w == world;
}
