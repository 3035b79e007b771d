// uses: common/workgroup, sort/sort, sort/sort_serial

// Replaces the counts of a digit value by their exclusive prefix sums over the tiles, and writes the total after all
// counts. One invocation per digit value: a workgroup scan would move more words.

@group(0) @binding(1) var<storage, read_write> digit_counts: array<u32>;

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let digit = flat_workgroup(group, groups) * SERIAL_TILES + local;
    if (digit >= digits()) {
        return;
    }
    let end = (digit + 1u) * sort.tiles;
    var running = 0u;
    for (var slot = digit * sort.tiles; slot < end; slot += 1u) {
        let count = digit_counts[slot];
        digit_counts[slot] = running;
        running += count;
    }
    digit_counts[digits() * sort.tiles + digit] = running;
}
