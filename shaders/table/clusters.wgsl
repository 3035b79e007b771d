// uses: common/workgroup, pairs/pair_params, table/cell_order

// In crowded scenes, orders the entries and writes the boxes of clusters. In all scenes, writes the dispatches of both
// variants of the pair count, one of them empty.

@group(0) @binding(6) var<storage, read_write> sparse_groups: array<u32, 3>;
@group(0) @binding(7) var<storage, read_write> crowded_groups: array<u32, 3>;

fn write_groups() {
    let none = vec3<u32>(0u);
    // One invocation per row of pair counts, and one for the last word.
    let all = folded_groups(pair_params.entry_rows / WORKGROUP + 1u);
    let sparse = select(all, none, grid.is_crowded != 0u);
    let crowded = select(none, all, grid.is_crowded != 0u);
    sparse_groups = array<u32, 3>(sparse.x, sparse.y, sparse.z);
    crowded_groups = array<u32, 3>(crowded.x, crowded.y, crowded.z);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (flat_workgroup(group, groups) == 0u && local == 0u) {
        write_groups();
    }
    if (grid.is_crowded == 0u) {
        return;
    }
    let stride = groups.x * groups.y * WORKGROUP;
    for (var first = flat_workgroup(group, groups) * WORKGROUP; first < grid.entry_count; first += stride) {
        order_block(first, local);
    }
}
