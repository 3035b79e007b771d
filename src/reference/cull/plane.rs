//! A box against a plane: the twin of `shaders/cull/plane.wgsl`. That passes over boxes together, with the same answer.

use crate::shared::grid::flush;
use crate::shared::wgsl::number;

/// Powers of two by which the slack is smaller than the numbers that it is of.
const SLACK: u32 = number("cull/plane", "SLACK");

/// Whether the whole box surely lies outside the plane. Numbers of the plane are finite, and no bound is a NaN.
pub fn is_outside(plane: [f32; 4], low: [f32; 3], high: [f32; 3]) -> bool {
    let farthest: [f32; 3] = std::array::from_fn(|axis| {
        if plane[axis].is_sign_negative() {
            low[axis]
        } else {
            high[axis]
        }
    });
    let counts = |&axis: &usize| farthest[axis].is_infinite() && plane[axis] != 0.0;
    if (0..3).any(|axis| counts(&axis)) {
        let is_ahead = |axis: usize| farthest[axis].is_sign_negative() == plane[axis].is_sign_negative();
        return !(0..3).filter(counts).any(is_ahead);
    }
    let finite = |bound: f32| if bound.is_infinite() { 0.0 } else { bound };
    let bounds = low.into_iter().chain(high).map(|bound| finite(bound).abs());
    let normal = plane[..3].iter().map(|part| part.abs());
    let largest = bounds.chain(normal).fold(2.0, f32::max);
    let [x, y, z] = std::array::from_fn(|axis| flush(flush(plane[axis]) * flush(finite(farthest[axis]))));
    let d = flush(plane[3]);
    let equation = flush(flush(flush(x + y) + z) + d);
    let e = f32::from_bits(largest.to_bits() - (100 << 23));
    let size = x.abs() + y.abs() + z.abs() + d.abs() + e;
    let slack = f32::from_bits(size.to_bits() - (SLACK << 23));
    equation < 0.0 && size.is_finite() && -equation > slack
}
