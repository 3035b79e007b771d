use std::mem::take;

use super::lists::{Lists, MAX_OF_ALL};
use super::nearest::nearest;
use super::query_lists::QueryLists;
use super::query_walk::Source;
use super::ray_search;
use super::table::Table;
use super::trees::Trees;
use super::walks::{PairWalks, RayWalks, StaticPairWalks};
use crate::api::counters::{CountedOutput, HITS, PAIRS, RAY_CELLS, RESULTS};
use crate::api::counters::{Counters, word};
use crate::api::descriptor::{BroadPhaseDescriptor, PairOrder, RayMode};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Query, self_query};
use crate::api::result::StepResult;
use crate::api::types::{Pair, RayHit, SweptRay};
use crate::layout::blocks::{Overrides, PairBlocks, QueryBlocks, RayBlocks, add64};
use crate::layout::counters::Held;
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::pairs::world_pairs::world_pairs;
use crate::reference::params::{fixed, overrides_of, pair_params, query_params, scan_output};
use crate::reference::rays::ray_any::any_by;
use crate::reference::rays::ray_cells_count::ray_cells_count;
use crate::reference::rays::ray_cells_emit::ray_cells_emit;
use crate::reference::rays::ray_closest::closest_by;
use crate::reference::rays::ray_hits::ray_count_of;
use crate::shared::lists::sort_lists;
use crate::shared::runs;

pub(super) struct Answer<'a> {
    descriptor: &'a BroadPhaseDescriptor<'a>,
    table: &'a Table,
    admits: Option<&'a Admits<'a>>,
    overrides: Overrides,
    pub held: Held,
    pub counters: Vec<u32>,
    result: StepResult,
}

impl<'a> Answer<'a> {
    pub fn new(descriptor: &'a BroadPhaseDescriptor<'a>, table: &'a Table, admits: Option<&'a Admits<'a>>) -> Self {
        Self {
            descriptor,
            table,
            admits,
            overrides: overrides_of(descriptor),
            held: table.held,
            counters: table.counters.clone(),
            result: StepResult::default(),
        }
    }

    pub fn into_result(self) -> Result<StepResult, BroadPhaseError> {
        completed(StepResult {
            counters: Counters::from_words(&self.counters, &self.held),
            ..self.result
        })
    }

    /// True if lists are sorted, so that their searches may use trees, which earlier searches decide.
    fn sorts_lists(&self, capacity: Option<u32>) -> bool {
        capacity.is_none() || self.descriptor.outputs.pair_order == PairOrder::Sorted
    }

    /// Trees for `count` searches. Empty if they do not pay, if box tests are counted, or with a capacity, which must
    /// keep the same rows without trees.
    fn trees(&self, count: u32, capacity: Option<u32>) -> Vec<&'a Trees> {
        if capacity.is_some() || self.overrides.count_candidates {
            return Vec::new();
        }
        self.table.trees(count)
    }

    fn scan(
        &mut self,
        output: &CountedOutput,
        capacity: Option<u32>,
        counts: &mut [u32],
    ) -> Result<[u32; 2], BroadPhaseError> {
        let written = scan_output(output, counts, &mut self.counters, capacity)?;
        Ok([written, capacity.unwrap_or(written)])
    }

    pub fn find_pairs(&mut self) -> Result<(), BroadPhaseError> {
        let params = PairBlocks {
            table: self.table.params,
            pairs: pair_params(&self.table.params),
        };
        let capacity = fixed(self.descriptor, self.descriptor.outputs.capacities.pairs);
        let reads = self.table.reads(self.admits);
        // Reading filters often misses the cache.
        let overrides = Overrides {
            filters: self.overrides.filters && self.table.have_filters,
            ..self.overrides
        };
        let (records, values) = (reads.own.table.records, reads.own.values);
        let walks = PairWalks {
            params: &params,
            input: reads.pairs(),
            overrides,
        };
        let mut lists = Lists::find(params.entry_capacity, capacity, &walks);
        add64(&mut self.counters, word::PAIR_CANDIDATES, lists.candidates);
        let mut counts = take(&mut lists.counts);
        let static_walks = reads.static_pairs().map(|input| StaticPairWalks {
            params: &params,
            input,
            overrides,
        });
        let static_lists = static_walks.as_ref().map(|walks| {
            let mut lists = Lists::find(params.pairs.static_rows(), capacity, walks);
            add64(&mut self.counters, word::PAIR_CANDIDATES, lists.candidates);
            counts.truncate(params.entry_capacity as usize);
            counts.append(&mut lists.counts);
            lists
        });
        if params.world_count > 1 {
            self.result.world_pairs = world_pairs(&params, records, values, &counts);
        }
        let [written, room] = self.scan(&PAIRS, capacity, &mut counts)?;
        let mut pairs = vec![Pair { a: 0, b: 0 }; written as usize];
        lists.write(&counts, &mut pairs, &walks);
        if let (Some(lists), Some(walks)) = (static_lists, &static_walks) {
            lists.write(&counts[params.entry_capacity as usize..], &mut pairs, walks);
        }
        if self.descriptor.outputs.pair_order == PairOrder::Sorted {
            runs::sort(&mut pairs);
        }
        self.result.pairs = pairs;
        self.held.pairs = room;
        Ok(())
    }

    pub fn run_queries(&mut self, scene: &HostScene<'_>) -> Result<(), BroadPhaseError> {
        let table = self.table.params;
        let (rays, queries) = query_params(&table, scene)?;
        (self.held.hits, self.held.ray_cells, self.held.results) = (0, 0, 0);
        if !matches!(scene.query_input.rays, Rays::None) {
            let params = RayBlocks { table, rays };
            self.cast_rays(&params, &scene.rays)?;
            completed(())?;
            if self.descriptor.outputs.ray_cells {
                self.list_ray_cells(params, &scene.rays)?;
            }
        }
        if !matches!(scene.query_input.queries, Queries::None) {
            self.answer_queries(&QueryBlocks { table, queries }, &scene.queries)?;
        }
        Ok(())
    }

    fn cast_rays(&mut self, params: &RayBlocks, rays: &[SweptRay]) -> Result<(), BroadPhaseError> {
        let overrides = self.overrides;
        let tables = self.table.reads(None).rays(rays);
        let outputs = &self.descriptor.outputs;
        let capacity = match outputs.ray_mode {
            RayMode::All => fixed(self.descriptor, outputs.capacities.hits),
            _ => None,
        };
        let trees = self.trees(params.rays.count, capacity);
        match outputs.ray_mode {
            RayMode::Closest => {
                self.result.ray_hits = closest_by(params, &tables, &mut self.counters, |ray, closest| {
                    ray_search::walk(params, &tables, &trees, overrides, ray, closest)
                });
                self.held.hits = params.rays.count;
            }
            RayMode::Any => {
                self.result.ray_any = any_by(params, &tables, &mut self.counters, |ray, any| {
                    ray_search::walk(params, &tables, &trees, overrides, ray, any)
                });
            }
            RayMode::All => {
                let walks = RayWalks {
                    params,
                    tables: &tables,
                    trees: &trees,
                    overrides,
                };
                let mut lists = Lists::find(ray_count_of(params, &tables), capacity, &walks);
                self.counters[word::RAYS_INVALID] += lists.invalid;
                add64(&mut self.counters, word::RAY_CANDIDATES, lists.candidates);
                let mut offsets = take(&mut lists.counts);
                let [written, room] = self.scan(&HITS, capacity, &mut offsets)?;
                let mut hits = vec![RayHit { object: 0, t: 0.0 }; written as usize];
                lists.write(&offsets, &mut hits, &walks);
                if self.sorts_lists(capacity) {
                    sort_lists(&mut hits, &offsets, |hit| hit.object);
                }
                self.held.hits = room;
                self.result.ray_hits = hits;
                self.result.ray_offsets = offsets;
            }
        }
        Ok(())
    }

    fn list_ray_cells(&mut self, mut params: RayBlocks, rays: &[SweptRay]) -> Result<(), BroadPhaseError> {
        let reads = self.table.reads(None);
        let tables = [Some(reads.own), reads.statics].into_iter().flatten();
        let grids: Vec<_> = tables.map(|of| of.table.grid).collect();
        let mut offsets = ray_cells_count(&params, &grids, rays);
        let capacity = fixed(self.descriptor, self.descriptor.outputs.capacities.ray_cells);
        let [written, room] = self.scan(&RAY_CELLS, capacity, &mut offsets)?;
        params.rays.cell_capacity = written;
        self.result.ray_cells = ray_cells_emit(&params, &grids, rays, &offsets);
        self.result.ray_cell_offsets = offsets;
        self.held.ray_cells = room;
        Ok(())
    }

    fn answer_queries(&mut self, params: &QueryBlocks, queries: &[Query]) -> Result<(), BroadPhaseError> {
        let overrides = self.overrides;
        let reads = self.table.reads(self.admits);
        let walks = reads.queries(queries, params.queries.self_query != self_query::NONE);
        if params.queries.nearest > 0 {
            let trees = self.trees(params.queries.count, None);
            self.result.query_nearest = nearest(params, &walks, &trees, overrides, &mut self.counters);
            return Ok(());
        }
        let capacity = fixed(self.descriptor, self.descriptor.outputs.capacities.results);
        let trees = self.trees(params.queries.count, capacity);
        let sources: Vec<_> = match trees[..] {
            // To count box tests, walks are those of the passes.
            [] if params.is_uniform() || overrides.count_candidates => vec![Source::Cells; walks.len()],
            [] => self.table.boxes().into_iter().map(Source::Boxes).collect(),
            _ => trees
                .iter()
                .cycle()
                .take(walks.len())
                .map(|trees| Source::Trees(trees))
                .collect(),
        };
        let mut lists = QueryLists::find(MAX_OF_ALL, params, &walks, &sources, overrides, &mut self.counters);
        let mut offsets = take(&mut lists.counts);
        let [written, room] = self.scan(&RESULTS, capacity, &mut offsets)?;
        let mut objects = lists.write(&offsets, written);
        if self.sorts_lists(capacity) {
            sort_lists(&mut objects, &offsets, |&object| object);
        }
        self.held.results = room;
        self.result.query_objects = objects;
        self.result.query_offsets = offsets;
        Ok(())
    }
}
