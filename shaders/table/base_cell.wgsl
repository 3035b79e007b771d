// uses: common/cells, common/grid, common/prelude, common/workgroup, table/octave

// Chooses the finest cell. Its fraction (1, 1.25, 1.5 or 1.75) is the one in which the sizes present waste the least
// volume; its octave is the largest in which the objects small enough for it have few neighbours in their cell, or from
// which finer cells would part few of those that share one, but not below the smallest object. Tells, too, the levels
// whose cells hold many boxes.

const NEIGHBOURS: u32 = 4u;
// Boxes that share a cell with one, on average, from which on a level is crowded.
const CROWDED: u32 = 12u;
// What a pair of an octave's cells costs in rows of finer ones, pairs that cost nothing, and octaves between the two, at
// most.
const COST_OF_PAIRS: u32 = 2u;
const FREE_PAIRS: u32 = 9u;
const MOST_OCTAVES: u32 = 12u;
// Pairs per object that finer cells may part, at most, where coarser ones are chosen for the sake of walks that look far.
const MOST_SPLIT: u32 = 64u;

@group(0) @binding(2) var<storage, read> sample_statistics: array<u32, 1097>;

var<workgroup> fractions: array<atomic<u32>, 4>;
var<workgroup> wastes: array<atomic<u32>, 4>;
var<workgroup> smallest: atomic<u32>;
// Octaves in which boxes have more neighbours, a bit each: those in which most boxes have many, and those from which
// finer cells part an eighth or half of them.
var<workgroup> dense_octaves: atomic<u32>;
var<workgroup> split_octaves: atomic<u32>;
var<workgroup> well_split_octaves: atomic<u32>;
// The coarsest octave whose pairs cost less than finer cells.
var<workgroup> coarser_octave: atomic<u32>;
var<workgroup> crowded_levels: atomic<u32>;

// The square or cube of a fraction: 16 or 64 is that of 1.
fn volume_of(fraction: u32) -> u32 {
    let side = fraction + 4u;
    return side * side * select(side, 1u, params.dimensions == 2u);
}

// Volume of the cell over that of a cube of the object's class, in 64ths.
fn waste_of(fraction: u32, class_fraction: u32) -> u32 {
    let octave = select(8u, 4u, params.dimensions == 2u);
    let own = volume_of(class_fraction);
    return (64u * volume_of(fraction) * select(1u, octave, class_fraction > fraction) + own / 2u) / own;
}

// Correctly rounded inverses of 1, 1.25, 1.5, 1.75.
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

// Pairs of samples that share a slot by chance.
fn pairs_by_chance(octave: u32) -> u32 {
    let entered = entered_in(octave);
    return entered * entered / (2u * octave_buckets());
}

// Bounded pairs that no cell parts, however fine: those of the last octave, unless it still parts many.
fn lasting_pairs() -> u32 {
    let last = OCTAVES - 1u;
    return select(bounded_pairs_in(last), 0u, 4u * pairs_in(last) <= 3u * pairs_in(last - 1u));
}

// Whether three in four of the boxes that some cell parts have many neighbours in this octave.
fn is_dense(octave: u32) -> bool {
    let lasting = lasting_pairs();
    let most = most_pairs() * entered_in(octave);
    let bounded = max(bounded_pairs_in(octave), lasting) - lasting;
    return 4u * bounded > 3u * (max(most, lasting) - lasting);
}

// Eighths of the bounded pairs that cells two octaves finer part, at least. A crowd in one place shares a cell in octave
// after octave: for its sake alone cells are no finer.
fn parts(octave: u32, eighths: u32) -> bool {
    let finer = min(octave + 2u, OCTAVES - 1u);
    let before = bounded_pairs_in(octave) - min(bounded_pairs_in(octave), pairs_by_chance(octave));
    let after = bounded_pairs_in(finer) - min(bounded_pairs_in(finer), pairs_by_chance(finer));
    return 8u * after <= (8u - eighths) * before;
}

// Pairs that an object has in its cell, on average over all objects.
fn mean_pairs(octave: u32) -> u32 {
    let pairs = pairs_in(octave) - min(pairs_in(octave), pairs_by_chance(octave));
    let sixteenths = 16u * pairs / max(params.sample_count, 1u);
    return sixteenths * params.sample_stride / 16u;
}

// Whether the pairs of an octave cost less than the rows in which finer cells would cut what a walk looks at. A level of
// the finer ones is never worth more rows than it has objects.
fn costs_less(octave: u32, finer: u32) -> bool {
    let cells = (1u << min(finer - octave, MOST_OCTAVES)) + 2u;
    let entered = entered_in(finer);
    let objects = select(entered * params.sample_stride, 0xffffffffu, entered > 0xffffffffu / params.sample_stride);
    let pairs = mean_pairs(octave);
    return COST_OF_PAIRS * (pairs + FREE_PAIRS) < min(cells * cells, objects)
        && pairs - min(pairs, mean_pairs(finer)) <= MOST_SPLIT;
}

// The first octave from this one on that is fine enough, of those from which finer cells part too few boxes.
fn octave_after(first: u32, parted: u32) -> u32 {
    return min(first + countTrailingZeros(~(parted >> first)), OCTAVES - 1u);
}

// Whether a box shares a cell of this octave and fraction with more than so many, on average. Samples that share a slot
// by chance do not count, and neither does what may be their excess.
fn holds_more(octave: u32, fraction: u32, neighbours: u32) -> bool {
    let entered = entered_in(octave);
    let one = select(64u, 16u, params.dimensions == 2u);
    let allowed = neighbours * one * entered / (2u * params.sample_stride * volume_of(fraction));
    return pairs_in(octave) > allowed + pairs_by_chance(octave) + entered / 64u;
}

// Called by all invocations of the workgroup. A barrier has to follow before `crowded_levels_found`.
fn base_inverse_of(local: u32) -> f32 {
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
    if (local < OCTAVES && holds_more(local, fraction, NEIGHBOURS)) {
        atomicOr(&dense_octaves, select(0u, 1u << local, is_dense(local)));
        atomicOr(&split_octaves, select(0u, 1u << local, parts(local, 1u)));
        atomicOr(&well_split_octaves, select(0u, 1u << local, parts(local, 4u)));
    }
    workgroupBarrier();

    let top = top_exponent(sample_statistics[EXTENT]);
    // The finest of the full octaves in which most boxes have many neighbours is too coarse, and so are those behind it,
    // as long as finer cells part enough boxes.
    let finest = octave_after(firstLeadingBit(atomicLoad(&dense_octaves)) + 1u, atomicLoad(&split_octaves));
    // Most boxes may be in crowds far denser than the rest of the scene.
    if (local < finest && !is_dense(local) && costs_less(local, finest)) {
        atomicMin(&coarser_octave, local);
    }
    workgroupBarrier();
    let coarser = min(atomicLoad(&coarser_octave), finest);
    let octave = min(octave_after(coarser, atomicLoad(&well_split_octaves)), finest);
    var exponent = octave_exponent(top, octave);
    let smallest_class = atomicLoad(&smallest);
    if (smallest_class < SIZE_CLASSES && smallest_class >= 4u) {
        // The first octave whose cell holds the smallest class.
        let fits = i32(smallest_class >> 2u) - 127 + select(0, 1, (smallest_class & 3u) > fraction);
        exponent = max(exponent, fits);
    }
    exponent = clamp(exponent, MIN_EXPONENT, MAX_EXPONENT);
    if (local < MAX_LEVELS) {
        let of_level = u32(clamp(top - exponent - i32(local), 0, i32(OCTAVES - 1u)));
        if (holds_more(of_level, fraction, CROWDED)) {
            atomicOr(&crowded_levels, 1u << local);
        }
    }
    return bitcast<f32>(inverse_bits_of(fraction) - bitcast<u32>(exponent << 23u));
}

// Returns a bit per crowded level; 0 if the scheme gives the finest cell.
fn crowded_levels_found() -> u32 {
    if (SCHEME != SCHEME_HIERARCHICAL) {
        return 0u;
    }
    return atomicLoad(&crowded_levels);
}
