//! The queries stage: finds the objects at or near each query, or each object in a self-query.
//!
//! Lists: `query_count` counts, the scan stage makes offsets, `query_emit` walks again and writes. `query_nearest`
//! walks once and keeps the nearest objects in order.

use super::input::{Copied, Copying};
use super::order;
use super::pairs::EXCLUDES;
use super::scan::Scan;
use super::shape::{Basis, Rounds, initial_rows};
use super::sort::KeyValueBuffers;
use super::table::{self, TablePlan, statics};
use super::walks::{TableBlocks, TableOf, WalkRound};
use crate::api::counters::Output;
use crate::api::descriptor::ResultOrder;
use crate::api::error::InputError;
use crate::api::output::{Lists, Page, QueryOutput};
use crate::api::queries::{NearestObject, Query, SelfQuery};
use crate::api::types::{Aabb, Pair};
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::passes::{Binds, Passes, variables};
use crate::gpu::reading::Readable;
use crate::gpu::shader::passes;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, OrderParams, QueryParams};
use crate::layout::grid::Params;
use crate::layout::query_sizes::QuerySizes;
use crate::shared::wgsl::number;

passes! {
    "queries" {
    QUERY_COUNT = "query_count" switch EXCLUDES;

    QUERY_EMIT = "query_emit" switch EXCLUDES;

    QUERY_NEAREST = "query_nearest" switch EXCLUDES;
    }
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

variables! {
    QUERY_PARAMS = "query_params";
}

pub(crate) use variable::QUERY_PARAMS;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueryPlan {
    pub params: QueryParams,
    pub self_query: Option<SelfQuery>,
    pub copying: Option<Copying>,
    /// True if self-queries for partners skip excluded pairs.
    pub excludes: bool,
    pub is_uniform: bool,
    pub has_statics: bool,
    pub rounds: Rounds,
}

pub(crate) struct QueryUniforms {
    pub copied: Option<Copied>,
    scan: Scan,
    rounds: Vec<WalkRound>,
}

impl QueryPlan {
    /// `None` if the input has no queries, not even an empty list.
    pub fn new(basis: &Basis<'_>, table: &TablePlan, sizes: &QuerySizes) -> Result<Option<Self>, InputError> {
        let params = sizes.query_params()?;
        if !sizes.has_queries {
            return Ok(None);
        }
        let has_own = sizes.queries > 0 && sizes.self_query.is_none();
        // `EXCLUDED` in word 7 makes a query find nothing.
        let limit = CountParams {
            rows: params.count,
            stride: 2 + params.is_wide,
            limit_word: sizes.query_limit.unwrap_or(0),
            row_word: 7,
            value: Aabb::EXCLUDED,
        };
        let finds_partners = matches!(sizes.self_query, Some(SelfQuery::Overlaps { .. }));
        let plan = Self {
            params,
            self_query: sizes.self_query,
            copying: Copying::of(sizes.query_layout, sizes.query_limit.is_some(), limit).filter(|_| has_own),
            excludes: table.behind_objects.is_some() && finds_partners,
            is_uniform: table.params.is_uniform(),
            has_statics: table.params.has_statics(),
            rounds: basis.rounds(),
        };
        Ok(Some(plan.page(basis, &Page::default())))
    }

    /// Plan of the page from these rows on.
    pub fn page(&self, basis: &Basis<'_>, first: &Page) -> Self {
        let outputs = &basis.descriptor.outputs;
        // Sorting needs two words per result.
        let row_bytes = match outputs.order {
            ResultOrder::Sorted => size_of::<Pair>(),
            _ => size_of::<u32>(),
        };
        let default = initial_rows(self.params.count);
        let rows = || basis.rows(Output::QueryObjects, default, row_bytes);
        Self {
            params: QueryParams {
                first: first.results,
                capacity: if self.lists_objects() { rows() } else { 0 },
                ..self.params
            },
            ..*self
        }
    }

    const fn lists_objects(&self) -> bool {
        self.params.nearest == 0
    }

    pub const fn source(&self) -> BufferId {
        if self.copying.is_some() {
            buffer::SOURCE_QUERIES
        } else {
            buffer::QUERIES
        }
    }

    pub fn sizes(&self) -> Sizes {
        let params = &self.params;
        let queries = u64::from(params.count);
        let mut sizes = Sizes::new();
        if queries > 0 && self.self_query.is_none() {
            let bytes = match params.is_wide {
                0 => size_of::<Aabb>(),
                _ => size_of::<Query>(),
            };
            let bytes = bytes as u64 * queries;
            sizes.push((buffer::QUERIES, bytes));
            if self.copying.is_some_and(|copying| copying.needs_source_buffer()) {
                sizes.push((buffer::SOURCE_QUERIES, bytes));
            }
        }
        if self.lists_objects() {
            let offsets = queries + 1 + self.rounds.carry_table_words(queries, self.has_statics);
            sizes.extend([
                (buffer::OFFSETS, 4 * offsets),
                (buffer::OBJECTS, 4 * u64::from(params.capacity)),
            ]);
        } else {
            // A nearest object and a carried vector take two words each.
            let neighbors = queries.saturating_mul(params.nearest.into());
            let left = self.rounds.carry_words(queries, STATE_VECTORS.into());
            let bytes = neighbors
                .saturating_add(left)
                .saturating_mul(size_of::<NearestObject>() as u64);
            sizes.push((buffer::NEAREST, bytes));
        }
        sizes
    }

    /// Capacity of `output` in rows, or `None` if queries do not write it.
    pub const fn capacity(&self, output: Output) -> Option<u32> {
        match output {
            Output::QueryObjects => Some(self.params.capacity),
            Output::Pairs | Output::RayHits | Output::RayCells => None,
        }
    }

    pub fn output(&self, buffers: &Buffers) -> QueryOutput {
        let lists = self.lists_objects();
        QueryOutput {
            objects: lists.then(|| Lists {
                buffer: buffers.get(buffer::OBJECTS).clone(),
                offsets: buffers.get(buffer::OFFSETS).clone(),
                capacity: self.params.capacity,
                first: self.params.first,
            }),
            nearest: (!lists).then(|| buffers.get(buffer::NEAREST).clone()),
        }
    }

    pub fn readable(&self, buffers: &Buffers) -> Vec<Readable> {
        let params = &self.params;
        let (queries, objects) = (u64::from(params.count), Output::QueryObjects);
        match (self.lists_objects(), queries) {
            // Without lists, the offsets are a single 0.
            (true, 0) => vec![Readable::known::<u32>(buffers, buffer::OFFSETS, objects, 1)],
            (false, 0) => Vec::new(),
            (true, _) => vec![
                Readable::counted::<u32>(buffers, buffer::OBJECTS, objects, [params.first, params.capacity]),
                Readable::known::<u32>(buffers, buffer::OFFSETS, objects, queries + 1),
            ],
            (false, _) => {
                let rows = queries * u64::from(params.nearest);
                vec![Readable::known::<NearestObject>(
                    buffers,
                    buffer::NEAREST,
                    objects,
                    rows,
                )]
            }
        }
    }

    pub fn order(&self, objects: u32) -> Option<order::Ordered> {
        (self.lists_objects() && self.params.count > 0).then(|| order::Ordered {
            stage: "query_order",
            rows: buffer::OBJECTS,
            offsets: buffer::OFFSETS,
            params: OrderParams {
                needed_word: Output::QueryObjects.counted().word as u32,
                first: self.params.first,
                capacity: self.params.capacity,
                row_words: 1,
                walks: self.params.count,
                ..OrderParams::default()
            },
            keys: [self.params.count, objects],
        })
    }

    pub fn write(&self, blocks: &mut Blocks, tables: TableBlocks, table: &Params) -> QueryUniforms {
        let params = &self.params;
        let of_copy = [buffer::LIMITS, buffer::SOURCE_QUERIES, buffer::QUERIES];
        let is_self_query = self.self_query.is_some();
        QueryUniforms {
            copied: self.copying.map(|copying| Copied::new(blocks, copying, of_copy)),
            scan: Scan::of(
                blocks,
                buffer::OFFSETS,
                params.count + 1,
                &Output::QueryObjects.counted(),
                params.capacity,
            ),
            rounds: WalkRound::all(blocks, tables, table, params.count, is_self_query, |walks| {
                // Inserting into the nearest objects takes up to `nearest` iterations.
                self.rounds.of(walks, params.nearest + 1, params.nearest).collect()
            }),
        }
    }

    pub fn record_counts(&self, passes: &mut Passes, blocks: &QueryUniforms, sorted: KeyValueBuffers) {
        if !self.lists_objects() {
            return;
        }
        if self.params.count == 0 {
            passes.clear_words(buffer::OFFSETS, 0, 1);
            return;
        }
        passes.rounds("query_count", &blocks.rounds, |stage, round| {
            let binds = self.binds(round, sorted);
            stage.run(QUERY_COUNT.switched(self.excludes), round.walks + 1, &binds);
        });
        passes.stage("query_scan", |stage| blocks.scan.record(stage));
    }

    /// `first` is true on the first page. Only then are nearest objects found.
    pub fn record_emit(&self, passes: &mut Passes, blocks: &QueryUniforms, sorted: KeyValueBuffers, first: bool) {
        let (name, pass) = match self.lists_objects() {
            _ if self.params.count == 0 => return,
            true => ("query_emit", &QUERY_EMIT),
            false if first => ("query_nearest", &QUERY_NEAREST),
            false => return,
        };
        passes.rounds(name, &blocks.rounds, |stage, round| {
            stage.run(pass.switched(self.excludes), round.walks, &self.binds(round, sorted));
        });
    }

    fn binds(&self, round: &WalkRound, sorted: KeyValueBuffers) -> Vec<Binds> {
        let mut binds = round.binds(self.is_uniform, sorted);
        if self.self_query.is_some() {
            binds.push(buffer::QUERIES.is(match round.queried_by {
                TableOf::Moving => table::buffer::RECORDS,
                TableOf::Static => statics::buffer::RECORDS,
            }));
        }
        binds
    }
}
