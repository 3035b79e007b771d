// What a walk finds in its cells.

@group(0) @binding(5) var<storage, read> objects: array<vec4<u32>>;

override FILTERS: bool = true;

// A row of cells is about the work of as many box tests, and a step looks up some.
const TESTS_PER_STEP: f32 = 8.0;

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

fn test_entry(ray: Ray, entry: u32, level: Level, visit: Visit, y: i32, z: i32) {
    let record = entry_record(entry);
    let low_word = records[2u * record];
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high_word = records[2u * record + 1u];
    let high = bitcast<vec3<i32>>(high_word.xyz);
    count_candidate();
    let t = enter_box(ray, low, high);
    if (t >= 0.0 && high_word.w == ray.world && is_first_visit(level, entry, low, high, ray.world, visit, y, z)) {
        if (admitted(ray, low_word.w)) {
            accept_hit(low_word.w, t);
        }
    }
}

// Every object of a range of entries, without cells.
fn test_range(ray: Ray, entries: vec2<u32>) {
    let share = share_of(entries.y - entries.x);
    for (var k = share.x; k < share.y && !is_done(); k += 1u) {
        let entry = entries.x + k;
        if (is_home_entry(entry)) {
            let record = entry_record(entry);
            let low_word = records[2u * record];
            let high_word = records[2u * record + 1u];
            count_candidate();
            let t = enter_box(ray, bitcast<vec3<i32>>(low_word.xyz), bitcast<vec3<i32>>(high_word.xyz));
            if (t >= 0.0 && high_word.w == ray.world) {
                if (admitted(ray, low_word.w)) {
                    accept_hit(low_word.w, t);
                }
            }
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
    return steps <= MAX_RAY_STEPS && tests_fewer && takes_turns(f32(steps) * (2.0 * (most.y + 1.0) * (most.z + 1.0) + 1.0));
}

fn visit_slab(ray: Ray, level: Level, visit: Visit) {
    for (var z = max(visit.lower.z, level.lower_z); z <= min(visit.upper.z, level.upper_z); z += 1) {
        for (var y = max(visit.lower.y, level.lower_y); y <= min(visit.upper.y, level.upper_y); y += 1) {
            let row = long_row_of(level, visit.lower.x, visit.upper.x, y, z, ray.world);
            let share = share_of(row.count);
            for (var k = share.x; k < share.y && !is_done(); k += 1u) {
                test_entry(ray, row_entry(row, k), level, visit, y, z);
            }
            if (is_done()) {
                return;
            }
        }
    }
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
