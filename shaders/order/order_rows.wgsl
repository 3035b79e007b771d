// uses: common/workgroup, order/shown

// Writes the rows in ascending order.

@group(0) @binding(4) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> ordered_rows: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place >= shown()) {
        return;
    }
    for (var word = 0u; word < order.row_words; word += 1u) {
        ordered_rows[order.row_words * place + word] = rows[order.row_words * values[place] + word];
    }
}
