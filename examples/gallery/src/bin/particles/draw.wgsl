// Draws particles as spheres, and the edges of the tank.

struct View {
    projection: mat4x4<f32>,
    // Camera axes as unit vectors. `right.w` is the radius of a sphere.
    right: vec4<f32>,
    up: vec4<f32>,
    back: vec4<f32>,
    tank: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;

struct Corner {
    @builtin(position) position: vec4<f32>,
    // Position in the unit disc.
    @location(0) place: vec2<f32>,
    @location(1) @interpolate(flat) color: vec3<f32>,
    // Clip-space z and w of the centre.
    @location(2) @interpolate(flat) middle: vec2<f32>,
}

// Linear colour for a speed in m/s, from deep water to foam.
fn tint(speed: f32) -> vec3<f32> {
    let deep = vec3<f32>(0.006, 0.055, 0.26);
    let shallow = vec3<f32>(0.015, 0.3, 0.62);
    let foam = vec3<f32>(0.85, 0.95, 1.0);
    return mix(mix(deep, shallow, smoothstep(0.0, 7.0, speed)), foam, smoothstep(6.0, 17.0, speed));
}

const SQUARE = array<vec2<f32>, 6>(
    vec2<f32>(-1.0, -1.0), vec2<f32>(1.0, -1.0), vec2<f32>(1.0, 1.0),
    vec2<f32>(1.0, 1.0), vec2<f32>(-1.0, 1.0), vec2<f32>(-1.0, -1.0),
);

@vertex
fn sphere_vertex(
    @builtin(vertex_index) vertex: u32,
    @location(0) position: vec3<f32>,
    @location(1) velocity: vec3<f32>,
) -> Corner {
    var square = SQUARE;
    let place = square[vertex];
    let radius = view.right.w;
    let middle = view.projection * vec4<f32>(position, 1.0);
    let corner = position + radius * (place.x * view.right.xyz + place.y * view.up.xyz);
    return Corner(view.projection * vec4<f32>(corner, 1.0), place, tint(length(velocity)), middle.zw);
}

struct Pixel {
    @location(0) color: vec4<f32>,
    @builtin(frag_depth) depth: f32,
}

@fragment
fn sphere_fragment(corner: Corner) -> Pixel {
    let distance = length(corner.place);
    let cover = saturate((1.0 - distance) / max(fwidth(distance), 1e-4) + 0.5);
    if (cover == 0.0) {
        discard;
    }
    let height = sqrt(max(1.0 - distance * distance, 0.0));
    let normal = corner.place.x * view.right.xyz + corner.place.y * view.up.xyz + height * view.back.xyz;
    // Depth without perspective within a sphere.
    let shift = view.projection * vec4<f32>(view.right.w * height * view.back.xyz, 0.0);
    let depth = corner.middle + shift.zw;

    let sun = normalize(vec3<f32>(-0.35, 1.0, 0.55));
    let light = 0.24 + 0.16 * normal.y + 0.75 * max(dot(normal, sun), 0.0);
    let shine = pow(max(dot(normal, normalize(sun + view.back.xyz)), 0.0), 40.0);
    let color = corner.color * light + 0.16 * shine;
    return Pixel(vec4<f32>(color, cover), depth.x / depth.y);
}

struct Place {
    @builtin(position) position: vec4<f32>,
    @location(0) world: vec3<f32>,
}

// Bit 0 selects an end of an edge, bits 1 and 2 one of four edges along an axis.
@vertex
fn edge_vertex(@builtin(vertex_index) vertex: u32) -> Place {
    let axis = vertex / 8u;
    let bits = vec3<u32>(vertex & 1u, (vertex >> 1u) & 1u, (vertex >> 2u) & 1u);
    var corner = bits;
    if (axis == 1u) {
        corner = bits.yxz;
    } else if (axis == 2u) {
        corner = bits.yzx;
    }
    let world = vec3<f32>(corner) * view.tank.xyz;
    return Place(view.projection * vec4<f32>(world, 1.0), world);
}

@fragment
fn edge_fragment(place: Place) -> @location(0) vec4<f32> {
    return vec4<f32>(0.16, 0.19, 0.24, 1.0);
}

@vertex
fn floor_vertex(@builtin(vertex_index) vertex: u32) -> Place {
    var square = SQUARE;
    let corner = 0.5 + 0.5 * square[vertex];
    let world = vec3<f32>(corner.x, 0.0, corner.y) * view.tank.xyz;
    return Place(view.projection * vec4<f32>(world, 1.0), world);
}

@fragment
fn floor_fragment(place: Place) -> @location(0) vec4<f32> {
    return vec4<f32>(0.010, 0.013, 0.019, 1.0);
}
