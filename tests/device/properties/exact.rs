//! Exact ray tests. Coordinates are multiples of 2^-30, and ray parameters are fractions.

use super::*;

const ONE: i128 = 1 << 30;

fn whole(value: f32) -> i128 {
    let scaled = f64::from(value) * ONE as f64;
    assert!(
        scaled.fract() == 0.0 && scaled.abs() < 2f64.powi(42),
        "{value} is no such multiple"
    );
    scaled as i128
}

/// Numerator and positive denominator.
#[derive(Clone, Copy, Debug)]
struct Fraction(i128, i128);

impl Fraction {
    fn at_most(self, other: Self) -> bool {
        self.0 * other.1 <= other.0 * self.1
    }

    fn max(self, other: Self) -> Self {
        if self.at_most(other) { other } else { self }
    }

    fn min(self, other: Self) -> Self {
        if self.at_most(other) { self } else { other }
    }

    /// Raises the fraction by a part in 2^20.
    fn widened(self) -> Self {
        Self(self.0 * ((1 << 20) + 1), self.1 << 20)
    }

    fn value(self) -> f64 {
        self.0 as f64 / self.1 as f64
    }
}

/// Returns the parameter of entry, and true if the ray hits. `slack` enlarges the box and the far parameter by a part
/// in 2^20.
pub fn enter(axes: usize, margin: f32, ray: &SweptRay, object: &Aabb, slack: bool) -> (f64, bool) {
    let mut near = Fraction(whole(ray.t_min.max(0.0)), ONE);
    let mut far = (ray.ray.t_max < f32::INFINITY).then(|| Fraction(whole(ray.ray.t_max), ONE));
    let mut passes = true;
    for axis in 0..axes {
        let growth = whole(margin) + whole(ray.half_extents[axis]);
        let bound = |bound: f32, side: i128| {
            let rounding = if slack && growth > 0 {
                ((whole(bound).abs() + growth) >> 20) + 1
            } else {
                0
            };
            whole(bound) + side * (growth + rounding)
        };
        let (low, high) = (bound(object.min[axis], -1), bound(object.max[axis], 1));
        let (origin, direction) = (whole(ray.ray.origin[axis]), whole(ray.ray.direction[axis]));
        if direction == 0 {
            passes &= low <= origin && origin <= high;
            continue;
        }
        let (first, last) = if direction > 0 { (low, high) } else { (high, low) };
        let at = |bound: i128| Fraction((bound - origin) * direction.signum(), direction.abs());
        near = near.max(at(first));
        far = Some(far.map_or(at(last), |far| far.min(at(last))));
    }
    let meets = far.is_none_or(|far| near.at_most(if slack { far.widened() } else { far }));
    (near.value(), passes && meets)
}
