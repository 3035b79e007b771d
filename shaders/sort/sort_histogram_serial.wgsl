// uses: common/grid, common/workgroup, sort/sort, sort/sort_serial

// Counts the keys of a serial tile by digit.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> digit_counts: array<u32>;

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups) * SERIAL_TILES + local;
    if (tile >= sort.tiles) {
        return;
    }
    for (var slot = tile; slot < sort.tiles << sort.bits; slot += sort.tiles) {
        digit_counts[slot] = 0u;
    }
    let serial_tile_length = serial_tile_keys(grid.entry_count);
    var index = tile * serial_tile_length;
    let end = min(index + serial_tile_length, grid.entry_count);
    for (; index + 3u < end; index += 4u) {
        let slots = slots_of(vec4<u32>(keys[index], keys[index + 1u], keys[index + 2u], keys[index + 3u]), tile);
        digit_counts[slots.x] += 1u;
        digit_counts[slots.y] += 1u;
        digit_counts[slots.z] += 1u;
        digit_counts[slots.w] += 1u;
    }
    for (; index < end; index += 1u) {
        digit_counts[slots_of(vec4<u32>(keys[index]), tile).x] += 1u;
    }
}
