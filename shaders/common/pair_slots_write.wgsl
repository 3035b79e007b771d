// The first partners of every entry are kept, so that writing its pairs seldom needs a second walk.

const KEPT: u32 = 8u;

@group(0) @binding(5) var<storage, read_write> slots: array<u32>;

fn keep_partner(index: u32, place: u32, other: u32) {
    slots[place * params.entry_capacity + index] = other;
}
