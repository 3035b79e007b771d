// Pairs of the uniform scheme, of which counting keeps none.

// The object of each entry, in the uniform scheme.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const STATIC_KEPT: u32 = 0u;

fn kept_partner(index: u32, place: u32) -> u32 {
    return 0u;
}
