use std::collections::HashMap;

use bevy::app::{App, PostUpdate};
use bevy::color::Srgba;
use bevy::core_pipeline::schedule::{Core2d, Core2dSystems, Core3d, Core3dSystems};
use bevy::ecs::change_detection::DetectChanges;
use bevy::ecs::query::With;
use bevy::ecs::resource::Resource;
use bevy::ecs::schedule::IntoScheduleConfigs;
use bevy::ecs::system::{Local, Res, ResMut};
use bevy::render::camera::ExtractedCamera;
use bevy::render::renderer::{RenderContext, RenderDevice, ViewQuery};
use bevy::render::view::{ExtractedView, Msaa, ViewDepthStencilTexture, ViewTarget, ViewUniformOffset, ViewUniforms};
use bevy::render::{Extract, ExtractSchedule, RenderApp};
use gpu_broad_phase::{DebugDraw, DebugLines, DebugOutput, wgpu};

use crate::render;
use crate::schedule::BroadPhaseSystems;
use crate::state::BroadPhase;

/// Lines to draw in all 2D and 3D cameras. Default: none. The GPU creates them, so none are drawn while steps run on
/// the CPU.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct BroadPhaseGizmos {
    /// Colour of entities' boxes.
    pub boxes: Option<Srgba>,
    /// True to draw the cells that entities are sorted into. Each level has its own colour.
    pub cells: bool,
    /// Colour of lines between centres of overlapping boxes. `None` draws none.
    pub pairs: Option<Srgba>,
    /// Largest number of lines of each kind. A line takes 32 bytes.
    pub max_lines: u32,
}

impl Default for BroadPhaseGizmos {
    fn default() -> Self {
        Self {
            boxes: None,
            cells: false,
            pairs: None,
            max_lines: 1_000_000,
        }
    }
}

#[derive(Resource, Default)]
struct FrameLines(Vec<DebugOutput>);

pub(crate) fn build(app: &mut App) {
    app.init_resource::<BroadPhaseGizmos>()
        .add_systems(PostUpdate, ask.after(BroadPhaseSystems::Collect));
}

pub(crate) fn build_render(app: &mut App) {
    if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
        render_app
            .init_resource::<FrameLines>()
            .add_systems(ExtractSchedule, extract.after(render::step))
            .add_systems(
                Core3d,
                draw.after(Core3dSystems::MainPass)
                    .before(Core3dSystems::EarlyPostProcess),
            )
            .add_systems(
                Core2d,
                draw.after(Core2dSystems::MainPass)
                    .before(Core2dSystems::EarlyPostProcess),
            );
    }
}

fn ask(gizmos: Res<BroadPhaseGizmos>, mut broad_phase: ResMut<BroadPhase>) {
    let BroadPhaseGizmos {
        boxes,
        cells,
        pairs,
        max_lines,
    } = *gizmos;
    let Some(gpu) = broad_phase.engine.gpu_mut() else {
        return;
    };
    // Cells have their own colours, so only this alpha is used.
    let cells = cells.then_some(Srgba::new(0.0, 0.0, 0.0, 0.6));
    let kinds = [
        (DebugLines::Cells { levels: !0 }, cells),
        (DebugLines::StaticCells { levels: !0 }, cells),
        (DebugLines::Boxes, boxes),
        (DebugLines::Pairs, pairs),
    ];
    let requested = kinds
        .into_iter()
        .filter_map(|(lines, color)| Some((lines, color?)))
        .collect();
    gpu.lines.requested = (requested, max_lines);
}

fn extract(broad_phase: Extract<Res<BroadPhase>>, mut lines: ResMut<FrameLines>) {
    let gpu = broad_phase.engine.gpu();
    lines.0 = gpu.map_or_else(Vec::new, |gpu| gpu.lines.outputs().to_vec());
}

type View = (
    &'static ExtractedCamera,
    &'static ExtractedView,
    &'static ViewTarget,
    &'static ViewDepthStencilTexture,
    &'static ViewUniformOffset,
    &'static Msaa,
);

struct Pipelines {
    device: wgpu::Device,
    layout: wgpu::BindGroupLayout,
    of_targets: HashMap<(wgpu::TextureFormat, wgpu::TextureFormat, u32), wgpu::RenderPipeline>,
}

fn draw(
    view: ViewQuery<View, With<ExtractedCamera>>,
    lines: Res<FrameLines>,
    device: Res<RenderDevice>,
    uniforms: Res<ViewUniforms>,
    mut pipelines: Local<Option<Pipelines>>,
    mut context: RenderContext,
) {
    if device.is_changed() {
        *pipelines = None;
    }
    let Some(uniforms) = uniforms.uniforms.binding() else {
        return;
    };
    if lines.0.is_empty() {
        return;
    }
    let (camera, view, target, depth, offset, msaa) = view.into_inner();
    let device = device.wgpu_device();
    let pipelines = pipelines.get_or_insert_with(|| Pipelines::new(device));
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("gpu_broad_phase/bevy/lines"),
        layout: &pipelines.layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: uniforms,
        }],
    });
    let pipeline = pipelines.of_target(view.target_format, depth.texture().format(), msaa.samples());
    let mut pass = context
        .command_encoder()
        .begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("gpu_broad_phase/bevy/lines"),
            color_attachments: &[Some(target.get_color_attachment())],
            depth_stencil_attachment: Some(depth.get_attachment(wgpu::StoreOp::Store)),
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
    if let Some(viewport) = &camera.viewport {
        let ([x, y], [width, height]) = (
            viewport.physical_position.as_vec2().to_array(),
            viewport.physical_size.as_vec2().to_array(),
        );
        pass.set_viewport(x, y, width, height, viewport.depth.start, viewport.depth.end);
    }
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &group, &[offset.offset]);
    for lines in &lines.0 {
        pass.set_vertex_buffer(0, lines.vertices.slice(..));
        pass.draw_indirect(&lines.args, 0);
    }
}

impl Pipelines {
    fn new(device: &wgpu::Device) -> Self {
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("gpu_broad_phase/bevy/lines"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        Self {
            device: device.clone(),
            layout,
            of_targets: HashMap::new(),
        }
    }

    fn of_target(
        &mut self,
        color: wgpu::TextureFormat,
        depth: wgpu::TextureFormat,
        samples: u32,
    ) -> &wgpu::RenderPipeline {
        let Self {
            device,
            layout,
            of_targets,
        } = self;
        of_targets.entry((color, depth, samples)).or_insert_with(|| {
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some("gpu_broad_phase/bevy/lines"),
                source: wgpu::ShaderSource::Wgsl(include_str!("lines.wgsl").into()),
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("gpu_broad_phase/bevy/lines"),
                bind_group_layouts: &[Some(layout)],
                immediate_size: 0,
            });
            let target = wgpu::ColorTargetState {
                format: color,
                blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            };
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some("gpu_broad_phase/bevy/lines"),
                layout: Some(&pipeline_layout),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some("vertex"),
                    compilation_options: Default::default(),
                    buffers: &[Some(DebugDraw::VERTICES)],
                },
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::LineList,
                    ..Default::default()
                },
                // Bevy's depth is reversed: 1 is near.
                depth_stencil: Some(wgpu::DepthStencilState {
                    format: depth,
                    depth_write_enabled: Some(false),
                    depth_compare: Some(wgpu::CompareFunction::GreaterEqual),
                    stencil: Default::default(),
                    bias: Default::default(),
                }),
                multisample: wgpu::MultisampleState {
                    count: samples,
                    ..Default::default()
                },
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some("fragment"),
                    compilation_options: Default::default(),
                    targets: &[Some(target)],
                }),
                multiview_mask: None,
                cache: None,
            })
        })
    }
}
