//! 50,000 moving entities, coloured by their overlaps. Pairs never leave the device: a compute pass of the render graph
//! counts them per object, and boxes are drawn from the step's buffers.
//!
//! `cargo run --release --example overlaps`, or `-- --screenshot FILE.png` without a window.

mod shared;

use bevy::core_pipeline::schedule::camera_driver;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderGraph};
use bevy_gpu_broad_phase::gpu_broad_phase::wgpu;
use bevy_gpu_broad_phase::{BroadPhaseObject, BroadPhaseOutput, GpuBroadPhasePlugin, Overlaps};
use shared::{Boxes, BoxesPlugin, Drawn, Target, noise};

#[derive(Component)]
struct Orbit {
    radius: f32,
    height: f32,
    angle: f32,
    speed: f32,
}

fn main() {
    let mut app = shared::app("overlaps", 30);
    app.add_plugins((GpuBroadPhasePlugin::default(), BoxesPlugin))
        .add_systems(Startup, spawn)
        .add_systems(Update, (orbit, tell));
    app.sub_app_mut(RenderApp)
        .add_systems(RenderGraph, color.before(camera_driver));
    app.run();
}

fn spawn(mut commands: Commands, target: Res<Target>) {
    let eye = Transform::from_xyz(0.0, 38.0, 82.0).looking_at(Vec3::new(0.0, -12.0, 20.0), Vec3::Y);
    commands.spawn((shared::camera(&target), eye));
    let bounds = bevy::camera::primitives::Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5));
    let count = shared::count(50_000) as u32;
    let entity = move |index: u32| {
        let of = |what: u32| noise(index * 8 + what);
        let orbit = Orbit {
            radius: 8.0 + 80.0 * of(0).sqrt(),
            height: 16.0 * (of(1) + of(2) - 1.0),
            angle: of(3) * std::f32::consts::TAU,
            speed: 0.2 * (of(4) - 0.3),
        };
        let size = Vec3::new(of(5), of(6), of(7)) * 1.1 + 0.3;
        (orbit, BroadPhaseObject, bounds, Transform::from_scale(size))
    };
    commands.spawn_batch((0..count).map(entity));
}

fn orbit(mut all: Query<(&Orbit, &mut Transform)>, time: Res<Time>) {
    let now = time.elapsed_secs();
    all.par_iter_mut().for_each(|(orbit, mut transform)| {
        let (sin, cos) = (orbit.angle + now * orbit.speed).sin_cos();
        transform.translation = Vec3::new(orbit.radius * cos, orbit.height, orbit.radius * sin);
    });
}

fn tell(overlaps: Res<Overlaps>, mut frame: Local<u32>) {
    *frame += 1;
    if frame.is_multiple_of(60) {
        info!("{} pairs overlap", overlaps.len());
    }
}

struct Coloring {
    count: wgpu::ComputePipeline,
    paint: wgpu::ComputePipeline,
    colors: wgpu::Buffer,
}

fn color(
    mut context: RenderContext,
    device: Res<RenderDevice>,
    output: Option<Res<BroadPhaseOutput>>,
    mut drawn: ResMut<Drawn>,
    mut coloring: Local<Option<Coloring>>,
) {
    let Some(output) = output else {
        return;
    };
    let device = device.wgpu_device();
    let Some(pairs) = &output.step.pairs else {
        return;
    };
    let objects = output.entities.object_count();
    let coloring = coloring.get_or_insert_with(|| {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("coloring"),
            source: wgpu::ShaderSource::Wgsl(include_str!("overlaps.wgsl").into()),
        });
        let pipeline = |entry| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: None,
                module: &module,
                entry_point: Some(entry),
                compilation_options: Default::default(),
                cache: None,
            })
        };
        let colors = shared::buffer(device, "colors", 4 * u64::from(objects));
        Coloring {
            count: pipeline("count"),
            paint: pipeline("paint"),
            colors,
        }
    });
    if coloring.colors.size() < 4 * u64::from(objects) {
        coloring.colors = shared::buffer(device, "colors", 4 * u64::from(objects).next_power_of_two());
    }
    let buffers = [&pairs.buffer, &output.step.counters, &coloring.colors];
    let encoder = context.command_encoder();
    encoder.clear_buffer(&coloring.colors, 0, None);
    // Each invocation handles several rows.
    for (pipeline, bindings, groups) in [
        (&coloring.count, &[0, 1, 2][..], pairs.capacity.div_ceil(64).min(4096)),
        (&coloring.paint, &[2][..], objects.div_ceil(64).min(4096)),
    ] {
        let entries: Vec<_> = bindings
            .iter()
            .map(|&binding| wgpu::BindGroupEntry {
                binding: binding as u32,
                resource: buffers[binding].as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("coloring"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups.max(1), 1, 1);
    }
    drawn.0 = vec![Boxes {
        bounds: output.objects.clone(),
        colors: coloring.colors.clone(),
        count: objects,
        are_turned: false,
    }];
}
