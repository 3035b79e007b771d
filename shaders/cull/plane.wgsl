// uses: common/box

// A box against a plane. Each operation of floats is rounded once, and its result goes through integers, so that there
// is nothing to fuse or to reorder.

const SIGN: u32 = 0x80000000u;
const MAGNITUDE: u32 = 0x7fffffffu;
const INFINITE: u32 = 0x7f800000u;
// Powers of two by which the slack is smaller than the numbers that it is of.
const SLACK: u32 = 21u;
// The same of a workgroup's common box: a member's own slack may be larger by rounding than what is left of it.
const COMMON_SLACK: u32 = 20u;
// 2^126: sums of two such numbers are no infinities.
const COMMON_LIMIT: u32 = 0x7e800000u;
// How a common box lies.
const COMMON_CROSSED: u32 = 0u;
const COMMON_OUTSIDE: u32 = 1u;
const COMMON_INSIDE: u32 = 2u;

// Bits of the bounds, and of the largest that is finite, no less than 2.
struct Bounds {
    low: vec3<u32>,
    high: vec3<u32>,
    largest: u32,
}

fn largest_of(a: vec3<u32>) -> u32 {
    return max(a.x, max(a.y, a.z));
}

fn finite_magnitudes(bits: vec3<u32>) -> vec3<u32> {
    let magnitudes = bits & vec3<u32>(MAGNITUDE);
    return select(magnitudes, vec3<u32>(0u), magnitudes >= vec3<u32>(INFINITE));
}

fn bounds_of(low: vec3<i32>, high: vec3<i32>) -> Bounds {
    let low_bits = unordered(low);
    let high_bits = unordered(high);
    let largest = largest_of(max(finite_magnitudes(low_bits), finite_magnitudes(high_bits)));
    return Bounds(low_bits, high_bits, max(largest, 0x40000000u));
}

// Results as they are on every device: denormals are zeros.
fn settled(value: vec2<f32>) -> vec2<f32> {
    let bits = bitcast<vec2<u32>>(value);
    let is_small = (bits & vec2<u32>(INFINITE)) == vec2<u32>(0u);
    return bitcast<vec2<f32>>(select(bits, vec2<u32>(0u), is_small));
}

// A number, and how large it is.
fn with_size(value: f32) -> vec2<f32> {
    return bitcast<vec2<f32>>(vec2<u32>(bitcast<u32>(value), bitcast<u32>(value) & MAGNITUDE));
}

// What the plane's equation says of a corner: `((x + y) + z) + d`, and behind it `(((|x| + |y|) + |z|) + |d|) + e`,
// where x, y and z are the products. e covers what becomes of denormals.
fn equation_of(plane: vec4<u32>, corner: vec3<u32>, largest: u32) -> vec2<u32> {
    let products = flush_bits(bitcast<vec3<u32>>(flush_bits(plane.xyz) * flush_bits(corner)));
    let x = with_size(products.x);
    let y = with_size(products.y);
    let z = with_size(products.z);
    let d = with_size(flush_bits(plane.www).x);
    // Times 2^-100.
    let e = max(largest, largest_of(plane.xyz & vec3<u32>(MAGNITUDE))) - (100u << 23u);
    let two = settled(x + y);
    let three = settled(two + z);
    let four = settled(three + d);
    return bitcast<vec2<u32>>(four + vec2<f32>(0.0, bitcast<f32>(e)));
}

// Whether the first number is below zero by more than the second one says.
fn is_below(equation: vec2<u32>, slack: u32) -> bool {
    let is_negative = equation.x > SIGN;
    let is_sure = equation.y < INFINITE && (equation.x & MAGNITUDE) > equation.y - (slack << 23u);
    return is_negative && is_sure;
}

// The corner that is farthest along the normal.
fn farthest(plane: vec4<u32>, bounds: Bounds) -> vec3<u32> {
    return select(bounds.low, bounds.high, plane.xyz < vec3<u32>(SIGN));
}

// Whether the whole box surely lies outside the plane.
fn is_outside(plane: vec4<u32>, bounds: Bounds) -> bool {
    let corner = farthest(plane, bounds);
    let is_infinite = (corner & vec3<u32>(MAGNITUDE)) == vec3<u32>(INFINITE);
    let counts = is_infinite & ((plane.xyz & vec3<u32>(MAGNITUDE)) != vec3<u32>(0u));
    if (any(counts)) {
        let is_ahead = ((corner ^ plane.xyz) & vec3<u32>(SIGN)) == vec3<u32>(0u);
        return !any(counts & is_ahead);
    }
    return is_below(equation_of(plane, select(corner, vec3<u32>(0u), is_infinite), bounds.largest), SLACK);
}

// Whether a box lies outside or inside a plane with all boxes in it: none of them has to be looked at then. That holds
// for boxes of which no product is past the floats.
fn side_of_common(plane: vec4<u32>, bounds: Bounds) -> u32 {
    let low = bounds.low & vec3<u32>(MAGNITUDE);
    let high = bounds.high & vec3<u32>(MAGNITUDE);
    if (any(max(low, high) >= vec3<u32>(INFINITE))) {
        return COMMON_CROSSED;
    }
    let nearest = select(bounds.high, bounds.low, plane.xyz < vec3<u32>(SIGN));
    let first = equation_of(plane, farthest(plane, bounds), bounds.largest);
    let last = equation_of(plane, nearest, bounds.largest);
    if (max(first.y, last.y) >= COMMON_LIMIT) {
        return COMMON_CROSSED;
    }
    if (is_below(first, COMMON_SLACK)) {
        return COMMON_OUTSIDE;
    }
    return select(COMMON_CROSSED, COMMON_INSIDE, last.x < SIGN);
}
