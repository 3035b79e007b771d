//! Records stages. Each stage is one labelled compute pass with all its dispatches.

use std::time::Duration;

use super::bindings::{Bindings, Range, RangeRef};
use super::buffers::{BufferId, Buffers};
use super::pipelines::{Groups, Pipelines};
use super::shader::Variant;
use super::timing::Timing;
use super::upload::{Block, Uniforms};
use super::waiting;
use super::work_log::{self, Work};
use crate::shared::cancel::CancelToken;
use crate::shared::wgsl::number;

/// Rounds per submission if a walk is split. Driver watchdogs limit the time of one submission.
pub(crate) const SUBMISSION_ROUNDS: usize = 8;

/// Workgroup size of all passes with one invocation per element.
pub(crate) const WORKGROUP: u32 = number("common/workgroup", "WORKGROUP");

pub(crate) struct Recorder<'r> {
    pub device: &'r wgpu::Device,
    pub encoder: &'r mut wgpu::CommandEncoder,
    pub pipelines: &'r Pipelines,
    pub bindings: &'r mut Bindings,
    /// Searched in this order.
    pub buffers: Vec<&'r Buffers>,
    pub uniforms: &'r Uniforms,
    /// Bindings of all dispatches that do not give others.
    pub binds: Vec<Binds>,
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
        Self {
            variable: variable.into(),
            buffer: buffer.clone(),
            offset: 0,
            bytes: buffer.size(),
        }
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

pub(crate) struct Stage<'s> {
    device: &'s wgpu::Device,
    compute: wgpu::ComputePass<'s>,
    pipelines: &'s Pipelines,
    bindings: &'s mut Bindings,
    buffers: &'s [&'s Buffers],
    uniforms: &'s Uniforms,
    binds: &'s [Binds],
    inputs: &'s [Input],
}

/// A WGSL variable that each dispatch binds explicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable(pub &'static str);

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Buffer(BufferId),
    Block(Block),
}

pub(crate) type Binds = (Variable, Bound);

macro_rules! variables {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)+) => {
        pub(crate) mod variable {
            use $crate::gpu::recorder::Variable;

            $(
                $(#[$doc])*
                pub(crate) const $constant: Variable = Variable($name);
            )+
            #[cfg(test)]
            pub(crate) const ALL: &[Variable] = &[$($constant),+];
        }
    };
}

pub(crate) use variables;

impl Variable {
    pub const fn is(self, buffer: BufferId) -> Binds {
        (self, Bound::Buffer(buffer))
    }

    pub const fn is_block(self, block: Block) -> Binds {
        (self, Bound::Block(block))
    }
}

impl From<BufferId> for Variable {
    fn from(id: BufferId) -> Self {
        Self(id.name)
    }
}

impl BufferId {
    pub const fn is(self, buffer: Self) -> Binds {
        Variable(self.name).is(buffer)
    }
}

impl<'r> Recorder<'r> {
    fn get(&self, id: BufferId) -> &'r wgpu::Buffer {
        let found = self.buffers.iter().find_map(|buffers| buffers.existing(id));
        found.unwrap_or_else(|| panic!("the buffer {} has no size in this step", id.name))
    }

    pub fn copy_from(&mut self, from: &wgpu::Buffer, to: BufferId) {
        let bytes = self.get(to).size();
        self.copy_range(from, 0, to, 0, bytes);
    }

    pub fn clear(&mut self, id: BufferId) {
        let bytes = self.get(id).size();
        self.clear_range(id, 0, bytes);
    }

    pub fn clear_words(&mut self, id: BufferId, first: usize, count: u64) {
        self.clear_range(id, 4 * first as u64, 4 * count);
    }

    fn clear_range(&mut self, id: BufferId, first: u64, bytes: u64) {
        work_log::log(|| Work::Clear { buffer: id.name, bytes });
        self.encoder.clear_buffer(self.get(id), first, Some(bytes));
    }

    pub fn copy(&mut self, from: BufferId, to: BufferId) {
        self.copy_bytes(from, to, self.get(from).size());
    }

    pub fn copy_words(&mut self, from: &wgpu::Buffer, first: usize, to: BufferId, place: usize, count: u64) {
        self.copy_range(from, 4 * first as u64, to, 4 * place as u64, 4 * count);
    }

    pub fn copy_bytes(&mut self, from: BufferId, to: BufferId, bytes: u64) {
        self.copy_range(self.get(from), 0, to, 0, bytes);
    }

    fn copy_range(&mut self, from: &wgpu::Buffer, first: u64, to: BufferId, place: u64, bytes: u64) {
        work_log::log(|| Work::Copy { to: to.name, bytes });
        self.encoder
            .copy_buffer_to_buffer(from, first, self.get(to), place, bytes);
    }

    pub fn stage(&mut self, name: &'static str, body: impl FnOnce(&mut Stage<'_>)) {
        let timestamps = self.timing.as_mut().map(|timing| timing.stage(name));
        let label = format!("{}/{name}", self.label);
        work_log::log(|| Work::Stage(label.clone()));
        let compute = self.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&label),
            timestamp_writes: timestamps,
        });
        body(&mut Stage {
            device: self.device,
            compute,
            pipelines: self.pipelines,
            bindings: self.bindings,
            buffers: &self.buffers,
            uniforms: self.uniforms,
            binds: &self.binds,
            inputs: self.inputs,
        });
    }

    /// Records a stage that runs once per round. Only the first [`SUBMISSION_ROUNDS`] rounds are timed.
    pub fn rounds<T>(&mut self, name: &'static str, rounds: &[T], mut body: impl FnMut(&mut Stage<'_>, &T)) {
        let mut parts = rounds.chunks(SUBMISSION_ROUNDS);
        let first = parts.next().unwrap_or_default();
        if let Some(submitted) = self.submits.as_mut().filter(|_| parts.len() > 0) {
            submitted.begin(rounds.len());
        }
        self.stage(name, |stage| first.iter().for_each(|round| body(stage, round)));
        let timing = self.timing.take();
        for part in parts {
            self.submit();
            self.stage(name, |stage| part.iter().for_each(|round| body(stage, round)));
        }
        self.timing = timing;
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
/// cancellation is quick.
/// Later parts are then dropped.
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

impl Stage<'_> {
    pub fn run<'p>(&mut self, pass: impl Into<Variant<'p>>, elements: u32, binds: &[Binds]) {
        let variant = pass.into();
        self.run_groups(variant, elements.div_ceil(variant.pass.workgroup()), binds);
    }

    /// `binds` gives the buffers of variables that are not named like their buffer.
    pub fn run_groups<'p>(&mut self, pass: impl Into<Variant<'p>>, groups: u32, binds: &[Binds]) {
        self.dispatch(pass.into(), Groups::Count(groups), binds);
    }

    pub fn run_indirect<'p>(&mut self, pass: impl Into<Variant<'p>>, groups: BufferId, binds: &[Binds]) {
        let found = find(self.inputs, self.buffers, groups.name).map(|range| range.buffer);
        let buffer = found.unwrap_or_else(|| panic!("the buffer {} has no size in this step", groups.name));
        self.dispatch(pass.into(), Groups::In(buffer), binds);
    }

    fn dispatch(&mut self, variant: Variant<'_>, groups: Groups<'_>, binds: &[Binds]) {
        let Self {
            buffers,
            uniforms,
            binds: of_all,
            inputs,
            ..
        } = *self;
        let found = |name: &str| {
            let range = find(inputs, buffers, name);
            Range::from(range.unwrap_or_else(|| {
                panic!(
                    "{} binds {name}, which has no size in this step and which no dispatch names",
                    variant.pass.name
                )
            }))
        };
        let bound = |name| {
            let mut binds = binds.iter().chain(of_all);
            match binds.find(|(Variable(variable), _)| *variable == name) {
                Some((_, Bound::Block(block))) => uniforms.range(*block),
                Some((_, Bound::Buffer(id))) => found(id.name),
                None => found(name),
            }
        };
        self.pipelines
            .dispatch(self.device, self.bindings, &mut self.compute, variant, groups, bound);
    }
}
