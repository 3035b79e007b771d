//! An app that draws boxes from buffers, into a window or a picture.

use std::path::PathBuf;
use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::asset::RenderAssetUsages;
use bevy::camera::RenderTarget;
use bevy::core_pipeline::schedule::{Core3d, Core3dSystems};
use bevy::core_pipeline::tonemapping::{DebandDither, Tonemapping};
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::camera::ExtractedCamera;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::renderer::{RenderContext, RenderDevice, ViewQuery};
use bevy::render::view::screenshot::{Screenshot, save_to_disk};
use bevy::render::view::{ExtractedView, Msaa, ViewDepthStencilTexture, ViewTarget, ViewUniformOffset, ViewUniforms};
use bevy::window::ExitCondition;
use bevy::winit::WinitPlugin;
use bevy_gpu_broad_phase::gpu_broad_phase::wgpu;

const PICTURE: UVec2 = UVec2::new(640, 360);

#[derive(Resource, Clone)]
struct Picture {
    file: PathBuf,
    frames: u32,
    target: Handle<Image>,
}

#[derive(Resource, Clone, Default)]
pub struct Target(pub RenderTarget);

/// An app with Bevy's plugins. `--screenshot FILE` saves the last frame without a window. `--frames N` sets the number
/// of frames, `--count N` the number of entities.
pub fn app(title: &str, frames: u32) -> App {
    let mut app = App::new();
    let plugins = DefaultPlugins.build();
    let Some(file) = option("--screenshot") else {
        let window = Window {
            title: title.into(),
            ..default()
        };
        app.add_plugins(plugins.set(WindowPlugin {
            primary_window: Some(window),
            ..default()
        }));
        return app.init_resource::<Target>().take();
    };
    let window = WindowPlugin {
        primary_window: None,
        exit_condition: ExitCondition::DontExit,
        ..default()
    };
    app.add_plugins(plugins.set(window).disable::<WinitPlugin>());
    app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::ZERO));
    let mut image = Image::new_target_texture(PICTURE.x, PICTURE.y, TextureFormat::Rgba8UnormSrgb, None);
    image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    image.asset_usage = RenderAssetUsages::default();
    let target = app.world_mut().resource_mut::<Assets<Image>>().add(image);
    let frames = option("--frames").map_or(frames, |frames| frames.parse().expect("a number of frames"));
    app.insert_resource(Target(RenderTarget::Image(target.clone().into())))
        .insert_resource(Picture {
            file: file.into(),
            frames,
            target,
        })
        // A fixed time step: fast, and the same in each run.
        .insert_resource(bevy::time::TimeUpdateStrategy::ManualDuration(Duration::from_millis(
            16,
        )))
        .add_systems(Update, take_picture);
    app.take()
}

/// 3D camera without tone mapping and dithering, because both need another Bevy feature.
pub fn camera(target: &Target) -> impl Bundle {
    (
        Camera3d::default(),
        Tonemapping::None,
        DebandDither::Disabled,
        target.0.clone(),
    )
}

pub fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

pub fn count(default: usize) -> usize {
    option("--count").map_or(default, |count| count.parse().expect("a number of entities"))
}

fn take_picture(
    picture: Res<Picture>,
    device: Res<RenderDevice>,
    mut frame: Local<u32>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    *frame += 1;
    // Without a window, nothing limits the frame rate, so a slow device would fall behind.
    _ = device.wgpu_device().poll(wgpu::PollType::wait_indefinitely());
    if *frame == picture.frames {
        commands
            .spawn(Screenshot::image(picture.target.clone()))
            .observe(save_to_disk(picture.file.clone()));
    }
    if *frame > picture.frames + 20 {
        exit.write(AppExit::Success);
    }
}

trait Take {
    fn take(&mut self) -> App;
}

impl Take for App {
    fn take(&mut self) -> App {
        std::mem::replace(self, App::empty())
    }
}

/// Buffers of boxes: a `gpu_broad_phase::Aabb` and an RGBA colour of four bytes each.
#[derive(Clone)]
pub struct Boxes {
    pub bounds: wgpu::Buffer,
    pub colors: wgpu::Buffer,
    pub count: u32,
    /// True if the layers of boxes are rotations about their centres, as four signed bytes.
    pub are_turned: bool,
}

/// Boxes that 3D cameras draw. A system in `RenderGraph` sets them.
#[derive(Resource, Default)]
pub struct Drawn(pub Vec<Boxes>);

pub struct BoxesPlugin;

impl Plugin for BoxesPlugin {
    fn build(&self, app: &mut App) {
        app.sub_app_mut(RenderApp).init_resource::<Drawn>().add_systems(
            Core3d,
            draw.after(Core3dSystems::MainPass)
                .before(Core3dSystems::EarlyPostProcess),
        );
    }
}

type View = (
    &'static ExtractedCamera,
    &'static ExtractedView,
    &'static ViewTarget,
    &'static ViewDepthStencilTexture,
    &'static ViewUniformOffset,
    &'static Msaa,
);

fn draw(
    view: ViewQuery<View>,
    drawn: Res<Drawn>,
    device: Res<RenderDevice>,
    uniforms: Res<ViewUniforms>,
    mut pipelines: Local<Option<[wgpu::RenderPipeline; 2]>>,
    mut context: RenderContext,
) {
    let (_, view, target, depth, offset, msaa) = view.into_inner();
    let Some(uniforms) = uniforms.uniforms.binding() else {
        return;
    };
    let device = device.wgpu_device();
    let pipelines = pipelines.get_or_insert_with(|| {
        let make = |turns| {
            make_pipeline(
                device,
                view.target_format,
                depth.texture().format(),
                msaa.samples(),
                turns,
            )
        };
        [false, true].map(make)
    });
    let layout = pipelines[0].get_bind_group_layout(0);
    let groups: Vec<_> = (drawn.0.iter())
        .map(|boxes| {
            let resources = [
                uniforms.clone(),
                boxes.bounds.as_entire_binding(),
                boxes.colors.as_entire_binding(),
            ];
            let entries: Vec<_> = (0..)
                .zip(resources)
                .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
                .collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("boxes"),
                layout: &layout,
                entries: &entries,
            })
        })
        .collect();
    let mut pass = context
        .command_encoder()
        .begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("boxes"),
            color_attachments: &[Some(target.get_color_attachment())],
            depth_stencil_attachment: Some(depth.get_attachment(wgpu::StoreOp::Store)),
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
    for (boxes, group) in drawn.0.iter().zip(&groups) {
        pass.set_pipeline(&pipelines[usize::from(boxes.are_turned)]);
        pass.set_bind_group(0, group, &[offset.offset]);
        pass.draw(0..36, 0..boxes.count);
    }
}

fn make_pipeline(
    device: &wgpu::Device,
    color: wgpu::TextureFormat,
    depth: wgpu::TextureFormat,
    samples: u32,
    turns: bool,
) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("boxes"),
        source: wgpu::ShaderSource::Wgsl(include_str!("boxes.wgsl").into()),
    });
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: binding == 0,
            min_binding_size: None,
        },
        count: None,
    };
    let storage = wgpu::BufferBindingType::Storage { read_only: true };
    let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("boxes"),
        entries: &[
            entry(0, wgpu::BufferBindingType::Uniform),
            entry(1, storage),
            entry(2, storage),
        ],
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("boxes"),
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("boxes"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vertex"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[("ARE_TURNED", f64::from(u8::from(turns)))],
                ..Default::default()
            },
            buffers: &[],
        },
        primitive: Default::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: depth,
            depth_write_enabled: Some(true),
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
            targets: &[Some(color.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

pub fn buffer(device: &wgpu::Device, label: &str, bytes: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.max(16).next_multiple_of(16),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    })
}

pub fn noise(seed: u32) -> f32 {
    let mut bits = seed.wrapping_mul(0x9e37_79b9) ^ 0x5bf0_3635;
    for _ in 0..2 {
        bits = (bits ^ (bits >> 16)).wrapping_mul(0x045d_9f3b);
    }
    ((bits ^ (bits >> 16)) >> 8) as f32 / (1 << 24) as f32
}
