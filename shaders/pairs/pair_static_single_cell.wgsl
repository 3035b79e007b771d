// uses: common/round, pairs/pair_cache, pairs/pair_params, pairs/pair_static

// Caches the first static partners of moving objects, after the cached partners of entries.

// Exceeds MAX_CACHED, since a moving object finds all static partners, an entry only half of its partners.
const STATIC_CACHED: u32 = 16u;

@group(0) @binding(5) var<storage, read_write> pair_cache: array<u32>;

// Never read, since each object has one entry. Not a binding, which would exceed WebGPU's limit.
var<private> values: array<u32, 1>;

fn static_cache_slot(place: u32, row: u32) -> u32 {
    return cache_slot(0u, pair_params.cached) + place * round.walks + row;
}

fn cache_partner(row: u32, place: u32, other: u32) {
    pair_cache[static_cache_slot(place, row)] = other;
}

fn cached_partner(row: u32, place: u32) -> u32 {
    return pair_cache[static_cache_slot(place, row)];
}
