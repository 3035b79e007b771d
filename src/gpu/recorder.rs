//! Records stages: one labelled compute pass each, with as many dispatches as the stage has.

use super::bindings::{Bindings, Range, RangeRef};
use super::buffers::Buffers;
use super::pass::{Form, Groups, Pipelines};
use super::timing::Timing;
use super::upload::{Block, Uniforms};
use crate::shaders::{self, Pass};
use crate::step::plan::SCAN_TILE;

/// Rounds of a walk that share a submission where submissions may be split: drivers that watch how long work takes look
/// at submissions.
pub(crate) const SUBMISSION_ROUNDS: usize = 8;

/// Invocations of a workgroup in all passes that have one an element.
pub(crate) const WORKGROUP: u32 = 256;

pub(crate) struct Recorder<'r> {
    pub device: &'r wgpu::Device,
    pub encoder: &'r mut wgpu::CommandEncoder,
    pub pipelines: &'r Pipelines,
    /// Whether rays sweep a box.
    pub sweeps: bool,
    pub bindings: &'r mut Bindings,
    pub buffers: &'r Buffers,
    pub uniforms: &'r Uniforms,
    /// The block that the name `params` stands for.
    pub params: Block,
    pub inputs: &'r [Input],
    pub timing: Option<&'r mut Timing>,
    /// Where a long recording may be submitted in parts.
    pub submits: Option<&'r wgpu::Queue>,
    pub label: &'r str,
    /// What stages are called in stage times and labels.
    pub stage_name: fn(&'static str) -> &'static str,
}

/// Where an input of the step lies: in a buffer of the broad phase's own or of the caller's.
#[derive(Clone)]
pub(crate) struct Input {
    /// As the pass table names it.
    pub name: &'static str,
    pub buffer: wgpu::Buffer,
    /// Bytes of it that are used: a caller's buffer may be larger than one binding.
    pub bytes: u64,
}

/// Where a name of the pass table lies: in an input, or in one of the own buffers.
pub(crate) fn resolve<'b>(inputs: &'b [Input], buffers: &'b Buffers, name: &str) -> RangeRef<'b> {
    match inputs.iter().find(|input| input.name == name) {
        Some(input) => RangeRef {
            buffer: &input.buffer,
            offset: 0,
            size: wgpu::BufferSize::new(input.bytes),
        },
        None => buffers.get(name).into(),
    }
}

/// A stage under way.
pub(crate) struct Stage<'s> {
    device: &'s wgpu::Device,
    compute: wgpu::ComputePass<'s>,
    pipelines: &'s Pipelines,
    sweeps: bool,
    bindings: &'s mut Bindings,
    buffers: &'s Buffers,
    uniforms: &'s Uniforms,
    params: Block,
    inputs: &'s [Input],
}

/// What a name of the pass table stands for in one dispatch.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'n> {
    Buffer(&'n str),
    Block(Block),
}

impl Recorder<'_> {
    /// Copies a buffer of others to one of the own buffers of its size.
    pub fn copy_from(&mut self, from: &wgpu::Buffer, to: &str) {
        let to = self.buffers.get(to);
        self.encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size());
    }

    pub fn clear(&mut self, name: &str) {
        if let Some(buffer) = self.buffers.find(name) {
            self.encoder.clear_buffer(buffer, 0, None);
        }
    }

    /// Puts some words of one of the own buffers to 0.
    pub fn clear_words(&mut self, name: &str, first: usize, count: u64) {
        let buffer = self.buffers.get(name);
        self.encoder.clear_buffer(buffer, 4 * first as u64, Some(4 * count));
    }

    /// Copies one of the own buffers to another of its size.
    pub fn copy(&mut self, from: &str, to: &str) {
        let (from, to) = (self.buffers.get(from), self.buffers.get(to));
        self.encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
    }

    /// Copies some words of a buffer of others into one of the own buffers.
    pub fn copy_words(&mut self, from: &wgpu::Buffer, first: usize, to: &str, place: usize, count: u64) {
        let [first, place] = [first, place].map(|word| 4 * word as u64);
        self.encoder
            .copy_buffer_to_buffer(from, first, self.buffers.get(to), place, 4 * count);
    }

    /// Copies the first bytes of one of the own buffers to another, up to the next word.
    pub fn copy_bytes(&mut self, from: &str, to: &str, bytes: u64) {
        let (from, to) = (self.buffers.get(from), self.buffers.get(to));
        self.encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes);
    }

    pub fn stage(&mut self, name: &'static str, body: impl FnOnce(&mut Stage<'_>)) {
        let name = (self.stage_name)(name);
        let timestamps = self.timing.as_mut().map(|timing| timing.stage(name));
        let compute = self.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&format!("{}/{name}", self.label)),
            timestamp_writes: timestamps,
        });
        body(&mut Stage {
            device: self.device,
            compute,
            pipelines: self.pipelines,
            sweeps: self.sweeps,
            bindings: self.bindings,
            buffers: self.buffers,
            uniforms: self.uniforms,
            params: self.params,
            inputs: self.inputs,
        });
    }

    /// A stage whose passes run once a round. The time of the first [`SUBMISSION_ROUNDS`] counts.
    pub fn rounds<T>(&mut self, name: &'static str, rounds: &[T], mut body: impl FnMut(&mut Stage<'_>, &T)) {
        let mut parts = rounds.chunks(SUBMISSION_ROUNDS);
        let first = parts.next().unwrap_or_default();
        self.stage(name, |stage| first.iter().for_each(|round| body(stage, round)));
        let timing = self.timing.take();
        for part in parts {
            self.submit();
            self.stage(name, |stage| part.iter().for_each(|round| body(stage, round)));
        }
        self.timing = timing;
    }

    fn submit(&mut self) {
        if let Some(queue) = self.submits {
            let next = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some(self.label),
            });
            let recorded = std::mem::replace(self.encoder, next);
            queue.submit([recorded.finish()]);
        }
    }
}

impl Stage<'_> {
    /// Dispatches a pass with one invocation an element.
    pub fn run(&mut self, pass: &Pass, elements: u32, names: &[(&str, Bound<'_>)]) {
        self.run_groups(pass, elements.div_ceil(WORKGROUP), names);
    }

    /// Dispatches a number of workgroups. `names` says what the pass's names stand for where they are not names of
    /// buffers themselves.
    pub fn run_groups(&mut self, pass: &Pass, groups: u32, names: &[(&str, Bound<'_>)]) {
        self.dispatch(pass, Groups::Count(groups), names);
    }

    /// Dispatches as many workgroups as one of the own buffers says, which is one of
    /// [`INDIRECT`](super::buffers::INDIRECT).
    pub fn run_indirect(&mut self, pass: &Pass, groups: &str, names: &[(&str, Bound<'_>)]) {
        let buffers = self.buffers;
        self.dispatch(pass, Groups::In(buffers.get(groups)), names);
    }

    fn dispatch(&mut self, pass: &Pass, groups: Groups<'_>, names: &[(&str, Bound<'_>)]) {
        let Self {
            buffers,
            uniforms,
            params,
            inputs,
            ..
        } = *self;
        let resolve = |name: &str| Range::from(resolve(inputs, buffers, name));
        let bound = |name| match names.iter().find(|(pass_name, _)| *pass_name == name) {
            Some((_, Bound::Block(block))) => uniforms.range(*block),
            Some((_, Bound::Buffer(buffer))) => resolve(buffer),
            None if name == "params" => uniforms.range(params),
            None => resolve(name),
        };
        let form = Form {
            pass,
            sweeps: self.sweeps,
        };
        self.pipelines
            .dispatch(self.device, self.bindings, &mut self.compute, form, groups, bound);
    }

    /// Turns the counts in a buffer into offsets.
    pub fn scan(&mut self, data: &str, count: u32, block: Block) {
        let names = [("data", Bound::Buffer(data)), ("scan", Bound::Block(block))];
        let tiles = count.div_ceil(SCAN_TILE);
        self.run_groups(&shaders::SCAN_REDUCE, tiles, &names);
        self.run_groups(&shaders::SCAN_SPINE, 1, &names);
        self.run_groups(&shaders::SCAN_APPLY, tiles, &names);
    }
}
