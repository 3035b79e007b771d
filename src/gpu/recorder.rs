//! Records passes into an encoder.

use std::time::Duration;

use super::bindings::{Bindings, RangeRef};
use super::buffers::{BufferId, Buffers};
use super::passes::{Bound, Command, GroupCount, Part, Passes, SUBMISSION_ROUNDS, Stage, Variable};
use super::pipelines::{Groups, Pipelines};
use super::timing::Timing;
use super::upload::Uniforms;
use super::waiting;
use super::work_log::{self, Work};
use crate::shared::cancel::CancelToken;

pub(crate) struct Recorder<'r> {
    pub device: &'r wgpu::Device,
    pub encoder: &'r mut wgpu::CommandEncoder,
    pub pipelines: &'r Pipelines,
    pub bindings: &'r mut Bindings,
    /// Searched after `inputs`, in this order.
    pub buffers: &'r [&'r Buffers],
    pub uniforms: &'r Uniforms,
    pub inputs: &'r [Input],
    pub timing: Option<&'r mut Timing>,
    pub submits: Option<SubmittedParts<'r>>,
    pub label: &'r str,
}

#[derive(Clone)]
pub(crate) struct Input {
    pub variable: Variable,
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    /// Bytes to bind. The caller's complete buffer may exceed the binding limit.
    pub bytes: u64,
}

impl Input {
    pub fn of(variable: impl Into<Variable>, range: RangeRef<'_>) -> Self {
        Self {
            variable: variable.into(),
            buffer: range.buffer.clone(),
            offset: range.offset,
            bytes: range
                .size
                .map_or_else(|| range.buffer.size() - range.offset, wgpu::BufferSize::get),
        }
    }

    pub fn whole(variable: impl Into<Variable>, buffer: &wgpu::Buffer) -> Self {
        Self::of(variable, buffer.into())
    }
}

pub(crate) fn find<'b>(inputs: &'b [Input], buffers: &[&'b Buffers], name: &str) -> Option<RangeRef<'b>> {
    match inputs.iter().find(|input| input.variable.0 == name) {
        Some(input) => Some(RangeRef {
            buffer: &input.buffer,
            offset: input.offset,
            size: wgpu::BufferSize::new(input.bytes),
        }),
        None => buffers
            .iter()
            .find_map(|buffers| buffers.named(name))
            .map(RangeRef::from),
    }
}

impl<'r> Recorder<'r> {
    pub fn record(&mut self, passes: &Passes) {
        for command in &passes.commands {
            match *command {
                Command::Clear { id, first, bytes } => {
                    let buffer = self.whole(id);
                    let bytes = bytes.unwrap_or_else(|| buffer.size());
                    work_log::log(|| Work::Clear { buffer: id.name, bytes });
                    self.encoder.clear_buffer(buffer, first, Some(bytes));
                }
                Command::Copy { from, to, bytes } => {
                    let [source, target] = [from.0, to.0].map(|id| self.whole(id));
                    let bytes = bytes.unwrap_or_else(|| target.size());
                    work_log::log(|| Work::Copy { to: to.0.name, bytes });
                    self.encoder.copy_buffer_to_buffer(source, from.1, target, to.1, bytes);
                }
                Command::Stage(ref stage) => self.stage(passes, stage),
            }
        }
    }

    /// A buffer to clear or copy.
    fn whole(&self, id: BufferId) -> &'r wgpu::Buffer {
        let range = find(self.inputs, self.buffers, id.name);
        let range = range.unwrap_or_else(|| panic!("the plan has no buffer {}", id.name));
        debug_assert_eq!(range.offset, 0);
        range.buffer
    }

    fn stage(&mut self, passes: &Passes, stage: &Stage) {
        match stage.part {
            Part::Whole => {}
            Part::First(rounds) => {
                if let Some(submitted) = &mut self.submits {
                    submitted.begin(rounds);
                }
            }
            Part::Later => self.submit(),
        }
        let Self {
            encoder,
            bindings,
            timing,
            ..
        } = self;
        let (inputs, buffers, uniforms) = (self.inputs, self.buffers, self.uniforms);
        let timing = timing.as_mut().filter(|_| stage.part != Part::Later);
        let label = format!("{}/{}", self.label, stage.name);
        work_log::log(|| Work::Stage(label.clone()));
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&label),
            timestamp_writes: timing.map(|timing| timing.stage(stage.name)),
        });
        for dispatch in &stage.dispatches {
            let variant = dispatch.variant;
            let found = |name: &str| {
                let range = find(inputs, buffers, name);
                range.unwrap_or_else(|| panic!("{} uses {name}, which the plan has not", variant.pass.name))
            };
            let groups = match dispatch.groups {
                GroupCount::Known(groups) => Groups::Count(groups),
                GroupCount::In(id) => Groups::In(found(id.name).buffer),
            };
            let bound = |name| match dispatch.bound(passes, name) {
                Some(Bound::Block(block)) => uniforms.range(block),
                Some(Bound::Buffer(id)) => found(id.name).into(),
                None => found(name).into(),
            };
            self.pipelines
                .dispatch(self.device, bindings, &mut compute, variant, groups, bound);
        }
    }

    fn submit(&mut self) {
        if let Some(parts) = &mut self.submits {
            let next = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some(self.label),
            });
            parts.submit(self.device, std::mem::replace(self.encoder, next));
        }
    }
}

/// Splits a recording into submissions. With a [`CancelToken`], at most two are pending per recorder, so that
/// cancellation is quick: later parts are then dropped.
pub(crate) struct SubmittedParts<'r> {
    queue: &'r wgpu::Queue,
    timeout: Duration,
    token: Option<CancelToken>,
    under_way: Option<wgpu::SubmissionIndex>,
}

impl<'r> SubmittedParts<'r> {
    pub fn new(queue: &'r wgpu::Queue, timeout: Duration) -> Self {
        Self {
            queue,
            timeout,
            token: CancelToken::current(),
            under_way: None,
        }
    }

    fn begin(&mut self, rounds: usize) {
        if let Some(token) = &self.token {
            token.begin(rounds as u32);
        }
    }

    fn submit(&mut self, device: &wgpu::Device, part: wgpu::CommandEncoder) {
        let Some(token) = &self.token else {
            self.queue.submit([part.finish()]);
            return;
        };
        if token.is_stopped() {
            return;
        }
        let submitted = self.queue.submit([part.finish()]);
        if let Some(before) = self.under_way.replace(submitted) {
            // If the wait fails, the final read-back reports it.
            if waiting::wait(device, before, self.timeout).is_ok() {
                token.count(SUBMISSION_ROUNDS as u32);
            }
        }
    }
}
