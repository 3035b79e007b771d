// uses: common/indirect

// As many workgroups as entries need, or none: the device says whether this form of the pass is the one that counts.

fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}
