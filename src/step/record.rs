//! Records a step, a query or a page of a broad phase.

use std::sync::Arc;

use super::answers::{Answers, table_ranges};
use super::broad_phase::GpuBroadPhase;
use super::inputs::{Placer, check_own, check_queries};
use super::pair_finder::FoundPairs;
use super::plan::{StepInput, StepPlan, bytes};
use super::sequence::Engine;
use super::table::{Built, TableView};
use crate::api::error::{InputError, StepError};
use crate::api::input;
use crate::api::output::Page;
use crate::api::scene::{QueryInput, Scene, Statics, check_device_count};
use crate::api::types::Aabb;
use crate::gpu::buffers::{BufferId, Buffers};
use crate::gpu::passes::Passes;
use crate::gpu::recorder::{Input, find};
use crate::gpu::upload::{Blocks, Uniforms};
use crate::gpu::work_log::{self, Work};
use crate::stages::pairs;
use crate::stages::shape::{COUNTERS, STEP_COUNTERS};
use crate::stages::table::{self, TablePlan, statics};

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
        match ended {
            Err(StepError::Device(_) | StepError::DeviceLost) => self.forget(),
            // Else one large step would refuse all later ones.
            Err(StepError::Input(InputError::MemoryLimit { .. })) => self.growth.forget(),
            _ => {}
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
        let mut placed = self.place(encoder, &plan, &scene);
        let view = Arc::new(self.view(&plan, &placed));
        let mut blocks = Blocks::new(self.session.context.device());
        let of_step = plan.write(&mut blocks, rebuilds_statics);
        let uniforms = self.session.write(encoder, blocks);
        let static_inputs = match (&plan.statics, rebuilds_statics) {
            (Some(statics), true) => self.static_inputs(statics, &scene.statics),
            _ => Vec::new(),
        };
        if plan.statics.is_some() {
            let counters = self.statics.buffers.get(COUNTERS);
            placed.push(Input::whole(statics::buffer::COUNTERS, counters));
        }
        let queries = scene.query;
        let answered = self
            .queries
            .place(&mut self.session, encoder, &queries, &plan.answers, &view.inputs);
        for (engine, passes) in plan.passes(&of_step, emits) {
            let inputs = match engine {
                Engine::Statics => &static_inputs,
                Engine::Table => &placed,
                Engine::Pairs => &view.inputs,
                Engine::Queries => &answered,
            };
            self.record_passes(encoder, engine, &passes, &uniforms, inputs, true);
        }
        self.session.resolve_timing(encoder);
        if rebuilds_statics {
            // Bind groups would keep the buffers of the build alive.
            self.session.bindings.forget(&self.statics.drop_scratch());
        }
        let recording = self.session.recording.clone();
        self.pairs.found = plan.pairs.map(|pairs| FoundPairs {
            pairs,
            counts: recording.clone(),
            recording: recording.clone(),
        });
        self.queries.last = Some(Answers {
            plan: plan.answers,
            is_of_step: true,
            view,
            inputs: answered,
            blocks: table_ranges(&uniforms, of_step.base.tables),
            counts: recording.clone(),
            recording,
        });
        Ok(())
    }

    fn record_passes(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        engine: Engine,
        passes: &Passes,
        uniforms: &Uniforms,
        inputs: &[Input],
        is_timed: bool,
    ) {
        // In the order of `Engine`.
        let own = [
            &self.statics.buffers,
            &self.table.buffers,
            &self.pairs.buffers,
            &self.queries.buffers,
        ];
        let buffers: Vec<_> = engine.searched().iter().map(|engine| own[*engine as usize]).collect();
        self.session
            .record(encoder, passes, uniforms, (inputs, &buffers), is_timed);
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
        let pairs = found.map(|found| found.pairs.page(&basis, &view.table, &first));
        let sizes = pairs.map_or_else(Vec::new, |pairs| pairs.sizes(view.table.sort));
        let answers = self.queries.plan_page(&basis, &first, view.bytes + bytes(&sizes))?;
        self.session.fit(&mut self.pairs.buffers, sizes, &[]);
        let blocks = self
            .queries
            .write_page(&mut self.session, encoder, &answers, pairs.as_ref())?;
        if let (Some(pairs), Some(of_pairs)) = (pairs, &blocks.pairs) {
            let passes = pairs.emit_passes(of_pairs, view.table.sorted());
            self.record_passes(encoder, Engine::Pairs, &passes, &blocks.all, &view.inputs, after_counts);
            let recording = self.session.recording.clone();
            self.pairs.found = Some(FoundPairs {
                pairs,
                counts,
                recording,
            });
        }
        self.queries
            .record_page(&mut self.session, encoder, answers, &blocks, after_counts)?;
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
        check_queries(&scene.query, limits)?;
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
                statics.built = Some(Built {
                    plan: *of_statics,
                    generation: scene.statics.generation,
                    recording: session.recording.clone(),
                });
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

    /// Inputs of the static table's build.
    fn static_inputs(&self, plan: &TablePlan, scene: &Statics<'_>) -> Vec<Input> {
        let device = self.session.context.device();
        let objects = self.table.buffers.get(table::buffer::OBJECTS);
        statics::sources(device, &format!("{}/static", self.session.label), scene, plan, objects)
    }

    /// The tables of the step that is being recorded.
    fn view(&self, plan: &StepPlan, inputs: &[Input]) -> TableView {
        use table::buffer::{GRID, OBJECTS, RECORDS, STARTS, WORLDS};

        let sorted = plan.table.sorted();
        let bound = |id: BufferId| {
            let range = find(inputs, &[&self.table.buffers], id.name)?;
            Some(Input::of(id, range))
        };
        let worlds = plan.table.params.has_worlds().then_some(WORLDS);
        let own = [OBJECTS, GRID, RECORDS, STARTS, sorted.values, STEP_COUNTERS];
        let own = own.into_iter().chain(worlds).filter_map(bound);
        TableView {
            table: plan.table,
            statics: plan.statics,
            exclusions: plan.exclusions.map(|exclusions| exclusions.block),
            inputs: own.chain(self.statics.static_inputs()).collect(),
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
