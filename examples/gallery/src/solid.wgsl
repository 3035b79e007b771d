// Put before the source of shaders that draw boxes.

// Box layout of the broad phase.
struct Aabb {
    low: vec3<f32>,
    layers: u32,
    high: vec3<f32>,
    group: u32,
}

struct Face {
    // Corner of the unit cube.
    corner: vec3<f32>,
    normal: vec3<f32>,
    // Position on the face, 0 to 1.
    place: vec2<f32>,
}

// Vertices are counterclockwise from outside.
fn face_of(vertex: u32) -> Face {
    let face = vertex / 6u;
    let axis = face >> 1u;
    let upper = f32(face & 1u);
    let corner = vertex % 6u;
    let u = f32(corner == 1u || corner == 2u || corner == 3u);
    let v = f32(corner == 2u || corner == 3u || corner == 4u);
    let sides = select(vec2<f32>(v, u), vec2<f32>(u, v), upper == 1.0);
    var at = vec3<f32>(upper, sides);
    var normal = vec3<f32>(2.0 * upper - 1.0, 0.0, 0.0);
    if (axis == 1u) {
        at = at.zxy;
        normal = normal.zxy;
    } else if (axis == 2u) {
        at = at.yzx;
        normal = normal.yzx;
    }
    return Face(at, normal, sides);
}

const SUN: vec3<f32> = vec3<f32>(0.48, 0.8, 0.36);

// Sun and sky light, with darker edges about a pixel wide. `way` is the vector from the eye.
fn lit(color: vec3<f32>, normal: vec3<f32>, place: vec2<f32>, way: vec3<f32>) -> vec3<f32> {
    let to_sun = normalize(SUN);
    let sun = max(dot(normal, to_sun), 0.0);
    let sky = 0.5 + 0.5 * normal.y;
    let shine = pow(max(dot(normal, normalize(to_sun - normalize(way))), 0.0), 24.0);
    let to_edge = min(place, 1.0 - place) / fwidth(place);
    let rim = 1.0 - clamp(min(to_edge.x, to_edge.y), 0.0, 1.0);
    return (color * (0.16 + 0.22 * sky + sun) + 0.06 * shine) * (1.0 - 0.55 * rim);
}

// Converts sRGB colours of `DebugDraw` to linear ones.
fn decoded(color: vec3<f32>) -> vec3<f32> {
    return pow(color, vec3<f32>(2.2));
}
