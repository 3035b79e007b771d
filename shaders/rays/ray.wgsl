// uses: common/box, common/prelude

// Loads rays, and tests boxes exactly: the slab test (Kay and Kajiya, 1986), with the same bits on every device.
//
// Definition. A difference is bound minus origin, rounded once. A parameter is a difference times the rounded inverse
// of the direction, rounded once. Exponents are unbounded. The ray hits the box if the largest near parameter is at
// most the smallest far parameter times 1 + 2^-21, rounded.
//
// No exact hit is lost: a parameter has at most three rounding errors of 2^-24, so near and far together are off by at
// most 6 * 2^-24, less than the added 8 * 2^-24. A box hit by this test only is missed by less than 2^-20.
//
// Compilers cannot reorder or fuse operations: each float result is used as an integer before the next float operation.
// Minima, maxima and comparisons are of integers, which have the order of nonnegative floats; negative ones
// stay negative.
//
// `enter_box_closely` has unbounded exponents, `enter_box` those of floats. `enter_box` hits every box that
// `enter_box_closely` hits, and returns UNSURE if not certain, so all results are those of `enter_box_closely`.

const FAR_WIDENING: f32 = 0x1.000008p+0;
// Bits of the float that FAR_WIDENING raises to the largest float.
const WIDENED_TO_LARGEST: i32 = 0x7f7ffff7;
const SIGN: u32 = 0x80000000u;
const SMALLEST_NORMAL: i32 = 0x00800000;
// 2^-97. `enter_box` is unsure about half differences below it. Denormals cannot change longer ones: half a unit in
// their last place is at least 2^-122.
const SHORT: u32 = 0x0f000000u;
// 2^-100. Smaller grown bounds may have lost denormals. `grown_widely` moves them outward, to less than 2^-97, so that
// `enter_box` is unsure about them.
const SMALL_BOUND: i32 = 0x0d800000;
// `enter_box` is unsure about smaller far parameters, which may have been denormals before rounding.
const LEAST_LIMIT: i32 = 0x00800010;
const NO_HIT: f32 = -1.0;
const UNSURE: f32 = -2.0;

// True if rays may be swept. A constant, so that other rays need no registers for sweeps, and drivers that execute both
// sides of branches do not sweep at every box.
override SWEPT: bool = true;

struct Ray {
    // Index of the ray; 0 in the caller's shader.
    index: u32,
    t_max: f32,
    direction: vec3<f32>,
    valid: bool,
    // Twice the inverse of the direction; 0 on an axis without motion.
    inverse: vec3<f32>,
    half_origin: vec3<f32>,
    origin_ordered: vec3<i32>,
    world: u32,
    t_min: f32,
    // Half extents of the swept box; 0 for a ray without width.
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

// If `has_sweep`, the last arguments are the further fields of a `SweptRay`: half extents, `t_min` and world.
fn ray_of_words(
    source_head: vec4<u32>,
    source_tail: vec4<u32>,
    has_sweep: bool,
    source_sweep: vec4<u32>,
    world: u32,
) -> Ray {
    let all_ones = 0xffffffffu;
    let in_play = vec4<u32>(all_ones, all_ones, select(all_ones, 0u, params.dimensions == 2u), all_ones);
    let head = source_head & in_play;
    let tail = source_tail & in_play;
    var ray: Ray;
    let origin_bits = head.xyz & vec3<u32>(0x7fffffffu);
    let direction_bits = tail.xyz & vec3<u32>(0x7fffffffu);
    ray.valid = all(origin_bits < vec3<u32>(0x7f800000u)) && all(direction_bits <= vec3<u32>(0x7e800000u))
        && (head.w & 0x7fffffffu) <= 0x7f800000u;
    var sweep = vec4<u32>(0u);
    if (has_sweep) {
        sweep = source_sweep & in_play;
        ray.world = world;
        // Inside the branch, since testing an all-zero sweep made every ray invalid in Chromium.
        ray.valid = ray.valid && (sweep.w & 0x7fffffffu) <= 0x7f800000u
            && all((sweep.xyz < vec3<u32>(0x7f800000u)) | (sweep.xyz == vec3<u32>(0x80000000u)))
            && ray.world < params.world_count;
    }
    // -0 counts as 0. A negative `t_max` becomes -1, below every t, and hits nothing.
    let negative = head.w > 0x80000000u;
    let limit_bits = min(head.w & 0x7fffffffu, 0x7f7fffffu);
    ray.t_max = select(bitcast<f32>(select(limit_bits, 0u, limit_bits < 0x00800000u)), -1.0, negative);
    let starts_late = sweep.w >= 0x00800000u && sweep.w < 0x80000000u;
    ray.t_min = bitcast<f32>(select(0u, min(sweep.w, 0x7f7fffffu), starts_late));
    if (sweep.w == 0x7f800000u || ray.t_min > ray.t_max) {
        ray.t_max = -1.0;
    }
    ray.half_extents = flush_bits(sweep.xyz);
    ray.layers = tail.w;
    let moves = direction_bits >= vec3<u32>(0x00800000u);
    ray.direction = flush_bits(tail.xyz);
    ray.origin_ordered = ordered(head.xyz);
    // On an axis without motion, a far origin keeps differences from being short.
    let origin = ray.origin_ordered;
    let half_origin = vec3<f32>(halved(origin.x), halved(origin.y), halved(origin.z));
    ray.half_origin = select(vec3<f32>(0x1p+100), half_origin, moves);
    // The largest inverse is 2^126, so it can be doubled.
    let inverse = reciprocal(select(vec3<u32>(0x3f800000u), tail.xyz, moves));
    let doubled = bitcast<vec3<u32>>(inverse) + vec3<u32>(0x00800000u);
    ray.inverse = bitcast<vec3<f32>>(select(vec3<u32>(0u), doubled, moves));
    return ray;
}

// Half a bound, so that finite differences never overflow. Exact for bounds from 2^-125 on. For smaller ones, off by
// less than 2^-126.
fn halved(bound: i32) -> f32 {
    let magnitude = bitcast<u32>(max(abs(bound), SMALLEST_NORMAL) - SMALLEST_NORMAL);
    return bitcast<f32>(magnitude | (bitcast<u32>(bound) & SIGN));
}

// Moves a bound outward by an extent, at least as far as `grown_closely`: lost denormals are below 2^-125.
fn grown_widely(bound: i32, extent: f32, direction: i32) -> i32 {
    let moved = grown(unordered(vec3<i32>(bound)), vec3<f32>(extent), direction).x;
    return moved + direction * select(0, 2 * SMALLEST_NORMAL, abs(moved) < SMALL_BOUND);
}

struct AxisTest {
    near: i32,
    far: i32,
    // Shortest half difference that matters. `enter_box` is unsure if it is short.
    shortest: u32,
}

fn test_axis(before: AxisTest, ray: Ray, axis: u32, box_low: i32, box_high: i32, may_be_endless: bool) -> AxisTest {
    var low = box_low;
    var high = box_high;
    var shortest = before.shortest;
    if (SWEPT) {
        // A swept box hits another box if its centre hits that box grown by the half extents.
        let sweeps = bitcast<u32>(ray.half_extents[axis]) > 0u;
        low = select(low, grown_widely(low, ray.half_extents[axis], -1), sweeps);
        high = select(high, grown_widely(high, ray.half_extents[axis], 1), sweeps);
        shortest = select(shortest, min(shortest, bitcast<u32>(min(abs(low), abs(high)))), sweeps);
    }
    let inverse = bitcast<u32>(ray.inverse[axis]);
    let forward = inverse < SIGN;
    let near_bound = select(high, low, forward);
    let far_bound = select(low, high, forward);
    let near_way = bitcast<u32>(halved(near_bound) - ray.half_origin[axis]);
    let far_way = bitcast<u32>(halved(far_bound) - ray.half_origin[axis]);
    let near_length = near_way & ~SIGN;
    let far_length = far_way & ~SIGN;
    let is_above = low <= ray.origin_ordered[axis];
    let is_below = ray.origin_ordered[axis] <= high;
    // If the origin has reached the near bound, the near parameter is certainly 0.
    let is_reached = select(is_below, is_above, forward);
    shortest = min(shortest, min(select(near_length, far_length, is_reached), far_length));
    // Short differences to the near bound count as 0, and to the far bound as SHORT, which is longer: no hit is missed.
    let near_steps = select(near_way, 0u, near_length < SHORT);
    let far_steps = select(far_way, (inverse & SIGN) | SHORT, far_length < SHORT);
    let at_near = bitcast<i32>(bitcast<f32>(near_steps) * ray.inverse[axis]);
    var at_far = bitcast<i32>(bitcast<f32>(far_steps) * ray.inverse[axis]);
    let infinity = 0x7f800000;
    if (SWEPT || may_be_endless) {
        let endless = select(-infinity, infinity, forward);
        at_far = select(at_far, infinity, far_bound == endless);
        shortest = select(shortest, 0u, near_bound == endless);
    }
    // On an axis without motion, the box is met always or never, and the near parameter is 0.
    let far = select(select(-1, infinity, is_above && is_below), at_far, inverse != 0u);
    return AxisTest(max(before.near, at_near), min(before.far, far), shortest);
}

// Parameter at which the ray enters the box, at least `t_min`; NO_HIT; or UNSURE if `enter_box_closely` must decide.
// One axis at a time takes fewer registers than three.
fn enter_box(ray: Ray, low: vec3<i32>, high: vec3<i32>, may_be_endless: bool) -> f32 {
    let t_max = bitcast<i32>(ray.t_max);
    let first = AxisTest(0, t_max, ~SIGN);
    let x = test_axis(first, ray, 0u, low.x, high.x, may_be_endless);
    let xy = test_axis(x, ray, 1u, low.y, high.y, may_be_endless);
    let xyz = test_axis(xy, ray, 2u, low.z, high.z, may_be_endless);
    let start = max(select(xyz.near, 0, xyz.near <= SMALLEST_NORMAL), bitcast<i32>(ray.t_min));
    let limit = xyz.far;
    let bounded = clamp(limit, SMALLEST_NORMAL, WIDENED_TO_LARGEST);
    let meets = limit >= 0 && start < 0x7f800000 && start <= bitcast<i32>(bitcast<f32>(bounded) * FAR_WIDENING);
    let is_unsure = limit < LEAST_LIMIT || xyz.shortest < SHORT;
    let t = select(bitcast<f32>(min(start, t_max)), UNSURE, is_unsure);
    return select(NO_HIT, t, meets);
}
