//! 20,000 agents that exist only on the device and fly between entities. A compute pass of the render graph queries the
//! step's table for entities near each agent. Nothing is read back.
//!
//! `cargo run --release --example swarm`, or `-- --screenshot FILE.png` without a window.

mod shared;

use bevy::core_pipeline::schedule::camera_driver;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderGraph, RenderQueue};
use bevy_gpu_broad_phase::gpu_broad_phase::{TableShader, wgpu};
use bevy_gpu_broad_phase::{BroadPhaseObject, BroadPhaseOutput, GpuBroadPhasePlugin};
use shared::{Boxes, BoxesPlugin, Drawn, Target, noise};

const AGENTS: u32 = 20_000;

#[derive(Component)]
struct Pillar {
    phase: f32,
}

fn main() {
    let mut app = shared::app("swarm", 120);
    app.add_plugins((GpuBroadPhasePlugin::default(), BoxesPlugin))
        .add_systems(Startup, spawn)
        .add_systems(Update, bob);
    app.sub_app_mut(RenderApp)
        .add_systems(RenderGraph, fly.before(camera_driver));
    app.run();
}

fn spawn(mut commands: Commands, target: Res<Target>) {
    let eye = Transform::from_xyz(0.0, 42.0, 62.0).looking_at(Vec3::new(0.0, -4.0, 0.0), Vec3::Y);
    commands.spawn((shared::camera(&target), eye));
    let bounds = bevy::camera::primitives::Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5));
    let count = shared::count(500) as u32;
    commands.spawn_batch((0..count).map(move |index| {
        let of = |what: u32| noise(index * 8 + what);
        let at = Vec3::new(of(0) - 0.5, 0.0, of(1) - 0.5) * 90.0;
        let size = Vec3::new(1.2 + 2.0 * of(2), 3.0 + 9.0 * of(3), 1.2 + 2.0 * of(4));
        let transform = Transform::from_translation(at).with_scale(size);
        (Pillar { phase: of(5) * 6.0 }, BroadPhaseObject, bounds, transform)
    }));
}

fn bob(mut all: Query<(&Pillar, &mut Transform)>, time: Res<Time>) {
    for (pillar, mut transform) in &mut all {
        transform.translation.y = 3.0 * (time.elapsed_secs() + pillar.phase).sin() - 4.0;
    }
}

struct Swarm {
    table: TableShader,
    table_layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
    /// Position and velocity of each agent, as two `vec4f`.
    agents: wgpu::Buffer,
    bounds: wgpu::Buffer,
    colors: wgpu::Buffer,
    pillars: wgpu::Buffer,
}

impl Swarm {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue, output: &BroadPhaseOutput) -> Self {
        let table = TableShader::new(&output.descriptor, "bp_", 1).expect("a prefix of letters");
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("swarm"),
            source: wgpu::ShaderSource::Wgsl(format!("{}{}", table.source(), include_str!("swarm.wgsl")).into()),
        });
        let own = |binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: false },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let own_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("swarm"),
            entries: &[own(0), own(1), own(2)],
        });
        let table_layout = table.layout(device, wgpu::ShaderStages::COMPUTE);
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("swarm"),
            bind_group_layouts: &[Some(&own_layout), Some(&table_layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("swarm"),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("fly"),
            compilation_options: Default::default(),
            cache: None,
        });
        let agents = shared::buffer(device, "agents", u64::from(AGENTS) * 32);
        let at = |agent: u32| {
            let of = |what: u32| noise(agent * 4 + what + 1_000_000);
            let angle = of(0) * std::f32::consts::TAU;
            let radius = 15.0 + 25.0 * of(1);
            [
                radius * angle.cos(),
                8.0 * of(2),
                radius * angle.sin(),
                1.0,
                -angle.sin() * 0.2,
                0.0,
                angle.cos() * 0.2,
                0.0,
            ]
        };
        let words: Vec<u8> = (0..AGENTS).flat_map(at).flat_map(f32::to_le_bytes).collect();
        queue.write_buffer(&agents, 0, &words);
        let objects = output.entities.object_count();
        let pillars = shared::buffer(device, "colors of pillars", u64::from(objects) * 4);
        let gray = [110, 120, 140, 255].repeat(objects as usize);
        queue.write_buffer(&pillars, 0, &gray);
        Self {
            table,
            table_layout,
            pipeline,
            agents,
            bounds: shared::buffer(device, "boxes of agents", u64::from(AGENTS) * 32),
            colors: shared::buffer(device, "colors of agents", u64::from(AGENTS) * 4),
            pillars,
        }
    }
}

fn fly(
    mut context: RenderContext,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    output: Option<Res<BroadPhaseOutput>>,
    mut drawn: ResMut<Drawn>,
    mut swarm: Local<Option<Swarm>>,
) {
    let Some(output) = output else {
        return;
    };
    let device = device.wgpu_device();
    let swarm = swarm.get_or_insert_with(|| Swarm::new(device, &queue, &output));
    let own: Vec<_> = (0..)
        .zip([&swarm.agents, &swarm.bounds, &swarm.colors])
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    let own = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("swarm"),
        layout: &swarm.pipeline.get_bind_group_layout(0),
        entries: &own,
    });
    let table = swarm
        .table
        .bind(&swarm.table_layout, &output.step.table)
        .expect("the plugin's own table");
    let mut pass = context.command_encoder().begin_compute_pass(&Default::default());
    pass.set_pipeline(&swarm.pipeline);
    pass.set_bind_group(0, &own, &[]);
    pass.set_bind_group(1, &table, &[]);
    pass.dispatch_workgroups(AGENTS.div_ceil(64), 1, 1);
    drop(pass);
    let of_agents = Boxes {
        bounds: swarm.bounds.clone(),
        colors: swarm.colors.clone(),
        count: AGENTS,
        are_turned: false,
    };
    let of_pillars = Boxes {
        bounds: output.objects.clone(),
        colors: swarm.pillars.clone(),
        count: output.entities.object_count(),
        are_turned: false,
    };
    drawn.0 = vec![of_agents, of_pillars];
}
