use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, GpuBroadPhase, Page, QueryInput, Scene, StepOutput, StepResult, wgpu,
};
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

/// Returns the default descriptor, changed by `set`.
pub fn descriptor<'t>(set: impl FnOnce(&mut BroadPhaseDescriptor<'t>)) -> BroadPhaseDescriptor<'t> {
    let mut descriptor = BroadPhaseDescriptor::default();
    set(&mut descriptor);
    descriptor
}

pub fn scene_of(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: objects.into(),
        ..Scene::default()
    }
}

pub fn queries_of(boxes: &[Aabb]) -> QueryInput<'_> {
    QueryInput {
        queries: boxes.into(),
        ..QueryInput::default()
    }
}

pub fn query(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: QueryInput<'_>) -> StepResult {
    let mut encoder = encoder(adapter);
    broad_phase.query(&mut encoder, input).unwrap();
    adapter.queue.submit([encoder.finish()]);
    read(broad_phase)
}

/// Shows each output from row `first`.
pub fn page(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, first: u32) -> StepResult {
    let [pairs, hits, ray_cells, results] = [first; 4];
    let first = Page {
        pairs,
        hits,
        ray_cells,
        results,
    };
    let mut encoder = encoder(adapter);
    broad_phase.page(&mut encoder, first).unwrap();
    adapter.queue.submit([encoder.finish()]);
    read(broad_phase)
}

pub fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("buffer of the caller"),
        size,
        usage,
        mapped_at_creation: false,
    })
}

pub fn upload<T: bytemuck::Pod>(device: &wgpu::Device, rows: &[T], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer_init(&BufferInitDescriptor {
        label: Some("buffer of the caller"),
        contents: bytemuck::cast_slice(rows),
        usage,
    })
}

/// Waits until the device is idle.
pub fn poll(device: &wgpu::Device) {
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

pub fn compute_pipeline(
    device: &wgpu::Device,
    layout: Option<&wgpu::PipelineLayout>,
    source: String,
) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// Binds whole buffers, from binding 0 on.
pub fn bind(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
    let entries = (0..).zip(buffers).map(|(binding, buffer)| wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    });
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout,
        entries: &entries.collect::<Vec<_>>(),
    })
}

/// Command line that runs the current test again.
pub fn again() -> String {
    let thread = std::thread::current();
    format!("tests/run.sh --test device {}", thread.name().unwrap_or_default())
}
