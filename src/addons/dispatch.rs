use crate::addons::component::Component;
use crate::addons::component::variable::STEP_COUNTERS;
use crate::api::counters::{Output, Status};
use crate::api::error::{InputError, StepError};
use crate::api::memory::MemoryUse;
use crate::gpu::buffers::buffers;
use crate::gpu::passes::{Passes, variables};
use crate::gpu::preparation::Preparation;
use crate::gpu::recorder::Input;
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::DispatchParams;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

/// Writes the arguments of an indirect dispatch with one invocation per output row, such as a narrow phase over pairs
/// ([example](crate::guide#record-a-frame)).
///
/// In the shader, the row index is `(group.y * 65535 + group.x) * workgroup_rows + local_invocation_index`, and
/// `args[3]` is the number of rows.
pub struct DispatchArgs {
    own: Component,
    complete_only: bool,
}

passes! {
    "dispatch" {
    DISPATCH_ARGS = "dispatch_args";
    }
}

buffers! {
    ARGS = "args": Fixed as INDIRECT;
}

variables! {
    DISPATCH = "dispatch";
}

use variable::*;

impl DispatchArgs {
    /// Creates the component for one device. `label` prefixes all labels; the default is `gpu_broad_phase/dispatch`.
    pub fn new(label: Option<&str>) -> Self {
        let label = label.unwrap_or("gpu_broad_phase/dispatch");
        Self {
            own: Component::new(label, PASSES.iter().copied(), &[]),
            complete_only: false,
        }
    }

    /// Sets all four arguments to 0 if the output is incomplete, so that a solver runs on all contacts or none.
    ///
    /// With [`Growth::Grow`](crate::Growth::Grow), a later step has enough capacity. Call [`record`](Self::record)
    /// before a [`query`](GpuBroadPhase::query) of the same broad phase: a query overwrites the step's status. A
    /// [page](GpuBroadPhase::page) of an output that did not fit is also incomplete.
    #[must_use]
    pub const fn complete_only(mut self) -> Self {
        self.complete_only = true;
        self
    }

    /// Prepares the pipeline: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records a pass that writes four `u32`: workgroups in x, y and z (1 to 65,535 each, even without rows), then the
    /// number of rows. The buffer has the usages `INDIRECT`, `STORAGE` and `COPY_SRC`; the next call overwrites it.
    ///
    /// # Errors
    /// - [`StepError::NoOutput`]: the step has no such output.
    /// - [`InputError::Zero`]: `workgroup_rows` is 0.
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    /// - [`StepError::Device`]: the device refused a buffer; drop the encoder. In browsers, the next call returns this.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        output: Output,
        workgroup_rows: u32,
    ) -> Result<wgpu::Buffer, StepError> {
        let counted = output.counted();
        let missing = if self.complete_only {
            counted.status.union(Status::WALKS)
        } else {
            Status::default()
        };
        let (first, capacity) = step.shown(output)?;
        if workgroup_rows == 0 {
            let what = "rows of a workgroup";
            return Err(InputError::Zero { what }.into());
        }
        let context = self.own.begin(step, &step.recording)?;
        let device = context.device();
        let scopes = Scopes::begin(device);
        self.own.bindings.begin();
        drop(self.own.buffers.fit(device, [(buffer::ARGS, 16)], &[]));
        let mut blocks = Blocks::new(device);
        let params = blocks.push(&DispatchParams {
            needed_word: counted.word as u32,
            first,
            capacity,
            workgroup_rows,
            missing_bits: missing.bits(),
        });
        let uniforms = self.own.write(device, encoder, blocks);
        let inputs = [Input::whole(STEP_COUNTERS, &step.counters)];
        let mut passes = Passes::default();
        passes.stage("args", |stage| {
            stage.run_groups(&DISPATCH_ARGS, 1, &[DISPATCH.is_block(params)]);
        });
        self.own.record(device, encoder, &passes, &uniforms, &inputs);
        self.own.check_errors(scopes, &context)?;
        Ok(self.own.buffers.get(buffer::ARGS).clone())
    }

    /// Bytes of device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }
}
