// uses: common/box, common/prelude, common/workgroup, pairs/pair_params

// Adds up the counts of `pair_count` and `pair_static_count` per world, then those of two objects of all worlds. Static
// partners of moving objects of all worlds are counted by `world_pairs_static`.

@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read> pair_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> world_pairs: array<atomic<u32>>;

// `pair_offsets` still holds counts in the uniform scheme, and places within tiles in the others.
fn count_of(row: u32) -> u32 {
    if (params.scheme == SCHEME_UNIFORM) {
        return pair_offsets[row];
    }
    // A tile has a word per row and one more.
    let word = row + row / WORKGROUP;
    return pair_offsets[word + 1u] - pair_offsets[word];
}

// Record of the object whose pairs a row counts. Rows of moving objects follow those of entries. The uniform scheme has
// a record per object, others per entry.
fn record_of(row: u32) -> u32 {
    if (row >= pair_params.entry_rows) {
        return row - pair_params.entry_rows;
    }
    if (params.scheme == SCHEME_UNIFORM) {
        return values[row] & ID_MASK;
    }
    return row >> pair_params.split_bits;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row >= pair_params.rows) {
        return;
    }
    let count = count_of(row);
    if (count > 0u) {
        let world = records[2u * record_of(row) + 1u].w;
        if (world != ALL_WORLDS || row < pair_params.entry_rows) {
            atomicAdd(&world_pairs[min(world, params.world_count)], count);
        }
    }
}
