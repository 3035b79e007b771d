// uses: common/box, common/prelude, common/workgroup, table/source_{source}, table/worlds

// Prepares objects for later passes. Sets z to 0 in two dimensions, grows boxes by the margin, and moves positions into
// their periods. Marks static objects, makes those of a nonexistent world invalid, and excludes those past a count that
// only the device knows.

@group(0) @binding(2) var<storage, read_write> objects: array<vec4<u32>>;

@group(0) @binding(3) var<storage, read> object_limits: array<u32>;

// Moves a finite position into `0 <= p < period`, by long division of mantissas. The result is exact for positions that
// are not negative, rounded once for others, and the same on every device.
fn wrapped(bits: u32, period: f32) -> f32 {
    let magnitude = bits & 0x7fffffffu;
    if (magnitude < 0x00800000u || period == 0.0) {
        return 0.0;
    }
    let divisor = (bitcast<u32>(period) & 0x007fffffu) | 0x00800000u;
    let exponent = bitcast<u32>(period) >> 23u;
    var rest = magnitude;
    if ((magnitude >> 23u) >= exponent) {
        var remainder = ((magnitude & 0x007fffffu) | 0x00800000u) % divisor;
        for (var shift = (magnitude >> 23u) - exponent; shift > 0u; shift -= min(shift, 8u)) {
            remainder = (remainder << min(shift, 8u)) % divisor;
        }
        // The remainder times 2^(exponent - 150). The product is normal, since periods are at least 2^-100.
        rest = select(bitcast<u32>(f32(remainder)) + ((exponent - 150u) << 23u), 0u, remainder == 0u);
    }
    // Compared as integers: a compiler may conclude that `period - rest` is below `period`.
    let image = select(rest, bitcast<u32>(period - bitcast<f32>(rest)), bits != magnitude);
    return bitcast<f32>(select(image, 0u, rest == 0u || image >= bitcast<u32>(period)));
}

fn are_finite(bounds: vec3<u32>) -> vec3<bool> {
    return (bounds & vec3<u32>(0x7fffffffu)) < vec3<u32>(ENDLESS);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let object = flat_workgroup(group, groups) * WORKGROUP + local;
    if (object >= params.object_count) {
        return;
    }
    var low = source_corner(object, 0u);
    var high = source_corner(object, 1u);
    let all_ones = 0xffffffffu;
    let in_play = vec4<u32>(all_ones, all_ones, select(all_ones, 0u, params.dimensions == 2u), all_ones);
    low &= in_play;
    high &= in_play;
    let margin = vec3<f32>(params.margin);
    // Every finite bound grows, and every axis with two finite bounds moves, whatever the other axes are.
    let kind = classify(low, high);
    let has_place = kind == CLASS_FINITE || kind == CLASS_INFINITE;
    if (params.margin > 0.0 && has_place) {
        low = vec4<u32>(unordered(grown(low.xyz, margin, -1)), low.w) & in_play;
        high = vec4<u32>(unordered(grown(high.xyz, margin, 1)), high.w) & in_play;
    }
    let period = vec3<f32>(params.period_x, params.period_y, params.period_z);
    let moves = (period > vec3<f32>(0.0)) & are_finite(low.xyz) & are_finite(high.xyz);
    if (any(moves) && has_place) {
        let from_low = select(vec3<u32>(0u), low.xyz, moves);
        let from_high = select(vec3<u32>(0u), high.xyz, moves);
        let wrapped_low = vec3<f32>(
            wrapped(from_low.x, period.x),
            wrapped(from_low.y, period.y),
            wrapped(from_low.z, period.z),
        );
        // A point stays a point, and an edge past the largest float stays finite. Integers keep a compiler from
        // reordering the sums.
        let apart = flush(flush_bits(from_high) - flush_bits(from_low));
        let edges = min(bitcast<vec3<u32>>(apart), vec3<u32>(0x7f7fffffu));
        let wrapped_high = wrapped_low + bitcast<vec3<f32>>(edges);
        low = vec4<u32>(select(low.xyz, bitcast<vec3<u32>>(wrapped_low), moves), low.w);
        high = vec4<u32>(select(high.xyz, bitcast<vec3<u32>>(wrapped_high), moves), high.w);
    }
    let world = world_of(object);
    if (world >= params.world_count && world != ALL_WORLDS) {
        low.x = 0x7fc00000u;
    }
    if (params.object_limit > 0u && object >= object_limits[params.object_limit - 1u]) {
        high.w = GROUP_EXCLUDED;
    }
    let name = params.first_object + object;
    high.w |= select(0u, GROUP_STATIC, name < params.static_count);
    objects[2u * name] = low;
    objects[2u * name + 1u] = high;
}
