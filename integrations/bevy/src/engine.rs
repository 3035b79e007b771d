//! What finds overlaps and hits: a device, or the CPU reference.

use gpu_broad_phase::{BroadPhaseDescriptor, Scene, reference};

use crate::gpu::{Gpu, GpuError};
use crate::objects::Objects;
use crate::overlaps::Update;
use crate::rays::{Batch, Hits};

/// Where steps run.
#[derive(Default)]
pub(crate) enum Engine {
    /// Nowhere yet.
    #[default]
    Closed,
    Gpu(Box<Gpu>),
    Cpu(Cpu),
}

/// The CPU reference. Its answers are there at once.
#[derive(Default)]
pub(crate) struct Cpu {
    update: Option<Update>,
    hits: Option<Hits>,
}

impl Engine {
    /// Runs a step over the objects, and casts the rays into it. Where the objects did not change, rays alone.
    ///
    /// # Errors
    /// Where the device cannot go on: the CPU has to, and can, from the same objects.
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

    /// What steps found that has arrived, in their order.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn take_updates(&mut self, objects: &mut Objects) -> Result<Vec<Update>, GpuError> {
        match self {
            Self::Closed => Ok(Vec::new()),
            Self::Gpu(gpu) => gpu.take_updates(objects),
            Self::Cpu(cpu) => Ok(cpu.update.take().into_iter().collect()),
        }
    }

    /// The last hits that have arrived since the call before.
    #[cfg_attr(not(feature = "picking"), allow(dead_code, reason = "nothing else casts rays"))]
    pub fn take_hits(&mut self) -> Option<Hits> {
        match self {
            Self::Closed => None,
            Self::Gpu(gpu) => gpu.take_hits(),
            Self::Cpu(cpu) => cpu.hits.take(),
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
        if !has_changed && batch.rays.is_empty() {
            return;
        }
        let step = objects.begin_step();
        let scene = Scene {
            rays: batch.rays[..].into(),
            ..objects.set.scene()
        };
        let result = match reference::step_scene(descriptor, &scene) {
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
        if !batch.rays.is_empty() {
            self.hits = Some(Hits::new(batch.number, &result, &objects.entities));
        }
        objects.end_step(step);
    }
}

/// The descriptor of all steps.
pub(crate) fn descriptor(dimensions: gpu_broad_phase::Dimensions, margin: f32) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        label: Some("gpu_broad_phase/bevy"),
        dimensions,
        margin,
        ray_mode: gpu_broad_phase::RayMode::All,
        ..BroadPhaseDescriptor::default()
    }
}
