// uses: common/prelude, cull/view

// Prepares views: clears unused planes and, in two dimensions, z. Marks and counts invalid views: those with a number
// that is not finite, too many planes or an unknown world.

@group(0) @binding(1) var<storage, read> frusta: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> views: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> counters: array<atomic<u32>>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) local: u32) {
    if (local >= cull.view_count) {
        return;
    }
    let first = local * VIEW_VECTORS;
    let frustum = frusta[first + MAX_PLANES];
    var is_valid = frustum.x <= MAX_PLANES && frustum.z < params.world_count;
    let all_ones = 0xffffffffu;
    let in_play = vec4<u32>(all_ones, all_ones, select(all_ones, 0u, params.dimensions == 2u), all_ones);
    for (var k = 0u; k < MAX_PLANES; k += 1u) {
        let plane = select(vec4<u32>(0u), frusta[first + k] & in_play, k < frustum.x);
        is_valid = is_valid && all((plane & vec4<u32>(0x7fffffffu)) < vec4<u32>(0x7f800000u));
        views[first + k] = plane;
    }
    views[first + MAX_PLANES] = vec4<u32>(select(NO_VIEW, frustum.x, is_valid), frustum.y, frustum.z, 0u);
    if (!is_valid) {
        atomicAdd(&counters[CULL_INVALID], 1u);
    }
}
