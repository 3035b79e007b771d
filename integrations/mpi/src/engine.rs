use std::sync::mpsc;

use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, QueryInput, Scene, StepResult, adapters, block_on,
};
use wgpu::util::DownloadBuffer;
use wgpu::{AdapterInfo, Backends, Buffer, BufferUsages, DeviceType, PollType};

/// The device of a rank's broad phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A hardware GPU of any backend except GL, or else the CPU. A machine's ranks take equally good GPUs in turn. A
    /// single GPU runs with [`Backend::Auto`], so the CPU takes over if the GPU cannot bind the boxes.
    #[default]
    Auto,
    /// An adapter of these backends, including software adapters.
    Adapter(Backends),
    /// The CPU engine.
    Cpu,
}

pub(crate) struct Engine(pub BroadPhase);

/// Adapter types, best first.
const KINDS: [DeviceType; 5] = [
    DeviceType::DiscreteGpu,
    DeviceType::IntegratedGpu,
    DeviceType::VirtualGpu,
    DeviceType::Other,
    DeviceType::Cpu,
];

impl Engine {
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'static>,
        device: Device,
        rank_on_machine: usize,
    ) -> Result<Self, String> {
        let (backends, kinds, mut backend) = match device {
            Device::Auto => (Backends::all() - Backends::GL, &KINDS[..4], Backend::Auto),
            Device::Adapter(backends) => (backends, &KINDS[..], Backend::Gpu(backends)),
            Device::Cpu => (Backends::empty(), &KINDS[..0], Backend::Cpu),
        };
        let found = block_on(adapters(backends));
        let found: Vec<_> = found.iter().map(|adapter| adapter.get_info()).collect();
        let of_kind = |&kind: &DeviceType| found.iter().find(|info| info.device_type == kind);
        let best = kinds.iter().find_map(of_kind);
        let is_as_good = |&index: &usize| {
            let info: &AdapterInfo = &found[index];
            best.is_some_and(|best| info.device_type == best.device_type && info.backend == best.backend)
        };
        let good: Vec<_> = (0..found.len()).filter(is_as_good).collect();
        let name;
        if good.len() > 1 {
            name = good[rank_on_machine % good.len()].to_string();
            backend = Backend::Adapter { backends, name: &name };
        }
        let broad_phase = block_on(BroadPhase::with_backend(descriptor, backend));
        broad_phase.map(Self).map_err(|error| error.to_string())
    }

    pub fn read_boxes(&self, buffer: &Buffer, count: usize) -> Result<Vec<Aabb>, String> {
        let on_device = self.0.device().zip(self.0.queue());
        let (device, queue) = on_device.ok_or("a rank on the CPU has no buffers")?;
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
        let (done, result) = mpsc::channel();
        DownloadBuffer::read_buffer(device, queue, &buffer.slice(..bytes), move |read| {
            // Sending fails if the device was lost, because the receiver is dropped.
            let _ = done.send(read.map(|bytes| bytemuck::pod_collect_to_vec(&bytes)));
        });
        device
            .poll(PollType::wait_indefinitely())
            .map_err(|error| error.to_string())?;
        let read = result.recv().map_err(|_| "the device is lost")?;
        read.map_err(|error| error.to_string())
    }

    pub fn step(&mut self, pairs: bool, scene: &Scene<'_>) -> Result<StepResult, String> {
        let descriptor = BroadPhaseDescriptor {
            pairs,
            label: None,
            pair_filter: None,
            ..self.0.descriptor()
        };
        if descriptor != self.0.descriptor() {
            self.0.set_descriptor(&descriptor).map_err(|error| error.to_string())?;
        }
        block_on(self.0.step_scene(scene)).map_err(|error| error.to_string())
    }

    pub fn ask(&mut self, input: &QueryInput<'_>) -> Result<StepResult, String> {
        block_on(self.0.query(input)).map_err(|error| error.to_string())
    }
}
