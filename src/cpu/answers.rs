use std::mem::take;

use super::ascending::by_world;
use super::candidates::CachedPairs;
use super::last_step::Searched;
use super::lists::{Found, Lists, MAX_OF_ALL};
use super::nearest::nearest;
use super::pairs::PairSearch;
use super::query_lists::QueryLists;
use super::query_walk::Source;
use super::ray_search;
use crate::api::counters::{Counters, Output, word};
use crate::api::descriptor::{BroadPhaseDescriptor, RayMode};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Query, QueryMode, self_query};
use crate::api::result::StepResult;
use crate::api::types::{RayHit, SweptRay};
use crate::layout::blocks::{QueryBlocks, QueryParams, RayBlocks, RayParams, add64};
use crate::layout::counters::Held;
use crate::reference::builder::Inputs;
use crate::reference::host::HostScene;
use crate::reference::outputs::Outputs;
use crate::reference::queries::query::periods;
use crate::reference::rays::ray::load_ray;
use crate::reference::rays::ray_any::any_by;
use crate::reference::rays::ray_closest::closest_by;
use crate::reference::rays::ray_hits::ray_count_of;
use crate::shared::lists::sort_lists;
use crate::shared::runs::RUN_LENGTH;

pub(super) struct Answer<'a> {
    pub outputs: Outputs<'a>,
    result: StepResult,
}

impl<'a> Answer<'a> {
    pub fn new(descriptor: &'a BroadPhaseDescriptor<'a>, held: Held, counters: Vec<u32>) -> Self {
        Self {
            outputs: Outputs::new(descriptor, held, counters),
            result: StepResult::default(),
        }
    }

    pub fn into_result(self) -> Result<StepResult, BroadPhaseError> {
        completed(StepResult {
            counters: Counters::from_words(&self.outputs.counters, &self.outputs.held),
            ..self.result
        })
    }

    /// True if lists are sorted: always those from trees.
    fn sorts_lists(&self, capacity: Option<u32>) -> bool {
        capacity.is_none() || self.outputs.is_sorted()
    }

    /// Returns true if rays and queries need nothing but trees.
    pub fn needs_only_trees(&self, params: &RayBlocks, scene: &HostScene<'_>) -> bool {
        let options = &self.outputs.descriptor.outputs;
        let is_cut = |output| self.outputs.capacity(output).is_some();
        let cuts_hits = options.ray_mode == RayMode::All && is_cut(Output::RayHits);
        let rays = options.ray_cells || cuts_hits || ray_search::are_far(params, &scene.rays);
        let queries = match scene.query_input.query_mode {
            QueryMode::Nearest(_) => periods(params) != [0.0; 3],
            _ => is_cut(Output::QueryObjects),
        };
        let has_rays = !matches!(scene.query_input.rays, Rays::None);
        let has_queries = !matches!(scene.query_input.queries, Queries::None);
        !(has_rays && rays || has_queries && queries)
    }

    /// Returns the number of tests of the search.
    pub fn find_pairs(&mut self, search: &impl PairSearch, has_worlds: bool) -> Result<u64, BroadPhaseError> {
        let capacity = self.outputs.capacity(Output::Pairs);
        let mut lists = search.find(capacity);
        completed(())?;
        let tests = lists.candidates;
        if self.outputs.overrides.count_candidates {
            add64(&mut self.outputs.counters, word::PAIR_CANDIDATES, tests);
        }
        let counts = take(&mut lists.counts);
        if has_worlds {
            self.result.world_pairs = search.world_pairs(&counts);
        }
        (_, self.result.pairs) = self.outputs.write(Output::Pairs, counts, |written, offsets| {
            let is_cut = offsets.last().is_some_and(|&needed| needed > written);
            search.write(lists, written, is_cut)
        })?;
        Ok(tests)
    }

    pub fn take_pairs(&mut self, found: CachedPairs) -> Result<(), BroadPhaseError> {
        let counts = found.pairs.iter().map(|run| run.len() as u32).chain([0]).collect();
        self.result.world_pairs = found.world_pairs;
        (_, self.result.pairs) = self.outputs.write(Output::Pairs, counts, |_, _| found.pairs.concat())?;
        Ok(())
    }

    /// Sorts pairs by world, if results are sorted.
    pub fn order_pairs(&mut self, inputs: &Inputs) {
        if self.outputs.is_sorted() && inputs.params[0].has_worlds() {
            (self.result.pairs, self.result.world_offsets) = by_world(&self.result.pairs, inputs.worlds());
        }
    }

    pub fn run_queries(
        &mut self,
        searched: &Searched<'_>,
        scene: &HostScene<'_>,
        rays: RayParams,
        queries: QueryParams,
    ) -> Result<(), BroadPhaseError> {
        let params = searched.params;
        if !matches!(scene.query_input.rays, Rays::None) {
            let params = RayBlocks { table: params, rays };
            self.cast_rays(searched, &params, &scene.rays)?;
            if self.outputs.descriptor.outputs.ray_cells {
                (self.result.ray_cell_offsets, self.result.ray_cells) =
                    self.outputs
                        .list_ray_cells(params, &searched.reads, &scene.rays, |_| {})?;
            }
        }
        if !matches!(scene.query_input.queries, Queries::None) {
            let params = QueryBlocks { table: params, queries };
            self.answer_queries(searched, &params, &scene.queries)?;
        }
        Ok(())
    }

    fn cast_rays(
        &mut self,
        searched: &Searched<'_>,
        params: &RayBlocks,
        rays: &[SweptRay],
    ) -> Result<(), BroadPhaseError> {
        let overrides = self.outputs.overrides;
        let tables = searched.reads.rays(rays);
        let options = &self.outputs.descriptor.outputs;
        let capacity = match options.ray_mode {
            RayMode::All => self.outputs.capacity(Output::RayHits),
            _ => None,
        };
        let trees = searched.trees(capacity);
        let counters = &mut self.outputs.counters;
        match options.ray_mode {
            RayMode::Closest => {
                self.result.ray_hits = closest_by(params, &tables, counters, |ray, closest| {
                    ray_search::walk(params, &tables, trees, overrides, ray, closest)
                });
                self.outputs.held.rows[Output::RayHits] = params.rays.count;
            }
            RayMode::Any => {
                self.result.ray_any = any_by(params, &tables, counters, |ray, any| {
                    ray_search::walk(params, &tables, trees, overrides, ray, any)
                });
            }
            RayMode::All => {
                let walk = |row: u32, found: &mut Found<'_, RayHit>| {
                    let ray = load_ray(params, &rays[row as usize]);
                    ray_search::walk(params, &tables, trees, overrides, &ray, found)
                };
                let most = capacity.map_or(MAX_OF_ALL, |capacity| MAX_OF_ALL.min(capacity as usize));
                let mut lists = Lists::find(most, RUN_LENGTH, ray_count_of(params, &tables), &walk);
                counters[word::RAYS_INVALID] += lists.invalid;
                add64(counters, word::RAY_CANDIDATES, lists.candidates);
                let counts = take(&mut lists.counts);
                let sorts = self.sorts_lists(capacity);
                (self.result.ray_offsets, self.result.ray_hits) =
                    self.outputs.write(Output::RayHits, counts, |written, offsets| {
                        let mut hits = vec![RayHit { object: 0, t: 0.0 }; written as usize];
                        lists.write(offsets, &mut hits, &walk);
                        if sorts {
                            sort_lists(&mut hits, offsets, |hit| hit.object);
                        }
                        hits
                    })?;
            }
        }
        completed(())
    }

    fn answer_queries(
        &mut self,
        searched: &Searched<'_>,
        params: &QueryBlocks,
        queries: &[Query],
    ) -> Result<(), BroadPhaseError> {
        let overrides = self.outputs.overrides;
        let walks = searched
            .reads
            .queries(queries, params.queries.self_query != self_query::NONE);
        if params.queries.nearest > 0 {
            let trees = searched.trees(None);
            self.result.query_nearest = nearest(params, &walks, trees, overrides, &mut self.outputs.counters);
            return Ok(());
        }
        let capacity = self.outputs.capacity(Output::QueryObjects);
        let trees = searched.trees(capacity);
        let sources: Vec<_> = match trees[..] {
            [] => vec![Source::Cells],
            _ => trees.iter().copied().map(Source::Trees).collect(),
        };
        // The tables of the third walk are those of the first.
        let sources: Vec<_> = sources.into_iter().cycle().take(walks.len()).collect();
        let counters = &mut self.outputs.counters;
        let mut lists = QueryLists::find(MAX_OF_ALL, params, &walks, &sources, overrides, counters);
        let counts = take(&mut lists.counts);
        let sorts = self.sorts_lists(capacity);
        (self.result.query_offsets, self.result.query_objects) =
            self.outputs.write(Output::QueryObjects, counts, |written, offsets| {
                let mut objects = lists.write(offsets, written);
                if sorts {
                    sort_lists(&mut objects, offsets, |&object| object);
                }
                objects
            })?;
        Ok(())
    }
}
