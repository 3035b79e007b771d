// uses: common/workgroup, events/event

// Inserts the rows of the step into a hash table for the next step. A slot holds a row's index plus one, or 0 if free.
// A row's slot depends on the order of invocations, but lookups always find it.

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
