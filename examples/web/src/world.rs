use glam::{Vec2, Vec3};
use gpu_broad_phase::Dimensions;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::settings::{Settings, Sizes};

/// Layout as in the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Body {
    pub center: Vec3,
    /// Half the base edge.
    pub half_edge: f32,
    pub velocity: Vec3,
    /// Phase of drift and shape, 0 to 1.
    pub phase: f32,
}

/// Largest half extent / [`Body::half_edge`], as in the shader.
const LONGEST: f32 = 1.35;
/// Volume of space per box in 3D.
const SPACE_3D: f32 = 3.375;
/// As in the shader.
const PULL: f32 = 0.6;
/// Standard deviation of positions, in half edges of the space.
const SPREAD: f32 = 0.4;

/// Half edges of the space. In 2D, it has the view's aspect.
pub fn reach(dimensions: Dimensions, boxes: u32, aspect: f32) -> Vec3 {
    let boxes = boxes.max(16) as f32;
    match dimensions {
        Dimensions::Two => (Vec2::new(aspect.sqrt(), aspect.sqrt().recip()) * (0.5 * boxes.sqrt())).extend(0.0),
        Dimensions::Three => Vec3::splat(0.5 * (SPACE_3D * boxes).cbrt()),
    }
}

struct Random(ChaCha8Rng);

impl Random {
    fn unit(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 / (1 << 24) as f32
    }

    fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    /// Approximately normally distributed, from -3 to 3.
    fn normal(&mut self) -> f32 {
        self.signed() + self.signed() + self.signed()
    }
}

impl Sizes {
    fn draw(self, random: &mut Random) -> f32 {
        match self {
            Self::Equal => 1.0,
            Self::Mixed => (1.0 * random.signed()).exp(),
            Self::PowerLaw => 0.55 * random.unit().max(4e-4).powf(-0.5),
        }
    }
}

/// Deterministic for equal settings and `reach`.
pub fn bodies(settings: &Settings, reach: Vec3) -> impl Iterator<Item = Body> {
    let settings = *settings;
    let mut random = Random(ChaCha8Rng::seed_from_u64(settings.seed));
    let is_flat = settings.dimensions == Dimensions::Two;
    let longest = 0.4
        * if is_flat {
            reach.truncate().min_element()
        } else {
            reach.x
        };
    (0..settings.boxes).map(move |_| {
        let half_edge = (0.5 * settings.size * settings.sizes.draw(&mut random)).min(longest);
        let room = (reach - LONGEST * half_edge).max(Vec3::ZERO);
        let (center, velocity) = if is_flat {
            let at = Vec2::new(random.signed(), random.signed());
            (room * at.extend(0.0), Vec3::ZERO)
        } else {
            let at = Vec3::from_array([0; 3].map(|_| random.normal()));
            let velocity = Vec3::from_array([0; 3].map(|_| random.normal()));
            let center = (SPREAD * reach * at).clamp(-room, room);
            (center, SPREAD * PULL.sqrt() * reach * velocity)
        };
        Body {
            center,
            half_edge,
            velocity,
            phase: random.unit(),
        }
    })
}

#[cfg(test)]
mod tests {
    use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, cpu};

    use super::*;

    #[test]
    fn worlds_begin_within_their_walls_with_about_the_same_pairs_a_box() {
        for dimensions in [Dimensions::Two, Dimensions::Three] {
            for sizes in [Sizes::Equal, Sizes::Mixed, Sizes::PowerLaw] {
                for boxes in [1, 2_000, 20_000] {
                    let settings = Settings {
                        dimensions,
                        sizes,
                        boxes,
                        ..Settings::default()
                    };
                    let reach = reach(dimensions, boxes, 1.6);
                    let bodies: Vec<_> = bodies(&settings, reach).collect();
                    assert_eq!(bodies.len(), boxes as usize);
                    let boxes: Vec<_> = bodies
                        .iter()
                        .map(|body| {
                            let half = Vec3::splat(body.half_edge);
                            assert!((body.center.abs() + half).cmple(reach.max(half)).all(), "{body:?}");
                            Aabb::new((body.center - half).into(), (body.center + half).into())
                        })
                        .collect();
                    let descriptor = BroadPhaseDescriptor {
                        dimensions,
                        ..BroadPhaseDescriptor::default()
                    };
                    let found = cpu::step(&descriptor, &boxes, &[]).expect("a small scene");
                    let share = found.pairs.len() as f32 / boxes.len() as f32;
                    assert!(boxes.len() == 1 || (0.1..8.0).contains(&share), "{settings:?}: {share}");
                }
            }
        }
    }
}
