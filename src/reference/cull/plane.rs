//! Test of a box against a plane: functions of `shaders/cull/cull_objects.wgsl`.

use crate::layout::grid::flush;
use crate::shared::wgsl::number;

const SLACK: u32 = number("cull/cull_objects", "SLACK");
const COMMON_SLACK: u32 = number("cull/cull_objects", "COMMON_SLACK");
const COMMON_LIMIT: u32 = number("cull/cull_objects", "COMMON_LIMIT");

/// Result for all boxes inside a common box; `Crossed` if some may be inside, some outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Crossed,
    Outside,
    Inside,
}

struct Equation {
    value: f32,
    size: f32,
}

impl Equation {
    fn of(plane: [f32; 4], corner: [f32; 3], largest: f32) -> Self {
        let [x, y, z] = std::array::from_fn(|axis| flush(flush(plane[axis]) * flush(corner[axis])));
        let d = flush(plane[3]);
        let largest = plane[..3]
            .iter()
            .map(|part| part.abs())
            .fold(largest.max(2.0), f32::max);
        let e = f32::from_bits(largest.to_bits() - (100 << 23));
        Self {
            value: flush(flush(flush(x + y) + z) + d),
            size: x.abs() + y.abs() + z.abs() + d.abs() + e,
        }
    }

    fn is_below(&self, slack: u32) -> bool {
        let slack = f32::from_bits(self.size.to_bits() - (slack << 23));
        self.value < 0.0 && self.size.is_finite() && -self.value > slack
    }
}

fn farthest(plane: [f32; 4], low: [f32; 3], high: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|axis| {
        if plane[axis].is_sign_negative() {
            low[axis]
        } else {
            high[axis]
        }
    })
}

fn finite(bound: f32) -> f32 {
    if bound.is_infinite() { 0.0 } else { bound }
}

fn largest(low: [f32; 3], high: [f32; 3]) -> f32 {
    let bounds = low.into_iter().chain(high);
    bounds.map(|bound| finite(bound).abs()).fold(0.0, f32::max)
}

/// True if the whole box is certainly outside the finite plane. No bound may be NaN.
pub fn is_outside(plane: [f32; 4], low: [f32; 3], high: [f32; 3]) -> bool {
    let corner = farthest(plane, low, high);
    let counts = |&axis: &usize| corner[axis].is_infinite() && plane[axis] != 0.0;
    if (0..3).any(|axis| counts(&axis)) {
        let is_ahead = |axis: usize| corner[axis].is_sign_negative() == plane[axis].is_sign_negative();
        return !(0..3).filter(counts).any(is_ahead);
    }
    Equation::of(plane, corner.map(finite), largest(low, high)).is_below(SLACK)
}

pub fn side_of_common(plane: [f32; 4], low: [f32; 3], high: [f32; 3]) -> Side {
    if low.iter().chain(&high).any(|bound| bound.is_infinite()) {
        return Side::Crossed;
    }
    let most = largest(low, high);
    let first = Equation::of(plane, farthest(plane, low, high), most);
    let last = Equation::of(plane, farthest(plane, high, low), most);
    if first.size.max(last.size).to_bits() >= COMMON_LIMIT {
        Side::Crossed
    } else if first.is_below(COMMON_SLACK) {
        Side::Outside
    } else if last.value >= 0.0 {
        Side::Inside
    } else {
        Side::Crossed
    }
}
