// uses: common/prelude, common/workgroup

// Every entry walks.

fn walk_count() -> u32 {
    return params.entry_capacity;
}

fn walking_entry(place: u32) -> u32 {
    return place;
}

fn walking_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_workgroup(group, groups);
}
