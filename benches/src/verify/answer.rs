use std::fmt::Debug;

use gpu_broad_phase::{BroadPhaseDescriptor, NONE, Pair, RayHit, RayMode, Scene, StepResult, reference};
use rayon::prelude::*;

/// Sorted rows of results, with t as bits.
pub struct Answer {
    pub pairs: Vec<Pair>,
    closest: Vec<(u32, u32)>,
    all: Vec<(u32, u32, u32)>,
    any: Vec<u32>,
}

impl Answer {
    pub fn new(closest: StepResult, all: &StepResult) -> Self {
        let mut pairs = closest.pairs;
        sort_pairs(&mut pairs);
        let ranges = all.ray_offsets.windows(2);
        Self {
            pairs,
            closest: closest.ray_hits.iter().map(bits).collect(),
            all: rows(ranges.map(|range| &all.ray_hits[range[0] as usize..range[1] as usize])),
            any: Vec::new(),
        }
    }

    pub fn of_step(descriptor: &BroadPhaseDescriptor<'_>, result: StepResult) -> Self {
        let any = result.ray_any.clone();
        let all = match descriptor.outputs.ray_mode {
            RayMode::All => result.clone(),
            _ => StepResult::default(),
        };
        Self {
            any,
            ..Self::new(result, &all)
        }
        .self_query_of(descriptor)
    }

    pub fn self_query_of(mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        if !descriptor.pairs {
            self.pairs.clear();
        }
        if descriptor.outputs.ray_mode == RayMode::Any && self.any.is_empty() {
            self.any = self
                .closest
                .iter()
                .map(|&(object, _)| u32::from(object != NONE))
                .collect();
        }
        if descriptor.outputs.ray_mode != RayMode::All {
            self.all.clear();
        }
        if descriptor.outputs.ray_mode != RayMode::Closest {
            self.closest.clear();
        }
        self
    }

    pub fn hits(&self) -> u64 {
        let closest = self.closest.iter().filter(|(object, _)| *object != NONE);
        closest.count() as u64 + self.all.len() as u64
    }

    pub fn difference(&self, expected: &Self) -> Option<String> {
        let parts = [
            first_difference("pairs", &self.pairs, &expected.pairs),
            first_difference("closest hits", &self.closest, &expected.closest),
            first_difference("hits", &self.all, &expected.all),
            first_difference("rays that hit anything", &self.any, &expected.any),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

pub fn brute_force(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Answer {
    let all = reference::brute_force::scene_rays(descriptor, scene).expect("file scenes are on the host");
    let closest: Vec<_> = all.iter().map(|hits| reference::brute_force::closest(hits)).collect();
    Answer {
        pairs: if descriptor.pairs {
            reference::brute_force::scene_pairs(descriptor, scene).expect("file scenes are on the host")
        } else {
            Vec::new()
        },
        closest: closest.iter().map(bits).collect(),
        all: rows(all.iter().map(Vec::as_slice)),
        any: Vec::new(),
    }
}

/// A 64-bit key per pair sorts several times faster than field by field.
pub fn sort_pairs(pairs: &mut [Pair]) {
    pairs.par_sort_unstable_by_key(|pair| u64::from(pair.a) << 32 | u64::from(pair.b));
}

fn bits(hit: &RayHit) -> (u32, u32) {
    (hit.object, hit.t.to_bits())
}

fn rows<'a>(rays: impl Iterator<Item = &'a [RayHit]>) -> Vec<(u32, u32, u32)> {
    let mut rows: Vec<_> = rays
        .zip(0..)
        .flat_map(|(hits, ray)| {
            hits.iter().map(move |hit| {
                let (object, t) = bits(hit);
                (ray, object, t)
            })
        })
        .collect();
    rows.sort_unstable();
    rows
}

pub fn first_difference<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) -> Option<String> {
    if found == expected {
        return None;
    }
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    Some(format!(
        "{} {what}, {} expected; row {at} is {:?}, {:?} expected",
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_broad_phase::{Aabb, QueryInput, Ray, Source};

    #[test]
    fn a_lost_pair_a_moved_hit_and_an_extra_hit_are_reported() {
        let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
        let rays = [Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0], 9.0)];
        let scene = Scene {
            objects: Source::Host(&boxes),
            query: QueryInput {
                rays: rays.as_slice().into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let brute_force = || brute_force(&BroadPhaseDescriptor::default(), &scene);
        let expected = brute_force();
        assert_eq!(expected.hits(), 4);
        assert_eq!(brute_force().difference(&expected), None);
        let mut wrong = brute_force();
        wrong.pairs.remove(1);
        wrong.closest[0].1 += 1;
        wrong.all.push((0, 9, 0));
        let fault = wrong.difference(&expected).unwrap();
        assert!(
            fault.starts_with("2 pairs, 3 expected; row 1 is Some(Pair { a: 1, b: 2 })"),
            "{fault}"
        );
        assert!(
            fault.contains("closest hits") && fault.contains("4 hits, 3 expected"),
            "{fault}"
        );
    }
}
