use std::ops::Range;
use std::sync::Arc;

use super::boxes::have_filters;
use super::trees::Trees;
use crate::api::types::{ALL_WORLDS, NONE};
use crate::layout::grid::{Class, Record, classify};
use crate::reference::builder::Inputs;
use crate::shared::runs::{in_runs, map};

/// Maximum number of finite objects that a refit leaves in no tree. Each search tests all of them.
const MAX_TREELESS: usize = 64;
/// Tests of a box and a node that take as long as building trees, per group.
const TESTS_TO_BUILD: u64 = 60;
/// Trees are built again if the squared sides of leaves, at most `MOST_OF_LEAF` each, grew by this factor in the mean.
const MAX_GROWTH: f32 = 4.0;
const MOST_OF_LEAF: f32 = 4096.0;
/// Never the world of a valid object.
const NO_WORLD: u32 = ALL_WORLDS - 1;

/// Trees of a step's objects, which later steps refit.
#[derive(Clone, Debug)]
pub(super) struct StepTrees {
    pub own: Trees,
    /// `None` without static objects.
    pub statics: Option<Arc<Trees>>,
    /// World of each moving object that was in a tree when they were built, else [`NO_WORLD`].
    worlds: Vec<u32>,
    /// [`Trees::leaf_sides`] when they were built.
    leaf_sides: Vec<f32>,
    /// Number of tests of the first search for pairs.
    first_tests: Option<u64>,
    /// Number of tests that later ones took beyond that.
    more_tests: u64,
}

impl StepTrees {
    /// Builds trees, those of static objects unless they are given.
    fn new(inputs: &Inputs, statics: Option<Arc<Trees>>) -> Self {
        let first = inputs.params[0].static_count;
        let worlds = map(inputs.objects.len() as u32 - first, |place| {
            let object = first + place;
            match classify(&inputs.objects[object as usize]) {
                Class::Finite => inputs.world_of(object),
                _ => NO_WORLD,
            }
        });
        let own = build(inputs, first..inputs.objects.len() as u32);
        Self {
            leaf_sides: own.leaf_sides(),
            own,
            statics: statics.or_else(|| build_statics(inputs)),
            worlds,
            first_tests: None,
            more_tests: 0,
        }
    }

    /// Returns the trees of a step: `earlier` ones, refitted if that pays, or new ones.
    pub fn of(inputs: &Inputs, earlier: Option<Self>) -> Self {
        match earlier {
            Some(earlier) => earlier.fitted(inputs),
            None => Self::new(inputs, None),
        }
    }

    fn fitted(mut self, inputs: &Inputs) -> Self {
        let pays = self.more_tests <= TESTS_TO_BUILD * u64::from(self.own.groups());
        if !pays || !self.refit(inputs) {
            return Self::new(inputs, self.statics);
        }
        self.statics = self.statics.or_else(|| build_statics(inputs));
        self
    }

    /// Changes the boxes to those of a step. Returns false if too many would be in no tree, or leaves too large.
    fn refit(&mut self, inputs: &Inputs) -> bool {
        let first = inputs.params[0].static_count;
        let boxes = &inputs.objects[first as usize..];
        let is_in_tree = |place: u32| {
            let world = self.worlds.get(place as usize);
            let is_finite = classify(&boxes[place as usize]) == Class::Finite;
            is_finite && world == Some(&inputs.world_of(first + place))
        };
        let not_in_trees = |run: Range<u32>| run.filter(|&place| !is_in_tree(place)).collect::<Vec<_>>();
        let not_in_trees = in_runs(boxes.len() as u32, not_in_trees).concat();
        let class = |place: &&u32| classify(&boxes[**place as usize]);
        let finite = not_in_trees.iter().filter(|place| class(place) == Class::Finite);
        if finite.count() > MAX_TREELESS || 2 * boxes.len() < self.worlds.len() {
            return false;
        }
        let is_valid = |place: &&u32| matches!(class(place), Class::Finite | Class::Infinite);
        let treeless = not_in_trees.iter().filter(is_valid);
        let treeless = treeless.map(|place| inputs.record(first + place)).collect();
        let are_all = not_in_trees.is_empty();
        let current = |object: u32| {
            let place = object - first;
            let current = boxes.get(place as usize)?;
            (are_all || is_in_tree(place)).then_some(*current)
        };
        self.own.refit(current, treeless, have_filters(boxes));
        let (mut growth, mut leaves) = (0.0, 0.0);
        for (side, built) in self.own.leaf_sides().into_iter().zip(&self.leaf_sides) {
            if side > 0.0 {
                growth += (side / built).powi(2).min(MOST_OF_LEAF);
                leaves += 1.0;
            }
        }
        growth <= MAX_GROWTH * leaves
    }

    /// Returns the trees of moving objects, and those of static ones if `same_statics`.
    pub fn for_statics(self, same_statics: bool) -> Self {
        Self {
            statics: self.statics.filter(|_| same_statics),
            ..self
        }
    }

    /// Takes the number of tests of a search for pairs.
    pub fn searched(&mut self, tests: u64) {
        let first = *self.first_tests.get_or_insert(tests);
        self.more_tests += tests.saturating_sub(first);
    }

    pub fn has_static_filters(&self) -> bool {
        self.statics.as_ref().is_some_and(|statics| statics.have_filters)
    }

    pub fn all(&self) -> impl Iterator<Item = &Trees> {
        [Some(&self.own), self.statics.as_deref()].into_iter().flatten()
    }

    pub fn bytes(&self) -> usize {
        let statics = self.statics.as_ref().map_or(0, |statics| statics.bytes());
        self.own.bytes() + statics + size_of_val(&self.worlds[..]) + size_of_val(&self.leaf_sides[..])
    }

    /// Returns the records of all moving objects, then of all static ones, near ones together.
    pub fn records(&self, inputs: &Inputs) -> [Vec<Record>; 2] {
        let first = inputs.params[0].static_count;
        let all = [first..inputs.objects.len() as u32, 0..first];
        let trees = [Some(&self.own), self.statics.as_deref()];
        [0, 1].map(|table| {
            let Some(trees) = trees[table] else { return Vec::new() };
            let Range { start, end } = all[table];
            let mut is_in_tree = vec![false; (end - start) as usize];
            let in_trees = (0..trees.lanes()).map(|lane| trees.object(lane));
            let mut order: Vec<_> = in_trees.filter(|&object| object != NONE).collect();
            for &object in &order {
                is_in_tree[(object - start) as usize] = true;
            }
            order.extend((start..end).filter(|object| !is_in_tree[(object - start) as usize]));
            map(end - start, |place| inputs.record(order[place as usize]))
        })
    }
}

fn build_statics(inputs: &Inputs) -> Option<Arc<Trees>> {
    let count = inputs.params[0].static_count;
    (count > 0).then(|| Arc::new(build(inputs, 0..count)))
}

fn build(inputs: &Inputs, range: Range<u32>) -> Trees {
    let objects = &inputs.objects[range.start as usize..range.end as usize];
    let name = |index: u32| (range.start + index, inputs.world_of(range.start + index));
    Trees::new(objects, name, have_filters(objects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::BroadPhaseDescriptor;
    use crate::api::scene::Scene;
    use crate::api::types::Aabb;
    use crate::cpu::pairs::{PairSearch, TreeSearch};
    use crate::cpu::tests::Random;
    use crate::reference::host::HostScene;
    use crate::reference::params::overrides_of;

    #[test]
    fn boxes_that_mix_or_jump_take_few_more_tests_than_in_new_trees() {
        let descriptor = BroadPhaseDescriptor::default();
        let tests = |inputs: &Inputs, trees: &StepTrees| {
            let search = TreeSearch::new(inputs, trees, overrides_of(&descriptor), None);
            search.find(None).candidates
        };
        // Pairs, then only leaves decide when to build.
        for (searches, most) in [(true, 1.5), (false, 8.0)] {
            let mut random = Random(3);
            let mut vector = |most: f32| [0; 3].map(|_| random.range(-most, most));
            let mut objects: Vec<_> = (0..4000)
                .map(|_| Aabb::from_center_half(vector(10.0), [0.5; 3]))
                .collect();
            let (mut kept, mut refits, mut all) = (None, 0, [0; 2]);
            for step in 0..60 {
                let scene = Scene {
                    objects: objects[..].into(),
                    ..Scene::default()
                };
                let inputs = Inputs::of(&descriptor, &HostScene::of(&scene).unwrap()).unwrap();
                let new = StepTrees::new(&inputs, None);
                let mut trees = StepTrees::of(&inputs, kept.take());
                refits += usize::from(trees.leaf_sides != new.leaf_sides);
                let [own, of_new] = [&trees, &new].map(|trees| tests(&inputs, trees));
                all = [all[0] + own, all[1] + of_new];
                if searches {
                    trees.searched(own);
                }
                kept = Some(trees);
                if step % 20 == 10 {
                    objects.reverse();
                }
                for object in &mut objects {
                    for (axis, step) in vector(0.5).into_iter().enumerate() {
                        object.min[axis] += step;
                        object.max[axis] += step;
                    }
                }
            }
            let ratio = all[0] as f64 / all[1] as f64;
            assert!((1.0..most).contains(&ratio) && refits > 20, "{ratio} {refits}");
        }
    }
}
