// uses: common/prelude

// Layout of the sample statistics. Octaves are the cell sizes considered, by powers of two from the extent of the scene
// downward.

// Words: number of samples per size class; bits of the largest |coordinate|; packed `Aspect`. Then, per octave, number
// of samples entered, number of their pairs in one bucket, and number of bounded pairs (at most `most_pairs()` per
// sample).
const SIZE_CLASSES: u32 = 1024u;
const EXTENT: u32 = 1024u;
const ASPECT: u32 = 1025u;
const DENSITY: u32 = 1026u;
const OCTAVE_WORDS: u32 = 3u;

const OCTAVES: u32 = 24u;
// Limits of the exponents of cell sizes, so that all inverses are normal floats.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Shape of typical boxes.
struct Aspect {
    // Octaves by which they are longer on an axis than on their shortest one.
    octaves: vec3<i32>,
    // Exponent of the cell size that holds their shortest side.
    shortest: i32,
}

const ASPECT_BITS: u32 = 4u;
const MAX_ASPECT: i32 = 15;
const SHORTEST_BIAS: i32 = 256;

fn packed_aspect(aspect: Aspect) -> u32 {
    let octaves = vec3<u32>(aspect.octaves) << vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    return octaves.x | octaves.y | octaves.z | (u32(aspect.shortest + SHORTEST_BIAS) << (3u * ASPECT_BITS));
}

fn unpacked_aspect(word: u32) -> Aspect {
    let octaves = vec3<u32>(word) >> vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    return Aspect(vec3<i32>(octaves) & vec3<i32>(MAX_ASPECT), i32(word >> (3u * ASPECT_BITS)) - SHORTEST_BIAS);
}

// Exponents of the sides of cells whose shortest side is that of `exponent`. Cells that are larger than typical boxes
// are cubes; smaller ones shrink first on the axes on which boxes are short.
fn cell_exponents(aspect: Aspect, exponent: i32) -> vec3<i32> {
    let stretched = vec3<i32>(min(exponent, aspect.shortest)) + aspect.octaves;
    return min(max(vec3<i32>(exponent), stretched), vec3<i32>(MAX_EXPONENT));
}

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
