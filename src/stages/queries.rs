//! The queries stage: finds the objects at or near each query, or each object in a self-query.
//!
//! Lists: `query_count` counts, the scan stage makes offsets, `query_emit` walks again and writes. `query_nearest`
//! walks once and keeps the nearest objects in order.

use super::input::{Copied, Copying};
use super::order;
use super::scan::Scan;
use super::shape::{CapacityOf, Room, Shape, initial_rows};
use super::sort::KeyValueBuffers;
use super::table::{self, statics};
use super::walks::{TableOf, WalkRound};
use crate::api::counters;
use crate::api::descriptor::{BroadPhaseDescriptor, Capacities, Growth};
use crate::api::output::{Lists, QueryOutput};
use crate::api::queries::{NearestObject, Query, self_query};
use crate::api::types::{Aabb, Pair};
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::reading::Readable;
use crate::gpu::recorder::{Binds, Recorder};
use crate::gpu::shader::{Pass, PassContext, Variant, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, OrderParams};
use crate::layout::grid::Params;
use crate::layout::query_sizes::QuerySizes;
use crate::shared::wgsl::number;

passes! {
    "queries" {
    QUERY_COUNT = "query_count" if |of| of.uses.queries && is_possible(of);

    QUERY_EMIT = "query_emit" if |of| of.uses.queries && is_possible(of);

    QUERY_NEAREST = "query_nearest" if |of| of.uses.nearest && is_possible(of);
    }
}

fn is_possible(of: &PassContext<'_>) -> bool {
    !of.excludes || of.pair_filter.is_some() || of.uses.excluded_pairs
}

/// Two-word vectors per query that `query_nearest` carries between rounds.
const STATE_VECTORS: u32 = number("queries/query_nearest", "STATE_VECTORS");

buffers! {
    QUERIES = "queries": Inputs;
    SOURCE_QUERIES = "source_queries": Inputs;
    LIMITS = "query_limits": Inputs;
    OFFSETS = "query_offsets": Results;
    OBJECTS = "query_objects": Results;
    NEAREST = "query_nearest": Results;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueryPlan {
    /// True if the step returns query results, even for zero queries.
    pub has_queries: bool,
    pub copying: Option<Copying>,
    pub has_exclusions: bool,
}

pub(crate) struct QueryUniforms {
    pub copied: Option<Copied>,
    scan: Scan,
    rounds: Vec<WalkRound>,
}

impl QueryPlan {
    const fn has_lists(&self, params: &Params) -> bool {
        self.has_queries && params.nearest == 0
    }

    const fn has_nearest(&self, params: &Params) -> bool {
        self.has_queries && params.nearest > 0
    }

    pub const fn source(&self) -> BufferId {
        if self.copying.is_some() {
            buffer::SOURCE_QUERIES
        } else {
            buffer::QUERIES
        }
    }

    pub fn set_sizes(&mut self, sizes: &QuerySizes, params: &Params) {
        self.has_queries = sizes.has_queries;
        let has_own = sizes.queries > 0 && sizes.self_query.is_none();
        // `EXCLUDED` in word 7 makes a query find nothing.
        let limit = CountParams {
            rows: params.query_count,
            stride: 2 + params.wide_queries,
            limit_word: sizes.query_limit.unwrap_or(0),
            row_word: 7,
            value: Aabb::EXCLUDED,
        };
        self.copying = Copying::of(sizes.query_layout, sizes.query_limit.is_some(), limit).filter(|_| has_own);
    }

    pub fn fit_rows(&self, params: &mut Params, capacities: &Capacities, wanted: u32, is_sorted: bool, room: Room) {
        params.result_capacity = if params.nearest > 0 {
            0
        } else {
            // Sorting needs two words per result.
            let row_bytes = if is_sorted { size_of::<Pair>() } else { size_of::<u32>() };
            room.rows(capacities.results, wanted, initial_rows(params.query_count), row_bytes)
        };
    }

    pub fn shrinks(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Option<CapacityOf> {
        let is_fixed = descriptor.outputs.growth == Growth::Fixed && descriptor.outputs.capacities.results.is_some();
        let rows: CapacityOf = |params| &mut params.result_capacity;
        (!is_fixed).then_some(rows)
    }

    pub fn sizes(&self, shape: &Shape) -> Sizes {
        let params = &shape.params;
        let queries = u64::from(params.query_count);
        let mut sizes = Sizes::new();
        if queries > 0 && params.self_query == self_query::NONE {
            let bytes = if params.wide_queries != 0 {
                size_of::<Query>()
            } else {
                size_of::<Aabb>()
            };
            let bytes = bytes as u64 * queries;
            sizes.push((buffer::QUERIES, bytes));
            if self.copying.is_some_and(|copying| copying.needs_source_buffer()) {
                sizes.push((buffer::SOURCE_QUERIES, bytes));
            }
        }
        if self.has_lists(params) {
            let offsets = queries + 1 + shape.carry_table_words(queries);
            sizes.extend([
                (buffer::OFFSETS, 4 * offsets),
                (buffer::OBJECTS, 4 * u64::from(params.result_capacity)),
            ]);
        }
        if self.has_nearest(params) {
            // A nearest object and a carried vector take two words each.
            let neighbors = queries.saturating_mul(params.nearest.into());
            let left = shape.carry_words(queries, STATE_VECTORS.into());
            let bytes = neighbors
                .saturating_add(left)
                .saturating_mul(size_of::<NearestObject>() as u64);
            sizes.push((buffer::NEAREST, bytes));
        }
        sizes
    }

    pub fn output(&self, params: &Params, buffers: &Buffers) -> QueryOutput {
        QueryOutput {
            objects: self.has_lists(params).then(|| Lists {
                buffer: buffers.get(buffer::OBJECTS).clone(),
                offsets: buffers.get(buffer::OFFSETS).clone(),
                capacity: params.result_capacity,
                first: params.first_result,
            }),
            nearest: self.has_nearest(params).then(|| buffers.get(buffer::NEAREST).clone()),
        }
    }

    pub fn readable(&self, params: &Params, last: u32) -> Vec<Readable> {
        let queries = u64::from(params.query_count);
        let mut outputs = Vec::new();
        if queries == 0 && self.has_lists(params) {
            // Without lists, the offsets are a single 0.
            outputs.push(Readable::known::<u32>(buffer::OFFSETS, 1));
        }
        if wants_lists(params) {
            let rows = [last, params.first_result, params.result_capacity];
            outputs.extend([
                Readable::counted::<u32>(
                    buffer::OBJECTS,
                    |found| found.results_needed,
                    rows,
                    counters::RESULTS.status,
                ),
                Readable::known::<u32>(buffer::OFFSETS, queries + 1),
            ]);
        }
        if wants_nearest(params) {
            let rows = queries * u64::from(params.nearest);
            outputs.push(Readable::known::<NearestObject>(buffer::NEAREST, rows));
        }
        outputs
    }

    pub fn order(&self, params: &Params) -> Option<order::Ordered> {
        wants_lists(params).then(|| order::Ordered {
            stage: "query_order",
            rows: buffer::OBJECTS,
            offsets: buffer::OFFSETS,
            params: OrderParams::of_results(params),
            keys: [params.query_count, params.all_objects()],
        })
    }

    pub fn write(&self, blocks: &mut Blocks, shape: &Shape) -> QueryUniforms {
        let params = &shape.params;
        QueryUniforms {
            copied: self.copying.map(|copying| {
                let of_copy = [buffer::LIMITS, buffer::SOURCE_QUERIES, buffer::QUERIES];
                Copied::new(blocks, copying, of_copy)
            }),
            scan: Scan::of(
                blocks,
                buffer::OFFSETS,
                params.query_count + 1,
                &counters::RESULTS,
                params.result_capacity,
            ),
            rounds: WalkRound::all(
                blocks,
                shape,
                params.query_count,
                // Inserting into the nearest objects takes up to `nearest` iterations.
                params.nearest + 1,
                params.nearest,
                params.self_query != self_query::NONE,
            ),
        }
    }

    /// Only self-queries for partners exclude pairs.
    fn walk<'p>(&self, pass: &'p Pass, params: &Params) -> Variant<'p> {
        pass.excluding(self.has_exclusions && params.self_query == self_query::PARTNERS)
    }

    pub fn record_counts(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &QueryUniforms,
        sorted: KeyValueBuffers,
    ) {
        let params = &shape.params;
        if params.query_count == 0 && self.has_lists(params) {
            recorder.clear_words(buffer::OFFSETS, 0, 1);
        }
        if wants_lists(params) {
            recorder.rounds("query_count", &blocks.rounds, |stage, round| {
                stage.run(
                    self.walk(&QUERY_COUNT, params),
                    round.walks + 1,
                    &blocks.binds(params, round, sorted),
                );
            });
            recorder.stage("query_scan", |stage| blocks.scan.record(stage));
        }
    }

    /// `first` is true on the first page. Only then are nearest objects found.
    pub fn record_emit(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &QueryUniforms,
        sorted: KeyValueBuffers,
        first: bool,
    ) {
        let params = &shape.params;
        let mut walk = |name, pass: &'static Pass| {
            recorder.rounds(name, &blocks.rounds, |stage, round| {
                stage.run(
                    self.walk(pass, params),
                    round.walks,
                    &blocks.binds(params, round, sorted),
                );
            });
        };
        if wants_lists(params) {
            walk("query_emit", &QUERY_EMIT);
        }
        if wants_nearest(params) && first {
            walk("query_nearest", &QUERY_NEAREST);
        }
    }
}

const fn wants_lists(params: &Params) -> bool {
    params.query_count > 0 && params.nearest == 0
}

const fn wants_nearest(params: &Params) -> bool {
    params.query_count > 0 && params.nearest > 0
}

impl QueryUniforms {
    fn binds(&self, params: &Params, round: &WalkRound, sorted: KeyValueBuffers) -> Vec<Binds> {
        let mut binds = round.binds(params, sorted);
        if params.self_query != self_query::NONE {
            binds.push(buffer::QUERIES.is(match round.queried_by {
                TableOf::Moving => table::buffer::RECORDS,
                TableOf::Static => statics::buffer::RECORDS,
            }));
        }
        binds
    }
}
