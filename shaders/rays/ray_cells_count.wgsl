// uses: common/candidates, common/round, common/round_counters, common/wide, common/workgroup, rays/ray_cells
// uses: rays/ray_params, rays/ray_walk

// Counts the cells that each ray visits. A last count of 0 follows: its exclusive prefix sum is the total.

@group(0) @binding(7) var<storage, read_write> ray_cell_offsets: array<u32>;

fn take_cells(level: u32, lower: vec3<i32>, sizes: vec3<u32>, count: u32) {
    found = saturating_sum(found, count);
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index > ray_params.count) {
        return;
    }
    if (index < ray_params.count) {
        if (!is_first_of_all()) {
            found = ray_cell_offsets[index];
        }
        begin_round();
        walk_ray(load_ray(index));
        record_rounds();
    }
    ray_cell_offsets[index] = found;
}
