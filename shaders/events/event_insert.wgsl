// uses: common/workgroup, events/event

// Enters the rows of the step into the hash table for the next step: index plus one, 0 for a free slot. The order of
// rows depends on the device's schedule; finding a row does not.

@group(0) @binding(5) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> counters: array<u32>;
@group(0) @binding(7) var<storage, read_write> table: array<atomic<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = flat_indirect(group) * WORKGROUP + local;
    if (row >= counters[EVENT_PERSISTING] + counters[EVENT_BEGUN]) {
        return;
    }
    var place = hash_of(rows[row]) & event.table_mask;
    var waits = true;
    // A weak exchange may fail spuriously; the slot is then tried again.
    for (var tries = 0u; waits && tries <= 2u * event.table_mask; tries += 1u) {
        let exchange = atomicCompareExchangeWeak(&table[place], 0u, row + 1u);
        waits = !exchange.exchanged;
        place = select(place, (place + 1u) & event.table_mask, exchange.old_value != 0u);
    }
}
