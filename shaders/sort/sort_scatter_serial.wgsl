// uses: common/box, common/grid, common/workgroup, sort/sort, sort/sort_serial

// Moves the keys and values of a serial tile to their sorted places, one by one.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> digit_counts: array<u32>;
@group(0) @binding(5) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> sorted_values: array<u32>;

fn claim_place(slot: u32) -> u32 {
    let place = digit_counts[slot];
    digit_counts[slot] = place + 1u;
    return place;
}

fn put(place: u32, key: u32, value: u32) {
    sorted_keys[place] = key;
    sorted_values[place] = value;
}

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
    // By digit value, the tile's prefix sum becomes the sorted place of its next key.
    let totals = sort.tiles << sort.bits;
    var below = 0u;
    for (var digit = 0u; digit < digits(); digit += 1u) {
        digit_counts[digit * sort.tiles + tile] += below;
        below += digit_counts[totals + digit];
    }
    let serial_tile_length = serial_tile_keys(grid.entry_count);
    var index = tile * serial_tile_length;
    let end = min(index + serial_tile_length, grid.entry_count);
    for (; index + 3u < end; index += 4u) {
        let four = vec4<u32>(keys[index], keys[index + 1u], keys[index + 2u], keys[index + 3u]);
        let places = vec4<u32>(index) + vec4<u32>(0u, 1u, 2u, 3u);
        let read = vec4<u32>(values[index], values[index + 1u], values[index + 2u], values[index + 3u]);
        let theirs = select(read, places | vec4<u32>(PRIMARY_FLAGS), places < vec4<u32>(sort.unwritten));
        let slots = slots_of(four, tile);
        // One after the other, since slots may be equal.
        let x = claim_place(slots.x);
        let y = claim_place(slots.y);
        let z = claim_place(slots.z);
        let w = claim_place(slots.w);
        put(x, four.x, theirs.x);
        put(y, four.y, theirs.y);
        put(z, four.z, theirs.z);
        put(w, four.w, theirs.w);
    }
    for (; index < end; index += 1u) {
        let key = keys[index];
        let value = select(values[index], index | PRIMARY_FLAGS, index < sort.unwritten);
        put(claim_place(slots_of(vec4<u32>(key), tile).x), key, value);
    }
}
