// The first object that each ray meets: the smallest t, ties to the smallest object. What was found bounds the rest of
// the walk.

@group(0) @binding(7) var<storage, read_write> hits: array<vec2<u32>>;

const NONE: u32 = 0xffffffffu;
const INFINITY_BITS: u32 = 0x7f800000u;

var<private> closest_object: u32 = NONE;
var<private> closest_t: f32 = LARGEST_FLOAT;

fn search_limit() -> f32 {
    return closest_t;
}

fn accept_hit(object: u32, t: f32) {
    if (t < closest_t || (t == closest_t && object < closest_object)) {
        closest_object = object;
        closest_t = t;
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = flat_workgroup(group, groups) * WORKGROUP + local;
    if (index >= params.ray_count) {
        return;
    }
    let ray = load_ray(index);
    walk_ray(ray);
    finish_counters(ray);
    hits[index] = vec2<u32>(closest_object, select(bitcast<u32>(closest_t), INFINITY_BITS, closest_object == NONE));
}
