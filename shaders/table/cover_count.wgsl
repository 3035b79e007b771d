// uses: common/cover, common/grid, common/prelude, common/workgroup

// Counts the entries that the objects of each tile would have in the cover table, for each choice of its cells.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> grid: Grid;
@group(0) @binding(3) var<storage, read> keys: array<u32>;
// `[shift - 1][tile]`.
@group(0) @binding(4) var<storage, read_write> cover_sums: array<u32>;

var<workgroup> sums: array<atomic<u32>, 3>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local < COVER_SHIFTS) {
        atomicStore(&sums[local], 0u);
    }
    workgroupBarrier();
    let tile = flat_workgroup(group, groups);
    let tiles = cover_tiles();
    var own = vec3<u32>(0u);
    if (grid.cover_below > 0u) {
        // The coarser the cells, the more levels are covered: the last choice has them all.
        let larger = larger_keys(COVER_SHIFTS);
        let begins = vec3<u32>(larger_keys(1u).x, larger_keys(2u).x, larger.x);
        let by_2 = covering_of(1u);
        let by_4 = covering_of(2u);
        let by_8 = covering_of(3u);
        let end = min((tile + 1u) * COVER_TILE, params.object_count);
        for (var object = tile * COVER_TILE + local; object < end; object += COVER_LANES) {
            let key = keys[object];
            for (var counts = key >= larger.x && key < larger.y; counts; counts = false) {
                let name = params.first_object + object;
                let low = objects[2u * name].xyz;
                let high = objects[2u * name + 1u].xyz;
                let count = vec3<u32>(
                    cover_cells(cover_of(low, high, by_2)),
                    cover_cells(cover_of(low, high, by_4)),
                    cover_cells(cover_of(low, high, by_8)),
                );
                own += select(vec3<u32>(0u), count, vec3<u32>(key) >= begins);
            }
        }
    }
    for (var adds = any(own > vec3<u32>(0u)); adds; adds = false) {
        atomicAdd(&sums[0], own.x);
        atomicAdd(&sums[1], own.y);
        atomicAdd(&sums[2], own.z);
    }
    workgroupBarrier();
    if (local < COVER_SHIFTS && tile < tiles) {
        cover_sums[local * tiles + tile] = atomicLoad(&sums[local]);
    }
}
