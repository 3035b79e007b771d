// Moves the keys and values of a strip to their places, one after the other.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> digit_counts: array<u32>;
@group(0) @binding(5) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> sorted_values: array<u32>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let strip = flat_workgroup(group, groups) * STRIPS + local;
    if (strip >= sort.tiles) {
        return;
    }
    // The words of a strip become the places of its next keys.
    let totals = digits() * sort.tiles;
    var below = 0u;
    for (var digit = 0u; digit < digits(); digit += 1u) {
        digit_counts[digit * sort.tiles + strip] += below;
        below += digit_counts[totals + digit];
    }
    let first = strip * sort.tile;
    let end = min(first + sort.tile, grid.entry_count);
    for (var index = first; index < end; index += 1u) {
        let key = keys[index];
        let slot = digit_of(key) * sort.tiles + strip;
        let place = digit_counts[slot];
        digit_counts[slot] = place + 1u;
        sorted_keys[place] = key;
        sorted_values[place] = values[index];
    }
}
