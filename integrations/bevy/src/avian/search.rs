use bevy::tasks::{ComputeTaskPool, ParallelSlice};
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, BroadPhaseError, Pair, Queries, QueryInput, Scene, Statics};

use super::avian::collider_tree::{ColliderTreeProxyKey, ColliderTrees};
use super::avian::data_structures::pair_key::PairKey;
use super::avian::prelude::ContactGraph;
use super::table::{Layers, Table, boxed};

/// Share of colliders that may have moved since the last search of all, as a divisor.
const MAX_RECENT: usize = 8;
/// Pairs per task.
const PAIRS_PER_TASK: usize = 4096;

/// Bit of a mark: the proxy moved since the last search of all. The other bits are its place among the moved proxies of
/// the step, from 1, or 0.
const RECENT: u32 = 1 << 31;

/// Two proxies whose boxes overlap and that are no contact pair yet.
pub(super) struct Overlap {
    pub entities: PairKey,
    pub keys: [ColliderTreeProxyKey; 2],
    /// Place of each among the moved proxies, from 1, or 0. At least one moved.
    pub moved: [u32; 2],
}

/// Finds overlaps of moved proxies with all others.
///
/// If many moved, the engine searches all boxes. If few did, they query the table of the last such search. Proxies that
/// moved since then are found in a table of their own.
#[derive(Default)]
pub(super) struct Search {
    engines: Option<[CpuBroadPhase; 2]>,
    all: Table,
    recent: Table,
    /// Proxies that moved since the last search of all, in order.
    recent_keys: Vec<ColliderTreeProxyKey>,
    marks: Marks,
    generation: u64,
}

/// A mark of each proxy, by tree.
#[derive(Default)]
struct Marks([Vec<u32>; 4]);

impl Marks {
    fn of(&self, key: ColliderTreeProxyKey) -> u32 {
        let mark = self.0[key.tree_type() as usize].get(key.id().index());
        mark.copied().unwrap_or(0)
    }

    fn is_recent(&self, key: ColliderTreeProxyKey) -> bool {
        self.of(key) & RECENT != 0
    }

    fn moved(&self, key: ColliderTreeProxyKey) -> u32 {
        self.of(key) & !RECENT
    }

    fn at(&mut self, key: ColliderTreeProxyKey) -> &mut u32 {
        let marks = &mut self.0[key.tree_type() as usize];
        let index = key.id().index();
        if index >= marks.len() {
            marks.resize(index + 1, 0);
        }
        &mut marks[index]
    }
}

impl Search {
    /// `changed` are proxies that may have been added since the last search.
    pub fn run(
        &mut self,
        trees: &ColliderTrees,
        moved: &[ColliderTreeProxyKey],
        changed: impl Iterator<Item = ColliderTreeProxyKey>,
        graph: &ContactGraph,
    ) -> Result<Vec<Overlap>, BroadPhaseError> {
        let count = trees.iter_trees().map(|tree| tree.proxies.len()).sum::<usize>();
        for (place, &key) in (1..).zip(moved) {
            *self.marks.at(key) |= place;
        }
        let mut is_partial = self.engines.is_some() && moved.len() < count / MAX_RECENT;
        if is_partial {
            for key in moved.iter().copied().chain(changed) {
                self.add_recent(key);
            }
            is_partial = self.recent_keys.len() < count / MAX_RECENT;
        }
        let found = match is_partial {
            true => self.search_moved(trees, moved, graph),
            false => self.search_all(trees, graph),
        };
        for &key in moved {
            *self.marks.at(key) &= RECENT;
        }
        found
    }

    fn add_recent(&mut self, key: ColliderTreeProxyKey) {
        if key == ColliderTreeProxyKey::PLACEHOLDER {
            return;
        }
        let mark = self.marks.at(key);
        if *mark & RECENT == 0 {
            *mark |= RECENT;
            self.recent_keys.push(key);
        }
    }

    fn search_all(&mut self, trees: &ColliderTrees, graph: &ContactGraph) -> Result<Vec<Overlap>, BroadPhaseError> {
        for key in self.recent_keys.drain(..) {
            *self.marks.at(key) &= !RECENT;
        }
        self.all.fill(trees);
        self.generation += 1;
        let scene = Scene {
            objects: self.all.moving[..].into(),
            statics: Statics {
                objects: self.all.statics[..].into(),
                generation: self.generation,
                ..Statics::default()
            },
            ..Scene::default()
        };
        let [engine, _] = engines(&mut self.engines)?;
        let pairs = engine.step_scene(&scene)?.pairs;
        Ok(new_overlaps(&pairs, &self.all, &self.marks, graph))
    }

    fn search_moved(
        &mut self,
        trees: &ColliderTrees,
        moved: &[ColliderTreeProxyKey],
        graph: &ContactGraph,
    ) -> Result<Vec<Overlap>, BroadPhaseError> {
        self.recent.fill_with(trees, &self.recent_keys);
        let [all, recent] = engines(&mut self.engines)?;
        let pairs = recent.step_scene(&Scene {
            objects: self.recent.moving[..].into(),
            ..Scene::default()
        })?;
        let mut overlaps = new_overlaps(&pairs.pairs, &self.recent, &self.marks, graph);
        let proxies = moved.iter().filter_map(|&key| Some((key, trees.get_proxy(key)?)));
        let proxies: Vec<_> = proxies.collect();
        let boxes: Vec<Aabb> = proxies
            .iter()
            .map(|&(key, proxy)| boxed(trees, key, proxy, Layers::UNUSED))
            .collect();
        let found = all.query(&QueryInput {
            queries: Queries::Boxes(boxes[..].into()),
            ..QueryInput::default()
        })?;
        for (&(key, proxy), range) in proxies.iter().zip(found.query_offsets.windows(2)) {
            for &object in &found.query_objects[range[0] as usize..range[1] as usize] {
                let other = self.all.keys[object as usize];
                // Boxes of the table that moved since then are stale.
                if self.marks.is_recent(other) {
                    continue;
                }
                let entities = PairKey::new(proxy.collider.index_u32(), self.all.entities[object as usize]);
                if !graph.contains_key(&entities) {
                    overlaps.push(Overlap {
                        entities,
                        keys: [key, other],
                        moved: [self.marks.moved(key), 0],
                    });
                }
            }
        }
        Ok(overlaps)
    }
}

fn engines(engines: &mut Option<[CpuBroadPhase; 2]>) -> Result<&mut [CpuBroadPhase; 2], BroadPhaseError> {
    if engines.is_none() {
        let descriptor = BroadPhaseDescriptor {
            dimensions: super::DIMENSIONS,
            ..BroadPhaseDescriptor::default()
        };
        let engine = || CpuBroadPhase::new(&descriptor);
        *engines = Some([engine()?, engine()?]);
    }
    Ok(engines.as_mut().expect("created above"))
}

/// Returns the pairs with a moved proxy that are no contact pairs yet.
fn new_overlaps(pairs: &[Pair], table: &Table, marks: &Marks, graph: &ContactGraph) -> Vec<Overlap> {
    let overlap = |pair: &Pair| {
        let [a, b] = [pair.a as usize, pair.b as usize];
        let keys = [table.keys[a], table.keys[b]];
        let moved = keys.map(|key| marks.moved(key));
        let entities = PairKey::new(table.entities[a], table.entities[b]);
        let is_new = moved != [0; 2] && !graph.contains_key(&entities);
        is_new.then_some(Overlap { entities, keys, moved })
    };
    if pairs.len() <= PAIRS_PER_TASK {
        return pairs.iter().filter_map(overlap).collect();
    }
    let found = pairs.par_chunk_map(ComputeTaskPool::get(), PAIRS_PER_TASK, |_, pairs| {
        pairs.iter().filter_map(overlap).collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}
