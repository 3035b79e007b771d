//! Reference of `shaders/table/octave.wgsl` and the size classes of `shaders/table/sample_statistics.wgsl`.

use crate::api::types::Aabb;
use crate::layout::grid::{Params, flush};
use crate::shared::wgsl::number;

pub(crate) const EXTENT: usize = number("table/octave", "EXTENT") as usize;
pub(crate) const DENSITY: usize = number("table/octave", "DENSITY") as usize;
pub(crate) const ASPECT: usize = number("table/octave", "ASPECT") as usize;
/// Words per shape of cells: cubes, then cells shaped like the boxes.
pub(crate) const SHAPE_WORDS: usize = number("table/octave", "SHAPE_WORDS") as usize;
pub(crate) const STATISTICS: usize = ASPECT + 1;
pub(crate) const OCTAVE_WORDS: usize = number("table/octave", "OCTAVE_WORDS") as usize;

pub(crate) const MIN_EXPONENT: i32 = -100;
pub(crate) const MAX_EXPONENT: i32 = 90;
pub(crate) const OCTAVES: u32 = number("table/octave", "OCTAVES");

pub(crate) fn half_side_bits(object: &Aabb) -> [u32; 3] {
    let half = |value: f32| flush(flush(value) * 0.5);
    [0, 1, 2].map(|axis| flush(half(object.max[axis]) - half(object.min[axis])).to_bits())
}

pub(crate) fn side_bits(object: &Aabb) -> [u32; 3] {
    half_side_bits(object).map(|half| {
        if half == 0 {
            0
        } else {
            (half + 0x0080_0000).min(0x7f7f_ffff)
        }
    })
}

/// Returns the bits of the longest side, with each axis shorter by `octaves`.
pub(crate) fn longest_of(sides: [u32; 3], octaves: [i32; 3]) -> u32 {
    let shorter = |axis: usize| sides[axis].saturating_sub((octaves[axis] as u32) << 23);
    shorter(0).max(shorter(1)).max(shorter(2))
}

pub(crate) fn size_class(side: u32) -> usize {
    (side.wrapping_add(0x001f_ffff) >> 21) as usize
}

/// Sides of typical boxes: nearly all others are at most as long on each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Aspect {
    /// Octaves by which they are longer on an axis than on the shortest one.
    pub octaves: [i32; 3],
    /// Exponent of the shortest side, rounded down.
    pub shortest: i32,
}

const ASPECT_BITS: u32 = number("table/octave", "ASPECT_BITS");
pub(crate) const MAX_ASPECT: i32 = number("table/octave", "MAX_ASPECT") as i32;
const SHORTEST_BIAS: i32 = number("table/octave", "SHORTEST_BIAS") as i32;

impl Aspect {
    pub fn is_long(self) -> bool {
        self.octaves != [0; 3]
    }

    pub fn packed(self) -> u32 {
        let [x, y, z] = self.octaves.map(|octaves| octaves as u32);
        let shortest = (self.shortest + SHORTEST_BIAS) as u32;
        x | y << ASPECT_BITS | z << (2 * ASPECT_BITS) | shortest << (3 * ASPECT_BITS)
    }

    pub fn unpacked(word: u32) -> Self {
        Self {
            octaves: [0, 1, 2].map(|axis| (word >> (axis * ASPECT_BITS)) as i32 & MAX_ASPECT),
            shortest: (word >> (3 * ASPECT_BITS)) as i32 - SHORTEST_BIAS,
        }
    }

    /// Exponents of the sides of cells whose shortest one is `exponent`. Cells that hold typical boxes are cubes.
    /// Smaller ones stay as long as these boxes until they are as thin, and shrink on all axes from there on.
    pub fn cell_exponents(self, exponent: i32) -> [i32; 3] {
        let typical = exponent.min(self.shortest);
        self.octaves
            .map(|octaves| exponent.max(typical + octaves).min(MAX_EXPONENT))
    }
}

pub(crate) fn top_exponent(extent_bits: u32) -> i32 {
    (extent_bits >> 23) as i32 - 126
}

pub(crate) fn octave_exponent(top: i32, octave: u32) -> i32 {
    (top - octave as i32).clamp(MIN_EXPONENT, MAX_EXPONENT)
}

const BOUNDED: u32 = number("table/octave", "BOUNDED");

pub(crate) fn most_pairs(params: &Params) -> u32 {
    1 + (BOUNDED / params.sample_stride.max(1)).min(params.sample_count / 4)
}
