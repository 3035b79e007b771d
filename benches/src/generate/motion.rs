//! Moving boxes. Brownian, free fall and gravity are the scenes of Serpa and Rodrigues, "Broadmark: A Testing Framework
//! for Broad-Phase Collision Detection Algorithms" (2020), rebuilt from their description. Nothing collides: each box
//! knows where in a pile it comes to rest.

use std::f64::consts::PI;

use gpu_broad_phase::Aabb;
use rayon::prelude::*;

use super::Random;
use super::boxes::uniform_side;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Velocities change at random; walls reflect.
    Brownian,
    /// Boxes fall, bounce, and come to rest in piles.
    FreeFall,
    /// Orbits around a centre.
    Gravity,
    /// Piles whose boxes tremble ever less, onto which one box in 64 falls.
    Pile,
}

/// Largest random change of a velocity per frame and axis, in mean edges, and the part of a velocity that lasts.
const PUSH: f64 = 0.05;
const KEPT: f64 = 0.9;
/// Frames of a fall through the whole world.
const FALL: f64 = 60.0;
/// Side of the world of falling boxes, in sides of a uniform scene.
const FALL_SIDE: f64 = 2.0;
/// Part of the speed after a bounce.
const BOUNCE: f64 = 0.4;
/// Side of a column of a pile, in mean edges, and height of a box in it, in edges.
const COLUMN: f64 = 1.0;
const PITCH: f64 = 0.9;
/// Largest trembling in a pile, in mean edges, and its decay per frame.
const TREMBLE: f64 = 0.02;
const CALMING: f64 = 0.97;
const FALLING: u32 = 64;
/// Frames of a circular orbit at the border of the world.
const ORBIT: f64 = 240.0;
/// Distance from the centre within which attraction grows no further, in half sides.
const SOFT: f64 = 0.2;

pub struct Moving {
    motion: Motion,
    bodies: Vec<Body>,
    side: f64,
    random: Random,
    tremble: f64,
}

struct Body {
    centre: [f64; 3],
    velocity: [f64; 3],
    half: [f64; 3],
    /// Height of the centre at rest.
    rest: f64,
    falls: bool,
}

impl Motion {
    pub const ALL: [Self; 4] = [Self::Brownian, Self::FreeFall, Self::Gravity, Self::Pile];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Brownian => "brownian",
            Self::FreeFall => "free-fall",
            Self::Gravity => "gravity",
            Self::Pile => "pile",
        }
    }
}

impl Moving {
    /// Creates the first frame. Equal seeds give equal motions.
    pub fn new(motion: Motion, count: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_pile = matches!(motion, Motion::FreeFall | Motion::Pile);
        let side = uniform_side(count, 3) * if is_pile { FALL_SIDE } else { 1.0 };
        let bodies = (0..count).map(|index| Body::new(motion, index, side, &mut random));
        let mut moving = Self {
            motion,
            bodies: bodies.collect(),
            side,
            random,
            tremble: TREMBLE,
        };
        if is_pile {
            moving.find_rest();
        }
        moving
    }

    /// Piles boxes in columns, in the order of their heights.
    fn find_rest(&mut self) {
        let columns = (self.side / COLUMN).ceil().max(1.0) as usize;
        let column = |value: f64| ((value / COLUMN) as usize).min(columns - 1);
        let mut order: Vec<_> = (0..self.bodies.len()).collect();
        order.sort_by(|&a, &b| f64::total_cmp(&self.bodies[a].centre[2], &self.bodies[b].centre[2]));
        let mut heights = vec![0.0; columns * columns];
        for index in order {
            let body = &mut self.bodies[index];
            let height = &mut heights[columns * column(body.centre[1]) + column(body.centre[0])];
            body.rest = *height + body.half[2];
            *height += 2.0 * PITCH * body.half[2];
            body.centre[2] = if body.falls {
                body.centre[2].max(body.rest)
            } else {
                body.rest
            };
        }
    }

    /// Advances by a frame.
    pub fn step(&mut self) {
        let side = self.side;
        let pull = 2.0 * side / (FALL * FALL);
        match self.motion {
            Motion::Brownian => {
                for body in &mut self.bodies {
                    body.wander(side, &mut self.random);
                }
            }
            Motion::FreeFall => self.bodies.par_iter_mut().for_each(|body| body.fall(pull)),
            Motion::Gravity => self.bodies.par_iter_mut().for_each(|body| body.orbit(side)),
            Motion::Pile => {
                self.tremble *= CALMING;
                for body in &mut self.bodies {
                    if body.falls {
                        body.fall(pull);
                    } else {
                        body.tremble(self.tremble, &mut self.random);
                    }
                }
            }
        }
    }

    pub fn boxes(&self) -> Vec<Aabb> {
        self.bodies.par_iter().map(Body::bounds).collect()
    }
}

impl Body {
    fn new(motion: Motion, index: u32, side: f64, random: &mut Random) -> Self {
        let half = [(); 3].map(|()| random.between(0.25, 0.75));
        let mut body = Self {
            centre: [(); 3].map(|()| random.between(0.0, side)),
            velocity: [0.0; 3],
            half,
            rest: 0.0,
            falls: motion == Motion::FreeFall || index.is_multiple_of(FALLING),
        };
        match motion {
            Motion::Brownian => body.velocity = [(); 3].map(|()| random.between(-PUSH, PUSH)),
            Motion::Gravity => {
                // Slower than a circular orbit, so that boxes approach the centre.
                let turn = random.between(0.5, 1.0) * 2.0 * PI / ORBIT;
                let [x, y, _] = body.centre.map(|value| turn * (value - 0.5 * side));
                body.velocity = [-y, x, 0.0];
            }
            Motion::FreeFall | Motion::Pile => {}
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

    fn tremble(&mut self, most: f64, random: &mut Random) {
        for value in &mut self.centre {
            *value += random.between(-most, most);
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
        self.velocity[2] = if speed > 2.0 * pull { speed } else { 0.0 };
    }

    fn orbit(&mut self, side: f64) {
        let reach = 0.5 * side;
        let away = self.centre.map(|value| value - reach);
        let square: f64 = away.iter().map(|value| value * value).sum();
        let soft = square + (SOFT * reach) * (SOFT * reach);
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

    #[test]
    fn equal_seeds_give_equal_motions_and_boxes_come_to_rest() {
        let bits = |moving: &Moving| -> Vec<_> {
            let boxes = moving.boxes();
            boxes.iter().map(|object| object.min.map(f32::to_bits)).collect()
        };
        for motion in Motion::ALL {
            let [mut one, mut other] = [(); 2].map(|()| Moving::new(motion, 500, 3));
            for frame in 0..240 {
                assert_eq!(bits(&one), bits(&other), "{motion:?}, frame {frame}");
                let before = bits(&one);
                one.step();
                other.step();
                let is_at_rest = bits(&one) == before;
                let may_rest = motion == Motion::FreeFall && frame > 60;
                assert!(is_at_rest <= may_rest, "{motion:?}, frame {frame}");
                assert!(is_at_rest || motion != Motion::FreeFall || frame < 230, "frame {frame}");
            }
            assert_ne!(bits(&one), bits(&Moving::new(motion, 500, 4)));
        }
    }
}
