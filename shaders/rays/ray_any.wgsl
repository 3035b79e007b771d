// uses: common/box, common/candidates, common/counters, common/round, common/round_counters, common/workgroup
// uses: rays/ray_hits, rays/ray_params, rays/ray_walk

// Writes 1 for each ray that hits anything, else 0. The walk ends at the first hit.

@group(0) @binding(7) var<storage, read_write> ray_any: array<u32>;

const COARSE_FIRST: bool = true;
const ACCEPTS_AGAIN: bool = true;

fn search_limit() -> f32 {
    return select(LARGEST_FLOAT, -1.0, found != 0u);
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
    // A bool would take two scalar registers in each loop of the walk on some GPUs.
    found = 1u;
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
    if (!is_first_of_all()) {
        found = ray_any[index];
    }
    let ray = load_ray(index);
    begin_round();
    if (found == 0u) {
        walk_ray(ray);
    }
    if (found != 0u) {
        tests_passed = 0u;
    }
    count_invalid(ray.valid, COUNTER_RAYS_INVALID);
    record_rounds();
    add_candidates(COUNTER_RAY_CANDIDATES);
    ray_any[index] = found;
}
