use std::collections::VecDeque;

use bevy::ecs::entity_disabling::Disabled;
use bevy::ecs::query::Allow;
use bevy::prelude::*;
use bevy_gpu_broad_phase::{
    BroadPhaseDiagnostics, BroadPhaseObject, GpuBroadPhasePlugin, OverlapEnd, OverlapEventsEnabled, OverlapGroup,
    OverlapLayers, OverlapStart, Overlaps, StaticObject,
};

use crate::common::{Pairs, Random, alone, brute_force, minimal, ordered, rendered, settle, told, unit_box};

#[derive(Resource, Default)]
struct Heard {
    pairs: Pairs,
    messages: usize,
    observed: usize,
    expected: usize,
}

fn listen(
    mut starts: MessageReader<OverlapStart>,
    mut ends: MessageReader<OverlapEnd>,
    listening: Query<(), (With<OverlapEventsEnabled>, Allow<Disabled>)>,
    overlaps: Res<Overlaps>,
    mut heard: ResMut<Heard>,
) {
    let starts: Vec<_> = starts.read().collect();
    for end in ends.read() {
        let begins_again = starts.iter().any(|start| (start.a, start.b) == (end.a, end.b));
        assert_eq!(overlaps.contains(end.a, end.b), begins_again, "{end:?}");
        assert!(
            heard.pairs.remove(&ordered(end.a, end.b)),
            "{end:?} ends and never began"
        );
        heard.messages += 1;
        heard.expected += [end.a, end.b]
            .iter()
            .filter(|&&entity| listening.contains(entity))
            .count();
    }
    for start in starts {
        assert!(overlaps.contains(start.a, start.b), "{start:?}");
        assert!(heard.pairs.insert(ordered(start.a, start.b)), "{start:?} begins twice");
        heard.messages += 1;
        heard.expected += [start.a, start.b]
            .iter()
            .filter(|&&entity| listening.contains(entity))
            .count();
    }
}

fn spawn(world: &mut World, random: &mut Random) -> Entity {
    let transform = Transform::from_translation(random.position(9.0))
        .with_rotation(Quat::from_rotation_y(random.unit() * 6.0))
        .with_scale(Vec3::splat(0.5 + random.unit()));
    let mut entity = world.spawn((BroadPhaseObject, unit_box(), transform, Visibility::Visible));
    match random.below(8) {
        0 => drop(entity.insert(StaticObject)),
        1 => drop(entity.insert(OverlapLayers {
            membership: 1,
            mask: 0b110,
        })),
        2 => drop(entity.insert(OverlapGroup(1 + random.below(3) as u32))),
        3 => drop(entity.insert(OverlapEventsEnabled)),
        _ => {}
    }
    entity.id()
}

fn shake(world: &mut World, all: &mut Vec<Entity>, random: &mut Random, frame: usize) {
    if random.below(4) == 0 || all.len() < 60 {
        for _ in 0..random.below(6) {
            all.push(spawn(world, random));
        }
    }
    if all.len() > 140 || random.below(4) == 0 {
        for _ in 0..random.below(5) {
            if !all.is_empty() {
                let gone = all.swap_remove(random.below(all.len()));
                world.despawn(gone);
            }
        }
    }
    all.retain(|&entity| world.get_entity(entity).is_ok());
    let moved = if frame % 50 < 10 { 0 } else { 20 };
    for _ in 0..moved {
        let entity = all[random.below(all.len())];
        if let Some(mut transform) = world.get_mut::<Transform>(entity) {
            transform.translation = match random.below(40) {
                0 => Vec3::splat(f32::NAN),
                _ => random.position(9.0),
            };
        }
    }
    for _ in 0..3 {
        let (entity, other) = (all[random.below(all.len())], all[random.below(all.len())]);
        let is_ancestor = {
            let mut at = Some(other);
            let mut found = false;
            while let Some(above) = at {
                found |= above == entity;
                at = world.get::<ChildOf>(above).map(ChildOf::parent);
            }
            found
        };
        let mut entity = world.entity_mut(entity);
        match random.below(12) {
            0 if !is_ancestor => drop(entity.insert(ChildOf(other))),
            1 => drop(entity.remove::<ChildOf>()),
            2 => drop(entity.insert(Disabled)),
            3 | 4 => drop(entity.remove::<Disabled>()),
            5 => drop(entity.insert(Visibility::Hidden)),
            6 => drop(entity.remove::<OverlapLayers>()),
            7 => drop(entity.remove::<StaticObject>()),
            8 => drop(entity.insert(StaticObject)),
            9 => drop(entity.remove::<BroadPhaseObject>()),
            10 => drop(entity.insert(BroadPhaseObject)),
            11 if random.below(2) == 0 => drop(entity.remove::<bevy::camera::primitives::Aabb>()),
            _ => drop(entity.insert(unit_box())),
        }
    }
}

fn events_follow(mut app: App, frames: usize, seed: u64) -> usize {
    app.init_resource::<Heard>().add_systems(Update, listen);
    app.world_mut().add_observer(
        |event: On<OverlapStart>, overlaps: Res<Overlaps>, mut heard: ResMut<Heard>| {
            assert_ne!(event.a, event.b);
            assert!(overlaps.contains(event.a, event.b) && overlaps.contains(event.b, event.a));
            heard.observed += 1;
        },
    );
    app.world_mut()
        .add_observer(|event: On<OverlapEnd>, mut heard: ResMut<Heard>| {
            assert_ne!(event.a, event.b);
            heard.observed += 1;
        });
    let (mut random, mut all) = (Random(seed), Vec::new());
    for _ in 0..100 {
        all.push(spawn(app.world_mut(), &mut random));
    }
    // Expected pairs of frames whose events may still arrive.
    let mut expected = VecDeque::from([Pairs::new()]);
    let mut most_behind = 0;
    for frame in 0..frames {
        shake(app.world_mut(), &mut all, &mut random, frame);
        app.update();
        expected.push_back(brute_force(app.world_mut()));
        let now = told(app.world());
        // The pairs must equal those of a frame that is not earlier than the previous match.
        let place = expected.iter().position(|pairs| *pairs == now);
        let place = place.unwrap_or_else(|| panic!("frame {frame}: {} pairs as in no frame", now.len()));
        expected.drain(..place);
        most_behind = most_behind.max(expected.len() - 1);
        assert_eq!(app.world().resource::<Heard>().pairs, now, "messages of frame {frame}");
        wait_if_late(&app, most_behind);
    }
    settle(&mut app);
    assert_eq!(told(app.world()), brute_force(app.world_mut()));
    let heard = app.world().resource::<Heard>();
    assert_eq!(heard.observed, heard.expected);
    assert!(heard.observed > 0);
    assert_eq!(app.world().resource::<BroadPhaseDiagnostics>().leaving, 0);
    heard.messages
}

/// Waits for the device if events are over two frames late, like an app with a window.
fn wait_if_late(app: &App, behind: usize) {
    if behind > 2
        && let Some(device) = app.world().get_resource::<bevy::render::renderer::RenderDevice>()
    {
        device
            .wgpu_device()
            .poll(bevy_gpu_broad_phase::gpu_broad_phase::wgpu::PollType::wait_indefinitely())
            .unwrap();
    }
}

#[test]
fn on_a_device_of_its_own() {
    let _alone = alone();
    let messages = events_follow(minimal(false), 500, 1);
    assert!(messages > 1000, "{messages}");
}

#[test]
fn on_the_cpu() {
    let messages = events_follow(minimal(true), 500, 1);
    assert!(messages > 1000, "{messages}");
}

#[test]
fn on_the_renderers_device() {
    let _alone = alone();
    events_follow(rendered(false, false), 500, 2);
}

#[test]
fn on_the_renderers_device_while_it_draws() {
    let _alone = alone();
    events_follow(rendered(true, false), 500, 3);
}

/// More pairs change than a step copies.
#[test]
fn a_burst_is_made_good() {
    let _alone = alone();
    let mut app = minimal(false);
    app.init_resource::<Heard>().add_systems(Update, listen);
    let side = 80;
    let mut all = Vec::new();
    for at in 0..side * side {
        let at = Vec3::new((at % side) as f32, (at / side) as f32, 0.0) * 0.9;
        all.push(
            app.world_mut()
                .spawn((BroadPhaseObject, unit_box(), Transform::from_translation(at)))
                .id(),
        );
    }
    settle(&mut app);
    let expected = brute_force(app.world_mut());
    assert!(expected.len() > 20_000);
    assert_eq!(told(app.world()), expected);
    let before = app.world().resource::<BroadPhaseDiagnostics>().resyncs;
    assert!(before > 0);
    for (index, &entity) in all.iter().enumerate() {
        app.world_mut().get_mut::<Transform>(entity).unwrap().translation *= 2.0 + index as f32;
    }
    settle(&mut app);
    assert_eq!(told(app.world()), brute_force(app.world_mut()));
    let after = app.world().resource::<BroadPhaseDiagnostics>().resyncs;
    assert!(after > before, "{after} {before}");
    for entity in all {
        app.world_mut().get_mut::<Transform>(entity).unwrap().translation = Vec3::ZERO;
        app.world_mut()
            .entity_mut(entity)
            .insert(OverlapLayers { membership: 1, mask: 2 });
    }
    settle(&mut app);
    assert_eq!(told(app.world()), Pairs::new());
    assert_eq!(app.world().resource::<Heard>().pairs, Pairs::new());
}

#[test]
fn a_box_that_is_not_valid_is_left_out_and_counted() {
    let mut app = minimal(true);
    let [a, b] = [0.0, 0.5].map(|x| {
        app.world_mut()
            .spawn((BroadPhaseObject, unit_box(), Transform::from_xyz(x, 0.0, 0.0)))
            .id()
    });
    let state = |app: &mut App| {
        app.update();
        app.update();
        let diagnostics = *app.world().resource::<BroadPhaseDiagnostics>();
        (
            app.world().resource::<Overlaps>().contains(a, b),
            diagnostics.objects,
            diagnostics.invalid,
        )
    };
    assert_eq!(state(&mut app), (true, 2, 0));
    app.world_mut().get_mut::<Transform>(b).unwrap().translation.y = f32::NAN;
    assert_eq!(state(&mut app), (false, 1, 1));
    app.world_mut().get_mut::<Transform>(b).unwrap().translation.y = 0.0;
    assert_eq!(state(&mut app), (true, 2, 0));
    app.world_mut().get_mut::<Transform>(b).unwrap().translation.y = f32::NAN;
    app.world_mut().despawn(b);
    assert_eq!(state(&mut app), (false, 1, 0));
}

#[test]
fn an_app_that_never_finishes_its_plugins_finds_overlaps() {
    for force_cpu in [true, false] {
        let mut app = App::new();
        let plugin = GpuBroadPhasePlugin { force_cpu, ..default() };
        app.add_plugins((MinimalPlugins, TransformPlugin, plugin));
        let [a, b] = [0.0, 0.5].map(|x| {
            let at = Transform::from_xyz(x, 0.0, 0.0);
            app.world_mut().spawn((BroadPhaseObject, unit_box(), at)).id()
        });
        // Results of a GPU arrive some frames later.
        let found = (0..1000).any(|_| {
            app.update();
            app.world().resource::<Overlaps>().contains(a, b)
        });
        assert!(found, "force_cpu: {force_cpu}");
    }
}

/// Hides its entity from queries, like Bevy's `Disabled`.
#[derive(Component)]
struct Dormant;

#[test]
fn what_hides_from_queries_is_out_while_it_hides() {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        TransformPlugin,
        GpuBroadPhasePlugin {
            force_cpu: true,
            ..default()
        },
    ));
    app.world_mut().register_disabling_component::<Dormant>();
    app.finish();
    app.cleanup();
    let [a, b] = [0.0, 0.5].map(|x| {
        let at = Transform::from_xyz(x, 0.0, 0.0);
        app.world_mut().spawn((BroadPhaseObject, unit_box(), at)).id()
    });
    let overlap = |app: &mut App| {
        app.update();
        app.update();
        app.world().resource::<Overlaps>().contains(a, b)
    };
    assert!(overlap(&mut app));
    app.world_mut().entity_mut(b).insert(Dormant);
    assert!(!overlap(&mut app));
    app.world_mut().entity_mut(b).remove::<Dormant>();
    assert!(overlap(&mut app));
    // The entity returns only when both components are removed.
    app.world_mut().entity_mut(a).insert((Dormant, Disabled));
    assert!(!overlap(&mut app));
    app.world_mut().entity_mut(a).remove::<Disabled>();
    assert!(!overlap(&mut app));
    app.world_mut().entity_mut(a).remove::<Dormant>();
    assert!(overlap(&mut app));
}

#[test]
fn two_apps_do_not_meet() {
    let _alone = alone();
    let mut apps = [minimal(false), rendered(false, false)];
    for (count, app) in apps.iter_mut().enumerate() {
        for _ in 0..count + 2 {
            app.world_mut().spawn((BroadPhaseObject, unit_box()));
        }
    }
    for _ in 0..3 {
        apps.iter_mut().for_each(App::update);
    }
    apps.iter_mut().for_each(settle);
    assert_eq!(
        apps.each_ref().map(|app| app.world().resource::<Overlaps>().len()),
        [1, 3]
    );
}
