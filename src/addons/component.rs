//! Common base of the optional components.

use std::sync::{Arc, OnceLock};

use crate::api::error::{InputError, ReadBackError, StepError};
use crate::gpu::bindings::Bindings;
use crate::gpu::buffers::{Buffers, Sizes};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::reading::error_or_lost;
use crate::gpu::recorder::{Input, Recorder, variables};
use crate::gpu::scope::{DeviceErrors, Scopes};
use crate::gpu::shader::Pass;
use crate::gpu::upload::{Block, Uniforms};
use crate::shared::bounds::binding_limit;
use crate::shared::submission::{Dependency, Pending, Recordings};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

variables! {
    STEP_COUNTERS = "step_counters";
}

pub(crate) struct Component {
    pub label: String,
    pipelines: Arc<Pipelines>,
    passes: Vec<&'static Pass>,
    pub bindings: Bindings,
    pub buffers: Buffers,
    context: OnceLock<Arc<DeviceContext>>,
    recordings: Option<Recordings>,
    pending: Pending,
    errors: DeviceErrors,
}

pub(crate) fn check_sizes(what: &'static str, sizes: &Sizes, device: &wgpu::Device) -> Result<(), InputError> {
    let limit = binding_limit(&device.limits());
    match sizes.iter().find(|&&(_, bytes)| bytes > limit) {
        Some(&(_, needed)) => Err(InputError::BufferTooLarge { what, needed, limit }),
        None => Ok(()),
    }
}

impl Component {
    pub fn new(
        label: &str,
        passes: impl IntoIterator<Item = &'static Pass>,
        constants: &[(&'static str, f64)],
    ) -> Self {
        let passes: Vec<_> = passes.into_iter().collect();
        Self {
            label: label.to_owned(),
            pipelines: Arc::new(Pipelines::new(label, passes.iter().copied(), constants, None, None)),
            passes,
            bindings: Bindings::default(),
            buffers: Buffers::new(label),
            context: OnceLock::new(),
            recordings: None,
            pending: Pending::default(),
            errors: DeviceErrors::default(),
        }
    }

    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        let context = self.context.get_or_init(|| Arc::clone(broad_phase.context()));
        let variants = self.passes.iter().flat_map(|pass| pass.variants());
        let preparation = Preparation::new(broad_phase.context(), &self.pipelines, variants.collect());
        preparation.refused(context.check(broad_phase.context()).is_err())
    }

    /// Begins a call that reads the recordings in `needs`. Fails if the device is not that of the first call, or if a
    /// recording is lost.
    pub fn begin(&mut self, step: &StepOutput, needs: &[Dependency]) -> Result<Arc<DeviceContext>, StepError> {
        let context = Arc::clone(self.context.get_or_init(|| Arc::clone(&step.table.context)));
        context.check(&step.table.context)?;
        // Reports an earlier call's wrong submission, since submissions return no errors.
        if self.pending.take_error() || needs.iter().any(Dependency::is_lost) {
            return Err(StepError::Dropped);
        }
        Ok(context)
    }

    pub fn recorder<'r>(
        &'r mut self,
        device: &'r wgpu::Device,
        encoder: &'r mut wgpu::CommandEncoder,
        uniforms: &'r Uniforms,
        params: Block,
        inputs: &'r [Input],
    ) -> Recorder<'r> {
        Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            bindings: &mut self.bindings,
            buffers: &self.buffers,
            uniforms,
            params,
            inputs,
            timing: None,
            submits: None,
            label: &self.label,
            is_of_statics: false,
        }
    }

    pub fn end(
        &mut self,
        encoder: &wgpu::CommandEncoder,
        scopes: Scopes,
        context: &DeviceContext,
        needs: Vec<Dependency>,
    ) -> Result<Dependency, StepError> {
        self.check_errors(scopes, context)?;
        let recordings = self.recordings.get_or_insert_with(|| Recordings::new(context.device()));
        let written = recordings.make(encoder, needs);
        self.pending.add(written.clone());
        Ok(written)
    }

    /// Returns the recording of a copy of the output `written`. `None` before the first call.
    pub fn record_copy(&self, encoder: &wgpu::CommandEncoder, written: &Dependency) -> Option<Dependency> {
        Some(self.recordings.as_ref()?.beside().make(encoder, [written.clone()]))
    }

    pub fn check_errors(&mut self, scopes: Scopes, context: &DeviceContext) -> Result<(), StepError> {
        self.errors = scopes.end().after(std::mem::take(&mut self.errors));
        match self.errors.now() {
            None => Ok(()),
            Some(error) => {
                self.clear();
                Err(context.refusal(error))
            }
        }
    }

    /// Forgets past calls, so that their errors are never reported.
    pub fn forget(&mut self) {
        self.pending.clear();
    }

    pub fn context(&self) -> Option<&Arc<DeviceContext>> {
        self.context.get()
    }

    pub async fn await_errors(&mut self) -> Result<Arc<DeviceContext>, ReadBackError> {
        let context = self.context.get().cloned().ok_or(ReadBackError::NoStep)?;
        match std::mem::take(&mut self.errors).wait().await {
            None => Ok(context),
            Some(error) => Err(error_or_lost(context.device(), ReadBackError::Device(error))),
        }
    }

    /// Drops all buffers. After an error, any of them may be invalid.
    pub fn clear(&mut self) {
        self.buffers.clear();
        self.bindings.clear();
    }
}
