// Draws the visible boxes of a view. Appended to `solid.wgsl`.

struct View {
    view_projection: mat4x4<f32>,
    eye: vec3<f32>,
    index: u32,
    // Fog distance.
    reach: f32,
    // Words of visibility bits per view.
    words: u32,
    // 1 to colour boxes by the drone and sun that see them.
    colors_by_views: u32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<storage, read> boxes: array<Aabb>;
// Visible objects of all views, the start of each view's list, and the visibility bits.
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read> visible: array<u32>;

const DRONE: vec3<f32> = vec3<f32>(1.0, 0.42, 0.08);
const SUNLIGHT: vec3<f32> = vec3<f32>(0.12, 0.4, 1.0);

struct Surface {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) place: vec2<f32>,
    @location(3) way: vec3<f32>,
}

fn is_seen(by: u32, object: u32) -> bool {
    return ((visible[by * view.words + object / 32u] >> (object % 32u)) & 1u) == 1u;
}

fn color_of(object: u32) -> vec3<f32> {
    let shade = 0.7 + 0.3 * f32((object * 2654435769u) >> 24u) / 255.0;
    if (view.colors_by_views == 0u) {
        return shade * vec3<f32>(0.62, 0.57, 0.5);
    }
    let drone = f32(is_seen(0u, object));
    let sun = f32(is_seen(1u, object));
    let others = drone * DRONE + sun * SUNLIGHT;
    return shade * select(others, vec3<f32>(0.07, 0.08, 0.1), drone + sun == 0.0);
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Surface {
    let object = lists[offsets[view.index] + instance];
    let bounds = boxes[object];
    let face = face_of(vertex);
    let place = mix(bounds.low, bounds.high, face.corner);
    return Surface(
        view.view_projection * vec4<f32>(place, 1.0),
        color_of(object),
        face.normal,
        face.place,
        place - view.eye,
    );
}

@fragment
fn box_fragment(surface: Surface) -> @location(0) vec4<f32> {
    let color = lit(surface.color, surface.normal, surface.place, surface.way);
    let far = smoothstep(0.5, 1.0, length(surface.way) / view.reach);
    return vec4<f32>(mix(color, BACKGROUND, far), 1.0);
}
