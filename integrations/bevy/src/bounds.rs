use bevy::camera::primitives::Aabb;
use bevy::math::Affine3A;
use bevy::transform::components::GlobalTransform;

/// Returns an `f32` box around the transformed local box. Each bound is at most one float too far out.
///
/// The box contains every point of the local box, transformed in exact arithmetic. Half extents may be infinite. The
/// result is on all layers, without a group. Returns `None` for a NaN, a negative half extent, or an infinite centre
/// or translation.
pub fn world_aabb(local: &Aabb, transform: &GlobalTransform) -> Option<gpu_broad_phase::Aabb> {
    let Affine3A { matrix3, translation } = transform.affine();
    let columns = [matrix3.x_axis, matrix3.y_axis, matrix3.z_axis].map(|axis| axis.to_array().map(f64::from));
    let [center, half, translation] =
        [local.center, local.half_extents, translation].map(|vector| vector.to_array().map(f64::from));
    if half.iter().any(|half| half.is_nan() || *half < 0.0) {
        return None;
    }
    let (mut min, mut max) = ([0.0; 3], [0.0; 3]);
    for row in 0..3 {
        // A product of two `f32` is exact in `f64`.
        let (mut middle, mut reach) = (Sum::of(translation[row]), Sum::of(0.0));
        for axis in 0..3 {
            let factor = columns[axis][row];
            middle.add(factor * center[axis]);
            // Skips a zero factor, because 0 times an infinite extent would be a NaN.
            if factor != 0.0 {
                reach.add(factor.abs() * half[axis]);
            }
        }
        if !middle.value.is_finite() || reach.value.is_nan() {
            return None;
        }
        min[row] = round_down(middle.minus(reach));
        max[row] = -round_down(middle.negative().minus(reach));
    }
    Some(gpu_broad_phase::Aabb::new(min, max))
}

#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    error: f64,
}

impl Sum {
    fn of(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    fn add(&mut self, term: f64) {
        let sum = self.value + term;
        // Exact rounding error (Knuth's two-sum), or NaN with infinities.
        let taken = sum - self.value;
        let error = ((self.value - (sum - taken)) + (term - taken)).abs();
        self.value = sum;
        if error > 0.0 {
            // The factor 1.5 far exceeds the rounding error of this sum.
            self.error = (self.error + error) * 1.5;
        }
    }

    fn negative(self) -> Self {
        Self {
            value: -self.value,
            ..self
        }
    }

    /// Returns a lower bound of the exact difference.
    fn minus(self, other: Self) -> f64 {
        let mut difference = self;
        difference.add(-other.value);
        let error = difference.error + other.error;
        if error > 0.0 {
            (difference.value - error * 1.5).next_down()
        } else {
            difference.value
        }
    }
}

fn round_down(exact: f64) -> f32 {
    let near = exact as f32;
    if f64::from(near) > exact {
        near.next_down()
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::math::{Quat, Vec3, Vec3A};
    use bevy::transform::components::Transform;

    fn transform(x: f32) -> GlobalTransform {
        Transform::from_xyz(x, -7.25, 1e-3)
            .with_rotation(Quat::from_euler(Default::default(), x, x * 0.7, 1.0 - x))
            .with_scale(Vec3::new(1.0 + x, -0.3, 2.5))
            .into()
    }

    #[test]
    fn corners_lie_inside_and_the_box_is_tight() {
        for step in 0..500 {
            let x = step as f32 * 0.037 - 9.0;
            let (center, half) = (Vec3A::new(x, 3.0, -x * 11.0), Vec3A::new(0.1 + x.abs(), 1e-5, 70.0));
            let local = Aabb {
                center,
                half_extents: half,
            };
            let transform = transform(x);
            let world = world_aabb(&local, &transform).unwrap();
            let affine = transform.affine();
            let (mut min, mut max) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
            for corner in 0..8 {
                let sign = [0, 1, 2].map(|axis| if corner >> axis & 1 == 0 { -1.0 } else { 1.0 });
                let columns = [affine.matrix3.x_axis, affine.matrix3.y_axis, affine.matrix3.z_axis];
                for row in 0..3 {
                    let mut at = f64::from(affine.translation[row]);
                    for axis in 0..3 {
                        let point = f64::from(center[axis]) + sign[axis] * f64::from(half[axis]);
                        at += f64::from(columns[axis][row]) * point;
                    }
                    min[row] = min[row].min(at);
                    max[row] = max[row].max(at);
                }
            }
            for row in 0..3 {
                assert!(f64::from(world.min[row]) <= min[row] && f64::from(world.max[row]) >= max[row]);
                assert!(f64::from(world.min[row].next_up()) >= min[row] - 1e-9);
                assert!(f64::from(world.max[row].next_down()) <= max[row] + 1e-9);
            }
        }
    }

    #[test]
    fn a_box_at_rest_is_itself() {
        let local = Aabb::from_min_max(Vec3::new(-1.0, 0.0, 2.0), Vec3::new(1.0, 0.5, 2.0));
        let world = world_aabb(&local, &GlobalTransform::IDENTITY).unwrap();
        for (axis, (min, max)) in [(-1.0, 1.0), (0.0, 0.5), (2.0, 2.0)].into_iter().enumerate() {
            assert_eq!((world.min[axis], world.max[axis]), (min, max));
        }
    }

    #[test]
    fn what_has_no_box_is_told() {
        let unit = Aabb {
            center: Vec3A::ZERO,
            half_extents: Vec3A::ONE,
        };
        let at = |x| GlobalTransform::from_xyz(x, 0.0, 0.0);
        assert!(world_aabb(&unit, &at(f32::NAN)).is_none());
        assert!(world_aabb(&unit, &at(f32::INFINITY)).is_none());
        assert!(
            world_aabb(
                &Aabb {
                    half_extents: Vec3A::new(1.0, -1.0, 1.0),
                    ..unit
                },
                &at(0.0)
            )
            .is_none()
        );
        let endless = Aabb {
            half_extents: Vec3A::new(f32::INFINITY, 1.0, 1.0),
            ..unit
        };
        let world = world_aabb(&endless, &at(0.0)).unwrap();
        assert_eq!((world.min[0], world.max[0]), (f32::NEG_INFINITY, f32::INFINITY));
        assert!(world.max[1] < 1.1);
    }
}
