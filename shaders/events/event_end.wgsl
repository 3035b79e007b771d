// uses: common/workgroup, events/event

// Writes the rows of ended pairs: rows of the previous step whose pairs are missing in this step.

@group(0) @binding(5) var<storage, read> previous_rows: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> previous_counters: array<u32>;
@group(0) @binding(7) var<storage, read> matched: array<u32>;
@group(0) @binding(8) var<storage, read_write> ended: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = flat_indirect(group) * WORKGROUP + local;
    let count = min(previous_counters[EVENT_PERSISTING] + previous_counters[EVENT_BEGUN], event.previous_capacity);
    if (row == 0u) {
        counters[EVENT_ENDED] = count - counters[EVENT_MATCHED];
    }
    // `matched` holds prefix sums: `matched[row]` is the number of earlier rows found again.
    if (row < count && matched[row + 1u] == matched[row]) {
        ended[row - matched[row]] = previous_rows[row];
    }
}
