// uses: common/murmur

// Pair events: compares the pairs of a step with those of the step before.
//
// A row names a pair permanently, by index and generation of both objects. The rows of the step before are in a hash
// table with open addressing, at most half full.

struct EventParams {
    pair_capacity: u32,
    previous_capacity: u32,
    // Slots of the hash table of this step's rows less one, so a power of two less one.
    table_mask: u32,
    previous_mask: u32,
    // Static objects, which come first.
    static_count: u32,
    // Static objects with a generation; that of others is 0.
    static_generations: u32,
    // Moving objects with a generation; that of others is 0.
    generations: u32,
    // Rows of the separate copy of begun pairs.
    begun_capacity: u32,
}

@group(0) @binding(0) var<uniform> event: EventParams;

// Words of the event counters. The first two are 64-bit totals, low word first.
const EVENT_PERSISTING: u32 = 0u;
const EVENT_MATCHED: u32 = 2u;
const EVENT_BEGUN: u32 = 4u;
const EVENT_STATUS: u32 = 5u;
const EVENT_ENDED: u32 = 6u;

fn hash_of(row: vec4<u32>) -> u32 {
    return finished(mixed(mixed(mixed(mixed(0u, row.x), row.y), row.z), row.w));
}
