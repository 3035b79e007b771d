// uses: common/candidates, common/entry, common/grid, common/prelude, common/round, common/rows, common/worlds
// uses: rays/ray, rays/ray_closely, rays/ray_entry, rays/ray_params, rays/ray_pays, rays/ray_walk
// needs: ACCEPTS_AGAIN, accept_hit, is_too_far, search_limit, walks_part

// Tests the boxes in the cells of a walk. table_shader/cast does the same in the caller's shader, one hit at a time.

// In the uniform scheme, the object of each entry. In the others, the ray indices in walking order, as WebGPU allows no
// further binding.
@group(0) @binding(6) var<storage, read> values: array<u32>;

// Index plus one of the record that `test_closely` must test before the walk continues, or 0.
var<private> unsure_record: u32;
// Number of the row's candidates passed before a closer test, or 0.
var<private> row_tested: u32;
var<private> row_y: i32;
var<private> row_z: i32;

// Index of the ray of invocation `place`; many rays are walked in the order of `ray_keys`.
fn ray_at(place: u32) -> u32 {
    if (SCHEME != SCHEME_UNIFORM && ray_params.is_sorted != 0u && place < ray_params.count) {
        return values[place];
    }
    return place;
}

fn is_done() -> bool {
    return search_limit() < 0.0;
}

fn accept_box(ray: Ray, low: vec4<u32>, high: vec4<u32>, t: f32) {
    if (t >= 0.0 && worlds_meet(high.w, ray.world)) {
        if (admits(ray, low.w)) {
            accept_hit(ray, low.w, t);
        }
    }
}

// Tests a candidate and accepts a hit or, if `is_member` is false, tests its cluster. Returns true if the ray hits the
// tested box and `is_too_far` is false.
fn test_entry(ray: Ray, entry: u32, is_member: bool, level: Level, visit: Visit, y: i32, z: i32) -> bool {
    let record = tested_record(entry_record(entry), is_member);
    let low_word = records[2u * record];
    let low = bitcast<vec3<i32>>(low_word.xyz);
    let high_word = records[2u * record + 1u];
    let high = bitcast<vec3<i32>>(high_word.xyz);
    count_candidate();
    let t = enter_box(ray, low, high, false);
    let is_near = t != NO_HIT && !is_too_far(t);
    if (t != NO_HIT && is_member && worlds_meet(high_word.w, ray.world)
        && is_first_visit(level, entry, low, high, ray.world, visit, y, z)) {
        unsure_record = select(0u, record + 1u, t == UNSURE);
        accept_box(ray, low_word, high_word, t);
    }
    return is_near;
}

fn test_closely(ray: Ray, record: u32) {
    let low = records[2u * record];
    let high = records[2u * record + 1u];
    accept_box(ray, low, high, enter_box_closely(ray, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz)));
}

fn test_all(ray: Ray, listing: Listing) {
    let share = tests_in_round(listing.row.count);
    var members_end = members_end_at(share.x, share.y);
    // Closer tests are outside the loop over boxes: CPU drivers execute both sides of branches.
    for (var k = share.x; k < share.y && !is_done();) {
        unsure_record = 0u;
        for (; k < share.y && !is_done() && unsure_record == 0u;) {
            let place = row_entry(listing.row, k);
            let past = cluster_end(k, place, range_end(listing.row, k, share.y));
            let is_member = !may_have_clusters() || past <= members_end;
            var is_met = false;
            if (is_listed(listing.is_of_records, place)) {
                let record = tested_record(listed_record(listing.is_of_records, place), is_member);
                let low = records[2u * record];
                let high = records[2u * record + 1u];
                count_candidate();
                let t = enter_box(ray, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz), true);
                is_met = t != NO_HIT && !is_too_far(t);
                if (is_member) {
                    unsure_record = select(0u, record + 1u, t == UNSURE);
                    accept_box(ray, low, high, t);
                }
            }
            members_end = select(past, members_end, is_member);
            k = select(select(past, k, is_met), k + 1u, is_member);
        }
        if (unsure_record != 0u) {
            test_closely(ray, unsure_record - 1u);
        }
    }
}

fn without_cells(ray: Ray, level: Level) {
    test_all(ray, listing_of(level, ray.world));
}

fn walk_pays(ray: Ray, level: Level, steps: i32, breadth: vec3<f32>, most: vec3<f32>) -> bool {
    row_tested = 0u;
    return cells_pay(ray, level, steps, breadth, most, ACCEPTS_AGAIN);
}

// True if a closer test interrupted the slab.
fn resumes_slab() -> bool {
    return row_tested > 0u && !is_done();
}

// Visits rows up to a box that needs a closer test. One loop for y and z: each loop around the tests costs registers.
fn visit_rows(ray: Ray, level: Level, visit: Visit, lower_y: i32) {
    let upper_y = min(visit.upper.y, level.upper_y);
    let upper_z = min(visit.upper.z, level.upper_z);
    for (; row_y <= upper_y && row_z <= upper_z && unsure_record == 0u && !is_done() && !drops_level();) {
        let row = row_of(level, visit.lower.x, visit.upper.x, row_y, row_z, ray.world);
        meetings.count += select(min(row.count, 0xffffffffu - meetings.count), 0u, row_tested > 0u);
        if (!counts_first() && !drops_level()) {
            let passed_before_row = tests_passed - row_tested;
            let share = tests_in_round(row.count - row_tested);
            let end = row_tested + share.y;
            var k = row_tested + share.x;
            var members_end = members_end_at(k, end);
            for (; k < end && !is_done() && unsure_record == 0u;) {
                let entry = row_entry(row, k);
                let past = cluster_end(k, entry, range_end(row, k, end));
                let is_member = !may_have_clusters() || past <= members_end;
                members_end = select(past, members_end, is_member);
                let is_met = test_entry(ray, entry, is_member, level, visit, row_y, row_z);
                k = select(select(members_end, k, is_met), k + 1u, is_member);
            }
            let waits = unsure_record != 0u;
            tests_passed = select(tests_passed, passed_before_row + k, waits);
            row_tested = select(0u, k, waits);
        }
        let is_last = row_y == upper_y;
        row_z += select(0, 1, is_last && unsure_record == 0u);
        row_y = select(row_y + select(0, 1, unsure_record == 0u), lower_y, is_last && unsure_record == 0u);
    }
}

fn visit_slab(ray: Ray, level: Level, visit: Visit) {
    let lower_y = max(visit.lower.y, level.lower_y);
    if (!resumes_slab()) {
        row_y = lower_y;
        row_z = max(visit.lower.z, level.lower_z);
    }
    unsure_record = 0u;
    visit_rows(ray, level, visit, lower_y);
    if (unsure_record != 0u) {
        test_closely(ray, unsure_record - 1u);
    }
}

fn walk_ray(ray: Ray) {
    if (!ray.valid || ray.t_max < 0.0) {
        return;
    }
    if (walks_part(ray, 0u)) {
        test_all(ray, Listing(large_list(ray.world), false));
    }
    walk_levels(ray);
}
