// uses: common/grid, common/workgroup, order/shown

// Writes the second key and index of each row, and the number of rows for the sort.

@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read_write> grid: Grid;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row == 0u) {
        grid.entry_count = shown();
    }
    if (row < shown()) {
        keys[row] = second_key_of(row);
        values[row] = row;
    }
}
