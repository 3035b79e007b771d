// uses: common/prelude

// Layout of the sample statistics. Octaves are the cell sizes considered, by powers of two from the extent of the scene
// downward.

// Words, for cubes, then for cells shaped like the boxes: number of samples per size class; per octave, number of
// samples entered, number of their pairs in one bucket, and number of bounded pairs (at most `most_pairs()` per
// sample). Last, bits of the largest |coordinate|, and packed `Aspect`.
const SIZE_CLASSES: u32 = 1024u;
const DENSITY: u32 = 1024u;
const OCTAVE_WORDS: u32 = 3u;
const OCTAVES: u32 = 24u;
const SHAPE_WORDS: u32 = 1096u;
const EXTENT: u32 = 2192u;
const ASPECT: u32 = 2193u;

// Limits of the exponents of cell sizes, so that all inverses are normal floats.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 90;

// Sides of typical boxes: nearly all others are at most as long on each axis.
struct Aspect {
    // Octaves by which they are longer on an axis than on the shortest one.
    octaves: vec3<i32>,
    // Exponent of the shortest side, rounded down; at most MAX_ASPECT below the longest.
    shortest: i32,
}

const ASPECT_BITS: u32 = 4u;
const MAX_ASPECT: i32 = 15;
const SHORTEST_BIAS: i32 = 256;

fn cubes() -> Aspect {
    return Aspect(vec3<i32>(0), 0);
}

fn is_long(aspect: Aspect) -> bool {
    return any(aspect.octaves > vec3<i32>(0));
}

fn packed_aspect(aspect: Aspect) -> u32 {
    let octaves = vec3<u32>(aspect.octaves) << vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    let shortest = u32(aspect.shortest + SHORTEST_BIAS) << (3u * ASPECT_BITS);
    return octaves.x | octaves.y | octaves.z | shortest;
}

fn unpacked_aspect(word: u32) -> Aspect {
    let octaves = vec3<u32>(word) >> vec3<u32>(0u, ASPECT_BITS, 2u * ASPECT_BITS);
    return Aspect(vec3<i32>(octaves) & vec3<i32>(MAX_ASPECT), i32(word >> (3u * ASPECT_BITS)) - SHORTEST_BIAS);
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
