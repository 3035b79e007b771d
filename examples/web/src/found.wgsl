// Prepares drawing data. Appended to `common.wgsl`.

@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
// Three workgroup counts, then the number of pairs.
@group(0) @binding(2) var<storage, read> dispatch: array<u32>;
@group(0) @binding(3) var<storage, read_write> overlaps: array<atomic<u32>>;

@compute @workgroup_size(64)
fn count_overlaps(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let place = (group.y * 65535u + group.x) * 64u + local;
    if (place < dispatch[3]) {
        atomicAdd(&overlaps[pairs[place].x], 1u);
        atomicAdd(&overlaps[pairs[place].y], 1u);
    }
}

// Object index and bits of `t`.
@group(0) @binding(4) var<storage, read> hits: array<vec2<u32>>;
// Offsets of the only ray: 0 and the number of hits.
@group(0) @binding(5) var<storage, read> offsets: array<u32>;
@group(0) @binding(6) var<storage, read_write> found: Found;
@group(0) @binding(7) var<storage, read_write> hit_args: array<u32, 4>;

var<workgroup> closest: array<vec2<u32>, 64>;

// Bits of positive floats sort like the values. Ties go to the smaller index.
fn is_closer(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// One workgroup finds the closest hit, because rays hit few objects.
@compute @workgroup_size(64)
fn gather_hits(@builtin(local_invocation_index) local: u32) {
    let count = min(offsets[1], params.hit_capacity);
    var best = vec2<u32>(NONE, bitcast<u32>(params.ray_length));
    for (var place = local; place < count; place += 64u) {
        let hit = hits[place];
        if (best.x == NONE || is_closer(hit, best)) {
            best = hit;
        }
    }
    closest[local] = best;
    for (var reach = 32u; reach > 0u; reach >>= 1u) {
        workgroupBarrier();
        if (local < reach && closest[local + reach].x != NONE
            && (closest[local].x == NONE || is_closer(closest[local + reach], closest[local]))) {
            closest[local] = closest[local + reach];
        }
    }
    if (local == 0u) {
        found = Found(offsets[1], closest[0].x, bitcast<f32>(closest[0].y), 0u);
        hit_args = array<u32, 4>(select(36u, 6u, params.dimensions == 2u), count, 0u, 0u);
    }
}
