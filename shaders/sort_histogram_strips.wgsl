// How many keys of a strip have each digit. An invocation counts a long run of keys alone, in memory of its own: software
// adapters pay for every word and nothing for runs.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> digit_counts: array<u32>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let strip = flat_workgroup(group, groups) * STRIPS + local;
    if (strip >= sort.tiles) {
        return;
    }
    for (var digit = 0u; digit < digits(); digit += 1u) {
        digit_counts[digit * sort.tiles + strip] = 0u;
    }
    let first = strip * sort.tile;
    let end = min(first + sort.tile, grid.entry_count);
    for (var index = first; index < end; index += 1u) {
        digit_counts[digit_of(keys[index]) * sort.tiles + strip] += 1u;
    }
}
