// uses: common/box, common/prelude, common/workgroup, pairs/world_count

// How many pairs each world has.

@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> world_pairs: array<atomic<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let entry = flat_workgroup(group, groups) * WORKGROUP + local;
    if (entry >= params.entry_capacity) {
        return;
    }
    let count = count_of(entry);
    if (count == 0u) {
        return;
    }
    // Records lie by entry where an object has one, else by object.
    var record = entry;
    if (params.scheme == SCHEME_UNIFORM) {
        record = values[entry] & ID_MASK;
    }
    atomicAdd(&world_pairs[records[2u * record + 1u].w], count);
}
