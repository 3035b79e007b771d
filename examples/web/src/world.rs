//! Where the boxes begin, and the space that they move in.

use glam::{Vec2, Vec3};
use gpu_broad_phase::Dimensions;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::settings::{Settings, Sizes};

/// As the shader has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Body {
    pub center: Vec3,
    /// Half an edge; the shader makes edges of different length of it.
    pub half_edge: f32,
    pub velocity: Vec3,
    /// From 0 to 1: makes each body a little different.
    pub phase: f32,
}

/// Half edges are at most this much longer than [`Body::half_edge`], as in the shader.
const LONGEST: f32 = 1.35;
/// Units of volume a box has to itself in three dimensions.
const SPACE_3D: f32 = 3.375;
/// Towards the middle, a second squared: as the shader has it.
const PULL: f32 = 0.6;
/// Of the half edges: how far boxes in three dimensions spread.
const SPREAD: f32 = 0.4;

/// Half edges of a space around the origin with room for so many boxes; in two dimensions of the shape of the view.
pub fn reach(dimensions: Dimensions, boxes: u32, aspect: f32) -> Vec3 {
    // A handful of boxes still has room to move.
    let boxes = boxes.max(16) as f32;
    match dimensions {
        Dimensions::Two => (Vec2::new(aspect.sqrt(), aspect.sqrt().recip()) * (0.5 * boxes.sqrt())).extend(0.0),
        Dimensions::Three => Vec3::splat(0.5 * (SPACE_3D * boxes).cbrt()),
    }
}

struct Random(ChaCha8Rng);

impl Random {
    /// 0 to 1, without 1.
    fn unit(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 / (1 << 24) as f32
    }

    /// -1 to 1.
    fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    /// The sum of three is close enough to a normal distribution, of variance one here and within 3.
    fn normal(&mut self) -> f32 {
        self.signed() + self.signed() + self.signed()
    }
}

impl Sizes {
    /// A factor of the middle size.
    fn draw(self, random: &mut Random) -> f32 {
        match self {
            Self::Equal => 1.0,
            Self::Mixed => (1.0 * random.signed()).exp(),
            // A few thirty times as large as most.
            Self::PowerLaw => 0.55 * random.unit().max(4e-4).powf(-0.5),
        }
    }
}

/// The same for the same settings and shape.
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
