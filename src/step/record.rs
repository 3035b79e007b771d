//! Records a step, a query or a page of a broad phase.

use std::sync::Arc;

use super::answers::{AnswerUniforms, Answers, table_ranges, write_tables};
use super::broad_phase::GpuBroadPhase;
use super::inputs::{Placer, check_own, check_queries};
use super::pair_finder::{FoundPairs, FoundUniforms};
use super::plan::{StepInput, StepPlan, bytes};
use super::table::{Built, STEP_COUNTERS, TableView};
use crate::api::counters::word;
use crate::api::error::StepError;
use crate::api::input;
use crate::api::output::Page;
use crate::api::scene::{QueryInput, Scene, Statics, check_device_count};
use crate::api::types::Aabb;
use crate::gpu::buffers::{BufferId, Buffers};
use crate::gpu::recorder::{Binds, Input, find};
use crate::gpu::upload::{Block, Blocks, Uniforms};
use crate::gpu::work_log::{self, Work};
use crate::stages::pairs::{self, EXCLUSIONS};
use crate::stages::shape::COUNTERS;
use crate::stages::table::{self, PAIR_PARAMS, PARAMS, TableUniforms, statics};
use crate::stages::walks::TableBlocks;

/// Uniform blocks of a step.
struct StepUniforms {
    tables: TableBlocks,
    pair_params: Block,
    exclusions: Block,
    table: TableUniforms,
    /// `None` unless the static table is rebuilt.
    statics: Option<TableUniforms>,
    pairs: Option<FoundUniforms>,
    answers: AnswerUniforms,
}

impl StepPlan {
    fn write(&self, blocks: &mut Blocks, pairs: Option<&FoundPairs>, rebuilds_statics: bool) -> StepUniforms {
        let tables = write_tables(blocks, &self.table, self.statics.as_ref());
        let exclusions = blocks.push(&self.exclusions.map(|exclusions| exclusions.block).unwrap_or_default());
        let pair_params = blocks.push(&self.pairs.map(|pairs| pairs.params).unwrap_or_default());
        StepUniforms {
            tables,
            pair_params,
            exclusions,
            table: self.table.write(blocks),
            statics: self
                .statics
                .filter(|_| rebuilds_statics)
                .map(|statics| statics.write(blocks)),
            pairs: pairs.map(|pairs| pairs.write(blocks, tables, self.table.sort)),
            answers: self.answers.write(blocks, &self.table, tables, exclusions),
        }
    }
}

fn binds(table: Block, pair_params: Block, exclusions: Block) -> Vec<Binds> {
    vec![
        PARAMS.is_block(table),
        PAIR_PARAMS.is_block(pair_params),
        EXCLUSIONS.is_block(exclusions),
    ]
}

impl GpuBroadPhase {
    /// Runs `record` in a debug group and error scopes. Fails on a lost device, and drops all buffers if the device
    /// refuses the recording.
    pub(crate) fn guarded<T>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        record: impl FnOnce(&mut Self, &mut wgpu::CommandEncoder) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        self.poll_counters();
        let rounds = self.growth.rounds(&self.session.context, &self.descriptor);
        let begun = self.session.begin(encoder, rounds)?;
        let recorded = record(self, encoder);
        let ended = self.session.end(encoder, begun, recorded);
        if matches!(ended, Err(StepError::Device(_) | StepError::DeviceLost)) {
            self.forget();
        }
        ended
    }

    /// Records a step. Without `emits`, only counts rows.
    pub(crate) fn record_step(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        scene: Scene<'_>,
        emits: bool,
    ) -> Result<(), StepError> {
        let plan = self.plan(&scene)?;
        let uploads = [scene.objects.recording(), scene.statics.objects.recording()];
        self.session.recording.reads(uploads.into_iter().flatten());
        self.session.recording.check()?;
        self.session.begin_timing();
        let rebuilds_statics = self.fit(encoder, &plan, &scene);
        let inputs = self.place(encoder, &plan, &scene);
        let recording = self.session.recording.clone();
        let found = plan
            .pairs
            .map(|pairs| FoundPairs::new(pairs, plan.pair_order, &recording));
        let mut blocks = Blocks::new(self.session.context.device());
        let of_step = plan.write(&mut blocks, found.as_ref(), rebuilds_statics);
        let uniforms = self.session.write(encoder, blocks);
        if let Some(of_statics) = &of_step.statics {
            self.record_statics(encoder, &plan, &scene.statics, &uniforms, (&of_step, of_statics));
        }
        let view = Arc::new(self.view(&plan, &inputs));
        let queries = scene.query_input();
        let placed = self
            .queries
            .place(&mut self.session, encoder, &queries, &plan.answers, &view.inputs);
        self.record_table(encoder, &plan, &inputs, &uniforms, &of_step);
        self.record_pair_counts(encoder, &plan, &view, &uniforms, &of_step);
        let answers = Answers {
            plan: plan.answers,
            is_of_step: true,
            view,
            inputs: placed,
            blocks: table_ranges(&uniforms, of_step.tables),
            counts: recording.clone(),
            recording,
        };
        let own = vec![&self.queries.buffers];
        let mut recorder = self
            .session
            .recorder(encoder, &uniforms, own, Vec::new(), &answers.inputs, true);
        answers
            .plan
            .record_counts(&mut recorder, &of_step.answers, &answers.view);
        if emits {
            if let (Some(found), Some(blocks)) = (&found, &of_step.pairs) {
                let binds = binds(of_step.tables.moving, of_step.pair_params, of_step.exclusions);
                self.record_pairs(encoder, &answers.view, found, &uniforms, (binds, blocks), true);
            }
            let own = vec![&self.queries.buffers];
            let inputs = &answers.inputs;
            let mut recorder = self.session.recorder(encoder, &uniforms, own, Vec::new(), inputs, true);
            answers
                .plan
                .record_emit(&mut recorder, &of_step.answers, &answers.view, true);
        }
        self.session.resolve_timing(encoder);
        self.pairs.found = found;
        self.queries.last = Some(answers);
        Ok(())
    }

    /// Records rays and queries to the last step's table. Without `emits`, only counts rows.
    pub(crate) fn record_query(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        input: &QueryInput<'_>,
        emits: bool,
    ) -> Result<(), StepError> {
        let last = self.queries.last.as_ref().ok_or(StepError::NoStep)?;
        let view = Arc::clone(&last.view);
        view.recording.check()?;
        let own = [&self.table.buffers, &self.statics.buffers, &self.pairs.buffers];
        self.queries.check(&self.session.context, input, &own)?;
        let basis = self.growth.basis(&self.session.context, &self.descriptor);
        self.queries
            .record(&mut self.session, encoder, &basis, &view, input, (emits, false))
    }

    /// Records another page of the last results. `after_counts`: true directly after counting.
    pub(crate) fn record_page(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        first: Page,
        after_counts: bool,
    ) -> Result<(), StepError> {
        let last = self.queries.last.as_ref().ok_or(StepError::NoStep)?;
        let (view, counts) = (Arc::clone(&last.view), last.counts.clone());
        let basis = self.growth.basis(&self.session.context, &self.descriptor);
        let found = self.pairs.found.as_ref().filter(|found| found.counts.is_same(&counts));
        let found = found.map(|found| found.page(&basis, &view.table, &first, &self.session.recording));
        let pairs = found.as_ref().map_or(0, |found| bytes(&found.sizes(view.table.sort)));
        let answers = self.queries.plan_page(&basis, &first, view.bytes + pairs)?;
        if let Some(found) = found {
            let sizes = found.sizes(view.table.sort);
            self.session.fit(&mut self.pairs.buffers, sizes, &[]);
            let mut blocks = Blocks::new(self.session.context.device());
            let tables = write_tables(&mut blocks, &view.table, view.statics.as_ref());
            let exclusions = blocks.push(&view.exclusions.unwrap_or_default());
            let pair_params = blocks.push(&found.plan.params);
            let of_pairs = found.write(&mut blocks, tables, view.table.sort);
            let uniforms = self.session.write(encoder, blocks);
            let binds = binds(tables.moving, pair_params, exclusions);
            self.record_pairs(encoder, &view, &found, &uniforms, (binds, &of_pairs), after_counts);
            self.pairs.found = Some(found);
        }
        self.queries
            .record_page(&mut self.session, encoder, answers, after_counts)?;
        if after_counts {
            self.session.resolve_timing(encoder);
        }
        Ok(())
    }

    /// Checks the input, and plans the step.
    fn plan(&self, scene: &Scene<'_>) -> Result<StepPlan, StepError> {
        let limits = &self.session.context.device().limits();
        input::check("objects", &scene.objects, limits)?;
        input::check("worlds", &scene.worlds, limits)?;
        check_device_count("the number of objects", scene.object_count, limits)?;
        input::check("static objects", &scene.statics.objects, limits)?;
        input::check("worlds of static objects", &scene.statics.worlds, limits)?;
        input::check_bound("excluded pairs", &scene.excluded_pairs, limits)?;
        input::check_bound("data of the pair filter", &scene.pair_filter_data, limits)?;
        check_queries(&scene.query_input(), limits)?;
        check_own(scene, &self.own_buffers())?;
        let (moving, statics) = (scene.objects.count(), scene.statics.objects.count());
        self.descriptor.check_worlds(scene.worlds.count(), moving)?;
        self.descriptor.check_worlds(scene.statics.worlds.count(), statics)?;
        let sizes = StepInput::of(scene, limits.min_storage_buffer_offset_alignment);
        let basis = self.growth.basis(&self.session.context, &self.descriptor);
        Ok(StepPlan::new(&basis, &sizes)?)
    }

    pub(super) const fn own_buffers(&self) -> [&Buffers; 4] {
        [
            &self.table.buffers,
            &self.statics.buffers,
            &self.pairs.buffers,
            &self.queries.buffers,
        ]
    }

    /// Fits the buffers of tables and pairs. Returns true if the static table must be rebuilt.
    fn fit(&mut self, encoder: &mut wgpu::CommandEncoder, plan: &StepPlan, scene: &Scene<'_>) -> bool {
        let Self {
            session,
            table,
            statics,
            pairs,
            queries,
            ..
        } = self;
        // Taken first, since `begin_step` drops buffers that have become too large.
        let held = table.buffers.existing(table::buffer::OBJECTS).cloned();
        for buffers in [&mut table.buffers, &mut pairs.buffers, &mut queries.buffers] {
            session.bindings.forget(&buffers.begin_step());
        }
        session.fit(&mut table.buffers, plan.table_sizes(), &caller_owned(plan, scene));
        session.fit(&mut pairs.buffers, plan.pair_sizes(), &[]);
        let Some(of_statics) = &plan.statics else {
            session.bindings.forget(&statics.buffers.all());
            statics.clear();
            return false;
        };
        let objects = table.buffers.get(table::buffer::OBJECTS);
        match &mut statics.built {
            Some(built) if built.is_of(of_statics, scene.statics.generation) => {
                session.recording.reads([&built.recording]);
                // Copies the static boxes to the new objects buffer.
                if let Some(held) = held.filter(|held| held != objects) {
                    let bytes = size_of::<Aabb>() as u64 * u64::from(of_statics.params.object_count);
                    let to = table::buffer::OBJECTS.name;
                    work_log::log(|| Work::Copy { to, bytes });
                    encoder.copy_buffer_to_buffer(&held, 0, objects, 0, bytes);
                    built.recording = session.recording.clone();
                }
                false
            }
            _ => {
                session.bindings.forget(&statics.buffers.all());
                statics.buffers.drop_oversized(plan.static_sizes());
                session.fit(&mut statics.buffers, plan.static_sizes(), &[]);
                true
            }
        }
    }

    /// Places the inputs of the moving table.
    fn place(&self, encoder: &mut wgpu::CommandEncoder, plan: &StepPlan, scene: &Scene<'_>) -> Vec<Input> {
        let mut placer = Placer::new(&self.session, encoder, &self.table.buffers);
        placer.place(plan.table.source(), scene.objects);
        if plan.table.params.has_worlds() {
            placer.place(plan.table.worlds(), scene.worlds);
        }
        placer.place_count(table::buffer::OBJECT_LIMITS, scene.object_count);
        if plan.exclusions.is_some_and(|exclusions| exclusions.reads_list()) {
            placer.place(pairs::buffer::EXCLUDED, scene.excluded_pairs);
        }
        if plan.exclusions.is_some_and(|exclusions| exclusions.reads_data()) {
            placer.place(pairs::buffer::DATA, scene.pair_filter_data);
        }
        placer.placed
    }

    /// Builds the static table.
    fn record_statics(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        plan: &StepPlan,
        scene: &Statics<'_>,
        uniforms: &Uniforms,
        (of_step, of_statics): (&StepUniforms, &TableUniforms),
    ) {
        let (Some(statics), Some(block)) = (plan.statics, of_step.tables.statics) else {
            return;
        };
        let context = Arc::clone(&self.session.context);
        let objects = self.table.buffers.get(table::buffer::OBJECTS);
        let label = format!("{}/static", self.session.label);
        let inputs = statics::sources(context.device(), &label, scene, &statics, objects);
        let own = vec![&self.statics.buffers];
        let binds = binds(block, of_step.pair_params, of_step.exclusions);
        let mut recorder = self.session.recorder(encoder, uniforms, own, binds, &inputs, true);
        recorder.clear(COUNTERS);
        statics.record(&mut recorder, of_statics, None);
        self.statics.built = Some(Built {
            plan: statics,
            generation: scene.generation,
            recording: self.session.recording.clone(),
        });
        // Bind groups would keep the buffers of the build alive.
        self.session.bindings.forget(&self.statics.buffers.all());
        self.statics.drop_scratch();
    }

    /// Builds the moving table, and enters excluded pairs.
    fn record_table(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        plan: &StepPlan,
        inputs: &[Input],
        uniforms: &Uniforms,
        of_step: &StepUniforms,
    ) {
        let own = vec![&self.table.buffers, &self.pairs.buffers, &self.queries.buffers];
        let binds = binds(of_step.tables.moving, of_step.pair_params, of_step.exclusions);
        let mut recorder = self.session.recorder(encoder, uniforms, own, binds, inputs, true);
        // Counters start as those of the static table.
        match plan.statics.map(|_| self.statics.buffers.get(COUNTERS)) {
            Some(counters) => {
                recorder.copy_from(counters, COUNTERS);
                let (needed, place) = (word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED);
                recorder.copy_words(counters, needed, COUNTERS, place, 2);
            }
            None => recorder.clear(COUNTERS),
        }
        if let Some(pairs) = plan.pairs {
            pairs.clear_sums(&mut recorder);
        }
        plan.table.record(&mut recorder, &of_step.table, plan.is_crowded());
        if let Some(exclusions) = plan.exclusions {
            exclusions.record(&mut recorder);
        }
    }

    fn record_pair_counts(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        plan: &StepPlan,
        view: &TableView,
        uniforms: &Uniforms,
        of_step: &StepUniforms,
    ) {
        let own = vec![&self.pairs.buffers, &self.table.buffers, &self.queries.buffers];
        let binds = binds(of_step.tables.moving, of_step.pair_params, of_step.exclusions);
        let mut recorder = self.session.recorder(encoder, uniforms, own, binds, &view.inputs, true);
        if let (Some(pairs), Some(blocks)) = (plan.pairs, &of_step.pairs) {
            pairs.record_counts(&mut recorder, &blocks.pairs, plan.table.sorted());
        }
        recorder.copy(COUNTERS, STEP_COUNTERS);
    }

    /// Writes pairs. `is_timed`: true directly after counting.
    fn record_pairs(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        view: &TableView,
        found: &FoundPairs,
        uniforms: &Uniforms,
        (binds, blocks): (Vec<Binds>, &FoundUniforms),
        is_timed: bool,
    ) {
        let own = vec![&self.pairs.buffers, &self.table.buffers, &self.queries.buffers];
        let mut recorder = self
            .session
            .recorder(encoder, uniforms, own, binds, &view.inputs, is_timed);
        found.record(&mut recorder, blocks, view.table.sorted());
    }

    /// The tables of the step that is being recorded.
    fn view(&self, plan: &StepPlan, inputs: &[Input]) -> TableView {
        use table::buffer::{GRID, OBJECTS, RECORDS, STARTS};

        let sorted = plan.table.sorted();
        let bound = |id: BufferId| {
            let range = find(inputs, &[&self.table.buffers], id.name)?;
            Some(Input::of(id, range))
        };
        let own = [OBJECTS, GRID, RECORDS, STARTS, sorted.values]
            .into_iter()
            .filter_map(bound);
        TableView {
            table: plan.table,
            statics: plan.statics,
            exclusions: plan.exclusions.map(|exclusions| exclusions.block),
            inputs: own.chain(self.statics.static_inputs()).collect(),
            counters: self.table.buffers.get(STEP_COUNTERS).clone(),
            held: plan.held(),
            bytes: bytes(&plan.table_sizes()) + bytes(&plan.static_sizes()),
            recording: self.session.recording.clone(),
            descriptor: self.descriptor,
            context: Arc::clone(&self.session.context),
            pipelines: Arc::clone(&self.session.pipelines),
        }
    }
}

/// Buffers that the caller's own take the place of.
fn caller_owned(plan: &StepPlan, scene: &Scene<'_>) -> Vec<BufferId> {
    let (reads_list, reads_data) = plan.exclusions.map_or((false, false), |exclusions| {
        (exclusions.reads_list(), exclusions.reads_data())
    });
    let reads_worlds = plan.table.params.has_worlds();
    let sources = [
        (true, scene.objects.is_caller_owned(), plan.table.source()),
        (reads_worlds, scene.worlds.is_caller_owned(), plan.table.worlds()),
        (
            reads_list,
            scene.excluded_pairs.is_caller_owned(),
            pairs::buffer::EXCLUDED,
        ),
        (
            reads_data,
            scene.pair_filter_data.is_caller_owned(),
            pairs::buffer::DATA,
        ),
    ];
    let owned = sources
        .into_iter()
        .filter(|&(is_read, is_owned, _)| is_read && is_owned);
    owned.map(|(.., id)| id).collect()
}
