// uses: common/prelude

// Layout of the sample statistics. Octaves are the cell sizes considered, by powers of two from the extent of the scene
// downward.

// Words: number of samples per size class; bits of the largest |coordinate|. Then, per octave, number of samples
// entered, number of their pairs in one bucket, and number of bounded pairs (at most `most_pairs()` per sample).
const SIZE_CLASSES: u32 = 1024u;
const EXTENT: u32 = 1024u;
const DENSITY: u32 = 1025u;
const OCTAVE_WORDS: u32 = 3u;

const OCTAVES: u32 = 24u;
// Limits of the exponents of cell sizes, so that all inverses are normal floats.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Buckets of each octave's hash table: a power of two, at least twice the number of samples.
fn octave_buckets() -> u32 {
    return 2u << (32u - countLeadingZeros(max(params.sample_count, 2u) - 1u));
}

// Maximum number of bounded pairs per sample, in objects. A sample stands for `sample_stride` objects.
const BOUNDED: u32 = 64u;

fn most_pairs() -> u32 {
    return 1u + min(BOUNDED / params.sample_stride, params.sample_count / 4u);
}

fn top_exponent(extent_bits: u32) -> i32 {
    return i32(extent_bits >> 23u) - 126;
}

fn octave_exponent(top: i32, octave: u32) -> i32 {
    return clamp(top - i32(octave), MIN_EXPONENT, MAX_EXPONENT);
}
