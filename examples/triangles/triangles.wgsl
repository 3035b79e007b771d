struct View {
    eye: vec3f,
    pixels: u32,
    light: vec3f,
    points: u32,
}

@group(0) @binding(0) var<uniform> view: View;
// Three corners per triangle.
@group(0) @binding(1) var<storage, read> corners: array<vec4f>;
// Directions of rays, then points.
@group(0) @binding(2) var<storage, read> sought: array<vec4f>;
// Per ray: triangle, bits of `t`, 1 in shadow. Per point: triangle, bits of the distance.
@group(0) @binding(3) var<storage, read_write> found: array<vec4u>;

// The test of Möller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection" (1997).
fn bp_hit_shape(triangle: u32, origin: vec3f, direction: vec3f, t_max: f32) -> f32 {
    let a = corners[3u * triangle].xyz;
    let ab = corners[3u * triangle + 1u].xyz - a;
    let ac = corners[3u * triangle + 2u].xyz - a;
    let p = cross(direction, ac);
    let inverse = 1.0 / dot(ab, p);
    let from_a = origin - a;
    let u = dot(from_a, p) * inverse;
    let q = cross(from_a, ab);
    let v = dot(direction, q) * inverse;
    let t = dot(ac, q) * inverse;
    return select(t_max, t, u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0);
}

fn to_edge(start: vec3f, edge: vec3f) -> f32 {
    let apart = start - edge * clamp(dot(start, edge) / dot(edge, edge), 0.0, 1.0);
    return dot(apart, apart);
}

// After Ericson, "Real-Time Collision Detection" (2005), 5.1.5.
fn bp_shape_distance(triangle: u32, point: vec3f) -> f32 {
    let a = corners[3u * triangle].xyz;
    let b = corners[3u * triangle + 1u].xyz;
    let c = corners[3u * triangle + 2u].xyz;
    let normal = cross(b - a, c - a);
    let sides = vec3f(
        dot(cross(b - a, point - a), normal),
        dot(cross(c - b, point - b), normal),
        dot(cross(a - c, point - c), normal),
    );
    if (all(sides >= vec3f(0.0))) {
        return abs(dot(point - a, normal)) / length(normal);
    }
    return sqrt(min(min(to_edge(point - a, b - a), to_edge(point - a, c - a)), to_edge(point - b, c - b)));
}

@compute @workgroup_size(64)
fn see(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= view.pixels) {
        return;
    }
    let direction = sought[id.x].xyz;
    let hit = bp_closest_shape(bp_ray(view.eye, direction, 100.0));
    var is_dark = false;
    if (hit.is_hit) {
        // Starts a little towards the light, so that the ray leaves its own triangle.
        let place = view.eye + hit.t * direction + 0.002 * view.light;
        is_dark = bp_any_shape(bp_ray(place, view.light, 100.0)).is_hit;
    }
    found[id.x] = vec4u(hit.object, bitcast<u32>(hit.t), u32(is_dark), 0u);
}

@compute @workgroup_size(64)
fn measure(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= view.points) {
        return;
    }
    let place = view.pixels + id.x;
    let nearest = bp_nearest_shape(bp_sphere_query(sought[place].xyz, 100.0));
    found[place] = vec4u(nearest.object, bitcast<u32>(nearest.distance), 0u, 0u);
}
