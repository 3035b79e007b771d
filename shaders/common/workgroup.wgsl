const WORKGROUP: u32 = 256u;

// Index of a workgroup. Workgroups past the limit of the first dimension are in the second one.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

// Walks need many registers, so a processor can hold little more than one workgroup of 256. Smaller workgroups use the
// remaining registers too, and free theirs sooner.
const WALK_WORKGROUP: u32 = 64u;

fn walk_place(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return flat_workgroup(group, groups) * WALK_WORKGROUP + local;
}

// Length of a run, which one invocation sums. Sums by runs need few barriers; a scan by powers of two needs sixteen.

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

// Index of a workgroup of `folded_groups`. Direct3D does not report the size of an unvalidated indirect dispatch, hence
// the constant.
fn flat_indirect(group: vec3<u32>) -> u32 {
    return group.y * MAX_GROUPS + group.x;
}
