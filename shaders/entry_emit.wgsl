// Uniform: writes an entry for every cell an object covers, x fastest, at the offsets that the scan gave. The first one
// is the object's home.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> grid: Grid;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read> counters: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> values: array<u32>;

fn write_entry(slot: u32, key: u32, value: u32) {
    if (slot < params.entry_capacity) {
        keys[slot] = key;
        values[slot] = value;
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let object = flat_workgroup(group, groups) * WORKGROUP + local;
    if (object == 0u) {
        let needed = vec2<u32>(counters[COUNTER_ENTRIES_NEEDED], counters[COUNTER_ENTRIES_NEEDED + 1u]);
        grid.entry_count = min(saturate64(needed), params.entry_capacity);
    }
    if (object >= params.object_count) {
        return;
    }
    let low = objects[2u * (params.first_object + object)];
    let high = objects[2u * (params.first_object + object) + 1u];
    let kind = classify(low, high);
    if (kind == CLASS_INVALID || kind == CLASS_EXCLUDED) {
        return;
    }
    let first = offsets[object];
    let world = world_of(object);
    if (kind == CLASS_FINITE) {
        let placement = place(low.xyz, high.xyz);
        if (placement.level != NO_LEVEL) {
            let level = grid.levels[0];
            let cover = vec3<u32>(placement.upper - placement.lower) + vec3<u32>(1u);
            let count = cover.x * cover.y * cover.z;
            for (var k = 0u; k < min(count, MAX_COVER); k += 1u) {
                let offset = vec3<i32>(vec3<u32>(k % cover.x, (k / cover.x) % cover.y, k / (cover.x * cover.y)));
                // A saturated offset lies past every capacity, so the sum may wrap only if it is checked first.
                if (first < params.entry_capacity) {
                    write_entry(first + k, key_of(level, placement.lower + offset, world), object | select(0u, HOME_FLAG, k == 0u));
                }
            }
            return;
        }
    }
    write_entry(first, large_key(grid.table_cells, world), object | HOME_FLAG);
}
