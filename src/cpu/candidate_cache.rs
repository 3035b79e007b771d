use super::candidates::{CachedPairs, Candidates};
use super::skin::Skin;
use super::table::Table;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::types::Aabb;
use crate::reference::builder::Inputs;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::fixed;

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

impl CandidateCache {
    /// Returns the pairs of a step from candidates, `None` if it needs a table. `before` has the objects and the number
    /// of pairs of the step before.
    pub fn pairs(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        before: Option<(Vec<Aabb>, u64)>,
        has_queries: bool,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<CachedPairs>, BroadPhaseError> {
        let capacities = &descriptor.outputs.capacities;
        let is_cut = [capacities.pairs, capacities.entries].map(|rows| fixed(descriptor, rows).is_some());
        let uses_candidates = descriptor.pairs && !descriptor.count_candidates && is_cut == [false; 2];
        let Some((before, pairs)) = before.filter(|_| uses_candidates) else {
            return Ok(None);
        };
        if let Some(cached) = &mut self.cached {
            if let Some(pairs) = cached.candidates.pairs(inputs, admits)? {
                cached.steps += 1;
                return Ok(Some(pairs));
            }
            let has_paid = cached.steps >= cached.pays_after;
            self.end(has_paid);
        }
        if self.wait > 0 {
            self.wait -= 1;
            return Ok(None);
        }
        let Some(skin) = Skin::choose(inputs, &before, pairs, has_queries) else {
            return Ok(None);
        };
        let Some(mut candidates) = Candidates::find(descriptor, inputs, &skin, pairs)? else {
            self.end(false);
            return Ok(None);
        };
        let pays_after = skin.pays_after;
        drop(before);
        let pairs = candidates.pairs(inputs, admits)?;
        self.cached = Some(Cached {
            candidates,
            pays_after,
            steps: 1,
        });
        Ok(pairs)
    }

    /// As [`Candidates::refitted`].
    pub fn refitted(&self, inputs: &Inputs) -> Option<Table> {
        self.cached.as_ref()?.candidates.refitted(inputs)
    }

    pub const fn has_candidates(&self) -> bool {
        self.cached.is_some()
    }

    /// Waits are even: a scene that changes in every other step is tried in both kinds of steps.
    fn end(&mut self, has_paid: bool) {
        let last_wait = if has_paid {
            0
        } else {
            (2 * self.last_wait + 2).min(MAX_WAIT)
        };
        *self = Self {
            cached: None,
            wait: last_wait,
            last_wait,
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::api::descriptor::BroadPhaseDescriptor;
    use crate::api::scene::Scene;
    use crate::api::types::{Aabb, Ray};
    use crate::cpu::CpuBroadPhase;
    use crate::cpu::tests::Random;

    /// Returns the number of steps without a table, of 20. Half of them have rays.
    fn steps_without_table(mut advance: impl FnMut(usize, &mut Aabb, &mut Random)) -> usize {
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
            count += usize::from(!broad_phase.has_table());
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
    fn calm_steps_need_no_table_even_with_a_few_bullets() {
        assert_eq!(steps_without_table(|_, _, _| {}), 19);
        let calm = |_: usize, object: &mut Aabb, random: &mut Random| shift(object, random.range(-0.02, 0.02));
        assert_eq!(steps_without_table(calm), 19);
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
        assert!(steps_without_table(bullets) > 15);
    }

    #[test]
    fn boxes_that_jump_are_not_kept() {
        let jump = |_: usize, object: &mut Aabb, random: &mut Random| shift(object, random.range(-2.0, 2.0));
        assert_eq!(steps_without_table(jump), 0);
        // Trials become rarer if calm steps deceive.
        let mut step = 0;
        let deceive = |index: usize, object: &mut Aabb, random: &mut Random| {
            step += usize::from(index == 0);
            shift(object, if step % 2 > 0 { 0.001 } else { random.range(-2.0, 2.0) });
        };
        assert!(steps_without_table(deceive) < 6);
    }
}
