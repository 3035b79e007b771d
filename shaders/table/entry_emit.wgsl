// uses: common/box, common/cells, common/counters, common/grid, common/prelude, common/wide, common/workgroup
// uses: table/worlds

// Uniform scheme: writes an entry for every cell that an object covers, at the scanned offsets: the primary entries of
// all objects, then the other groups, x fastest. The stable sort keeps this order within cells.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> grid: Grid;
@group(0) @binding(3) var<storage, read> entry_offsets: array<u32>;
@group(0) @binding(4) var<storage, read> counters: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> values: array<u32>;

// Drops entries past the capacity. `first` may be saturated, so it is checked before the sum, which may wrap.
fn write_entry(first: u32, place: u32, key: u32, value: u32) {
    if (first < params.entry_capacity && first + place < params.entry_capacity) {
        keys[first + place] = key;
        values[first + place] = value;
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
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
    let world = world_of(object);
    if (enters_cells(kind, world)) {
        let placement = place_uniform(low.xyz, high.xyz, params.cell_inverse);
        if (placement.level != NO_LEVEL) {
            let level = grid.levels[0];
            let cover = vec3<u32>(placement.upper - placement.lower) + vec3<u32>(1u);
            let count = cover.x * cover.y * cover.z;
            var rest = 0u;
            for (var k = 0u; k < min(count, MAX_COVER); k += 1u) {
                let offset = vec3<u32>(k % cover.x, (k / cover.x) % cover.y, k / (cover.x * cover.y));
                let flags = select(vec3<u32>(0u), vec3<u32>(1u, 2u, 4u), offset == vec3<u32>(0u));
                let value = object | ((flags.x | flags.y | flags.z) << 29u);
                let group = entry_group(value);
                // In the groups next to the primary cell, only one component of `offset` is not 0.
                let place = select(max(offset.x + offset.y + offset.z, 1u) - 1u, rest, group == ENTRY_GROUPS - 1u);
                rest += select(0u, 1u, group == ENTRY_GROUPS - 1u);
                let key = key_of(level, placement.lower + vec3<i32>(offset), world);
                write_entry(entry_offsets[group * params.object_count + object], place, key, value);
            }
            return;
        }
    }
    write_entry(entry_offsets[object], 0u, large_key(grid.table_cells, world), object | PRIMARY_FLAGS);
}
