//! Boxes that move, frame by frame: the three scenes of Broadmark (Serpa and Rodrigues, "Broadmark: A Testing Framework
//! for Broad-Phase Collision Detection Algorithms", Computer Graphics Forum, 2020), made anew from their description.
//! Nothing here collides. What should look like a pile is one, because each box knows from the start where it will lie.

use std::f64::consts::PI;

use gpu_broad_phase::Aabb;
use rayon::prelude::*;

use super::Random;
use super::boxes::uniform_side;

/// How boxes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Each at random, with a velocity that is pushed at random in every frame. Walls throw boxes back.
    Brownian,
    /// Down to the floor, where boxes bounce and come to rest in piles.
    FreeFall,
    /// Around a centre that attracts them.
    Gravity,
}

impl Motion {
    pub const ALL: [Self; 3] = [Self::Brownian, Self::FreeFall, Self::Gravity];

    /// What the command line calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brownian => "brownian",
            Self::FreeFall => "free-fall",
            Self::Gravity => "gravity",
        }
    }
}

/// The largest random push per frame and axis, in mean edges.
const PUSH: f64 = 0.05;
/// The part of its velocity that a box keeps from frame to frame, so that pushes do not add up without end.
const KEPT: f64 = 0.9;
/// Frames in which a box falls through the whole height of the world.
const FALL: f64 = 60.0;
/// The world of falling boxes against that of boxes at rest: there has to be room to fall.
const FALL_SIDE: f64 = 2.0;
/// The part of its speed with which a box leaves the floor.
const BOUNCE: f64 = 0.4;
/// A side of the columns that piles grow in, in mean edges.
const COLUMN: f64 = 1.0;
/// Boxes of a pile lie a little in each other: their pitch is this part of an edge.
const PITCH: f64 = 0.9;
/// Frames of a circular orbit at the edge of the world.
const ORBIT: f64 = 240.0;
/// Near the centre attraction grows no further: in half sides of the world.
const SOFT: f64 = 0.2;

/// Boxes in motion.
pub struct Moving {
    motion: Motion,
    bodies: Vec<Body>,
    side: f64,
    random: Random,
}

struct Body {
    centre: [f64; 3],
    velocity: [f64; 3],
    half: [f64; 3],
    /// Where a falling box comes to rest: the height of its centre.
    rest: f64,
}

impl Moving {
    /// The first frame. Equal seeds make equal motions.
    pub fn new(motion: Motion, count: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let stretch = if motion == Motion::FreeFall { FALL_SIDE } else { 1.0 };
        let side = stretch * uniform_side(count, 3);
        let bodies = (0..count).map(|_| Body::new(motion, side, &mut random)).collect();
        let mut moving = Self {
            motion,
            bodies,
            side,
            random,
        };
        if motion == Motion::FreeFall {
            moving.find_rest();
        }
        moving
    }

    /// Where each falling box will lie: on those that begin below it in its column.
    fn find_rest(&mut self) {
        let columns = (self.side / COLUMN).ceil().max(1.0) as usize;
        let column = |value: f64| ((value / COLUMN) as usize).min(columns - 1);
        let mut order: Vec<_> = (0..self.bodies.len()).collect();
        // Stable: boxes of one height keep their order on every machine.
        order.sort_by(|&a, &b| f64::total_cmp(&self.bodies[a].centre[2], &self.bodies[b].centre[2]));
        let mut heights = vec![0.0; columns * columns];
        for index in order {
            let body = &mut self.bodies[index];
            let height = &mut heights[columns * column(body.centre[1]) + column(body.centre[0])];
            body.rest = *height + body.half[2];
            *height += 2.0 * PITCH * body.half[2];
            // No box begins below the place where it will lie.
            body.centre[2] = body.centre[2].max(body.rest);
        }
    }

    /// Moves on by a frame.
    pub fn step(&mut self) {
        let side = self.side;
        match self.motion {
            Motion::Brownian => {
                for body in &mut self.bodies {
                    body.wander(side, &mut self.random);
                }
            }
            Motion::FreeFall => {
                let pull = 2.0 * side / (FALL * FALL);
                self.bodies.par_iter_mut().for_each(|body| body.fall(pull));
            }
            Motion::Gravity => self.bodies.par_iter_mut().for_each(|body| body.orbit(side)),
        }
    }

    /// The boxes of this frame.
    pub fn write(&self, boxes: &mut Vec<Aabb>) {
        self.bodies.par_iter().map(Body::bounds).collect_into_vec(boxes);
    }
}

impl Body {
    fn new(motion: Motion, side: f64, random: &mut Random) -> Self {
        let half = [(); 3].map(|()| random.between(0.25, 0.75));
        let mut body = Self {
            centre: [(); 3].map(|()| random.between(0.0, side)),
            velocity: [0.0; 3],
            half,
            rest: 0.0,
        };
        match motion {
            Motion::Brownian => body.velocity = [(); 3].map(|()| random.between(-PUSH, PUSH)),
            Motion::FreeFall => {}
            Motion::Gravity => {
                // Around an upright axis, and slower than a circle asks for: orbits dive towards the centre.
                let turn = random.between(0.5, 1.0) * 2.0 * PI / ORBIT;
                let [x, y, _] = body.centre.map(|value| turn * (value - 0.5 * side));
                body.velocity = [-y, x, 0.0];
            }
        }
        body
    }

    fn wander(&mut self, side: f64, random: &mut Random) {
        for axis in 0..3 {
            let velocity = &mut self.velocity[axis];
            *velocity = KEPT * *velocity + random.between(-PUSH, PUSH);
            let centre = &mut self.centre[axis];
            *centre += *velocity;
            if *centre < 0.0 || *centre > side {
                *velocity = -*velocity;
                *centre = centre.clamp(0.0, side);
            }
        }
    }

    fn fall(&mut self, pull: f64) {
        self.velocity[2] -= pull;
        self.centre[2] += self.velocity[2];
        if self.centre[2] > self.rest {
            return;
        }
        self.centre[2] = self.rest;
        let speed = -self.velocity[2] * BOUNCE;
        // One that would not leave the floor for a frame lies still.
        self.velocity[2] = if speed > 2.0 * pull { speed } else { 0.0 };
    }

    fn orbit(&mut self, side: f64) {
        let reach = 0.5 * side;
        let away = self.centre.map(|value| value - reach);
        let square: f64 = away.iter().map(|value| value * value).sum();
        let soft = square + (SOFT * reach) * (SOFT * reach);
        // As strong as a circular orbit at the edge of the world asks for.
        let turn = 2.0 * PI / ORBIT;
        let pull = turn * turn * (reach * reach * reach) / (soft * soft.sqrt());
        for (axis, away) in away.into_iter().enumerate() {
            self.velocity[axis] -= pull * away;
            self.centre[axis] += self.velocity[axis];
        }
    }

    fn bounds(&self) -> Aabb {
        let corner = |sign: f64| std::array::from_fn(|axis| (self.centre[axis] + sign * self.half[axis]) as f32);
        Aabb::new(corner(-1.0), corner(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(motion: Motion, seed: u64, count: usize) -> Vec<Vec<Aabb>> {
        let mut moving = Moving::new(motion, 500, seed);
        let frame = |_| {
            let mut boxes = Vec::new();
            moving.write(&mut boxes);
            moving.step();
            boxes
        };
        (0..count).map(frame).collect()
    }

    fn bits(frames: &[Vec<Aabb>]) -> Vec<[u32; 3]> {
        let boxes = frames.iter().flatten();
        boxes.map(|boxed| boxed.min.map(f32::to_bits)).collect()
    }

    #[test]
    fn equal_seeds_make_equal_motions_and_every_frame_is_another() {
        for motion in Motion::ALL {
            let one = frames(motion, 3, 20);
            assert_eq!(bits(&one), bits(&frames(motion, 3, 20)));
            assert_ne!(bits(&one), bits(&frames(motion, 4, 20)));
            for two in one.windows(2) {
                assert_ne!(bits(&two[..1]), bits(&two[1..]), "{motion:?}");
            }
            let finite = |boxed: &Aabb| (0..3).all(|axis| boxed.min[axis] < boxed.max[axis]);
            assert!(one.iter().flatten().all(finite));
        }
    }

    #[test]
    fn falling_boxes_come_to_rest_above_the_floor() {
        let frames = frames(Motion::FreeFall, 1, 240);
        assert_eq!(bits(&frames[238..239]), bits(&frames[239..]), "nothing moves any more");
        let lowest = |boxes: &[Aabb]| boxes.iter().map(|boxed| boxed.min[2]).fold(f32::INFINITY, f32::min);
        assert!(lowest(&frames[239]).abs() < 1e-6);
        let highest = |boxes: &[Aabb]| boxes.iter().map(|boxed| boxed.max[2]).fold(0.0, f32::max);
        assert!(highest(&frames[239]) < 0.5 * highest(&frames[0]));
    }

    #[test]
    fn wanderers_stay_in_the_world_and_orbits_stay_near() {
        let side = uniform_side(500, 3) as f32;
        for (motion, slack) in [(Motion::Brownian, 1.0), (Motion::Gravity, side)] {
            let is_near = |boxed: &Aabb| (0..3).all(|axis| boxed.min[axis] > -slack && boxed.max[axis] < side + slack);
            assert!(frames(motion, 2, 120).iter().flatten().all(is_near), "{motion:?}");
        }
    }
}
