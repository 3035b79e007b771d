// uses: common/prelude, common/round, common/workgroup, rays/ray, rays/ray_counters, rays/ray_hits
// uses: rays/ray_order_{order}

// The first object that each ray meets: the smallest t, ties to the smallest object. What was found bounds the rest of
// the walk: of the levels still to come their geometry, too. So rounds go by level here, and what a later one needs to
// take up a level as it was begun stands behind the hits, in two vectors a ray.

@group(0) @binding(7) var<storage, read_write> ray_hits: array<vec2<u32>>;

// Large boxes are met soonest, in the fewest steps, and shorten the walks of all finer levels.
const COARSE_FIRST: bool = true;
// Whether it does no harm to take a hit twice.
const ACCEPTS_AGAIN: bool = true;
const NONE: u32 = 0xffffffffu;
const DONE: u32 = 0xffffffffu;
const INFINITY_BITS: u32 = 0x7f800000u;

var<private> closest_object: u32 = NONE;
var<private> closest_t: f32 = LARGEST_FLOAT;

fn search_limit() -> f32 {
    return closest_t;
}

// The part of the walk that is under way or was left unfinished, the large list or a level by its turn: tests of it
// that earlier rounds made, and what its geometry was chosen by.
var<private> part: u32;
var<private> part_skips: u32;
var<private> part_budget: u32;
var<private> part_limit: f32;
var<private> part_turns: f32;
// What this round begins with.
var<private> first_part: u32;
var<private> level_limit: f32;

fn geometry_limit() -> f32 {
    return level_limit;
}

fn enters_part(next: u32) -> bool {
    if (next < first_part) {
        return false;
    }
    level_limit = closest_t;
    if (tests_beyond > 0u) {
        return true;
    }
    part = next;
    part_budget = tests_left;
    if (next > first_part || round.first == 0u) {
        part_skips = 0u;
        part_limit = closest_t;
        part_turns = turns_left;
    }
    level_limit = part_limit;
    turns_left = part_turns;
    to_skip = part_skips;
    return true;
}

fn accept_hit(object: u32, t: f32) {
    if (t < closest_t || (t == closest_t && object < closest_object)) {
        closest_object = object;
        closest_t = t;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place >= params.ray_count) {
        return;
    }
    let index = ray_at(place);
    let state = params.ray_count + 2u * index;
    if (round.first > 0u) {
        first_part = ray_hits[state].x;
        if (first_part == DONE) {
            return;
        }
        part_skips = ray_hits[state].y;
        part_limit = bitcast<f32>(ray_hits[state + 1u].x);
        part_turns = bitcast<f32>(ray_hits[state + 1u].y);
    }
    if (!is_first_of_all()) {
        closest_object = ray_hits[index].x;
        closest_t = select(bitcast<f32>(ray_hits[index].y), LARGEST_FLOAT, closest_object == NONE);
    }
    begin_round();
    let ray = load_ray(index);
    walk_ray(ray);
    finish_counters(ray);
    if (round.is_last == 0u) {
        ray_hits[state] = vec2<u32>(select(DONE, part, tests_beyond > 0u), part_skips + part_budget);
        ray_hits[state + 1u] = vec2<u32>(bitcast<u32>(part_limit), bitcast<u32>(part_turns));
    }
    ray_hits[index] = vec2<u32>(closest_object, select(bitcast<u32>(closest_t), INFINITY_BITS, closest_object == NONE));
}
