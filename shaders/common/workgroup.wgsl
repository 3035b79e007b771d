// Which workgroup an invocation is of, where each has an element.

const WORKGROUP: u32 = 256u;

// More workgroups than one dimension may have fold into the second.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Invocations of a workgroup of rays or queries. Their walks take so many registers that a GPU has room for little more
// than one workgroup of 256 at a time: smaller ones fill what is left, and one that is done makes room sooner.
const WALK_WORKGROUP: u32 = 64u;

// Which ray or query an invocation walks for.
fn walk_place(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return flat_workgroup(group, groups) * WALK_WORKGROUP + local;
}
