const WORKGROUP: u32 = 256u;

// Workgroups past the limit of one dimension are in the second.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Walks need many registers, so little more than one workgroup of 256 fits at a time; smaller ones fill the rest and
// free it sooner.
const WALK_WORKGROUP: u32 = 64u;

fn walk_place(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return flat_workgroup(group, groups) * WALK_WORKGROUP + local;
}

// Runs of a workgroup's values, each summed by one invocation: few barriers, where a step per power of two takes
// sixteen.

const RUN: u32 = 16u;

// One word of padding per run avoids bank conflicts.
fn padded(local: u32) -> u32 {
    return local + local / RUN;
}

// WebGPU's default limit per dimension.
const MAX_GROUPS: u32 = 65535u;

// Indirect dispatch of `groups >= 1` workgroups.
fn folded_groups(groups: u32) -> vec3<u32> {
    return vec3<u32>(min(groups, MAX_GROUPS), min((groups - 1u) / MAX_GROUPS + 1u, MAX_GROUPS), 1u);
}

// Direct3D does not report the workgroups of an unvalidated indirect dispatch, hence the constant.
fn flat_indirect(group: vec3<u32>) -> u32 {
    return group.y * MAX_GROUPS + group.x;
}
