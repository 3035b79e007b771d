// Boxes of two vec4s each, in the layout of `Aabb`. Bounds are compared as integers of `ordered`.

const ID_MASK: u32 = 0x1fffffffu;
// Flags of an entry, one bit per axis. A bit is set if, on its axis, the entry's cell is that of the object's lower
// corner. The primary entry has all three flags.
const PRIMARY_FLAGS: u32 = 0xe0000000u;
const GROUP_EXCLUDED: u32 = 0x80000000u;
const GROUP_STATIC: u32 = 0x40000000u;
const GROUP_MASK: u32 = 0x3fffffffu;

const LARGEST_FLOAT: f32 = 0x1.fffffep+127;

const CLASS_FINITE: u32 = 0u;
const CLASS_INFINITE: u32 = 1u;
const CLASS_INVALID: u32 = 2u;
const CLASS_EXCLUDED: u32 = 3u;

// Integers in the order of the floats with these `bits`; -0 equals +0. Denormals keep their order even on hardware that
// flushes them.
fn ordered(bits: vec3<u32>) -> vec3<i32> {
    let is_positive = bits < vec3<u32>(0x80000000u);
    return select(bitcast<vec3<i32>>(vec3<u32>(0x80000000u) - bits), bitcast<vec3<i32>>(bits), is_positive);
}

fn unordered(value: vec3<i32>) -> vec3<u32> {
    let bits = bitcast<vec3<u32>>(value);
    return select(vec3<u32>(0x80000000u) - bits, bits, value >= vec3<i32>(0));
}

// Tests bits only, since a compiler may assume that no float is NaN or infinite.
fn classify(low: vec4<u32>, high: vec4<u32>) -> u32 {
    if ((high.w & GROUP_EXCLUDED) != 0u) {
        return CLASS_EXCLUDED;
    }
    let a = low.xyz & vec3<u32>(0x7fffffffu);
    let b = high.xyz & vec3<u32>(0x7fffffffu);
    let infinity = vec3<u32>(0x7f800000u);
    if (any(a > infinity) || any(b > infinity) || any(ordered(low.xyz) > ordered(high.xyz))) {
        return CLASS_INVALID;
    }
    if (any(a == infinity) || any(b == infinity)) {
        return CLASS_INFINITE;
    }
    return CLASS_FINITE;
}

fn flush(value: vec3<f32>) -> vec3<f32> {
    let magnitude = bitcast<vec3<u32>>(value) & vec3<u32>(0x7f800000u);
    return select(value, vec3<f32>(0.0), magnitude == vec3<u32>(0u));
}

fn flush_bits(bits: vec3<u32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(select(bits, vec3<u32>(0u), (bits & vec3<u32>(0x7f800000u)) == vec3<u32>(0u)));
}

fn layers_meet(a: u32, b: u32) -> bool {
    return ((a & 0xffffu) & (b >> 16u)) != 0u && ((b & 0xffffu) & (a >> 16u)) != 0u;
}

fn passes_filters(layers_a: u32, group_a: u32, layers_b: u32, group_b: u32) -> bool {
    let group = group_a & GROUP_MASK;
    let same_group = group != 0u && group == (group_b & GROUP_MASK);
    let both_static = (group_a & group_b & GROUP_STATIC) != 0u;
    return layers_meet(layers_a, layers_b) && !same_group && !both_static;
}

const ENDLESS: u32 = 0x7f800000u;

// Moves the bound `value` outward by `length >= 0`, then by one float more, to outweigh rounding. Returns an ordered
// integer. `direction` is 1 or -1. Infinite bounds do not change and enter no float operation.
fn grown(value: vec3<u32>, length: vec3<f32>, direction: i32) -> vec3<i32> {
    let infinity = vec3<i32>(bitcast<i32>(ENDLESS));
    let is_endless = (value & vec3<u32>(0x7fffffffu)) == vec3<u32>(ENDLESS);
    let start = flush_bits(select(value, vec3<u32>(0u), is_endless));
    let way = bitcast<vec3<f32>>(bitcast<vec3<u32>>(length) | vec3<u32>(select(0u, 0x80000000u, direction < 0)));
    let moved = ordered(bitcast<vec3<u32>>(flush(start + way)));
    return select(clamp(moved + vec3<i32>(direction), -infinity, infinity), ordered(value), is_endless);
}

// Boxes that touch overlap.
fn overlaps(low_a: vec3<i32>, high_a: vec3<i32>, low_b: vec3<i32>, high_b: vec3<i32>) -> bool {
    return all(low_a <= high_b) && all(low_b <= high_a);
}
