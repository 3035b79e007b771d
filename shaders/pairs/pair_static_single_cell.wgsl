// uses: common/prelude, pairs/pair_static

// The first static partners of every moving object, which counting keeps behind those of the entries.

// More than of an entry, since a moving object looks for all static partners where an entry looks for half of its own.
const STATIC_CACHED: u32 = 16u;

@group(0) @binding(5) var<storage, read_write> pair_cache: array<u32>;

// Not read: objects have one entry each. A binding would be one more than WebGPU allows.
var<private> values: array<u32, 1>;

fn static_slot(place: u32, row: u32) -> u32 {
    return params.cached_partners * params.entry_capacity + place * static_rows() + row;
}

fn keep_partner(row: u32, place: u32, other: u32) {
    pair_cache[static_slot(place, row)] = other;
}

fn cached_partner(index: u32, place: u32) -> u32 {
    return pair_cache[static_slot(place, index - params.entry_capacity)];
}
