// Places of invocations and workgroups, runs of values within one workgroup, and indirect dispatches.

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

// Values of a workgroup in runs, each of which one invocation adds up: few barriers, where a step for each power of two
// would take sixteen.

const RUN: u32 = 16u;

// A word of room lies behind each run, so that invocations of one step read different memory banks.
fn padded(local: u32) -> u32 {
    return local + local / RUN;
}

// Workgroups of indirect dispatches. More than one dimension may have fold into the second.

// Workgroups of one dimension, at most: WebGPU's default limit.
const MAX_GROUPS: u32 = 65535u;

// A dispatch of so many workgroups, at least one.
fn folded_groups(groups: u32) -> vec3<u32> {
    return vec3<u32>(min(groups, MAX_GROUPS), min((groups - 1u) / MAX_GROUPS + 1u, MAX_GROUPS), 1u);
}

// Which of them this is. Direct3D does not tell how many an indirect dispatch has, unless it was validated.
fn flat_indirect(group: vec3<u32>) -> u32 {
    return group.y * MAX_GROUPS + group.x;
}
