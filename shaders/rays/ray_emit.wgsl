// uses: common/box, common/page, common/round, common/workgroup, rays/ray_hits, rays/ray_params, rays/ray_walk

// Writes the hits that are in the page: from cached hits, or by a second walk if a ray has more. The next place of each
// ray, from earlier rounds, follows the offsets.

@group(0) @binding(7) var<storage, read_write> ray_offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> ray_hits: array<vec2<u32>>;

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
    write_hit(object, bitcast<u32>(t));
}

fn write_hit(object: u32, t: u32) {
    if (shows_next(ray_params.first_hit, ray_params.hit_capacity)) {
        ray_hits[place_of_next - ray_params.first_hit] = vec2<u32>(object, t);
    }
    advance_place();
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
    place_of_next = ray_offsets[index];
    let end = ray_offsets[index + 1u];
    if (!shows(ray_params.first_hit, ray_params.hit_capacity, place_of_next, end)) {
        return;
    }
    // If `end` is saturated, the number of hits is unknown.
    if (end != NO_PLACE && end - place_of_next <= ray_params.cached) {
        if (is_first_of_all()) {
            let hits_found = end - place_of_next;
            for (var hit = 0u; hit < hits_found; hit += 1u) {
                let at = cached_at(index, hit);
                write_hit(ray_offsets[at], ray_offsets[at + 1u]);
            }
        }
        return;
    }
    let progress = ray_params.count + 1u + index;
    if (!is_first_of_all()) {
        place_of_next = ray_offsets[progress];
    }
    if (!has_more(ray_params.first_hit, ray_params.hit_capacity, end)) {
        return;
    }
    begin_round();
    walk_ray(load_ray(index));
    if (!is_last_of_all()) {
        ray_offsets[progress] = place_of_next;
    }
}
