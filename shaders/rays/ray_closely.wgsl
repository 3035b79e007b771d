// uses: common/box, common/prelude, rays/ray

// Exact test with unbounded exponents, for the few boxes of which `enter_box` is not sure.

// Two values below 2^-78 are subtracted after multiplying them by 2^48, others by 1/2. Both are then normal floats, or
// one is too small to change the rounded difference.
const LIFTED_BELOW: u32 = 0x18800000u;
const LIFT: u32 = 48u;
// Parameters are integer keys: float bits with a nine-bit exponent, whose value 0 stands for 2^-300.
const KEY_SHIFT: u32 = 173u << 23u;
const KEY_SMALLEST_NORMAL: u32 = 174u << 23u;
const KEY_INFINITY: u32 = 428u << 23u;

fn magnitude_of(bound: i32) -> u32 {
    return u32(abs(bound));
}

// Multiplies a magnitude below 2^-78, given as bits, by 2^48. Denormals are converted as integers.
fn lifted(magnitude: u32) -> u32 {
    let normal = magnitude + (LIFT << 23u);
    let denormal = bitcast<u32>(f32(magnitude)) - select((149u - LIFT) << 23u, 0u, magnitude == 0u);
    return select(denormal, normal, magnitude >= 0x00800000u);
}

fn lowered(bits: u32) -> u32 {
    let exponent = bits >> 23u;
    let mantissa = (bits & 0x007fffffu) | 0x00800000u;
    // Shifts out no set bit: the value is a multiple of the smallest denormal.
    let denormal = select(mantissa >> (LIFT + 1u - clamp(exponent, 26u, LIFT)), 0u, bits == 0u);
    return select(denormal, bits - (LIFT << 23u), exponent > LIFT);
}

fn signed(magnitude: u32, bound: i32) -> f32 {
    return bitcast<f32>(magnitude | (bitcast<u32>(bound) & SIGN));
}

// Moves a bound outward by an extent, rounds to nearest, and moves it by one float more. Keeps denormals.
fn grown_closely(bound: i32, extent: f32, direction: i32) -> i32 {
    let magnitude = magnitude_of(bound);
    let length = bitcast<u32>(extent);
    if (max(magnitude, length) >= LIFTED_BELOW) {
        return grown(vec3<u32>(unordered(vec3<i32>(bound)).x), vec3<f32>(extent), direction).x;
    }
    let moved = bitcast<u32>(signed(lifted(magnitude), bound) + signed(lifted(length), direction));
    let result = bitcast<i32>(lowered(moved & ~SIGN));
    return select(result, -result, moved >= SIGN) + direction;
}

// Key of the parameter at which the ray reaches a bound ahead. `inverse` is twice the inverse of the direction.
fn key_of_bound(bound: i32, origin: i32, inverse: u32) -> u32 {
    let is_lifted = max(magnitude_of(bound), magnitude_of(origin)) < LIFTED_BELOW;
    let from_bound = select(halved(bound), signed(lifted(magnitude_of(bound)), bound), is_lifted);
    let from_origin = select(halved(origin), signed(lifted(magnitude_of(origin)), origin), is_lifted);
    let way = bitcast<u32>(from_bound - from_origin);
    let one = 0x3f800000u;
    let product = bitcast<f32>((way & 0x007fffffu) | one) * bitcast<f32>((inverse & 0x007fffffu) | one);
    let exponents = i32((way >> 23u) & 0xffu) + i32((inverse >> 23u) & 0xffu) - select(0, i32(LIFT) + 1, is_lifted);
    // A cap changes no result: all exponents far past the largest float act alike.
    return bitcast<u32>(product) + (bitcast<u32>(min(exponents - 81, 304)) << 23u);
}

fn widened(key: u32) -> u32 {
    let one = 0x3f800000u;
    let raised = bitcast<u32>(bitcast<f32>((key & 0x007fffffu) | one) * FAR_WIDENING);
    return select(raised - one + (key & 0xff800000u), 0u, key == 0u);
}

// Key of a float that is neither negative nor denormal.
fn key_of_parameter(bits: u32) -> u32 {
    return select(bits + KEY_SHIFT, 0u, bits == 0u);
}

fn enter_box_closely(ray: Ray, box_low: vec3<i32>, box_high: vec3<i32>) -> f32 {
    let t_min = bitcast<u32>(ray.t_min);
    let t_max = bitcast<u32>(ray.t_max);
    var nearest = 0u;
    var farthest = key_of_parameter(t_max);
    var meets = true;
    // Not a constant, so compilers keep the loop: unrolling this rare code costs registers.
    for (var axis = 0u; axis < params.dimensions; axis += 1u) {
        var low = box_low[axis];
        var high = box_high[axis];
        let extent = ray.half_extents[axis];
        if (SWEPT && bitcast<u32>(extent) > 0u) {
            low = grown_closely(low, extent, -1);
            high = grown_closely(high, extent, 1);
        }
        let origin = ray.origin_ordered[axis];
        if (bitcast<u32>(ray.inverse[axis]) == 0u) {
            meets = meets && low <= origin && origin <= high;
        } else {
            let inverse = bitcast<u32>(ray.inverse[axis]);
            let forward = inverse < SIGN;
            let near_bound = select(high, low, forward);
            let far_bound = select(low, high, forward);
            // Coordinates times `turn` grow along the ray.
            let turn = select(-1, 1, forward);
            let endless = turn * 0x7f800000;
            meets = meets && near_bound != endless && turn * far_bound >= turn * origin;
            if (turn * near_bound > turn * origin) {
                nearest = max(nearest, key_of_bound(near_bound, origin, inverse));
            }
            if (far_bound == origin) {
                farthest = 0u;
            } else if (far_bound != endless) {
                farthest = min(farthest, key_of_bound(far_bound, origin, inverse));
            }
        }
    }
    let start = max(nearest, key_of_parameter(t_min));
    if (!meets || start > widened(farthest) || start >= KEY_INFINITY) {
        return NO_HIT;
    }
    let t = max(select(0u, nearest - KEY_SHIFT, nearest > KEY_SMALLEST_NORMAL), t_min);
    return bitcast<f32>(min(t, t_max));
}
