// uses: common/murmur

// Excluded pairs, besides the layer and group filters. They follow the boxes in the buffer `objects`, since pair passes
// already bind the maximum number of buffers:
//   hash table  pairs that the caller lists, two words per slot, open addressing, at most half full
//   data        words that the pair filter may read

// For fields, see src/layout/blocks.rs.
struct Exclusions {
    object_count: u32,
    list_count: u32,
    table_mask: u32,
    data_count: u32,
    data_begin: u32,
}

@group(0) @binding(12) var<uniform> exclusions: Exclusions;

// First slot to try for a pair with `x < y`.
fn first_slot_of(pair: vec2<u32>) -> u32 {
    return finished(mixed(mixed(0u, pair.x), pair.y)) & exclusions.table_mask;
}

fn next_slot(slot: u32) -> u32 {
    return (slot + 1u) & exclusions.table_mask;
}
