// uses: common/murmur

// Compares the pairs of a step with those of the previous step.
//
// A row names its pair by index and generation of both objects. The rows of the previous step are in a hash table with
// open addressing, at most half full.

// For fields, see src/layout/blocks.rs.
struct EventParams {
    pair_capacity: u32,
    previous_capacity: u32,
    table_mask: u32,
    previous_mask: u32,
    static_count: u32,
    static_generations: u32,
    generations: u32,
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
