use std::mem::take;

use super::host::HostScene;
use super::pairs::pair_excludes::Excludes;
use super::pairs::pair_walk::PairReads;
use super::pairs::{
    pair_count, pair_emit, pair_emit_cached, pair_exclude, pair_static_count, pair_static_emit, world_pairs,
};
use super::params::{fixed, overrides_of, pair_params, query_params, save_static_entries, scan_output, sized};
use super::queries::{query_count, query_emit, query_nearest};
use super::rays::{ray_any, ray_cells_count, ray_cells_emit, ray_closest, ray_count, ray_emit};
use super::reads::{StepReads, TableReads};
use super::rows::CellTable;
use super::sort::sort_digit;
use super::table::{
    clusters, entry_count, entry_emit, gather, keys, large_table_emit, layout, level_statistics, sample_statistics,
};
use crate::api::counters::word;
use crate::api::counters::{ENTRIES, HITS, PAIRS, RAY_CELLS, RESULTS};
use crate::api::descriptor::{BroadPhaseDescriptor, PairOrder, RayMode, SortStrategy};
use crate::api::error::BroadPhaseError;
use crate::api::input::{Queries, Rays, count};
use crate::api::queries::{NearestObject, Query, self_query};
use crate::api::scene::Scene;
use crate::api::types::{Aabb, Pair, RayCell, RayHit, SweptRay};
use crate::layout::blocks::{
    Exclusions, Overrides, PairBlocks, PairParams, QueryBlocks, QueryParams, RayBlocks, RayParams, SortParams,
};
use crate::layout::digits::table_digits;
use crate::layout::grid::{Grid, PRIMARY_FLAGS, Params, Record, SCHEME_UNIFORM};
use crate::shared::lists::sort_lists;

/// Buffers after the passes of one digit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SortDigit {
    pub sort: SortParams,
    pub keys: Vec<u32>,
    pub values: Vec<u32>,
}

/// Every buffer of a step, as written by its pass; empty if that pass did not run. `_offsets` are scanned `_counts`.
/// Outputs hold only written rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub params: Params,
    pub pair_params: PairParams,
    pub ray_params: RayParams,
    pub query_params: QueryParams,
    /// Output of [`prepare`](super::table::prepare::prepare), or the scene's objects if nothing changes them. Static
    /// ones come first.
    pub objects: Vec<Aabb>,
    /// Trace of the static table, if there is one, up to its records.
    pub statics: Option<Box<Trace>>,
    pub sample_statistics: Vec<u32>,
    pub level_statistics: Vec<u32>,
    pub counters_after_level_statistics: Vec<u32>,
    pub grid_after_layout: Grid,
    pub counters_after_layout: Vec<u32>,
    pub entry_counts: Vec<u32>,
    pub entry_offsets: Vec<u32>,
    pub counters_after_entries: Vec<u32>,
    pub large_table_sums: Vec<u32>,
    pub grid: Grid,
    pub unsorted_keys: Vec<u32>,
    pub unsorted_values: Vec<u32>,
    pub digits: Vec<SortDigit>,
    pub keys: Vec<u32>,
    /// Sorted values, reordered by [`clusters`].
    pub values: Vec<u32>,
    /// Output of [`gather`]: first entry of each key.
    pub starts: Vec<u32>,
    pub records: Vec<Record>,
    pub clusters: Vec<Record>,
    /// Output of [`pair_count`], then of [`pair_static_count`] with static objects.
    pub pair_counts: Vec<u32>,
    pub world_pairs: Vec<u32>,
    pub pair_offsets: Vec<u32>,
    /// Cached partners of [`pair_count`], then of [`pair_static_count`].
    pub pair_cache: Vec<u32>,
    pub pairs: Vec<Pair>,
    pub exclusions: Exclusions,
    pub exclusion_table: Vec<[u32; 2]>,
    pub ray_counts: Vec<u32>,
    pub ray_offsets: Vec<u32>,
    pub ray_hits: Vec<RayHit>,
    pub ray_any: Vec<u32>,
    pub ray_cell_counts: Vec<u32>,
    pub ray_cell_offsets: Vec<u32>,
    pub ray_cells: Vec<RayCell>,
    pub query_counts: Vec<u32>,
    pub query_offsets: Vec<u32>,
    pub query_objects: Vec<u32>,
    pub query_nearest: Vec<NearestObject>,
    pub counters: Vec<u32>,
}

///
/// # Errors
/// Those of [`step_scene`](crate::cpu::step_scene).
pub fn trace(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Trace, BroadPhaseError> {
    trace_host(descriptor, &HostScene::of(scene)?)
}

pub(crate) fn trace_host(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
) -> Result<Trace, BroadPhaseError> {
    let ([params, static_params], objects) = sized(descriptor, scene)?;
    let mut trace = Trace {
        objects,
        counters: vec![0; word::COUNT],
        ..Trace::default()
    };
    if params.static_count > 0 {
        let mut statics = Trace {
            params: static_params,
            objects: trace.objects.clone(),
            counters: trace.counters,
            ..Trace::default()
        };
        build(&mut statics, scene.static_worlds, descriptor.sort)?;
        trace.counters = statics.counters.clone();
        save_static_entries(&mut trace.counters);
        trace.statics = Some(Box::new(statics));
    }
    trace.params = params;
    trace.pair_params = pair_params(&params);
    (trace.ray_params, trace.query_params) = query_params(&params, scene)?;
    build(&mut trace, scene.worlds, descriptor.sort)?;
    let list = count("excluded pairs", scene.excluded_pairs.len() as u64)?;
    trace.exclusions = Exclusions::new(params.all_objects(), list, 0);
    trace.exclusion_table = pair_exclude::pair_exclude(&trace.exclusions, scene.excluded_pairs).0;

    let overrides = overrides_of(descriptor);
    if descriptor.pairs {
        find_pairs(&mut trace, descriptor, overrides)?;
    }
    if !matches!(scene.query_input.rays, Rays::None) {
        cast_rays(&mut trace, descriptor, overrides, &scene.rays)?;
    }
    if !matches!(scene.query_input.queries, Queries::None) {
        answer_queries(&mut trace, descriptor, overrides, &scene.queries)?;
    }
    Ok(trace)
}

impl Trace {
    pub fn pair_blocks(&self) -> PairBlocks {
        PairBlocks {
            table: self.params,
            pairs: self.pair_params,
        }
    }

    pub fn ray_blocks(&self) -> RayBlocks {
        RayBlocks {
            table: self.params,
            rays: self.ray_params,
        }
    }

    pub fn query_blocks(&self) -> QueryBlocks {
        QueryBlocks {
            table: self.params,
            queries: self.query_params,
        }
    }

    pub fn reads(&self) -> StepReads<'_> {
        StepReads {
            own: self.table_reads(),
            statics: self.statics.as_deref().map(Self::table_reads),
            objects: &self.objects,
            excludes: Excludes {
                exclusions: self.exclusions,
                table: &self.exclusion_table,
                admits: None,
            },
        }
    }

    fn table_reads(&self) -> TableReads<'_> {
        TableReads {
            table: CellTable {
                grid: &self.grid,
                records: &self.records,
                starts: &self.starts,
                clusters: &self.clusters,
            },
            keys: &self.keys,
            values: &self.values,
            object_count: self.params.object_count,
        }
    }
}

fn find_pairs(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
) -> Result<(), BroadPhaseError> {
    let mut params = trace.pair_blocks();
    let mut counters = take(&mut trace.counters);
    let capacity = fixed(descriptor, descriptor.outputs.capacities.pairs);
    params.pairs.capacity = capacity.unwrap_or(u32::MAX);
    let reads = trace.reads();
    let input = reads.pairs();
    let mut found = pair_count::pair_count(&params, &input, overrides, &mut counters);
    let mut counts = found.counts;
    let static_input = reads.static_pairs();
    if let Some(input) = &static_input {
        let of_statics =
            pair_static_count::pair_static_count(&params, input, overrides, &mut found.words, &mut counters);
        counts.truncate(params.pairs.entry_rows as usize);
        counts.extend(of_statics.counts);
        found.cache.extend(of_statics.cache);
    }
    let mut world_pairs = Vec::new();
    if params.world_count > 1 {
        world_pairs = world_pairs::world_pairs(&params, &trace.records, &trace.values, &counts);
    }
    let pair_counts = counts.clone();
    let written = scan_output(&PAIRS, &mut counts, &mut counters, capacity)?;
    params.pairs.capacity = written;
    let mut pairs = vec![Pair { a: 0, b: 0 }; written as usize];
    emit_pairs(&params, &input, overrides, &found.cache, &counts, &mut pairs);
    if let Some(input) = static_input {
        pair_static_emit::pair_static_emit(&params, &input, overrides, &found.cache, &counts, &mut pairs);
    }
    if descriptor.outputs.pair_order == PairOrder::Sorted {
        pairs.sort_unstable();
    }
    trace.pair_params.capacity = capacity.unwrap_or(written);
    trace.counters = counters;
    trace.pair_counts = pair_counts;
    trace.world_pairs = world_pairs;
    trace.pair_offsets = counts;
    trace.pair_cache = found.cache;
    trace.pairs = pairs;
    Ok(())
}

/// Writes the pairs of moving objects that fit in `pairs`.
pub(crate) fn emit_pairs(
    params: &PairBlocks,
    input: &PairReads<'_>,
    overrides: Overrides,
    cache: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    let walks = if params.scheme == SCHEME_UNIFORM {
        (0..params.entry_capacity).collect()
    } else {
        pair_emit_cached::pair_emit_cached(params, input.table.grid, input.values, cache, offsets, pairs)
    };
    pair_emit::pair_emit(params, input, overrides, walks, offsets, pairs);
}

fn cast_rays(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
    rays: &[SweptRay],
) -> Result<(), BroadPhaseError> {
    let mut params = trace.ray_blocks();
    let mut counters = take(&mut trace.counters);
    let tables = trace.reads().rays(rays);
    match descriptor.outputs.ray_mode {
        RayMode::Closest => {
            let hits = ray_closest::ray_closest(&params, &tables, overrides, &mut counters);
            params.rays.hit_capacity = params.rays.count;
            trace.ray_hits = hits;
        }
        RayMode::Any => trace.ray_any = ray_any::ray_any(&params, &tables, overrides, &mut counters),
        RayMode::All => {
            let capacity = fixed(descriptor, descriptor.outputs.capacities.hits);
            let mut counts = ray_count::ray_count(&params, &tables, overrides, &mut counters);
            let ray_counts = counts.clone();
            let written = scan_output(&HITS, &mut counts, &mut counters, capacity)?;
            params.rays.hit_capacity = written;
            let mut hits = ray_emit::ray_emit(&params, &tables, overrides, &counts);
            params.rays.hit_capacity = capacity.unwrap_or(written);
            if descriptor.outputs.pair_order == PairOrder::Sorted {
                sort_lists(&mut hits, &counts, |hit| hit.object);
            }
            trace.ray_hits = hits;
            trace.ray_counts = ray_counts;
            trace.ray_offsets = counts;
        }
    }
    if descriptor.outputs.ray_cells {
        let grids: Vec<_> = [Some(&*trace), trace.statics.as_deref()]
            .into_iter()
            .flatten()
            .map(|of| &of.grid)
            .collect();
        let mut counts = ray_cells_count::ray_cells_count(&params, &grids, rays);
        let ray_cell_counts = counts.clone();
        let capacity = fixed(descriptor, descriptor.outputs.capacities.ray_cells);
        let written = scan_output(&RAY_CELLS, &mut counts, &mut counters, capacity)?;
        params.rays.cell_capacity = written;
        let cells = ray_cells_emit::ray_cells_emit(&params, &grids, rays, &counts);
        params.rays.cell_capacity = capacity.unwrap_or(written);
        trace.ray_cells = cells;
        trace.ray_cell_counts = ray_cell_counts;
        trace.ray_cell_offsets = counts;
    }
    trace.ray_params = params.rays;
    trace.counters = counters;
    Ok(())
}

fn answer_queries(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
    queries: &[Query],
) -> Result<(), BroadPhaseError> {
    let mut params = trace.query_blocks();
    let mut counters = take(&mut trace.counters);
    let walks = trace
        .reads()
        .queries(queries, params.queries.self_query != self_query::NONE);
    if params.queries.nearest > 0 {
        trace.query_nearest = query_nearest::query_nearest(&params, &walks, overrides, &mut counters);
    } else {
        let mut counts = query_count::query_count(&params, &walks, overrides, &mut counters);
        let query_counts = counts.clone();
        let capacity = fixed(descriptor, descriptor.outputs.capacities.results);
        let written = scan_output(&RESULTS, &mut counts, &mut counters, capacity)?;
        params.queries.capacity = written;
        let mut objects = query_emit::query_emit(&params, &walks, overrides, &counts);
        params.queries.capacity = capacity.unwrap_or(written);
        if descriptor.outputs.pair_order == PairOrder::Sorted {
            sort_lists(&mut objects, &counts, |&object| object);
        }
        trace.query_objects = objects;
        trace.query_counts = query_counts;
        trace.query_offsets = counts;
    }
    trace.query_params = params.queries;
    trace.counters = counters;
    Ok(())
}

/// Runs the passes up to the cell table and the records.
fn build(trace: &mut Trace, worlds: &[u32], strategy: SortStrategy) -> Result<(), BroadPhaseError> {
    let params = &trace.params;
    let objects = &trace.objects;
    let counters = &mut trace.counters;
    let uniform = params.is_uniform();
    if params.is_hierarchical() {
        trace.sample_statistics = sample_statistics::sample_statistics(params, objects, worlds);
    }
    trace.level_statistics = level_statistics::level_statistics(params, objects, &trace.sample_statistics, counters);
    trace.counters_after_level_statistics.clone_from(counters);
    let mut grid = layout::layout(params, &trace.level_statistics, counters);
    trace.grid_after_layout = grid;
    trace.counters_after_layout.clone_from(counters);

    let (mut keys, mut values) = if uniform {
        let mut counts = entry_count::entry_count(params, objects);
        trace.entry_counts.clone_from(&counts);
        let capacity = Some(params.entry_capacity);
        scan_output(&ENTRIES, &mut counts, counters, capacity)?;
        trace.counters_after_entries.clone_from(counters);
        trace.entry_offsets = counts;
        entry_emit::entry_emit(params, objects, &mut grid, &trace.entry_offsets, counters, worlds)
    } else {
        let keys = keys::keys(params, objects, &grid, worlds);
        let values = (0..keys.len() as u32).map(|index| index | PRIMARY_FLAGS).collect();
        (keys, values)
    };
    if params.large_table_capacity > 0 {
        let mut sums = keys::large_table_sums(params, objects, &grid, &keys);
        trace.large_table_sums.clone_from(&sums);
        large_table_emit::choose_large_table(params, &mut sums, &mut grid);
        keys.resize(params.table_entries() as usize, 0);
        values.resize(params.table_entries() as usize, 0);
        large_table_emit::large_table_emit(params, objects, &grid, &mut keys, &mut values, &sums, worlds);
    }
    trace.grid = grid;
    trace.unsorted_keys.clone_from(&keys);
    trace.unsorted_values.clone_from(&values);

    for sort in table_digits(params, strategy) {
        (keys, values) = sort_digit(&sort, &grid, &keys, &values);
        trace.digits.push(SortDigit {
            sort,
            keys: keys.clone(),
            values: values.clone(),
        });
    }
    (trace.starts, trace.records) = gather::gather(params, objects, &keys, &values, &grid, worlds);
    trace.clusters = clusters::clusters(&grid, &keys, &mut values, &mut trace.records);
    trace.keys = keys;
    trace.values = values;
    Ok(())
}
