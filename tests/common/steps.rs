use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, GpuBroadPhase, Scene, StepOutput, StepResult, wgpu};
use pollster::block_on;

#[allow(unused_imports, reason = "each test binary uses a part")]
pub use wild::answers::{RAY_MODES, SCHEMES, by_object, counted, hits_by_ray, lists, sorted};

use super::TestAdapter;

pub fn broad_phase(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
    GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor).unwrap()
}

pub fn encoder(adapter: &TestAdapter) -> wgpu::CommandEncoder {
    adapter.device.create_command_encoder(&Default::default())
}

pub fn record(broad_phase: &mut GpuBroadPhase, encoder: &mut wgpu::CommandEncoder, input: Scene<'_>) -> StepOutput {
    broad_phase.step(encoder, input).unwrap()
}

pub fn submit(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: Scene<'_>) {
    let mut encoder = encoder(adapter);
    record(broad_phase, &mut encoder, input);
    adapter.queue.submit([encoder.finish()]);
}

pub fn read(broad_phase: &mut GpuBroadPhase) -> StepResult {
    block_on(broad_phase.read_back()).unwrap()
}

pub fn download<T: bytemuck::Pod>(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
    bytes: u64,
) -> Vec<T> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap())
}

pub fn whole(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: Scene<'_>) -> StepResult {
    for _ in 0..4 {
        submit(adapter, broad_phase, input);
        let result = read(broad_phase);
        if result.counters.is_complete() {
            return result;
        }
    }
    panic!("still not whole after four steps");
}

pub const INFINITY: f32 = f32::INFINITY;
pub const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);
