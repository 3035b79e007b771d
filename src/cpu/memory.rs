use super::candidates::{Candidates, KeptPairs};
use super::last::Last;
use super::skin::Skin;
use super::table::Table;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::reference::builder::Inputs;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::fixed;

/// Maximum number of steps without a trial, after trials that did not pay.
const MAX_WAIT: u32 = 63;

/// Candidates that steps have in common, and how well they served.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    kept: Option<Kept>,
    /// Number of steps until the next trial.
    wait: u32,
    /// `wait` after the last trial.
    last_wait: u32,
}

#[derive(Clone, Debug)]
struct Kept {
    candidates: Candidates,
    /// Number of steps that they are to serve, and have served.
    planned: u32,
    served: u32,
}

impl Memory {
    /// Returns the pairs of a step from candidates, `None` if it needs a table.
    pub fn pairs(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        last: Option<&Last>,
        asks: bool,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<KeptPairs>, BroadPhaseError> {
        let capacities = &descriptor.outputs.capacities;
        let is_cut = [capacities.pairs, capacities.entries].map(|rows| fixed(descriptor, rows).is_some());
        let Some(last) = last.filter(|_| descriptor.pairs && !descriptor.count_candidates && is_cut == [false; 2])
        else {
            return Ok(None);
        };
        if let Some(kept) = &mut self.kept {
            if let Some(pairs) = kept.candidates.pairs(descriptor, inputs, admits)? {
                kept.served += 1;
                return Ok(Some(pairs));
            }
            let has_paid = 2 * kept.served >= kept.planned;
            self.end(has_paid);
        }
        if self.wait > 0 {
            self.wait -= 1;
            return Ok(None);
        }
        let Some(skin) = Skin::choose(inputs, last.objects(), last.pairs(), asks) else {
            return Ok(None);
        };
        let Some(mut candidates) = Candidates::find(descriptor, inputs, &skin, last.pairs())? else {
            self.end(false);
            return Ok(None);
        };
        let pairs = candidates.pairs(descriptor, inputs, admits)?;
        self.kept = Some(Kept {
            candidates,
            planned: skin.steps.into(),
            served: 1,
        });
        Ok(pairs)
    }

    /// As [`Candidates::searchable`].
    pub fn searchable(&self, inputs: &Inputs) -> Option<Table> {
        self.kept.as_ref()?.candidates.searchable(inputs)
    }

    pub const fn keeps_candidates(&self) -> bool {
        self.kept.is_some()
    }

    fn end(&mut self, has_paid: bool) {
        let last_wait = if has_paid {
            0
        } else {
            (2 * self.last_wait + 1).min(MAX_WAIT)
        };
        *self = Self {
            kept: None,
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
