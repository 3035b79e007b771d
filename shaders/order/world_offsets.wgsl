// uses: common/workgroup, order/shown

// Writes the first row of each world, of two objects of all worlds, and the number of rows, from the sorted `keys`.

@group(0) @binding(3) var<storage, read> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> world_offsets: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let world = flat_workgroup(group, groups) * WORKGROUP + local;
    if (world >= order.world_count + 2u) {
        return;
    }
    var low = 0u;
    var high = shown();
    for (; low < high; ) {
        let middle = low + (high - low) / 2u;
        if (keys[middle] < world) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    world_offsets[world] = low;
}
