//! Candidate pairs that steps have in common: the pairs of boxes grown by a skin. They are complete while boxes stay
//! within their grown boxes. See the neighbour lists of Verlet, "Computer 'Experiments' on Classical Fluids" (1967).

use std::ops::Range;
use std::sync::Arc;

use super::boxes::have_filters;
use super::object_counts::ObjectCounts;
use super::pairs::PairSearch;
use super::skin::{Skin, most_candidates};
use super::table::Table;
use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions, Scheme};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::types::{Aabb, Pair};
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::{Class, Params, Record, classify};
use crate::reference::builder::{Inputs, Table as CellTable, Tables};
use crate::reference::pairs::pair_excludes::{Admits, Excludes};
use crate::reference::pairs::pair_static::box_query;
use crate::reference::pairs::pair_walk::passes_filters;
use crate::reference::params::overrides_of;
use crate::reference::queries::query_walk::walk_query;
use crate::shared::runs::{RUN_LENGTH, in_runs, map, walk};

/// At most one object in this many may be outside of its grown box.
const MOST_OUTSIDE: usize = 8;
/// Box tests that take as long as finding candidates, per object, and as long as beginning a search.
const TESTS_TO_FIND: f32 = 128.0;
const TESTS_PER_SEARCH: f32 = 128.0;
/// Maximum number of moving objects in no tree. Each search tests all of them.
const MAX_TREELESS: usize = 64;

// Runs have whole words of bits.
const _: () = assert!(RUN_LENGTH.is_multiple_of(u64::BITS));

#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// In the hierarchical scheme, since other schemes may test all pairs of grown boxes.
    descriptor: BroadPhaseDescriptor<'static>,
    /// Table of the grown boxes.
    grown: Table,
    worlds: [Vec<u32>; 2],
    /// Only the extents of the grown boxes.
    extents: [ObjectCounts; 2],
    /// Index of the first partner of each object, then the number of partners.
    begins: Vec<u32>,
    /// Partners of greater index, ascending.
    partners: Vec<u32>,
    /// Estimated box tests of searches for boxes outside of their grown boxes: of a search, and of all so far.
    tests_per_search: f32,
    tests: f32,
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
    /// Finds candidates. Returns `None` if they would take more memory than the table and `pairs` of a step, or too
    /// many box tests.
    pub fn find(
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        skin: &Skin<'_>,
        pairs: u64,
    ) -> Result<Option<Self>, BroadPhaseError> {
        let descriptor = BroadPhaseDescriptor {
            label: None,
            pair_filter: None,
            scheme: Scheme::Hierarchical,
            outputs: OutputOptions::default(),
            ..*descriptor
        };
        let statics = inputs.params[0].static_count as usize;
        let grown = Inputs::of_prepared(&descriptor, skin.grown(inputs), statics, inputs.worlds.clone())?;
        let mut grown = Table::build(&descriptor, grown)?;
        let objects = inputs.objects.len();
        let most = most_candidates(objects, grown.tables.bytes(), pairs);
        let search = PairSearch::new(overrides_of(&descriptor), &grown, None);
        let [tests, sampled] = search.sampled_tests_and_pairs();
        if sampled * objects as f32 > most as f32 || (tests > TESTS_TO_FIND && !search.has_trees()) {
            return Ok(None);
        }
        let found = search.find(None);
        completed(())?;
        let count = found.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        if count > most {
            return Ok(None);
        }
        let found = completed(search.write(found, count as u32, false))?;
        let mut begins = vec![0; objects + 1];
        for pair in &found {
            begins[pair.a as usize + 1] += 1;
        }
        let mut total = 0;
        for begin in &mut begins {
            total += *begin;
            *begin = total;
        }
        grown.tables.drop_entries();
        Ok(Some(Self {
            descriptor,
            extents: [0, 1].map(|table| {
                let objects = inputs.params[table].objects(&grown.tables.objects);
                ObjectCounts::of_extent(objects)
            }),
            grown,
            worlds: inputs.worlds.clone(),
            begins,
            partners: found.into_iter().map(|pair| pair.b).collect(),
            tests_per_search: TESTS_PER_SEARCH + 2.0 * tests,
            tests: 0.0,
        }))
    }

    /// Returns the pairs of a step, or `None` if it is time for new candidates.
    pub fn pairs(
        &mut self,
        inputs: &Inputs,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<CachedPairs>, BroadPhaseError> {
        let params = &inputs.params[0];
        let objects = inputs.objects.len();
        let known = self.begins.len() - 1;
        if params.static_count != self.grown.tables.own.params.static_count || 2 * objects < known {
            return Ok(None);
        }
        let compared = self.compared(inputs);
        let outside = compared.outside.len();
        let tests = outside as f32 * self.tests_per_search;
        let static_is_outside = compared
            .outside
            .first()
            .is_some_and(|&first| first < params.static_count);
        let is_over = self.tests + tests > TESTS_TO_FIND * objects as f32;
        if static_is_outside || outside > objects / MOST_OUTSIDE || is_over {
            return Ok(None);
        }
        self.tests += tests;
        let excludes = Excludes {
            exclusions: inputs.exclusions,
            table: &inputs.exclusion_table,
            admits,
        };
        let of_outside = self.pairs_of_outside(inputs, &compared, excludes)?;
        let pairs = completed(self.pairs_in_runs(inputs, &compared, excludes, &of_outside))?;
        Ok(Some(CachedPairs {
            world_pairs: world_pairs(inputs, &pairs),
            pairs,
            counts: compared.counts,
        }))
    }

    fn compared(&self, inputs: &Inputs) -> Comparison {
        let grown = &self.grown.tables.objects;
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
                    let mut is_inside = !is_uniform && grown.is_some_and(|grown| is_finite_within(current, grown));
                    if !is_inside {
                        let class = compared.counts[table].add_object(&inputs.params[table], current);
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

    /// Returns the pairs of objects outside of their grown boxes with all others, ascending.
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
        let boxes = outside.iter().map(|&object| objects[object as usize]).collect();
        let mut worlds = [Vec::new(), Vec::new()];
        if inputs.params[0].has_worlds() {
            worlds[0] = outside.iter().map(|&object| inputs.world_of(object)).collect();
        }
        let table = Table::build(
            &self.descriptor,
            Inputs::of_prepared(&self.descriptor, boxes, 0, worlds)?,
        )?;
        let filters = self.descriptor.filters;
        let tables = self.grown.tables.reads(None).queries(&[], false);
        let params = QueryBlocks {
            table: self.grown.tables.own.params,
            ..QueryBlocks::default()
        };
        let without_filters = Overrides {
            filters: false,
            count_candidates: false,
        };
        // In the order of cells, so that neighbours find the same cells in the caches.
        let search = |place: u32| {
            let object = outside[table.tables.own.records[place as usize].object as usize];
            let current = &objects[object as usize];
            let Record { low, high, world, .. } = inputs.record(object);
            let query = box_query(current, [low, high], world);
            let mut pairs = Vec::new();
            for table in &tables {
                walk_query(&params, table, without_filters, &query, |other, _| {
                    let passes = |b: &Aabb| meets(current, b) && (!filters || passes_filters(current, b));
                    if compared.is_inside(other) && passes(&objects[other as usize]) {
                        pairs.push(Pair::new(object, other));
                    }
                });
            }
            pairs
        };
        let mut all: Vec<_> = walk(outside.len() as u32, search).flatten().collect();
        completed(())?;
        let of_each_other = PairSearch::new(overrides_of(&self.descriptor), &table, None);
        let found = of_each_other.find(None);
        let found = completed(of_each_other.write(found, u32::MAX, false))?;
        let named = |pair: Pair| Pair::new(outside[pair.a as usize], outside[pair.b as usize]);
        all.extend(found.into_iter().map(named));
        all.retain(|pair| !excludes.is_excluded(pair.a, pair.b));
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

    /// Returns a table without cells, for searches in trees: those of the grown boxes, refitted to a step's boxes.
    /// `None` if too many objects are in no tree.
    pub fn refitted(&self, inputs: &Inputs) -> Option<Table> {
        let grown = &self.grown.tables;
        let statics = inputs.params[0].static_count as usize;
        if inputs.objects.len() != grown.objects.len() || inputs.objects[..statics] != grown.objects[..statics] {
            return None;
        }
        let is_finite = |object: &Aabb| classify(object) == Class::Finite;
        let is_in_tree = |object: u32| {
            let [current, grown] = [&inputs.objects, &grown.objects].map(|objects| &objects[object as usize]);
            is_finite(current) && is_finite(grown) && self.has_world(inputs, object)
        };
        let is_treeless = |object: &u32| {
            let class = classify(&inputs.objects[*object as usize]);
            matches!(class, Class::Finite | Class::Infinite) && !is_in_tree(*object)
        };
        let in_run = |run: Range<u32>| {
            let moving = run.filter(|object| *object as usize >= statics);
            moving.filter(is_treeless).collect::<Vec<_>>()
        };
        let treeless = in_runs(inputs.objects.len() as u32, in_run).concat();
        if treeless.len() > MAX_TREELESS {
            return None;
        }
        let have_filters = have_filters(&inputs.objects);
        let treeless = treeless.into_iter().map(|object| inputs.record(object)).collect();
        let current = |object: u32| Some(inputs.objects[object as usize]).filter(|_| is_in_tree(object));
        let mut trees = self.grown.query_trees();
        let own = trees
            .next()
            .map(|own| Arc::new(own.refitted(current, treeless, have_filters)));
        let trees = own.into_iter().chain(trees.cloned()).collect();
        let table_of = |table: &CellTable, params: Params| CellTable {
            params: Params {
                scheme: table.params.scheme,
                ..params
            },
            grid: table.grid,
            records: map(params.object_count, |place| {
                inputs.record(table.records[place as usize].object)
            }),
            ..CellTable::default()
        };
        let tables = Tables {
            objects: inputs.objects.clone(),
            own: table_of(&grown.own, inputs.params[0]),
            statics: grown
                .statics
                .as_ref()
                .map(|statics| table_of(statics, inputs.params[1])),
            exclusions: inputs.exclusions,
            exclusion_table: inputs.exclusion_table.clone(),
            counters: Vec::new(),
        };
        Some(Table::of_trees(tables, have_filters, trees))
    }
}

/// Returns the numbers of pairs by world, modulo 2^32; empty with one world.
fn world_pairs(inputs: &Inputs, pairs: &[Vec<Pair>]) -> Vec<u32> {
    let params = &inputs.params[0];
    if !params.has_worlds() {
        return Vec::new();
    }
    let mut world_pairs = vec![0u32; params.world_count as usize];
    for pair in pairs.iter().flatten() {
        let of_world = &mut world_pairs[inputs.world_of(pair.a) as usize];
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
