// Draws 3D scenes. Appended to `colors.wgsl`.

const BACKGROUND: vec3<f32> = vec3<f32>(0.031, 0.041, 0.064);

// Converts linear colours to sRGB.
fn encoded(color: vec3<f32>) -> vec3<f32> {
    return pow(max(color, vec3<f32>(0.0)), vec3<f32>(1.0 / 2.2));
}

fn fog(way: vec3<f32>, color: vec3<f32>) -> vec3<f32> {
    let near = length(params.eye) - 1.1 * params.reach.x;
    let share = clamp((length(way) - near) / (2.4 * params.reach.x), 0.0, 1.0);
    return mix(color, BACKGROUND, 0.85 * smoothstep(0.0, 1.0, share));
}

struct Surface {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) place: vec2<f32>,
    // Vector from the eye.
    @location(3) way: vec3<f32>,
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) object: u32) -> Surface {
    let bounds = boxes[object];
    let face = face_of(vertex);
    let place = mix(bounds.low, bounds.high, face.corner);
    let at = params.view_projection * vec4<f32>(place, 1.0);
    return Surface(at, decoded(ramp(heat(object))), face.normal, face.place, place - params.eye);
}

@fragment
fn box_fragment(surface: Surface) -> @location(0) vec4<f32> {
    let color = encoded(1.15 * lit(surface.color, surface.normal, surface.place, surface.way));
    return vec4<f32>(fog(surface.way, color), 1.0);
}

struct Outline {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
}

// Back faces of an enlarged box look like a rim.
fn outline(vertex: u32, object: u32, pixels: f32, color: vec3<f32>) -> Outline {
    let bounds = boxes[object];
    let width = pixels * params.pixel * distance(params.eye, 0.5 * (bounds.low + bounds.high));
    let place = mix(bounds.low - width, bounds.high + width, face_of(vertex).corner);
    return Outline(params.view_projection * vec4<f32>(place, 1.0), vec4<f32>(color, 1.0));
}

@vertex
fn hit_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) hit: u32) -> Outline {
    return outline(vertex, hits[hit].x, 1.8, 0.75 * RAY);
}

@fragment
fn hit_fragment(outline: Outline) -> @location(0) vec4<f32> {
    return outline.color;
}

@vertex
fn closest_vertex(@builtin(vertex_index) vertex: u32) -> Surface {
    if (found.closest == NONE) {
        return Surface(vec4<f32>(0.0), RAY, vec3<f32>(0.0), vec2<f32>(0.0), vec3<f32>(0.0));
    }
    let bounds = boxes[found.closest];
    let face = face_of(vertex);
    let width = 0.6 * params.pixel * distance(params.eye, 0.5 * (bounds.low + bounds.high));
    let place = mix(bounds.low - width, bounds.high + width, face.corner);
    let at = params.view_projection * vec4<f32>(place, 1.0);
    return Surface(at, decoded(RAY), face.normal, face.place, place - params.eye);
}

@fragment
fn closest_fragment(surface: Surface) -> @location(0) vec4<f32> {
    return vec4<f32>(encoded(1.6 * lit(surface.color, surface.normal, surface.place, surface.way)), 1.0);
}

// Part 0 of the ray ends at the hit, part 1 continues. The width on screen is constant.
@vertex
fn ray_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) part: u32) -> Outline {
    if (params.shows_ray == 0u || (part == 1u && found.closest == NONE)) {
        return Outline(vec4<f32>(0.0), vec4<f32>(0.0));
    }
    let stop = select(params.ray_length, found.t, found.closest != NONE);
    let begin = params.ray_origin + select(0.0, stop, part == 1u) * params.ray_direction;
    let end = params.ray_origin + select(stop, params.ray_length, part == 1u) * params.ray_direction;
    let is_end = vertex == 1u || vertex == 2u || vertex == 4u;
    let is_left = vertex == 2u || vertex == 4u || vertex == 5u;
    let at = select(begin, end, is_end);
    let way = at - params.eye;
    let aside = normalize(cross(end - begin, way) + vec3<f32>(1e-9, 0.0, 0.0));
    let place = at + select(-1.0, 1.0, is_left) * 1.3 * params.pixel * length(way) * aside;
    return Outline(params.view_projection * vec4<f32>(place, 1.0), vec4<f32>(RAY, select(1.0, 0.35, part == 1u)));
}

@fragment
fn ray_fragment(outline: Outline) -> @location(0) vec4<f32> {
    return outline.color;
}

struct Line {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
    @location(1) way: vec3<f32>,
}

@vertex
fn line_vertex(@location(0) place: vec3<f32>, @location(1) color: vec4<f32>) -> Line {
    return Line(params.view_projection * vec4<f32>(place, 1.0), vec4<f32>(of_level(color.rgb), color.a), place - params.eye);
}

@fragment
fn line_fragment(line: Line) -> @location(0) vec4<f32> {
    return vec4<f32>(fog(line.way, line.color.rgb), line.color.a);
}
