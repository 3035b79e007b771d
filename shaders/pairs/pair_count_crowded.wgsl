// uses: common/prelude, common/workgroup, pairs/pair_sums_single_cell, pairs/pair_test_clusters
// uses: pairs/pair_walk_single_cell

// Counts the pairs of crowded scenes, with one entry an object: by clusters. A bit for each box of the rows is kept,
// whether or not it was tested: set where it makes a pair.

@group(0) @binding(6) var<storage, read_write> pair_bits: array<u32>;

// Of the boxes before that fill no word yet.
var<private> word_bits: u32;
var<private> cached_bits: u32;

fn store_bits(entry: u32) {
    let word = cached_bits >> 5u;
    if (word < params.pair_bit_words) {
        pair_bits[word * params.entry_capacity + entry] = word_bits;
    }
}

// As many bits as a word has, at most.
fn keep_bits(entry: u32, bits: u32, count: u32) {
    let used = cached_bits & 31u;
    word_bits |= bits << used;
    if (used + count >= 32u) {
        store_bits(entry);
        word_bits = select(0u, bits >> (32u - max(used, 1u)), used > 0u);
    }
    cached_bits += count;
}

fn end_rows(entry: u32) {
    if ((cached_bits & 31u) > 0u) {
        store_bits(entry);
    }
}

// As many workgroups as entries need, or none: the device decides which variant of the pass counts.
fn counting_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return flat_indirect(group);
}

// Entries have more partners than there is room for.

fn keep_partner(entry: u32, place: u32, other: u32, is_pair: bool) {
}

fn store_partners(index: u32, before: u32, count: u32) {
}
