//! What the plugin keeps between frames, and the frame itself.

use std::collections::VecDeque;

use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::resource::Resource;
use bevy::ecs::system::{Res, ResMut};
use bevy::log::warn;
use gpu_broad_phase::BroadPhaseDescriptor;
#[cfg(feature = "render")]
use gpu_broad_phase::wgpu;

use crate::batch::{Answer, Batch};
use crate::engine::{Cpu, Engine};
use crate::gpu::{self, Gpu, GpuError};
use crate::objects::Objects;
use crate::overlaps::Update;

/// How the broad phase is doing. It is up to date after [`BroadPhaseSystems::Tell`](crate::BroadPhaseSystems::Tell).
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BroadPhaseDiagnostics {
    /// Whether steps run on a GPU device; else on the CPU engine, or not yet.
    pub is_on_gpu: bool,
    /// Entities that take part.
    pub objects: usize,
    /// Entities that are left out because their box or transform is not valid, such as one with a NaN.
    pub invalid: usize,
    /// Steps that the device has not answered yet, and steps whose events are still to be told.
    pub steps_under_way: usize,
    /// How often all pairs were read from the device in place of what changed: once at first, and again after bursts of
    /// more events than are copied.
    pub resyncs: u64,
    /// Bytes of the broad phase's buffers on the device.
    pub device_bytes: u64,
    /// Entities that are gone, and whose last events have not come yet.
    pub leaving: usize,
}

/// All of it, in the main world.
#[derive(Resource)]
pub(crate) struct BroadPhase {
    pub objects: Objects,
    pub engine: Engine,
    /// What steps found that is still to be told.
    pub updates: VecDeque<Update>,
    /// What is asked of the next step.
    pub batch: Batch,
    /// What has arrived in this frame.
    pub answers: Vec<Answer>,
    pub descriptor: BroadPhaseDescriptor<'static>,
}

impl BroadPhase {
    pub fn new(descriptor: BroadPhaseDescriptor<'static>) -> Self {
        Self {
            objects: Objects::default(),
            engine: Engine::Closed,
            updates: VecDeque::new(),
            batch: Batch::default(),
            answers: Vec::new(),
            descriptor,
        }
    }

    /// Takes a device of its own where there is one.
    pub fn open_own(&mut self) {
        let opened = gpu::open(&self.descriptor);
        self.take_over(opened);
    }

    /// Takes a device of the caller's.
    #[cfg(feature = "render")]
    pub fn open(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        let opened = Gpu::new(device, queue, &self.descriptor, false);
        self.take_over(opened);
    }

    pub fn open_cpu(&mut self) {
        self.engine = Engine::Cpu(Cpu::default());
        // Its answer is whole, and makes up for what was on its way from a device.
        self.objects.has_changed = true;
    }

    fn take_over(&mut self, opened: Result<Gpu, GpuError>) {
        match opened {
            Ok(gpu) => {
                self.engine = Engine::Gpu(Box::new(gpu));
                self.objects.set.invalidate();
                self.objects.has_changed = true;
            }
            Err(error) => self.fall_back(&error),
        }
    }

    fn fall_back(&mut self, error: &GpuError) {
        warn!("the broad phase runs on the CPU from now on, and BroadPhaseOutput is absent: {error}");
        self.open_cpu();
    }

    /// Runs a step. Never waits for a device.
    pub fn step(&mut self) {
        if let Err(error) = self.engine.step(&mut self.objects, &self.batch, &self.descriptor) {
            self.fall_back(&error);
            _ = self.engine.step(&mut self.objects, &self.batch, &self.descriptor);
        }
        self.batch.begin_next();
    }

    /// Takes over what steps found that has arrived.
    pub fn await_errors(&mut self) {
        self.answers.clear();
        let (engine, objects) = (&mut self.engine, &mut self.objects);
        let updates = engine.take_updates(objects);
        match updates.and_then(|updates| Ok((updates, engine.take_answers()?))) {
            Ok((updates, answers)) => {
                self.updates.extend(updates);
                self.answers = answers;
            }
            Err(error) => self.fall_back(&error),
        }
    }

    pub fn diagnostics(&self) -> BroadPhaseDiagnostics {
        let gpu = self.engine.gpu();
        BroadPhaseDiagnostics {
            is_on_gpu: gpu.is_some(),
            objects: self.objects.set.len(),
            invalid: self.objects.invalid_count(),
            steps_under_way: gpu.map_or(0, Gpu::steps_under_way) + self.updates.len(),
            resyncs: gpu.map_or(0, Gpu::resyncs),
            device_bytes: gpu.map_or(0, |gpu| gpu.bytes(&self.objects)),
            leaving: self.objects.gone_count(),
        }
    }
}

/// Runs a step on what has no renderer to go along with.
pub(crate) fn step(mut broad_phase: ResMut<BroadPhase>) {
    broad_phase.step();
}

pub(crate) fn update_diagnostics(broad_phase: Res<BroadPhase>, mut diagnostics: ResMut<BroadPhaseDiagnostics>) {
    diagnostics.set_if_neq(broad_phase.diagnostics());
}
