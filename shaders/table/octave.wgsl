// uses: common/prelude

// Layout of the sample statistics. Octaves are the cell sizes considered, by powers of two from the extent of the scene
// downward.

// Words: number of samples per size class; bits of the largest |coordinate|; packed `Aspect` (two words). Then, per
// octave, number of samples entered, number of their pairs in one bucket, and number of bounded pairs (at most
// `most_pairs()` per sample).
const SIZE_CLASSES: u32 = 1024u;
const EXTENT: u32 = 1024u;
const ASPECT: u32 = 1025u;
const DENSITY: u32 = 1027u;
const OCTAVE_WORDS: u32 = 3u;

const OCTAVES: u32 = 24u;
// Limits of the exponents of cell sizes, so that all inverses are normal floats.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Sides of typical boxes: nearly all others are at most as long on each axis.
struct Aspect {
    // Octaves by which they are longer on an axis than on the shortest one.
    octaves: vec3<i32>,
    // Exponent of the shortest side, rounded down.
    shortest: i32,
    // Mean volume of cubes around boxes, in 256ths of one around a typical box, which limits it.
    volume: u32,
    // Mean exponent of the longest sides.
    longest: i32,
}

const ASPECT_BITS: u32 = 4u;
const MAX_ASPECT: i32 = 15;
const EXPONENT_BIAS: i32 = 256;

fn packed_aspect(aspect: Aspect) -> vec2<u32> {
    let octaves = vec3<u32>(aspect.octaves) << vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    let exponents = vec2<u32>(vec2<i32>(aspect.shortest, aspect.longest) + EXPONENT_BIAS) << vec2<u32>(16u);
    return vec2<u32>(octaves.x | octaves.y | octaves.z, aspect.volume) | exponents;
}

fn unpacked_aspect(words: vec2<u32>) -> Aspect {
    let octaves = vec3<u32>(words.x) >> vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    let exponents = vec2<i32>(words >> vec2<u32>(16u)) - EXPONENT_BIAS;
    return Aspect(vec3<i32>(octaves) & vec3<i32>(MAX_ASPECT), exponents.x, words.y & 0xffffu, exponents.y);
}

// Exponents of the sides of cells whose shortest one is `exponent`. Cells that hold typical boxes are cubes. Smaller
// ones stay as long as these boxes until they are as thin, and shrink on all axes from there on.
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
