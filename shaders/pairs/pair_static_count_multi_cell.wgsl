// uses: pairs/pair_sums_multi_cell

// Counts of the uniform scheme: no partners are kept, as with the scheme's own pairs.

// The object of each entry, in the uniform scheme.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const STATIC_KEPT: u32 = 0u;

fn keep_partner(row: u32, place: u32, other: u32) {
}
