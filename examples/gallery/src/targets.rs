use glam::UVec2;

use crate::Gpu;

/// Samples per pixel. WebGPU guarantees only 1 and 4.
pub const SAMPLES: u32 = 4;
pub const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

pub struct Targets {
    pub size: UVec2,
    color: wgpu::TextureView,
    depth: wgpu::TextureView,
}

impl Targets {
    pub fn new(gpu: &Gpu, size: UVec2) -> Self {
        let view = |label, format| {
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: extent(size),
                mip_level_count: 1,
                sample_count: SAMPLES,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            size,
            color: view("samples", gpu.format),
            depth: view("depth", DEPTH_FORMAT),
        }
    }

    pub fn color<'t>(
        &'t self,
        resolved: &'t wgpu::TextureView,
        background: wgpu::Color,
    ) -> wgpu::RenderPassColorAttachment<'t> {
        wgpu::RenderPassColorAttachment {
            view: &self.color,
            depth_slice: None,
            resolve_target: Some(resolved),
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(background),
                store: wgpu::StoreOp::Discard,
            },
        }
    }

    pub fn depth(&self) -> wgpu::RenderPassDepthStencilAttachment<'_> {
        wgpu::RenderPassDepthStencilAttachment {
            view: &self.depth,
            depth_ops: Some(wgpu::Operations {
                load: wgpu::LoadOp::Clear(1.0),
                store: wgpu::StoreOp::Discard,
            }),
            stencil_ops: None,
        }
    }
}

pub fn extent(size: UVec2) -> wgpu::Extent3d {
    wgpu::Extent3d {
        width: size.x,
        height: size.y,
        depth_or_array_layers: 1,
    }
}
