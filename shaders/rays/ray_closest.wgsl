// uses: common/box, common/counters, common/round, common/round_counters, common/workgroup, rays/ray_hits
// uses: rays/ray_params, rays/ray_walk

// Finds the first object that each ray hits: the smallest t, then the smallest object index. Each hit shortens the rest
// of the walk, including its path through later levels. So a round resumes at a stored part of the walk, not at a test
// number.

@group(0) @binding(7) var<storage, read_write> ray_hits: array<vec2<u32>>;

// Hits of large boxes are likely, and shorten the walks of finer levels.
const COARSE_FIRST: bool = true;
const ACCEPTS_AGAIN: bool = true;
const NONE: u32 = 0xffffffffu;
const DONE: u32 = 0xffffffffu;
const INFINITY_BITS: u32 = 0x7f800000u;

var<private> closest_object: u32 = NONE;
var<private> closest_t: f32 = LARGEST_FLOAT;

fn search_limit() -> f32 {
    return closest_t;
}

// Parts of a walk are the large list, then each level. Two vectors per ray after the hits hold the state: current part,
// number of its tests made, `level_limit` and iterations left. The state is stored when a part begins, since registers
// would otherwise hold it through all loops.
var<private> level_limit: f32;

fn state_of(index: u32) -> u32 {
    return ray_params.count + 2u * index;
}

fn is_too_far(t: f32) -> bool {
    return t > closest_t;
}

fn geometry_limit() -> f32 {
    return level_limit;
}

fn walks_part(ray: Ray, part: u32) -> bool {
    let state = state_of(ray.index);
    level_limit = closest_t;
    var skipped = 0u;
    if (round.first > 0u) {
        // Last part that this round or an earlier one began.
        let last_part = ray_hits[state].x;
        if (part < last_part) {
            return false;
        }
        if (part == last_part) {
            skipped = ray_hits[state].y;
            level_limit = bitcast<f32>(ray_hits[state + 1u].x);
            iterations_left = bitcast<f32>(ray_hits[state + 1u].y);
            tests_passed = round.first - skipped;
        }
    }
    if (tests_after_round() == 0u) {
        // Due to hits, the previous part may now have fewer tests than in earlier rounds.
        tests_passed = max(tests_passed, round.first - skipped);
        if (round.is_last == 0u) {
            ray_hits[state] = vec2<u32>(part, skipped + tests_left());
            ray_hits[state + 1u] = vec2<u32>(bitcast<u32>(level_limit), bitcast<u32>(iterations_left));
        }
    }
    return true;
}

fn accept_hit(ray: Ray, object: u32, t: f32) {
    if (t < closest_t || (t == closest_t && object < closest_object)) {
        closest_object = object;
        closest_t = t;
    }
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = walk_place(group, groups, local);
    if (place >= ray_params.count) {
        return;
    }
    let index = ray_at(place);
    if (round.first > 0u) {
        if (ray_hits[state_of(index)].x == DONE) {
            return;
        }
    } else if (round.is_last == 0u) {
        ray_hits[state_of(index)] = vec2<u32>(0u);
        ray_hits[state_of(index) + 1u] = vec2<u32>(0u);
    }
    if (!is_first_of_all()) {
        closest_object = ray_hits[index].x;
        closest_t = select(bitcast<f32>(ray_hits[index].y), LARGEST_FLOAT, closest_object == NONE);
    }
    begin_round();
    let ray = load_ray(index);
    walk_ray(ray);
    count_invalid(ray.valid, COUNTER_RAYS_INVALID);
    record_rounds();
    add_candidates(COUNTER_RAY_CANDIDATES);
    if (round.is_last == 0u && tests_after_round() == 0u) {
        ray_hits[state_of(index)].x = DONE;
    }
    ray_hits[index] = vec2<u32>(closest_object, select(bitcast<u32>(closest_t), INFINITY_BITS, closest_object == NONE));
}
