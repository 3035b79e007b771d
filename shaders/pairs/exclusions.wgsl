// uses: common/murmur

// Exclusions other than filters, stored after the objects, since pair passes already bind the most buffers allowed:
//   hash table   the caller's list, two words per slot, open addressing, at most half full
//   data         words for the caller's function

struct Exclusions {
    // Objects that results can name.
    object_count: u32,
    list_count: u32,
    // Slots of the table less one, so a power of two less one; 0 without a list.
    table_mask: u32,
    data_count: u32,
    // Start of the data, in vectors of four words.
    data_begin: u32,
}

@group(0) @binding(11) var<uniform> exclusions: Exclusions;

// First slot of a pair, whose objects are in order.
fn first_slot_of(pair: vec2<u32>) -> u32 {
    return finished(mixed(mixed(0u, pair.x), pair.y)) & exclusions.table_mask;
}

fn next_slot(slot: u32) -> u32 {
    return (slot + 1u) & exclusions.table_mask;
}
