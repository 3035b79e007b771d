// uses: common/workgroup, order/order_{rows}

// The rows of an output in their order.

@group(0) @binding(4) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> ordered_rows: array<Row>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place < shown()) {
        ordered_rows[place] = rows[values[place]];
    }
}
