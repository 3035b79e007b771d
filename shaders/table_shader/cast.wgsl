// uses: common/box, common/entry, common/grid, common/prelude, common/rows, common/worlds
// uses: queries/query, rays/ray, rays/ray_closely, rays/ray_entry, rays/ray_passage, rays/ray_pays, table_shader/walk

// Rays over a step's table, for the caller's shader: the closest hit, any hit, or one hit at a time. See
// src/addons/table_shader.rs.
//
// A cast visits cells like rays/ray_walk and tests boxes like rays/ray_hits, in the same order and with the same
// functions. But it returns one hit at a time, so it keeps its state in a struct, which would cost the passes
// registers. Make every change in both walks.

// Iterations over slabs and rows that a cast may take, per object. Rays need fewer in levels whose cells pay.
const ITERATIONS_PER_OBJECT: f32 = 16.0;

struct Hit {
    // Object, ray parameter where the ray enters its box, record of the box. Without a hit, NO_OBJECT and the largest
    // float.
    object: u32,
    t: f32,
    record: u32,
    is_hit: bool,
    // False if a driver may have ended a loop early, so that the result is uncertain.
    is_complete: bool,
}

struct Cast {
    // Last hit: object, ray parameter, record of the object's box.
    object: u32,
    t: f32,
    record: u32,
    // Internal fields follow.
    ray: Ray,
    // True if only one hit is wanted: meeting it twice does no harm, and large boxes come first.
    seeks_one: bool,
    // Hits with a larger ray parameter are ignored.
    limit: f32,
    place: u32,
    // One bit per level not yet walked.
    levels_left: u32,
    // Bounds a cast, whatever number of cells its ray crosses.
    iterations_left: f32,
    passage: Passage,
    slab: i32,
    visit: Visit,
    y: i32,
    z: i32,
    row: Row,
    passed: u32,
    // Candidates before this one are tested one by one, later ones by the box of their cluster.
    members_end: u32,
    candidate: u32,
    // Entries met on the current level; see `cells_pay`.
    meetings: Meetings,
}

// Read by `passage_of` and `cells_pay`. `go_to_level` and `go_on_casting` copy these from the cast and back, so casts
// may be interleaved.
var<private> level_limit: f32;
var<private> iterations_left: f32;
var<private> seeks_one: bool;

fn geometry_limit() -> f32 {
    return level_limit;
}

fn reserve_iterations(iterations: f32) -> bool {
    if (!(iterations <= iterations_left)) {
        return false;
    }
    iterations_left -= iterations;
    return true;
}

fn walk_pays(ray: Ray, level: Level, steps: i32, breadth: vec3<f32>, most: vec3<f32>) -> bool {
    return cells_pay(ray, level, steps, breadth, most, seeks_one);
}

// A ray in world 0 that meets all layers. `t_max` is in units of `direction`.
fn ray(origin: vec3<f32>, direction: vec3<f32>, t_max: f32) -> Ray {
    let head = vec4<u32>(bitcast<vec3<u32>>(origin), bitcast<u32>(t_max));
    let tail = vec4<u32>(bitcast<vec3<u32>>(direction), ALL_LAYERS);
    return ray_of_words(head, tail, false, vec4<u32>(0u), 0u);
}

// Ray from the words of a `SweptRay`. Half extents are ignored if the shader has no swept rays.
fn ray_of(head: vec4<u32>, tail: vec4<u32>, sweep: vec4<u32>, world: u32) -> Ray {
    let counting = select(vec4<u32>(0u, 0u, 0u, sweep.w), sweep, SWEPT);
    return ray_of_words(head, tail, true, counting, world);
}

// Returns the hit with the smallest `t`; of equal ones, that of the smallest object.
fn closest_hit(ray: Ray) -> Hit {
    var hits = cast_for(ray, true);
    var hit = Hit(NO_OBJECT, LARGEST_FLOAT, 0u, false, false);
    for (; next_hit(&hits);) {
        if (hits.t < hit.t || (hits.t == hit.t && hits.object < hit.object)) {
            hit = Hit(hits.object, hits.t, hits.record, true, false);
            hits.limit = hits.t;
        }
    }
    hit.is_complete = cast_is_complete(&hits);
    return hit;
}

// Returns the first hit that the walk finds, in no defined order.
fn any_hit(ray: Ray) -> Hit {
    var hits = cast_for(ray, true);
    if (next_hit(&hits)) {
        return Hit(hits.object, hits.t, hits.record, true, all_iterations_taken());
    }
    return Hit(NO_OBJECT, LARGEST_FLOAT, 0u, false, cast_is_complete(&hits));
}

fn begin_cast(ray: Ray) -> Cast {
    return cast_for(ray, false);
}

fn cast_for(ray: Ray, seeks_one: bool) -> Cast {
    var hits: Cast;
    hits.object = NO_OBJECT;
    hits.ray = ray;
    hits.seeks_one = seeks_one;
    hits.limit = LARGEST_FLOAT;
    hits.place = select(WALK_DONE, WALK_ENTRIES, ray.valid && ray.t_max >= 0.0);
    hits.levels_left = grid.occupied;
    hits.iterations_left = ITERATIONS_PER_OBJECT * f32(params.object_count);
    take_row(&hits, large_list(ray.world));
    return hits;
}

// Moves to the next hit. Returns false after the last one.
fn next_hit(hits: ptr<function, Cast>) -> bool {
    for (; (*hits).place != WALK_DONE;) {
        // Rare work is outside the inner loop over boxes, since CPU drivers execute both sides of branches.
        var t = NO_HIT;
        for (; (*hits).passed < (*hits).row.count && t == NO_HIT;) {
            t = test_next(hits);
        }
        if (t != NO_HIT) {
            if (takes_hit(hits, t)) {
                return true;
            }
        } else if ((*hits).passed == (*hits).row.count) {
            go_on_casting(hits);
        }
    }
    return false;
}

// False if the caller's loop or a driver ended the cast early.
fn cast_is_complete(hits: ptr<function, Cast>) -> bool {
    return (*hits).place == WALK_DONE && all_iterations_taken();
}

// Returns false if a driver ended loops early, also those that load a ray or test a box closely. Compilers keep the
// loop, as its bound is unknown to them.
fn all_iterations_taken() -> bool {
    var iterations = 0u;
    for (var k = 0u; k < params.dimensions; k += 1u) {
        iterations += 1u;
    }
    return iterations == params.dimensions;
}

// Tests the next box of the row, or its cluster's box. Returns the ray parameter of a candidate, else NO_HIT.
fn test_next(hits: ptr<function, Cast>) -> f32 {
    let row = (*hits).row;
    let k = (*hits).passed;
    let entry = row_entry(row, k);
    let is_of_records = (*hits).place == WALK_RECORDS;
    let past = cluster_end(k, entry, range_end(row, k, row.count));
    let is_member = !may_have_clusters() || past <= (*hits).members_end;
    (*hits).members_end = select(past, (*hits).members_end, is_member);
    (*hits).passed = k + 1u;
    if ((*hits).place != WALK_ROW && !is_listed(is_of_records, entry)) {
        return NO_HIT;
    }
    let record = tested_record(listed_record(is_of_records, entry), is_member);
    let low = bitcast<vec3<i32>>(records[2u * record].xyz);
    let high_word = records[2u * record + 1u];
    let high = bitcast<vec3<i32>>(high_word.xyz);
    let world = (*hits).ray.world;
    let t = enter_box((*hits).ray, low, high, true);
    let is_met = t != NO_HIT && !(t > (*hits).limit);
    if (!is_member) {
        (*hits).passed = select(past, k, is_met);
    }
    if (!is_member || !is_met || !worlds_meet(high_word.w, world)) {
        return NO_HIT;
    }
    if ((*hits).place == WALK_ROW) {
        let visit = (*hits).visit;
        if (!is_first_visit(grid.levels[visit.level], entry, low, high, world, visit, (*hits).y, (*hits).z)) {
            return NO_HIT;
        }
    }
    (*hits).candidate = record;
    return t;
}

fn takes_hit(hits: ptr<function, Cast>, seeming_t: f32) -> bool {
    let record = (*hits).candidate;
    let low = records[2u * record];
    var t = seeming_t;
    if (t == UNSURE) {
        let high = records[2u * record + 1u];
        t = enter_box_closely((*hits).ray, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz));
    }
    if (t == NO_HIT || t > (*hits).limit || !admits((*hits).ray, low.w)) {
        return false;
    }
    (*hits).object = low.w;
    (*hits).t = t;
    (*hits).record = record;
    return true;
}

fn take_row(hits: ptr<function, Cast>, row: Row) {
    (*hits).row = row;
    (*hits).passed = 0u;
    (*hits).members_end = members_end_at(0u, row.count);
}

// Moves to the next row, slab or level.
fn go_on_casting(hits: ptr<function, Cast>) {
    take_row(hits, Row(0u, 0u, 0u, 0u));
    meetings = (*hits).meetings;
    if ((*hits).place != WALK_ROW || !(goes_to_row(hits) || goes_to_slab(hits))) {
        go_to_level(hits);
    }
    (*hits).meetings = meetings;
}

// Moves to the next row of the slab. Returns false if there is none or the level is dropped.
fn goes_to_row(hits: ptr<function, Cast>) -> bool {
    let visit = (*hits).visit;
    let level = grid.levels[visit.level];
    let upper_y = min(visit.upper.y, level.upper_y);
    let is_last = (*hits).y == upper_y;
    let y = select((*hits).y + 1, max(visit.lower.y, level.lower_y), is_last);
    let z = (*hits).z + select(0, 1, is_last);
    if (y > upper_y || z > min(visit.upper.z, level.upper_z) || drops_level()) {
        return false;
    }
    (*hits).y = y;
    (*hits).z = z;
    let row = row_of(level, visit.lower.x, visit.upper.x, y, z, (*hits).ray.world);
    meetings.count += min(row.count, 0xffffffffu - meetings.count);
    if (!counts_first() && !drops_level()) {
        take_row(hits, row);
    }
    return true;
}

fn begin_slabs(hits: ptr<function, Cast>) {
    let passage = (*hits).passage;
    let nowhere = no_cells();
    (*hits).slab = passage.first_slab - select(-1, 1, passage.major_inverse >= 0.0);
    (*hits).visit.lower = nowhere.lower;
    (*hits).visit.upper = nowhere.upper;
    (*hits).y = 0;
    (*hits).z = 0;
}

// Moves to the next slab of the level, or restarts the level. Returns false at the level's end.
fn goes_to_slab(hits: ptr<function, Cast>) -> bool {
    let passage = (*hits).passage;
    let level = grid.levels[(*hits).visit.level];
    let slab = (*hits).slab + select(-1, 1, passage.major_inverse >= 0.0);
    let through = way_through(passage, slab);
    if (slab == passage.past_slab || through.x > (*hits).limit || drops_level()) {
        if (walks_again()) {
            begin_slabs(hits);
            return true;
        }
        if (drops_level()) {
            list_level(hits, level);
            return true;
        }
        return false;
    }
    (*hits).slab = slab;
    if (!(through.x > through.y)) {
        let cells = cells_through(passage, slab, through);
        (*hits).visit.previous_lower = (*hits).visit.lower;
        (*hits).visit.previous_upper = (*hits).visit.upper;
        (*hits).visit.lower = cells.lower;
        (*hits).visit.upper = cells.upper;
        // One before the first row, as `goes_to_row` adds one.
        (*hits).y = max(cells.lower.y, level.lower_y) - 1;
        (*hits).z = max(cells.lower.z, level.lower_z);
    }
    return true;
}

fn list_level(hits: ptr<function, Cast>, level: Level) {
    let listing = listing_of(level, (*hits).ray.world);
    (*hits).place = select(WALK_ENTRIES, WALK_RECORDS, listing.is_of_records);
    take_row(hits, listing.row);
}

fn go_to_level(hits: ptr<function, Cast>) {
    let rest = (*hits).levels_left;
    if (rest == 0u) {
        (*hits).place = WALK_DONE;
        return;
    }
    // Coarse layers of the adaptive scheme hold small boxes too.
    let coarse_first = (*hits).seeks_one && SCHEME == SCHEME_HIERARCHICAL;
    let index = select(firstTrailingBit(rest), firstLeadingBit(rest), coarse_first);
    let level = grid.levels[index];
    level_limit = (*hits).limit;
    iterations_left = (*hits).iterations_left;
    seeks_one = (*hits).seeks_one;
    let passage = passage_of((*hits).ray, level);
    (*hits).iterations_left = iterations_left;
    (*hits).levels_left = rest & ~(1u << index);
    (*hits).visit.level = index;
    (*hits).passage = passage;
    (*hits).place = select(WALK_ENTRIES, WALK_ROW, passage.is_walked);
    begin_slabs(hits);
    if (passage.without_cells) {
        list_level(hits, level);
    }
}
