//! Rays and queries of a broad phase or a query set.

use std::sync::Arc;

use super::growth::Facts;
use super::inputs::{Placer, check_own_queries, check_queries, query_sources};
use super::output::StepOutput;
use super::plan::{AnswerPlan, OrderedPairs};
use super::sequence::{AnswerUniforms, FoundUniforms};
use super::table::TableView;
use crate::api::counters::{Output, Status, word};
use crate::api::error::StepError;
use crate::api::output::{Page, PairOutput, QueryOutput, RayOutput};
use crate::api::scene::QueryInput;
use crate::gpu::bindings::Range;
use crate::gpu::buffers::Buffers;
use crate::gpu::device_context::DeviceContext;
use crate::gpu::reading::Readable;
use crate::gpu::recorder::Input;
use crate::gpu::session::Session;
use crate::gpu::upload::{Blocks, Uniforms};
use crate::layout::query_sizes::QuerySizes;
use crate::shared::recording::Recording;
use crate::stages::rays::RayPlan;
use crate::stages::shape::{Basis, COUNTERS, STEP_COUNTERS};
use crate::stages::walks::{TableBlocks, TableOf};
use crate::stages::{queries, rays};

/// Buffers of rays, queries and counters, and the last recording that wrote them.
pub(crate) struct QueryEngine {
    pub buffers: Buffers,
    pub last: Option<Answers>,
}

pub(crate) struct Answers {
    pub plan: AnswerPlan,
    /// False for a query of a broad phase's own table.
    pub is_of_step: bool,
    pub view: Arc<TableView>,
    pub inputs: Vec<Input>,
    /// Blocks of the moving and the static table.
    pub blocks: [Option<Range>; 2],
    /// Recording of the counts that pages use.
    pub counts: Recording,
    pub recording: Recording,
}

/// Uniform blocks of a page.
pub(crate) struct PageUniforms {
    pub all: Uniforms,
    tables: TableBlocks,
    pub pairs: Option<FoundUniforms>,
    answers: AnswerUniforms,
}

pub(crate) fn table_ranges(uniforms: &Uniforms, tables: TableBlocks) -> [Option<Range>; 2] {
    [
        Some(uniforms.range(tables.moving)),
        tables.statics.map(|block| uniforms.range(block)),
    ]
}

impl Answers {
    /// `pairs`: capacity for pairs.
    pub fn facts(&self, pairs: u32, reports: Status, sees_crowds: bool) -> Facts {
        let rays = self.plan.rays.filter(RayPlan::lists_hits);
        let mut of_step = self.view.held;
        of_step.rows[Output::Pairs] = pairs;
        Facts {
            recording: self.recording.clone(),
            held: self.plan.held(&of_step),
            reports,
            is_of_step: self.is_of_step,
            rays_counted: rays.map(|rays| rays.params.count),
            sees_crowds: sees_crowds && self.view.table.params.has_clusters == 1,
            walk_shrink: self.plan.rounds.shrink,
        }
    }
}

impl QueryEngine {
    pub fn new(label: &str) -> Self {
        Self {
            buffers: Buffers::new(label),
            last: None,
        }
    }

    /// `own`: other buffers that the recording writes.
    pub fn check(&self, context: &DeviceContext, input: &QueryInput<'_>, own: &[&Buffers]) -> Result<(), StepError> {
        check_queries(input, &context.device().limits())?;
        let own = [own, &[&self.buffers]].concat();
        Ok(check_own_queries(input, &own, self.buffers.existing(COUNTERS))?)
    }

    /// Records rays and queries to the tables of `view`. Without `emits`, only counts rows.
    pub fn record(
        &mut self,
        session: &mut Session,
        encoder: &mut wgpu::CommandEncoder,
        basis: &Basis<'_>,
        view: &Arc<TableView>,
        input: &QueryInput<'_>,
        (emits, is_of_step): (bool, bool),
    ) -> Result<(), StepError> {
        let objects = view.table.params.all_objects().into();
        let alignment = session.context.device().limits().min_storage_buffer_offset_alignment;
        let sizes = QuerySizes::of(input, objects, alignment);
        // A query set has its own limit.
        let beside = if is_of_step { 0 } else { view.bytes };
        let plan = AnswerPlan::of_query(basis, &view.table, &sizes, beside)?;
        session.recording.reads([&view.recording]);
        let mut blocks = Blocks::new(session.context.device());
        let base = view.write(&mut blocks);
        let of_answers = plan.write(&mut blocks, &view.table, base);
        let uniforms = session.write(encoder, blocks);
        let inputs = self.place(session, encoder, input, &plan, &view.inputs);
        session.begin_timing();
        let sorted = view.table.sorted();
        let mut passes = of_answers.passes();
        passes.copy(STEP_COUNTERS, COUNTERS);
        // These words describe the rounds of pairs.
        passes.clear_words(COUNTERS, word::ROUNDS_NEEDED, 2);
        plan.record_counts(&mut passes, &of_answers, sorted);
        if emits {
            plan.record_emit(&mut passes, &of_answers, sorted, true);
        }
        session.record(encoder, &passes, &uniforms, (&inputs, &[&self.buffers]), true);
        session.resolve_timing(encoder);
        self.last = Some(Answers {
            plan,
            is_of_step,
            view: Arc::clone(view),
            inputs,
            blocks: table_ranges(&uniforms, base.tables),
            counts: session.recording.clone(),
            recording: session.recording.clone(),
        });
        Ok(())
    }

    /// Plans another page of the last results. `beside`: bytes of the other buffers.
    pub fn plan_page(&self, basis: &Basis<'_>, first: &Page, beside: u64) -> Result<AnswerPlan, StepError> {
        let last = self.last.as_ref().ok_or(StepError::NoStep)?;
        last.counts.check()?;
        Ok(last.plan.page(basis, &last.view.table, first, beside)?)
    }

    /// Uploads the blocks of a page and of its `pairs`.
    pub fn write_page(
        &self,
        session: &mut Session,
        encoder: &mut wgpu::CommandEncoder,
        plan: &AnswerPlan,
        pairs: Option<&OrderedPairs>,
    ) -> Result<PageUniforms, StepError> {
        let view = &self.last.as_ref().ok_or(StepError::NoStep)?.view;
        let mut blocks = Blocks::new(session.context.device());
        let base = view.write(&mut blocks);
        let pairs = pairs.map(|pairs| {
            let params = blocks.push(&pairs.plan.params);
            pairs.write(&mut blocks, &view.table, base, params)
        });
        let answers = plan.write(&mut blocks, &view.table, base);
        Ok(PageUniforms {
            all: session.write(encoder, blocks),
            tables: base.tables,
            pairs,
            answers,
        })
    }

    /// Records a planned page. `after_counts`: true directly after counting.
    pub fn record_page(
        &mut self,
        session: &mut Session,
        encoder: &mut wgpu::CommandEncoder,
        plan: AnswerPlan,
        blocks: &PageUniforms,
        after_counts: bool,
    ) -> Result<(), StepError> {
        let last = self.last.as_mut().ok_or(StepError::NoStep)?;
        session.recording.reads([&last.counts]);
        let kept = [
            rays::buffer::RAYS,
            rays::buffer::SOURCE_RAYS,
            queries::buffer::QUERIES,
            queries::buffer::SOURCE_QUERIES,
        ];
        session.fit(&mut self.buffers, plan.sizes(), &kept);
        let mut passes = blocks.answers.passes();
        plan.record_emit(&mut passes, &blocks.answers, last.view.table.sorted(), after_counts);
        let bound = (&last.inputs[..], &[&self.buffers][..]);
        session.record(encoder, &passes, &blocks.all, bound, after_counts);
        last.plan = plan;
        last.blocks = table_ranges(&blocks.all, blocks.tables);
        last.recording = session.recording.clone();
        Ok(())
    }

    /// Fits the buffers, and places rays and queries in them. Returns these inputs and those `of_table`.
    pub fn place(
        &mut self,
        session: &mut Session,
        encoder: &mut wgpu::CommandEncoder,
        input: &QueryInput<'_>,
        plan: &AnswerPlan,
        of_table: &[Input],
    ) -> Vec<Input> {
        session.fit(&mut self.buffers, plan.sizes(), &query_sources(input, plan));
        let mut placer = Placer::new(session, encoder, &self.buffers);
        placer.placed.extend_from_slice(of_table);
        placer.place_queries(input, plan);
        placer.placed
    }

    /// Outputs of the last recording, with `pairs`. `recording` wrote all of them.
    pub fn output(&self, pairs: Option<PairOutput>, recording: Recording) -> Result<StepOutput, StepError> {
        let last = self.last.as_ref().ok_or(StepError::NoStep)?;
        let (rays, queries) = (last.plan.rays.as_ref(), last.plan.queries.as_ref());
        let [moving, statics] = last.blocks.clone();
        Ok(StepOutput {
            counters: self.buffers.get(COUNTERS).clone(),
            pairs,
            rays: rays.map_or_else(RayOutput::default, |rays| rays.output(&self.buffers)),
            queries: queries.map_or_else(QueryOutput::default, |queries| queries.output(&self.buffers)),
            table: last.view.output(TableOf::Moving, moving).ok_or(StepError::NoStep)?,
            static_table: last.view.output(TableOf::Static, statics),
            view: Arc::clone(&last.view),
            recording,
        })
    }

    pub fn readable(&self) -> Vec<Readable> {
        let plan = self.last.as_ref().map(|last| &last.plan);
        let rays = plan.and_then(|plan| plan.rays.as_ref());
        let queries = plan.and_then(|plan| plan.queries.as_ref());
        let rays = rays.into_iter().flat_map(|rays| rays.readable(&self.buffers));
        let queries = queries.into_iter().flat_map(|queries| queries.readable(&self.buffers));
        rays.chain(queries).collect()
    }

    pub fn clear(&mut self) {
        self.buffers.clear();
        self.last = None;
    }
}
