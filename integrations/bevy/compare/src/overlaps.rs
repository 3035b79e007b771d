use std::collections::BTreeSet;

use avian3d::collider_tree::ColliderTreeDiagnostics;
use avian3d::collision::CollisionDiagnostics;
use avian3d::prelude::{Collider, ContactGraph, PhysicsPlugins, RigidBody, Sensor};
use bevy::camera::primitives::Aabb;
use bevy::prelude::*;
use bevy_gpu_broad_phase::{BroadPhaseDiagnostics, BroadPhaseObject, GpuBroadPhasePlugin, Overlaps};

use crate::{COUNTS, EDGE, Number, app, jostle, place, ready, time};

type Pairs = BTreeSet<[u32; 2]>;

/// Returns `true` if all engines found the same pairs.
pub fn compare(frames: usize) -> bool {
    println!(
        "| entities | pairs | a frame of moving them | + plugin, device | + plugin, CPU | + avian | of that, its trees and broad phase |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    let mut is_same = true;
    for count in COUNTS {
        let mut bare = ready(with_boxes(app(), count, ()));
        let [none, _] = time(&mut bare, frames, |_| 0.0);
        let ours = [false, true].map(|force_cpu| {
            let mut app = app();
            app.add_plugins(GpuBroadPhasePlugin { force_cpu, ..default() });
            let bounds = Aabb::from_min_max(Vec3::splat(-EDGE / 2.0), Vec3::splat(EDGE / 2.0));
            let mut app = ready(with_boxes(app, count, (BroadPhaseObject, bounds)));
            let is_on_gpu = app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu;
            assert_eq!(is_on_gpu, !force_cpu, "a device is needed");
            let [took, _] = time(&mut app, frames, |_| 0.0);
            (took, found(&mut app))
        });
        let mut avian = app();
        avian.add_plugins(PhysicsPlugins::new(PostUpdate));
        let parts = (RigidBody::Kinematic, Collider::cuboid(EDGE, EDGE, EDGE), Sensor);
        let mut avian = ready(with_boxes(avian, count, parts));
        let [took, broad] = time(&mut avian, frames, |app| {
            let world = app.world();
            let (trees, pairs) = (
                world.resource::<ColliderTreeDiagnostics>(),
                world.resource::<CollisionDiagnostics>(),
            );
            (trees.update + trees.optimize + pairs.broad_phase).as_secs_f64() * 1e3
        });
        let theirs = touching(&mut avian);
        println!(
            "| {count} | {} | {none:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {broad:.2} ms |",
            theirs.len(),
            ours[0].0 - none,
            ours[1].0 - none,
            took - none
        );
        for (which, (_, pairs)) in ["device", "CPU"].iter().zip(&ours) {
            if *pairs != theirs {
                println!(
                    "{count}: the {which} found {} pairs, avian {}",
                    pairs.len(),
                    theirs.len()
                );
                is_same = false;
            }
        }
    }
    is_same
}

fn with_boxes(mut app: App, count: u32, parts: impl Bundle + Clone) -> App {
    app.add_systems(Update, jostle);
    for number in 0..count {
        let at = Transform::from_translation(place(number, count));
        app.world_mut().spawn((Number(number), at, parts.clone()));
    }
    app
}

fn number(world: &World, entity: Entity) -> u32 {
    world.get::<Number>(entity).expect("all have one").0
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// Boxes stop moving until these pairs arrive.
fn found(app: &mut App) -> Pairs {
    app.world_mut().resource_mut::<Schedules>().remove(Update);
    for _ in 0..1000 {
        app.update();
        if app.world().resource::<BroadPhaseDiagnostics>().steps_under_way == 0 {
            break;
        }
    }
    app.update();
    let world = app.world();
    let pairs = world.resource::<Overlaps>().iter();
    pairs
        .map(|pair| ordered(pair.map(|entity| number(world, entity))))
        .collect()
}

fn touching(app: &mut App) -> Pairs {
    let world = app.world();
    let pairs = world.resource::<ContactGraph>().iter_active_touching();
    pairs
        .map(|pair| ordered([pair.collider1, pair.collider2].map(|entity| number(world, entity))))
        .collect()
}
