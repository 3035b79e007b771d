// uses: common/box, common/prelude

// Sizes of boxes in quarter octaves, and the sample of them that is looked at. A heuristic's input: no answer depends
// on it.

// The object of a sample, among those of the table: one out of each run of `sample_stride`, at an offset that follows
// no pattern that the objects may have.
fn sampled_object(sample: u32) -> u32 {
    let offset = ((sample * 0x9e3779b1u) >> 16u) % params.sample_stride;
    return min(sample * params.sample_stride + offset, params.object_count - 1u);
}

// Bits of the longest side; past the largest float, the largest float.
fn longest_side_bits(low: vec3<u32>, high: vec3<u32>) -> u32 {
    // Halved first, so that no difference overflows.
    let half_sides = flush(flush(flush_bits(high) * 0.5) - flush(flush_bits(low) * 0.5));
    let half_side = max(half_sides.x, max(half_sides.y, half_sides.z));
    let bits = bitcast<u32>(half_side);
    return select(min(bits + 0x00800000u, 0x7f7fffffu), 0u, bits == 0u);
}

// The smallest class whose size holds the side: class `4 e + q` stands for `(1 + q / 4) 2^(e - 127)`, 0 for zero.
fn size_class(low: vec3<u32>, high: vec3<u32>) -> u32 {
    return (longest_side_bits(low, high) + 0x001fffffu) >> 21u;
}
