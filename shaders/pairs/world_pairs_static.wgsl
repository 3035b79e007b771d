// uses: common/prelude, common/round, common/workgroup, pairs/pair_static, queries/query_image_own

// Counts the static partners of moving objects of all worlds, by the partner's world.

// Object and primary flags of each entry. Read in the uniform scheme only.
@group(0) @binding(6) var<storage, read> values: array<u32>;
@group(0) @binding(7) var<storage, read_write> world_pairs: array<atomic<u32>>;

fn accept_result(query: Query, other: u32, distance: u32) {
    atomicAdd(&world_pairs[min(tested_world, params.world_count)], 1u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let record = flat_workgroup(group, groups) * WORKGROUP + local;
    if (record < round.walks && own_records[2u * record + 1u].w == ALL_WORLDS) {
        begin_round();
        walk_static(record);
    }
}
