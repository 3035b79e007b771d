//! Boxes under the mouse, for 5,000 entities with `PointerOver` and other events of `bevy_picking`. A hovered box turns
//! yellow, then stays orange. Without a window, a pointer moves through the picture.
//!
//! `cargo run --release --example picking`, or `-- --screenshot FILE.png` without a window. `--features gizmos` adds
//! lines around all boxes.

mod shared;

use bevy::camera::RenderTarget;
use bevy::camera::primitives::Aabb;
use bevy::core_pipeline::schedule::camera_driver;
use bevy::picking::events::{PointerOut, PointerOver};
use bevy::picking::pointer::{Location, PointerId, PointerLocation};
use bevy::prelude::*;
use bevy::render::renderer::{RenderDevice, RenderGraph, RenderQueue};
use bevy::render::{Extract, ExtractSchedule, RenderApp};
use bevy::window::PrimaryWindow;
use bevy_gpu_broad_phase::gpu_broad_phase::wgpu;
use bevy_gpu_broad_phase::{BroadPhaseObject, BroadPhaseOutput, GpuBroadPhasePlugin};
use shared::{Boxes, BoxesPlugin, Drawn, Target, noise};

#[derive(Component, Clone, Copy)]
struct Tint([u8; 4]);

const SLEEPS: Tint = Tint([40, 90, 130, 255]);
const HOVERED: Tint = Tint([255, 235, 120, 255]);
const PASSED: Tint = Tint([240, 110, 40, 255]);

fn main() {
    let mut app = shared::app("picking", 130);
    app.add_plugins((GpuBroadPhasePlugin::default(), BoxesPlugin))
        .add_systems(Startup, spawn)
        .add_systems(Update, (turn, wander))
        .add_observer(|over: On<PointerOver>, mut tints: Query<&mut Tint>| paint(&mut tints, over.entity, HOVERED))
        .add_observer(|out: On<PointerOut>, mut tints: Query<&mut Tint>| paint(&mut tints, out.entity, PASSED));
    #[cfg(feature = "gizmos")]
    app.insert_resource(bevy_gpu_broad_phase::BroadPhaseGizmos {
        boxes: Some(Srgba::new(1.0, 1.0, 1.0, 0.25)),
        ..default()
    });
    app.sub_app_mut(RenderApp)
        .init_resource::<Tints>()
        .add_systems(ExtractSchedule, extract)
        .add_systems(RenderGraph, color.before(camera_driver));
    app.run();
}

fn paint(tints: &mut Query<&mut Tint>, entity: Entity, tint: Tint) {
    if let Ok(mut at) = tints.get_mut(entity) {
        *at = tint;
    }
}

fn spawn(mut commands: Commands, target: Res<Target>) {
    let eye = Transform::from_xyz(0.0, 0.0, 42.0);
    commands.spawn((shared::camera(&target), eye));
    if let RenderTarget::Image(image) = &target.0 {
        let location = Location {
            target: bevy::camera::NormalizedRenderTarget::Image(image.clone()),
            position: Vec2::ZERO,
        };
        // Bevy casts pointers only if a window entity exists. This window never opens.
        commands.spawn((Window::default(), PrimaryWindow));
        commands.spawn((PointerId::Touch(1), PointerLocation::new(location)));
    }
    let bounds = Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5));
    let count = shared::count(5_000) as u32;
    commands.spawn_batch((0..count).map(move |index| {
        let of = |what: u32| noise(index * 8 + what);
        let at = Vec3::new(of(0) - 0.5, of(1) - 0.5, of(2) - 0.5) * Vec3::new(70.0, 40.0, 30.0);
        let size = Vec3::splat(0.5 + 0.7 * of(3));
        (
            SLEEPS,
            BroadPhaseObject,
            bounds,
            Transform::from_translation(at).with_scale(size),
        )
    }));
}

fn turn(mut all: Query<&mut Transform, With<Tint>>) {
    let turn = Quat::from_rotation_y(0.002);
    all.par_iter_mut()
        .for_each(|mut transform| transform.translation = turn * transform.translation);
}

fn wander(mut pointers: Query<&mut PointerLocation, Without<PrimaryWindow>>, mut frame: Local<u32>) {
    *frame += 1;
    for mut pointer in &mut pointers {
        if let Some(location) = &mut pointer.location
            && matches!(location.target, bevy::camera::NormalizedRenderTarget::Image(_))
        {
            let at = *frame as f32 * 0.05;
            location.position = Vec2::new(320.0 + 260.0 * at.sin(), 180.0 + 130.0 * (2.0 * at).sin());
        }
    }
}

#[derive(Resource, Default)]
struct Tints(bevy::ecs::entity::EntityHashMap<[u8; 4]>);

fn extract(changed: Extract<Query<(Entity, &Tint), Changed<Tint>>>, mut tints: ResMut<Tints>) {
    tints.0.extend(changed.iter().map(|(entity, tint)| (entity, tint.0)));
}

/// Uploads one colour per object, in the object order of the step.
fn color(
    tints: Res<Tints>,
    output: Option<Res<BroadPhaseOutput>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut drawn: ResMut<Drawn>,
    mut colors: Local<Option<wgpu::Buffer>>,
) {
    let Some(output) = output else {
        return;
    };
    let count = output.entities.object_count();
    let of = |object| {
        output
            .entities
            .entity(object)
            .and_then(|entity| tints.0.get(&entity))
            .copied()
    };
    let bytes: Vec<u8> = (0..count).flat_map(|object| of(object).unwrap_or_default()).collect();
    let is_large = |buffer: &wgpu::Buffer| buffer.size() >= bytes.len() as u64;
    let buffer = match colors.take().filter(is_large) {
        Some(buffer) => buffer,
        None => shared::buffer(device.wgpu_device(), "colors", bytes.len() as u64),
    };
    queue.write_buffer(&buffer, 0, &bytes);
    drawn.0 = vec![Boxes {
        bounds: output.objects.clone(),
        colors: buffer.clone(),
        count,
        are_turned: false,
    }];
    *colors = Some(buffer);
}
