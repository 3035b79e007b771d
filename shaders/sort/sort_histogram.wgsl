// uses: common/grid, common/workgroup, sort/sort, sort/sort_tiles

// Counts the keys of a tile and of its groups by digit.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> digit_counts: array<atomic<u32>>;

const HISTOGRAM_WORKGROUP: u32 = 256u;

var<workgroup> local_counts: array<atomic<u32>, MAX_DIGITS>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    atomicStore(&local_counts[local], 0u);
    workgroupBarrier();
    var end = 0u;
    if (tile < sort.tiles) {
        end = min((tile + 1u) * sort.tile, grid.entry_count);
    }
    for (var index = tile * sort.tile + local; index < end; index += HISTOGRAM_WORKGROUP) {
        atomicAdd(&local_counts[digit_of(keys[index])], 1u);
    }
    workgroupBarrier();
    let count = atomicLoad(&local_counts[local]);
    if (tile < sort.tiles && count > 0u) {
        for (var level = 0u; level <= sort.levels; level += 1u) {
            let row = first_row(level) + group_of(tile, level);
            atomicAdd(&digit_counts[sort.counts + (row << sort.bits) + local], count);
        }
    }
}
