//! A step on the CPU, with every buffer between its passes.

use std::mem::take;

use super::lists::Lists;
use super::pairs::pair_excludes::{Admits, Excludes};
use super::pairs::pair_static::{StaticPairReads, StaticPairWalks};
use super::pairs::pair_walk::{PairReads, PairWalks};
use super::pairs::{
    pair_count, pair_emit, pair_emit_kept, pair_exclude, pair_static_count, pair_static_emit, world_pairs,
    world_pairs_static,
};
use super::queries::query_lists::QueryLists;
use super::queries::query_walk::QueryReads;
use super::queries::{query_count, query_emit, query_nearest};
use super::rays::ray_hits::{RayReads, RayWalks, ray_count_of};
use super::rays::{ray_any, ray_cells_count, ray_cells_emit, ray_closest, ray_count, ray_emit};
use super::rows::CellTable;
use super::runs;
use super::scan::scan;
use super::sort::sort_digit;
use super::table::{
    clusters, cover_emit, entry_count, entry_emit, gather, keys, layout, level_statistics, prepare, sample_statistics,
};
use crate::shared::blocks::{Exclusions, Overrides, ScanParams, SortParams, add64, wide};

use crate::api::counters::{Counters, Status, word};
use crate::api::descriptor::{BroadPhaseDescriptor, Growth, PairOrder, RayMode, SortStrategy, validate};
use crate::api::error::{InputError, ReferenceError};
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Neighbor, Query, askers};
use crate::api::result::StepResult;
use crate::api::scene::Scene;
use crate::api::types::{Aabb, Pair, RayCell, RayHit, SweptRay};
use crate::reference::host::HostScene;
use crate::shared::bounds::{LARGEST_COUNT, count};
use crate::shared::grid::{self, Grid, HOME_FLAGS, ID_MASK, Params, Record, SCHEME_UNIFORM};
use crate::shared::lists::sort_lists;
use crate::stages::table;
use crate::step::plan::check_smallest_step;

/// One digit of the sort: what its passes leave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SortDigit {
    /// The uniform block of the sort passes.
    pub sort: SortParams,
    /// Keys in the order of the digit.
    pub keys: Vec<u32>,
    /// Values in the order of the digit.
    pub values: Vec<u32>,
}

/// Every buffer of a step, as it stands after the pass that fills it. Buffers of passes that did not run are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The uniform block of the step, with the capacities of pairs and hits that the output has.
    pub params: Params,
    /// Output of [`prepare`], or the objects as they were given where nothing has to be done to them. Static ones come
    /// first.
    pub objects: Vec<Aabb>,
    /// What led to the table of the static objects, where there are any; nothing past its records.
    pub statics: Option<Box<Trace>>,
    /// Output of [`sample_statistics`] (hierarchical).
    pub sample_statistics: Vec<u32>,
    /// Output of [`level_statistics`].
    pub level_statistics: Vec<u32>,
    /// The counters after [`level_statistics`].
    pub counters_after_level_statistics: Vec<u32>,
    /// The grid before the cover table is chosen: output of [`layout`].
    pub grid_after_layout: Grid,
    /// The counters after [`layout`].
    pub counters_after_layout: Vec<u32>,
    /// Output of [`entry_count`] (uniform).
    pub entry_counts: Vec<u32>,
    /// Places of each object's entries: counts after the scan (uniform).
    pub entry_offsets: Vec<u32>,
    /// The counters after that scan (uniform).
    pub counters_after_entries: Vec<u32>,
    /// Output of [`keys::cover_sums`] (hierarchical).
    pub cover_sums: Vec<u32>,
    /// The final grid, with the number of entries.
    pub grid: Grid,
    /// Output of [`keys`] and [`cover_emit`], or of [`entry_emit`].
    pub unsorted_keys: Vec<u32>,
    /// Output of [`keys`] and [`cover_emit`], or of [`entry_emit`].
    pub unsorted_values: Vec<u32>,
    /// The digits of the sort, lowest first; kept by [`trace`] alone.
    pub digits: Vec<SortDigit>,
    /// Keys after the sort.
    pub keys: Vec<u32>,
    /// Values after the sort and [`clusters`].
    pub values: Vec<u32>,
    /// The cell table: output of [`gather`].
    pub starts: Vec<u32>,
    /// The records: output of [`gather`], in the order that [`clusters`] gives it.
    pub records: Vec<Record>,
    /// Output of [`clusters`].
    pub clusters: Vec<Record>,
    /// Counts of [`pair_count`], followed by those of [`pair_static_count`] where there are static objects.
    pub pair_counts: Vec<u32>,
    /// Output of [`world_pairs`] and [`world_pairs_static`] (several worlds).
    pub world_pairs: Vec<u32>,
    /// Places of pairs.
    pub pair_offsets: Vec<u32>,
    /// The partners that [`pair_count`] kept, followed by those that [`pair_static_count`] did.
    pub pair_slots: Vec<u32>,
    /// Output of [`pair_emit_kept`], [`pair_emit`] and [`pair_static_emit`], without what it left unwritten.
    pub pairs: Vec<Pair>,
    /// What parts pairs beside filters, if anything does.
    pub exclusions: Exclusions,
    /// The pairs of the scene's list as walks look them up: output of [`pair_exclude`].
    pub exclusion_table: Vec<[u32; 2]>,
    /// Output of [`ray_count`] ([`RayMode::All`]).
    pub ray_counts: Vec<u32>,
    /// Places of hits: counts after the scan ([`RayMode::All`]).
    pub ray_offsets: Vec<u32>,
    /// Output of [`ray_closest`] or of [`ray_emit`], without what it left unwritten.
    pub ray_hits: Vec<RayHit>,
    /// Output of [`ray_any`] ([`RayMode::Any`]).
    pub ray_any: Vec<u32>,
    /// Output of [`ray_cells_count`].
    pub ray_cell_counts: Vec<u32>,
    /// Places of cells: counts after the scan.
    pub ray_cell_offsets: Vec<u32>,
    /// Output of [`ray_cells_emit`], without what it left unwritten.
    pub ray_cells: Vec<RayCell>,
    /// Output of [`query_count`] ([`QueryMode::All`](crate::QueryMode::All)).
    pub query_counts: Vec<u32>,
    /// Places of results: counts after the scan.
    pub query_offsets: Vec<u32>,
    /// Output of [`query_emit`], without what it left unwritten.
    pub query_objects: Vec<u32>,
    /// Output of [`query_nearest`] ([`QueryMode::Nearest`](crate::QueryMode::Nearest)).
    pub query_nearest: Vec<Neighbor>,
    /// The words of the counter buffer after the last pass.
    pub counters: Vec<u32>,
}

/// All buffers of a step, pass by pass.
///
/// # Errors
///
/// As [`step_scene`](super::step_scene).
pub fn trace(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Trace, ReferenceError> {
    run(descriptor, &HostScene::of(scene)?, None, true)
}

/// The capacity that a fixed descriptor names; none means that whatever is needed fits.
fn fixed(descriptor: &BroadPhaseDescriptor<'_>, capacity: Option<u32>) -> Option<u32> {
    capacity.filter(|_| descriptor.growth == Growth::Fixed)
}

fn count_of(what: &'static str, count: u64, limit: u32) -> Result<u32, InputError> {
    let error = InputError::TooMany {
        what,
        count,
        limit: u64::from(limit),
    };
    u32::try_from(count).ok().filter(|&count| count <= limit).ok_or(error)
}

/// The uniform block of a table of so many objects behind so many static ones, with the capacities of what comes before
/// the outputs.
fn table_params(
    descriptor: &BroadPhaseDescriptor<'_>,
    objects: usize,
    first_object: u32,
) -> Result<Params, InputError> {
    let object_count = count_of("objects", objects as u64, ID_MASK)?;
    let mut params = Params::of_table(descriptor, object_count, first_object);
    let cells = grid::table_capacity(params.scheme, object_count, descriptor.capacities.entries);
    params.table_capacity = cells.min(LARGEST_COUNT - 3) as u32;
    Ok(params)
}

/// The uniform blocks of a step: that of its own table and that of the static objects' one.
fn params(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Result<[Params; 2], InputError> {
    let (moving, statics) = (scene.objects.len(), scene.static_objects.len());
    let all = count_of("objects", (moving + statics) as u64, ID_MASK)?;
    descriptor.check_worlds(scene.worlds.len() as u64, moving as u64)?;
    descriptor.check_worlds(scene.static_worlds.len() as u64, statics as u64)?;
    let mut of_statics = table_params(descriptor, statics, 0)?;
    // No walk of pairs begins there.
    of_statics.has_clusters = 0;
    let mut params = table_params(descriptor, moving, of_statics.object_count)?;
    params.cover_capacity = grid::cover_capacity(&params, descriptor.pairs);
    for params in [&mut params, &mut of_statics] {
        params.static_count = statics as u32;
    }
    let asked = scene.asked.numbers(all.into(), 4);
    asked.write(&mut params)?;
    Ok([params, of_statics])
}

/// Entries of the uniform scheme that are held: no more than are needed, since a fixed capacity may be larger than the
/// memory.
fn entry_capacity(descriptor: &BroadPhaseDescriptor<'_>, params: &Params, objects: &[Aabb]) -> Result<u32, InputError> {
    let counts = entry_count::entry_count(params, objects);
    let needed: u64 = counts.into_iter().map(u64::from).sum();
    let held = fixed(descriptor, descriptor.capacities.entries).map_or(needed, |capacity| needed.min(capacity.into()));
    count_of("entries", held, LARGEST_COUNT as u32 - 1)
}

/// Scans the counts of an output and returns how many of its rows are written.
fn scan_output(
    counts: &mut [u32],
    counters: &mut [u32],
    total_word: usize,
    capacity: Option<u32>,
    status: Status,
    what: &'static str,
) -> Result<u32, InputError> {
    let block = ScanParams {
        count: counts.len() as u32,
        total_word: total_word as u32,
        capacity: capacity.unwrap_or(u32::MAX),
        status_bit: status.bits(),
    };
    scan(&block, counts, counters);
    let needed = wide(counters, total_word);
    match capacity {
        // The largest u32 is no place: it stands for all that do not fit.
        Some(capacity) => Ok(needed.min(u64::from(capacity)).min(u64::from(u32::MAX - 1)) as u32),
        None => count_of(what, needed, u32::MAX - 1),
    }
}

/// The uniform blocks of a step, that of its own table and that of the static objects' one, and the objects as all
/// passes but the first read them, static ones first.
pub(crate) fn prepared(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
) -> Result<([Params; 2], Vec<Aabb>), ReferenceError> {
    validate(descriptor)?;
    // No device sets a limit here.
    check_smallest_step(descriptor, u64::MAX)?;
    let params = params(descriptor, scene)?;
    let objects = if descriptor.prepares() || params[0].static_count > 0 {
        [
            prepare::prepare(&params[1], scene.static_objects, &[], scene.static_worlds),
            prepare::prepare(&params[0], scene.objects, &[], scene.worlds),
        ]
        .concat()
    } else {
        scene.objects.to_vec()
    };
    Ok((params, objects))
}

pub(crate) fn run(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
    admits: Option<&Admits<'_>>,
    keep: bool,
) -> Result<Trace, ReferenceError> {
    let mut trace = stepped(descriptor, scene, admits, keep)?;
    answer(&mut trace, descriptor, scene, admits, keep)?;
    Ok(trace)
}

/// A step up to its pairs.
pub(crate) fn stepped(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
    admits: Option<&Admits<'_>>,
    keep: bool,
) -> Result<Trace, ReferenceError> {
    let ([mut params, mut static_params], objects) = prepared(descriptor, scene)?;
    let has_statics = params.static_count > 0;
    for params in [&mut params, &mut static_params] {
        if params.scheme == SCHEME_UNIFORM {
            params.entry_capacity = entry_capacity(descriptor, params, &objects)?;
        }
        params.pair_rows = params.entry_capacity;
    }
    let mut trace = Trace {
        objects,
        counters: vec![0; word::COUNT],
        ..Trace::default()
    };
    if has_statics {
        params.pair_rows += params.object_count;
        let mut statics = Trace {
            params: static_params,
            objects: trace.objects.clone(),
            counters: trace.counters,
            ..Trace::default()
        };
        build(&mut statics, scene.static_worlds, descriptor.sort, keep)?;
        trace.counters = statics.counters.clone();
        let needed = statics.counters[word::ENTRIES_NEEDED..][..2].to_vec();
        trace.counters[word::STATIC_ENTRIES_NEEDED..][..2].copy_from_slice(&needed);
        trace.statics = Some(Box::new(statics));
    }
    trace.params = params;
    build(&mut trace, scene.worlds, descriptor.sort, keep)?;
    let list = count("excluded pairs", scene.excluded_pairs.len() as u64)?;
    trace.exclusions = Exclusions::new(params.all_objects(), list, 0);
    trace.exclusion_table = pair_exclude::pair_exclude(&trace.exclusions, scene.excluded_pairs).0;
    if descriptor.pairs {
        find_pairs(&mut trace, descriptor, overrides_of(descriptor), admits, keep)?;
    }
    Ok(trace)
}

/// What rays and queries find in the table of a step, whose blocks speak of them.
pub(crate) fn answer(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
    admits: Option<&Admits<'_>>,
    keep: bool,
) -> Result<(), InputError> {
    let overrides = overrides_of(descriptor);
    if !matches!(scene.asked.rays, Rays::None) {
        cast_rays(trace, descriptor, overrides, &scene.rays, keep)?;
    }
    if !matches!(scene.asked.queries, Queries::None) {
        answer_queries(trace, descriptor, overrides, &scene.queries, admits, keep)?;
    }
    Ok(())
}

const fn overrides_of(descriptor: &BroadPhaseDescriptor<'_>) -> Overrides {
    Overrides {
        filters: descriptor.filters,
        count_candidates: descriptor.count_candidates,
    }
}

impl Trace {
    /// Takes the answer out.
    pub(crate) fn take_result(&mut self) -> StepResult {
        let statics = self.statics.as_ref();
        let static_entries = statics.map_or(0, |statics| statics.params.entry_capacity);
        StepResult {
            counters: Counters::from_words(&self.counters, &self.params, 1, static_entries),
            pairs: take(&mut self.pairs),
            ray_hits: take(&mut self.ray_hits),
            ray_offsets: take(&mut self.ray_offsets),
            ray_any: take(&mut self.ray_any),
            ray_cells: take(&mut self.ray_cells),
            ray_cell_offsets: take(&mut self.ray_cell_offsets),
            world_pairs: take(&mut self.world_pairs),
            query_objects: take(&mut self.query_objects),
            query_offsets: take(&mut self.query_offsets),
            query_nearest: take(&mut self.query_nearest),
            ..StepResult::default()
        }
    }

    /// What walks read.
    fn table(&self) -> CellTable<'_> {
        CellTable {
            grid: &self.grid,
            records: &self.records,
            starts: &self.starts,
            clusters: &self.clusters,
        }
    }

    /// What the passes of pairs read.
    pub(crate) fn pair_input(&self) -> PairReads<'_> {
        PairReads {
            table: self.table(),
            objects: &self.objects,
            keys: &self.keys,
            values: &self.values,
            excludes: self.excludes(),
        }
    }

    fn excludes(&self) -> Excludes<'_> {
        Excludes {
            exclusions: self.exclusions,
            table: &self.exclusion_table,
            admits: None,
        }
    }

    /// What the passes of pairs with static objects read, where there are any.
    pub fn static_pair_input(&self) -> Option<StaticPairReads<'_>> {
        let statics = self.statics.as_deref()?;
        Some(StaticPairReads {
            table: statics.table(),
            objects: &self.objects,
            values: &statics.values,
            own_records: &self.records,
            excludes: self.excludes(),
        })
    }

    /// The tables that rays walk, one after the other.
    pub fn ray_inputs<'a>(&'a self, rays: &'a [SweptRay]) -> Vec<RayReads<'a>> {
        let tables = [Some(self), self.statics.as_deref()].into_iter().flatten();
        tables
            .map(|of| RayReads {
                table: of.table(),
                rays,
                objects: &self.objects,
                values: &of.values,
            })
            .collect()
    }

    /// The walks of queries, one after the other. Where the objects ask, static ones walk the table of the moving ones
    /// alone.
    pub fn query_inputs<'a>(&'a self, queries: &'a [Query], objects_ask: bool) -> Vec<QueryReads<'a>> {
        let statics = self.statics.as_deref();
        let walk = |of: &'a Self, askers: &'a Self| QueryReads {
            table: of.table(),
            queries,
            // Not what the cover table has once more.
            askers: if objects_ask {
                &askers.records[..askers.params.object_count as usize]
            } else {
                &[]
            },
            objects: &self.objects,
            values: &of.values,
            excludes: self.excludes(),
        };
        let mut walks = vec![walk(self, self)];
        if let Some(statics) = statics {
            walks.push(walk(statics, self));
            walks.extend(objects_ask.then(|| walk(self, statics)));
        }
        walks
    }
}

/// What counting pairs leaves for writing them.
enum Kept {
    /// The first partners of each row, as the passes keep them, and what they find places by.
    Slots(Vec<u32>, Vec<u32>),
    /// All pairs, those with static objects by themselves.
    Lists(Lists<Pair>, Option<Lists<Pair>>),
}

fn find_pairs(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
    admits: Option<&Admits<'_>>,
    keep: bool,
) -> Result<(), InputError> {
    let mut params = trace.params;
    let mut counters = std::mem::take(&mut trace.counters);
    let capacity = fixed(descriptor, descriptor.capacities.pairs);
    let mut input = trace.pair_input();
    input.excludes.admits = admits;
    let mut static_input = trace.static_pair_input();
    if let Some(input) = &mut static_input {
        input.excludes.admits = admits;
    }
    let walks = PairWalks {
        params: &trace.params,
        input,
        overrides,
    };
    let static_walks = static_input.map(|input| StaticPairWalks {
        params: &trace.params,
        input,
        overrides,
    });
    params.pair_capacity = capacity.unwrap_or(u32::MAX);
    let (mut counts, mut kept) = if keep {
        let found = pair_count::pair_count(&params, &input, overrides, &mut counters);
        (found.counts, Kept::Slots(found.slots, found.words))
    } else {
        let mut lists = Lists::find(params.entry_capacity, capacity, &walks);
        add64(&mut counters, word::PAIR_CANDIDATES, lists.candidates);
        (std::mem::take(&mut lists.counts), Kept::Lists(lists, None))
    };
    let mut world_pairs = Vec::new();
    if params.world_count > 1 {
        world_pairs = world_pairs::world_pairs(&params, &trace.records, &trace.values, &counts);
    }
    if let (Some(input), Some(walks)) = (static_input, &static_walks) {
        counts.truncate(params.entry_capacity as usize);
        match &mut kept {
            Kept::Slots(slots, words) => {
                let more = pair_static_count::pair_static_count(&params, &input, overrides, words, &mut counters);
                counts.extend(more.counts);
                slots.extend(more.slots);
            }
            Kept::Lists(_, of_statics) => {
                let mut lists = Lists::find(params.static_rows(), capacity, walks);
                add64(&mut counters, word::PAIR_CANDIDATES, lists.candidates);
                counts.append(&mut lists.counts);
                *of_statics = Some(lists);
            }
        }
        if params.world_count > 1 {
            world_pairs_static::world_pairs_static(&params, &trace.records, &counts, &mut world_pairs);
        }
    }
    let pair_counts = if keep { counts.clone() } else { Vec::new() };
    let written = scan_output(
        &mut counts,
        &mut counters,
        word::PAIRS_NEEDED,
        capacity,
        Status::PAIRS,
        "pairs",
    )?;
    params.pair_capacity = written;
    let mut pairs = vec![Pair { a: 0, b: 0 }; written as usize];
    let mut pair_slots = Vec::new();
    match kept {
        Kept::Slots(slots, _) => {
            emit_pairs(&params, &input, overrides, &slots, &counts, &mut pairs);
            if let Some(input) = static_input {
                pair_static_emit::pair_static_emit(&params, &input, overrides, &slots, &counts, &mut pairs);
            }
            pair_slots = slots;
        }
        Kept::Lists(lists, of_statics) => {
            lists.write(&counts, &mut pairs, &walks);
            if let (Some(lists), Some(walks)) = (of_statics, &static_walks) {
                lists.write(&counts[params.entry_capacity as usize..], &mut pairs, walks);
            }
        }
    }
    if descriptor.pair_order == PairOrder::Sorted {
        runs::sort(&mut pairs);
    }
    trace.params.pair_capacity = capacity.unwrap_or(written);
    trace.counters = counters;
    trace.world_pairs = world_pairs;
    trace.pair_counts = pair_counts;
    trace.pair_offsets = counts;
    trace.pair_slots = pair_slots;
    trace.pairs = pairs;
    Ok(())
}

/// Writes the pairs of moving objects, as far as there is room.
fn emit_pairs(
    params: &Params,
    input: &PairReads<'_>,
    overrides: Overrides,
    slots: &[u32],
    offsets: &[u32],
    pairs: &mut [Pair],
) {
    let walks = if params.scheme == SCHEME_UNIFORM {
        (0..params.entry_capacity).collect()
    } else {
        pair_emit_kept::pair_emit_kept(params, input.table.grid, input.values, slots, offsets, pairs)
    };
    pair_emit::pair_emit(params, input, overrides, walks, offsets, pairs);
}

fn cast_rays(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
    rays: &[SweptRay],
    keep: bool,
) -> Result<(), InputError> {
    let mut params = trace.params;
    let mut counters = std::mem::take(&mut trace.counters);
    let tables = trace.ray_inputs(rays);
    match descriptor.ray_mode {
        RayMode::Closest => {
            let hits = ray_closest::ray_closest(&params, &tables, overrides, &mut counters);
            params.hit_capacity = params.ray_count;
            trace.ray_hits = hits;
        }
        RayMode::Any => trace.ray_any = ray_any::ray_any(&params, &tables, overrides, &mut counters),
        RayMode::All => {
            let capacity = fixed(descriptor, descriptor.capacities.hits);
            let walks = RayWalks {
                params: &trace.params,
                tables: &tables,
                overrides,
            };
            let (mut counts, lists) = if keep {
                let counts = ray_count::ray_count(&params, &tables, overrides, &mut counters);
                (counts, None)
            } else {
                let mut lists = Lists::find(ray_count_of(&params, &tables), capacity, &walks);
                counters[word::RAYS_INVALID] += lists.invalid;
                add64(&mut counters, word::RAY_CANDIDATES, lists.candidates);
                (std::mem::take(&mut lists.counts), Some(lists))
            };
            let ray_counts = if keep { counts.clone() } else { Vec::new() };
            let written = scan_output(
                &mut counts,
                &mut counters,
                word::HITS_NEEDED,
                capacity,
                Status::HITS,
                "hits",
            )?;
            params.hit_capacity = written;
            let mut hits = match lists {
                None => ray_emit::ray_emit(&params, &tables, overrides, &counts),
                Some(lists) => {
                    let mut hits = vec![RayHit { object: 0, t: 0.0 }; written as usize];
                    lists.write(&counts, &mut hits, &walks);
                    hits
                }
            };
            params.hit_capacity = capacity.unwrap_or(written);
            if descriptor.pair_order == PairOrder::Sorted {
                sort_lists(&mut hits, &counts, |hit| hit.object);
            }
            trace.ray_hits = hits;
            trace.ray_counts = ray_counts;
            trace.ray_offsets = counts;
        }
    }
    if descriptor.ray_cells {
        let grids: Vec<_> = [Some(&*trace), trace.statics.as_deref()]
            .into_iter()
            .flatten()
            .map(|of| &of.grid)
            .collect();
        let mut counts = ray_cells_count::ray_cells_count(&params, &grids, rays);
        let ray_cell_counts = if keep { counts.clone() } else { Vec::new() };
        let capacity = fixed(descriptor, descriptor.capacities.ray_cells);
        let written = scan_output(
            &mut counts,
            &mut counters,
            word::RAY_CELLS_NEEDED,
            capacity,
            Status::RAY_CELLS,
            "ray cells",
        )?;
        params.ray_cell_capacity = written;
        let cells = ray_cells_emit::ray_cells_emit(&params, &grids, rays, &counts);
        params.ray_cell_capacity = capacity.unwrap_or(written);
        trace.ray_cells = cells;
        trace.ray_cell_counts = ray_cell_counts;
        trace.ray_cell_offsets = counts;
    }
    trace.params = params;
    trace.counters = counters;
    Ok(())
}

fn answer_queries(
    trace: &mut Trace,
    descriptor: &BroadPhaseDescriptor<'_>,
    overrides: Overrides,
    queries: &[Query],
    admits: Option<&Admits<'_>>,
    keep: bool,
) -> Result<(), InputError> {
    let mut params = trace.params;
    let mut counters = std::mem::take(&mut trace.counters);
    let mut walks = trace.query_inputs(queries, params.askers != askers::NOBODY);
    for walk in &mut walks {
        walk.excludes.admits = admits;
    }
    if params.nearest > 0 {
        trace.query_nearest = query_nearest::query_nearest(&params, &walks, overrides, &mut counters);
    } else {
        let (mut counts, lists) = if keep {
            (
                query_count::query_count(&params, &walks, overrides, &mut counters),
                None,
            )
        } else {
            let mut lists = QueryLists::find(&trace.params, &walks, overrides, &mut counters);
            (take(&mut lists.counts), Some(lists))
        };
        let query_counts = if keep { counts.clone() } else { Vec::new() };
        let capacity = fixed(descriptor, descriptor.capacities.results);
        let written = scan_output(
            &mut counts,
            &mut counters,
            word::RESULTS_NEEDED,
            capacity,
            Status::RESULTS,
            "results of queries",
        )?;
        params.result_capacity = written;
        let mut objects = match lists {
            None => query_emit::query_emit(&params, &walks, overrides, &counts),
            Some(lists) => lists.write(&counts, written),
        };
        params.result_capacity = capacity.unwrap_or(written);
        if descriptor.pair_order == PairOrder::Sorted {
            sort_lists(&mut objects, &counts, |&object| object);
        }
        trace.query_objects = objects;
        trace.query_counts = query_counts;
        trace.query_offsets = counts;
    }
    trace.params = params;
    trace.counters = counters;
    Ok(())
}

/// The passes up to the cell table and the records.
fn build(trace: &mut Trace, worlds: &[u32], strategy: SortStrategy, keep: bool) -> Result<(), InputError> {
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
        if keep {
            trace.entry_counts.clone_from(&counts);
        }
        let capacity = Some(params.entry_capacity);
        scan_output(
            &mut counts,
            counters,
            word::ENTRIES_NEEDED,
            capacity,
            Status::ENTRIES,
            "entries",
        )?;
        trace.counters_after_entries.clone_from(counters);
        trace.entry_offsets = counts;
        entry_emit::entry_emit(params, objects, &mut grid, &trace.entry_offsets, counters, worlds)
    } else {
        let keys = keys::keys(params, objects, &grid, worlds);
        let values = (0..keys.len() as u32).map(|index| index | HOME_FLAGS).collect();
        (keys, values)
    };
    if params.cover_capacity > 0 {
        let mut sums = keys::cover_sums(params, objects, &grid, &keys);
        trace.cover_sums.clone_from(&sums);
        cover_emit::choose_cover(params, &mut sums, &mut grid);
        keys.resize(params.table_entries() as usize, 0);
        values.resize(params.table_entries() as usize, 0);
        cover_emit::cover_emit(params, objects, &grid, &mut keys, &mut values, &sums, worlds);
    }
    trace.grid = grid;
    if keep {
        trace.unsorted_keys.clone_from(&keys);
        trace.unsorted_values.clone_from(&values);
    }

    for sort in table::digits(params, strategy) {
        (keys, values) = sort_digit(&sort, &grid, &keys, &values);
        if keep {
            trace.digits.push(SortDigit {
                sort,
                keys: keys.clone(),
                values: values.clone(),
            });
        }
    }
    (trace.starts, trace.records) = gather::gather(params, objects, &keys, &values, &grid, worlds);
    trace.clusters = clusters::clusters(&grid, &keys, &mut values, &mut trace.records);
    if trace.params.has_clusters == 1 {
        trace.counters[word::CROWDED] = grid.is_crowded;
    }
    trace.keys = keys;
    trace.values = values;
    Ok(())
}

#[cfg(test)]
mod tests;
