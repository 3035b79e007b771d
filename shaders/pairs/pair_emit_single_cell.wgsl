// uses: pairs/pair_test_clusters, pairs/pair_walk_single_cell, pairs/pair_walks_listed

// Writes the pairs of the entries that `pair_emit_kept` left to walk, with one entry an object.

// What is found is written at once.
fn keep_bits(entry: u32, bits: u32, count: u32) {
}
