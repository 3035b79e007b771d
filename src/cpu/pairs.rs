//! Pairs of a step. Rows are found in runs, then sorted.

use std::sync::atomic::{AtomicU32, Ordering};

use super::ascending::ascending;
use super::boxes::LANES;
use super::lists::{Found, Lists, MAX_OF_ALL};
use super::step_trees::StepTrees;
use super::trees::Trees;
use crate::api::types::{ALL_WORLDS, Pair};
use crate::layout::blocks::{Overrides, PairBlocks};
use crate::reference::builder::{Inputs, Tables};
use crate::reference::pairs::pair_excludes::{Admits, Excludes};
use crate::reference::pairs::pair_static::{StaticPairReads, walk_static};
use crate::reference::pairs::pair_walk::{PairReads, passes_filters, walk_pairs};
use crate::reference::pairs::world_pairs::world_pairs;
use crate::reference::pairs::world_pairs_static::world_pairs_static;
use crate::reference::params::pair_params;
use crate::shared::runs::{RUN_LENGTH, Walked, walk_in_runs_of};

/// Maximum number of pairs that are cached above a fixed capacity, 128 MiB. More are found three times.
const MAX_OF_FIXED: u32 = 1 << 24;
/// Rows that are walked to estimate the number of pairs, at most one in 16.
const SAMPLES: u32 = 64;
const MIN_STEP: u32 = 16;

/// A search for all pairs, by row.
pub(super) trait PairSearch: Sync {
    /// Number of rows of a run.
    const RUN: u32;

    fn rows(&self) -> u32;

    /// Number of objects, moving and static.
    fn objects(&self) -> u32;

    fn walk(&self, row: u32, found: &mut Found<'_, Pair>) -> Walked;

    /// As [`StepResult::world_pairs`](crate::StepResult::world_pairs), from the counts of rows.
    fn world_pairs(&self, counts: &[u32]) -> Vec<u32>;

    fn find(&self, capacity: Option<u32>) -> Lists<Pair> {
        let most = capacity.map_or(MAX_OF_ALL, |capacity| capacity.max(MAX_OF_FIXED) as usize);
        let walk = |row, found: &mut Found<'_, Pair>| self.walk(row, found);
        Lists::find(most.min(MAX_OF_ALL), Self::RUN, self.rows(), &walk)
    }

    /// Returns the first `written` pairs of all, sorted by `a`, then by `b`. `is_cut` if there are more.
    fn write(&self, lists: Lists<Pair>, written: u32, is_cut: bool) -> Vec<Pair> {
        if written == 0 {
            return Vec::new();
        }
        let last = match is_cut && !lists.is_cached() {
            true => self.last_object(written),
            false => u32::MAX,
        };
        let runs = lists.into_runs(&|row, found| {
            let mut pairs = Vec::new();
            let walked = self.walk(row, &mut Found::all(&mut pairs));
            pairs
                .into_iter()
                .filter(|pair| pair.a <= last)
                .for_each(|pair| found.accept(pair));
            walked
        });
        let mut pairs = ascending(runs, self.objects());
        pairs.truncate(written as usize);
        pairs
    }

    /// Returns `a` of the last of the first `written` pairs.
    fn last_object(&self, written: u32) -> u32 {
        let counts: Vec<_> = (0..self.objects()).map(|_| AtomicU32::new(0)).collect();
        walk_in_runs_of(Self::RUN, self.rows(), |rows| {
            let mut pairs = Vec::new();
            for row in rows {
                self.walk(row, &mut Found::all(&mut pairs));
                for pair in pairs.drain(..) {
                    counts[pair.a as usize].fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut pairs = 0u64;
        let reaches = |count: &AtomicU32| {
            pairs += u64::from(count.load(Ordering::Relaxed));
            pairs >= u64::from(written)
        };
        counts.iter().position(reaches).map_or(u32::MAX, |object| object as u32)
    }
}

/// Rows are the groups of the moving objects, with each other, then with static objects.
pub(super) struct TreeSearch<'a> {
    own: &'a Trees,
    statics: Option<&'a Trees>,
    inputs: &'a Inputs,
    has_filters: bool,
    excludes: Excludes<'a>,
}

impl<'a> TreeSearch<'a> {
    /// Searches the boxes of `trees`, which may be grown.
    pub fn new(inputs: &'a Inputs, trees: &'a StepTrees, overrides: Overrides, admits: Option<&'a Admits<'a>>) -> Self {
        Self {
            own: &trees.own,
            statics: trees.statics.as_deref(),
            inputs,
            // Reading filters often misses the cache.
            has_filters: overrides.filters && (trees.own.have_filters || trees.has_static_filters()),
            excludes: inputs.excludes(admits),
        }
    }

    /// Returns the number of pairs, estimated from some rows.
    pub fn estimated_pairs(&self) -> f32 {
        let step = (self.rows() / SAMPLES).max(MIN_STEP) as usize;
        let samples = (0..self.rows()).step_by(step);
        let count = samples.len() as f32;
        let (mut pairs, mut found) = (0, Vec::new());
        for row in samples {
            self.walk(row, &mut Found::all(&mut found));
            pairs += found.len();
            found.clear();
        }
        pairs as f32 * self.rows() as f32 / count.max(1.0)
    }

    fn admits(&self, a: u32, b: u32) -> bool {
        let object = |index: u32| &self.inputs.objects[index as usize];
        let passes = !self.has_filters || passes_filters(object(a), object(b));
        passes && !self.excludes.is_excluded(a, b)
    }
}

impl PairSearch for TreeSearch<'_> {
    const RUN: u32 = RUN_LENGTH / LANES as u32;

    fn rows(&self) -> u32 {
        let own = self.own.groups();
        own + self.statics.map_or(0, |_| own)
    }

    fn objects(&self) -> u32 {
        self.inputs.objects.len() as u32
    }

    /// Counts the tests of a box and a node.
    fn walk(&self, row: u32, found: &mut Found<'_, Pair>) -> Walked {
        let visit = |a, b| {
            if self.admits(a, b) {
                found.accept(Pair::new(a, b));
            }
        };
        let candidates = match (row.checked_sub(self.own.groups()), self.statics) {
            (Some(group), Some(statics)) => statics.pairs(&self.own.group(group), None, visit),
            _ => self.own.pairs(&self.own.group(row), Some(row), visit),
        };
        Walked {
            candidates,
            is_invalid: false,
        }
    }

    fn world_pairs(&self, counts: &[u32]) -> Vec<u32> {
        let mut world_pairs = vec![0u32; self.inputs.params[0].world_count as usize + 1];
        let mut add = |world: u32, count: u32| {
            let pairs = &mut world_pairs[world as usize];
            *pairs = pairs.wrapping_add(count);
        };
        let worlds = (0..self.own.groups()).map(|group| self.own.world_of_group(group));
        for ((row, &count), world) in (0..).zip(counts).zip(worlds.clone().chain(worlds)) {
            match world {
                _ if count == 0 => {}
                // These may meet objects of any world.
                ALL_WORLDS => {
                    let mut pairs = Vec::new();
                    self.walk(row, &mut Found::all(&mut pairs));
                    pairs.iter().for_each(|pair| add(self.inputs.worlds().of_pair(pair), 1));
                }
                world => add(world, count),
            }
        }
        world_pairs
    }
}

/// Rows and box tests of the passes: those of moving objects with each other, by entry, then those of moving with
/// static objects, by record.
pub(super) struct CellSearch<'a> {
    params: PairBlocks,
    overrides: Overrides,
    input: PairReads<'a>,
    statics: Option<StaticPairReads<'a>>,
}

impl<'a> CellSearch<'a> {
    pub fn new(tables: &'a Tables, overrides: Overrides, admits: Option<&'a Admits<'a>>) -> Self {
        let table = tables.own.params;
        let reads = tables.reads(admits);
        Self {
            params: PairBlocks {
                table,
                pairs: pair_params(&table),
            },
            overrides,
            input: reads.pairs(),
            statics: reads.static_pairs(),
        }
    }
}

impl PairSearch for CellSearch<'_> {
    const RUN: u32 = RUN_LENGTH;

    fn rows(&self) -> u32 {
        self.params.pairs.rows
    }

    fn objects(&self) -> u32 {
        self.params.table.all_objects()
    }

    fn walk(&self, row: u32, found: &mut Found<'_, Pair>) -> Walked {
        let (params, overrides) = (&self.params, self.overrides);
        let candidates = match (row.checked_sub(params.pairs.entry_rows), &self.statics) {
            (Some(record), Some(statics)) => {
                let own = statics.own_records[record as usize].object;
                walk_static(params, statics, overrides, record, |other| {
                    found.accept(Pair::new(own, other));
                })
            }
            _ => walk_pairs(params, &self.input, overrides, row, |own, other| {
                found.accept(Pair::new(own, other));
            }),
        };
        Walked {
            candidates,
            is_invalid: false,
        }
    }

    fn world_pairs(&self, counts: &[u32]) -> Vec<u32> {
        let mut all = world_pairs(&self.params, self.input.table.records, self.input.values, counts);
        if let Some(statics) = &self.statics {
            world_pairs_static(&self.params, statics, self.overrides, &mut all);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::{BroadPhaseDescriptor, Scheme};
    use crate::api::scene::{Scene, Statics};
    use crate::api::types::{Aabb, Dimensions};
    use crate::cpu::tests::Random;
    use crate::reference::builder::Inputs;
    use crate::reference::host::HostScene;
    use crate::reference::params::overrides_of;

    /// Boxes that share many bounds. A few are infinite, very large, invalid, static or in groups.
    fn boxes(count: u32, random: &mut Random) -> Vec<Aabb> {
        let mut object = || {
            let low = [0; 3].map(|_| 0.5 * random.below(40) as f32 - 8.0);
            let long = random.below(3) as usize;
            let high = [0, 1, 2].map(|axis| {
                let most = if axis == long { 40 } else { 3 };
                low[axis] + 0.5 * random.below(most) as f32
            });
            let mut object = Aabb::new(low, high);
            match random.below(40) {
                0 => object.max[random.below(3) as usize] = f32::INFINITY,
                1 => object.min[random.below(3) as usize] = f32::NEG_INFINITY,
                2 => object = Aabb::new([-1e30; 3], [1e30; 3]),
                3 => object.min[0] = f32::NAN,
                4..8 => object.group = Aabb::STATIC,
                8..12 => object.group = 1 + random.below(2),
                12 => object = object.with_layers(1, 2),
                _ => {}
            }
            object
        };
        (0..count).map(|_| object()).collect()
    }

    fn pairs(search: &impl PairSearch) -> (Vec<Pair>, Vec<u32>) {
        let mut lists = search.find(None);
        let counts = std::mem::take(&mut lists.counts);
        let worlds = search.world_pairs(&counts);
        (search.write(lists, u32::MAX, false), worlds)
    }

    #[test]
    fn trees_find_the_pairs_of_cells() {
        let mut random = Random(1);
        let mut found = 0;
        for case in 0..300 {
            let counts = [random.below(2) * random.below(90), random.below(200)];
            let [statics, objects] = counts.map(|count| boxes(count, &mut random));
            let worlds = 1 + random.below(2) * 2;
            let [static_worlds, own_worlds] = [&statics, &objects].map(|objects| -> Vec<_> {
                let objects = if worlds > 1 { &objects[..] } else { &[] };
                objects.iter().map(|_| random.below(worlds + 1)).collect()
            });
            let all = counts[0] + counts[1] + 1;
            let excluded: Vec<_> = (0..20)
                .map(|_| Pair::new(random.below(all), random.below(all)))
                .collect();
            let descriptor = BroadPhaseDescriptor {
                worlds,
                filters: case % 3 > 0,
                scheme: [Scheme::Hierarchical, Scheme::Adaptive { min_scale: 0.5 }][case % 2],
                dimensions: [Dimensions::Three, Dimensions::Three, Dimensions::Two][case / 2 % 3],
                ..BroadPhaseDescriptor::default()
            };
            let scene = HostScene::of(&Scene {
                objects: objects[..].into(),
                worlds: own_worlds[..].into(),
                statics: Statics {
                    objects: statics[..].into(),
                    worlds: static_worlds[..].into(),
                    generation: 1,
                },
                excluded_pairs: excluded[..].into(),
                ..Scene::default()
            })
            .unwrap();
            let inputs = Inputs::of(&descriptor, &scene).unwrap();
            let tables = Tables::build(&descriptor, inputs.clone(), false).unwrap();
            let overrides = overrides_of(&descriptor);
            let of_cells = pairs(&CellSearch::new(&tables, overrides, None));
            let trees = StepTrees::of(&inputs, None);
            let search = TreeSearch::new(&inputs, &trees, overrides, None);
            assert!(
                pairs(&search) == of_cells,
                "case {case}: {counts:?} boxes, {worlds} worlds"
            );
            assert!(of_cells.0.is_sorted_by(|a, b| a < b), "case {case}");
            // Without a cache, rows are walked again.
            let half = of_cells.0.len() / 2;
            let lists = Lists::find(0, 9, search.rows(), &|row, found: &mut Found<'_, Pair>| {
                search.walk(row, found)
            });
            assert!(
                search.write(lists, half as u32, true) == of_cells.0[..half],
                "case {case}"
            );
            found += of_cells.0.len();
        }
        assert!(found > 50_000, "{found}");
    }
}
