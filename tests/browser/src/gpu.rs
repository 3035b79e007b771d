use std::sync::{Arc, Mutex, PoisonError};

use futures_intrusive::channel::shared::oneshot_channel;
use gpu_broad_phase::{BroadPhaseDescriptor, GpuBroadPhase, Scene, StepResult};

pub struct Gpu {
    pub kind: Kind,
    pub info: wgpu::AdapterInfo,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Keeps the device's pipelines alive between tests.
    _keeper: GpuBroadPhase,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// WebGPU's default limits and no optional feature.
    Plain,
    /// All limits and features of the adapter.
    Rich,
}

/// Returns a new adapter, since a browser's adapter gives only one device.
async fn adapter() -> wgpu::Adapter {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await;
    adapter.expect("an adapter")
}

impl Gpu {
    pub async fn open(kind: Kind) -> Self {
        let adapter = adapter().await;
        let descriptor = match kind {
            Kind::Plain => wgpu::DeviceDescriptor::default(),
            Kind::Rich => GpuBroadPhase::device_descriptor(&adapter),
        };
        let (device, queue) = adapter.request_device(&descriptor).await.expect("a device");
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&complaints);
        let keep = move |error: wgpu::Error| {
            list.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(error.to_string());
        };
        device.on_uncaptured_error(Arc::new(keep));
        let keeper = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default());
        Self {
            kind,
            info: adapter.get_info(),
            device,
            queue,
            complaints,
            _keeper: keeper.expect("pipelines"),
        }
    }

    pub fn check(&self) {
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(complaints.is_empty(), "{:?}: {complaints:?}", self.kind);
    }

    pub fn broad_phase(&self, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
        GpuBroadPhase::new(&self.device, &self.queue, descriptor).expect("pipelines")
    }

    pub fn has_timestamps(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    pub fn poll(&self) {
        let done = self.device.poll(wgpu::PollType::wait_indefinitely());
        if cfg!(not(target_arch = "wasm32")) {
            done.expect("an idle device");
        }
    }

    pub async fn whole(&self, broad_phase: &mut GpuBroadPhase, input: Scene<'_>) -> StepResult {
        for _ in 0..4 {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let step = broad_phase.step(&mut encoder, input);
            step.expect("a step");
            self.queue.submit([encoder.finish()]);
            let result = broad_phase.read_back().await;
            let result = result.expect("a result");
            if result.counters.is_complete() {
                return result;
            }
        }
        panic!("still not whole after four steps");
    }

    pub async fn download(&self, buffer: &wgpu::Buffer) -> Vec<u32> {
        let copy = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: buffer.size(),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = oneshot_channel();
        copy.map_async(wgpu::MapMode::Read, .., move |mapped| {
            sender.send(mapped).expect("a receiver");
        });
        self.poll();
        receiver.receive().await.expect("an answer").expect("a mapped buffer");
        let words = copy.get_mapped_range(..).expect("a mapped range");
        bytemuck::cast_slice(&words).to_vec()
    }
}
