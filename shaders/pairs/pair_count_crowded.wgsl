// uses: common/workgroup, pairs/pair_params, pairs/pair_sums_single_cell, pairs/pair_test_clusters
// uses: pairs/pair_walk_single_cell

// Counts the pairs of crowded scenes in schemes with one entry per object. Tests the box of a cluster before its
// members. Each candidate of a row appends one bit, also a skipped one: 1 if it makes a pair.

@group(0) @binding(6) var<storage, read_write> pair_bits: array<u32>;

// Bits of the word that is not yet full.
var<private> word_bits: u32;
var<private> cached_bits: u32;

fn store_bits(row: u32) {
    let word = cached_bits >> 5u;
    if (word < pair_params.bit_words) {
        pair_bits[word * pair_params.entry_rows + row] = word_bits;
    }
}

// Appends `count` bits, at most 32.
fn append_bits(row: u32, bits: u32, count: u32) {
    let used = cached_bits & 31u;
    word_bits |= bits << used;
    if (used + count >= 32u) {
        store_bits(row);
        word_bits = select(0u, bits >> (32u - max(used, 1u)), used > 0u);
    }
    cached_bits += count;
}

fn end_rows(row: u32) {
    if ((cached_bits & 31u) > 0u) {
        store_bits(row);
    }
}

// The dispatch is indirect: the device leaves the other counting variant without workgroups.
fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}

// Caches no partners, since entries of crowded scenes have too many.

fn cache_partner(entry: u32, place: u32, other: u32, is_pair: bool) {
}

fn store_partners(index: u32, before: u32, count: u32) {
}
