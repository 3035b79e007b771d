// uses: common/workgroup, order/shown

// Writes the first key of each row. `values` holds the row indices, sorted by second key.

@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read> values: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place < shown()) {
        keys[place] = first_key_of(values[place]);
    }
}
