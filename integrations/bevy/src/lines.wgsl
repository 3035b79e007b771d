struct View {
    // Further fields of Bevy's uniform are not used.
    clip_from_world: mat4x4f,
}
@group(0) @binding(0) var<uniform> view: View;

struct Line {
    @builtin(position) position: vec4f,
    @location(0) color: vec4f,
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) color: vec4f) -> Line {
    return Line(view.clip_from_world * vec4f(position, 1.0), color);
}

@fragment
fn fragment(line: Line) -> @location(0) vec4f {
    // Line colours are sRGB, but views are linear.
    let srgb = line.color.rgb;
    let linear = select(pow((srgb + 0.055) / 1.055, vec3f(2.4)), srgb / 12.92, srgb <= vec3f(0.04045));
    return vec4f(linear, line.color.a);
}
