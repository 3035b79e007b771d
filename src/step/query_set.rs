//! Sets of rays and queries that have outputs of their own.

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
use crate::shared::submission::Dependency;
use crate::stages::table::buffer;

/// Rays and queries over the table of a broad phase, with outputs and a ray mode of their own: picking and sensors, for
/// instance, do not overwrite each other's results. There may be any number of sets.
///
/// Pipelines are those of the broad phase. A set has buffers, counters and capacities of its own. Its counters repeat
/// those of the step's objects and pairs, and its status is that of its own outputs.
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
    /// It never steps.
    own: GpuBroadPhase,
}

impl GpuBroadPhase {
    /// Creates a set of rays and queries with outputs of its own. `name` is appended to the label of the broad phase in
    /// the labels of the set.
    ///
    /// # Errors
    /// [`DescriptorError`] for options out of range.
    pub fn query_set(&self, name: &str, options: &OutputOptions) -> Result<QuerySet, DescriptorError> {
        validate_outputs(options)?;
        let descriptor = &with_outputs(options, &self.descriptor);
        let label = format!("{}/{name}", self.label);
        let timing = Timing::new(self.context.device(), &label, descriptor.outputs.timestamps);
        let own = Self::over(
            Arc::clone(&self.context),
            Arc::clone(&self.pipelines),
            self.recordings.beside(),
            timing,
            DeviceErrors::default(),
            &label,
            descriptor,
        );
        Ok(QuerySet { own })
    }

    /// Takes over what is said of the table of another.
    fn sync_with(&mut self, descriptor: &BroadPhaseDescriptor<'static>, pipelines: &Arc<Pipelines>) {
        self.descriptor = with_outputs(&self.descriptor.outputs, descriptor);
        if !Arc::ptr_eq(&self.pipelines, pipelines) {
            self.pipelines = Arc::clone(pipelines);
            self.bindings.clear();
        }
    }

    /// Returns what query sets need of the last step.
    pub(super) fn query_source(&self) -> Result<Arc<QuerySource>, StepError> {
        // A set hands on what it asked.
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

/// Returns the descriptor of a broad phase with the outputs of a set.
const fn with_outputs<'d>(options: &OutputOptions, broad_phase: &BroadPhaseDescriptor<'d>) -> BroadPhaseDescriptor<'d> {
    BroadPhaseDescriptor {
        outputs: *options,
        ..*broad_phase
    }
}

impl QuerySet {
    /// Replaces the options. Buffers keep the room that they grew to, and answers under way arrive. There is no last
    /// answer until the next [`record`](Self::record). Another ray mode has other pipelines: [prepare](Self::prepare)
    /// them again.
    ///
    /// # Errors
    /// [`DescriptorError`] for options out of range: nothing is changed then.
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

    /// Returns the options in use.
    pub const fn options(&self) -> &OutputOptions {
        &self.own.descriptor.outputs
    }

    /// Records rays and queries against the table of a step of the broad phase that made the set. Buffers of the caller
    /// that the step read have to hold what they held then. The output is that of the set, without pairs, and with the
    /// table that was asked.
    ///
    /// # Errors
    /// [`StepError::Dropped`] if the step's encoder was dropped or a later step was submitted, or once if the set's
    /// last call was submitted behind a later step and no read has told it, [`StepError::OtherDevice`] for a step on
    /// another device, [`StepError::OtherBroadPhase`] for a step of another broad phase on the same device; otherwise
    /// as [`GpuBroadPhase::step`].
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        input: QueryInput<'_>,
    ) -> Result<StepOutput, StepError> {
        self.own.context.check_broad_phase(&step.table.context)?;
        let source = &step.query_source;
        if source.table.dependencies.iter().any(Dependency::is_lost) {
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
        self.own.bring_counters(encoder)?;
        self.own.output()
    }

    /// Records a further look at the set's last answer, as [`GpuBroadPhase::page`] does.
    ///
    /// # Errors
    /// As [`GpuBroadPhase::page`].
    pub fn page(&mut self, encoder: &mut wgpu::CommandEncoder, first: Page) -> Result<StepOutput, StepError> {
        self.own.page(encoder, first)
    }

    /// Records the copying of the set's last answer to the host, as [`GpuBroadPhase::record_read_back`] does.
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

    /// Returns the counters of the set's newest answer that the host has received, as [`GpuBroadPhase::counters`] does.
    pub fn counters(&mut self) -> Option<Counters> {
        self.own.counters()
    }

    /// Returns the stage times of the answer of [`counters`](Self::counters), as [`GpuBroadPhase::timings`] does.
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.own.timings()
    }

    /// Reads the set's last answer and waits for it, as [`GpuBroadPhase::read_back`] does.
    ///
    /// # Errors
    /// As [`GpuBroadPhase::read_back`].
    pub async fn read_back(&mut self) -> Result<StepResult, ReadBackError> {
        self.own.read_back().await
    }

    /// What makes the pipelines ahead that the set may need over this broad phase, as [`GpuBroadPhase::prepare`] does:
    /// those of `rays`, `swept_rays`, `queries`, `nearest`, `device_counts` and `strided`. Call it again where another
    /// [descriptor](GpuBroadPhase::set_descriptor) has another scheme or other filters.
    pub fn prepare(&mut self, broad_phase: &GpuBroadPhase, uses: Uses) -> Preparation {
        self.own.sync_with(&broad_phase.descriptor, &broad_phase.pipelines);
        self.own.prepare(uses)
    }

    /// Bytes of the buffers on the device that the set owns, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        self.own.memory()
    }

    /// Gives all memory back, as [`GpuBroadPhase::trim`] does.
    pub fn trim(&mut self) {
        self.own.trim();
    }
}
