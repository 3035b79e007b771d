//! What is recorded beside the broad phase, over a step's outputs, with buffers of its own.

use std::sync::Arc;

use crate::api::descriptor::Uses;
use crate::api::error::{InputError, ReadBackError, StepError};
use crate::gpu::bindings::Bindings;
use crate::gpu::buffers::{Buffers, Sizes};
use crate::gpu::home::Home;
use crate::gpu::pipelines::{Form, Pipelines};
use crate::gpu::preparation::Preparation;
use crate::gpu::reading::or_lost;
use crate::gpu::recorder::{Input, Recorder, variables};
use crate::gpu::scope::{Caught, Scopes};
use crate::gpu::shader::Pass;
use crate::gpu::upload::{Block, Uniforms};
use crate::shared::bounds::binding_limit;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

variables! {
    /// The counters of the step whose outputs are read.
    STEP_COUNTERS = "step_counters";
}

/// The pipelines, buffers and bind groups of such a recording, and what the device has still to say of it.
pub(crate) struct Component {
    pub label: String,
    pipelines: Arc<Pipelines>,
    passes: Vec<&'static Pass>,
    pub bindings: Bindings,
    pub buffers: Buffers,
    /// Where the pipelines are, once there are any.
    pub home: Option<Arc<Home>>,
    caught: Caught,
}

/// Refuses what a device cannot bind.
pub(crate) fn check_sizes(what: &'static str, sizes: &Sizes, device: &wgpu::Device) -> Result<(), InputError> {
    let limit = binding_limit(&device.limits());
    match sizes.iter().find(|&&(_, bytes)| bytes > limit) {
        Some(&(_, needed)) => Err(InputError::BufferTooLarge { what, needed, limit }),
        None => Ok(()),
    }
}

impl Component {
    /// `constants` are those of its passes.
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
            home: None,
            caught: Caught::default(),
        }
    }

    /// All of its pipelines, which are still to be made for the steps of a broad phase.
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        let forms = self.passes.iter().flat_map(|&pass| Form::of(pass, Uses::ALL));
        Preparation::new(broad_phase.home(), &self.pipelines, forms.collect())
    }

    /// The device of a step, where it is that of the first step over whose outputs something was recorded.
    pub fn home(&mut self, step: &StepOutput) -> Result<Arc<Home>, StepError> {
        let home = self.home.get_or_insert_with(|| Arc::clone(&step.table.home));
        home.check(&step.table.home)?;
        Ok(Arc::clone(home))
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
            sweeps: false,
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

    /// Ends a recording. Where the device is known to have refused it, the buffers are given up.
    pub fn end(&mut self, scopes: Scopes) -> Result<(), StepError> {
        self.caught = scopes.end().after(std::mem::take(&mut self.caught));
        match self.caught.now() {
            None => Ok(()),
            Some(error) => {
                self.clear();
                Err(match &self.home {
                    Some(home) => home.refusal(error),
                    None => StepError::Device(error),
                })
            }
        }
    }

    /// The device of what was recorded, once it has nothing to say against it.
    pub async fn hear(&mut self) -> Result<Arc<Home>, ReadBackError> {
        let home = self.home.clone().ok_or(ReadBackError::NoStep)?;
        match std::mem::take(&mut self.caught).wait().await {
            None => Ok(home),
            Some(error) => Err(or_lost(home.device(), ReadBackError::Device(error))),
        }
    }

    /// Gives up all buffers, since those that a device refused look like any others, and what binds them.
    pub fn clear(&mut self) {
        self.buffers.clear();
        self.bindings.clear();
    }
}
