//! The rays stage: casts rays through the tables.
//!
//! 1. `ray_keys` and the sort stage order many rays by their start, so that neighboring invocations read the same
//!    cells. The uniform scheme skips this.
//! 2. All hits: `ray_count` counts and caches, the scan stage makes offsets, `ray_emit` writes. Other modes:
//!    `ray_closest` or `ray_any` writes one result per ray.
//! 3. `ray_cells_count`, a scan, and `ray_cells_emit` list the cells of rays.

use super::input::{Copied, Copying};
use super::order;
use super::scan::Scan;
use super::shape::{CapacityOf, Room, Shape, initial_rows};
use super::sort::variable::VALUES;
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use super::table::{self, statics};
use super::walks::WalkRound;
use crate::api::counters;
use crate::api::descriptor::{BroadPhaseDescriptor, Capacities, Growth, RayMode};
use crate::api::input::SWEPT_STRIDE;
use crate::api::output::{Lists, RayOutput};
use crate::api::types::{RayCell, RayHit};
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::reading::Readable;
use crate::gpu::recorder::{Binds, Recorder, variables};
use crate::gpu::shader::{Pass, PassContext, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, OrderParams, SortParams};
use crate::layout::digits::sort_digits;
use crate::layout::grid::{Grid, Params};
use crate::layout::query_sizes::QuerySizes;
use crate::shared::wgsl::number;

passes! {
    "rays" {
    RAY_KEYS = "ray_keys" if |of| of.uses.casts() && !of.is_uniform();

    RAY_COUNT = "ray_count" if |of| casts_in(of, RayMode::All);

    RAY_EMIT = "ray_emit" if |of| casts_in(of, RayMode::All);

    RAY_CLOSEST = "ray_closest" if |of| casts_in(of, RayMode::Closest);

    RAY_ANY = "ray_any" if |of| casts_in(of, RayMode::Any);

    RAY_CELLS_COUNT = "ray_cells_count" if |of| casts(of) && of.outputs.ray_cells;

    RAY_CELLS_EMIT = "ray_cells_emit" if |of| casts(of) && of.outputs.ray_cells;
    }
}

fn casts(of: &PassContext<'_>) -> bool {
    if of.sweeps { of.uses.swept_rays } else { of.uses.rays }
}

fn casts_in(of: &PassContext<'_>, mode: RayMode) -> bool {
    casts(of) && of.outputs.ray_mode == mode
}

const fn sweeps(params: &Params) -> bool {
    params.ray_stride == SWEPT_STRIDE
}

buffers! {
    RAYS = "rays": Inputs;
    SOURCE_RAYS = "source_rays": Inputs;
    LIMITS = "ray_limits": Inputs;
    KEYS_0 = "ray_keys_0": Results;
    KEYS_1 = "ray_keys_1": Results;
    VALUES_0 = "ray_values_0": Results;
    VALUES_1 = "ray_values_1": Results;
    GRID = "ray_grid": Results;
    HITS = "ray_hits": Results;
    /// Hits per ray, then cached hits.
    OFFSETS = "ray_offsets": Results;
    ANY = "ray_any": Results;
    CELL_OFFSETS = "ray_cell_offsets": Results;
    CELLS = "ray_cells": Results;
}

const PING_PONG: PingPong = PingPong([
    KeyValueBuffers {
        keys: buffer::KEYS_0,
        values: buffer::VALUES_0,
    },
    KeyValueBuffers {
        keys: buffer::KEYS_1,
        values: buffer::VALUES_1,
    },
]);

variables! {
    /// Grid whose entry count is the number of rays.
    SORT_GRID = "sort_grid";
}

use variable::*;

const KEY_BITS: u32 = 3 * number("rays/ray_keys", "RAY_KEY_AXIS_BITS");
/// Hits cached per ray until a step's counters have arrived.
pub(crate) const FIRST_CACHED_HITS: u32 = 8;
pub(crate) const MAX_CACHED_HITS: u32 = 64;
/// Minimum hits cached per ray. With room for fewer, none are cached.
const MIN_CACHED_HITS: u64 = 4;
pub(crate) const CACHED_HITS_BYTES: u64 = 64 << 20;
/// Number of rays from which sorting saves time.
pub(crate) const SORTED_RAYS: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RayPlan {
    pub mode: RayMode,
    /// True if the step returns ray results, even for zero rays.
    pub is_cast: bool,
    pub cells: bool,
    pub copying: Option<Copying>,
}

pub(crate) struct RayUniforms {
    pub copied: Option<Copied>,
    hits: Scan,
    cells: Scan,
    digits: Vec<Digit>,
    rounds: Vec<WalkRound>,
}

impl RayPlan {
    pub const fn source(&self) -> BufferId {
        if self.copying.is_some() {
            buffer::SOURCE_RAYS
        } else {
            buffer::RAYS
        }
    }

    pub fn all_hits(&self, params: &Params) -> bool {
        params.ray_count > 0 && self.mode == RayMode::All
    }

    fn has_cells(&self, params: &Params) -> bool {
        params.ray_count > 0 && self.cells
    }

    pub fn set_sizes(&mut self, descriptor: &BroadPhaseDescriptor<'_>, sizes: &QuerySizes, params: &Params) {
        self.is_cast = sizes.casts;
        self.cells = descriptor.outputs.ray_cells && sizes.casts;
        // A negative `t_max`, word 3, makes a ray hit nothing.
        let limit = CountParams {
            rows: params.ray_count,
            stride: params.ray_stride,
            limit_word: sizes.ray_count_word.unwrap_or(0),
            row_word: 3,
            value: (-1.0f32).to_bits(),
        };
        self.copying = Copying::of(sizes.ray_layout, sizes.ray_count_word.is_some(), limit).filter(|_| sizes.rays > 0);
    }

    /// Decides on sorting rays, and sizes the hit cache. `wanted`: hits per ray worth caching.
    pub fn fit(&self, params: &mut Params, wanted: Option<u32>, binding_limit: u64) {
        params.rays_sorted = u32::from(!params.is_uniform() && params.ray_count >= SORTED_RAYS);
        let rays = u64::from(params.ray_count.max(1));
        let hit_bytes = size_of::<RayHit>() as u64;
        // Bytes before the cache in its buffer: an offset and a carried word per ray.
        let beside = hit_bytes * rays + 4;
        let most = binding_limit.saturating_sub(beside).min(CACHED_HITS_BYTES) / (hit_bytes * rays);
        let pays = u64::from(wanted.unwrap_or(FIRST_CACHED_HITS));
        params.cached_hits = if self.all_hits(params) && most >= MIN_CACHED_HITS {
            pays.min(most) as u32
        } else {
            0
        };
    }

    pub fn fit_rows(&self, params: &mut Params, capacities: &Capacities, [hits, cells]: [u32; 2], room: Room) {
        let rays = params.ray_count;
        params.hit_capacity = match self.mode {
            RayMode::Closest => rays,
            RayMode::Any => 0,
            RayMode::All => room.rows(capacities.hits, hits, initial_rows(rays), size_of::<RayHit>()),
        };
        if self.cells {
            let default = 64 * u64::from(rays) + 1024;
            params.ray_cell_capacity = room.rows(capacities.ray_cells, cells, default, size_of::<RayCell>());
        }
    }

    pub const DROPPABLE_SPEEDUPS: [fn(&mut Params); 2] =
        [|params| params.cached_hits = 0, |params| params.rays_sorted = 0];

    pub fn shrinks(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<CapacityOf> {
        let is_fixed = |capacity: Option<u32>| descriptor.outputs.growth == Growth::Fixed && capacity.is_some();
        let mut rows = Vec::<CapacityOf>::new();
        if self.mode == RayMode::All && !is_fixed(descriptor.outputs.capacities.hits) {
            rows.push(|params| &mut params.hit_capacity);
        }
        if !is_fixed(descriptor.outputs.capacities.ray_cells) {
            rows.push(|params| &mut params.ray_cell_capacity);
        }
        rows
    }

    pub fn sizes(&self, shape: &Shape) -> Sizes {
        let params = &shape.params;
        let rays = u64::from(params.ray_count);
        let mut sizes = Sizes::new();
        if rays > 0 {
            let bytes = 16 * u64::from(params.ray_stride) * rays;
            sizes.push((buffer::RAYS, bytes));
            if self.copying.is_some_and(|copying| copying.needs_source_buffer()) {
                sizes.push((buffer::SOURCE_RAYS, bytes));
            }
        }
        if self.is_cast {
            let hits = |more: u64| size_of::<RayHit>() as u64 * (u64::from(params.hit_capacity) + more);
            match self.mode {
                RayMode::Closest => sizes.push((buffer::HITS, hits(shape.carry_words(rays, 2)))),
                RayMode::Any => sizes.push((buffer::ANY, 4 * rays)),
                RayMode::All => {
                    let kept = u64::from(params.cached_hits);
                    let carry_words = if kept > 0 { rays } else { shape.carry_table_words(rays) };
                    let offsets = rays + 1 + carry_words + 2 * kept * rays;
                    sizes.extend([(buffer::HITS, hits(0)), (buffer::OFFSETS, 4 * offsets)]);
                }
            }
        }
        if params.sorts_rays() {
            sizes.extend([
                (buffer::KEYS_0, 4 * rays),
                (buffer::KEYS_1, 4 * rays),
                (buffer::VALUES_0, 4 * rays),
                (buffer::VALUES_1, 4 * rays),
                (buffer::GRID, size_of::<Grid>() as u64),
            ]);
        }
        if self.cells {
            let cells = size_of::<RayCell>() as u64 * u64::from(params.ray_cell_capacity);
            let carried = if params.has_statics() { rays } else { 0 };
            sizes.extend([(buffer::CELL_OFFSETS, 4 * (rays + 1 + carried)), (buffer::CELLS, cells)]);
        }
        sizes
    }

    pub fn output(&self, params: &Params, buffers: &Buffers) -> RayOutput {
        let one_each = |mode, id| {
            let is_there = self.is_cast && self.mode == mode;
            is_there.then(|| buffers.get(id).clone())
        };
        RayOutput {
            closest: one_each(RayMode::Closest, buffer::HITS),
            any: one_each(RayMode::Any, buffer::ANY),
            hits: (self.is_cast && self.mode == RayMode::All).then(|| Lists {
                buffer: buffers.get(buffer::HITS).clone(),
                offsets: buffers.get(buffer::OFFSETS).clone(),
                capacity: params.hit_capacity,
                first: params.first_hit,
            }),
            cells: self.cells.then(|| Lists {
                buffer: buffers.get(buffer::CELLS).clone(),
                offsets: buffers.get(buffer::CELL_OFFSETS).clone(),
                capacity: params.ray_cell_capacity,
                first: params.first_ray_cell,
            }),
        }
    }

    pub fn readable(&self, params: &Params, [last_hits, last_cells]: [u32; 2]) -> Vec<Readable> {
        let rays = u64::from(params.ray_count);
        let mut outputs = Vec::new();
        if rays == 0 {
            // Without lists, the offsets are a single 0.
            let offsets = [
                (self.is_cast && self.mode == RayMode::All, buffer::OFFSETS),
                (self.cells, buffer::CELL_OFFSETS),
            ];
            let wanted = offsets.into_iter().filter(|(is_wanted, _)| *is_wanted);
            outputs.extend(wanted.map(|(_, id)| Readable::known::<u32>(id, 1)));
            return outputs;
        }
        match self.mode {
            RayMode::Closest => outputs.push(Readable::known::<RayHit>(buffer::HITS, rays)),
            RayMode::Any => outputs.push(Readable::known::<u32>(buffer::ANY, rays)),
            RayMode::All => {
                let rows = [last_hits, params.first_hit, params.hit_capacity];
                outputs.extend([
                    Readable::counted::<RayHit>(buffer::HITS, |found| found.hits_needed, rows, counters::HITS.status),
                    Readable::known::<u32>(buffer::OFFSETS, rays + 1),
                ]);
            }
        }
        if self.cells {
            let rows = [last_cells, params.first_ray_cell, params.ray_cell_capacity];
            outputs.extend([
                Readable::counted::<RayCell>(
                    buffer::CELLS,
                    |found| found.ray_cells_needed,
                    rows,
                    counters::RAY_CELLS.status,
                ),
                Readable::known::<u32>(buffer::CELL_OFFSETS, rays + 1),
            ]);
        }
        outputs
    }

    pub fn order(&self, params: &Params) -> Option<order::Ordered> {
        self.all_hits(params).then(|| order::Ordered {
            stage: "ray_order",
            rows: buffer::HITS,
            offsets: buffer::OFFSETS,
            params: OrderParams::of_hits(params),
            keys: [params.ray_count, params.all_objects()],
        })
    }

    pub fn write(&self, blocks: &mut Blocks, shape: &Shape) -> RayUniforms {
        let params = &shape.params;
        let of_copy = [buffer::LIMITS, buffer::SOURCE_RAYS, buffer::RAYS];
        let copied = self.copying.map(|copying| Copied::new(blocks, copying, of_copy));
        let mut scan = |data, output, capacity| Scan::of(blocks, data, params.ray_count + 1, output, capacity);
        RayUniforms {
            copied,
            hits: scan(buffer::OFFSETS, &counters::HITS, params.hit_capacity),
            cells: scan(buffer::CELL_OFFSETS, &counters::RAY_CELLS, params.ray_cell_capacity),
            digits: Digit::all(blocks, digits(shape)),
            rounds: WalkRound::all(blocks, shape, params.ray_count, 1, params.cached_hits, false),
        }
    }

    pub fn record_counts(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &RayUniforms,
        sorted: KeyValueBuffers,
    ) {
        let params = &shape.params;
        if params.ray_count == 0 {
            if self.is_cast && self.mode == RayMode::All {
                recorder.clear_words(buffer::OFFSETS, 0, 1);
            }
            if self.cells {
                recorder.clear_words(buffer::CELL_OFFSETS, 0, 1);
            }
            return;
        }
        if params.sorts_rays() {
            record_sort(recorder, shape, blocks);
        }
        if self.all_hits(params) {
            recorder.rounds("ray_count", &blocks.rounds, |stage, round| {
                stage.run(
                    RAY_COUNT.sweeping(sweeps(params)),
                    round.walks + 1,
                    &binds(params, blocks, round, sorted),
                );
            });
            recorder.stage("ray_scan", |stage| blocks.hits.record(stage));
        }
        if self.cells {
            recorder.stage("ray_cells_count", |stage| {
                for round in blocks.rounds.iter().filter(|round| round.is_first) {
                    stage.run(
                        RAY_CELLS_COUNT.sweeping(sweeps(params)),
                        params.ray_count + 1,
                        &binds(params, blocks, round, sorted),
                    );
                }
                blocks.cells.record(stage);
            });
        }
    }

    /// `first`: true on the first page. Other pages skip modes with one result per ray.
    pub fn record_emit(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &RayUniforms,
        sorted: KeyValueBuffers,
        first: bool,
    ) {
        let params = &shape.params;
        let mut walk = |name, pass: &'static Pass| {
            recorder.rounds(name, &blocks.rounds, |stage, round| {
                stage.run(
                    pass.sweeping(sweeps(params)),
                    round.walks,
                    &binds(params, blocks, round, sorted),
                );
            });
        };
        match self.mode {
            _ if params.ray_count == 0 => {}
            RayMode::Closest | RayMode::Any if !first => {}
            RayMode::Closest => walk("ray_closest", &RAY_CLOSEST),
            RayMode::Any => walk("ray_any", &RAY_ANY),
            RayMode::All => walk("ray_emit", &RAY_EMIT),
        }
        if self.has_cells(params) {
            walk("ray_cells_emit", &RAY_CELLS_EMIT);
        }
    }
}

fn record_sort(recorder: &mut Recorder<'_>, shape: &Shape, blocks: &RayUniforms) {
    let params = &shape.params;
    let sort = Sort {
        strategy: shape.sort,
        ping_pong: PING_PONG,
        grid: buffer::GRID,
        counts_first: true,
    };
    let unsorted = PING_PONG.unsorted();
    sort::clear_counts(recorder, &blocks.digits);
    recorder.stage("ray_sort", |stage| {
        let [keys, values] = unsorted.binds();
        let mut binds = vec![keys, values, SORT_GRID.is(buffer::GRID)];
        // Keys are cells of the table with more objects.
        if params.static_count > params.object_count {
            binds.push(table::buffer::GRID.is(statics::buffer::GRID));
        }
        stage.run(&RAY_KEYS, params.ray_count, &binds);
        sort.record(stage, &blocks.digits, unsorted);
    });
}

/// Bindings of a round. The first binding of each name applies.
fn binds(params: &Params, blocks: &RayUniforms, round: &WalkRound, sorted: KeyValueBuffers) -> Vec<Binds> {
    // Replaces the entries' values, which only the uniform scheme reads. It does not sort rays.
    let order = params
        .sorts_rays()
        .then(|| VALUES.is(PING_PONG.after(blocks.digits.len()).values));
    order.into_iter().chain(round.binds(params, sorted)).collect()
}

pub(crate) fn digits(shape: &Shape) -> Vec<SortParams> {
    let key_bits = if shape.params.sorts_rays() { KEY_BITS } else { 0 };
    sort_digits(shape.sort, shape.params.ray_count, key_bits)
}

/// Hits per ray worth caching: nearly all hits of most rays, or 0 if the mean exceeds the maximum.
pub(crate) fn hits_worth_caching(hits: u64, rays: u64) -> u32 {
    let mean = hits.div_ceil(rays.max(1));
    let most_rays = mean + mean / 2 + 4;
    if mean > u64::from(MAX_CACHED_HITS) {
        0
    } else {
        // Rounded to a power of two, so that it seldom changes.
        most_rays
            .next_power_of_two()
            .clamp(FIRST_CACHED_HITS.into(), MAX_CACHED_HITS.into()) as u32
    }
}
