// Which workgroup an invocation is of, where each has an element.

const WORKGROUP: u32 = 256u;

// More workgroups than one dimension may have fold into the second.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
