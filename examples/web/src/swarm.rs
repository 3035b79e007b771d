use glam::Vec3;

use crate::failure::Failure;
use crate::gpu::Gpu;
use crate::params::shader;
use crate::settings::Settings;
use crate::world::{self, Body};

const WORKGROUP: u32 = 64;
/// WebGPU's limit per axis.
const MOST_WORKGROUPS: u32 = 65_535;
/// Boxes per upload, limited because WebAssembly memory never shrinks.
const CHUNK: usize = 1 << 16;

pub struct Swarm {
    pub count: u32,
    /// Half extents of the space.
    pub reach: Vec3,
    pub boxes: wgpu::Buffer,
    bodies: wgpu::Buffer,
    advance: wgpu::ComputePipeline,
}

impl Swarm {
    /// `aspect` is the view's width / height.
    pub async fn new(gpu: &Gpu, settings: &Settings, aspect: f32) -> Result<Self, Failure> {
        let needed = u64::from(settings.boxes) * size_of::<Body>() as u64;
        let limits = gpu.device.limits();
        let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if needed > limit {
            let what = "The boxes";
            return Err(Failure::TooLarge { what, needed, limit });
        }
        let reach = world::reach(settings.dimensions, settings.boxes, aspect);
        let scopes = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation];
        let [memory, validation] = scopes.map(|kind| gpu.device.push_error_scope(kind));
        let [bodies, boxes] = ["bodies", "boxes"].map(|label| gpu.empty(label, needed, wgpu::BufferUsages::empty()));
        let mut all = world::bodies(settings, reach);
        let mut chunk = Vec::with_capacity(CHUNK.min(settings.boxes as usize));
        let mut offset = 0;
        loop {
            chunk.clear();
            chunk.extend(all.by_ref().take(CHUNK));
            if chunk.is_empty() {
                break;
            }
            gpu.queue.write_buffer(&bodies, offset, bytemuck::cast_slice(&chunk));
            offset += size_of_val(chunk.as_slice()) as u64;
        }
        // Closes both error scopes in reverse order, before waiting.
        let told = [validation.pop(), memory.pop()];
        for told in told {
            if let Some(error) = told.await {
                return Err(Failure::NoRoom(error.to_string()));
            }
        }
        let module = gpu.shader("advance", shader!("advance.wgsl"));
        Ok(Self {
            count: settings.boxes,
            reach,
            boxes,
            bodies,
            advance: gpu.compute_pipeline(&module, "advance"),
        })
    }

    pub fn advance(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, params: &wgpu::Buffer) {
        let layout = self.advance.get_bind_group_layout(0);
        let group = gpu.bind_group(&layout, &[(0, params), (1, &self.bodies), (2, &self.boxes)]);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("advance"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.advance);
        pass.set_bind_group(0, &group, &[]);
        let groups = self.count.div_ceil(WORKGROUP);
        let rows = groups.div_ceil(MOST_WORKGROUPS);
        pass.dispatch_workgroups(groups.div_ceil(rows), rows, 1);
    }
}
