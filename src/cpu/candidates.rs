//! Candidate pairs that are kept between steps: the pairs of boxes grown by a skin. They serve while boxes stay within
//! their grown boxes. These are the neighbour lists of Verlet, "Computer 'Experiments' on Classical Fluids" (1967).

use std::ops::Range;
use std::sync::Arc;

use super::boxes::have_filters;
use super::census::Census;
use super::pairs::PairSearch;
use super::skin::Skin;
use super::table::Table;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{BroadPhaseError, completed};
use crate::api::types::{Aabb, Pair};
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::{Class, Params, Record, classify};
use crate::reference::builder::{Inputs, Table as CellTable, Tables};
use crate::reference::pairs::pair_excludes::{Admits, Excludes};
use crate::reference::pairs::pair_static::box_query;
use crate::reference::pairs::pair_walk::passes_filters;
use crate::reference::params::overrides_of;
use crate::reference::queries::query_walk::{QueryReads, count_query};
use crate::shared::runs::{RUN_LENGTH, in_runs, map, walk};

/// One box in this many may be outside of its grown box.
const MOST_ESCAPED: usize = 8;
/// Maximum number of moving objects in no tree. Each search tests all of them.
const MOST_OTHERS: usize = 64;
/// Box tests that take as long as finding candidates, per object, and as long as beginning a search.
const TESTS_TO_FIND: u64 = 128;
const TESTS_PER_SEARCH: u64 = 128;

// Runs have whole words of bits.
const _: () = assert!(RUN_LENGTH.is_multiple_of(u64::BITS));

const WITHOUT_FILTERS: Overrides = Overrides {
    filters: false,
    count_candidates: false,
};

#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// Table of the grown boxes.
    grown: Table,
    worlds: [Vec<u32>; 2],
    /// Only the extents of the grown boxes.
    grown_censuses: [Census; 2],
    /// Index of the first partner of each object, then the number of partners.
    begins: Vec<u32>,
    /// Partners of greater index, ascending.
    partners: Vec<u32>,
    /// Box tests for boxes outside of their grown boxes, in all steps.
    tests: u64,
}

/// Pairs of a step, and counts of its moving and its static objects.
pub(super) struct KeptPairs {
    /// In runs, ascending.
    pub pairs: Vec<Vec<Pair>>,
    pub censuses: [Census; 2],
}

/// Objects of a step, compared with their grown boxes.
#[derive(Default)]
struct Places {
    /// One bit per object, set if it is within its grown box and nothing else changed.
    kept: Vec<u64>,
    /// Other valid objects, ascending.
    escaped: Vec<u32>,
    censuses: [Census; 2],
}

impl Places {
    fn kept_count(&self) -> usize {
        self.kept.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    fn is_kept(&self, object: u32) -> bool {
        let bits = self.kept.get(object as usize / 64);
        bits.is_some_and(|bits| bits >> (object % 64) & 1 != 0)
    }
}

impl Candidates {
    /// Finds candidates. Returns `None` if they take more memory than the table and `pairs` of a step.
    pub fn find(
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        skin: &Skin<'_>,
        pairs: u64,
    ) -> Result<Option<Self>, BroadPhaseError> {
        let grown = Inputs {
            params: inputs.params,
            objects: skin.grown(inputs),
            worlds: inputs.worlds.clone(),
            ..Inputs::default()
        };
        let grown = Table::build(descriptor, grown)?;
        let search = PairSearch::new(overrides_of(descriptor), &grown, None);
        let found = search.find(None);
        completed(())?;
        let count = found.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        let objects = inputs.objects.len();
        let bytes = 4 * count + (objects * (size_of::<Aabb>() + 4)) as u64;
        let most = grown.tables.bytes() + pairs * size_of::<Pair>() as u64;
        let Some(count) = u32::try_from(count).ok().filter(|_| bytes <= most) else {
            return Ok(None);
        };
        let found = completed(search.write(found, count, false))?;
        let mut begins = vec![0; objects + 1];
        for pair in &found {
            begins[pair.a as usize + 1] += 1;
        }
        let mut total = 0;
        for begin in &mut begins {
            total += *begin;
            *begin = total;
        }
        Ok(Some(Self {
            begins,
            partners: found.into_iter().map(|pair| pair.b).collect(),
            worlds: inputs.worlds.clone(),
            grown_censuses: [0, 1].map(|table| Census::of_extent(inputs.params[table].objects(&grown.tables.objects))),
            grown,
            tests: 0,
        }))
    }

    /// Returns the pairs of a step, or `None` if too many boxes are outside of their grown boxes.
    pub fn pairs(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        admits: Option<&Admits<'_>>,
    ) -> Result<Option<KeptPairs>, BroadPhaseError> {
        let statics = inputs.params[0].static_count;
        if statics != self.grown.tables.own.params.static_count {
            return Ok(None);
        }
        let places = self.places(inputs);
        let escaped = &places.escaped;
        if escaped.len() > inputs.objects.len() / MOST_ESCAPED || escaped.first().is_some_and(|&first| first < statics)
        {
            return Ok(None);
        }
        let excludes = Excludes {
            exclusions: inputs.exclusions,
            table: &inputs.exclusion_table,
            admits,
        };
        let of_escaped = self.pairs_of_escaped(descriptor, inputs, &places, excludes)?;
        if self.tests > TESTS_TO_FIND * inputs.objects.len() as u64 {
            return Ok(None);
        }
        let pairs = completed(self.kept_pairs(inputs, &places, excludes, &of_escaped))?;
        let censuses = places.censuses;
        Ok(Some(KeptPairs { pairs, censuses }))
    }

    fn places(&self, inputs: &Inputs) -> Places {
        let grown = &self.grown.tables.objects;
        let statics = inputs.params[0].static_count;
        let is_scheme_plain = !inputs.params[0].is_uniform();
        let in_run = |run: Range<u32>| {
            let mut places = Places::default();
            for first in run.clone().step_by(64) {
                let mut kept = 0;
                for object in first..run.end.min(first.saturating_add(64)) {
                    let current = &inputs.objects[object as usize];
                    let (table, place) = match object.checked_sub(statics) {
                        Some(place) => (0, place as usize),
                        None => (1, object as usize),
                    };
                    let same_world = inputs.worlds[table].get(place) == self.worlds[table].get(place);
                    let grown = grown.get(object as usize).filter(|_| same_world);
                    let mut is_kept = is_scheme_plain && grown.is_some_and(|grown| is_finite_within(current, grown));
                    if !is_kept {
                        let class = places.censuses[table].count(&inputs.params[table], current);
                        let is_valid = matches!(class, Class::Finite | Class::Infinite);
                        is_kept = is_valid && grown.is_some_and(|grown| is_within(current, grown));
                        if is_valid && !is_kept {
                            places.escaped.push(object);
                        }
                    }
                    kept |= u64::from(is_kept) << (object - first);
                }
                places.kept.push(kept);
            }
            places
        };
        let mut all = Places {
            censuses: self.grown_censuses,
            ..Places::default()
        };
        for places in in_runs(inputs.objects.len() as u32, in_run) {
            all.kept.extend(places.kept);
            all.escaped.extend(places.escaped);
            for (all, census) in all.censuses.iter_mut().zip(&places.censuses) {
                all.add(census);
            }
        }
        all
    }

    /// Returns a table for searches in trees only, those of the grown boxes with a step's boxes. `None` if too many
    /// objects are in no tree.
    pub fn searchable(&self, inputs: &Inputs) -> Option<Table> {
        let grown = &self.grown.tables;
        if inputs.params[0].is_uniform() || inputs.objects.len() != grown.objects.len() {
            return None;
        }
        let is_finite = |object: &Aabb| classify(object) == Class::Finite;
        let is_in_tree = |object: u32| {
            let [current, grown] = [&inputs.objects, &grown.objects].map(|objects| &objects[object as usize]);
            is_finite(current) && is_finite(grown) && inputs.world_of(object) == self.world_of(object)
        };
        let is_other = |object: &u32| {
            let class = classify(&inputs.objects[*object as usize]);
            matches!(class, Class::Finite | Class::Infinite) && !is_in_tree(*object)
        };
        let statics = inputs.params[0].static_count;
        let others: Vec<_> = in_runs(inputs.objects.len() as u32, |run| {
            run.filter(|object| *object >= statics)
                .filter(is_other)
                .collect::<Vec<_>>()
        })
        .concat();
        if others.len() > MOST_OTHERS {
            return None;
        }
        let have_filters = have_filters(&inputs.objects);
        let others = others.into_iter().map(|object| inputs.record(object)).collect();
        let current = |object: u32| Some(inputs.objects[object as usize]).filter(|_| is_in_tree(object));
        let mut trees = self.grown.query_trees();
        let own = trees
            .next()
            .map(|own| Arc::new(own.refitted(current, others, have_filters)));
        let trees = own.into_iter().chain(trees.cloned()).collect();
        let table_of = |table: &CellTable, params: Params| CellTable {
            params,
            grid: table.grid,
            records: current_records(inputs, &table.records[..params.object_count as usize]),
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

    fn world_of(&self, object: u32) -> u32 {
        let [own, statics] = &self.worlds;
        let count = self.grown.tables.own.params.static_count;
        let world = match object.checked_sub(count) {
            Some(place) => own.get(place as usize),
            None => statics.get(object as usize),
        };
        world.copied().unwrap_or(0)
    }

    /// Returns the pairs of escaped objects with all others, ascending.
    fn pairs_of_escaped(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: &Inputs,
        places: &Places,
        excludes: Excludes<'_>,
    ) -> Result<Vec<Pair>, BroadPhaseError> {
        let escaped = &places.escaped;
        if escaped.is_empty() {
            return Ok(Vec::new());
        }
        let objects = &inputs.objects;
        let admits = |pair: &Pair| {
            let passes = || passes_filters(&objects[pair.a as usize], &objects[pair.b as usize]);
            (!descriptor.filters || passes()) && !excludes.is_excluded(pair.a, pair.b)
        };
        let tables = self.grown.tables.reads(None);
        let walks: Vec<_> = [Some(tables.own), tables.statics]
            .into_iter()
            .flatten()
            .map(|of| QueryReads {
                table: of.table,
                queries: &[],
                self_query: &[],
                objects: tables.objects,
                values: of.values,
                excludes: Excludes::default(),
            })
            .collect();
        let params = QueryBlocks {
            table: self.grown.tables.own.params,
            ..QueryBlocks::default()
        };
        let table = table_of(descriptor, inputs, escaped)?;
        // In the order of cells, so that neighbours find the same cells in the caches.
        let search = |place: u32| {
            let object = escaped[table.tables.own.records[place as usize].object as usize];
            let current = &objects[object as usize];
            let Record { low, high, world, .. } = inputs.record(object);
            let query = box_query(current, [low, high], world);
            let (mut pairs, mut tests) = (Vec::new(), TESTS_PER_SEARCH);
            for walk in &walks {
                let [walked, _] = count_query(&params, walk, WITHOUT_FILTERS, &query, |other, _| {
                    let pair = Pair::new(object, other);
                    if places.is_kept(other) && meets(current, &objects[other as usize]) && admits(&pair) {
                        pairs.push(pair);
                    }
                });
                tests += u64::from(walked);
            }
            (pairs, tests)
        };
        let mut all = Vec::new();
        let mut tests = 0;
        for (pairs, of_search) in walk(escaped.len() as u32, search) {
            all.extend(pairs);
            tests += of_search;
        }
        completed(())?;
        let of_each_other = PairSearch::new(WITHOUT_FILTERS, &table, None);
        let found = of_each_other.find(None);
        let named = |pair: Pair| Pair::new(escaped[pair.a as usize], escaped[pair.b as usize]);
        let found = completed(of_each_other.write(found, u32::MAX, false))?;
        all.extend(found.into_iter().map(named).filter(admits));
        all.sort_unstable();
        self.tests += tests;
        Ok(all)
    }

    /// Returns all pairs in runs, ascending.
    fn kept_pairs(
        &self,
        inputs: &Inputs,
        places: &Places,
        excludes: Excludes<'_>,
        of_escaped: &[Pair],
    ) -> Vec<Vec<Pair>> {
        let objects = &inputs.objects;
        let known = self.begins.len() as u32 - 1;
        let all_are_kept = places.kept_count() == objects.len() && objects.len() >= known as usize;
        let has_excludes = !excludes.table.is_empty() || excludes.admits.is_some();
        in_runs(objects.len() as u32, |run| {
            let owners = run.start.min(known)..run.end.min(known);
            let begin_of = |object: u32| self.begins[object as usize] as usize;
            let mut pairs = vec![Pair { a: 0, b: 0 }; begin_of(owners.end) - begin_of(owners.start)];
            let mut count = 0;
            for a in owners.filter(|&a| all_are_kept || places.is_kept(a)) {
                let own = &objects[a as usize];
                for &b in &self.partners[begin_of(a)..begin_of(a + 1)] {
                    // Without branches, which would be mispredicted.
                    pairs[count] = Pair { a, b };
                    count += usize::from(objects.get(b as usize).is_some_and(|other| meets(own, other)));
                }
            }
            pairs.truncate(count);
            if !all_are_kept || has_excludes {
                pairs.retain(|pair| places.is_kept(pair.b) && !excludes.is_excluded(pair.a, pair.b));
            }
            let place = |object: u32| of_escaped.partition_point(|pair| pair.a < object);
            let more = &of_escaped[place(run.start)..place(run.end)];
            if !more.is_empty() {
                pairs.extend(more);
                // Stable, because this merges sorted runs.
                pairs.sort();
            }
            pairs
        })
    }
}

/// Returns the records of a step's objects, in the order of others.
fn current_records(inputs: &Inputs, records: &[Record]) -> Vec<Record> {
    map(records.len() as u32, |place| {
        inputs.record(records[place as usize].object)
    })
}

/// Returns a table of some objects, by their places in `some`.
fn table_of(descriptor: &BroadPhaseDescriptor<'_>, inputs: &Inputs, some: &[u32]) -> Result<Table, BroadPhaseError> {
    let objects = some.iter().map(|&object| inputs.objects[object as usize]).collect();
    let worlds = match inputs.params[0].has_worlds() {
        true => some.iter().map(|&object| inputs.world_of(object)).collect(),
        false => Vec::new(),
    };
    Table::build(descriptor, Inputs::of_prepared(descriptor, objects, worlds)?)
}

/// Both are valid. Without branches, which would be mispredicted.
fn meets(a: &Aabb, b: &Aabb) -> bool {
    let meets = |axis: usize| (a.min[axis] <= b.max[axis]) & (b.min[axis] <= a.max[axis]);
    meets(0) & meets(1) & meets(2)
}

/// True if a valid object has the filters of its grown box and lies within. An invalid box holds nothing.
fn is_within(object: &Aabb, grown: &Aabb) -> bool {
    let is_within = |axis: usize| (grown.min[axis] <= object.min[axis]) & (object.max[axis] <= grown.max[axis]);
    let has_filters = (object.layers == grown.layers) & (object.group == grown.group);
    has_filters & is_within(0) & is_within(1) & is_within(2)
}

/// [`is_within`] for an object that is known to be valid and finite then.
fn is_finite_within(object: &Aabb, grown: &Aabb) -> bool {
    let is_finite = |axis: usize| (grown.min[axis] >= f32::MIN) & (grown.max[axis] <= f32::MAX);
    let is_valid = |axis: usize| (object.min[axis] <= object.max[axis]) & is_finite(axis);
    let is_included = object.group & Aabb::EXCLUDED == 0;
    is_within(object, grown) & is_valid(0) & is_valid(1) & is_valid(2) & is_included
}
