use std::collections::HashMap;

use bevy::asset::AssetPlugin;
use bevy::camera::primitives::Aabb;
use bevy::picking::PickingPlugin;
use bevy::picking::PickingSystems;
use bevy::picking::backend::PointerHits;
use bevy::picking::backend::ray::{RayId, RayMap};
use bevy::picking::mesh_picking::ray_cast::{MeshRayCast, MeshRayCastSettings, RayCastVisibility};
use bevy::picking::pointer::PointerId;
use bevy::prelude::*;
use bevy::shape::Ray3d;
use bevy_gpu_broad_phase::{BroadPhaseObject, GpuBroadPhasePlugin};

use crate::{COUNTS, EDGE, Number, app, noise, place, ready, time};

/// Rays to cast. `met` has the closest box of each ray and its distance.
#[derive(Resource, Default)]
struct Rays {
    rays: Vec<Ray3d>,
    met: HashMap<usize, (u32, f32)>,
}

/// Returns `true` if first hits are the same.
pub fn compare(frames: usize) -> bool {
    println!("\n| entities | rays per frame | plugin, device | `MeshRayCast` |");
    println!("|--:|--:|--:|--:|");
    let mut is_same = true;
    for count in COUNTS {
        for rays in [1, 64] {
            let mut ours = app();
            ours.add_plugins((PickingPlugin, GpuBroadPhasePlugin::default()))
                .add_systems(
                    PreUpdate,
                    aim.after(PickingSystems::ProcessInput).before(PickingSystems::Backend),
                )
                .add_systems(Update, note);
            let bounds = Aabb::from_min_max(Vec3::splat(-EDGE / 2.0), Vec3::splat(EDGE / 2.0));
            ours.world_mut().spawn(Camera::default());
            let mut ours = ready(with_boxes(ours, count, rays, |_| (BroadPhaseObject, bounds)));
            let [took, _] = time(&mut ours, frames, |_| 0.0);
            let mut bevy = app();
            bevy.add_plugins(AssetPlugin::default())
                .init_asset::<Mesh>()
                .add_systems(Update, cast);
            let mut mesh = None;
            let mut bevy = ready(with_boxes(bevy, count, rays, |world| {
                let mut meshes = world.resource_mut::<Assets<Mesh>>();
                let mesh = mesh.get_or_insert_with(|| meshes.add(Cuboid::from_length(EDGE)));
                (Mesh3d(mesh.clone()), bounds, Visibility::Visible)
            }));
            let [theirs, _] = time(&mut bevy, frames, |_| 0.0);
            println!("| {count} | {rays} | {took:.2} ms | {theirs:.2} ms |");
            let [ours, theirs] = [&ours, &bevy].map(|app| &app.world().resource::<Rays>().met);
            // If faces are coplanar, any of their boxes may be the first hit.
            let is_alike = |(ray, &(number, distance)): (&usize, &(u32, f32))| {
                let theirs = theirs.get(ray);
                theirs.is_some_and(|&(other, at)| number == other || (distance - at).abs() < 1e-3)
            };
            if ours.len() != theirs.len() || ours.is_empty() || !ours.iter().all(is_alike) {
                println!("{count}: {ours:?} is not {theirs:?}");
                is_same = false;
            }
        }
    }
    is_same
}

fn with_boxes<B: Bundle>(mut app: App, count: u32, rays: u32, mut parts: impl FnMut(&mut World) -> B) -> App {
    let world = app.world_mut();
    for number in 0..count {
        let parts = parts(world);
        world.spawn((Number(number), Transform::from_translation(place(number, count)), parts));
    }
    let ray = |index: u32| {
        let middle = place(index * 17 % count, count);
        let from = Vec3::new(noise(index * 2) - 0.5, noise(index * 2 + 1) - 0.5, 1.0) * 200.0;
        Ray3d::new(middle + from, Dir3::new(-from).expect("it has a length"))
    };
    app.insert_resource(Rays {
        rays: (0..rays).map(ray).collect(),
        ..default()
    });
    app
}

fn aim(rays: Res<Rays>, camera: Single<Entity, With<Camera>>, mut ray_map: ResMut<RayMap>) {
    for (index, &ray) in rays.rays.iter().enumerate() {
        ray_map
            .map
            .insert(RayId::new(*camera, PointerId::Touch(index as u64)), ray);
    }
}

fn note(mut hits: MessageReader<PointerHits>, mut rays: ResMut<Rays>, numbers: Query<&Number>) {
    rays.met.clear();
    for hits in hits.read() {
        if let PointerId::Touch(index) = hits.pointer
            && let Some(number) = hits
                .picks
                .first()
                .and_then(|(entity, hit)| Some((numbers.get(*entity).ok()?.0, hit.depth)))
        {
            rays.met.insert(index as usize, number);
        }
    }
}

fn cast(mut ray_cast: MeshRayCast, mut rays: ResMut<Rays>, numbers: Query<&Number>) {
    let settings = MeshRayCastSettings {
        visibility: RayCastVisibility::Any,
        ..default()
    };
    let Rays { rays, met } = &mut *rays;
    met.clear();
    for (index, &ray) in rays.iter().enumerate() {
        if let Some((entity, hit)) = ray_cast.cast_ray(ray, &settings).first()
            && let Ok(number) = numbers.get(*entity)
        {
            met.insert(index, (number.0, hit.distance));
        }
    }
}
