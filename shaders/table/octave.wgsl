// The octaves of cell sizes that are looked at: from the extent of the scene downward.

const OCTAVES: u32 = 24u;
// Slots of the hash table of each octave.
const SLOTS: u32 = 32768u;
// Cells are never smaller or larger than these powers of two, so that every level's inverse is a normal float.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

fn top_exponent(extent_bits: u32) -> i32 {
    return i32(extent_bits >> 23u) - 126;
}

fn octave_exponent(top: i32, octave: u32) -> i32 {
    return clamp(top - i32(octave), MIN_EXPONENT, MAX_EXPONENT);
}
