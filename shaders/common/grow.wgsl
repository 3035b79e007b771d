// uses: common/box

// Bounds moved outward.

// Bits of infinity.
const ENDLESS: u32 = 0x7f800000u;

// `value` moved outward by a length and by one float more, which outweighs the rounding, as an ordered integer.
// The length is not negative, `direction` 1 or -1. An infinite bound stays as it is, and no float operation sees it.
fn grown(value: vec3<u32>, length: vec3<f32>, direction: i32) -> vec3<i32> {
    let infinity = vec3<i32>(bitcast<i32>(ENDLESS));
    let is_endless = (value & vec3<u32>(0x7fffffffu)) == vec3<u32>(ENDLESS);
    let start = flush_bits(select(value, vec3<u32>(0u), is_endless));
    let way = bitcast<vec3<f32>>(bitcast<vec3<u32>>(length) | vec3<u32>(select(0u, 0x80000000u, direction < 0)));
    let moved = ordered(bitcast<vec3<u32>>(flush(start + way)));
    return select(clamp(moved + vec3<i32>(direction), -infinity, infinity), ordered(value), is_endless);
}
