//! The exact ray-box test, for peers that traverse their own trees.

use gpu_broad_phase::{Aabb, Ray};

#[derive(Clone, Copy)]
pub struct PreparedRay {
    origin: [f32; 3],
    inverse: [f32; 3],
    moves: [bool; 3],
    t_max: f32,
}

impl PreparedRay {
    pub fn new(ray: &Ray) -> Self {
        let moves = ray.direction.map(|component| component.abs() >= f32::MIN_POSITIVE);
        Self {
            origin: ray.origin,
            inverse: std::array::from_fn(|axis| if moves[axis] { 1.0 / ray.direction[axis] } else { 1.0 }),
            moves,
            t_max: ray.t_max.min(f32::MAX),
        }
    }
}

/// Widens the far side as the library does, so that rounding loses no hit.
const FAR_WIDENING: f32 = 1.0 + 4.0 * f32::EPSILON;

/// Parameter at which the ray enters the box. For finite input, it equals the library's bit for bit.
pub fn enter(ray: &PreparedRay, boxed: &Aabb) -> Option<f32> {
    let (mut t, mut limit) = (0.0_f32, ray.t_max * FAR_WIDENING);
    for axis in 0..3 {
        let (low, high, origin) = (boxed.min[axis], boxed.max[axis], ray.origin[axis]);
        let (near, far) = if ray.moves[axis] {
            let at = |bound: f32| (bound - origin) * ray.inverse[axis];
            let (one, other) = (at(low), at(high));
            (one.min(other), one.max(other) * FAR_WIDENING)
        } else if low <= origin && origin <= high {
            (0.0, f32::MAX)
        } else {
            (0.0, -1.0)
        };
        t = t.max(near);
        limit = limit.min(far);
    }
    (t <= limit && t <= f32::MAX).then_some(t.min(ray.t_max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Distribution, Random, boxes};
    use gpu_broad_phase::{BroadPhaseDescriptor, QueryInput, Scene, Source, reference::brute_force};

    #[test]
    fn rays_enter_boxes_where_the_library_says() {
        let random = &mut Random::new(5);
        let objects = Distribution::Uniform.boxes(300, 3, random);
        let world = [[0.0; 3], [7.0; 3]];
        let mut rays: Vec<_> = boxes::rays(300, 3, world, 3.0, random)
            .chunks_exact(7)
            .map(|row| Ray::new([row[0], row[1], row[2]], [row[3], row[4], row[5]], row[6]))
            .collect();
        for (index, ray) in rays.iter_mut().enumerate().step_by(3) {
            ray.direction[index / 3 % 3] = 0.0;
            ray.origin[0] = objects[index].max[0];
        }
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                rays: rays.as_slice().into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let expected = brute_force::scene_rays(&BroadPhaseDescriptor::default(), &scene).unwrap();
        for (ray, expected) in rays.iter().zip(expected) {
            let ray = PreparedRay::new(ray);
            let found: Vec<_> = (0..)
                .zip(&objects)
                .filter_map(|(object, boxed)| Some((object, enter(&ray, boxed)?.to_bits())))
                .collect();
            let expected: Vec<_> = expected.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
            assert_eq!(found, expected);
        }
    }
}
