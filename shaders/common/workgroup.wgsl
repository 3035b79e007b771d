const WORKGROUP: u32 = 256u;

// Linear index of a workgroup in a dispatch of two dimensions.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Workgroup size of walks. They need many registers: a processor holds little more than one workgroup of 256. Smaller
// workgroups use the remaining registers too, and free theirs sooner.
const WALK_WORKGROUP: u32 = 64u;

fn walk_place(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return flat_workgroup(group, groups) * WALK_WORKGROUP + local;
}

// Number of consecutive values that one invocation sums. Sums by such runs need few barriers; a scan with doubling
// distances needs sixteen.

const RUN: u32 = 16u;

// Index of a value in workgroup memory, with one word of padding per run against bank conflicts.
fn padded(local: u32) -> u32 {
    return local + local / RUN;
}

// WebGPU's default limit of workgroups per dimension.
const MAX_GROUPS: u32 = 65535u;

// Arguments of an indirect dispatch of `groups >= 1` workgroups.
fn folded_groups(groups: u32) -> vec3<u32> {
    return vec3<u32>(min(groups, MAX_GROUPS), min((groups - 1u) / MAX_GROUPS + 1u, MAX_GROUPS), 1u);
}

// Linear index of a workgroup of `folded_groups`. MAX_GROUPS stands for the size of an unvalidated indirect dispatch,
// which Direct3D does not report.
fn flat_indirect(group: vec3<u32>) -> u32 {
    return group.y * MAX_GROUPS + group.x;
}
