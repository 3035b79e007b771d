use std::collections::VecDeque;

use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::resource::Resource;
use bevy::ecs::system::{Res, ResMut};
use bevy::log::warn;
use gpu_broad_phase::BroadPhaseDescriptor;
#[cfg(feature = "render")]
use gpu_broad_phase::wgpu;

use crate::batch::{Answer, Batch};
use crate::engine::Engine;
use crate::gpu::{self, Gpu, GpuError};
use crate::objects::Objects;
use crate::overlaps::Update;

/// State of the broad phase. It is updated in [`BroadPhaseSystems::SendEvents`](crate::BroadPhaseSystems::SendEvents).
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BroadPhaseDiagnostics {
    /// True if steps run on a GPU. False on the CPU, and until the device is open.
    pub is_on_gpu: bool,
    /// Number of valid entities.
    pub objects: usize,
    /// Number of entities ignored because of an invalid box or transform, for example with a NaN.
    pub invalid: usize,
    /// Number of steps whose events have not been sent yet.
    pub steps_under_way: usize,
    /// Number of times that all pairs were read instead of changes: at first, and after more pairs changed than a step
    /// copies.
    pub resyncs: u64,
    /// Bytes of buffers on the device.
    pub device_bytes: u64,
    /// Number of removed entities whose last events are pending.
    pub leaving: usize,
}

#[derive(Resource)]
pub(crate) struct BroadPhase {
    pub objects: Objects,
    pub engine: Engine,
    /// Not yet sent as events.
    pub updates: VecDeque<Update>,
    pub batch: Batch,
    pub answers: Vec<Answer>,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub runner: Runner,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Runner {
    /// Opens the device and runs the steps between frames.
    #[cfg_attr(not(feature = "render"), allow(dead_code, reason = "only the renderer asks for it"))]
    Renderer,
    OwnDevice,
    Cpu,
}

impl BroadPhase {
    pub fn new(descriptor: BroadPhaseDescriptor<'static>, runner: Runner) -> Self {
        Self {
            objects: Objects::default(),
            engine: Engine::Closed,
            updates: VecDeque::new(),
            batch: Batch::default(),
            answers: Vec::new(),
            descriptor,
            runner,
        }
    }

    pub fn open_own(&mut self) {
        let opened = gpu::open(&self.descriptor);
        self.take_over(opened);
    }

    #[cfg(feature = "render")]
    pub fn open(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        let opened = Gpu::new(device, queue, &self.descriptor, false);
        self.take_over(opened);
    }

    fn open_cpu(&mut self) {
        self.engine = Engine::Cpu(Box::default());
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

    pub fn step(&mut self) {
        if let Err(error) = self.engine.step(&mut self.objects, &self.batch, &self.descriptor) {
            self.fall_back(&error);
            _ = self.engine.step(&mut self.objects, &self.batch, &self.descriptor);
        }
        self.batch.begin_next();
    }

    pub fn take_results(&mut self) {
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

/// Runs at the first update, so that apps that never call `App::finish` work.
pub(crate) fn open(mut broad_phase: ResMut<BroadPhase>) {
    match broad_phase.runner {
        Runner::Renderer => {}
        Runner::OwnDevice => broad_phase.open_own(),
        Runner::Cpu => broad_phase.open_cpu(),
    }
}

pub(crate) fn step(mut broad_phase: ResMut<BroadPhase>) {
    if broad_phase.runner != Runner::Renderer {
        broad_phase.step();
    }
}

pub(crate) fn update_diagnostics(broad_phase: Res<BroadPhase>, mut diagnostics: ResMut<BroadPhaseDiagnostics>) {
    diagnostics.set_if_neq(broad_phase.diagnostics());
}
