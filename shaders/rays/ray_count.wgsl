// uses: common/box, common/candidates, common/counters, common/round, common/round_counters, common/workgroup
// uses: rays/ray_hits, rays/ray_params, rays/ray_walk

// Counts the objects that each ray hits, and caches the first hits. A last count of 0 follows: its exclusive prefix sum
// is the total.

@group(0) @binding(7) var<storage, read_write> ray_offsets: array<u32>;

const COARSE_FIRST: bool = false;
const ACCEPTS_AGAIN: bool = false;

fn search_limit() -> f32 {
    return LARGEST_FLOAT;
}

fn is_too_far(t: f32) -> bool {
    return false;
}

fn geometry_limit() -> f32 {
    return LARGEST_FLOAT;
}

fn walks_part(ray: Ray, part: u32) -> bool {
    return true;
}

fn accept_hit(ray: Ray, object: u32, t: f32) {
    if (found < ray_params.cached) {
        let at = cached_at(ray.index, found);
        ray_offsets[at] = object;
        ray_offsets[at + 1u] = bitcast<u32>(t);
    }
    found += 1u;
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = walk_place(group, groups, local);
    if (place > ray_params.count) {
        return;
    }
    let index = ray_at(place);
    if (index < ray_params.count) {
        let ray = load_ray(index);
        begin_round();
        if (!is_first_of_all()) {
            found = ray_offsets[index];
        }
        walk_ray(ray);
        count_invalid(ray.valid, COUNTER_RAYS_INVALID);
        record_rounds();
        add_candidates(COUNTER_RAY_CANDIDATES);
    }
    ray_offsets[index] = found;
}
