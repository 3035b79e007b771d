// uses: common/prelude, pairs/pair_static

// The static partners that counting kept.

// More than of an entry, since a moving object looks for all static partners where an entry looks for half of its own.
const STATIC_KEPT: u32 = 16u;

@group(0) @binding(5) var<storage, read> pair_slots: array<u32>;

// Not read: objects have one entry each. A binding would be one more than WebGPU allows.
var<private> values: array<u32, 1>;

fn kept_partner(index: u32, place: u32) -> u32 {
    let first = params.partners_kept * params.entry_capacity;
    return pair_slots[first + place * static_rows() + index - params.entry_capacity];
}
