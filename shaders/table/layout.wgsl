// uses: common/workgroup, table/levels

// Uniform scheme: writes the grid's one level.

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    lay_out(local, flat_workgroup(group, groups) == 0u);
}
