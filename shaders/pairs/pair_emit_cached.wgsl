// uses: common/box, common/clusters, common/grid, common/prelude, common/workgroup, pairs/pair_write_cached

// Writes the pairs of entries whose partners are all cached. Lists the other entries for a second walk in a later
// dispatch. In this pass, CPU drivers would execute the walk even if no lane needs it.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read> pair_cache: array<u32>;
@group(0) @binding(9) var<storage, read_write> pair_walks: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> pair_walk_groups: array<atomic<u32>>;

fn entry_object(index: u32) -> u32 {
    return params.first_object + (values[index] & ID_MASK);
}

fn cached_partner(index: u32, place: u32) -> u32 {
    return pair_cache[place * params.entry_capacity + index];
}

fn list_walk(entry: u32) {
    let place = atomicAdd(&pair_walks[0], 1u);
    atomicStore(&pair_walks[1u + place], entry);
    if (place % WORKGROUP == 0u) {
        let groups = folded_groups(place / WORKGROUP + 1u);
        atomicMax(&pair_walk_groups[0], groups.x);
        atomicMax(&pair_walk_groups[1], groups.y);
        atomicMax(&pair_walk_groups[2], groups.z);
    }
}

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
    // `pair_count_crowded` stores bits instead of partners.
    if (write_cached(entry, select(params.cached_partners, 0u, keeps_bits(grid.is_crowded)))) {
        list_walk(entry);
    }
}
