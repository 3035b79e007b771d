// uses: common/murmur

// Pair events: compares the pairs of a step with those of the previous step.
//
// A row names a pair permanently, by index and generation of both objects. The rows of the previous step are in a hash
// table with open addressing, at most half full.

struct EventParams {
    pair_capacity: u32,
    previous_capacity: u32,
    // Slot count of this step's hash table minus one; the count is a power of two.
    table_mask: u32,
    previous_mask: u32,
    // Number of static objects, which come first.
    static_count: u32,
    // Number of static objects with a generation; others have generation 0.
    static_generations: u32,
    // Number of moving objects with a generation; others have generation 0.
    generations: u32,
    // Capacity in rows of the separate copy of begun pairs.
    begun_capacity: u32,
}

@group(0) @binding(0) var<uniform> event: EventParams;

// Word indices of the event counters. The first two are 64-bit, low word first.
const EVENT_PERSISTING: u32 = 0u;
const EVENT_MATCHED: u32 = 2u;
const EVENT_BEGUN: u32 = 4u;
const EVENT_STATUS: u32 = 5u;
const EVENT_ENDED: u32 = 6u;

fn hash_of(row: vec4<u32>) -> u32 {
    return finished(mixed(mixed(mixed(mixed(0u, row.x), row.y), row.z), row.w));
}
