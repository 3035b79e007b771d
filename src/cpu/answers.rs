//! The answers of a step: pairs, hits and results, each found by one walk of most rows.

use std::mem::take;

use super::lists::Lists;
use super::query_lists::QueryLists;
use super::table::Table;
use super::walks::{PairWalks, RayWalks, StaticPairWalks};
use crate::api::counters::{Status, word};
use crate::api::descriptor::{BroadPhaseDescriptor, PairOrder, RayMode};
use crate::api::error::InputError;
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Query, askers};
use crate::api::result::StepResult;
use crate::api::types::{Pair, RayHit, SweptRay};
use crate::layout::blocks::add64;
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::pairs::world_pairs::world_pairs;
use crate::reference::pairs::world_pairs_static::world_pairs_static;
use crate::reference::params::{fixed, overrides_of, scan_output};
use crate::reference::queries::query_nearest::query_nearest;
use crate::reference::rays::ray_any::ray_any;
use crate::reference::rays::ray_cells_count::ray_cells_count;
use crate::reference::rays::ray_cells_emit::ray_cells_emit;
use crate::reference::rays::ray_closest::ray_closest;
use crate::reference::rays::ray_hits::ray_count_of;
use crate::shared::lists::sort_lists;
use crate::shared::runs;

/// Finds the pairs of a step, and how many each world has.
pub(super) fn find_pairs(
    table: &mut Table,
    descriptor: &BroadPhaseDescriptor<'_>,
    admits: Option<&Admits<'_>>,
    result: &mut StepResult,
) -> Result<(), InputError> {
    let params = table.params;
    let mut counters = take(&mut table.counters);
    let overrides = overrides_of(descriptor);
    let capacity = fixed(descriptor, descriptor.capacities.pairs);
    let reads = table.reads(admits);
    let (records, values) = (reads.own.table.records, reads.own.values);
    let walks = PairWalks {
        params: &params,
        input: reads.pairs(),
        overrides,
    };
    let mut lists = Lists::find(params.entry_capacity, capacity, &walks);
    add64(&mut counters, word::PAIR_CANDIDATES, lists.candidates);
    let mut counts = take(&mut lists.counts);
    if params.world_count > 1 {
        result.world_pairs = world_pairs(&params, records, values, &counts);
    }
    let static_walks = reads.static_pairs().map(|input| StaticPairWalks {
        params: &params,
        input,
        overrides,
    });
    let static_lists = static_walks.as_ref().map(|walks| {
        let mut lists = Lists::find(params.static_rows(), capacity, walks);
        add64(&mut counters, word::PAIR_CANDIDATES, lists.candidates);
        counts.truncate(params.entry_capacity as usize);
        counts.append(&mut lists.counts);
        if params.world_count > 1 {
            world_pairs_static(&params, records, &counts, &mut result.world_pairs);
        }
        lists
    });
    let (needed, status) = (word::PAIRS_NEEDED, Status::PAIRS);
    let written = scan_output(&mut counts, &mut counters, needed, capacity, status, "pairs")?;
    let mut pairs = vec![Pair { a: 0, b: 0 }; written as usize];
    lists.write(&counts, &mut pairs, &walks);
    if let (Some(lists), Some(walks)) = (static_lists, &static_walks) {
        lists.write(&counts[params.entry_capacity as usize..], &mut pairs, walks);
    }
    if descriptor.pair_order == PairOrder::Sorted {
        runs::sort(&mut pairs);
    }
    result.pairs = pairs;
    table.params.pair_capacity = capacity.unwrap_or(written);
    table.counters = counters;
    Ok(())
}

/// Finds what the rays and the queries of a scene meet in the table of a step, whose uniform block names them.
pub(super) fn answer(
    table: &mut Table,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
    admits: Option<&Admits<'_>>,
    result: &mut StepResult,
) -> Result<(), InputError> {
    if !matches!(scene.asked.rays, Rays::None) {
        cast_rays(table, descriptor, &scene.rays, result)?;
        if descriptor.ray_cells {
            list_ray_cells(table, descriptor, &scene.rays, result)?;
        }
    }
    if !matches!(scene.asked.queries, Queries::None) {
        answer_queries(table, descriptor, &scene.queries, admits, result)?;
    }
    Ok(())
}

fn cast_rays(
    table: &mut Table,
    descriptor: &BroadPhaseDescriptor<'_>,
    rays: &[SweptRay],
    result: &mut StepResult,
) -> Result<(), InputError> {
    let mut params = table.params;
    let mut counters = take(&mut table.counters);
    let overrides = overrides_of(descriptor);
    let tables = table.reads(None).rays(rays);
    match descriptor.ray_mode {
        RayMode::Closest => {
            result.ray_hits = ray_closest(&params, &tables, overrides, &mut counters);
            params.hit_capacity = params.ray_count;
        }
        RayMode::Any => result.ray_any = ray_any(&params, &tables, overrides, &mut counters),
        RayMode::All => {
            let capacity = fixed(descriptor, descriptor.capacities.hits);
            let walks = RayWalks {
                params: &table.params,
                tables: &tables,
                overrides,
            };
            let mut lists = Lists::find(ray_count_of(&params, &tables), capacity, &walks);
            counters[word::RAYS_INVALID] += lists.invalid;
            add64(&mut counters, word::RAY_CANDIDATES, lists.candidates);
            let mut offsets = take(&mut lists.counts);
            let (needed, status) = (word::HITS_NEEDED, Status::HITS);
            let written = scan_output(&mut offsets, &mut counters, needed, capacity, status, "hits")?;
            let mut hits = vec![RayHit { object: 0, t: 0.0 }; written as usize];
            lists.write(&offsets, &mut hits, &walks);
            if descriptor.pair_order == PairOrder::Sorted {
                sort_lists(&mut hits, &offsets, |hit| hit.object);
            }
            params.hit_capacity = capacity.unwrap_or(written);
            result.ray_hits = hits;
            result.ray_offsets = offsets;
        }
    }
    table.params = params;
    table.counters = counters;
    Ok(())
}

fn list_ray_cells(
    table: &mut Table,
    descriptor: &BroadPhaseDescriptor<'_>,
    rays: &[SweptRay],
    result: &mut StepResult,
) -> Result<(), InputError> {
    let mut params = table.params;
    let mut counters = take(&mut table.counters);
    let reads = table.reads(None);
    let tables = [Some(reads.own), reads.statics].into_iter().flatten();
    let grids: Vec<_> = tables.map(|of| of.table.grid).collect();
    let mut offsets = ray_cells_count(&params, &grids, rays);
    let capacity = fixed(descriptor, descriptor.capacities.ray_cells);
    let (needed, status) = (word::RAY_CELLS_NEEDED, Status::RAY_CELLS);
    let written = scan_output(&mut offsets, &mut counters, needed, capacity, status, "ray cells")?;
    params.ray_cell_capacity = written;
    result.ray_cells = ray_cells_emit(&params, &grids, rays, &offsets);
    result.ray_cell_offsets = offsets;
    table.params.ray_cell_capacity = capacity.unwrap_or(written);
    table.counters = counters;
    Ok(())
}

fn answer_queries(
    table: &mut Table,
    descriptor: &BroadPhaseDescriptor<'_>,
    queries: &[Query],
    admits: Option<&Admits<'_>>,
    result: &mut StepResult,
) -> Result<(), InputError> {
    let params = table.params;
    let mut counters = take(&mut table.counters);
    let overrides = overrides_of(descriptor);
    let walks = table.reads(admits).queries(queries, params.askers != askers::NOBODY);
    if params.nearest > 0 {
        result.query_nearest = query_nearest(&params, &walks, overrides, &mut counters);
    } else {
        let mut lists = QueryLists::find(&params, &walks, overrides, &mut counters);
        let mut offsets = take(&mut lists.counts);
        let capacity = fixed(descriptor, descriptor.capacities.results);
        let (needed, status) = (word::RESULTS_NEEDED, Status::RESULTS);
        let what = "results of queries";
        let written = scan_output(&mut offsets, &mut counters, needed, capacity, status, what)?;
        let mut objects = lists.write(&offsets, written);
        if descriptor.pair_order == PairOrder::Sorted {
            sort_lists(&mut objects, &offsets, |&object| object);
        }
        table.params.result_capacity = capacity.unwrap_or(written);
        result.query_objects = objects;
        result.query_offsets = offsets;
    }
    table.counters = counters;
    Ok(())
}
