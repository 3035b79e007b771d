use super::size::{
    ASPECT, Aspect, DENSITY, EXTENT, MAX_EXPONENT, MIN_EXPONENT, OCTAVE_WORDS, OCTAVES, SHAPE_WORDS, most_pairs,
    octave_exponent, top_exponent,
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

/// Statistics of a shape of cells.
struct Octaves<'a> {
    params: &'a Params,
    words: &'a [u32],
    top: i32,
    aspect: Aspect,
    smallest_class: Option<i32>,
    fraction: usize,
}

impl<'a> Octaves<'a> {
    fn of(params: &'a Params, sample_statistics: &'a [u32], shape: usize, aspect: Aspect) -> Self {
        let words = &sample_statistics[shape * SHAPE_WORDS..][..SHAPE_WORDS];
        let mut counts = [0u32; 4];
        let mut smallest_class = None;
        for (class, &count) in words[..DENSITY].iter().enumerate().filter(|(_, count)| **count != 0) {
            counts[class & 3] = counts[class & 3].wrapping_add(count);
            smallest_class = smallest_class.or(Some(class as i32));
        }
        let waste_of = if params.dimensions == 2 { &WASTE_2D } else { &WASTE_3D };
        let waste = |candidate: &usize| {
            counts
                .iter()
                .zip(&waste_of[*candidate])
                .fold(0u32, |sum, (&count, &factor)| {
                    sum.wrapping_add(count.wrapping_mul(factor))
                })
        };
        Self {
            params,
            words: &words[DENSITY..],
            top: top_exponent(sample_statistics[EXTENT]),
            aspect,
            smallest_class,
            // The first of equal ones.
            fraction: (0..4).min_by_key(waste).unwrap_or(0),
        }
    }

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

    fn volume(&self, sides: [i32; 3]) -> i32 {
        sides[..self.params.dimensions as usize].iter().sum()
    }

    /// Octave whose cells have the volume of those of a level, if the finest have `exponent`.
    fn octave_of_level(&self, exponent: i32, level: i32) -> u32 {
        let volume = self.volume(self.aspect.cell_exponents(exponent)) + self.params.dimensions as i32 * level;
        let mut like = exponent + level;
        while like < self.top && self.volume(self.aspect.cell_exponents(like)) < volume {
            like += 1;
        }
        self.octave_of(like)
    }

    /// Estimate of the pairs that share cells, if the finest have `exponent`: those of boxes that these hold, and of
    /// larger ones with all that the cells of their level hold.
    fn cost(&self, exponent: i32) -> u32 {
        let longest = self.aspect.shortest + self.aspect.octaves.into_iter().fold(0, i32::max);
        let finest = self.octave_of(exponent);
        let mut cost = self.pairs_of_cells(finest);
        for octave in 0..finest {
            let larger = self.entered(octave).saturating_sub(self.entered(octave + 1));
            let size = octave_exponent(self.top, octave);
            // Boxes longer than typical ones are as thin.
            let is_longer = self.aspect.is_long() && size > longest;
            let like = self.octave_of_level(exponent, size - if is_longer { longest } else { exponent });
            let each = 16 * self.pairs_of_cells(like) / self.entered(like).max(1);
            cost = cost.saturating_add(each * larger / 8);
        }
        cost
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

    fn holds_more(&self, octave: u32, neighbours: u32) -> bool {
        let volume_of = if self.params.dimensions == 2 {
            &VOLUME_2D
        } else {
            &VOLUME_3D
        };
        let entered = self.entered(octave);
        let samples = 2u32
            .wrapping_mul(self.params.sample_stride.max(1))
            .wrapping_mul(volume_of[self.fraction]);
        let allowed = (neighbours * 64).wrapping_mul(entered) / samples.max(1);
        self.pairs(octave)
            > allowed
                .wrapping_add(self.pairs_by_chance(octave))
                .wrapping_add(entered / 64 + 32)
    }

    /// Returns the exponent of the finest cell's shortest side.
    fn exponent(&self) -> i32 {
        let is_full = |octave: &u32| self.holds_more(*octave, MAX_NEIGHBOURS);
        let dense = (0..OCTAVES).rfind(|octave| is_full(octave) && self.is_dense(*octave));
        let after = |first: u32, eighths| {
            let coarse = |octave: &u32| is_full(octave) && self.separates_pairs(*octave, eighths);
            (first..OCTAVES).find(|octave| !coarse(octave)).unwrap_or(OCTAVES - 1)
        };
        let finest = after(dense.map_or(0, |dense| dense + 1), 1);
        let coarser = (0..finest).find(|&octave| !self.is_dense(octave) && self.costs_less(octave, finest));
        let octave = coarser.map_or(finest, |first| after(first, 4).min(finest));
        let exponent = octave_exponent(self.top, octave);
        let fits = self.smallest_class.filter(|class| *class >= 4).map(|smallest| {
            let is_larger = (smallest & 3) as usize > self.fraction;
            (smallest >> 2) - 127 + i32::from(is_larger)
        });
        fits.map_or(exponent, |fits| exponent.max(fits))
            .clamp(MIN_EXPONENT, MAX_EXPONENT)
    }
}

/// Returns the size of the finest cell, and a bit mask of crowded levels.
pub(crate) fn base_cell(params: &Params, sample_statistics: &[u32]) -> (FinestCell, u32) {
    let aspect = Aspect::unpacked(sample_statistics[ASPECT]);
    let mut octaves = Octaves::of(params, sample_statistics, 0, Aspect::default());
    let mut exponent = octaves.exponent();
    if aspect.is_long() {
        let long = Octaves::of(params, sample_statistics, 1, aspect);
        if long.cost(long.exponent()) < octaves.cost(exponent) / LEAST_GAIN {
            (exponent, octaves) = (long.exponent(), long);
        }
    }
    let sides = octaves.aspect.cell_exponents(exponent);
    let longer = sides.map(|side| side - exponent);
    let finest = FinestCell {
        inverse: f32::from_bits(INVERSE_BITS[octaves.fraction].wrapping_sub((exponent << 23) as u32)),
        stretch: packed_stretch(longer.map(|octaves| octaves as u32)),
    };
    let crowded_levels = (0..MAX_LEVELS)
        .map(|level| {
            let octave = octaves.octave_of_level(exponent, level as i32);
            u32::from(octaves.holds_more(octave, CROWDED)) << level
        })
        .sum();
    (finest, crowded_levels)
}
