// Bounds moved outward.

// `value` moved outward by a length and by one float more, which outweighs the rounding, as an ordered integer.
// `direction` is 1 or -1.
fn grown(value: vec3<u32>, length: vec3<f32>, direction: i32) -> vec3<i32> {
    let infinity = vec3<i32>(0x7f800000);
    let moved = ordered(bitcast<vec3<u32>>(flush(flush_bits(value) + f32(direction) * length)));
    return clamp(moved + vec3<i32>(direction), -infinity, infinity);
}
