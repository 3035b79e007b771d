// Draws 2D scenes. Appended to `colors.wgsl`.

struct Flat {
    @builtin(position) position: vec4<f32>,
    // Pixels from the box's middle.
    @location(0) place: vec2<f32>,
    @location(1) half: vec2<f32>,
    @location(2) color: vec3<f32>,
    @location(3) heat: f32,
}

fn corner_of_quad(vertex: u32) -> vec2<f32> {
    let right = vertex == 1u || vertex == 2u || vertex == 4u;
    let upper = vertex == 2u || vertex == 4u || vertex == 5u;
    return select(vec2<f32>(-1.0), vec2<f32>(1.0), vec2<bool>(right, upper));
}

fn at_plane(place: vec2<f32>) -> vec4<f32> {
    return params.view_projection * vec4<f32>(place, 0.0, 1.0);
}

// Vertex of a box enlarged by `around` pixels.
fn flat_box(vertex: u32, object: u32, around: f32, color: vec3<f32>, heat: f32) -> Flat {
    let bounds = boxes[object];
    let half = 0.5 * (bounds.high.xy - bounds.low.xy) / params.pixel;
    let place = corner_of_quad(vertex) * (half + around);
    let center = 0.5 * (bounds.low.xy + bounds.high.xy);
    return Flat(at_plane(center + place * params.pixel), place, half, color, heat);
}

// Pixels to the edge, negative outside.
fn inside(surface: Flat) -> f32 {
    let to_edge = surface.half - abs(surface.place);
    return min(to_edge.x, to_edge.y) - length(min(to_edge, vec2<f32>(0.0))) * f32(to_edge.x < 0.0 && to_edge.y < 0.0);
}

// Narrow boxes cover only a part of the pixel.
fn covered(surface: Flat) -> f32 {
    let share = clamp(min(surface.half - surface.place, surface.half + surface.place) + 0.5, vec2<f32>(0.0), vec2<f32>(1.0));
    let narrow = min(2.0 * surface.half, vec2<f32>(1.0));
    let each = min(share, narrow);
    return each.x * each.y;
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) object: u32) -> Flat {
    let hot = heat(object);
    return flat_box(vertex, object, 0.5, ramp(hot), hot);
}

@fragment
fn box_fragment(surface: Flat) -> @location(0) vec4<f32> {
    let rim = 1.0 - smoothstep(0.7, 1.7, inside(surface));
    // Small boxes have no rim: many rims would form one bright mass.
    let smallest = min(surface.half.x, surface.half.y);
    let fill = mix(0.62, 0.20 + 0.22 * surface.heat, smoothstep(1.5, 5.0, smallest));
    let edge = mix(fill, 0.95, smoothstep(1.0, 4.0, smallest));
    return vec4<f32>(surface.color, mix(fill, edge, rim) * covered(surface));
}

@vertex
fn hit_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) hit: u32) -> Flat {
    return flat_box(vertex, hits[hit].x, 1.5, RAY, 0.0);
}

@fragment
fn hit_fragment(surface: Flat) -> @location(0) vec4<f32> {
    let edge = inside(surface);
    let rim = (1.0 - smoothstep(1.0, 2.0, edge)) * smoothstep(-1.5, -0.5, edge);
    return vec4<f32>(surface.color, max(rim, 0.30 * clamp(edge, 0.0, 1.0)));
}

const GLOW: f32 = 18.0;

@vertex
fn closest_vertex(@builtin(vertex_index) vertex: u32) -> Flat {
    if (found.closest == NONE) {
        return Flat(vec4<f32>(0.0), vec2<f32>(0.0), vec2<f32>(0.0), RAY, 0.0);
    }
    return flat_box(vertex, found.closest, GLOW, RAY, 0.0);
}

@fragment
fn closest_fragment(surface: Flat) -> @location(0) vec4<f32> {
    let edge = inside(surface);
    let glow = 0.6 * pow(clamp(1.0 + edge / GLOW, 0.0, 1.0), 2.5);
    let body = clamp(edge + 0.5, 0.0, 1.0);
    // Large boxes are translucent.
    let smallest = min(surface.half.x, surface.half.y);
    let fill = mix(0.95, 0.26, smoothstep(4.0, 26.0, smallest)) + 0.35 * exp(-0.16 * max(edge, 0.0));
    let alpha = mix(fill, 1.0, 1.0 - smoothstep(1.4, 2.4, edge));
    return vec4<f32>(mix(surface.color, vec3<f32>(0.93, 1.0, 0.98), body), mix(glow, min(alpha, 1.0), body));
}

struct Stroke {
    @builtin(position) position: vec4<f32>,
    // Pixels along and across the ray.
    @location(0) place: vec2<f32>,
    // Pixels along the ray to the closest hit and to the end.
    @location(1) stops: vec2<f32>,
    @location(2) @interpolate(flat) kind: u32,
}

// Half the strips' width in pixels.
const WIDE: f32 = 9.0;

@vertex
fn ray_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) kind: u32) -> Stroke {
    let is_shown = params.shows_ray == 1u && (kind != 2u || found.closest != NONE);
    if (!is_shown) {
        return Stroke(vec4<f32>(0.0), vec2<f32>(0.0), vec2<f32>(0.0), kind);
    }
    let end = params.ray_length / params.pixel;
    let stop = select(end, found.t / params.pixel, found.closest != NONE);
    let corner = corner_of_quad(vertex);
    let along = params.ray_direction.xy;
    let across = vec2<f32>(-along.y, along.x);
    var place = WIDE * corner;
    if (kind == 0u) {
        place.x = select(0.0, end, corner.x > 0.0);
    }
    let start = select(0.0, stop, kind == 2u);
    let at = params.ray_origin.xy + params.pixel * ((place.x + start) * along + place.y * across);
    return Stroke(at_plane(at), place, vec2<f32>(stop, end), kind);
}

@fragment
fn ray_fragment(stroke: Stroke) -> @location(0) vec4<f32> {
    if (stroke.kind == 0u) {
        let across = abs(stroke.place.y);
        let core = 1.0 - smoothstep(0.6, 1.6, across);
        let glow = 0.35 * pow(1.0 - across / WIDE, 2.0);
        let is_past = stroke.place.x > stroke.stops.x;
        let strength = select(1.0, 0.34 * (1.0 - 0.6 * stroke.place.x / stroke.stops.y), is_past);
        return vec4<f32>(mix(RAY, vec3<f32>(1.0), 0.5 * core), strength * max(core, glow));
    }
    let away = length(stroke.place);
    let dot = 1.0 - smoothstep(3.6, 4.6, away);
    let ring = smoothstep(5.4, 6.2, away) * (1.0 - smoothstep(7.0, 8.0, away));
    return vec4<f32>(mix(vec3<f32>(1.0), RAY, ring), max(dot, 0.8 * ring * f32(stroke.kind == 1u)));
}

struct Line {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
}

@vertex
fn line_vertex(@location(0) place: vec3<f32>, @location(1) color: vec4<f32>) -> Line {
    return Line(at_plane(place.xy), vec4<f32>(of_level(color.rgb), color.a));
}

@fragment
fn line_fragment(line: Line) -> @location(0) vec4<f32> {
    return line.color;
}

// Position and colour. Vertices 0 and 7 of a cell's 24 are its lower and upper corners.
@group(0) @binding(5) var<storage, read> cells: array<vec4<u32>>;

// The vertices after the first six are degenerate.
@vertex
fn cell_vertex(@builtin(vertex_index) vertex: u32) -> Line {
    let first = vertex / 24u * 24u;
    let low = bitcast<vec2<f32>>(cells[first].xy);
    let high = bitcast<vec2<f32>>(cells[first + 7u].xy);
    let corner = corner_of_quad(min(vertex - first, 5u)) * 0.5 + 0.5;
    return Line(at_plane(mix(low, high, corner)), vec4<f32>(RAY, 0.075));
}

@fragment
fn cell_fragment(line: Line) -> @location(0) vec4<f32> {
    return line.color;
}
