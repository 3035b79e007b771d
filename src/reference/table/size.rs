//! Reference of `shaders/table/octave.wgsl` and the size classes of `shaders/table/sample_statistics.wgsl`.

use crate::api::types::Aabb;
use crate::layout::grid::{Params, flush};
use crate::shared::wgsl::number;

pub(crate) const EXTENT: usize = number("table/octave", "EXTENT") as usize;
pub(crate) const DENSITY: usize = number("table/octave", "DENSITY") as usize;
pub(crate) const STATISTICS: usize = DENSITY + OCTAVE_WORDS * OCTAVES as usize;
pub(crate) const OCTAVE_WORDS: usize = number("table/octave", "OCTAVE_WORDS") as usize;

pub(crate) const MIN_EXPONENT: i32 = -100;
pub(crate) const MAX_EXPONENT: i32 = 90;
pub(crate) const OCTAVES: u32 = number("table/octave", "OCTAVES");

pub(crate) fn longest_side_bits(object: &Aabb) -> u32 {
    let half = |value: f32| flush(flush(value) * 0.5);
    let half_side = (0..3)
        .map(|axis| flush(half(object.max[axis]) - half(object.min[axis])))
        .fold(0.0, f32::max);
    match half_side.to_bits() {
        0 => 0,
        bits => bits.wrapping_add(0x0080_0000).min(0x7f7f_ffff),
    }
}

pub(crate) fn size_class(object: &Aabb) -> usize {
    (longest_side_bits(object).wrapping_add(0x001f_ffff) >> 21) as usize
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
