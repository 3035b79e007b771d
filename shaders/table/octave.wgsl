// uses: common/prelude

// Layout of the sample statistics, and the octaves of cell sizes, from the extent of the scene downward.

// Words: size classes; bits of the largest |coordinate|; then per octave the samples entered, their pairs in one
// bucket, and those pairs with a bounded number per sample.
const SIZE_CLASSES: u32 = 1024u;
const EXTENT: u32 = 1024u;
const DENSITY: u32 = 1025u;
const OCTAVE_WORDS: u32 = 3u;

const OCTAVES: u32 = 24u;
// Exponents of cell sides, so that every level's inverse is a normal float.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Buckets of each octave's hash table: a power of two, at least twice the number of samples.
fn octave_buckets() -> u32 {
    return 2u << (32u - countLeadingZeros(max(params.sample_count, 2u) - 1u));
}

// Objects that a sample's bounded pairs stand for.
const BOUNDED: u32 = 64u;

// Most bounded pairs per sample.
fn most_pairs() -> u32 {
    return 1u + min(BOUNDED / params.sample_stride, params.sample_count / 4u);
}

fn top_exponent(extent_bits: u32) -> i32 {
    return i32(extent_bits >> 23u) - 126;
}

fn octave_exponent(top: i32, octave: u32) -> i32 {
    return clamp(top - i32(octave), MIN_EXPONENT, MAX_EXPONENT);
}
