//! A square cloth that falls over a ball: position-based dynamics in small time steps. Only + − · / and √ of f64 are
//! used, for the same bytes on every machine.

use std::collections::HashMap;

use crate::report::Reporter;
use measure::generate::Random;

const SIDE: f64 = 2.0;
const RADIUS: f64 = 0.5;
const START: f64 = 0.52;
/// Frames of 1/60 s before the first written one, when the cloth has met the ball, and its rim still falls.
const FRAMES: u32 = 24;
const SUBSTEPS: u32 = 16;
const STEP: f64 = 1.0 / (60.0 * SUBSTEPS as f64);
const GRAVITY: f64 = 9.81;
const SKIN: f64 = 0.01;
/// Fraction of the motion of a touching vertex that a step removes.
const FRICTION: f64 = 0.3;

type Vector = [f64; 3];

struct Spring {
    ends: [usize; 2],
    length: f64,
    stiffness: f64,
}

/// In both frames, cloth vertices precede those of the ball.
pub fn simulate(count: u32, seed: u64, reporter: Reporter) -> ([Vec<[f32; 3]>; 2], Vec<[u32; 3]>) {
    let (ball, ball_faces) = ball(count / 4);
    let edge = (2..)
        .find(|edge| edge * edge + ball.len() >= count as usize)
        .unwrap_or(2);
    let mut cloth = Cloth::new(edge, seed);

    let bar = reporter.bar(u64::from(FRAMES), "falling");
    for _ in 0..FRAMES {
        cloth.frame();
        bar.inc(1);
    }
    bar.finish_and_clear();
    let frame = |cloth: &Cloth| -> Vec<[f32; 3]> {
        let all = cloth.positions.iter().chain(&ball);
        all.map(|at| at.map(|value| value as f32)).collect()
    };
    let first = frame(&cloth);
    cloth.frame();
    let second = frame(&cloth);

    let mut faces = cloth.faces();
    let base = cloth.positions.len() as u32;
    faces.extend(ball_faces.iter().map(|face| face.map(|vertex| vertex + base)));
    ([first, second], faces)
}

struct Cloth {
    edge: usize,
    positions: Vec<Vector>,
    velocities: Vec<Vector>,
    springs: Vec<Spring>,
}

impl Cloth {
    fn new(edge: usize, seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let spacing = SIDE / (edge - 1) as f64;
        let at = |row: usize, column: usize| row * edge + column;
        let mut positions = Vec::with_capacity(edge * edge);
        let mut springs = Vec::new();
        for row in 0..edge {
            for column in 0..edge {
                let height = START + 0.02 * spacing * random.between(-1.0, 1.0);
                let [x, y] = [row, column].map(|index| index as f64 * spacing - SIDE / 2.0);
                positions.push([x + 0.06, y - 0.03, height + 0.05 * x]);
                // Springs to neighbours keep lengths, diagonal ones angles, those to vertices two apart limit creasing.
                for (down, right, stiffness) in [
                    (0, 1, 1.0),
                    (1, 0, 1.0),
                    (1, 1, 0.5),
                    (1, -1, 0.5),
                    (0, 2, 0.05),
                    (2, 0, 0.05),
                ] {
                    let to = (row + down, column as i64 + right);
                    if to.0 < edge && (0..edge as i64).contains(&to.1) {
                        let squares = (down * down) as f64 + (right * right) as f64;
                        springs.push(Spring {
                            ends: [at(row, column), at(to.0, to.1 as usize)],
                            length: spacing * squares.sqrt(),
                            stiffness,
                        });
                    }
                }
            }
        }
        Self {
            edge,
            velocities: vec![[0.0; 3]; positions.len()],
            positions,
            springs,
        }
    }

    fn frame(&mut self) {
        for _ in 0..SUBSTEPS {
            self.step();
        }
    }

    fn step(&mut self) {
        let before = self.positions.clone();
        for (position, velocity) in self.positions.iter_mut().zip(&mut self.velocities) {
            velocity[2] -= GRAVITY * STEP;
            for axis in 0..3 {
                position[axis] += velocity[axis] * STEP;
            }
        }
        for spring in &self.springs {
            let [a, b] = spring.ends;
            let along = sub(self.positions[b], self.positions[a]);
            let distance = length(along);
            if distance > 0.0 {
                let share = 0.5 * spring.stiffness * (distance - spring.length) / distance;
                for (axis, along) in along.into_iter().enumerate() {
                    self.positions[a][axis] += share * along;
                    self.positions[b][axis] -= share * along;
                }
            }
        }
        for (position, &before) in self.positions.iter_mut().zip(&before) {
            *position = outside_ball(*position, before);
        }
        for ((velocity, position), before) in self.velocities.iter_mut().zip(&self.positions).zip(&before) {
            *velocity = sub(*position, *before).map(|moved| 0.999 * moved / STEP);
        }
    }

    fn faces(&self) -> Vec<[u32; 3]> {
        let cells = self.edge - 1;
        let mut faces = Vec::with_capacity(2 * cells * cells);
        for row in 0..cells {
            for column in 0..cells {
                let corner = (row * self.edge + column) as u32;
                let below = corner + self.edge as u32;
                // Alternating diagonals avoid a preferred direction.
                if (row + column) % 2 == 0 {
                    faces.extend([[corner, below, below + 1], [corner, below + 1, corner + 1]]);
                } else {
                    faces.extend([[corner, below, corner + 1], [corner + 1, below, below + 1]]);
                }
            }
        }
        faces
    }
}

fn outside_ball(position: Vector, before: Vector) -> Vector {
    let distance = length(position);
    let least = RADIUS + SKIN;
    if distance >= least || distance == 0.0 {
        return position;
    }
    let out = position.map(|value| value * least / distance);
    let moved = sub(out, before);
    std::array::from_fn(|axis| out[axis] - FRICTION * moved[axis])
}

/// A sphere of about `count` vertices: an octahedron whose faces are split repeatedly.
fn ball(count: u32) -> (Vec<Vector>, Vec<[u32; 3]>) {
    let mut vertices: Vec<Vector> = vec![
        [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
    ];
    let mut faces = vec![
        [0, 2, 4],
        [2, 1, 4],
        [1, 3, 4],
        [3, 0, 4],
        [2, 0, 5],
        [1, 2, 5],
        [3, 1, 5],
        [0, 3, 5],
    ];
    // Splitting all faces turns V vertices into 4 V − 6.
    while 4 * vertices.len() - 6 <= count as usize {
        let mut middles = HashMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let [a, b] = [a, b].map(|vertex| vertices[vertex as usize]);
                let sum = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
                let size = length(sum);
                vertices.push(sum.map(|value| value / size));
                vertices.len() as u32 - 1
            })
        };
        let split = faces.iter().flat_map(|&[a, b, c]| {
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        });
        faces = split.collect();
    }
    let scaled = vertices.into_iter().map(|vertex| vertex.map(|value| value * RADIUS));
    (scaled.collect(), faces)
}

fn sub(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn length(vector: Vector) -> f64 {
    (vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cloth_lies_on_the_ball_and_moves() {
        let ([first, second], faces) = simulate(700, 1, Reporter { quiet: true });
        let (ball, _) = ball(175);
        let cloth = first.len() - ball.len();
        assert!((650..=760).contains(&first.len()), "{} vertices", first.len());
        assert!(faces.iter().flatten().all(|&vertex| (vertex as usize) < first.len()));
        let above = |at: &[f32; 3]| length(at.map(f64::from)) >= RADIUS;
        assert!(first[..cloth].iter().all(above) && second[..cloth].iter().all(above));
        assert!(first[..cloth].iter().any(|at| at[2] < 0.0), "the rim hangs down");
        assert!(first[..cloth].iter().zip(&second).any(|(a, b)| a != b));
        assert_eq!(first[cloth..], second[cloth..], "the ball rests");
    }
}
