// uses: common/grid, sort/sort, sort/sort_tiles

// Counts the keys of a tile by digit, and adds the counts to the sums of its group of tiles and of all tiles.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> digit_counts: array<u32>;
@group(0) @binding(4) var<storage, read_write> digit_sums: array<atomic<u32>>;

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
    if (tile < sort.tiles && local < digits()) {
        let count = atomicLoad(&local_counts[local]);
        digit_counts[count_word(tile, local)] = count;
        if (count > 0u) {
            atomicAdd(&digit_sums[group_word(tile / sort.group_tiles, local)], count);
            atomicAdd(&digit_sums[total_word(local)], count);
        }
    }
}
