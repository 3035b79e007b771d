use std::sync::Arc;

use super::broad_phase::GpuBroadPhase;
use super::output::StepOutput;
use super::recorded::{LastTable, QuerySource};
use crate::api::counters::Counters;
use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions, Uses, validate_outputs};
use crate::api::error::{DescriptorError, ReadBackError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::result::{Outputs, StageTime, StepResult};
use crate::api::scene::QueryInput;
use crate::api::types::Page;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::recorder::Input;
use crate::gpu::scope::DeviceErrors;
use crate::gpu::timing::Timing;
use crate::stages::table::buffer;

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
    own: GpuBroadPhase,
}

impl GpuBroadPhase {
    /// Creates a set with its own outputs. `name` is appended to the broad phase's label.
    ///
    /// # Errors
    /// [`DescriptorError`]: an option is out of range.
    pub fn query_set(&self, name: &str, options: &OutputOptions) -> Result<QuerySet, DescriptorError> {
        validate_outputs(options)?;
        let descriptor = &with_outputs(options, &self.descriptor);
        let label = format!("{}/{name}", self.label);
        let timing = Timing::new(self.context.device(), &label, descriptor.outputs.timestamps);
        let own = Self::over(
            Arc::clone(&self.context),
            Arc::clone(&self.pipelines),
            timing,
            DeviceErrors::default(),
            &label,
            descriptor,
        );
        Ok(QuerySet { own })
    }

    fn sync_with(&mut self, descriptor: &BroadPhaseDescriptor<'static>, pipelines: &Arc<Pipelines>) {
        self.descriptor = with_outputs(&self.descriptor.outputs, descriptor);
        if !Arc::ptr_eq(&self.pipelines, pipelines) {
            self.pipelines = Arc::clone(pipelines);
            self.bindings.clear();
        }
    }

    pub(super) fn query_source(&self) -> Result<Arc<QuerySource>, StepError> {
        if let Some(source) = &self.query_source {
            return Ok(Arc::clone(source));
        }
        let mut table = self.last_table()?;
        let LastTable { inputs, sorted, .. } = &mut table;
        let known = |inputs: &[Input], id| inputs.iter().any(|input: &Input| input.variable == id);
        for id in [
            buffer::GRID,
            buffer::RECORDS,
            buffer::STARTS,
            buffer::OBJECTS,
            sorted.values,
        ] {
            if !known(inputs, id.into())
                && let Some(own) = self.buffers.existing(id)
            {
                inputs.push(Input::whole(id, own));
            }
        }
        Ok(Arc::new(QuerySource {
            table,
            descriptor: self.descriptor,
            pipelines: Arc::clone(&self.pipelines),
        }))
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
        let own = &mut self.own;
        if options.timestamps != own.descriptor.outputs.timestamps {
            own.timing = Timing::new(own.context.device(), &own.label, options.timestamps);
        }
        own.recorded = None;
        own.query_source = None;
        own.descriptor.outputs = *options;
        Ok(())
    }

    /// The options in use.
    pub const fn options(&self) -> &OutputOptions {
        &self.own.descriptor.outputs
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
        let source = &step.query_source;
        if source.table.recording.is_dropped() {
            return Err(StepError::Dropped);
        }
        self.own.sync_with(&source.descriptor, &source.pipelines);
        let table = LastTable {
            plan: source.table.plan.borrowed(&self.own.descriptor),
            ..source.table.clone()
        };
        self.own.query_source = Some(Arc::clone(source));
        self.own.guarded(encoder, |own, encoder| {
            own.record_queries(encoder, table, &input)?;
            own.record_outputs(encoder, true);
            Ok(())
        })?;
        self.own.record_counter_read_back(encoder)?;
        self.own.output()
    }

    /// Records another page of the last result: see [`GpuBroadPhase::page`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::page`].
    pub fn page(&mut self, encoder: &mut wgpu::CommandEncoder, first: Page) -> Result<StepOutput, StepError> {
        self.own.page(encoder, first)
    }

    /// Records a copy of the last result to the host: see [`GpuBroadPhase::record_read_back`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::record_read_back`].
    pub fn record_read_back(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: Outputs,
    ) -> Result<Readback<StepResult>, StepError> {
        self.own.record_read_back(encoder, outputs)
    }

    /// Returns the newest counters on the host: see [`GpuBroadPhase::counters`].
    pub fn counters(&mut self) -> Option<Counters> {
        self.own.counters()
    }

    /// Returns stage times: see [`GpuBroadPhase::timings`].
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.own.timings()
    }

    /// Reads the last result and waits for it: see [`GpuBroadPhase::read_back`].
    ///
    /// # Errors
    /// As [`GpuBroadPhase::read_back`].
    pub async fn read_back(&mut self) -> Result<StepResult, ReadBackError> {
        self.own.read_back().await
    }

    /// Prepares the pipelines for `rays`, `swept_rays`, `queries`, `nearest`, `device_counts` and `strided`: see
    /// [`GpuBroadPhase::prepare`]. Call it again after a [descriptor](GpuBroadPhase::set_descriptor) with another
    /// scheme or other filters.
    pub fn prepare(&mut self, broad_phase: &GpuBroadPhase, uses: Uses) -> Preparation {
        self.own.sync_with(&broad_phase.descriptor, &broad_phase.pipelines);
        self.own.prepare(uses)
    }

    /// Bytes of the set's device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.own.memory()
    }

    /// Frees all memory: see [`GpuBroadPhase::trim`].
    pub fn trim(&mut self) {
        self.own.trim();
    }
}
