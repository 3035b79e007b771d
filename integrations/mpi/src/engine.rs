//! What finds things on a rank: a device of its own, or the CPU engine.

use std::sync::mpsc;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Headless, HeadlessDescriptor, QueryInput, Scene, StepResult, cpu};
use pollster::block_on;
use wgpu::{AdapterInfo, Backends, Buffer, BufferDescriptor, BufferUsages, DeviceType, MapMode, PollType};

/// What finds things on a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A GPU of any backend; the CPU where there is none.
    #[default]
    Auto,
    /// An adapter of these backends, whether it is a GPU or not.
    Adapter(Backends),
    /// The CPU engine.
    Cpu,
}

pub(crate) enum Engine {
    Device {
        headless: Box<Headless>,
        descriptor: Box<BroadPhaseDescriptor<'static>>,
    },
    Cpu,
}

/// How good an adapter is; the smaller the better.
fn grade(info: &AdapterInfo) -> u32 {
    match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

impl Engine {
    /// An engine for one of several ranks of a machine: the adapters that are as good as the best one take turns.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'static>,
        device: Device,
        rank_on_machine: usize,
    ) -> Result<Self, String> {
        let (backends, needs_gpu) = match device {
            Device::Auto => (Backends::all(), true),
            Device::Adapter(backends) => (backends, false),
            Device::Cpu => return Ok(Self::Cpu),
        };
        let adapters: Vec<_> = block_on(gpu_broad_phase::adapters(backends))
            .iter()
            .map(|adapter| adapter.get_info())
            .collect();
        let usable = |info: &&AdapterInfo| !needs_gpu || info.device_type != DeviceType::Cpu;
        let Some(best) = adapters.iter().filter(usable).min_by_key(|info| grade(info)) else {
            return match device {
                Device::Auto => Ok(Self::Cpu),
                _ => Err("there is no adapter of the backends that were asked for".into()),
            };
        };
        // An adapter may stand there once per backend: those of one backend count.
        let is_as_good = |&index: &usize| {
            let info: &AdapterInfo = &adapters[index];
            grade(info) == grade(best) && info.backend == best.backend
        };
        let good: Vec<_> = (0..adapters.len()).filter(is_as_good).collect();
        let index = good[rank_on_machine % good.len()].to_string();
        let headless = block_on(Headless::with_descriptor(&HeadlessDescriptor {
            backends: Some(backends),
            adapter: Some(&index),
            broad_phase: *descriptor,
        }))
        .map_err(|error| error.to_string())?;
        Ok(Self::Device {
            headless: Box::new(headless),
            descriptor: Box::new(*descriptor),
        })
    }

    pub fn headless(&self) -> Option<&Headless> {
        match self {
            Self::Device { headless, .. } => Some(headless),
            Self::Cpu => None,
        }
    }

    /// The first boxes of a buffer of the device.
    pub fn read_boxes(&self, buffer: &Buffer, count: usize) -> Result<Vec<Aabb>, String> {
        let headless = self.headless().ok_or("a rank on the CPU has no buffers")?;
        let bytes = (count * size_of::<Aabb>()) as u64;
        if bytes > buffer.size() {
            return Err(format!(
                "{count} boxes take {bytes} bytes, the buffer has {}",
                buffer.size()
            ));
        }
        if !buffer.usage().contains(BufferUsages::COPY_SRC) {
            return Err("the buffer lacks the usage COPY_SRC".into());
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let (device, queue) = (headless.device(), headless.queue());
        let read = device.create_buffer(&BufferDescriptor {
            label: Some("gpu_broad_phase_mpi/boxes"),
            size: bytes,
            usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &read, 0, bytes);
        queue.submit([encoder.finish()]);
        let (done, result) = mpsc::channel();
        read.map_async(MapMode::Read, .., move |mapped| {
            // Nobody listens where the device was lost meanwhile.
            let _ = done.send(mapped);
        });
        device
            .poll(PollType::wait_indefinitely())
            .map_err(|error| error.to_string())?;
        let mapped = result.recv().map_err(|_| "the device is lost")?;
        mapped.map_err(|error| error.to_string())?;
        let view = read.get_mapped_range(..).map_err(|error| error.to_string())?;
        Ok(bytemuck::pod_collect_to_vec(&view))
    }

    /// A whole step.
    pub fn step(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'static>,
        scene: &Scene<'_>,
    ) -> Result<StepResult, String> {
        match self {
            Self::Device {
                headless,
                descriptor: last,
            } => {
                if **last != *descriptor {
                    headless.set_descriptor(descriptor).map_err(|error| error.to_string())?;
                    **last = *descriptor;
                }
                block_on(headless.step_scene(scene)).map_err(|error| error.to_string())
            }
            Self::Cpu => cpu::step_scene(descriptor, scene).map_err(|error| error.to_string()),
        }
    }

    /// What is asked in `scene`, whose objects are those of the last step. A device that takes another mode of rays
    /// than the last time builds its table again, and so does the CPU each time.
    pub fn ask(&mut self, descriptor: &BroadPhaseDescriptor<'static>, scene: &Scene<'_>) -> Result<StepResult, String> {
        let asked = QueryInput {
            rays: scene.rays,
            queries: scene.queries,
            query_mode: scene.query_mode,
            ..QueryInput::default()
        };
        let alone = BroadPhaseDescriptor {
            pairs: false,
            ..*descriptor
        };
        match self {
            Self::Device {
                headless,
                descriptor: last,
            } if **last == *descriptor || **last == alone => {
                block_on(headless.query(&asked)).map_err(|error| error.to_string())
            }
            _ => self.step(&alone, scene),
        }
    }
}
