// uses: common/counters, common/wide, common/workgroup, scan/scan

// Second of three scan passes: one workgroup replaces the tiles' sums by offsets and writes the total to the counters.

@group(0) @binding(1) var<storage, read_write> tile_sums: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let tiles = (scan.count + TILE - 1u) / TILE;
    var carry = vec2<u32>(0u);
    for (var first = 0u; first < tiles; first += WORKGROUP) {
        let tile = first + local;
        var value = vec2<u32>(0u);
        if (tile < tiles) {
            value = tile_sums[tile];
        }
        let scanned = workgroup_scan(local, value);
        if (tile < tiles) {
            tile_sums[tile] = add64(carry, scanned[0]);
        }
        carry = add64(carry, scanned[1]);
    }
    if (local == 0u) {
        counters[scan.total_word] = carry.x;
        counters[scan.total_word + 1u] = carry.y;
        if (saturate64(carry) > scan.capacity) {
            counters[COUNTER_STATUS] |= scan.status_bit;
        }
    }
}
