// uses: common/workgroup, pairs/exclusions

// Copies the words that the caller's function reads to where it finds them, so that passes which write pairs later see
// the same ones.

@group(0) @binding(1) var<storage, read> pair_filter_data: array<u32>;
@group(0) @binding(2) var<storage, read_write> objects: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let word = flat_workgroup(group, groups) * WORKGROUP + local;
    if (word < exclusions.data_count) {
        objects[4u * exclusions.data_begin + word] = pair_filter_data[word];
    }
}
