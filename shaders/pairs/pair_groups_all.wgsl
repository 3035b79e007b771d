// uses: common/workgroup

// As many workgroups as entries need.

fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_workgroup(group, groups);
}
