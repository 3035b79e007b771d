use bevy::tasks::{ComputeTaskPool, ParallelSlice};
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{BroadPhaseDescriptor, BroadPhaseError, Pair, Scene, Statics};

use super::avian::collider_tree::{ColliderTreeProxyKey, ColliderTreeType, ColliderTrees, ProxyId};
use super::avian::data_structures::pair_key::PairKey;
use super::avian::prelude::ContactGraph;
use super::table::Table;

/// The engine searches if at least one in this many colliders moved: below, searches of Avian's trees take less time.
const ENGINE_SHARE: usize = 4;
const PAIRS_PER_TASK: usize = 4096;
/// More moved proxies are searched on all threads.
const MAX_OF_ONE_THREAD: usize = 256;

/// Two proxies whose boxes overlap and that are no contact pair yet.
pub(super) struct Overlap {
    pub entities: PairKey,
    pub keys: [ColliderTreeProxyKey; 2],
    /// Place of each among the moved proxies, from 1, or 0. At least one moved.
    pub moved: [u32; 2],
}

/// Finds overlaps of moved proxies with all others.
#[derive(Default)]
pub(super) struct Search {
    engine: Option<CpuBroadPhase>,
    table: Table,
    places: Places,
    generation: u64,
}

/// Place of each proxy among the moved ones, from 1, or 0; by tree.
#[derive(Default)]
struct Places([Vec<u32>; 4]);

impl Places {
    fn of(&self, key: ColliderTreeProxyKey) -> u32 {
        let place = self.0[key.tree_type() as usize].get(key.id().index());
        place.copied().unwrap_or(0)
    }

    fn set(&mut self, key: ColliderTreeProxyKey, place: u32) {
        let places = &mut self.0[key.tree_type() as usize];
        let index = key.id().index();
        if index >= places.len() {
            places.resize(index + 1, 0);
        }
        places[index] = place;
    }
}

impl Search {
    /// Returns each overlap once, in any order.
    pub fn run(
        &mut self,
        trees: &ColliderTrees,
        moved: &[ColliderTreeProxyKey],
        graph: &ContactGraph,
    ) -> Result<Vec<Overlap>, BroadPhaseError> {
        for (place, &key) in (1..).zip(moved) {
            self.places.set(key, place);
        }
        let count = trees.iter_trees().map(|tree| tree.proxies.len()).sum::<usize>();
        let found = match ENGINE_SHARE * moved.len() < count {
            true => Ok(search_trees(trees, moved, &self.places, graph)),
            false => self.search_all(trees, graph),
        };
        for &key in moved {
            self.places.set(key, 0);
        }
        found
    }

    fn search_all(&mut self, trees: &ColliderTrees, graph: &ContactGraph) -> Result<Vec<Overlap>, BroadPhaseError> {
        let engine = match &mut self.engine {
            Some(engine) => engine,
            none => none.insert(CpuBroadPhase::new(&BroadPhaseDescriptor {
                dimensions: super::DIMENSIONS,
                ..BroadPhaseDescriptor::default()
            })?),
        };
        self.table.fill(trees);
        self.generation += 1;
        let pairs = engine.step_scene(&Scene {
            objects: self.table.moving[..].into(),
            statics: Statics {
                objects: self.table.statics[..].into(),
                generation: self.generation,
                ..Statics::default()
            },
            ..Scene::default()
        })?;
        Ok(new_overlaps(&pairs.pairs, &self.table, &self.places, graph))
    }
}

/// Searches Avian's trees for the boxes of the moved proxies.
fn search_trees(
    trees: &ColliderTrees,
    moved: &[ColliderTreeProxyKey],
    places: &Places,
    graph: &ContactGraph,
) -> Vec<Overlap> {
    let search = |keys: &[ColliderTreeProxyKey]| {
        let mut overlaps = Vec::new();
        for &key in keys {
            let tree = trees.tree_for_type(key.tree_type());
            let (Some(proxy), Some(bounds)) = (tree.get_proxy(key.id()), tree.get_proxy_aabb(key.id())) else {
                continue;
            };
            let place = places.of(key);
            for kind in ColliderTreeType::ALL {
                let tree = trees.tree_for_type(kind);
                if tree.proxies.is_empty() {
                    continue;
                }
                tree.bvh.aabb_traverse(bounds, |bvh, node| {
                    let node = &bvh.nodes[node as usize];
                    let first = node.first_index as usize;
                    for &index in &bvh.primitive_indices[first..first + node.prim_count as usize] {
                        let other = ColliderTreeProxyKey::new(ProxyId::new(index), kind);
                        let moved = [place, places.of(other)];
                        // Two moved proxies find each other.
                        let is_found_before = moved[1] > 0 && moved[1] <= moved[0];
                        let Some(partner) = tree.get_proxy(other.id()).filter(|_| !is_found_before) else {
                            continue;
                        };
                        let entities = PairKey::new(proxy.collider.index_u32(), partner.collider.index_u32());
                        if !graph.contains_key(&entities) {
                            let keys = [key, other];
                            overlaps.push(Overlap { entities, keys, moved });
                        }
                    }
                    true
                });
            }
        }
        overlaps
    };
    if moved.len() <= MAX_OF_ONE_THREAD {
        return search(moved);
    }
    let found = moved.par_splat_map(ComputeTaskPool::get(), None, |_, keys| search(keys));
    found.into_iter().flatten().collect()
}

/// Returns the pairs with a moved proxy that are no contact pairs yet.
fn new_overlaps(pairs: &[Pair], table: &Table, places: &Places, graph: &ContactGraph) -> Vec<Overlap> {
    let overlap = |pair: &Pair| {
        let [a, b] = [pair.a as usize, pair.b as usize];
        let keys = [table.keys[a], table.keys[b]];
        let moved = keys.map(|key| places.of(key));
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
