// sRGB colours. Appended to `common.wgsl`.

const RAY: vec3<f32> = vec3<f32>(0.42, 1.0, 0.82);
// Overlaps at the end of the colour ramp.
const HOTTEST: f32 = 31.0;
// Even in the logarithm of overlaps. The page's legend repeats these colours.
const RAMP: array<vec3<f32>, 6> = array<vec3<f32>, 6>(
    vec3<f32>(0.255, 0.345, 0.470), vec3<f32>(0.220, 0.420, 0.860), vec3<f32>(0.510, 0.330, 0.930),
    vec3<f32>(0.910, 0.260, 0.600), vec3<f32>(1.000, 0.520, 0.240), vec3<f32>(1.000, 0.870, 0.430),
);

@group(0) @binding(1) var<storage, read> boxes: array<Aabb>;
@group(0) @binding(2) var<storage, read> overlaps: array<u32>;
@group(0) @binding(3) var<storage, read> found: Found;
// Object index and bits of `t`.
@group(0) @binding(4) var<storage, read> hits: array<vec2<u32>>;

fn heat(object: u32) -> f32 {
    let others = select(0.0, f32(overlaps[object]), params.has_colors == 1u);
    return min(log2(1.0 + others) / log2(1.0 + HOTTEST), 1.0);
}

fn ramp(heat: f32) -> vec3<f32> {
    var colors = RAMP;
    let place = heat * 5.0;
    let below = min(u32(place), 4u);
    return mix(colors[below], colors[below + 1u], place - f32(below));
}

// Swaps red and blue, because red means many overlaps here.
fn of_level(color: vec3<f32>) -> vec3<f32> {
    return mix(color.bgr, vec3<f32>(0.55, 0.65, 0.8), 0.3);
}
