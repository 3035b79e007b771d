// uses: common/counters, common/workgroup, events/event, events/event_rows

// Writes the rows of the step: persisting pairs, then begun ones, both in the order of the pairs.

// Status bits of a step with missing pairs.
const STATUS_LACKS_PAIRS: u32 = 75u;

@group(0) @binding(7) var<storage, read> marks: array<u32>;
@group(0) @binding(8) var<storage, read_write> rows: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let pair = flat_indirect(group) * WORKGROUP + local;
    let count = shown();
    let persisting = counters[EVENT_PERSISTING];
    if (pair == 0u) {
        counters[EVENT_BEGUN] = count - persisting;
        counters[EVENT_STATUS] =
            (step_counters[COUNTER_STATUS] | step_counters[COUNTER_UNFINISHED]) & STATUS_LACKS_PAIRS;
    }
    if (pair < count) {
        // `marks` holds prefix sums: `marks[pair]` is the number of earlier pairs that persist.
        let before = marks[pair];
        let place = select(persisting + pair - before, before, marks[pair + 1u] != before);
        rows[place] = row_of(pair);
    }
}
