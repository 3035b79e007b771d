// What a walk finds in its cells.

@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;

// Turns of loops that a slab takes beside those over its rows: its own, and that of a closer look.
const TURNS_PER_SLAB: f32 = 2.0;

// A row of cells is about the work of as many box tests, and a step looks up some.
const TESTS_PER_STEP: f32 = 8.0;

// One more than the entry that needs a closer look before the walk goes on, or 0.
var<private> waiting: u32;
// The row that it is in, or that the slab begins with.
var<private> row_y: i32;
var<private> row_z: i32;

// Below every t: nothing more is looked for.
fn is_done() -> bool {
    return search_limit() < 0.0;
}

fn admitted(ray: Ray, object: u32) -> bool {
    if (!FILTERS) {
        return true;
    }
    return layers_meet(ray.layers, objects[2u * object].w);
}

// Takes the hit where the box is met, if filters admit it.
fn accept_box(ray: Ray, low: vec4<u32>, high: vec4<u32>, t: f32) {
    if (t >= 0.0 && high.w == ray.world) {
        if (admitted(ray, low.w)) {
            accept_hit(low.w, t);
        }
    }
}

fn test_entry(ray: Ray, entry: u32, level: Level, visit: Visit, y: i32, z: i32) {
    let record = entry_record(entry);
    let low_word = records[2u * record];
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high_word = records[2u * record + 1u];
    let high = bitcast<vec3<i32>>(high_word.xyz);
    count_candidate();
    let t = enter_box(ray, low, high, false);
    if (t != MISS && high_word.w == ray.world && is_first_visit(level, entry, low, high, ray.world, visit, y, z)) {
        waiting = select(0u, entry + 1u, t == UNSURE);
        accept_box(ray, low_word, high_word, t);
    }
}

fn test_closely(ray: Ray, entry: u32) {
    let record = entry_record(entry);
    let low = records[2u * record];
    let high = records[2u * record + 1u];
    accept_box(ray, low, high, enter_box_closely(ray, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz)));
}

// Every object of a range of entries, without cells.
fn test_range(ray: Ray, entries: vec2<u32>) {
    let share = share_of(entries.y - entries.x);
    // Closer looks stand outside of the loop over boxes: drivers for CPUs take both sides of branches.
    for (var k = share.x; k < share.y && !is_done();) {
        waiting = 0u;
        for (; k < share.y && !is_done() && waiting == 0u; k += 1u) {
            let entry = entries.x + k;
            if (is_home_entry(entry)) {
                let record = entry_record(entry);
                let low = records[2u * record];
                let high = records[2u * record + 1u];
                count_candidate();
                let t = enter_box(ray, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz), true);
                waiting = select(0u, entry + 1u, t == UNSURE);
                accept_box(ray, low, high, t);
            }
        }
        if (waiting != 0u) {
            test_closely(ray, waiting - 1u);
        }
    }
}

fn without_cells(ray: Ray, level: Level) {
    test_range(ray, level_entries(level, ray.world));
}

// Whether so many steps, of some cells an axis each, take less than testing the level's objects one by one.
fn walk_pays(ray: Ray, level: Level, steps: i32, breadth: vec3<f32>, most: vec3<f32>) -> bool {
    let entries = level_entries(level, ray.world);
    let rows = f32(steps) * breadth.y * breadth.z;
    // Hashed cells share slots: as many cells as slots meet every entry about once.
    let is_wide = any(ray.half_extents > vec3<f32>(0.0)) && level.table_mask != DENSE;
    let meets_all = is_wide && rows * breadth.x >= f32(level.table_size);
    let tests_fewer = f32(entries.y - entries.x) > TESTS_PER_STEP * rows && !meets_all;
    // A loop takes one turn more than it walks through, and each row has a loop of its own.
    let turns = f32(steps) * (2.0 * (most.y + 1.0) * (most.z + 1.0) + TURNS_PER_SLAB);
    return steps <= MAX_RAY_STEPS && tests_fewer && takes_turns(turns);
}

// The rows of a slab, up to a box that needs a closer look. The tests of its row that were made are skipped when that
// row is taken up again.
fn visit_rows(ray: Ray, level: Level, visit: Visit, lower_y: i32) {
    let first_z = row_z;
    for (var z = first_z; z <= min(visit.upper.z, level.upper_z); z += 1) {
        for (var y = select(lower_y, row_y, z == first_z); y <= min(visit.upper.y, level.upper_y); y += 1) {
            let row = long_row_of(level, visit.lower.x, visit.upper.x, y, z, ray.world);
            let share = share_of(row.count);
            var k = share.x;
            for (; k < share.y && !is_done() && waiting == 0u; k += 1u) {
                test_entry(ray, row_entry(row, k), level, visit, y, z);
            }
            if (waiting != 0u) {
                row_y = y;
                row_z = z;
                to_skip = k;
                tests_left += share.y - k;
                tests_beyond -= row.count - share.y;
                return;
            }
            if (is_done()) {
                return;
            }
        }
    }
}

// Whether the slab goes on after a closer look at one of its boxes, which stands outside of the loops over rows and
// boxes.
fn visit_slab(ray: Ray, level: Level, visit: Visit, goes_on: bool) -> bool {
    let lower_y = max(visit.lower.y, level.lower_y);
    if (!goes_on) {
        row_y = lower_y;
        row_z = max(visit.lower.z, level.lower_z);
    }
    waiting = 0u;
    visit_rows(ray, level, visit, lower_y);
    if (waiting != 0u) {
        test_closely(ray, waiting - 1u);
    }
    return waiting != 0u;
}

fn walk_ray(ray: Ray) {
    if (!ray.valid || ray.t_max < 0.0) {
        return;
    }
    if (enters_part(0u)) {
        test_range(ray, large_list(ray.world));
    }
    walk_levels(ray);
}
