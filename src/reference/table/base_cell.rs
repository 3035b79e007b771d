use super::size::{
    ASPECT, Aspect, DENSITY, EXTENT, MAX_EXPONENT, MIN_EXPONENT, OCTAVE_WORDS, OCTAVES, most_pairs, octave_exponent,
    top_exponent,
};
use crate::layout::grid::{FinestCell, MAX_LEVELS, Params, packed_stretch};
use crate::shared::wgsl::number;

const MAX_NEIGHBOURS: u32 = 4;
const CROWDED: u32 = number("table/base_cell", "CROWDED");
/// Results of the shader's `waste_of`: rows by fraction of the cell, columns by that of the size class.
const WASTE_3D: [[u32; 4]; 4] = [
    [64, 262, 152, 96],
    [125, 64, 296, 187],
    [216, 111, 64, 322],
    [343, 176, 102, 64],
];
const WASTE_2D: [[u32; 4]; 4] = [
    [64, 164, 114, 84],
    [100, 64, 178, 131],
    [144, 92, 64, 188],
    [196, 125, 87, 64],
];
/// Volumes of cells with sides 1, 1.25, 1.5, 1.75, in 64ths: cubes, then squares.
const VOLUME_3D: [u32; 4] = [64, 125, 216, 343];
const VOLUME_2D: [u32; 4] = [64, 100, 144, 196];
const INVERSE_BITS: [u32; 4] = [0x3f80_0000, 0x3f4c_cccd, 0x3f2a_aaab, 0x3f12_4925];

const COST_OF_PAIRS: u32 = number("table/base_cell", "COST_OF_PAIRS");
const FIXED_PAIR_COST: u32 = number("table/base_cell", "FIXED_PAIR_COST");
const LEAST_GAIN: u32 = number("table/base_cell", "LEAST_GAIN");
const MAX_OCTAVES: u32 = number("table/base_cell", "MAX_OCTAVES");
const MAX_SPLIT: u32 = number("table/base_cell", "MAX_SPLIT");

struct Octaves<'a> {
    params: &'a Params,
    words: &'a [u32],
    top: i32,
    aspect: Aspect,
}

impl Octaves<'_> {
    fn entered(&self, octave: u32) -> u32 {
        self.words[OCTAVE_WORDS * octave as usize]
    }

    fn pairs(&self, octave: u32) -> u32 {
        self.words[OCTAVE_WORDS * octave as usize + 1]
    }

    fn bounded_pairs(&self, octave: u32) -> u32 {
        self.words[OCTAVE_WORDS * octave as usize + 2]
    }

    fn pairs_by_chance(&self, octave: u32) -> u32 {
        let entered = self.entered(octave);
        entered.wrapping_mul(entered) / (2 * self.params.octave_buckets())
    }

    fn lasting_pairs(&self) -> u32 {
        let last = OCTAVES - 1;
        if 4 * self.pairs(last) <= 3 * self.pairs(last - 1) {
            0
        } else {
            self.bounded_pairs(last)
        }
    }

    fn is_dense(&self, octave: u32) -> bool {
        let lasting = self.lasting_pairs();
        let most = most_pairs(self.params) * self.entered(octave);
        4 * self.bounded_pairs(octave).saturating_sub(lasting) > 3 * most.saturating_sub(lasting)
    }

    fn separates_pairs(&self, octave: u32, eighths: u32) -> bool {
        let left = |octave| self.bounded_pairs(octave).saturating_sub(self.pairs_by_chance(octave));
        8 * left((octave + 2).min(OCTAVES - 1)) <= (8 - eighths) * left(octave)
    }

    fn octave_of(&self, exponent: i32) -> u32 {
        (self.top - exponent).clamp(0, OCTAVES as i32 - 1) as u32
    }

    fn pairs_of_cells(&self, octave: u32) -> u32 {
        self.pairs(octave).saturating_sub(self.pairs_by_chance(octave))
    }

    fn stretch_pays(&self, exponent: i32) -> bool {
        let longest = self.aspect.shortest + self.aspect.octaves.into_iter().fold(0, i32::max);
        let in_cubes = (self.pairs_of_cells(self.octave_of(longest + 1)) / 256) * self.aspect.volume;
        LEAST_GAIN * self.pairs_of_cells(self.octave_of(exponent)) < in_cubes
    }

    fn mean_pairs(&self, octave: u32) -> u32 {
        let pairs = self.pairs_of_cells(octave);
        let sixteenths = 16 * pairs / self.params.sample_count.max(1);
        (sixteenths * self.params.sample_stride.max(1)) / 16
    }

    fn costs_less(&self, octave: u32, finer: u32) -> bool {
        let [coarse, fine] =
            [octave, finer].map(|octave| self.aspect.cell_exponents(octave_exponent(self.top, octave)));
        let cells = |axis: usize| (1 << ((coarse[axis] - fine[axis]) as u32).min(MAX_OCTAVES)) + 2;
        let objects = self.entered(finer).saturating_mul(self.params.sample_stride);
        let pairs = self.mean_pairs(octave);
        COST_OF_PAIRS * (pairs + FIXED_PAIR_COST) < (cells(1) * cells(2)).min(objects)
            && pairs.saturating_sub(self.mean_pairs(finer)) <= MAX_SPLIT
    }
}

/// Returns the size of the finest cell, and a bit mask of crowded levels.
pub(crate) fn base_cell(params: &Params, sample_statistics: &[u32]) -> (FinestCell, u32) {
    let size_statistics = &sample_statistics[..EXTENT];
    let octaves = Octaves {
        params,
        words: &sample_statistics[DENSITY..],
        top: top_exponent(sample_statistics[EXTENT]),
        aspect: Aspect::unpacked([0, 1].map(|word| sample_statistics[ASPECT + word])),
    };
    let (waste_of, volume_of) = if params.dimensions == 2 {
        (&WASTE_2D, &VOLUME_2D)
    } else {
        (&WASTE_3D, &VOLUME_3D)
    };
    let mut counts = [0u32; 4];
    let mut smallest = 1024u32;
    for (class, &count) in size_statistics.iter().enumerate() {
        if count != 0 {
            counts[class & 3] = counts[class & 3].wrapping_add(count);
            smallest = smallest.min(class as u32);
        }
    }
    let mut fraction = 0;
    let mut least = u32::MAX;
    for (candidate, row) in waste_of.iter().enumerate() {
        let waste = counts.iter().zip(row).fold(0u32, |sum, (&count, &factor)| {
            sum.wrapping_add(count.wrapping_mul(factor))
        });
        if waste < least {
            least = waste;
            fraction = candidate;
        }
    }

    let holds_more = |octave: u32, fraction: usize, neighbours: u32| {
        let entered = octaves.entered(octave);
        let samples = 2u32
            .wrapping_mul(params.sample_stride.max(1))
            .wrapping_mul(volume_of[fraction]);
        let allowed = (neighbours * 64).wrapping_mul(entered) / samples.max(1);
        octaves.pairs(octave)
            > allowed
                .wrapping_add(octaves.pairs_by_chance(octave))
                .wrapping_add(entered / 64 + 32)
    };
    let top = octaves.top;
    let is_full = |octave: &u32| holds_more(*octave, fraction, MAX_NEIGHBOURS);
    let dense = (0..OCTAVES).rfind(|octave| is_full(octave) && octaves.is_dense(*octave));
    let after = |first: u32, eighths| {
        let coarse = |octave: &u32| is_full(octave) && octaves.separates_pairs(*octave, eighths);
        (first..OCTAVES).find(|octave| !coarse(octave)).unwrap_or(OCTAVES - 1)
    };
    let finest = after(dense.map_or(0, |dense| dense + 1), 1);
    let coarser = (0..finest).find(|&octave| !octaves.is_dense(octave) && octaves.costs_less(octave, finest));
    let octave = coarser.map_or(finest, |first| after(first, 4).min(finest));
    let mut exponent = octave_exponent(top, octave);
    if (4..1024).contains(&smallest) {
        let fits = (smallest >> 2) as i32 - 127 + i32::from((smallest & 3) as usize > fraction);
        exponent = exponent.max(fits);
    }
    let mut exponent = exponent.clamp(MIN_EXPONENT, MAX_EXPONENT);
    let mut sides = octaves.aspect.cell_exponents(exponent);
    if sides != [exponent; 3] && !octaves.stretch_pays(exponent) {
        exponent = exponent.max(octaves.aspect.longest.min(MAX_EXPONENT));
        sides = [exponent; 3];
    }
    let longer = sides.map(|side| side - exponent);
    let finest = FinestCell {
        inverse: f32::from_bits(INVERSE_BITS[fraction].wrapping_sub((exponent << 23) as u32)),
        stretch: packed_stretch(longer.map(|octaves| octaves as u32)),
    };
    let crowded_levels = (0..MAX_LEVELS)
        .map(|level| {
            let volume = sides.into_iter().sum::<i32>() + 3 * level as i32;
            let mut of_level = exponent + level as i32;
            while of_level < top && octaves.aspect.cell_exponents(of_level).into_iter().sum::<i32>() < volume {
                of_level += 1;
            }
            u32::from(holds_more(octaves.octave_of(of_level), fraction, CROWDED)) << level
        })
        .sum();
    (finest, crowded_levels)
}
