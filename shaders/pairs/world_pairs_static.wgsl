// uses: common/prelude, common/workgroup, pairs/world_count

// How many pairs with static objects each world has, added to those that it has without.

@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> world_pairs: array<atomic<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row >= params.object_count) {
        return;
    }
    let count = count_of(params.entry_capacity + row);
    if (count == 0u) {
        return;
    }
    atomicAdd(&world_pairs[records[2u * row + 1u].w], count);
}
