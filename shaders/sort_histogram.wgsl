// How many keys of a tile have each digit.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> digit_counts: array<u32>;

var<workgroup> local_counts: array<atomic<u32>, 256>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = flat_workgroup(group, groups);
    for (var digit = local; digit < DIGITS; digit += SORT_WORKGROUP) {
        atomicStore(&local_counts[digit], 0u);
    }
    workgroupBarrier();
    for (var k = 0u; k < KEYS_PER_THREAD; k += 1u) {
        let index = tile * SORT_TILE + k * SORT_WORKGROUP + local;
        if (index < grid.entry_count) {
            atomicAdd(&local_counts[digit_of(keys[index])], 1u);
        }
    }
    workgroupBarrier();
    if (tile < sort.tiles) {
        for (var digit = local; digit < DIGITS; digit += SORT_WORKGROUP) {
            digit_counts[digit * sort.tiles + tile] = atomicLoad(&local_counts[digit]);
        }
    }
}
