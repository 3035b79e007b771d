//! Candidate pairs that steps have in common: the pairs of boxes grown by a skin. They are complete while boxes stay
//! within their grown boxes. See the neighbour lists of Verlet, "Computer 'Experiments' on Classical Fluids" (1967).

use std::ops::Range;

use super::object_counts::ObjectCounts;
use super::pairs::{PairSearch, TreeSearch};
use super::skin::{Skin, most_candidates};
use super::step_trees::StepTrees;
use super::trees::Trees;
use crate::api::error::{BroadPhaseError, completed};
use crate::api::types::{ALL_WORLDS, Aabb, Pair};
use crate::layout::blocks::Overrides;
use crate::layout::grid::Class;
use crate::reference::builder::Inputs;
use crate::reference::pairs::pair_excludes::{Admits, Excludes};
use crate::reference::pairs::pair_walk::passes_filters;
use crate::shared::runs::{RUN_LENGTH, Rows, in_runs, walk_in_runs_of};

/// At most one object in this many may be outside of its grown box.
const MOST_OUTSIDE: usize = 8;
/// Searches for boxes outside of their grown boxes that take as long as finding candidates, per object.
const SEARCHES_TO_FIND: f32 = 0.5;
/// Groups of eight boxes outside that a thread searches at once.
const GROUPS_PER_RUN: u32 = 16;

// Runs have whole words of bits.
const _: () = assert!(RUN_LENGTH.is_multiple_of(u64::BITS));

#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// Boxes grown by the skin, and trees of them.
    grown: Vec<Aabb>,
    trees: StepTrees,
    statics: u32,
    worlds: [Vec<u32>; 2],
    /// Only the extents of the grown boxes.
    extents: [ObjectCounts; 2],
    /// Index of the first partner of each object, then the number of partners.
    begins: Vec<u32>,
    /// Partners of greater index, ascending.
    partners: Vec<u32>,
    has_filters: bool,
    /// Number of searches for boxes outside of their grown boxes.
    searches: usize,
}

pub(super) enum Trial {
    Found(Box<Candidates>),
    /// Candidates would take too much memory.
    TooMany(Box<StepTrees>),
}

/// Pairs of a step, and counts of its moving and its static objects.
pub(super) struct CachedPairs {
    /// In runs, ascending.
    pub pairs: Vec<Vec<Pair>>,
    /// As [`StepResult::world_pairs`](crate::StepResult::world_pairs).
    pub world_pairs: Vec<u32>,
    pub counts: [ObjectCounts; 2],
}

/// Objects of a step, compared with their grown boxes.
#[derive(Default)]
struct Comparison {
    /// One bit per object, set if it is valid, within its grown box, and has the same filters and world.
    inside: Vec<u64>,
    /// Other valid objects, ascending.
    outside: Vec<u32>,
    counts: [ObjectCounts; 2],
}

impl Comparison {
    fn is_inside(&self, object: u32) -> bool {
        let bits = self.inside.get(object as usize / 64);
        bits.is_some_and(|bits| bits >> (object % 64) & 1 != 0)
    }
}

impl Candidates {
    /// Finds candidates, unless they would take more memory than the step and its `pairs`.
    pub fn find(
        inputs: &Inputs,
        skin: &Skin<'_>,
        trees: Option<StepTrees>,
        pairs: u64,
        overrides: Overrides,
    ) -> Result<Trial, BroadPhaseError> {
        let grown = Inputs {
            objects: skin.grown(inputs),
            exclusion_table: Vec::new(),
            worlds: inputs.worlds.clone(),
            ..*inputs
        };
        let trees = completed(StepTrees::of(&grown, trees))?;
        let most = most_candidates(inputs.objects.len(), trees.bytes(), pairs);
        let search = TreeSearch::new(&grown, &trees, overrides, None);
        if search.estimated_pairs() > most as f32 {
            return Ok(Trial::TooMany(Box::new(trees)));
        }
        let found = search.find(None);
        completed(())?;
        if found.counts.iter().map(|&count| u64::from(count)).sum::<u64>() > most {
            return Ok(Trial::TooMany(Box::new(trees)));
        }
        let found = completed(search.write(found, u32::MAX, false))?;
        let mut begins = vec![0; inputs.objects.len() + 1];
        for pair in &found {
            begins[pair.a as usize + 1] += 1;
        }
        let mut total = 0;
        for begin in &mut begins {
            total += *begin;
            *begin = total;
        }
        Ok(Trial::Found(Box::new(Self {
            trees,
            statics: inputs.params[0].static_count,
            extents: ObjectCounts::of(&grown).map(ObjectCounts::extent),
            grown: grown.objects,
            worlds: grown.worlds,
            begins,
            partners: found.into_iter().map(|pair| pair.b).collect(),
            has_filters: overrides.filters,
            searches: 0,
        })))
    }

    /// Returns the pairs of a step, or `None` if it is time for new candidates.
    pub fn pairs(
        &mut self,
        inputs: &Inputs,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<CachedPairs>, BroadPhaseError> {
        let objects = inputs.objects.len();
        if inputs.params[0].static_count != self.statics || 2 * objects < self.grown.len() {
            return Ok(None);
        }
        let compared = self.compared(inputs);
        let outside = compared.outside.len();
        let static_is_outside = compared.outside.first().is_some_and(|&first| first < self.statics);
        let is_over = (self.searches + outside) as f32 > SEARCHES_TO_FIND * objects as f32;
        if static_is_outside || outside > objects / MOST_OUTSIDE || is_over {
            return Ok(None);
        }
        self.searches += outside;
        let excludes = inputs.excludes(admits);
        let of_outside = self.pairs_of_outside(inputs, &compared, excludes)?;
        let pairs = completed(self.pairs_in_runs(inputs, &compared, excludes, &of_outside))?;
        Ok(Some(CachedPairs {
            world_pairs: world_pairs(inputs, &pairs),
            pairs,
            counts: compared.counts,
        }))
    }

    /// Returns trees that may be refitted to the boxes of a step with as many static objects.
    pub fn clone_trees(&self, inputs: &Inputs) -> StepTrees {
        self.trees.clone().for_statics(self.has_statics_of(inputs))
    }

    /// As [`clone_trees`](Self::clone_trees). `None` if the number of static objects changed.
    pub fn into_trees(self, inputs: &Inputs) -> Option<StepTrees> {
        let same_statics = self.has_statics_of(inputs);
        (inputs.params[0].static_count == self.statics).then(|| self.trees.for_statics(same_statics))
    }

    fn has_statics_of(&self, inputs: &Inputs) -> bool {
        inputs.params[0].static_count == self.statics && inputs.has_statics(&self.grown, &self.worlds[1])
    }

    fn compared(&self, inputs: &Inputs) -> Comparison {
        let grown = &self.grown;
        let statics = inputs.params[0].static_count;
        let is_uniform = inputs.params[0].is_uniform();
        let in_run = |run: Range<u32>| {
            let mut compared = Comparison::default();
            for first in run.clone().step_by(64) {
                let mut inside = 0;
                for object in first..run.end.min(first.saturating_add(64)) {
                    let current = &inputs.objects[object as usize];
                    let table = usize::from(object < statics);
                    let same_world = self.has_world(inputs, object);
                    let grown = grown.get(object as usize).filter(|_| same_world);
                    let world = inputs.world_of(object);
                    // Others are counted, even within their boxes.
                    let is_plain = !is_uniform && world != ALL_WORLDS;
                    let mut is_inside = is_plain && grown.is_some_and(|grown| is_finite_within(current, grown));
                    if !is_inside {
                        let class = compared.counts[table].add_object(&inputs.params[table], current, world);
                        let is_valid = matches!(class, Class::Finite | Class::Infinite);
                        is_inside = is_valid && grown.is_some_and(|grown| is_within(current, grown));
                        if is_valid && !is_inside {
                            compared.outside.push(object);
                        }
                    }
                    inside |= u64::from(is_inside) << (object - first);
                }
                compared.inside.push(inside);
            }
            compared
        };
        let mut all = Comparison {
            counts: self.extents,
            ..Comparison::default()
        };
        for compared in in_runs(inputs.objects.len() as u32, in_run) {
            all.inside.extend(compared.inside);
            all.outside.extend(compared.outside);
            for (all, counts) in all.counts.iter_mut().zip(&compared.counts) {
                all.add(counts);
            }
        }
        all
    }

    /// True if an object has the world of its grown box.
    fn has_world(&self, inputs: &Inputs, object: u32) -> bool {
        let (table, place) = match object.checked_sub(inputs.params[0].static_count) {
            Some(place) => (0, place as usize),
            None => (1, object as usize),
        };
        self.worlds[table].get(place) == inputs.worlds[table].get(place)
    }

    /// Returns the pairs of objects outside of their grown boxes, ascending.
    fn pairs_of_outside(
        &self,
        inputs: &Inputs,
        compared: &Comparison,
        excludes: Excludes<'_>,
    ) -> Result<Vec<Pair>, BroadPhaseError> {
        let outside = &compared.outside;
        if outside.is_empty() {
            return Ok(Vec::new());
        }
        let objects = &inputs.objects;
        let boxes: Vec<_> = outside.iter().map(|&object| objects[object as usize]).collect();
        let name = |index: u32| (outside[index as usize], inputs.world_of(outside[index as usize]));
        let of_outside = Trees::new(&boxes, name, true);
        let find = |rows: Rows<'_>| {
            let mut pairs = Vec::new();
            for row in rows {
                let group = of_outside.group(row);
                let mut accept = |a: u32, b: u32| {
                    let [own, other] = [a, b].map(|object| &objects[object as usize]);
                    let passes = !self.has_filters || passes_filters(own, other);
                    if passes && !excludes.is_excluded(a, b) {
                        pairs.push(Pair::new(a, b));
                    }
                };
                of_outside.pairs(&group, Some(row), &mut accept);
                for trees in self.trees.all() {
                    trees.pairs(&group, None, |a, b| {
                        let meets = || meets(&objects[a as usize], &objects[b as usize]);
                        if compared.is_inside(b) && meets() {
                            accept(a, b);
                        }
                    });
                }
            }
            pairs
        };
        let mut all = walk_in_runs_of(GROUPS_PER_RUN, of_outside.groups(), find).concat();
        completed(())?;
        all.sort_unstable();
        Ok(all)
    }

    /// Returns all pairs in runs, ascending.
    fn pairs_in_runs(
        &self,
        inputs: &Inputs,
        compared: &Comparison,
        excludes: Excludes<'_>,
        of_outside: &[Pair],
    ) -> Vec<Vec<Pair>> {
        let objects = &inputs.objects;
        let known = self.begins.len() as u32 - 1;
        let inside = compared
            .inside
            .iter()
            .map(|bits| u64::from(bits.count_ones()))
            .sum::<u64>();
        let all_are_inside = inside == objects.len() as u64 && objects.len() >= known as usize;
        let has_excludes = !excludes.table.is_empty() || excludes.admits.is_some();
        in_runs(objects.len() as u32, |run| {
            let owners = run.start.min(known)..run.end.min(known);
            let begin_of = |object: u32| self.begins[object as usize] as usize;
            let mut pairs = vec![Pair { a: 0, b: 0 }; begin_of(owners.end) - begin_of(owners.start)];
            let mut count = 0;
            for a in owners.filter(|&a| all_are_inside || compared.is_inside(a)) {
                let own = &objects[a as usize];
                for &b in &self.partners[begin_of(a)..begin_of(a + 1)] {
                    // Without branches, which would be mispredicted.
                    pairs[count] = Pair { a, b };
                    count += usize::from(objects.get(b as usize).is_some_and(|other| meets(own, other)));
                }
            }
            pairs.truncate(count);
            if !all_are_inside || has_excludes {
                pairs.retain(|pair| compared.is_inside(pair.b) && !excludes.is_excluded(pair.a, pair.b));
            }
            let place = |object: u32| of_outside.partition_point(|pair| pair.a < object);
            let more = &of_outside[place(run.start)..place(run.end)];
            if !more.is_empty() {
                pairs.extend(more);
                // Stable, because this merges sorted runs.
                pairs.sort();
            }
            pairs
        })
    }
}

/// As [`StepResult::world_pairs`](crate::StepResult::world_pairs).
fn world_pairs(inputs: &Inputs, pairs: &[Vec<Pair>]) -> Vec<u32> {
    let params = &inputs.params[0];
    if !params.has_worlds() {
        return Vec::new();
    }
    let mut world_pairs = vec![0u32; params.world_count as usize + 1];
    for pair in pairs.iter().flatten() {
        let of_world = &mut world_pairs[inputs.worlds().of_pair(pair) as usize];
        *of_world = of_world.wrapping_add(1);
    }
    world_pairs
}

/// Both are valid. Without branches, which would be mispredicted.
fn meets(a: &Aabb, b: &Aabb) -> bool {
    let meets = |axis: usize| (a.min[axis] <= b.max[axis]) & (b.min[axis] <= a.max[axis]);
    meets(0) & meets(1) & meets(2)
}

/// True if a valid object is within its grown box and has its filters. Nothing is within an invalid box.
fn is_within(object: &Aabb, grown: &Aabb) -> bool {
    let is_within = |axis: usize| (grown.min[axis] <= object.min[axis]) & (object.max[axis] <= grown.max[axis]);
    let same_filters = (object.layers == grown.layers) & (object.group == grown.group);
    same_filters & is_within(0) & is_within(1) & is_within(2)
}

/// [`is_within`] of any object, true for finite ones only.
fn is_finite_within(object: &Aabb, grown: &Aabb) -> bool {
    let is_finite = |axis: usize| (grown.min[axis] >= f32::MIN) & (grown.max[axis] <= f32::MAX);
    let is_valid = |axis: usize| (object.min[axis] <= object.max[axis]) & is_finite(axis);
    let is_included = object.group & Aabb::EXCLUDED == 0;
    is_within(object, grown) & is_valid(0) & is_valid(1) & is_valid(2) & is_included
}
