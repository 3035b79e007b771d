// uses: common/grid, common/prelude, common/workgroup, table/octave

// Chooses the finest cell. Its fraction (1, 1.25, 1.5 or 1.75) is the one in which the sizes present waste the least
// volume; its octave is the largest in which the objects small enough for it have few neighbours in their cell, but not
// below the smallest object. Tells, too, the levels whose cells hold many boxes.

const NEIGHBOURS: u32 = 4u;
// Boxes that share a cell with one, on average, from which on a level is crowded.
const CROWDED: u32 = 12u;

@group(0) @binding(1) var<storage, read> size_statistics: array<u32, 1025>;
@group(0) @binding(2) var<storage, read> density: array<u32, 48>;
@group(0) @binding(3) var<storage, read_write> grid: Grid;

var<workgroup> fractions: array<atomic<u32>, 4>;
var<workgroup> smallest: atomic<u32>;

// Volume of the cell over that of a cube of the object's class, in 64ths: WASTE_3D[4 * cell fraction + class fraction].
const WASTE_3D = array<u32, 16>(
    64u, 262u, 152u, 96u, 125u, 64u, 296u, 187u,
    216u, 111u, 64u, 322u, 343u, 176u, 102u, 64u,
);
// The same of areas.
const WASTE_2D = array<u32, 16>(
    64u, 164u, 114u, 84u, 100u, 64u, 178u, 131u,
    144u, 92u, 64u, 188u, 196u, 125u, 87u, 64u,
);
// Cubes and squares of 1, 1.25, 1.5, 1.75 in 64ths.
const VOLUME_3D = array<u32, 4>(64u, 125u, 216u, 343u);
const VOLUME_2D = array<u32, 4>(64u, 100u, 144u, 196u);
// Correctly rounded inverses of 1, 1.25, 1.5, 1.75.
const INVERSE_BITS = array<u32, 4>(0x3f800000u, 0x3f4ccccdu, 0x3f2aaaabu, 0x3f124925u);

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    if (local < 4u) {
        atomicStore(&fractions[local], 0u);
    }
    if (local == 0u) {
        atomicStore(&smallest, 1024u);
    }
    workgroupBarrier();
    for (var class_index = local; class_index < 1024u; class_index += WORKGROUP) {
        let count = size_statistics[class_index];
        if (count != 0u) {
            atomicAdd(&fractions[class_index & 3u], count);
            atomicMin(&smallest, class_index);
        }
    }
    workgroupBarrier();
    if (local != 0u) {
        return;
    }

    var counts = array<u32, 4>();
    for (var i = 0u; i < 4u; i += 1u) {
        counts[i] = atomicLoad(&fractions[i]);
    }
    var fraction = 0u;
    var least = 0xffffffffu;
    for (var i = 0u; i < 4u; i += 1u) {
        var waste = 0u;
        for (var k = 0u; k < 4u; k += 1u) {
            waste += counts[k] * waste_of(i, k);
        }
        if (waste < least) {
            least = waste;
            fraction = i;
        }
    }

    let top = top_exponent(size_statistics[1024]);
    var exponent = octave_exponent(top, OCTAVES - 1u);
    for (var step = 0u; step < OCTAVES; step += 1u) {
        let octave = OCTAVES - 1u - step;
        if (holds_more(octave, fraction, NEIGHBOURS)) {
            break;
        }
        exponent = octave_exponent(top, octave);
    }

    let smallest_class = atomicLoad(&smallest);
    if (smallest_class < 1024u && smallest_class >= 4u) {
        // The first octave whose cell holds the smallest class.
        let fits = i32(smallest_class >> 2u) - 127 + select(0, 1, (smallest_class & 3u) > fraction);
        exponent = max(exponent, fits);
    }
    exponent = clamp(exponent, MIN_EXPONENT, MAX_EXPONENT);
    grid.base_inverse = bitcast<f32>(inverse_bits_of(fraction) - bitcast<u32>(exponent << 23u));
    grid.crowded_levels = crowded_levels(top - exponent, fraction);
}

// Whether a box shares a cell of this octave and fraction with more than so many, on average. Samples that share a slot
// by chance do not count, and neither does what may be their excess.
fn holds_more(octave: u32, fraction: u32, neighbours: u32) -> bool {
    let entered = density[2u * octave];
    let allowed = neighbours * 64u * entered / (2u * params.sample_stride * volume_of(fraction));
    let chance = entered * entered / (2u * SLOTS);
    return density[2u * octave + 1u] > allowed + chance + entered / 64u;
}

// The levels that are crowded, where the finest is of this octave.
fn crowded_levels(finest: i32, fraction: u32) -> u32 {
    var levels = 0u;
    for (var level = 0u; level < MAX_LEVELS; level += 1u) {
        let octave = u32(clamp(finest - i32(level), 0, i32(OCTAVES - 1u)));
        levels |= select(0u, 1u << level, holds_more(octave, fraction, CROWDED));
    }
    return levels;
}

// Constant arrays are indexed through a variable: some back ends cannot index a constant dynamically.
fn waste_of(fraction: u32, class_fraction: u32) -> u32 {
    var table = WASTE_3D;
    if (params.dimensions == 2u) {
        table = WASTE_2D;
    }
    return table[4u * fraction + class_fraction];
}

fn volume_of(fraction: u32) -> u32 {
    var table = VOLUME_3D;
    if (params.dimensions == 2u) {
        table = VOLUME_2D;
    }
    return table[fraction];
}

fn inverse_bits_of(fraction: u32) -> u32 {
    var table = INVERSE_BITS;
    return table[fraction];
}
