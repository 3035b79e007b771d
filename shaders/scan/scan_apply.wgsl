// uses: common/wide, common/workgroup, scan/scan

// Third of three scan passes: replaces each word by the sum of all earlier words, at most the largest u32.

@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@group(0) @binding(2) var<storage, read> tile_sums: array<vec2<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    let first = tile * TILE + local * WORDS_PER_THREAD;
    var sum = vec2<u32>(0u);
    for (var index = first; index < min(first + WORDS_PER_THREAD, scan.count); index += 1u) {
        sum = add64(sum, vec2<u32>(data[index], 0u));
    }
    let scanned = workgroup_scan(local, sum);
    if (tile * TILE >= scan.count) {
        return;
    }
    var running = add64(tile_sums[tile], scanned[0]);
    for (var index = first; index < min(first + WORDS_PER_THREAD, scan.count); index += 1u) {
        let value = data[index];
        data[index] = saturate64(running);
        running = add64(running, vec2<u32>(value, 0u));
    }
}
