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
