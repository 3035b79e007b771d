// A ray and the exact test of a box against it: the slab test (Kay and Kajiya, 1986) in one formula that gives the same
// bits on every device.

@group(0) @binding(4) var<storage, read> rays: array<vec4<u32>>;

const LARGEST_FLOAT: f32 = 0x1.fffffep+127;
// 1 + 2^-21 outweighs the rounding of a difference, an inverse and a product on both sides, so that no hit of exact
// arithmetic is lost.
const FAR_WIDENING: f32 = 0x1.000008p+0;
const MISS: f32 = -1.0;
const SWEPT_STRIDE: u32 = 4u;

// Whether rays may sweep a box, as a constant: drivers that take both sides of a branch would pay for it at every box.
override SWEPT: bool = true;

struct Ray {
    origin: vec3<f32>,
    t_max: f32,
    direction: vec3<f32>,
    valid: bool,
    inverse: vec3<f32>,
    origin_ordered: vec3<i32>,
    moves: vec3<bool>,
    world: u32,
    // Hits before it do not count.
    t_min: f32,
    // Of the box that is swept along; 0 for a ray without width.
    half_extents: vec3<f32>,
    layers: u32,
}

// Correctly rounded 1 / x of a normal float up to 2^126, by long division of mantissas: 2^47 / m in three steps.
fn reciprocal(bits: vec3<u32>) -> vec3<f32> {
    let one = vec3<u32>(0x00800000u);
    let mantissa = (bits & vec3<u32>(0x007fffffu)) | one;
    let exponent = (bits >> vec3<u32>(23u)) & vec3<u32>(0xffu);
    var remainder = one;
    var quotient = vec3<u32>(0u);
    for (var step = 0u; step < 3u; step += 1u) {
        let wide = remainder << vec3<u32>(8u);
        quotient = (quotient << vec3<u32>(8u)) | (wide / mantissa);
        remainder = wide % mantissa;
    }
    quotient += select(vec3<u32>(0u), vec3<u32>(1u), remainder * 2u > mantissa);
    let general = ((vec3<u32>(253u) - exponent) << vec3<u32>(23u)) + (quotient - one);
    let power_of_two = (vec3<u32>(254u) - exponent) << vec3<u32>(23u);
    let magnitude = select(general, power_of_two, mantissa == one);
    return bitcast<vec3<f32>>(magnitude | (bits & vec3<u32>(0x80000000u)));
}

fn load_ray(index: u32) -> Ray {
    let at = params.ray_stride * index;
    let all_ones = 0xffffffffu;
    let in_play = vec4<u32>(all_ones, all_ones, select(all_ones, 0u, params.dimensions == 2u), all_ones);
    let head = rays[at] & in_play;
    let tail = rays[at + 1u] & in_play;
    var sweep = vec4<u32>(0u);
    var ray: Ray;
    if (params.ray_stride == SWEPT_STRIDE) {
        sweep = rays[at + 2u] & in_play;
        ray.world = rays[at + 3u].x;
    }
    let origin_bits = head.xyz & vec3<u32>(0x7fffffffu);
    let direction_bits = tail.xyz & vec3<u32>(0x7fffffffu);
    ray.valid = all(origin_bits < vec3<u32>(0x7f800000u)) && all(direction_bits <= vec3<u32>(0x7e800000u))
        && (head.w & 0x7fffffffu) <= 0x7f800000u && (sweep.w & 0x7fffffffu) <= 0x7f800000u
        && all((sweep.xyz < vec3<u32>(0x7f800000u)) | (sweep.xyz == vec3<u32>(0x80000000u)))
        && ray.world < params.world_count;
    // -0 is 0; what lies below zero hits nothing and is given a limit below every t.
    let negative = head.w > 0x80000000u;
    let limit_bits = min(head.w & 0x7fffffffu, 0x7f7fffffu);
    ray.t_max = select(bitcast<f32>(select(limit_bits, 0u, limit_bits < 0x00800000u)), -1.0, negative);
    // A negative start counts as 0.
    let starts_late = sweep.w >= 0x00800000u && sweep.w < 0x80000000u;
    ray.t_min = bitcast<f32>(select(0u, min(sweep.w, 0x7f7fffffu), starts_late));
    if (sweep.w == 0x7f800000u || ray.t_min > ray.t_max) {
        ray.t_max = -1.0;
    }
    ray.half_extents = flush_bits(sweep.xyz);
    ray.layers = tail.w;
    ray.moves = direction_bits >= vec3<u32>(0x00800000u);
    ray.origin = flush_bits(head.xyz);
    ray.direction = flush_bits(tail.xyz);
    ray.origin_ordered = ordered(head.xyz);
    ray.inverse = select(vec3<f32>(1.0), reciprocal(select(vec3<u32>(0x3f800000u), tail.xyz, ray.moves)), ray.moves);
    return ray;
}

// Where the ray enters the box of ordered integers, no earlier than it starts, or MISS.
fn enter_box(ray: Ray, box_low: vec3<i32>, box_high: vec3<i32>) -> f32 {
    var low = box_low;
    var high = box_high;
    if (SWEPT) {
        // A box that is swept meets another where its centre meets that one grown.
        let sweeps = ray.half_extents > vec3<f32>(0.0);
        low = select(low, grown(unordered(low), ray.half_extents, -1), sweeps);
        high = select(high, grown(unordered(high), ray.half_extents, 1), sweeps);
    }
    let at_low = flush(flush(flush_bits(unordered(low)) - ray.origin) * ray.inverse);
    let at_high = flush(flush(flush_bits(unordered(high)) - ray.origin) * ray.inverse);
    let forward = ray.inverse > vec3<f32>(0.0);
    let inside = (low <= ray.origin_ordered) & (ray.origin_ordered <= high);
    // An axis without motion is met always or never.
    let near = select(vec3<f32>(0.0), select(at_high, at_low, forward), ray.moves);
    let far = select(select(vec3<f32>(-1.0), vec3<f32>(LARGEST_FLOAT), inside), select(at_low, at_high, forward) * FAR_WIDENING, ray.moves);
    let t = max(max(near.x, near.y), max(near.z, ray.t_min));
    let limit = min(min(far.x, far.y), min(far.z, ray.t_max * FAR_WIDENING));
    if (t <= limit && t <= LARGEST_FLOAT) {
        return min(t, ray.t_max);
    }
    return MISS;
}
