// uses: common/murmur

// What parts pairs beside filters. It lies behind the objects, since passes of pairs bind as many buffers as they may:
// first the pairs of the caller's list as a hash table, with open addressing and at most half of its slots in use, two
// words each; then words of the caller's own.

struct Exclusions {
    // Objects that results name.
    object_count: u32,
    // Rows of the list.
    list_count: u32,
    // Slots of the table, less one; a power of two less one. 0 where there is no list.
    table_mask: u32,
    // The caller's words.
    data_count: u32,
    // Where these begin, in vectors of four words.
    data_begin: u32,
}

@group(0) @binding(11) var<uniform> exclusions: Exclusions;

// The slot where the search for a pair begins. Its objects are in order.
fn first_slot_of(pair: vec2<u32>) -> u32 {
    return finished(mixed(mixed(0u, pair.x), pair.y)) & exclusions.table_mask;
}

fn next_slot(slot: u32) -> u32 {
    return (slot + 1u) & exclusions.table_mask;
}
