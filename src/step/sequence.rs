//! The passes of a step, a query or a page, in order.

use super::plan::{AnswerPlan, OrderedPairs, StepPlan};
use crate::api::counters::word;
use crate::gpu::passes::{Binds, Passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::Exclusions;
use crate::stages::order::OrderUniforms;
use crate::stages::pairs::{EXCLUSIONS, PairUniforms};
use crate::stages::queries::{QUERY_PARAMS, QueryUniforms};
use crate::stages::rays::{RAY_PARAMS, RayUniforms};
use crate::stages::shape::{COUNTERS, STEP_COUNTERS};
use crate::stages::sort::KeyValueBuffers;
use crate::stages::table::statics::buffer::COUNTERS as STATIC_COUNTERS;
use crate::stages::table::{PAIR_PARAMS, PARAMS, TablePlan, TableUniforms};
use crate::stages::walks::TableBlocks;
use crate::stages::{input, order};

/// Part of a broad phase that owns the buffers of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Statics,
    Table,
    Pairs,
    Queries,
}

impl Engine {
    /// Engines whose buffers the passes may bind, in the order of search.
    pub const fn searched(self) -> &'static [Self] {
        match self {
            Self::Statics => &[Self::Statics],
            Self::Table => &[Self::Table, Self::Pairs, Self::Queries],
            Self::Pairs => &[Self::Pairs, Self::Table, Self::Queries],
            Self::Queries => &[Self::Queries],
        }
    }
}

/// Blocks of both tables and of excluded pairs. They come first, so that the caller's shaders find the tables' until
/// the next step.
#[derive(Clone, Copy)]
pub(crate) struct TableUniformBlocks {
    pub tables: TableBlocks,
    exclusions: Block,
}

pub(crate) struct StepUniforms {
    pub base: TableUniformBlocks,
    pair_params: Block,
    table: TableUniforms,
    /// `None` unless the static table is rebuilt.
    statics: Option<TableUniforms>,
    pairs: Option<FoundUniforms>,
    answers: AnswerUniforms,
}

pub(crate) struct FoundUniforms {
    binds: Vec<Binds>,
    pairs: PairUniforms,
    order: Vec<OrderUniforms>,
}

pub(crate) struct AnswerUniforms {
    binds: Vec<Binds>,
    rays: Option<RayUniforms>,
    queries: Option<QueryUniforms>,
    order: Vec<OrderUniforms>,
}

impl TableUniformBlocks {
    pub fn write(
        blocks: &mut Blocks,
        table: &TablePlan,
        statics: Option<&TablePlan>,
        exclusions: Option<Exclusions>,
    ) -> Self {
        Self {
            tables: TableBlocks {
                moving: blocks.push(&table.params),
                statics: statics.map(|statics| blocks.push(&statics.params)),
            },
            exclusions: blocks.push(&exclusions.unwrap_or_default()),
        }
    }

    fn binds(&self, table: Block, pair_params: Block) -> Vec<Binds> {
        vec![
            PARAMS.is_block(table),
            PAIR_PARAMS.is_block(pair_params),
            EXCLUSIONS.is_block(self.exclusions),
        ]
    }
}

impl StepPlan {
    pub fn write(&self, blocks: &mut Blocks, rebuilds_statics: bool) -> StepUniforms {
        let exclusions = self.exclusions.map(|exclusions| exclusions.block);
        let base = TableUniformBlocks::write(blocks, &self.table, self.statics.as_ref(), exclusions);
        let pair_params = blocks.push(&self.pairs.map(|pairs| pairs.plan.params).unwrap_or_default());
        let statics = self.statics.filter(|_| rebuilds_statics);
        StepUniforms {
            base,
            pair_params,
            table: self.table.write(blocks),
            statics: statics.map(|statics| statics.write(blocks)),
            pairs: self
                .pairs
                .map(|pairs| pairs.write(blocks, &self.table, base, pair_params)),
            answers: self.answers.write(blocks, &self.table, base),
        }
    }

    /// The passes of each engine, in order. Without `emits`, rows are only counted.
    pub fn passes(&self, blocks: &StepUniforms, emits: bool) -> Vec<(Engine, Passes)> {
        let sorted = self.table.sorted();
        let mut all = Vec::new();
        all.extend(self.static_passes(blocks).map(|passes| (Engine::Statics, passes)));
        all.push((Engine::Table, self.table_passes(blocks)));
        all.push((Engine::Pairs, self.count_passes(blocks, sorted)));
        let mut counts = blocks.answers.passes();
        self.answers.record_counts(&mut counts, &blocks.answers, sorted);
        all.push((Engine::Queries, counts));
        if emits {
            if let (Some(pairs), Some(blocks)) = (&self.pairs, &blocks.pairs) {
                all.push((Engine::Pairs, pairs.emit_passes(blocks, sorted)));
            }
            let mut rows = blocks.answers.passes();
            self.answers.record_emit(&mut rows, &blocks.answers, sorted, true);
            all.push((Engine::Queries, rows));
        }
        all
    }

    /// Builds the static table.
    fn static_passes(&self, blocks: &StepUniforms) -> Option<Passes> {
        let (plan, of_statics) = (self.statics.as_ref()?, blocks.statics.as_ref()?);
        let block = blocks.base.tables.statics?;
        let mut passes = Passes::new(blocks.base.binds(block, blocks.pair_params));
        passes.clear(COUNTERS);
        plan.record(&mut passes, of_statics, None);
        Some(passes)
    }

    /// Builds the moving table, and enters excluded pairs.
    fn table_passes(&self, blocks: &StepUniforms) -> Passes {
        let base = &blocks.base;
        let mut passes = Passes::new(base.binds(base.tables.moving, blocks.pair_params));
        if self.statics.is_some() {
            // Counters start as those of the static table.
            passes.copy(STATIC_COUNTERS, COUNTERS);
            let (needed, place) = (word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED);
            passes.copy_words(STATIC_COUNTERS, needed, COUNTERS, place, 2);
        } else {
            passes.clear(COUNTERS);
        }
        if let Some(pairs) = self.pairs {
            pairs.plan.clear_sums(&mut passes);
        }
        self.table.record(&mut passes, &blocks.table, self.is_crowded());
        if let Some(exclusions) = self.exclusions {
            exclusions.record(&mut passes);
        }
        passes
    }

    /// Counts pairs, and keeps the counters from which queries start.
    fn count_passes(&self, blocks: &StepUniforms, sorted: KeyValueBuffers) -> Passes {
        let base = &blocks.base;
        let mut passes = Passes::new(base.binds(base.tables.moving, blocks.pair_params));
        if let (Some(pairs), Some(blocks)) = (self.pairs, &blocks.pairs) {
            pairs.plan.record_counts(&mut passes, &blocks.pairs, sorted);
        }
        passes.copy(COUNTERS, STEP_COUNTERS);
        passes
    }
}

impl OrderedPairs {
    pub fn write(
        &self,
        blocks: &mut Blocks,
        table: &TablePlan,
        base: TableUniformBlocks,
        pair_params: Block,
    ) -> FoundUniforms {
        FoundUniforms {
            binds: base.binds(base.tables.moving, pair_params),
            pairs: self.plan.write(blocks, base.tables),
            order: order::write(blocks, self.order.as_slice(), table.sort),
        }
    }

    pub fn emit_passes(&self, blocks: &FoundUniforms, sorted: KeyValueBuffers) -> Passes {
        let mut passes = Passes::new(blocks.binds.clone());
        self.plan.record_emit(&mut passes, &blocks.pairs, sorted);
        for (output, blocks) in self.order.iter().zip(&blocks.order) {
            output.record(&mut passes, blocks);
        }
        passes
    }
}

impl AnswerUniforms {
    pub fn passes(&self) -> Passes {
        Passes::new(self.binds.clone())
    }
}

impl AnswerPlan {
    pub fn write(&self, blocks: &mut Blocks, table: &TablePlan, base: TableUniformBlocks) -> AnswerUniforms {
        let tables = base.tables;
        let mut binds = vec![PARAMS.is_block(tables.moving), EXCLUSIONS.is_block(base.exclusions)];
        binds.extend(self.rays.map(|rays| RAY_PARAMS.is_block(blocks.push(&rays.params))));
        let queries = self.queries.as_ref();
        binds.extend(queries.map(|queries| QUERY_PARAMS.is_block(blocks.push(&queries.params))));
        AnswerUniforms {
            binds,
            rays: self.rays.as_ref().map(|rays| rays.write(blocks, tables, &table.params)),
            queries: queries.map(|queries| queries.write(blocks, tables, &table.params)),
            order: order::write(blocks, &self.order, table.sort),
        }
    }

    pub fn record_counts(&self, passes: &mut Passes, blocks: &AnswerUniforms, sorted: KeyValueBuffers) {
        let copied = [
            blocks.rays.as_ref().and_then(|rays| rays.copied),
            blocks.queries.as_ref().and_then(|queries| queries.copied),
        ];
        input::record(passes, copied);
        if let (Some(rays), Some(blocks)) = (&self.rays, &blocks.rays) {
            rays.record_counts(passes, blocks, sorted);
        }
        if let (Some(queries), Some(blocks)) = (&self.queries, &blocks.queries) {
            queries.record_counts(passes, blocks, sorted);
        }
    }

    /// `first` is true directly after counting. Only then are results without pages (such as closest hits) found.
    pub fn record_emit(&self, passes: &mut Passes, blocks: &AnswerUniforms, sorted: KeyValueBuffers, first: bool) {
        if let (Some(rays), Some(blocks)) = (&self.rays, &blocks.rays) {
            rays.record_emit(passes, blocks, sorted, first);
        }
        if let (Some(queries), Some(blocks)) = (&self.queries, &blocks.queries) {
            queries.record_emit(passes, blocks, sorted, first);
        }
        for (output, blocks) in self.order.iter().zip(&blocks.order) {
            output.record(passes, blocks);
        }
    }
}
