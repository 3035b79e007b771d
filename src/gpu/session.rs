use std::sync::Arc;
use std::time::Duration;

use super::bindings::Bindings;
use super::buffers::{BufferId, Buffers, Sizes};
use super::device_context::DeviceContext;
use super::group::Group;
use super::passes::{Passes, SUBMISSION_ROUNDS};
use super::pipelines::Pipelines;
use super::reading::{self, Copy, Reading, error_or_lost};
use super::recorder::{Input, Recorder, SubmittedParts};
use super::scope::{DeviceErrors, Scopes};
use super::staging::Staging;
use super::timing::Timing;
use super::upload::{Blocks, Uniforms};
use crate::api::error::{ReadBackError, StepError};
use crate::shared::recording::{Mark, Recording};

/// Device and shared state with which an owner of passes records.
pub(crate) struct Session {
    pub context: Arc<DeviceContext>,
    pub pipelines: Arc<Pipelines>,
    pub label: String,
    pub bindings: Bindings,
    pub uploads: Staging,
    pub readings: Staging,
    pub timing: Option<Timing>,
    /// Uniform blocks of the last recording.
    pub blocks: Buffers,
    /// The current recording.
    pub recording: Recording,
    /// If set, a long recording is submitted in parts, each with its own encoder, with this timeout.
    pub part_timeout: Option<Duration>,
    errors: DeviceErrors,
}

pub(crate) struct Begun {
    group: Option<Group>,
    scopes: Scopes,
    mark: Mark,
}

impl Session {
    pub fn new(
        context: Arc<DeviceContext>,
        pipelines: Arc<Pipelines>,
        timing: Option<Timing>,
        errors: DeviceErrors,
        label: &str,
    ) -> Self {
        Self {
            context,
            pipelines,
            label: label.to_owned(),
            bindings: Bindings::default(),
            uploads: Staging::uploads(),
            readings: Staging::readings(),
            timing,
            blocks: Buffers::new(label),
            recording: Recording::begin().0,
            part_timeout: None,
            errors,
        }
    }

    /// Begins a debug group, error scopes and a recording with up to `rounds` rounds per walk. Fails on a lost device.
    pub fn begin(&mut self, encoder: &mut wgpu::CommandEncoder, rounds: usize) -> Result<Begun, StepError> {
        if self.context.is_marked_lost() {
            return Err(StepError::DeviceLost);
        }
        let device = self.context.device();
        // A debug group cannot span several encoders.
        let is_split = self.part_timeout.is_some() && rounds > SUBMISSION_ROUNDS;
        let group = (!is_split).then(|| Group::begin(device, encoder, &self.label));
        let scopes = Scopes::begin(device);
        self.bindings.begin();
        self.bindings.forget(&self.blocks.begin_step());
        self.readings.begin();
        self.uploads.begin();
        let (recording, mark) = Recording::begin();
        self.recording = recording;
        Ok(Begun { group, scopes, mark })
    }

    /// Returns `recorded`, or [`StepError::Device`] or [`StepError::DeviceLost`] if the device refused it. The owner
    /// then drops its buffers.
    pub fn end<T>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        begun: Begun,
        recorded: Result<T, StepError>,
    ) -> Result<T, StepError> {
        let Begun { group, scopes, mark } = begun;
        if let Some(group) = group {
            group.end(encoder);
        }
        if recorded.is_ok() {
            self.readings.mark_end(self.context.device(), encoder, mark);
        }
        self.errors = scopes.end().after(std::mem::take(&mut self.errors));
        let recorded = recorded?;
        let Some(error) = self.errors.now() else {
            return Ok(recorded);
        };
        let refusal = self.context.refusal(error);
        if refusal == StepError::DeviceLost {
            self.context.mark_lost();
        }
        Err(refusal)
    }

    /// Fits `buffers`, and drops bind groups of the replaced ones.
    pub fn fit(&mut self, buffers: &mut Buffers, sizes: Sizes, caller_owned: &[BufferId]) {
        let outgrown = buffers.fit(self.context.device(), sizes, caller_owned);
        self.bindings.forget(&outgrown);
    }

    /// Records the upload of uniform blocks.
    pub fn write(&mut self, encoder: &mut wgpu::CommandEncoder, blocks: Blocks) -> Uniforms {
        let device = self.context.device();
        blocks.finish(device, encoder, &self.uploads, &mut self.blocks, &mut self.bindings)
    }

    /// Records `passes`. `inputs`, then `buffers` are searched in this order.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        passes: &Passes,
        uniforms: &Uniforms,
        (inputs, buffers): (&[Input], &[&Buffers]),
        is_timed: bool,
    ) {
        let context = &*self.context;
        let timeout = self.part_timeout;
        let mut recorder = Recorder {
            device: context.device(),
            encoder,
            pipelines: &self.pipelines,
            bindings: &mut self.bindings,
            buffers,
            uniforms,
            inputs,
            timing: self.timing.as_mut().filter(|_| is_timed),
            submits: timeout.map(|timeout| SubmittedParts::new(context.queue(), timeout)),
            label: &self.label,
        };
        recorder.record(passes);
    }

    pub fn begin_timing(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.begin_step();
        }
    }

    pub fn resolve_timing(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(timing) = &self.timing {
            timing.resolve(encoder);
        }
    }

    pub fn copy_out(&self, encoder: &mut wgpu::CommandEncoder, copies: &[Copy<'_>]) -> Reading {
        reading::copy_out(&self.readings, self.context.device(), encoder, copies)
    }

    pub fn recycle(&self, reading: Reading) {
        reading.recycle(self.readings.pool());
    }

    /// Awaits errors that browsers report late. After an error, the owner drops its buffers.
    pub async fn await_errors(&mut self) -> Result<(), ReadBackError> {
        match std::mem::take(&mut self.errors).wait().await {
            None => Ok(()),
            Some(error) => Err(error_or_lost(self.context.device(), ReadBackError::Device(error))),
        }
    }

    /// Drops all buffers and bind groups. Invalid ones cannot be recognized.
    pub fn clear(&mut self) {
        self.bindings.clear();
        self.uploads.clear();
        self.readings.clear();
        self.blocks.clear();
    }
}
