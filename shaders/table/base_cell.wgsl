// uses: common/cells, common/grid, common/prelude, common/workgroup, table/octave

// Chooses the finest cell size, a fraction times a power of two (octave), from the sample statistics.
//   fraction  1, 1.25, 1.5 or 1.75: the one that wastes the least volume for the sampled box sizes
//   octave    of the shortest side: the coarsest whose cells hold few neighbours, or from which on finer cells separate
//             few of the boxes that share a cell; never finer than the smallest object
//   shape     longer on axes on which nearly all boxes are, if that saves pairs
// Also marks crowded levels, whose cells hold many boxes.

const MAX_NEIGHBOURS: u32 = 4u;
// A level is crowded if a box shares its cell with more boxes than this, on average.
const CROWDED: u32 = 12u;
// Constants of `costs_less`: cost of a pair in rows of finer cells, fixed cost in pairs, and maximum number of octaves
// between coarse and fine cells.
const COST_OF_PAIRS: u32 = 2u;
const FIXED_PAIR_COST: u32 = 9u;
const MAX_OCTAVES: u32 = 12u;
// Coarser cells are chosen only if finer ones would separate at most this number of pairs per object.
const MAX_SPLIT: u32 = 64u;

// Cells are stretched if that divides the pairs by more than this.
const LEAST_GAIN: u32 = 4u;

@group(0) @binding(2) var<storage, read> sample_statistics: array<u32, 1099>;

var<workgroup> fractions: array<atomic<u32>, 4>;
var<workgroup> wastes: array<atomic<u32>, 4>;
var<workgroup> smallest: atomic<u32>;
// Masks of octaves whose cells hold more than MAX_NEIGHBOURS neighbours. Dense: most boxes have many neighbours. Split:
// finer cells separate an eighth of the pairs. Well split: half.
var<workgroup> dense_octaves: atomic<u32>;
var<workgroup> split_octaves: atomic<u32>;
var<workgroup> well_split_octaves: atomic<u32>;
// Coarsest octave that costs less than the finest choice (see `costs_less`).
var<workgroup> coarser_octave: atomic<u32>;
var<workgroup> crowded_levels: atomic<u32>;

// Cell volume, in units of which fraction 0 has 16 (square) or 64 (cube).
fn volume_of(fraction: u32) -> u32 {
    let side = fraction + 4u;
    return side * side * select(side, 1u, params.dimensions == 2u);
}

// Volume of the smallest cell of `fraction` that holds a cube of the size class, over the cube's volume, in 64ths.
fn waste_of(fraction: u32, class_fraction: u32) -> u32 {
    let octave = select(8u, 4u, params.dimensions == 2u);
    let own = volume_of(class_fraction);
    return (64u * volume_of(fraction) * select(1u, octave, class_fraction > fraction) + own / 2u) / own;
}

// Bits of 1 / (1 + fraction / 4), correctly rounded.
fn inverse_bits_of(fraction: u32) -> u32 {
    let finer = select(0x3f800000u, 0x3f4ccccdu, fraction == 1u);
    return select(finer, select(0x3f2aaaabu, 0x3f124925u, fraction == 3u), fraction >= 2u);
}

fn entered_in(octave: u32) -> u32 {
    return sample_statistics[DENSITY + OCTAVE_WORDS * octave];
}

fn pairs_in(octave: u32) -> u32 {
    return sample_statistics[DENSITY + OCTAVE_WORDS * octave + 1u];
}

fn bounded_pairs_in(octave: u32) -> u32 {
    return sample_statistics[DENSITY + OCTAVE_WORDS * octave + 2u];
}

// Expected number of sample pairs that share a bucket without sharing a cell.
fn pairs_by_chance(octave: u32) -> u32 {
    let entered = entered_in(octave);
    return entered * entered / (2u * octave_buckets());
}

// Bounded pairs that no cell size separates: those of the finest octave. 0 if that octave still separates a quarter of
// the pairs of the octave before.
fn lasting_pairs() -> u32 {
    let last = OCTAVES - 1u;
    return select(bounded_pairs_in(last), 0u, 4u * pairs_in(last) <= 3u * pairs_in(last - 1u));
}

// True if, without `lasting_pairs`, more than three quarters of the possible bounded pairs occur. Most boxes then have
// many neighbours.
fn is_dense(octave: u32) -> bool {
    let lasting = lasting_pairs();
    let most = most_pairs() * entered_in(octave);
    let bounded = max(bounded_pairs_in(octave), lasting) - lasting;
    return 4u * bounded > 3u * (max(most, lasting) - lasting);
}

// True if cells two octaves finer separate at least `eighths` eighths of the bounded pairs. A crowd in one place shares
// a cell in octave after octave, so it does not justify finer cells.
fn separates_pairs(octave: u32, eighths: u32) -> bool {
    let finer = min(octave + 2u, OCTAVES - 1u);
    let before = bounded_pairs_in(octave) - min(bounded_pairs_in(octave), pairs_by_chance(octave));
    let after = bounded_pairs_in(finer) - min(bounded_pairs_in(finer), pairs_by_chance(finer));
    return 8u * after <= (8u - eighths) * before;
}

fn mean_pairs(octave: u32) -> u32 {
    let pairs = pairs_of_cells(octave);
    let sixteenths = 16u * pairs / max(params.sample_count, 1u);
    return sixteenths * params.sample_stride / 16u;
}

// True if the pairs in cells of `octave` cost less than the rows of cells of octave `finer`. The number of rows is at
// most that of objects in finer cells.
fn costs_less(octave: u32, finer: u32, top: i32, aspect: Aspect) -> bool {
    let between = cell_exponents(aspect, octave_exponent(top, octave))
        - cell_exponents(aspect, octave_exponent(top, finer));
    let cells = (vec3<u32>(1u) << min(vec3<u32>(between), vec3<u32>(MAX_OCTAVES))) + vec3<u32>(2u);
    let entered = entered_in(finer);
    let objects = select(entered * params.sample_stride, 0xffffffffu, entered > 0xffffffffu / params.sample_stride);
    let pairs = mean_pairs(octave);
    return COST_OF_PAIRS * (pairs + FIXED_PAIR_COST) < min(cells.y * cells.z, objects)
        && pairs - min(pairs, mean_pairs(finer)) <= MAX_SPLIT;
}

// First octave from `first` on whose bit in the mask is not set.
fn octave_after(first: u32, mask: u32) -> u32 {
    return min(first + countTrailingZeros(~(mask >> first)), OCTAVES - 1u);
}

// True if a box shares a cell with more than `neighbours` boxes, on average. Leaves out `pairs_by_chance` and a margin
// for the error of this estimate, four standard deviations for small samples.
fn holds_more(octave: u32, fraction: u32, neighbours: u32) -> bool {
    let entered = entered_in(octave);
    let one = select(64u, 16u, params.dimensions == 2u);
    let allowed = neighbours * one * entered / (2u * params.sample_stride * volume_of(fraction));
    return pairs_in(octave) > allowed + pairs_by_chance(octave) + entered / 64u + 32u;
}

fn octave_of(top: i32, exponent: i32) -> u32 {
    return u32(clamp(top - exponent, 0, i32(OCTAVES - 1u)));
}

fn sum_of(values: vec3<i32>) -> i32 {
    return values.x + values.y + values.z;
}

fn pairs_of_cells(octave: u32) -> u32 {
    return pairs_in(octave) - min(pairs_in(octave), pairs_by_chance(octave));
}

// True if cells of this shape save most of the pairs that would share cubes: large ones around typical boxes, smaller
// ones around smaller boxes. Rays and queries cross fewer cells of cubes.
fn stretch_pays(aspect: Aspect, top: i32, exponent: i32) -> bool {
    let longest = aspect.shortest + max(aspect.octaves.x, max(aspect.octaves.y, aspect.octaves.z));
    let in_cubes = (pairs_of_cells(octave_of(top, longest + 1)) / 256u) * aspect.volume;
    return LEAST_GAIN * pairs_of_cells(octave_of(top, exponent)) < in_cubes;
}

struct FinestCell {
    // Of the shortest side.
    inverse: f32,
    stretch: u32,
}

// All invocations must call this. A barrier must follow before `crowded_levels_found`.
fn finest_cell(local: u32) -> FinestCell {
    if (local < 4u) {
        atomicStore(&fractions[local], 0u);
        atomicStore(&wastes[local], 0u);
    }
    if (local == 0u) {
        atomicStore(&smallest, SIZE_CLASSES);
        atomicStore(&dense_octaves, 0u);
        atomicStore(&split_octaves, 0u);
        atomicStore(&well_split_octaves, 0u);
        atomicStore(&coarser_octave, OCTAVES);
        atomicStore(&crowded_levels, 0u);
    }
    workgroupBarrier();
    for (var class_index = local; class_index < SIZE_CLASSES; class_index += WORKGROUP) {
        let count = sample_statistics[class_index];
        if (count != 0u) {
            atomicAdd(&fractions[class_index & 3u], count);
            atomicMin(&smallest, class_index);
        }
    }
    workgroupBarrier();
    if (local < 16u) {
        atomicAdd(&wastes[local / 4u], atomicLoad(&fractions[local & 3u]) * waste_of(local / 4u, local & 3u));
    }
    workgroupBarrier();
    var fraction = 0u;
    for (var i = 1u; i < 4u; i += 1u) {
        if (atomicLoad(&wastes[i]) < atomicLoad(&wastes[fraction])) {
            fraction = i;
        }
    }
    if (local < OCTAVES && holds_more(local, fraction, MAX_NEIGHBOURS)) {
        atomicOr(&dense_octaves, select(0u, 1u << local, is_dense(local)));
        atomicOr(&split_octaves, select(0u, 1u << local, separates_pairs(local, 1u)));
        atomicOr(&well_split_octaves, select(0u, 1u << local, separates_pairs(local, 4u)));
    }
    workgroupBarrier();

    let top = top_exponent(sample_statistics[EXTENT]);
    let aspect = unpacked_aspect(vec2<u32>(sample_statistics[ASPECT], sample_statistics[ASPECT + 1u]));
    // The finest dense octave is too coarse; so are those after it, as long as finer cells separate an eighth of the
    // pairs.
    let finest = octave_after(firstLeadingBit(atomicLoad(&dense_octaves)) + 1u, atomicLoad(&split_octaves));
    // In scenes with crowds far denser than the rest, coarser cells may cost less than those that suit the crowds.
    if (local < finest && !is_dense(local) && costs_less(local, finest, top, aspect)) {
        atomicMin(&coarser_octave, local);
    }
    workgroupBarrier();
    let coarser = min(atomicLoad(&coarser_octave), finest);
    let octave = min(octave_after(coarser, atomicLoad(&well_split_octaves)), finest);
    var exponent = octave_exponent(top, octave);
    let smallest_class = atomicLoad(&smallest);
    if (smallest_class < SIZE_CLASSES && smallest_class >= 4u) {
        // Exponent of the finest cell that holds the smallest size class.
        let fits = i32(smallest_class >> 2u) - 127 + select(0, 1, (smallest_class & 3u) > fraction);
        exponent = max(exponent, fits);
    }
    exponent = clamp(exponent, MIN_EXPONENT, MAX_EXPONENT);
    var sides = cell_exponents(aspect, exponent);
    if (any(sides != vec3<i32>(exponent)) && !stretch_pays(aspect, top, exponent)) {
        exponent = max(exponent, min(aspect.longest, MAX_EXPONENT));
        sides = vec3<i32>(exponent);
    }
    if (local < MAX_LEVELS) {
        // Octave of cells of the same volume.
        let volume = sum_of(sides) + 3 * i32(local);
        var of_level = exponent + i32(local);
        for (; of_level < top && sum_of(cell_exponents(aspect, of_level)) < volume; ) {
            of_level += 1;
        }
        if (holds_more(octave_of(top, of_level), fraction, CROWDED)) {
            atomicOr(&crowded_levels, 1u << local);
        }
    }
    let stretch = vec3<u32>(sides - exponent) << vec3<u32>(0u, STRETCH_BITS, 2u * STRETCH_BITS);
    return FinestCell(
        bitcast<f32>(inverse_bits_of(fraction) - bitcast<u32>(exponent << 23u)),
        stretch.x | stretch.y | stretch.z,
    );
}

// One bit per crowded level; 0 unless the scheme chooses the finest cell.
fn crowded_levels_found() -> u32 {
    if (SCHEME != SCHEME_HIERARCHICAL) {
        return 0u;
    }
    return atomicLoad(&crowded_levels);
}
