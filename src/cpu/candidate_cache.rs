use super::candidates::{CachedPairs, Candidates, Trial};
use super::last_step::{LastStep, needs_cells};
use super::skin::Skin;
use super::step_trees::StepTrees;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::types::Aabb;
use crate::reference::builder::Inputs;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::{fixed, overrides_of};

/// Maximum number of steps without a trial, after trials that did not pay.
const MAX_WAIT: u32 = 62;

/// Candidates that steps have in common, and when to find new ones.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateCache {
    cached: Option<Cached>,
    /// Number of steps until the next trial, and the same after the last trial.
    wait: u32,
    last_wait: u32,
}

#[derive(Clone, Debug)]
struct Cached {
    candidates: Candidates,
    /// Number of steps after which the candidates have paid.
    pays_after: u32,
    steps: u32,
}

/// The step before.
pub(super) struct Before {
    objects: Vec<Aabb>,
    pairs: u64,
    /// Trees that may be refitted.
    pub trees: Option<StepTrees>,
}

impl Before {
    pub fn new(last: LastStep, inputs: &Inputs) -> Self {
        let pairs = last.pairs();
        let (before, trees) = last.into_trees();
        let statics = before.params[0].static_count;
        let trees = trees.filter(|_| statics == inputs.params[0].static_count);
        Self {
            pairs,
            trees: trees.map(|trees| trees.for_statics(inputs.has_statics(&before.objects, &before.worlds[1]))),
            objects: before.objects,
        }
    }
}

impl CandidateCache {
    /// Returns the pairs of a step from candidates, `None` if it needs a search. May take the trees of the step before,
    /// or return others.
    pub fn pairs(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        before: Option<&mut Before>,
        has_queries: bool,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<CachedPairs>, BroadPhaseError> {
        let is_cut = fixed(descriptor, descriptor.outputs.capacities.pairs).is_some();
        let uses_candidates = descriptor.pairs && !is_cut && !needs_cells(descriptor, &inputs.params[0]);
        let Some(before) = before.filter(|_| uses_candidates) else {
            return Ok(None);
        };
        if let Some(cached) = &mut self.cached {
            if let Some(pairs) = cached.candidates.pairs(inputs, admits)? {
                cached.steps += 1;
                return Ok(Some(pairs));
            }
            let has_paid = cached.steps >= cached.pays_after;
            self.end(has_paid, inputs, before);
        }
        if self.wait > 0 {
            self.wait -= 1;
            return Ok(None);
        }
        let Some(skin) = Skin::choose(inputs, &before.objects, before.pairs, has_queries) else {
            return Ok(None);
        };
        let pays_after = skin.pays_after;
        let trees = before.trees.take();
        let mut candidates = match Candidates::find(inputs, &skin, trees, before.pairs, overrides_of(descriptor))? {
            Trial::Found(candidates) => *candidates,
            Trial::TooMany(trees) => {
                before.trees = Some(*trees);
                self.wait_longer(false);
                return Ok(None);
            }
        };
        let pairs = candidates.pairs(inputs, admits)?;
        self.cached = Some(Cached {
            candidates,
            pays_after,
            steps: 1,
        });
        Ok(pairs)
    }

    /// Returns trees that may be refitted to a step's boxes.
    pub fn trees(&self, inputs: &Inputs) -> Option<StepTrees> {
        Some(self.cached.as_ref()?.candidates.clone_trees(inputs))
    }

    pub const fn has_candidates(&self) -> bool {
        self.cached.is_some()
    }

    /// Drops candidates, and returns their trees to `before`.
    fn end(&mut self, has_paid: bool, inputs: &Inputs, before: &mut Before) {
        if let Some(cached) = self.cached.take()
            && before.trees.is_none()
        {
            before.trees = cached.candidates.into_trees(inputs);
        }
        self.wait_longer(has_paid);
    }

    /// Waits are even: a scene that changes in every other step is tried in both kinds of steps.
    fn wait_longer(&mut self, has_paid: bool) {
        self.last_wait = if has_paid {
            0
        } else {
            (2 * self.last_wait + 2).min(MAX_WAIT)
        };
        self.wait = self.last_wait;
    }
}

#[cfg(test)]
mod tests {
    use crate::api::descriptor::BroadPhaseDescriptor;
    use crate::api::scene::Scene;
    use crate::api::types::{Aabb, Ray};
    use crate::cpu::CpuBroadPhase;
    use crate::cpu::tests::Random;

    /// Returns the number of steps with candidates, of 20. Half of them have rays.
    fn steps_with_candidates(mut advance: impl FnMut(usize, &mut Aabb, &mut Random)) -> usize {
        let mut random = Random(3);
        let mut place = || [0; 3].map(|_| random.range(0.0, 20.0));
        let mut objects: Vec<_> = (0..2000).map(|_| Aabb::from_center_half(place(), [0.5; 3])).collect();
        let mut broad_phase = CpuBroadPhase::new(&BroadPhaseDescriptor::default()).unwrap();
        let rays = [Ray::new([0.0; 3], [1.0, 0.9, 1.1], 100.0)];
        let mut count = 0;
        for step in 0..20 {
            let mut scene = Scene {
                objects: objects[..].into(),
                ..Scene::default()
            };
            if step % 2 > 0 {
                scene.query.rays = rays[..].into();
            }
            broad_phase.step_scene(&scene).unwrap();
            count += usize::from(broad_phase.has_candidates());
            for (index, object) in objects.iter_mut().enumerate() {
                advance(index, object, &mut random);
            }
        }
        count
    }

    fn shift(object: &mut Aabb, by: f32) {
        object.min[0] += by;
        object.max[0] += by;
    }

    #[test]
    fn calm_steps_reuse_candidates_even_with_a_few_bullets() {
        assert_eq!(steps_with_candidates(|_, _, _| {}), 19);
        let calm = |_: usize, object: &mut Aabb, random: &mut Random| shift(object, random.range(-0.02, 0.02));
        assert!(steps_with_candidates(calm) >= 18);
        let bullets = |index: usize, object: &mut Aabb, random: &mut Random| {
            shift(
                object,
                if index.is_multiple_of(200) {
                    2.0
                } else {
                    random.range(-0.02, 0.02)
                },
            );
        };
        assert!(steps_with_candidates(bullets) > 15);
    }

    #[test]
    fn boxes_that_jump_are_not_kept() {
        let jump = |_: usize, object: &mut Aabb, random: &mut Random| shift(object, random.range(-2.0, 2.0));
        assert_eq!(steps_with_candidates(jump), 0);
        // Trials become rarer if calm steps deceive.
        let mut step = 0;
        let deceive = |index: usize, object: &mut Aabb, random: &mut Random| {
            step += usize::from(index == 0);
            shift(object, if step % 2 > 0 { 0.001 } else { random.range(-2.0, 2.0) });
        };
        assert!(steps_with_candidates(deceive) < 6);
    }
}
