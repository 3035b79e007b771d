// The static partners that counting kept.

const KEPT: u32 = 8u;

@group(0) @binding(5) var<storage, read> slots: array<u32>;

fn kept_partner(row: u32, place: u32) -> u32 {
    return slots[KEPT * params.entry_capacity + place * static_rows() + row];
}
