// uses: common/workgroup, order/shown

// Writes the world of each pair. `ALL_WORLDS` is the largest number, so a pair has the world of its other object.
// `values` holds the row indices, sorted by both objects.

@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read> worlds: array<u32>;
@group(0) @binding(7) var<storage, read> static_worlds: array<u32>;

fn world_of(object: u32) -> u32 {
    if (object < order.static_count) {
        return static_worlds[object];
    }
    return worlds[object - order.static_count];
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place < shown()) {
        let row = 2u * values[place];
        keys[place] = min(min(world_of(rows[row]), world_of(rows[row + 1u])), order.world_count);
    }
}
