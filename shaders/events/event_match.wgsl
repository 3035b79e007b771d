// uses: common/workgroup, events/event, events/event_rows

// Looks up the step's pairs among those of the previous step. Marks both pairs of a match with 1; marks start at 0.

@group(0) @binding(5) var<storage, read> previous_rows: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> previous_table: array<u32>;
@group(0) @binding(7) var<storage, read_write> marks: array<u32>;
@group(0) @binding(8) var<storage, read_write> matched: array<u32>;

// Index plus one of the equal row of the previous step, or 0.
fn find(row: vec4<u32>) -> u32 {
    let hash = hash_of(row);
    var found = 0u;
    var continues = true;
    for (var probe = 0u; continues && probe <= event.previous_mask; probe += 1u) {
        let entry = previous_table[(hash + probe) & event.previous_mask];
        continues = entry != 0u;
        if (continues && all(previous_rows[entry - 1u] == row)) {
            found = entry;
            continues = false;
        }
    }
    return found;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let pair = flat_indirect(group) * WORKGROUP + local;
    if (pair >= shown()) {
        return;
    }
    let found = find(row_of(pair));
    if (found > 0u) {
        marks[pair] = 1u;
        matched[found - 1u] = 1u;
    }
}
