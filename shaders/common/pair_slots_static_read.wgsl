// The static partners that counting kept.

// Of an entry, and of a moving object: twice as many, since it looks for all static partners where an entry looks for half
// of its own.
const KEPT: u32 = 8u;
const STATIC_KEPT: u32 = 16u;

@group(0) @binding(5) var<storage, read> slots: array<u32>;

fn kept_partner(index: u32, place: u32) -> u32 {
    return slots[KEPT * params.entry_capacity + place * static_rows() + index - params.entry_capacity];
}
