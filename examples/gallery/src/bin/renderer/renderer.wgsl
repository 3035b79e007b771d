// Moves boxes in a cube and draws them. Appended to `solid.wgsl`.

struct Params {
    view_projection: mat4x4<f32>,
    eye: vec3<f32>,
    time_step: f32,
    // Half the edge of the cube.
    reach: f32,
    count: u32,
}

struct Body {
    center: vec3<f32>,
    half_extents: vec3<f32>,
    velocity: vec3<f32>,
}

struct Hit {
    // NONE without a hit.
    object: u32,
    t: f32,
}

@group(0) @binding(0) var<uniform> params: Params;

@group(0) @binding(1) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(2) var<storage, read_write> moved: array<Aabb>;

// Acceleration towards the middle per distance, in 1/s².
const PULL: f32 = 0.6;

@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    let index = id.x;
    if (index >= params.count) {
        return;
    }
    var body = bodies[index];
    body.velocity -= params.time_step * PULL * body.center;
    body.center += params.time_step * body.velocity;
    let room = vec3<f32>(params.reach) - body.half_extents;
    let is_out = abs(body.center) > room;
    body.velocity = select(body.velocity, -sign(body.center) * abs(body.velocity), is_out);
    body.center = clamp(body.center, -room, room);
    bodies[index] = body;
    moved[index] = Aabb(body.center - body.half_extents, 0xffffffffu, body.center + body.half_extents, 0u);
}

@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
// Three workgroup counts, then the number of pairs.
@group(0) @binding(4) var<storage, read> dispatch: array<u32>;
@group(0) @binding(5) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(64)
fn count_overlaps(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let place = (group.y * 65535u + group.x) * 64u + local;
    if (place < dispatch[3]) {
        atomicAdd(&counts[pairs[place].x], 1u);
        atomicAdd(&counts[pairs[place].y], 1u);
    }
}

@group(0) @binding(6) var<storage, read> hits: array<Hit>;
@group(0) @binding(7) var<storage, read> boxes: array<Aabb>;
@group(0) @binding(8) var<storage, read> overlaps: array<u32>;

const NONE: u32 = 0xffffffffu;
const HIGHLIGHT: vec3<f32> = vec3<f32>(0.25, 1.0, 0.75);
// Overlaps at the end of the colour ramp.
const HOTTEST: f32 = 48.0;
// Linear colours, even in the logarithm of overlaps.
const RAMP: array<vec3<f32>, 7> = array<vec3<f32>, 7>(
    vec3<f32>(0.105, 0.155, 0.225), vec3<f32>(0.085, 0.110, 0.300), vec3<f32>(0.190, 0.065, 0.330),
    vec3<f32>(0.460, 0.050, 0.210), vec3<f32>(0.780, 0.130, 0.065), vec3<f32>(0.950, 0.390, 0.050),
    vec3<f32>(1.000, 0.800, 0.300),
);

fn heat(overlaps: u32) -> f32 {
    return min(log2(1.0 + f32(overlaps)) / log2(1.0 + HOTTEST), 1.0);
}

fn ramp(heat: f32) -> vec3<f32> {
    var colors = RAMP;
    let place = heat * 6.0;
    let below = min(u32(place), 5u);
    return mix(colors[below], colors[below + 1u], place - f32(below));
}

fn fog(distance: f32, color: vec3<f32>) -> vec3<f32> {
    let near = length(params.eye) - 1.1 * params.reach;
    let share = clamp((distance - near) / (2.4 * params.reach), 0.0, 1.0);
    return mix(color, BACKGROUND, 0.9 * smoothstep(0.0, 1.0, share));
}

struct Surface {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) place: vec2<f32>,
    @location(3) way: vec3<f32>,
    // 1 for the box under the pointer.
    @location(4) glow: f32,
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) object: u32) -> Surface {
    let bounds = boxes[object];
    let face = face_of(vertex);
    let place = mix(bounds.low, bounds.high, face.corner);
    let hot = heat(overlaps[object]);
    return Surface(
        params.view_projection * vec4<f32>(place, 1.0),
        ramp(hot),
        face.normal,
        face.place,
        place - params.eye,
        f32(hits[0].object == object),
    );
}

@fragment
fn box_fragment(surface: Surface) -> @location(0) vec4<f32> {
    let color = fog(length(surface.way), lit(surface.color, surface.normal, surface.place, surface.way));
    let bright = 1.5 * lit(mix(surface.color, HIGHLIGHT, 0.7), surface.normal, surface.place, surface.way);
    return vec4<f32>(mix(color, bright, surface.glow), 1.0);
}

struct Outline {
    @builtin(position) position: vec4<f32>,
}

// Draws back faces of an enlarged box, which look like a rim.
@vertex
fn outline_vertex(@builtin(vertex_index) vertex: u32) -> Outline {
    let object = hits[0].object;
    if (object == NONE) {
        return Outline(vec4<f32>(0.0));
    }
    let bounds = boxes[object];
    let corner = face_of(vertex).corner;
    let width = 0.0022 * distance(params.eye, 0.5 * (bounds.low + bounds.high));
    let place = mix(bounds.low - width, bounds.high + width, corner);
    return Outline(params.view_projection * vec4<f32>(place, 1.0));
}

@fragment
fn outline_fragment() -> @location(0) vec4<f32> {
    return vec4<f32>(HIGHLIGHT, 1.0);
}

struct Line {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
    @location(1) way: vec3<f32>,
}

@vertex
fn line_vertex(@location(0) place: vec3<f32>, @location(1) color: vec4<f32>) -> Line {
    // Paler, so that lines do not look like crowded boxes.
    let pale = mix(decoded(color.rgb), vec3<f32>(0.3, 0.4, 0.5), 0.6);
    return Line(params.view_projection * vec4<f32>(place, 1.0), vec4<f32>(pale, color.a), place - params.eye);
}

@fragment
fn line_fragment(line: Line) -> @location(0) vec4<f32> {
    return vec4<f32>(fog(length(line.way), line.color.rgb), line.color.a);
}
