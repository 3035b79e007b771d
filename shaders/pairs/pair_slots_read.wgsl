// uses: common/prelude

// The partners that counting kept.

@group(0) @binding(5) var<storage, read> pair_slots: array<u32>;

fn kept_partner(index: u32, place: u32) -> u32 {
    return pair_slots[place * params.entry_capacity + index];
}
