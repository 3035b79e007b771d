// Static pairs of the uniform scheme, which caches no partners.

// Object and primary flags of each entry.
@group(0) @binding(6) var<storage, read> values: array<u32>;

const STATIC_CACHED: u32 = 0u;

fn cache_partner(row: u32, place: u32, other: u32) {
}

fn cached_partner(row: u32, place: u32) -> u32 {
    return 0u;
}
