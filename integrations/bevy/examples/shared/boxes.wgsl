// A box has 36 vertices, made without a vertex buffer.

struct View {
    // Further fields of Bevy's uniform are not used.
    clip_from_world: mat4x4f,
}
struct Box {
    lower: vec3f,
    layers: u32,
    upper: vec3f,
    group: u32,
}
@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<storage, read> boxes: array<Box>;
@group(0) @binding(2) var<storage, read> colors: array<u32>;

// True if the word of layers is a rotation.
override ARE_TURNED: bool = false;

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) color: vec4f,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Corner {
    let side = index / 6u;
    let axis = side % 3u;
    let is_upper = side >= 3u;
    let turn = index % 6u;
    let corner = select(turn, turn - 2u, turn >= 3u);
    let in_side = vec2f(f32(corner & 1u), f32(corner >> 1u));
    var at = vec3f(0.0);
    at[axis] = f32(is_upper);
    at[(axis + 1u) % 3u] = in_side.x;
    at[(axis + 2u) % 3u] = in_side.y;
    var normal = vec3f(0.0);
    normal[axis] = select(-1.0, 1.0, is_upper);
    let drawn = boxes[instance];
    var corner_at = mix(drawn.lower, drawn.upper, at);
    if (ARE_TURNED) {
        let rotation = normalize(unpack4x8snorm(drawn.layers));
        let center = 0.5 * (drawn.lower + drawn.upper);
        corner_at = center + turned(rotation, corner_at - center);
        normal = turned(rotation, normal);
    }
    let light = 0.45 + 0.55 * max(dot(normal, normalize(vec3f(0.4, 0.9, 0.55))), 0.0);
    let color = unpack4x8unorm(colors[instance]).rgb * light;
    var position = view.clip_from_world * vec4f(corner_at, 1.0);
    // Free slots have the top bit of `group` set. They are moved out of view.
    if ((drawn.group >> 31u) == 1u) {
        position = vec4f(0.0, 0.0, -1.0, 1.0);
    }
    return Corner(position, vec4f(color, 1.0));
}

fn turned(rotation: vec4f, vector: vec3f) -> vec3f {
    return vector + 2.0 * cross(rotation.xyz, cross(rotation.xyz, vector) + rotation.w * vector);
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4f {
    return corner.color;
}
