use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Pair, QueryInput, Ray, RayHit, Scene, Source, StepResult};

use crate::failure::Failure;

/// Brute force has quadratic cost.
pub const MOST_BY_FORCE: usize = 5_000;

pub struct Frame {
    pub boxes: Vec<Aabb>,
    pub ray: Ray,
    pub result: StepResult,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Same {
        pairs: usize,
        hits: usize,
        by_force: bool,
    },
    /// Description of the first difference.
    Differs(String),
}

pub fn verify(descriptor: &BroadPhaseDescriptor<'_>, frame: &Frame) -> Result<Verdict, Failure> {
    let rays = [frame.ray];
    let scene = Scene {
        objects: Source::Host(&frame.boxes),
        query: QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let expected = cpu::step_scene(descriptor, &scene)?;
    let (pairs, hits) = (sorted(&frame.result.pairs), sorted_hits(&frame.result.ray_hits));
    let difference = first_difference("the CPU engine", &pairs, sorted(&expected.pairs))
        .or_else(|| first_difference("the CPU engine", &hits, sorted_hits(&expected.ray_hits)));
    if let Some(difference) = difference {
        return Ok(Verdict::Differs(difference));
    }
    let by_force = frame.boxes.len() <= MOST_BY_FORCE;
    if by_force {
        let pairs_by_force = brute_force::scene_pairs(descriptor, &scene).unwrap();
        let hits_by_force = brute_force::scene_rays(descriptor, &scene).unwrap().concat();
        let difference = first_difference("brute force", &pairs, sorted(&pairs_by_force))
            .or_else(|| first_difference("brute force", &hits, sorted_hits(&hits_by_force)));
        if let Some(difference) = difference {
            return Ok(Verdict::Differs(difference));
        }
    }
    Ok(Verdict::Same {
        pairs: pairs.len(),
        hits: hits.len(),
        by_force,
    })
}

fn sorted(pairs: &[Pair]) -> Vec<Pair> {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Object index and bits of `t`.
fn sorted_hits(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut sorted: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    sorted.sort_unstable();
    sorted
}

fn first_difference<T: Ord + Describe>(other: &str, own: &[T], expected: Vec<T>) -> Option<String> {
    let place = std::iter::zip(own, &expected)
        .take_while(|(own, expected)| own == expected)
        .count();
    match (own.get(place), expected.get(place)) {
        (None, None) => None,
        (Some(own), expected) if expected.is_none_or(|expected| own < expected) => {
            Some(format!("the GPU finds {}, and {other} does not", own.describe()))
        }
        (_, Some(expected)) => Some(format!("{other} finds {}, and the GPU does not", expected.describe())),
        (Some(_), None) => unreachable!("what nothing stands against was describe above"),
    }
}

trait Describe {
    fn describe(&self) -> String;
}

impl Describe for Pair {
    fn describe(&self) -> String {
        format!("the pair {} and {}", self.a, self.b)
    }
}

impl Describe for (u32, u32) {
    fn describe(&self) -> String {
        format!("that the ray meets box {} at {}", self.0, f32::from_bits(self.1))
    }
}

#[cfg(test)]
mod tests {
    use gpu_broad_phase::{OutputOptions, RayMode};

    use super::*;

    type Spoil = fn(&mut StepResult);

    fn frame() -> (BroadPhaseDescriptor<'static>, Frame) {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let boxes: Vec<_> = (0..20u8)
            .map(|place| Aabb::new([place.into(), 0.0, 0.0], [f32::from(place) + 1.5, 1.0, 1.0]))
            .collect();
        let ray = Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0], 10.0);
        let result = cpu::step(&descriptor, &boxes, &[ray]).expect("a small scene");
        (descriptor, Frame { boxes, ray, result })
    }

    #[test]
    fn the_same_is_the_same_in_any_order() -> Result<(), Failure> {
        let (descriptor, mut frame) = frame();
        frame.result.pairs.reverse();
        frame.result.ray_hits.reverse();
        let verdict = verify(&descriptor, &frame)?;
        assert!(
            matches!(
                verdict,
                Verdict::Same {
                    pairs: 19,
                    hits: 10,
                    by_force: true
                }
            ),
            "{verdict:?}"
        );
        Ok(())
    }

    #[test]
    fn what_is_missing_too_many_or_moved_is_told() -> Result<(), Failure> {
        let spoils: [(&str, Spoil); 4] = [
            ("finds the pair 18 and 19, and the GPU does not", |result| {
                result.pairs.retain(|pair| pair.a != 18);
            }),
            ("the GPU finds the pair 3 and 9", |result| {
                result.pairs.push(Pair { a: 3, b: 9 })
            }),
            ("the GPU finds the pair 18 and 19", |result| {
                result.pairs.push(Pair { a: 18, b: 19 })
            }),
            ("finds that the ray meets box 0 at 1, and the GPU does not", |result| {
                for hit in &mut result.ray_hits {
                    hit.t = hit.t.next_up();
                }
            }),
        ];
        for (expected, spoil) in spoils {
            let (descriptor, mut frame) = frame();
            spoil(&mut frame.result);
            let verdict = verify(&descriptor, &frame)?;
            assert!(
                matches!(&verdict, Verdict::Differs(describe) if describe.contains(expected)),
                "{verdict:?}"
            );
        }
        Ok(())
    }
}
