// Finds and draws picks in a town. Appended to `solid.wgsl`.

struct Params {
    view_projection: mat4x4<f32>,
    eye: vec3<f32>,
    // Radius around the hit.
    radius: f32,
    origin: vec3<f32>,
    reach: f32,
    direction: vec3<f32>,
    // Negative without a ray.
    t_max: f32,
    // Half the width of a line at distance 1.
    width: f32,
}

struct Found {
    // NONE without a hit.
    object: u32,
    // Ray parameter of the hit.
    t: f32,
    // Number of cells up to the hit.
    walked: u32,
    selected: u32,
}

// Layouts of the broad phase.
struct Query {
    bounds: Aabb,
    radius: f32,
    world: u32,
    reserved: vec2<u32>,
}

struct Ray {
    origin: vec3<f32>,
    t_max: f32,
    direction: vec3<f32>,
    layers: u32,
}

const NONE: u32 = 0xffffffffu;
const EXCLUDED: u32 = 0x80000000u;
const ALL_LAYERS: u32 = 0xffffffffu;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> found: Found;

@group(0) @binding(2) var<storage, read_write> query: Query;
@group(0) @binding(3) var<storage, read_write> cut_ray: Ray;

// Writes the sphere around the hit and the ray up to it. Without a hit, the sphere finds nothing.
@compute @workgroup_size(1)
fn ask_around() {
    let is_hit = found.object != NONE;
    let center = select(vec3<f32>(0.0), params.origin + found.t * params.direction, is_hit);
    let bounds = Aabb(center, ALL_LAYERS, center, select(EXCLUDED, 0u, is_hit));
    query = Query(bounds, params.radius, 0u, vec2<u32>(0u));
    // `found.t` is infinite without a hit.
    cut_ray = Ray(params.origin, min(found.t, params.t_max), params.direction, ALL_LAYERS);
}

@group(0) @binding(4) var<storage, read> selected: array<u32>;
// Three workgroup counts, then the number of selected objects.
@group(0) @binding(5) var<storage, read> dispatch: array<u32>;
@group(0) @binding(6) var<storage, read_write> marked: array<u32>;

@compute @workgroup_size(64)
fn mark(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let place = (group.y * 65535u + group.x) * 64u + local;
    if (place < dispatch[3]) {
        marked[selected[place]] = 1u;
    }
}

@group(0) @binding(7) var<storage, read> boxes: array<Aabb>;
@group(0) @binding(8) var<storage, read> marks: array<u32>;

const HIT: vec3<f32> = vec3<f32>(1.0, 0.08, 0.35);
const SELECTED: vec3<f32> = vec3<f32>(0.05, 0.55, 0.5);
const RAY: vec3<f32> = vec3<f32>(1.0, 0.9, 0.8);

fn fog(distance: f32, color: vec3<f32>) -> vec3<f32> {
    return mix(color, BACKGROUND, 0.85 * smoothstep(1.2 * params.reach, 5.0 * params.reach, distance));
}

struct Surface {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) place: vec2<f32>,
    @location(3) way: vec3<f32>,
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) object: u32) -> Surface {
    let bounds = boxes[object];
    let face = face_of(vertex);
    let place = mix(bounds.low, bounds.high, face.corner);
    var color = mix(vec3<f32>(0.09, 0.115, 0.16), vec3<f32>(0.20, 0.23, 0.30), clamp(0.12 * bounds.high.y, 0.0, 1.0));
    color = select(color, SELECTED, marks[object] == 1u);
    color = select(color, HIT, found.object == object);
    let at = params.view_projection * vec4<f32>(place, 1.0);
    return Surface(at, color, face.normal, face.place, place - params.eye);
}

@fragment
fn box_fragment(surface: Surface) -> @location(0) vec4<f32> {
    let color = lit(surface.color, surface.normal, surface.place, surface.way);
    return vec4<f32>(fog(length(surface.way), color), 1.0);
}

struct Line {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
    @location(1) way: vec3<f32>,
}

fn end_of_line(place: vec3<f32>, color: vec4<f32>) -> Line {
    return Line(params.view_projection * vec4<f32>(place, 1.0), color, place - params.eye);
}

@vertex
fn ground_vertex(@builtin(vertex_index) vertex: u32) -> Line {
    let corner = face_of(18u + vertex).corner.xz * 2.0 - 1.0;
    return end_of_line(vec3<f32>(params.reach * corner.x, 0.0, params.reach * corner.y), vec4<f32>(0.011, 0.014, 0.02, 1.0));
}

@fragment
fn ground_fragment(line: Line) -> @location(0) vec4<f32> {
    return vec4<f32>(fog(length(line.way), line.color.rgb), line.color.a);
}

// Lines of `DebugDraw` and of the view pyramid.
@vertex
fn line_vertex(@location(0) place: vec3<f32>, @location(1) color: vec4<f32>) -> Line {
    return end_of_line(place, vec4<f32>(decoded(color.rgb), color.a));
}

@fragment
fn line_fragment(line: Line) -> @location(0) vec4<f32> {
    return line.color;
}

// Corner of a strip of constant screen width.
fn corner_of_strip(vertex: u32, begin: vec3<f32>, end: vec3<f32>) -> vec3<f32> {
    let is_end = vertex == 1u || vertex == 2u || vertex == 4u;
    let is_left = vertex == 2u || vertex == 4u || vertex == 5u;
    let at = select(begin, end, is_end);
    let way = at - params.eye;
    let aside = normalize(cross(end - begin, way) + vec3<f32>(1e-9, 0.0, 0.0));
    return at + select(-1.0, 1.0, is_left) * params.width * length(way) * aside;
}

// The ray ends at the hit, or outside the town.
@vertex
fn ray_vertex(@builtin(vertex_index) vertex: u32) -> Line {
    let t = select(6.0 * params.reach, found.t, found.object != NONE);
    let place = corner_of_strip(vertex, params.origin, params.origin + t * params.direction);
    return end_of_line(place, vec4<f32>(RAY, 1.0));
}

@fragment
fn ray_fragment(line: Line) -> @location(0) vec4<f32> {
    return line.color;
}

// Three circles of 64 strips, one strip per instance.
@vertex
fn sphere_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) strip: u32) -> Line {
    var ends: array<vec3<f32>, 2>;
    for (var end = 0u; end < 2u; end++) {
        let angle = 6.2831853 * f32(strip % 64u + end) / 64.0;
        let circle = params.radius * vec3<f32>(cos(angle), sin(angle), 0.0);
        ends[end] = select(select(circle.zxy, circle.yzx, strip < 128u), circle, strip < 64u);
    }
    let center = params.origin + found.t * params.direction;
    let place = corner_of_strip(vertex, center + ends[0], center + ends[1]);
    let line = end_of_line(place, vec4<f32>(1.5 * SELECTED, 1.0));
    return Line(select(vec4<f32>(0.0), line.position, found.object != NONE), line.color, line.way);
}

@fragment
fn sphere_fragment(line: Line) -> @location(0) vec4<f32> {
    return line.color;
}
