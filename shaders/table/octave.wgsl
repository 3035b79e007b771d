// uses: common/prelude

// What the sample of objects tells, and the octaves of cell sizes that are looked at: from the extent of the scene
// downward.

// Words of the statistics: classes of sizes, the bits of the largest |coordinate|, and of each octave the samples
// entered, the pairs of them in one slot, and those pairs again with a bounded number per sample.
const SIZE_CLASSES: u32 = 1024u;
const EXTENT: u32 = 1024u;
const DENSITY: u32 = 1025u;
const OCTAVE_WORDS: u32 = 3u;

const OCTAVES: u32 = 24u;
// Cells are never smaller or larger than these powers of two, so that every level's inverse is a normal float.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Slots of the hash table of each octave: a power of two, at least twice as many as there are samples.
fn octave_buckets() -> u32 {
    return 2u << (32u - countLeadingZeros(max(params.sample_count, 2u) - 1u));
}

// Objects ahead of one in its cell that its bounded number of pairs stands for.
const BOUNDED: u32 = 64u;

// The most pairs that one sample adds to the bounded ones.
fn most_pairs() -> u32 {
    return 1u + min(BOUNDED / params.sample_stride, params.sample_count / 4u);
}

fn top_exponent(extent_bits: u32) -> i32 {
    return i32(extent_bits >> 23u) - 126;
}

fn octave_exponent(top: i32, octave: u32) -> i32 {
    return clamp(top - i32(octave), MIN_EXPONENT, MAX_EXPONENT);
}
