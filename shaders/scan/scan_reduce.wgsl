// uses: common/wide, common/workgroup, scan/scan

// First of three scan passes: writes the 64-bit sum of each tile.

@group(0) @binding(1) var<storage, read> data: array<u32>;
@group(0) @binding(2) var<storage, read_write> tile_sums: array<vec2<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    var sum = vec2<u32>(0u);
    for (var k = 0u; k < WORDS_PER_THREAD; k += 1u) {
        let index = tile * TILE + k * WORKGROUP + local;
        if (index < scan.count) {
            sum = add64(sum, vec2<u32>(data[index], 0u));
        }
    }
    let scanned = workgroup_scan(local, sum);
    if (local == 0u && tile * TILE < scan.count) {
        tile_sums[tile] = scanned[1];
    }
}
