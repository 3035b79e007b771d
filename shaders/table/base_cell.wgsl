// uses: common/cells, common/grid, common/prelude, common/workgroup, table/octave

// Chooses the finest cell size, a fraction times a power of two (octave), from the sample statistics.
//   fraction  1, 1.25, 1.5 or 1.75: the one that wastes the least volume for the sampled box sizes
//   octave    of the shortest side: the coarsest whose cells hold few neighbours, or from which on finer cells separate
//             few of the boxes that share a cell; never finer than the smallest object
//   shape     longer on axes on which many boxes are, if that saves three quarters of the pairs
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

// Cells are stretched if that divides the estimated pairs by more than this.
const LEAST_GAIN: u32 = 4u;

@group(0) @binding(2) var<storage, read> sample_statistics: array<u32, 2194>;

// Shapes: cubes and, if boxes are long, cells shaped like them, for which half of the invocations work.
const SHAPES: u32 = 2u;

var<workgroup> fractions: array<atomic<u32>, 8>;
var<workgroup> wastes: array<atomic<u32>, 8>;
var<workgroup> smallest: array<atomic<u32>, SHAPES>;
// Masks of octaves whose cells hold more than MAX_NEIGHBOURS neighbours. Dense: most boxes have many neighbours. Split:
// finer cells separate an eighth of the pairs. Well split: half.
var<workgroup> dense_octaves: array<atomic<u32>, SHAPES>;
var<workgroup> split_octaves: array<atomic<u32>, SHAPES>;
var<workgroup> well_split_octaves: array<atomic<u32>, SHAPES>;
// Coarsest octave that costs less than the finest choice (see `costs_less`).
var<workgroup> coarser_octave: array<atomic<u32>, SHAPES>;
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

fn density_word(shape: u32, octave: u32) -> u32 {
    return shape * SHAPE_WORDS + DENSITY + OCTAVE_WORDS * octave;
}

fn entered_in(shape: u32, octave: u32) -> u32 {
    return sample_statistics[density_word(shape, octave)];
}

fn pairs_in(shape: u32, octave: u32) -> u32 {
    return sample_statistics[density_word(shape, octave) + 1u];
}

fn bounded_pairs_in(shape: u32, octave: u32) -> u32 {
    return sample_statistics[density_word(shape, octave) + 2u];
}

// Expected number of sample pairs that share a bucket without sharing a cell.
fn pairs_by_chance(shape: u32, octave: u32) -> u32 {
    let entered = entered_in(shape, octave);
    return entered * entered / (2u * octave_buckets());
}

fn pairs_of_cells(shape: u32, octave: u32) -> u32 {
    return pairs_in(shape, octave) - min(pairs_in(shape, octave), pairs_by_chance(shape, octave));
}

// Bounded pairs that no cell size separates: those of the finest octave. 0 if that octave still separates a quarter of
// the pairs of the octave before.
fn lasting_pairs(shape: u32) -> u32 {
    let last = OCTAVES - 1u;
    return select(bounded_pairs_in(shape, last), 0u, 4u * pairs_in(shape, last) <= 3u * pairs_in(shape, last - 1u));
}

// True if, without `lasting_pairs`, more than three quarters of the possible bounded pairs occur. Most boxes then have
// many neighbours.
fn is_dense(shape: u32, octave: u32) -> bool {
    let lasting = lasting_pairs(shape);
    let most = most_pairs() * entered_in(shape, octave);
    let bounded = max(bounded_pairs_in(shape, octave), lasting) - lasting;
    return 4u * bounded > 3u * (max(most, lasting) - lasting);
}

// True if cells two octaves finer separate at least `eighths` eighths of the bounded pairs. A crowd in one place shares
// a cell in octave after octave, so it does not justify finer cells.
fn separates_pairs(shape: u32, octave: u32, eighths: u32) -> bool {
    let finer = min(octave + 2u, OCTAVES - 1u);
    let before = bounded_pairs_in(shape, octave) - min(bounded_pairs_in(shape, octave), pairs_by_chance(shape, octave));
    let after = bounded_pairs_in(shape, finer) - min(bounded_pairs_in(shape, finer), pairs_by_chance(shape, finer));
    return 8u * after <= (8u - eighths) * before;
}

fn mean_pairs(shape: u32, octave: u32) -> u32 {
    let pairs = pairs_of_cells(shape, octave);
    let sixteenths = 16u * pairs / max(params.sample_count, 1u);
    return sixteenths * params.sample_stride / 16u;
}

// True if the pairs in cells of `octave` cost less than the rows of cells of octave `finer`. The number of rows is at
// most that of objects in finer cells.
fn costs_less(shape: u32, octave: u32, finer: u32, top: i32, aspect: Aspect) -> bool {
    let between = cell_exponents(aspect, octave_exponent(top, octave))
        - cell_exponents(aspect, octave_exponent(top, finer));
    let cells = (vec3<u32>(1u) << min(vec3<u32>(between), vec3<u32>(MAX_OCTAVES))) + vec3<u32>(2u);
    let entered = entered_in(shape, finer);
    let objects = select(entered * params.sample_stride, 0xffffffffu, entered > 0xffffffffu / params.sample_stride);
    let pairs = mean_pairs(shape, octave);
    return COST_OF_PAIRS * (pairs + FIXED_PAIR_COST) < min(cells.y * cells.z, objects)
        && pairs - min(pairs, mean_pairs(shape, finer)) <= MAX_SPLIT;
}

// First octave from `first` on whose bit in the mask is not set.
fn octave_after(first: u32, mask: u32) -> u32 {
    return min(first + countTrailingZeros(~(mask >> first)), OCTAVES - 1u);
}

// True if a box shares a cell with more than `neighbours` boxes, on average. Leaves out `pairs_by_chance` and a margin
// for the error of this estimate, four standard deviations for small samples.
fn holds_more(shape: u32, octave: u32, fraction: u32, neighbours: u32) -> bool {
    let entered = entered_in(shape, octave);
    let one = select(64u, 16u, params.dimensions == 2u);
    let allowed = neighbours * one * entered / (2u * params.sample_stride * volume_of(fraction));
    return pairs_in(shape, octave) > allowed + pairs_by_chance(shape, octave) + entered / 64u + 32u;
}

fn octave_of(top: i32, exponent: i32) -> u32 {
    return u32(clamp(top - exponent, 0, i32(OCTAVES - 1u)));
}

// In 2D an area, in powers of two.
fn volume_of_sides(sides: vec3<i32>) -> i32 {
    return sides.x + sides.y + select(sides.z, 0, params.dimensions == 2u);
}

// Octave whose cells have the volume of those of a level, if the finest have `exponent`.
fn octave_of_level(aspect: Aspect, top: i32, exponent: i32, level: i32) -> u32 {
    let volume = volume_of_sides(cell_exponents(aspect, exponent)) + i32(params.dimensions) * level;
    var like = exponent + level;
    for (; like < top && volume_of_sides(cell_exponents(aspect, like)) < volume; ) {
        like += 1;
    }
    return octave_of(top, like);
}

// Estimate of the pairs that share cells, if the finest have `exponent`: those of boxes that these hold, and of larger
// ones with all that the cells of their level hold.
fn cost_of(shape: u32, aspect: Aspect, top: i32, exponent: i32) -> u32 {
    let longest = aspect.shortest + max(aspect.octaves.x, max(aspect.octaves.y, aspect.octaves.z));
    let finest = octave_of(top, exponent);
    var cost = pairs_of_cells(shape, finest);
    for (var octave = 0u; octave < finest; octave += 1u) {
        let larger = entered_in(shape, octave) - min(entered_in(shape, octave), entered_in(shape, octave + 1u));
        let size = octave_exponent(top, octave);
        // Boxes longer than typical ones are as thin.
        let level = size - select(exponent, longest, is_long(aspect) && size > longest);
        let like = octave_of_level(aspect, top, exponent, level);
        let each = 16u * pairs_of_cells(shape, like) / max(entered_in(shape, like), 1u);
        let more = each * larger / 8u;
        cost += min(more, 0xffffffffu - cost);
    }
    return cost;
}

fn fraction_of(shape: u32) -> u32 {
    var fraction = 0u;
    for (var i = 1u; i < 4u; i += 1u) {
        if (atomicLoad(&wastes[4u * shape + i]) < atomicLoad(&wastes[4u * shape + fraction])) {
            fraction = i;
        }
    }
    return fraction;
}

// The finest dense octave is too coarse; so are those after it, as long as finer cells separate an eighth of the pairs.
fn finest_octave(shape: u32) -> u32 {
    let first = firstLeadingBit(atomicLoad(&dense_octaves[shape])) + 1u;
    return octave_after(first, atomicLoad(&split_octaves[shape]));
}

// Exponent of the shortest side of the finest cell.
fn exponent_of(shape: u32, fraction: u32, top: i32) -> i32 {
    let finest = finest_octave(shape);
    let coarser = min(atomicLoad(&coarser_octave[shape]), finest);
    let octave = min(octave_after(coarser, atomicLoad(&well_split_octaves[shape])), finest);
    var exponent = octave_exponent(top, octave);
    let smallest_class = atomicLoad(&smallest[shape]);
    if (smallest_class < SIZE_CLASSES && smallest_class >= 4u) {
        // Exponent of the finest cell that holds the smallest size class.
        let fits = i32(smallest_class >> 2u) - 127 + select(0, 1, (smallest_class & 3u) > fraction);
        exponent = max(exponent, fits);
    }
    return clamp(exponent, MIN_EXPONENT, MAX_EXPONENT);
}

struct FinestCell {
    // Of the shortest side.
    inverse: f32,
    stretch: u32,
}

// All invocations must call this. A barrier must follow before `crowded_levels_found`.
fn finest_cell(local: u32) -> FinestCell {
    let top = top_exponent(sample_statistics[EXTENT]);
    let long = unpacked_aspect(sample_statistics[ASPECT]);
    let lanes = select(WORKGROUP, WORKGROUP / SHAPES, is_long(long));
    let lane = local % lanes;
    let own = local / lanes;
    if (lane < 4u) {
        atomicStore(&fractions[4u * own + lane], 0u);
        atomicStore(&wastes[4u * own + lane], 0u);
    }
    if (lane == 0u) {
        atomicStore(&smallest[own], SIZE_CLASSES);
        atomicStore(&dense_octaves[own], 0u);
        atomicStore(&split_octaves[own], 0u);
        atomicStore(&well_split_octaves[own], 0u);
        atomicStore(&coarser_octave[own], OCTAVES);
    }
    if (local == 0u) {
        atomicStore(&crowded_levels, 0u);
    }
    workgroupBarrier();
    for (var class_index = lane; class_index < SIZE_CLASSES; class_index += lanes) {
        let count = sample_statistics[own * SHAPE_WORDS + class_index];
        if (count != 0u) {
            atomicAdd(&fractions[4u * own + (class_index & 3u)], count);
            atomicMin(&smallest[own], class_index);
        }
    }
    workgroupBarrier();
    if (lane < 16u) {
        let count = atomicLoad(&fractions[4u * own + (lane & 3u)]);
        atomicAdd(&wastes[4u * own + lane / 4u], count * waste_of(lane / 4u, lane & 3u));
    }
    workgroupBarrier();
    var fraction = fraction_of(own);
    if (lane < OCTAVES && holds_more(own, lane, fraction, MAX_NEIGHBOURS)) {
        atomicOr(&dense_octaves[own], select(0u, 1u << lane, is_dense(own, lane)));
        atomicOr(&split_octaves[own], select(0u, 1u << lane, separates_pairs(own, lane, 1u)));
        atomicOr(&well_split_octaves[own], select(0u, 1u << lane, separates_pairs(own, lane, 4u)));
    }
    workgroupBarrier();

    var aspect = long;
    if (own == 0u) {
        aspect = cubes();
    }
    // In scenes with crowds far denser than the rest, coarser cells may cost less than those that suit the crowds.
    let finest = finest_octave(own);
    if (lane < finest && !is_dense(own, lane) && costs_less(own, lane, finest, top, aspect)) {
        atomicMin(&coarser_octave[own], lane);
    }
    workgroupBarrier();
    var shape = 0u;
    aspect = cubes();
    if (is_long(long)) {
        fraction = fraction_of(0u);
    }
    var exponent = exponent_of(0u, fraction, top);
    if (is_long(long)) {
        let long_fraction = fraction_of(1u);
        let long_exponent = exponent_of(1u, long_fraction, top);
        if (cost_of(1u, long, top, long_exponent) < cost_of(0u, aspect, top, exponent) / LEAST_GAIN) {
            shape = 1u;
            aspect = long;
            fraction = long_fraction;
            exponent = long_exponent;
        }
    }
    if (local < MAX_LEVELS) {
        if (holds_more(shape, octave_of_level(aspect, top, exponent, i32(local)), fraction, CROWDED)) {
            atomicOr(&crowded_levels, 1u << local);
        }
    }
    let stretch = vec3<u32>(cell_exponents(aspect, exponent) - exponent)
        << vec3<u32>(0u, STRETCH_BITS, 2u * STRETCH_BITS);
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
