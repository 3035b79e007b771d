use std::ops::Deref;

use super::builder::{Inputs, Table, Tables};
use super::host::HostScene;
use super::order::{order_rows, order_worlds, world_offsets};
use super::outputs::Outputs;
use super::pairs::pair_walk::PairReads;
use super::pairs::{
    pair_count, pair_emit, pair_emit_cached, pair_static_count, pair_static_emit, world_pairs, world_pairs_static,
};
use super::params::{pair_params, query_params};
use super::queries::{query_count, query_emit, query_nearest};
use super::rays::{ray_any, ray_closest, ray_count, ray_emit};
use super::reads::StepReads;
use crate::api::counters::Output;
use crate::api::descriptor::{BroadPhaseDescriptor, RayMode};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::{Queries, Rays};
use crate::api::queries::{NearestObject, Query, self_query};
use crate::api::scene::Scene;
use crate::api::types::{Pair, RayCell, RayHit, SweptRay};
use crate::layout::blocks::{Overrides, PairBlocks, QueryBlocks, RayBlocks};
use crate::layout::grid::SCHEME_UNIFORM;
use crate::layout::worlds::Worlds;
use crate::shared::lists::sort_lists;

/// Every buffer of a step, as written by its pass; empty if that pass did not run. `_offsets` are scanned `_counts`.
/// Outputs hold only written rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub tables: Tables,
    pub pair_blocks: PairBlocks,
    pub ray_blocks: RayBlocks,
    pub query_blocks: QueryBlocks,
    /// Output of [`pair_count`], then of [`pair_static_count`] with static objects.
    pub pair_counts: Vec<u32>,
    pub world_pairs: Vec<u32>,
    /// Worlds of the moving, then the static objects. Empty with one world.
    pub worlds: [Vec<u32>; 2],
    pub world_offsets: Vec<u32>,
    pub pair_offsets: Vec<u32>,
    /// Cached partners of [`pair_count`], then of [`pair_static_count`].
    pub pair_cache: Vec<u32>,
    pub pairs: Vec<Pair>,
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

/// Runs a step's reference passes in order, and returns their buffers.
///
/// # Errors
/// Those of [`step_scene`](crate::cpu::step_scene).
pub fn trace(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Trace, BroadPhaseError> {
    let scene = HostScene::of(scene)?;
    let inputs = Inputs::of(descriptor, &scene)?;
    let worlds = inputs.worlds.clone();
    let tables = Tables::build(descriptor, inputs, true)?;
    let (rays, queries) = query_params(tables.objects.len() as u64, &scene.query_input)?;
    let (table, pairs) = (tables.own.params, pair_params(&tables.own.params));
    let mut trace = Trace {
        pair_blocks: PairBlocks { table, pairs },
        ray_blocks: RayBlocks { table, rays },
        query_blocks: QueryBlocks { table, queries },
        worlds,
        ..Trace::default()
    };
    let reads = tables.reads(None);
    let mut outputs = Outputs::new(descriptor, tables.held(), tables.counters.clone());
    if descriptor.pairs {
        find_pairs(&mut trace, &mut outputs, &reads)?;
    }
    if !matches!(scene.query_input.rays, Rays::None) {
        cast_rays(&mut trace, &mut outputs, &reads, &scene.rays)?;
    }
    if !matches!(scene.query_input.queries, Queries::None) {
        answer_queries(&mut trace, &mut outputs, &reads, &scene.queries)?;
    }
    trace.pair_blocks.pairs.capacity = outputs.held.rows[Output::Pairs];
    trace.ray_blocks.rays.hit_capacity = outputs.held.rows[Output::RayHits];
    trace.ray_blocks.rays.cell_capacity = outputs.held.rows[Output::RayCells];
    trace.query_blocks.queries.capacity = outputs.held.rows[Output::QueryObjects];
    (trace.counters, trace.tables) = (outputs.counters, tables);
    completed(trace)
}

/// The table of moving objects.
impl Deref for Trace {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.tables.own
    }
}

impl Trace {
    pub fn reads(&self) -> StepReads<'_> {
        self.tables.reads(None)
    }
}

fn find_pairs(trace: &mut Trace, outputs: &mut Outputs<'_>, reads: &StepReads<'_>) -> Result<(), BroadPhaseError> {
    let (mut params, overrides) = (trace.pair_blocks, outputs.overrides);
    params.pairs.capacity = outputs.capacity(Output::Pairs).unwrap_or(u32::MAX);
    let (input, static_input) = (reads.pairs(), reads.static_pairs());
    let mut found = pair_count::pair_count(&params, &input, overrides, &mut outputs.counters);
    let mut counts = found.counts;
    if let Some(input) = &static_input {
        let counters = &mut outputs.counters;
        let more = pair_static_count::pair_static_count(&params, input, overrides, &mut found.words, counters);
        counts.truncate(params.pairs.entry_rows as usize);
        counts.extend(more.counts);
        found.cache.extend(more.cache);
    }
    if params.world_count > 1 {
        trace.world_pairs = world_pairs::world_pairs(&params, input.table.records, input.values, &counts);
        if let Some(input) = &static_input {
            world_pairs_static::world_pairs_static(&params, input, overrides, &mut trace.world_pairs);
        }
    }
    trace.pair_counts = counts.clone();
    let is_sorted = outputs.is_sorted();
    (trace.pair_offsets, trace.pairs) = outputs.write(Output::Pairs, counts, |written, offsets| {
        params.pairs.capacity = written;
        let mut pairs = vec![Pair { a: 0, b: 0 }; written as usize];
        emit_pairs(&params, &input, overrides, &found.cache, offsets, &mut pairs);
        if let Some(input) = static_input {
            pair_static_emit::pair_static_emit(&params, &input, overrides, &found.cache, offsets, &mut pairs);
        }
        if is_sorted {
            pairs.sort_unstable();
        }
        pairs
    })?;
    if is_sorted && params.world_count > 1 {
        let worlds = Worlds::new(&trace.worlds, params.world_count);
        (trace.pairs, trace.world_offsets) = by_world(&trace.pairs, worlds);
    }
    trace.pair_cache = found.cache;
    Ok(())
}

fn by_world(pairs: &[Pair], worlds: Worlds<'_>) -> (Vec<Pair>, Vec<u32>) {
    let mut rows: Vec<_> = (0..pairs.len() as u32).collect();
    rows.sort_by_key(|&row| worlds.of_pair(&pairs[row as usize]));
    let keys = order_worlds::order_worlds(pairs, &rows, worlds);
    (
        order_rows::order_rows(pairs, &rows),
        world_offsets::world_offsets(&keys, worlds.count),
    )
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
    outputs: &mut Outputs<'_>,
    reads: &StepReads<'_>,
    rays: &[SweptRay],
) -> Result<(), BroadPhaseError> {
    let (mut params, overrides) = (trace.ray_blocks, outputs.overrides);
    let options = &outputs.descriptor.outputs;
    let (tables, counters) = (reads.rays(rays), &mut outputs.counters);
    match options.ray_mode {
        RayMode::Closest => {
            trace.ray_hits = ray_closest::ray_closest(&params, &tables, overrides, counters);
            outputs.held.rows[Output::RayHits] = params.rays.count;
        }
        RayMode::Any => trace.ray_any = ray_any::ray_any(&params, &tables, overrides, counters),
        RayMode::All => {
            trace.ray_counts = ray_count::ray_count(&params, &tables, overrides, counters);
            let (counts, is_sorted) = (trace.ray_counts.clone(), outputs.is_sorted());
            (trace.ray_offsets, trace.ray_hits) = outputs.write(Output::RayHits, counts, |written, offsets| {
                params.rays.hit_capacity = written;
                let mut hits = ray_emit::ray_emit(&params, &tables, overrides, offsets);
                if is_sorted {
                    sort_lists(&mut hits, offsets, |hit| hit.object);
                }
                hits
            })?;
        }
    }
    if options.ray_cells {
        let watch = |counts: &[u32]| trace.ray_cell_counts = counts.to_vec();
        (trace.ray_cell_offsets, trace.ray_cells) = outputs.list_ray_cells(params, reads, rays, watch)?;
    }
    Ok(())
}

fn answer_queries(
    trace: &mut Trace,
    outputs: &mut Outputs<'_>,
    reads: &StepReads<'_>,
    queries: &[Query],
) -> Result<(), BroadPhaseError> {
    let (mut params, overrides) = (trace.query_blocks, outputs.overrides);
    let walks = reads.queries(queries, params.queries.self_query != self_query::NONE);
    if params.queries.nearest > 0 {
        trace.query_nearest = query_nearest::query_nearest(&params, &walks, overrides, &mut outputs.counters);
        return Ok(());
    }
    trace.query_counts = query_count::query_count(&params, &walks, overrides, &mut outputs.counters);
    let (counts, is_sorted) = (trace.query_counts.clone(), outputs.is_sorted());
    (trace.query_offsets, trace.query_objects) = outputs.write(Output::QueryObjects, counts, |written, offsets| {
        params.queries.capacity = written;
        let mut objects = query_emit::query_emit(&params, &walks, overrides, offsets);
        if is_sorted {
            sort_lists(&mut objects, offsets, |&object| object);
        }
        objects
    })?;
    Ok(())
}
