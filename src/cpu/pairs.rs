//! Pairs of a table, from cells or from trees.

use std::sync::atomic::{AtomicU32, Ordering};

use super::ascending::ascending;
use super::boxes::LANES;
use super::lists::{Found, Lists, MAX_OF_ALL};
use super::table::Table;
use super::trees::Trees;
use crate::api::types::Pair;
use crate::layout::blocks::{Overrides, PairBlocks};
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::pairs::pair_static::{StaticPairReads, walk_static};
use crate::reference::pairs::pair_walk::{PairReads, Test, passes_filters, walk_pairs, walk_tests};
use crate::reference::pairs::world_pairs::world_pairs;
use crate::reference::params::pair_params;
use crate::shared::runs::{RUN_LENGTH, Walked, walk_in_runs_of};

/// Entries whose box tests are counted to choose between cells and trees.
const SAMPLES: u32 = 256;
/// Samples are walked twice, so at most one entry in 16 is one.
const MIN_STEP: u32 = 16;
/// Number of box tests in cells that take as long as a search in trees.
const TESTS_PER_SEARCH: u64 = 256;
/// Maximum number of pairs that are cached above a fixed capacity, 128 MiB. More are found three times: to count them,
/// to find the last object, and to write.
const MAX_OF_FIXED: u32 = 1 << 24;

/// Rows of pairs: those of moving objects with each other, by entry or by group of the trees, then those of moving with
/// static objects, by record or by group.
pub(super) struct PairSearch<'a> {
    params: PairBlocks,
    overrides: Overrides,
    input: PairReads<'a>,
    statics: Option<StaticPairReads<'a>>,
    /// Trees of the moving, then of the static objects. `None`: cells are searched.
    trees: Option<(Trees, Option<Trees>)>,
}

impl<'a> PairSearch<'a> {
    pub fn new(overrides: Overrides, table: &'a Table, admits: Option<&'a Admits<'a>>) -> Self {
        let mut search = Self::of_cells(overrides, table, admits);
        // Counted box tests must be those of the passes.
        if !overrides.count_candidates && !search.params.table.is_uniform() && search.misses_are_many() {
            search.use_trees(table);
        }
        search
    }

    fn of_cells(overrides: Overrides, table: &'a Table, admits: Option<&'a Admits<'a>>) -> Self {
        let params = table.tables.own.params;
        let reads = table.tables.reads(admits);
        Self {
            params: PairBlocks {
                table: params,
                pairs: pair_params(&params),
            },
            // Reading filters often misses the cache.
            overrides: Overrides {
                filters: overrides.filters && table.have_filters,
                ..overrides
            },
            input: reads.pairs(),
            statics: reads.static_pairs(),
            trees: None,
        }
    }

    fn use_trees(&mut self, table: &Table) {
        let mut trees = table.pair_trees();
        self.trees = trees.next().map(|own| (own, trees.next()));
    }

    fn misses_are_many(&self) -> bool {
        let entries = self.input.table.ignored_begin(&self.params.table);
        // Trees of many static boxes pay with many moving ones only.
        let boxes_per_entry = u64::from(self.params.table.all_objects() / entries.max(1)).max(1);
        let most = TESTS_PER_SEARCH * self.samples().len() as u64 * boxes_per_entry;
        let mut misses = 0;
        for entry in self.samples() {
            let [tests, pairs] = self.tests_and_pairs(entry);
            misses += tests - pairs;
            if misses > most {
                return true;
            }
        }
        false
    }

    fn samples(&self) -> impl ExactSizeIterator<Item = u32> {
        let entries = self.input.table.ignored_begin(&self.params.table);
        let step = (entries / SAMPLES).max(MIN_STEP) as usize;
        (0..entries).step_by(step)
    }

    /// Returns the numbers of box tests in cells and of pairs of an entry.
    fn tests_and_pairs(&self, entry: u32) -> [u64; 2] {
        let counted = Overrides {
            count_candidates: true,
            ..self.overrides
        };
        let (mut tests, mut pairs) = (0, 0);
        walk_tests(&self.params, &self.input, self.overrides, entry, |test| {
            tests += 1;
            pairs += u64::from(matches!(test, Test::Of { is_pair: true, .. }));
        });
        if let Some(statics) = &self.statics {
            let mut found = 0;
            let walked = walk_static(&self.params, statics, counted, entry, |_| found += 1);
            tests += u64::from(walked.max(found));
            pairs += u64::from(found);
        }
        [tests, pairs]
    }

    /// Returns the mean numbers of box tests in cells and of pairs of a sampled entry.
    pub fn sampled_tests_and_pairs(&self) -> [f32; 2] {
        let samples = self.samples().len().max(1) as f32;
        let mut sums = [0; 2];
        for entry in self.samples() {
            let of_entry = self.tests_and_pairs(entry);
            sums = [0, 1].map(|which| sums[which] + of_entry[which]);
        }
        sums.map(|sum| sum as f32 / samples)
    }

    pub const fn has_trees(&self) -> bool {
        self.trees.is_some()
    }

    fn run_length(&self) -> u32 {
        match &self.trees {
            Some(_) => RUN_LENGTH / LANES as u32,
            None => RUN_LENGTH,
        }
    }

    fn own_rows(&self) -> u32 {
        match &self.trees {
            Some((trees, _)) => trees.groups(),
            None => self.params.pairs.entry_rows,
        }
    }

    fn rows(&self) -> u32 {
        self.own_rows().saturating_add(match &self.trees {
            Some((trees, statics)) => statics.as_ref().map_or(0, |_| trees.groups()),
            None => self.params.pairs.static_rows(),
        })
    }

    fn walk(&self, row: u32, found: &mut Found<'_, Pair>) -> Walked {
        let (params, overrides) = (&self.params, self.overrides);
        let place = row.checked_sub(self.own_rows());
        let candidates = match (&self.trees, place, &self.statics) {
            (Some((own, statics)), _, _) => {
                let group = own.group(place.unwrap_or(row));
                let (trees, index) = match (place, statics) {
                    (Some(_), Some(statics)) => (statics, None),
                    _ => (own, Some(row)),
                };
                trees.pairs(&group, index, |a, b| {
                    if self.admits(a, b) {
                        found.accept(Pair::new(a, b));
                    }
                });
                0
            }
            (None, Some(record), Some(statics)) => {
                let own = statics.own_records[record as usize].object;
                walk_static(params, statics, overrides, record, |other| {
                    found.accept(Pair::new(own, other));
                })
            }
            _ => walk_pairs(params, &self.input, overrides, row, |own, other| {
                found.accept(Pair::new(own, other));
            }),
        };
        let is_invalid = false;
        Walked { candidates, is_invalid }
    }

    fn admits(&self, a: u32, b: u32) -> bool {
        let object = |index: u32| &self.input.objects[index as usize];
        let passes = !self.overrides.filters || passes_filters(object(a), object(b));
        passes && !self.input.excludes.is_excluded(a, b)
    }

    pub fn find(&self, capacity: Option<u32>) -> Lists<Pair> {
        let most = capacity.map_or(MAX_OF_ALL, |capacity| capacity.max(MAX_OF_FIXED) as usize);
        Lists::find(most.min(MAX_OF_ALL), self.run_length(), self.rows(), &|row, found| {
            self.walk(row, found)
        })
    }

    /// Returns the number of pairs of each world, modulo 2^32.
    pub fn world_pairs(&self, counts: &[u32]) -> Vec<u32> {
        let Some((trees, _)) = &self.trees else {
            return world_pairs(&self.params, self.input.table.records, self.input.values, counts);
        };
        let mut world_pairs = vec![0u32; self.params.table.world_count as usize];
        let worlds = (0..trees.groups()).map(|group| trees.group(group).world as usize);
        for (&count, world) in counts.iter().zip(worlds.clone().chain(worlds)) {
            if count > 0 {
                world_pairs[world] = world_pairs[world].wrapping_add(count);
            }
        }
        world_pairs
    }

    /// Returns the first `written` pairs of all, sorted by `a`, then by `b`. `is_cut` if there are more.
    pub fn write(&self, lists: Lists<Pair>, written: u32, is_cut: bool) -> Vec<Pair> {
        if written == 0 {
            return Vec::new();
        }
        let objects = self.params.table.all_objects();
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
        let mut pairs = ascending(runs, objects);
        pairs.truncate(written as usize);
        pairs
    }

    /// Returns `a` of the last of the first `written` pairs.
    fn last_object(&self, written: u32) -> u32 {
        let counts: Vec<_> = (0..self.params.table.all_objects())
            .map(|_| AtomicU32::new(0))
            .collect();
        walk_in_runs_of(self.run_length(), self.rows(), |rows| {
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
            let table = Table::build(&descriptor, Inputs::of(&descriptor, &scene).unwrap()).unwrap();
            let mut search = PairSearch::of_cells(overrides_of(&descriptor), &table, None);
            let pairs = |search: &PairSearch<'_>| {
                let mut lists = search.find(None);
                let counts = std::mem::take(&mut lists.counts);
                let worlds = search.world_pairs(&counts);
                (search.write(lists, u32::MAX, false), worlds)
            };
            let of_cells = pairs(&search);
            search.use_trees(&table);
            assert!(
                pairs(&search) == of_cells,
                "case {case}: {counts:?} boxes, {worlds} worlds"
            );
            assert!(of_cells.0.is_sorted_by(|a, b| a < b), "case {case}");
            // Without a cache, rows are walked again.
            let half = of_cells.0.len() / 2;
            let lists = Lists::find(0, 9, search.rows(), &|row, found| search.walk(row, found));
            assert!(
                search.write(lists, half as u32, true) == of_cells.0[..half],
                "case {case}"
            );
            found += of_cells.0.len();
        }
        assert!(found > 50_000, "{found}");
    }

    #[test]
    fn rods_on_three_axes_are_searched_by_trees_others_by_cells() {
        for (length, axes, uses_trees) in [(50.0, 3, true), (50.0, 1, false), (1.0, 3, false)] {
            let mut random = Random(7);
            let mut place = || random.range(0.0, 100.0);
            let objects: Vec<_> = (0..3000)
                .map(|index| {
                    let mut half = [0.5; 3];
                    half[index % axes] = length;
                    Aabb::from_center_half([place(), place(), place()], half)
                })
                .collect();
            let descriptor = BroadPhaseDescriptor::default();
            let scene = Scene {
                objects: objects[..].into(),
                ..Scene::default()
            };
            let inputs = Inputs::of(&descriptor, &HostScene::of(&scene).unwrap()).unwrap();
            let table = Table::build(&descriptor, inputs).unwrap();
            let search = PairSearch::new(overrides_of(&descriptor), &table, None);
            assert_eq!(search.trees.is_some(), uses_trees, "length {length}, {axes} axes");
        }
    }
}
