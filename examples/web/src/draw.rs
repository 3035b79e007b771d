use glam::UVec2;
use gpu_broad_phase::{DebugDraw, Dimensions};

use crate::finder::ToDraw;
use crate::gpu::Gpu;
use crate::params::shader;

/// Colour in sRGB.
const BACKGROUND: wgpu::Color = wgpu::Color {
    r: 0.031,
    g: 0.041,
    b: 0.064,
    a: 1.0,
};
const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

pub struct Draw {
    dimensions: Dimensions,
    boxes: wgpu::RenderPipeline,
    hits: wgpu::RenderPipeline,
    closest: wgpu::RenderPipeline,
    ray: wgpu::RenderPipeline,
    lines: wgpu::RenderPipeline,
    cells: Option<wgpu::RenderPipeline>,
    targets: Option<Targets>,
}

struct Targets {
    size: UVec2,
    color: wgpu::TextureView,
    depth: wgpu::TextureView,
}

impl Targets {
    fn new(gpu: &Gpu, size: UVec2) -> Self {
        let view = |label, format| {
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d {
                    width: size.x,
                    height: size.y,
                    depth_or_array_layers: 1,
                },
                mip_level_count: 1,
                sample_count: SAMPLES_3D,
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
}

const SAMPLES_3D: u32 = 4;

/// Default: blended, and depth tested in 3D.
#[derive(Clone, Copy, Default)]
struct State {
    topology: wgpu::PrimitiveTopology,
    cull_mode: Option<wgpu::Face>,
    no_depth: bool,
}

impl Draw {
    pub fn new(gpu: &Gpu, dimensions: Dimensions) -> Self {
        let is_flat = dimensions == Dimensions::Two;
        let text = if is_flat {
            shader!("colors.wgsl", "flat.wgsl")
        } else {
            shader!("colors.wgsl", "deep.wgsl")
        };
        let module = gpu.shader("draw", text);
        let pipeline = |name: &str, buffers: &[wgpu::VertexBufferLayout<'_>], state: State| {
            let depth_compare = if state.no_depth {
                wgpu::CompareFunction::Always
            } else {
                wgpu::CompareFunction::Less
            };
            gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(name),
                layout: None,
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some(&format!("{name}_vertex")),
                    compilation_options: Default::default(),
                    buffers: &buffers.iter().cloned().map(Some).collect::<Vec<_>>(),
                },
                primitive: wgpu::PrimitiveState {
                    topology: state.topology,
                    cull_mode: state.cull_mode,
                    ..Default::default()
                },
                depth_stencil: (!is_flat).then(|| wgpu::DepthStencilState {
                    format: DEPTH_FORMAT,
                    depth_write_enabled: Some(!state.no_depth),
                    depth_compare: Some(depth_compare),
                    stencil: Default::default(),
                    bias: Default::default(),
                }),
                multisample: wgpu::MultisampleState {
                    count: if is_flat { 1 } else { SAMPLES_3D },
                    ..Default::default()
                },
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(&format!("{name}_fragment")),
                    compilation_options: Default::default(),
                    targets: &[Some(wgpu::ColorTargetState {
                        format: gpu.format,
                        blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let culls = |face| State {
            cull_mode: (!is_flat).then_some(face),
            ..State::default()
        };
        let lines = State {
            topology: wgpu::PrimitiveTopology::LineList,
            ..State::default()
        };
        let over_all = State {
            no_depth: true,
            ..culls(wgpu::Face::Back)
        };
        Self {
            dimensions,
            boxes: pipeline("box", &[], culls(wgpu::Face::Back)),
            hits: pipeline("hit", &[], culls(wgpu::Face::Front)),
            closest: pipeline("closest", &[], over_all),
            ray: pipeline(
                "ray",
                &[],
                State {
                    no_depth: true,
                    ..State::default()
                },
            ),
            lines: pipeline("line", &[DebugDraw::VERTICES], lines),
            cells: is_flat.then(|| pipeline("cell", &[], State::default())),
            targets: None,
        }
    }

    pub fn record(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        frame: &wgpu::Texture,
        params: &wgpu::Buffer,
        boxes: (&wgpu::Buffer, u32),
        found: &ToDraw,
    ) {
        let size = UVec2::new(frame.width(), frame.height());
        let is_flat = self.dimensions == Dimensions::Two;
        if !is_flat && self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets = Some(Targets::new(gpu, size));
        }
        let (boxes, count) = boxes;
        let group = |pipeline: &wgpu::RenderPipeline, buffers: &[(u32, &wgpu::Buffer)]| {
            gpu.bind_group(&pipeline.get_bind_group_layout(0), buffers)
        };
        let of_params = (0, params);
        let of_box = group(&self.boxes, &[of_params, (1, boxes), (2, &found.overlaps)]);
        let of_hit = group(&self.hits, &[of_params, (1, boxes), (4, &found.hits)]);
        let of_closest = group(&self.closest, &[of_params, (1, boxes), (3, &found.found)]);
        let of_ray = group(&self.ray, &[of_params, (3, &found.found)]);
        let of_lines = group(&self.lines, &[of_params]);
        let ray_cells = found.ray_cells.as_ref();
        let fill = self.cells.as_ref().zip(ray_cells);
        let fill = fill.map(|(fill, lines)| (fill, group(fill, &[of_params, (5, &lines.vertices)]), lines));
        let view = frame.create_view(&wgpu::TextureViewDescriptor::default());
        let targets = self.targets.as_ref().filter(|_| !is_flat);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("draw"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: targets.map_or(&view, |targets| &targets.color),
                depth_slice: None,
                resolve_target: targets.map(|_| &view),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(BACKGROUND),
                    store: if is_flat {
                        wgpu::StoreOp::Store
                    } else {
                        wgpu::StoreOp::Discard
                    },
                },
            })],
            depth_stencil_attachment: targets.map(|targets| wgpu::RenderPassDepthStencilAttachment {
                view: &targets.depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        let corners = if is_flat { 6 } else { 36 };
        // In 2D, the cells are drawn first. In 3D, the blended lines are drawn last.
        let draw_boxes = |pass: &mut wgpu::RenderPass<'_>| {
            pass.set_pipeline(&self.boxes);
            pass.set_bind_group(0, &of_box, &[]);
            pass.draw(0..corners, 0..count);
        };
        if !is_flat {
            draw_boxes(&mut pass);
        }
        if let Some((fill, of_fill, lines)) = &fill {
            pass.set_pipeline(fill);
            pass.set_bind_group(0, of_fill, &[]);
            pass.draw_indirect(&lines.args, 0);
        }
        pass.set_pipeline(&self.lines);
        pass.set_bind_group(0, &of_lines, &[]);
        for lines in [found.cells.as_ref(), ray_cells].into_iter().flatten() {
            pass.set_vertex_buffer(0, lines.vertices.slice(..));
            pass.draw_indirect(&lines.args, 0);
        }
        if is_flat {
            draw_boxes(&mut pass);
        }
        pass.set_pipeline(&self.hits);
        pass.set_bind_group(0, &of_hit, &[]);
        pass.draw_indirect(&found.hit_args, 0);
        pass.set_pipeline(&self.ray);
        pass.set_bind_group(0, &of_ray, &[]);
        pass.draw(0..6, 0..if is_flat { 3 } else { 2 });
        pass.set_pipeline(&self.closest);
        pass.set_bind_group(0, &of_closest, &[]);
        pass.draw(0..corners, 0..1);
    }
}
