// Pair events: what the pairs of one step have in common with those of the step before.
//
// A row names a pair for good, by an index and a generation of either object. Rows of a step are looked up in a hash
// table of those of the step before, with open addressing and at most half of its slots in use.

struct EventParams {
    // Pairs that the step's buffer has room for.
    pair_capacity: u32,
    // Rows that the step before has room for.
    previous_capacity: u32,
    // Slots of the hash table of this step's rows, less one; a power of two less one.
    table_mask: u32,
    // The same of the step before.
    previous_mask: u32,
    // Objects that results name first, the static ones.
    static_count: u32,
    // Static objects that have a generation; that of others is 0.
    static_generations: u32,
    // Moving objects that have a generation; that of others is 0.
    generations: u32,
    // Rows of pairs that begin which are copied on their own.
    begun_capacity: u32,
}

@group(0) @binding(0) var<uniform> event: EventParams;

// Words of the counters of events. The first two are 64-bit totals, low first.
const EVENT_PERSISTING: u32 = 0u;
const EVENT_MATCHED: u32 = 2u;
const EVENT_BEGUN: u32 = 4u;
const EVENT_STATUS: u32 = 5u;
const EVENT_ENDED: u32 = 6u;

// A round of MurmurHash3 (Appleby, public domain).
fn mixed(hash: u32, word: u32) -> u32 {
    let scattered = word * 0xcc9e2d51u;
    let turned = hash ^ (((scattered << 15u) | (scattered >> 17u)) * 0x1b873593u);
    return ((turned << 13u) | (turned >> 19u)) * 5u + 0xe6546b64u;
}

// Where the search for a row begins, before the mask.
fn hash_of(row: vec4<u32>) -> u32 {
    var hash = mixed(mixed(mixed(mixed(0u, row.x), row.y), row.z), row.w);
    hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
    return hash ^ (hash >> 16u);
}
