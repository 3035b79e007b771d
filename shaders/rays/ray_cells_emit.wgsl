// uses: common/page, common/round, common/round_counters, common/workgroup, rays/ray_cells, rays/ray_params
// uses: rays/ray_walk

// Writes the visited cells that are in the page, by a second walk: level by level, slab by slab along the ray, x
// fastest within a slab. The first place of each ray's cells in the static table follows the offsets.

@group(0) @binding(7) var<storage, read_write> ray_cell_offsets: array<u32>;
@group(0) @binding(9) var<storage, read_write> ray_cells: array<vec4<u32>>;

fn take_cells(level: u32, lower: vec3<i32>, sizes: vec3<u32>, count: u32) {
    let first = place_of_next;
    place_of_next = saturating_sum(first, count);
    let shown = max(first, ray_params.first_cell);
    let end = min(place_of_next, page_end(ray_params.first_cell, ray_params.cell_capacity));
    let share = tests_in_round(max(end, shown) - shown);
    for (var place = shown + share.x; place < shown + share.y; place += 1u) {
        let along_x = place - first;
        let along_y = along_x / sizes.x;
        let within = vec3<u32>(along_x % sizes.x, along_y % sizes.y, along_y / sizes.y);
        ray_cells[place - ray_params.first_cell] = vec4<u32>(level, bitcast<vec3<u32>>(lower + vec3<i32>(within)));
    }
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index >= ray_params.count) {
        return;
    }
    place_of_next = ray_cell_offsets[index];
    let end = ray_cell_offsets[index + 1u];
    if (!shows(ray_params.first_cell, ray_params.cell_capacity, place_of_next, end)) {
        return;
    }
    let progress = ray_params.count + 1u + index;
    if (round.continues != 0u) {
        place_of_next = ray_cell_offsets[progress];
    }
    begin_round();
    walk_ray(load_ray(index));
    record_rounds();
    if (round.is_continued != 0u) {
        ray_cell_offsets[progress] = place_of_next;
    }
}
