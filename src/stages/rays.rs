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
use super::shape::{Basis, Rounds, initial_rows};
use super::sort::variable::VALUES;
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use super::table::{self, TablePlan, statics};
use super::walks::{TableBlocks, WalkRound};
use crate::api::counters::Output;
use crate::api::descriptor::{RayMode, SortStrategy};
use crate::api::error::InputError;
use crate::api::input::SWEPT_STRIDE;
use crate::api::output::{Lists, Page, RayOutput};
use crate::api::types::{RayCell, RayHit};
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::passes::{Binds, Passes, variables};
use crate::gpu::reading::Readable;
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, OrderParams, RayParams, SortParams};
use crate::layout::digits::sort_digits;
use crate::layout::grid::{Grid, Params};
use crate::layout::query_sizes::QuerySizes;
use crate::shared::wgsl::number;

passes! {
    "rays" {
    RAY_KEYS = "ray_keys";

    RAY_COUNT = "ray_count" switch SWEPT;

    RAY_EMIT = "ray_emit" switch SWEPT;

    RAY_CLOSEST = "ray_closest" switch SWEPT;

    RAY_ANY = "ray_any" switch SWEPT;

    RAY_CELLS_COUNT = "ray_cells_count" switch SWEPT;

    RAY_CELLS_EMIT = "ray_cells_emit" switch SWEPT;
    }
}

/// Switch of passes: rays are swept boxes.
const SWEPT: &str = "SWEPT";

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
    RAY_PARAMS = "ray_params";
    /// Grid whose entry count is the number of rays.
    SORT_GRID = "sort_grid";
}

pub(crate) use variable::RAY_PARAMS;
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
    pub params: RayParams,
    pub mode: RayMode,
    pub lists_cells: bool,
    /// True if rays are walked in the order of their start.
    pub is_sorted: bool,
    pub copying: Option<Copying>,
    pub is_uniform: bool,
    pub has_statics: bool,
    /// True if most objects are static: then the keys of rays are cells of the static table.
    pub are_most_static: bool,
    pub sort: SortStrategy,
    pub rounds: Rounds,
}

pub(crate) struct RayUniforms {
    pub copied: Option<Copied>,
    hits: Scan,
    cells: Scan,
    digits: Vec<Digit>,
    rounds: Vec<WalkRound>,
}

impl RayPlan {
    /// `None` if the input has no rays, not even an empty list.
    pub fn new(basis: &Basis<'_>, table: &TablePlan, sizes: &QuerySizes) -> Result<Option<Self>, InputError> {
        let base = sizes.ray_params()?;
        if !sizes.casts {
            return Ok(None);
        }
        let outputs = &basis.descriptor.outputs;
        // A negative `t_max`, word 3, makes a ray hit nothing.
        let limit = CountParams {
            rows: base.count,
            stride: base.stride,
            limit_word: sizes.ray_count_word.unwrap_or(0),
            row_word: 3,
            value: (-1.0f32).to_bits(),
        };
        let copying = Copying::of(sizes.ray_layout, sizes.ray_count_word.is_some(), limit);
        let own = &table.params;
        let is_sorted = !own.is_uniform() && base.count >= SORTED_RAYS;
        let plan = Self {
            params: RayParams {
                is_sorted: is_sorted.into(),
                cached: match outputs.ray_mode {
                    RayMode::All => cached_hits(basis, base.count),
                    RayMode::Closest | RayMode::Any => 0,
                },
                ..base
            },
            mode: outputs.ray_mode,
            lists_cells: outputs.ray_cells,
            is_sorted,
            copying: copying.filter(|_| base.count > 0),
            is_uniform: own.is_uniform(),
            has_statics: own.has_statics(),
            are_most_static: own.static_count > own.object_count,
            sort: table.sort,
            rounds: basis.rounds(),
        };
        Ok(Some(plan.page(basis, &Page::default())))
    }

    /// Plan of the page from these rows on.
    pub fn page(&self, basis: &Basis<'_>, first: &Page) -> Self {
        let rays = self.params.count;
        let hits = || basis.rows(Output::RayHits, initial_rows(rays), size_of::<RayHit>());
        let cells = || basis.rows(Output::RayCells, 64 * u64::from(rays) + 1024, size_of::<RayCell>());
        Self {
            params: RayParams {
                first_hit: first.hits,
                hit_capacity: match self.mode {
                    RayMode::Closest => rays,
                    RayMode::Any => 0,
                    RayMode::All => hits(),
                },
                first_cell: first.ray_cells,
                cell_capacity: if self.lists_cells { cells() } else { 0 },
                ..self.params
            },
            ..*self
        }
    }

    pub const fn source(&self) -> BufferId {
        if self.copying.is_some() {
            buffer::SOURCE_RAYS
        } else {
            buffer::RAYS
        }
    }

    pub fn lists_hits(&self) -> bool {
        self.params.count > 0 && self.mode == RayMode::All
    }

    const fn sweeps(&self) -> bool {
        self.params.stride == SWEPT_STRIDE
    }

    pub fn digits(&self) -> Vec<SortParams> {
        let key_bits = if self.is_sorted { KEY_BITS } else { 0 };
        sort_digits(self.sort, self.params.count, key_bits)
    }

    pub fn sizes(&self) -> Sizes {
        let params = &self.params;
        let rays = u64::from(params.count);
        let mut sizes = Sizes::new();
        if rays > 0 {
            let bytes = 16 * u64::from(params.stride) * rays;
            sizes.push((buffer::RAYS, bytes));
            if self.copying.is_some_and(|copying| copying.needs_source_buffer()) {
                sizes.push((buffer::SOURCE_RAYS, bytes));
            }
        }
        let hits = |more: u64| size_of::<RayHit>() as u64 * (u64::from(params.hit_capacity) + more);
        match self.mode {
            RayMode::Closest => sizes.push((buffer::HITS, hits(self.rounds.carry_words(rays, 2)))),
            RayMode::Any => sizes.push((buffer::ANY, 4 * rays)),
            RayMode::All => {
                let kept = u64::from(params.cached);
                let carry_words = match kept > 0 {
                    true => rays,
                    false => self.rounds.carry_table_words(rays, self.has_statics),
                };
                let offsets = rays + 1 + carry_words + 2 * kept * rays;
                sizes.extend([(buffer::HITS, hits(0)), (buffer::OFFSETS, 4 * offsets)]);
            }
        }
        if self.is_sorted {
            sizes.extend([
                (buffer::KEYS_0, 4 * rays),
                (buffer::KEYS_1, 4 * rays),
                (buffer::VALUES_0, 4 * rays),
                (buffer::VALUES_1, 4 * rays),
                (buffer::GRID, size_of::<Grid>() as u64),
            ]);
        }
        if self.lists_cells {
            let cells = size_of::<RayCell>() as u64 * u64::from(params.cell_capacity);
            let carried = if self.has_statics { rays } else { 0 };
            sizes.extend([(buffer::CELL_OFFSETS, 4 * (rays + 1 + carried)), (buffer::CELLS, cells)]);
        }
        sizes
    }

    /// Capacity of `output` in rows, or `None` if rays do not write it.
    pub const fn capacity(&self, output: Output) -> Option<u32> {
        match output {
            Output::RayHits => Some(self.params.hit_capacity),
            Output::RayCells => Some(self.params.cell_capacity),
            Output::Pairs | Output::QueryObjects => None,
        }
    }

    pub fn output(&self, buffers: &Buffers) -> RayOutput {
        let one_each = |mode, id| (self.mode == mode).then(|| buffers.get(id).clone());
        let params = &self.params;
        RayOutput {
            closest: one_each(RayMode::Closest, buffer::HITS),
            any: one_each(RayMode::Any, buffer::ANY),
            hits: (self.mode == RayMode::All).then(|| Lists {
                buffer: buffers.get(buffer::HITS).clone(),
                offsets: buffers.get(buffer::OFFSETS).clone(),
                capacity: params.hit_capacity,
                first: params.first_hit,
            }),
            cells: self.lists_cells.then(|| Lists {
                buffer: buffers.get(buffer::CELLS).clone(),
                offsets: buffers.get(buffer::CELL_OFFSETS).clone(),
                capacity: params.cell_capacity,
                first: params.first_cell,
            }),
        }
    }

    pub fn readable(&self, buffers: &Buffers) -> Vec<Readable> {
        let params = &self.params;
        let rays = u64::from(params.count);
        let (hits, cells) = (Output::RayHits, Output::RayCells);
        let mut outputs = Vec::new();
        if rays == 0 {
            // Without lists, the offsets are a single 0.
            let offsets = [
                (self.mode == RayMode::All, buffer::OFFSETS, hits),
                (self.lists_cells, buffer::CELL_OFFSETS, cells),
            ];
            let wanted = offsets.into_iter().filter(|(is_wanted, ..)| *is_wanted);
            outputs.extend(wanted.map(|(_, id, output)| Readable::known::<u32>(buffers, id, output, 1)));
            return outputs;
        }
        match self.mode {
            RayMode::Closest => outputs.push(Readable::known::<RayHit>(buffers, buffer::HITS, hits, rays)),
            RayMode::Any => outputs.push(Readable::known::<u32>(buffers, buffer::ANY, hits, rays)),
            RayMode::All => {
                let rows = [params.first_hit, params.hit_capacity];
                outputs.extend([
                    Readable::counted::<RayHit>(buffers, buffer::HITS, hits, rows),
                    Readable::known::<u32>(buffers, buffer::OFFSETS, hits, rays + 1),
                ]);
            }
        }
        if self.lists_cells {
            let rows = [params.first_cell, params.cell_capacity];
            outputs.extend([
                Readable::counted::<RayCell>(buffers, buffer::CELLS, cells, rows),
                Readable::known::<u32>(buffers, buffer::CELL_OFFSETS, cells, rays + 1),
            ]);
        }
        outputs
    }

    pub fn order(&self, objects: u32) -> Option<order::Ordered> {
        self.lists_hits().then(|| order::Ordered {
            stage: "ray_order",
            rows: buffer::HITS,
            offsets: buffer::OFFSETS,
            params: OrderParams {
                needed_word: Output::RayHits.counted().word as u32,
                first: self.params.first_hit,
                capacity: self.params.hit_capacity,
                row_words: (size_of::<RayHit>() / 4) as u32,
                walks: self.params.count,
                ..OrderParams::default()
            },
            keys: [self.params.count, objects],
        })
    }

    pub fn write(&self, blocks: &mut Blocks, tables: TableBlocks, table: &Params) -> RayUniforms {
        let params = &self.params;
        let of_copy = [buffer::LIMITS, buffer::SOURCE_RAYS, buffer::RAYS];
        let copied = self.copying.map(|copying| Copied::new(blocks, copying, of_copy));
        let mut scan =
            |data, output: Output, capacity| Scan::of(blocks, data, params.count + 1, &output.counted(), capacity);
        RayUniforms {
            copied,
            hits: scan(buffer::OFFSETS, Output::RayHits, params.hit_capacity),
            cells: scan(buffer::CELL_OFFSETS, Output::RayCells, params.cell_capacity),
            digits: Digit::all(blocks, self.digits()),
            rounds: WalkRound::all(blocks, tables, table, params.count, false, |walks| {
                self.rounds.of(walks, 1, params.cached).collect()
            }),
        }
    }

    pub fn record_counts(&self, passes: &mut Passes, blocks: &RayUniforms, sorted: KeyValueBuffers) {
        if self.params.count == 0 {
            if self.mode == RayMode::All {
                passes.clear_words(buffer::OFFSETS, 0, 1);
            }
            if self.lists_cells {
                passes.clear_words(buffer::CELL_OFFSETS, 0, 1);
            }
            return;
        }
        if self.is_sorted {
            self.record_sort(passes, blocks);
        }
        if self.lists_hits() {
            passes.rounds("ray_count", &blocks.rounds, |stage, round| {
                let binds = self.binds(blocks, round, sorted);
                stage.run(RAY_COUNT.switched(self.sweeps()), round.walks + 1, &binds);
            });
            passes.stage("ray_scan", |stage| blocks.hits.record(stage));
        }
        if self.lists_cells {
            passes.stage("ray_cells_count", |stage| {
                for round in blocks.rounds.iter().filter(|round| round.is_first) {
                    let binds = self.binds(blocks, round, sorted);
                    stage.run(RAY_CELLS_COUNT.switched(self.sweeps()), round.walks + 1, &binds);
                }
                blocks.cells.record(stage);
            });
        }
    }

    /// `first`: true on the first page. Other pages skip modes with one result per ray.
    pub fn record_emit(&self, passes: &mut Passes, blocks: &RayUniforms, sorted: KeyValueBuffers, first: bool) {
        let mut walk = |name, pass: &'static Pass| {
            passes.rounds(name, &blocks.rounds, |stage, round| {
                let binds = self.binds(blocks, round, sorted);
                stage.run(pass.switched(self.sweeps()), round.walks, &binds);
            });
        };
        match self.mode {
            _ if self.params.count == 0 => return,
            RayMode::Closest | RayMode::Any if !first => {}
            RayMode::Closest => walk("ray_closest", &RAY_CLOSEST),
            RayMode::Any => walk("ray_any", &RAY_ANY),
            RayMode::All => walk("ray_emit", &RAY_EMIT),
        }
        if self.lists_cells {
            walk("ray_cells_emit", &RAY_CELLS_EMIT);
        }
    }

    fn record_sort(&self, passes: &mut Passes, blocks: &RayUniforms) {
        let sort = Sort {
            strategy: self.sort,
            ping_pong: PING_PONG,
            grid: buffer::GRID,
            counts_first: true,
        };
        let unsorted = PING_PONG.unsorted();
        sort::clear_counts(passes, &blocks.digits);
        passes.stage("ray_sort", |stage| {
            let [keys, values] = unsorted.binds();
            let mut binds = vec![keys, values, SORT_GRID.is(buffer::GRID)];
            if self.are_most_static {
                binds.push(table::buffer::GRID.is(statics::buffer::GRID));
            }
            stage.run(&RAY_KEYS, self.params.count, &binds);
            sort.record(stage, &blocks.digits, unsorted);
        });
    }

    /// Bindings of a round. The first binding of each name applies.
    fn binds(&self, blocks: &RayUniforms, round: &WalkRound, sorted: KeyValueBuffers) -> Vec<Binds> {
        // Replaces the entries' values, which only the uniform scheme reads. It does not sort rays.
        let sorted_rays = PING_PONG.after(blocks.digits.len()).values;
        let order = self.is_sorted.then(|| VALUES.is(sorted_rays));
        order.into_iter().chain(round.binds(self.is_uniform, sorted)).collect()
    }
}

/// Hits to cache per ray.
fn cached_hits(basis: &Basis<'_>, rays: u32) -> u32 {
    let lists = u64::from(rays.max(1));
    let hit_bytes = size_of::<RayHit>() as u64;
    // Bytes before the cache in its buffer: an offset and a carried word per ray.
    let beside = hit_bytes * lists + 4;
    let most = basis.binding_limit.saturating_sub(beside).min(CACHED_HITS_BYTES) / (hit_bytes * lists);
    let pays = u64::from(basis.demand.cached_hits.unwrap_or(FIRST_CACHED_HITS));
    if rays > 0 && most >= MIN_CACHED_HITS {
        pays.min(most) as u32
    } else {
        0
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions};
    use crate::stages::shape::Demand;
    use crate::stages::table::TableInput;

    #[test]
    fn cached_hits_stay_within_a_binding_and_their_share() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        let demand = Demand {
            cached_hits: Some(MAX_CACHED_HITS),
            ..Demand::default()
        };
        let basis = Basis::of(&descriptor, &demand);
        let table = TablePlan::new(&basis, &TableInput::default()).unwrap();
        for rays in [1, 5000, 1 << 20, 3 << 20] {
            let sizes = QuerySizes {
                rays,
                casts: true,
                ray_stride: 2,
                ..QuerySizes::default()
            };
            let plan = RayPlan::new(&basis, &table, &sizes).unwrap().unwrap();
            let cached = 8 * u64::from(plan.params.cached) * rays;
            assert!(cached <= CACHED_HITS_BYTES, "{rays}: {cached}");
            assert_eq!(plan.params.cached == 0, rays == 3 << 20);
        }
    }
}
