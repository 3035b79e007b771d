// The first static partners of every moving object are kept, behind those of the entries.

// Of an entry, and of a moving object: twice as many, since it looks for all static partners where an entry looks for half
// of its own.
const KEPT: u32 = 8u;
const STATIC_KEPT: u32 = 16u;

@group(0) @binding(5) var<storage, read_write> slots: array<u32>;

fn keep_partner(row: u32, place: u32, other: u32) {
    slots[KEPT * params.entry_capacity + place * static_rows() + row] = other;
}
