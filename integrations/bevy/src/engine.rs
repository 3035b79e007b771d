use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{BroadPhaseDescriptor, OutputOptions, Scene};

use crate::batch::{Answer, Batch};
use crate::gpu::{Gpu, GpuError};
use crate::objects::Objects;
use crate::overlaps::Update;

#[derive(Default)]
pub(crate) enum Engine {
    #[default]
    Closed,
    Gpu(Box<Gpu>),
    Cpu(Box<Cpu>),
}

#[derive(Default)]
pub(crate) struct Cpu {
    /// From the first step on.
    broad_phase: Option<CpuBroadPhase>,
    update: Option<Update>,
    answer: Option<Answer>,
}

impl Engine {
    /// Runs a step if the objects changed, then casts the batch.
    ///
    /// # Errors
    /// If the device fails. The CPU can then continue with the same objects.
    pub fn step(
        &mut self,
        objects: &mut Objects,
        batch: &Batch,
        descriptor: &BroadPhaseDescriptor<'_>,
    ) -> Result<(), GpuError> {
        match self {
            Self::Closed => Ok(()),
            Self::Gpu(gpu) => gpu.step(objects, batch),
            Self::Cpu(cpu) => {
                cpu.step(objects, batch, descriptor);
                Ok(())
            }
        }
    }

    /// Takes the arrived pair updates, in step order.
    pub fn take_updates(&mut self, objects: &mut Objects) -> Result<Vec<Update>, GpuError> {
        match self {
            Self::Closed => Ok(Vec::new()),
            Self::Gpu(gpu) => gpu.take_updates(objects),
            Self::Cpu(cpu) => Ok(cpu.update.take().into_iter().collect()),
        }
    }

    /// Takes the arrived batch results, in batch order.
    pub fn take_answers(&mut self) -> Result<Vec<Answer>, GpuError> {
        match self {
            Self::Closed => Ok(Vec::new()),
            Self::Gpu(gpu) => gpu.take_answers(),
            Self::Cpu(cpu) => Ok(cpu.answer.take().into_iter().collect()),
        }
    }

    #[cfg(feature = "gizmos")]
    pub fn gpu_mut(&mut self) -> Option<&mut Gpu> {
        match self {
            Self::Gpu(gpu) => Some(gpu),
            _ => None,
        }
    }

    pub fn gpu(&self) -> Option<&Gpu> {
        match self {
            Self::Gpu(gpu) => Some(gpu),
            _ => None,
        }
    }
}

impl Cpu {
    fn step(&mut self, objects: &mut Objects, batch: &Batch, descriptor: &BroadPhaseDescriptor<'_>) {
        let has_changed = objects.has_changed;
        if !has_changed && batch.is_empty() {
            return;
        }
        objects.begin_step();
        let scene = Scene {
            query: batch.input(),
            ..objects.set.scene()
        };
        let broad_phase = match self.broad_phase.take() {
            Some(broad_phase) => Ok(broad_phase),
            None => CpuBroadPhase::new(descriptor),
        };
        let stepped = broad_phase.map_err(Into::into).and_then(|broad_phase| {
            let broad_phase = self.broad_phase.insert(broad_phase);
            broad_phase.step_scene(&scene)
        });
        let result = match stepped {
            Ok(result) => result,
            Err(error) => {
                bevy::log::error_once!("broad phase on the CPU: {error}");
                return;
            }
        };
        let entity = |object| objects.entities.entity(object);
        if has_changed {
            let pairs = result
                .pairs
                .iter()
                .filter_map(|pair| Some([entity(pair.a)?, entity(pair.b)?]));
            self.update = Some(Update::Whole(pairs.collect()));
        }
        if !batch.is_empty() {
            self.answer = Some(Answer::new(batch.number, &result, &objects.entities));
        }
        objects.end_steps(0);
    }
}

pub(crate) fn descriptor(dimensions: gpu_broad_phase::Dimensions, margin: f32) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        label: Some("gpu_broad_phase/bevy"),
        dimensions,
        margin,
        outputs: OutputOptions {
            ray_mode: gpu_broad_phase::RayMode::All,
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    }
}
