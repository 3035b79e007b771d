use std::sync::Arc;

use super::broad_phase::GpuBroadPhase;
use super::inputs::{Placer, caller_owned, check_own, check_own_queries, check_queries};
use super::plan::{NOT_OWNED_BY_STATICS, Plan, STEP_COUNTERS, StepSizes, StepUniforms};
use super::recorded::{LastTable, OF_TABLE, Recorded};
use crate::api::counters::word;
use crate::api::error::StepError;
use crate::api::input::{self, Source};
use crate::api::scene::{QueryInput, Scene, Statics, check_device_count};
use crate::api::types::{Aabb, Page};
use crate::gpu::adapter::is_surely_hardware;
use crate::gpu::bindings::{Bindings, Range};
use crate::gpu::buffers::{BufferId, Buffers};
use crate::gpu::group::Group;
use crate::gpu::recorder::{Input, Recorder, SUBMISSION_ROUNDS, SubmittedParts};
use crate::gpu::scope::Scopes;
use crate::gpu::upload::{Blocks, Uniforms};
use crate::gpu::work_log::{self, Work};
use crate::layout::query_sizes::QuerySizes;
use crate::shared::bounds::binding_limit;
use crate::shared::recording::Recording;
use crate::stages::pairs;
use crate::stages::queries;
use crate::stages::shape::COUNTERS;
use crate::stages::sort::KeyValueBuffers;
use crate::stages::table::statics::StaticTable;
use crate::stages::table::{self, statics};
use crate::stages::walks::MAX_WALKS;
use crate::stages::{self, rays};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    Anew,
    /// Adds to the stage times already begun.
    On,
    Not,
}

struct StaticState {
    timed: Timed,
    counters: wgpu::Buffer,
}

impl GpuBroadPhase {
    /// Runs `record` in a debug group and error scopes. Fails on a lost device.
    pub(crate) fn guarded<T>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        record: impl FnOnce(&mut Self, &mut wgpu::CommandEncoder) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        if self.context.is_marked_lost() {
            return Err(StepError::DeviceLost);
        }
        self.poll_counters();
        // A debug group cannot span several encoders.
        let is_split = self.splits_submissions && MAX_WALKS * self.rounds() as usize > SUBMISSION_ROUNDS;
        let group = (!is_split).then(|| Group::begin(device, encoder, &self.label));
        let scopes = Scopes::begin(device);
        self.bindings.begin();
        self.readings.begin();
        self.uploads.begin();
        let (recording, mark) = Recording::begin();
        self.recording = recording;
        let recorded = record(self, encoder);
        if let Some(group) = group {
            group.end(encoder);
        }
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                self.errors = scopes.end().after(std::mem::take(&mut self.errors));
                return Err(error);
            }
        };
        self.readings.mark_end(device, encoder, mark);
        self.settle(scopes)?;
        Ok(recorded)
    }

    /// Drops all buffers if the device refused the recording.
    pub(super) fn settle(&mut self, scopes: Scopes) -> Result<(), StepError> {
        self.errors = scopes.end().after(std::mem::take(&mut self.errors));
        let Some(error) = self.errors.now() else {
            return Ok(());
        };
        self.forget();
        let refusal = self.context.refusal(error);
        if refusal == StepError::DeviceLost {
            self.context.mark_lost();
        }
        Err(refusal)
    }

    /// Records a step up to the counts of rows. [`record_outputs`](Self::record_outputs) follows, at once or when the
    /// counts are known to fit.
    pub(crate) fn record_counts(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        input: Scene<'_>,
    ) -> Result<Plan, StepError> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        let limits = &device.limits();
        let (limit, alignment) = (binding_limit(limits), limits.min_storage_buffer_offset_alignment);
        input::check("objects", &input.objects, limits)?;
        input::check("worlds", &input.worlds, limits)?;
        check_device_count("the number of objects", input.object_count, limits)?;
        input::check("static objects", &input.statics.objects, limits)?;
        input::check("worlds of static objects", &input.statics.worlds, limits)?;
        input::check_bound("excluded pairs", &input.excluded_pairs, limits)?;
        input::check_bound("data of the pair filter", &input.pair_filter_data, limits)?;
        let queries = input.query_input();
        check_queries(&queries, limits)?;
        check_own(&input, &self.own_buffers())?;
        let (objects, statics) = (input.objects.count(), input.statics.objects.count());
        self.descriptor.check_worlds(input.worlds.count(), objects)?;
        self.descriptor.check_worlds(input.statics.worlds.count(), statics)?;
        let layouts = |objects: &Source<'_, Aabb>, worlds: &Source<'_, u32>| {
            [objects.placement(alignment).layout, worlds.placement(alignment).layout]
        };
        let of_statics = layouts(&input.statics.objects, &input.statics.worlds);
        let static_plan = match statics {
            0 => None,
            _ => Some(Plan::of_statics(
                &self.descriptor,
                statics,
                of_statics,
                self.demand.hint(),
                limit,
            )?),
        };
        let sizes = StepSizes {
            objects,
            object_limit: input.object_count.map(|limit| limit.word),
            layouts: layouts(&input.objects, &input.worlds),
            statics: static_plan.as_ref(),
            exclusions: [input.excluded_pairs.count(), input.pair_filter_data.count()],
            queries: QuerySizes::of(&queries, objects.saturating_add(statics), alignment),
            is_hardware: is_surely_hardware(device),
        };
        let plan = Plan::new(&self.descriptor, &sizes, self.demand.hint(), limit)?;
        let source = plan.table.source();
        let mut caller_owned = caller_owned(&queries, &plan);
        caller_owned.extend(input.objects.is_caller_owned().then_some(source));
        let reads_worlds = plan.shape.params.has_worlds();
        caller_owned.extend((reads_worlds && input.worlds.is_caller_owned()).then_some(plan.table.worlds()));
        let exclusions = plan.pairs.exclusions;
        let reads_list = exclusions.is_some_and(|exclusions| exclusions.list_count > 0);
        caller_owned.extend((reads_list && input.excluded_pairs.is_caller_owned()).then_some(pairs::buffer::EXCLUDED));
        let reads_data = exclusions.is_some_and(|exclusions| exclusions.data_count > 0);
        caller_owned.extend((reads_data && input.pair_filter_data.is_caller_owned()).then_some(pairs::buffer::DATA));
        let held = self.buffers.existing(table::buffer::OBJECTS).cloned();
        let uploads = [input.objects.recording(), input.statics.objects.recording()];
        self.recording.reads(uploads.into_iter().flatten());
        self.bindings.forget(&self.buffers.begin_step());
        self.fit(&plan, &caller_owned, &[]);
        let table = self.fit_statics(encoder, &input.statics, static_plan, held);

        let mut placer = self.placer(device, encoder);
        placer.place(source, input.objects);
        if reads_worlds {
            placer.place(plan.table.worlds(), input.worlds);
        }
        placer.place_count(table::buffer::OBJECT_LIMITS, input.object_count);
        if reads_list {
            placer.place(pairs::buffer::EXCLUDED, input.excluded_pairs);
        }
        if reads_data {
            placer.place(pairs::buffer::DATA, input.pair_filter_data);
        }
        if let Some(exclusions) = exclusions {
            placer.place(pairs::buffer::EXCLUSIONS, Source::Host(&[exclusions]));
        }
        placer.place_queries(&queries, &plan);
        let mut inputs = placer.placed;
        let (timed, static_counters) = match table {
            Some(StaticState { timed, counters }) => (timed, Some(counters)),
            None => (Timed::Anew, None),
        };
        inputs.extend(self.statics.iter().flat_map(StaticTable::inputs));
        let (sorted, blocks) = self.record(encoder, &plan, &inputs, timed, |recorder, blocks| {
            // Counters start as those of the static table.
            match &static_counters {
                Some(counters) => {
                    recorder.copy_from(counters, COUNTERS);
                    let (needed, place) = (word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED);
                    recorder.copy_words(counters, needed, COUNTERS, place, 2);
                }
                None => recorder.clear(COUNTERS),
            }
            plan.pairs.clear_sums(recorder, &plan.shape.params);
            let sorted = plan.table.record(recorder, &plan.shape, &blocks.table);
            plan.pairs.record_counts(recorder, &plan.shape, &blocks.pairs, sorted);
            recorder.copy(COUNTERS, STEP_COUNTERS);
            record_query_counts(recorder, &plan, blocks, sorted);
            sorted
        });
        self.recorded = Some(Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs: plan.pairs.are_requested,
            blocks,
            table: self.recording.clone(),
            pairs: Some(self.recording.clone()),
            counts: self.recording.clone(),
            answers: self.recording.clone(),
        });
        Ok(plan)
    }

    pub(crate) fn record_query_counts(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        input: &QueryInput<'_>,
        pairs_exist: bool,
    ) -> Result<Plan, StepError> {
        let mut table = self.last_table()?;
        table.plan = table.plan.of_query(pairs_exist);
        table.plan.rays.mode = self.descriptor.outputs.ray_mode;
        self.record_queries(encoder, table, input)
    }

    pub(super) fn last_table(&self) -> Result<LastTable, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        check_dropped(&recorded.table)?;
        let of_table = |input: &&Input| OF_TABLE.iter().any(|id| input.variable == (*id).into());
        Ok(LastTable {
            plan: recorded.plan,
            inputs: recorded.inputs.iter().filter(of_table).cloned().collect(),
            sorted: recorded.sorted,
            recording: recorded.table.clone(),
            counters: self.buffers.get(STEP_COUNTERS).clone(),
        })
    }

    pub(super) fn record_queries(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        table: LastTable,
        input: &QueryInput<'_>,
    ) -> Result<Plan, StepError> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        let limits = &device.limits();
        let (limit, alignment) = (binding_limit(limits), limits.min_storage_buffer_offset_alignment);
        check_queries(input, limits)?;
        check_own_queries(input, &self.own_buffers(), self.buffers.existing(COUNTERS))?;
        let LastTable {
            plan,
            mut inputs,
            sorted,
            recording,
            counters,
        } = table;
        let objects = plan.shape.params.all_objects();
        let sizes = QuerySizes::of(input, objects.into(), alignment);
        let plan = plan.with_queries(&self.descriptor, &sizes, self.demand.hint(), limit)?;
        let mut caller_owned = caller_owned(input, &plan);
        caller_owned.extend(OF_TABLE);
        let kept = [&OF_TABLE[..], plan.pairs.kept()].concat();
        self.recording.reads([&recording]);
        self.fit(&plan, &caller_owned, &kept);
        let mut placer = self.placer(device, encoder);
        placer.place_queries(input, &plan);
        inputs.extend(placer.placed);
        let ((), blocks) = self.record(encoder, &plan, &inputs, Timed::Anew, |recorder, blocks| {
            recorder.copy_from(&counters, COUNTERS);
            // These words describe the rounds of pairs.
            recorder.clear_words(COUNTERS, word::ROUNDS_NEEDED, 2);
            record_query_counts(recorder, &plan, blocks, sorted);
        });
        self.recorded = Some(Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs: false,
            blocks,
            table: recording,
            pairs: self.recorded.take().and_then(|before| before.pairs),
            counts: self.recording.clone(),
            answers: self.recording.clone(),
        });
        Ok(plan)
    }

    /// `after_counts`: true directly after [`record_counts`](Self::record_counts).
    pub(crate) fn record_page(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        first: Page,
        after_counts: bool,
    ) -> Result<Plan, StepError> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        let recorded = self.recorded.as_mut().ok_or(StepError::NoStep)?;
        check_dropped(&recorded.counts)?;
        let limit = binding_limit(&device.limits());
        let plan = recorded
            .plan
            .page(&self.descriptor, first, recorded.emits_pairs, self.demand.hint(), limit)?;
        recorded.plan = plan;
        self.recording.reads([&recorded.counts]);
        if recorded.emits_pairs {
            recorded.pairs = Some(self.recording.clone());
        }
        recorded.answers = self.recording.clone();
        let own = [
            rays::buffer::RAYS,
            rays::buffer::SOURCE_RAYS,
            queries::buffer::QUERIES,
            queries::buffer::SOURCE_QUERIES,
        ];
        let inputs = [&OF_TABLE[..], &own].concat();
        let kept = [&inputs[..], plan.pairs.kept()].concat();
        self.fit(&plan, &inputs, &kept);
        self.record_outputs(encoder, after_counts);
        Ok(plan)
    }

    /// `first` is true directly after counting. Only then are stages timed, and results without pages (such as closest
    /// hits) found.
    pub(crate) fn record_outputs(&mut self, encoder: &mut wgpu::CommandEncoder, first: bool) {
        let Some(recorded) = self.recorded.take() else {
            return;
        };
        let timed = if first { Timed::On } else { Timed::Not };
        let Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs,
            ..
        } = &recorded;
        self.record(encoder, plan, inputs, timed, |recorder, blocks| {
            if *emits_pairs {
                plan.pairs.record_emit(recorder, &plan.shape, &blocks.pairs, *sorted);
            }
            let Plan {
                shape, rays, queries, ..
            } = plan;
            rays.record_emit(recorder, shape, &blocks.rays, *sorted, first);
            queries.record_emit(recorder, shape, &blocks.queries, *sorted, first);
            for (output, blocks) in &blocks.order {
                // Pairs of an earlier step are already in order.
                if *emits_pairs || output.rows != pairs::buffer::PAIRS {
                    output.record(recorder, shape, blocks);
                }
            }
        });
        self.recorded = Some(recorded);
    }

    fn own_buffers(&self) -> Vec<&Buffers> {
        let of_statics = self.statics.iter().map(|table| &table.buffers);
        [&self.buffers].into_iter().chain(of_statics).collect()
    }

    fn placer<'p>(&'p self, device: &'p wgpu::Device, encoder: &'p mut wgpu::CommandEncoder) -> Placer<'p> {
        Placer {
            device,
            encoder,
            uploads: &self.uploads,
            buffers: &self.buffers,
            label: &self.label,
            placed: Vec::new(),
        }
    }

    /// Creates the plan's buffers. Under a memory limit, first frees existing buffers of other sizes, except `kept`.
    fn fit(&mut self, plan: &Plan, caller_owned: &[BufferId], kept: &[BufferId]) {
        let context = Arc::clone(&self.context);
        let device = context.device();
        if self.descriptor.outputs.max_bytes.is_some() {
            self.bindings
                .forget(&self.buffers.release(plan.sizes(), caller_owned, kept));
        }
        self.bindings
            .forget(&self.buffers.fit(device, plan.sizes(), caller_owned));
    }

    /// Reuses or rebuilds the static table. `held`: the objects buffer before this step.
    fn fit_statics(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        statics: &Statics<'_>,
        plan: Option<Plan>,
        held: Option<wgpu::Buffer>,
    ) -> Option<StaticState> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        let before = self.statics.take();
        let is_kept =
            |table: &&StaticTable| plan.is_some_and(|plan| table.is_of(statics.generation, &plan.shape.params));
        if let Some(gone) = before.as_ref().filter(|table| !is_kept(table)) {
            self.bindings.forget(&gone.buffers.all());
        }
        let Some(plan) = plan else {
            return None;
        };
        let objects = self.buffers.get(table::buffer::OBJECTS).clone();
        let (table, timed) = match before {
            Some(mut table) if table.is_of(statics.generation, &plan.shape.params) => {
                self.recording.reads([&table.written]);
                // Copies the static boxes to the new objects buffer.
                if let Some(held) = held.filter(|held| *held != objects) {
                    let bytes = size_of::<Aabb>() as u64 * u64::from(plan.shape.params.object_count);
                    let to = table::buffer::OBJECTS.name;
                    work_log::log(|| Work::Copy { to, bytes });
                    encoder.copy_buffer_to_buffer(&held, 0, &objects, 0, bytes);
                    table.written = self.recording.clone();
                }
                (table, Timed::Anew)
            }
            before => {
                let label = format!("{}/static", self.label);
                // No reuse under a memory limit, which oversized buffers would count against.
                let before = before.filter(|_| self.descriptor.outputs.max_bytes.is_none());
                let mut buffers = before.map_or_else(|| Buffers::new(&label), |table| table.buffers);
                buffers.drop_oversized(plan.sizes());
                drop(buffers.fit(device, plan.sizes(), &NOT_OWNED_BY_STATICS));
                // Temporary bindings, since most of these buffers are dropped right after building.
                let mut bindings = Bindings::default();
                let inputs = statics::sources(device, &label, statics, &plan.table, &plan.shape.params, &objects);
                let (blocks, uniforms) = write(device, &mut bindings, &label, &plan);
                let mut timing = self.timing.as_mut();
                if let Some(timing) = timing.as_deref_mut() {
                    timing.begin_step();
                }
                let mut recorder = Recorder {
                    device,
                    encoder,
                    pipelines: &self.pipelines,
                    bindings: &mut bindings,
                    buffers: &buffers,
                    uniforms: &uniforms,
                    params: blocks.params,
                    inputs: &inputs,
                    timing,
                    submits: None,
                    label: &self.label,
                    is_of_statics: true,
                };
                recorder.clear(COUNTERS);
                let sorted = plan.table.record(&mut recorder, &plan.shape, &blocks.table);
                let mut table = StaticTable {
                    generation: statics.generation,
                    written: self.recording.clone(),
                    params: plan.shape.params,
                    sorted,
                    buffers,
                };
                table.drop_scratch();
                (table, Timed::On)
            }
        };
        let counters = table.buffers.get(COUNTERS).clone();
        self.statics = Some(table);
        Some(StaticState { timed, counters })
    }

    /// Also returns the uniform blocks of the moving and static tables.
    #[allow(
        clippy::too_many_arguments,
        reason = "the one place that brings a step's parts together"
    )]
    fn record<T>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        plan: &Plan,
        inputs: &[Input],
        timed: Timed,
        body: impl FnOnce(&mut Recorder<'_>, &StepUniforms) -> T,
    ) -> (T, [Range; 2]) {
        let context = Arc::clone(&self.context);
        let device = context.device();
        let (blocks, uniforms) = write(device, &mut self.bindings, &self.label, plan);
        let mut timing = self.timing.as_mut().filter(|_| timed != Timed::Not);
        if let Some(timing) = timing.as_deref_mut().filter(|_| timed == Timed::Anew) {
            timing.begin_step();
        }
        let mut recorder = Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            bindings: &mut self.bindings,
            buffers: &self.buffers,
            uniforms: &uniforms,
            params: blocks.params,
            inputs,
            timing,
            submits: self
                .splits_submissions
                .then(|| SubmittedParts::new(context.queue(), self.descriptor.outputs.timeout)),
            label: &self.label,
            is_of_statics: false,
        };
        let result = body(&mut recorder, &blocks);
        if let Some(timing) = self.timing.as_ref().filter(|_| timed != Timed::Not) {
            timing.resolve(encoder);
        }
        (
            result,
            [blocks.params, blocks.static_params].map(|block| uniforms.range(block)),
        )
    }
}

fn check_dropped(recording: &Recording) -> Result<(), StepError> {
    match recording.is_dropped() {
        true => Err(StepError::Dropped),
        false => Ok(()),
    }
}

fn write(device: &wgpu::Device, bindings: &mut Bindings, label: &str, plan: &Plan) -> (StepUniforms, Uniforms) {
    let mut blocks = Blocks::new(device);
    let step_blocks = plan.write(&mut blocks);
    (step_blocks, blocks.finish(device, bindings, label))
}

fn record_query_counts(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepUniforms, sorted: KeyValueBuffers) {
    stages::input::record(recorder, [blocks.rays.copied, blocks.queries.copied]);
    plan.rays.record_counts(recorder, &plan.shape, &blocks.rays, sorted);
    plan.queries
        .record_counts(recorder, &plan.shape, &blocks.queries, sorted);
}
