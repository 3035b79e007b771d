//! Common base of the optional components.

use std::sync::{Arc, OnceLock};

use crate::api::error::{InputError, ReadBackError, StepError};
use crate::gpu::bindings::Bindings;
use crate::gpu::buffers::{Buffers, Sizes};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::passes::{Passes, variables};
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::reading::error_or_lost;
use crate::gpu::recorder::{Input, Recorder};
use crate::gpu::scope::{DeviceErrors, Scopes};
use crate::gpu::shader::Pass;
use crate::gpu::staging::Staging;
use crate::gpu::upload::{Blocks, Uniforms};
use crate::shared::bounds::binding_limit;
use crate::shared::recording::Recording;
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
    /// Uniform blocks of the last call.
    blocks: Buffers,
    pub uploads: Staging,
    context: OnceLock<Arc<DeviceContext>>,
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
            blocks: Buffers::new(label),
            uploads: Staging::uploads(),
            context: OnceLock::new(),
            errors: DeviceErrors::default(),
        }
    }

    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        let context = self.context.get_or_init(|| Arc::clone(broad_phase.context()));
        let variants = self.passes.iter().flat_map(|pass| pass.variants());
        Preparation::new(context, &self.pipelines, variants.collect())
    }

    /// Begins a call that reads the results of `read`. Returns the context of the first call.
    pub fn begin(&self, step: &StepOutput, read: &Recording) -> Result<Arc<DeviceContext>, StepError> {
        if read.is_dropped() {
            return Err(StepError::Dropped);
        }
        Ok(Arc::clone(self.context.get_or_init(|| Arc::clone(&step.table.context))))
    }

    pub fn write(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, blocks: Blocks) -> Uniforms {
        self.uploads.begin();
        self.bindings.forget(&self.blocks.begin_step());
        blocks.finish(device, encoder, &self.uploads, &mut self.blocks, &mut self.bindings)
    }

    pub fn record(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        passes: &Passes,
        uniforms: &Uniforms,
        inputs: &[Input],
    ) {
        let mut recorder = Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            bindings: &mut self.bindings,
            buffers: &[&self.buffers],
            uniforms,
            inputs,
            timing: None,
            submits: None,
            label: &self.label,
        };
        recorder.record(passes);
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
        self.blocks.clear();
        self.bindings.clear();
        self.uploads.clear();
    }
}
