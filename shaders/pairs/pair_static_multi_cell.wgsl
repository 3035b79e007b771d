// Pairs of the uniform scheme with static objects. No partners are kept, as with the scheme's own pairs.

// The object of each entry.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const STATIC_KEPT: u32 = 0u;

fn keep_partner(row: u32, place: u32, other: u32) {
}

fn kept_partner(index: u32, place: u32) -> u32 {
    return 0u;
}
