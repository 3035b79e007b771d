//! Indirect dispatches over what a step wrote: as many workgroups as there are rows, without asking the host.

use crate::addons::component::Component;
use crate::addons::component::variable::STEP_COUNTERS;
use crate::api::counters::{self, Status};
use crate::api::error::{InputError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::output::Lists;
use crate::api::types::OutputRows;
use crate::gpu::buffers::buffers;
use crate::gpu::preparation::Preparation;
use crate::gpu::recorder::{Input, variables};
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::DispatchParams;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

/// Makes the arguments of an indirect dispatch with an invocation for each row of an output, such as a narrow phase
/// over the pairs of the step recorded before it:
///
/// ```no_run
/// # use gpu_broad_phase::{DispatchArgs, GpuBroadPhase, OutputRows, Scene, wgpu};
/// # fn frame(
/// #     encoder: &mut wgpu::CommandEncoder, broad_phase: &mut GpuBroadPhase,
/// #     input: Scene<'_>, narrow_phase: &wgpu::ComputePipeline, args: &mut DispatchArgs,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let output = broad_phase.step(encoder, input)?;
/// let args = args.record(encoder, &output, OutputRows::Pairs, 64)?;
/// let mut pass = encoder.begin_compute_pass(&Default::default());
/// pass.set_pipeline(narrow_phase);
/// // pass.set_bind_group(..);
/// pass.dispatch_workgroups_indirect(&args, 0);
/// # Ok(())
/// # }
/// ```
///
/// In the shader the place of a row is `(group.y * 65535 + group.x) * workgroup_rows + local_invocation_index`, and
/// there are `args[3]` of them. One `DispatchArgs` holds the arguments of its last call.
pub struct DispatchArgs {
    own: Component,
    whole_only: bool,
}

passes! {
    "dispatch" {
    /// Indirect dispatches over an output's rows.
    DISPATCH_ARGS = "dispatch_args";
    }
}

buffers! {
    /// Workgroups in three dimensions, and rows.
    ARGS = "args": Fixed as INDIRECT;
}

variables! {
    /// The uniform block of the pass.
    DISPATCH = "dispatch";
}

use variable::*;

impl DispatchArgs {
    /// Arguments of dispatches on one device. `label` is put before the labels of the buffer, the bind group and the
    /// pass, `gpu_broad_phase/dispatch` where there is none.
    pub fn new(label: Option<&str>) -> Self {
        let label = label.unwrap_or("gpu_broad_phase/dispatch");
        Self {
            own: Component::new(label, PASSES.iter().copied(), &[]),
            whole_only: false,
        }
    }

    /// Makes all arguments 0, the number of rows included, if the step's output is not whole: a solver then runs on all
    /// contacts or on none. The status has the reason, and with [`Growth::Grow`](crate::Growth::Grow) a later step has
    /// room. Record it before a [`query`](GpuBroadPhase::query) of the same broad phase, which replaces the status of
    /// the walks. A [page](GpuBroadPhase::page) of an answer that did not fit is not whole either.
    #[must_use]
    pub const fn whole_only(mut self) -> Self {
        self.whole_only = true;
        self
    }

    /// What makes its pipeline ahead of the first call, for the steps of this broad phase: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records what fills a buffer with four `u32`: workgroups in three dimensions, at most 65,535 each and at least
    /// one in all, and the rows that the output shows. The buffer has the usages `INDIRECT`, `STORAGE` and `COPY_SRC`;
    /// the next call fills it anew.
    ///
    /// # Errors
    /// [`StepError::NoOutput`] where the step has no such output, [`InputError::Zero`] for workgroups of no rows,
    /// [`StepError::OtherDevice`] on another device than in the first call, [`StepError::Dropped`] where the rows will
    /// never be there, or once where the last call was submitted out of order. [`StepError::Device`] where the device
    /// refuses a buffer: the encoder then has to be dropped. Browsers tell this later: the next call returns it.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        rows: OutputRows,
        workgroup_rows: u32,
    ) -> Result<wgpu::Buffer, StepError> {
        let lists = |lists: &Option<Lists>| lists.as_ref().map(|lists| (lists.first, lists.capacity));
        let (output, shown) = match rows {
            OutputRows::Pairs => (
                counters::PAIRS,
                step.pairs.as_ref().map(|pairs| (pairs.first, pairs.capacity)),
            ),
            OutputRows::Hits => (counters::HITS, lists(&step.rays.hits)),
            OutputRows::RayCells => (counters::RAY_CELLS, lists(&step.rays.cells)),
            OutputRows::QueryObjects => (counters::RESULTS, lists(&step.queries.objects)),
        };
        let missing = if self.whole_only {
            output.status.union(Status::WALKS)
        } else {
            Status::default()
        };
        let (first, capacity) = shown.ok_or(StepError::NoOutput { rows })?;
        if workgroup_rows == 0 {
            let what = "rows of a workgroup";
            return Err(InputError::Zero { what }.into());
        }
        let needs: Vec<_> = match rows {
            OutputRows::Pairs => step.pairs_written.iter().cloned().collect(),
            _ => vec![step.answers_written.clone()],
        };
        let context = self.own.begin(step, &needs)?;
        let device = context.device();
        let scopes = Scopes::begin(device);
        self.own.bindings.begin();
        drop(self.own.buffers.fit(device, [(buffer::ARGS, 16)], &[]));
        let mut blocks = Blocks::new(device);
        let params = blocks.push(&DispatchParams {
            needed_word: output.word as u32,
            first,
            capacity,
            workgroup_rows,
            missing_bits: missing.bits(),
        });
        let uniforms = blocks.finish(device, &mut self.own.bindings, &self.own.label);
        let inputs = [Input::whole(STEP_COUNTERS, &step.counters)];
        let mut recorder = self.own.recorder(device, encoder, &uniforms, params, &inputs);
        recorder.stage("args", |stage| {
            stage.run_groups(&DISPATCH_ARGS, 1, &[DISPATCH.is_block(params)]);
        });
        self.own.end(encoder, scopes, &context, needs)?;
        Ok(self.own.buffers.get(buffer::ARGS).clone())
    }

    /// Bytes of the buffers on the device, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }
}
