use std::sync::Arc;

use super::answers::QueryEngine;
use super::broad_phase::GpuBroadPhase;
use super::growth::Growth;
use super::output::StepOutput;
use super::results::{Recorded, Results};
use super::samples::preparation;
use crate::api::counters::{Counters, Output, Status};
use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions, Uses, validate_outputs};
use crate::api::error::{DescriptorError, InputError, ReadBackError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::output::Page;
use crate::api::result::{StageTime, StepResult};
use crate::api::scene::QueryInput;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::scope::DeviceErrors;
use crate::gpu::session::Session;
use crate::gpu::timing::Timing;

/// Rays and queries with their own ray mode and output buffers.
///
/// Use one set per subsystem, such as picking and sensors, so that none overwrites another's results. Pipelines are
/// shared; buffers, counters and capacities are the set's own. A set's counters include the step's counts of objects
/// and pairs. Its status covers only its own outputs.
///
/// ```no_run
/// # use gpu_broad_phase::{
/// #     GpuBroadPhase, OutputOptions, QueryInput, QuerySet, RayMode, StepError, Scene, wgpu,
/// # };
/// # fn load(broad_phase: &GpuBroadPhase) -> Result<[QuerySet; 2], gpu_broad_phase::DescriptorError> {
/// let options = broad_phase.descriptor().outputs;
/// let picking = broad_phase.query_set("picking", &options)?;
/// let shadows = broad_phase.query_set("shadows", &OutputOptions { ray_mode: RayMode::Any, ..options })?;
/// # Ok([picking, shadows])
/// # }
/// # fn frame(
/// #     encoder: &mut wgpu::CommandEncoder, broad_phase: &mut GpuBroadPhase, input: Scene<'_>,
/// #     [picking, shadows]: &mut [QuerySet; 2], mouse: QueryInput<'_>, lights: QueryInput<'_>,
/// # ) -> Result<(), StepError> {
/// let step = broad_phase.step(encoder, input)?;
/// let picked = picking.record(encoder, &step, mouse)?;
/// let lit = shadows.record(encoder, &step, lights)?;
/// # Ok(())
/// # }
/// ```
pub struct QuerySet {
    session: Session,
    /// That of the broad phase, with the set's own outputs.
    descriptor: BroadPhaseDescriptor<'static>,
    queries: QueryEngine,
    growth: Growth,
    results: Results,
}

impl GpuBroadPhase {
    /// Creates a set with its own outputs. `name` is appended to the broad phase's label.
    ///
    /// # Errors
    /// [`DescriptorError`]: an option is out of range.
    pub fn query_set(&self, name: &str, options: &OutputOptions) -> Result<QuerySet, DescriptorError> {
        validate_outputs(options)?;
        let Session {
            context,
            pipelines,
            label,
            ..
        } = &self.session;
        let label = format!("{label}/{name}");
        let timing = Timing::new(context.device(), &label, options.timestamps);
        let (context, pipelines) = (Arc::clone(context), Arc::clone(pipelines));
        Ok(QuerySet {
            session: Session::new(context, pipelines, timing, DeviceErrors::default(), &label),
            descriptor: with_outputs(options, &self.descriptor),
            queries: QueryEngine::new(&label),
            growth: Growth::default(),
            results: Results::default(),
        })
    }
}

const fn with_outputs<'d>(options: &OutputOptions, broad_phase: &BroadPhaseDescriptor<'d>) -> BroadPhaseDescriptor<'d> {
    BroadPhaseDescriptor {
        outputs: *options,
        ..*broad_phase
    }
}

impl QuerySet {
    /// Replaces the set's options. Buffers keep their size. The last result is discarded; pending read-backs still
    /// arrive. If the ray mode changes, call [`prepare`](Self::prepare) to avoid compiling in a frame.
    ///
    /// # Errors
    /// [`DescriptorError`]: an option is out of range; nothing changes.
    pub fn set_options(&mut self, options: &OutputOptions) -> Result<(), DescriptorError> {
        validate_outputs(options)?;
        let session = &mut self.session;
        if options.timestamps != self.descriptor.outputs.timestamps {
            session.timing = Timing::new(session.context.device(), &session.label, options.timestamps);
        }
        self.queries.last = None;
        self.descriptor.outputs = *options;
        Ok(())
    }

    /// The options in use.
    pub const fn options(&self) -> &OutputOptions {
        &self.descriptor.outputs
    }

    /// Records rays and queries against the table of `step`, the last step of a broad phase. Your buffers of that step
    /// must be unchanged. Returns the set's outputs, without pairs, and the step's table.
    ///
    /// # Errors
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    /// - Otherwise as [`GpuBroadPhase::step`].
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        input: QueryInput<'_>,
    ) -> Result<StepOutput, StepError> {
        let view = &step.view;
        view.recording.check()?;
        self.sync_with(&view.descriptor, &view.pipelines);
        self.guarded(encoder, |this, encoder| {
            this.queries.check(&this.session.context, &input, &[])?;
            let basis = this.growth.basis(&this.session.context, &this.descriptor);
            this.queries
                .record(&mut this.session, encoder, &basis, view, &input, (true, true))?;
            this.record_read_back(encoder, &[]).map(drop)
        })?;
        self.output()
    }

    /// Records another page of the last result: see [`GpuBroadPhase::page`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::page`].
    pub fn page(&mut self, encoder: &mut wgpu::CommandEncoder, first: Page) -> Result<StepOutput, StepError> {
        if let Some(view) = self.queries.last.as_ref().map(|last| Arc::clone(&last.view)) {
            self.sync_with(&view.descriptor, &view.pipelines);
        }
        self.guarded(encoder, |this, encoder| {
            let basis = this.growth.basis(&this.session.context, &this.descriptor);
            let plan = this.queries.plan_page(&basis, &first, 0)?;
            let uniforms = this.queries.write_page(&mut this.session, encoder, &plan, None);
            this.queries
                .record_page(&mut this.session, encoder, plan, &uniforms?, false)
        })?;
        self.output()
    }

    /// Records a copy of the last result to the host: see [`GpuBroadPhase::record_read_back`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::record_read_back`].
    pub fn record_read_back(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: &[Output],
    ) -> Result<Readback<StepResult>, StepError> {
        let recorded = self.recorded().ok_or(StepError::NoStep)?;
        self.results.record_read_back(&self.session, encoder, recorded, outputs)
    }

    /// Returns the newest counters on the host: see [`GpuBroadPhase::counters`].
    pub fn counters(&mut self) -> Option<Counters> {
        self.poll_counters();
        self.results.counters
    }

    /// Returns stage times: see [`GpuBroadPhase::timings`].
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.poll_counters();
        self.results.timings.clone()
    }

    /// Reads the last result and waits for it: see [`GpuBroadPhase::read_back`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::read_back`].
    pub async fn read_back(&mut self) -> Result<StepResult, ReadBackError> {
        if self.session.context.is_marked_lost() {
            return Err(ReadBackError::DeviceLost);
        }
        let awaited = self.session.await_errors().await;
        awaited.inspect_err(|_| self.forget())?;
        let recorded = self.recorded().ok_or(ReadBackError::NoStep)?;
        let growth = (&self.descriptor, &mut self.growth);
        self.results.read_back(&self.session, growth, &recorded).await
    }

    /// Prepares the pipelines for `rays`, `swept_rays`, `queries`, `nearest`, `device_counts` and `strided`: see
    /// [`GpuBroadPhase::prepare`]. Call it again after a [descriptor](GpuBroadPhase::set_descriptor) with another
    /// scheme or other filters.
    pub fn prepare(&mut self, broad_phase: &GpuBroadPhase, uses: Uses) -> Preparation {
        self.sync_with(&broad_phase.descriptor, &broad_phase.session.pipelines);
        let Session { context, pipelines, .. } = &self.session;
        preparation(context, pipelines, &self.descriptor, Some(uses))
    }

    /// Bytes of the set's device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.queries.buffers.memory()
    }

    /// Frees all memory: see [`GpuBroadPhase::trim`].
    pub fn trim(&mut self) {
        self.forget();
        if self.descriptor.headroom().is_some() {
            self.growth.return_to_last();
        }
    }

    fn sync_with(&mut self, descriptor: &BroadPhaseDescriptor<'static>, pipelines: &Arc<Pipelines>) {
        self.descriptor = with_outputs(&self.descriptor.outputs, descriptor);
        if !Arc::ptr_eq(&self.session.pipelines, pipelines) {
            self.session.pipelines = Arc::clone(pipelines);
            self.session.bindings.clear();
        }
    }

    /// As for a broad phase.
    fn guarded<T>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        record: impl FnOnce(&mut Self, &mut wgpu::CommandEncoder) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        self.poll_counters();
        let begun = self.session.begin(encoder, 0)?;
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

    fn output(&self) -> Result<StepOutput, StepError> {
        let last = self.queries.last.as_ref().ok_or(StepError::NoStep)?;
        self.queries.output(None, last.recording.clone())
    }

    fn poll_counters(&mut self) {
        self.results.poll(&self.session, (&self.descriptor, &mut self.growth));
    }

    /// `None` before the first recording.
    fn recorded(&self) -> Option<Recorded> {
        let last = self.queries.last.as_ref()?;
        // The broad phase itself reports overflow of pairs.
        let reports = Status::from_bits(!Status::PAIRS.bits());
        let facts = last.facts(last.view.held.rows[Output::Pairs], reports, false);
        Some(Recorded::new(
            &self.session,
            &self.queries.buffers,
            self.queries.readable(),
            facts,
        ))
    }

    fn forget(&mut self) {
        self.session.clear();
        self.queries.clear();
        self.results.clear();
        self.growth.forget();
    }
}
