use bevy::asset::RenderAssetUsages;
use bevy::camera::primitives::Aabb;
use bevy::camera::visibility::RenderLayers;
use bevy::camera::{NormalizedRenderTarget, RenderTarget};
use bevy::picking::Pickable;
use bevy::picking::backend::PointerHits;
use bevy::picking::hover::HoverMap;
use bevy::picking::pointer::{Location, PointerId, PointerLocation};
use bevy::prelude::*;
use bevy::render::error_handler::{RenderErrorHandler, RenderErrorPolicy};
use bevy::render::render_resource::TextureFormat;
use bevy::shape::Ray3d;
use bevy_gpu_broad_phase::{BroadPhaseObject, BroadPhasePicking, world_aabb};

use crate::common::{Random, alone, frame, lose_device, rendered, unit_box};

const SIDE: u32 = 64;
const POINTER: PointerId = PointerId::Touch(7);

/// Spawns a camera that looks along -z at the origin, and a pointer in its image.
fn scene(app: &mut App, at: Vec2) -> (Entity, Entity) {
    // Bevy casts pointers only if a window entity exists. This window never opens.
    app.world_mut().spawn((Window::default(), bevy::window::PrimaryWindow));
    let mut image = Image::new_target_texture(SIDE, SIDE, TextureFormat::Rgba8UnormSrgb, None);
    image.asset_usage = RenderAssetUsages::default();
    let image = app.world_mut().resource_mut::<Assets<Image>>().add(image);
    let target = RenderTarget::Image(image.clone().into());
    let camera = app
        .world_mut()
        .spawn((
            Camera3d::default(),
            Camera { order: 3, ..default() },
            target,
            Transform::from_xyz(0.0, 0.0, 10.0),
        ))
        .id();
    let location = Location {
        target: NormalizedRenderTarget::Image(image.into()),
        position: at,
    };
    let pointer = app.world_mut().spawn((POINTER, PointerLocation::new(location))).id();
    (camera, pointer)
}

fn block(app: &mut App, at: [f32; 3]) -> Entity {
    let at = Transform::from_translation(at.into());
    app.world_mut()
        .spawn((BroadPhaseObject, unit_box(), at, Visibility::Visible))
        .id()
}

fn ray(app: &App, camera: Entity, pointer: Entity) -> Ray3d {
    let world = app.world();
    let position = world
        .get::<PointerLocation>(pointer)
        .unwrap()
        .location()
        .unwrap()
        .position;
    let camera = (
        world.get::<Camera>(camera).unwrap(),
        world.get::<GlobalTransform>(camera).unwrap(),
    );
    camera.0.viewport_to_world(camera.1, position).unwrap()
}

/// Hits by slab tests, nearest first.
fn brute_force(app: &mut App, ray: Ray3d) -> Vec<(Entity, f32)> {
    let world = app.world_mut();
    let mut boxes = world.query_filtered::<(Entity, &Aabb, &GlobalTransform), With<BroadPhaseObject>>();
    let mut hits: Vec<_> = boxes
        .iter(world)
        .filter_map(|(entity, bounds, transform)| {
            let bounds = world_aabb(bounds, transform)?;
            let (mut enters, mut leaves) = (0.0, f64::INFINITY);
            for axis in 0..3 {
                let (origin, direction) = (f64::from(ray.origin[axis]), f64::from(ray.direction[axis]));
                let of = |bound: f32| (f64::from(bound) - origin) / direction;
                let (one, other) = (of(bounds.min[axis]), of(bounds.max[axis]));
                enters = one.min(other).max(enters);
                leaves = one.max(other).min(leaves);
            }
            (enters <= leaves).then_some((entity, enters as f32))
        })
        .collect();
    hits.sort_by(|a, b| a.1.total_cmp(&b.1));
    hits
}

fn told(app: &mut App) -> Vec<(Entity, f32, Vec3)> {
    for _ in 0..12 {
        // Bevy itself drops messages only when its fixed time advances.
        drain(app);
        frame(app);
    }
    last_hits(app)
}

fn last_hits(app: &mut App) -> Vec<(Entity, f32, Vec3)> {
    let messages = drain(app);
    last_of(&messages, POINTER, 3.0)
}

fn drain(app: &mut App) -> Vec<PointerHits> {
    let mut messages = app.world_mut().resource_mut::<Messages<PointerHits>>();
    messages.drain().collect()
}

fn last_of(messages: &[PointerHits], pointer: PointerId, order: f32) -> Vec<(Entity, f32, Vec3)> {
    let mut messages = messages.iter().rev();
    let hits = messages.find(|hits| hits.pointer == pointer && hits.order == order);
    let hits = hits.map(|hits| hits.picks.clone()).unwrap_or_default();
    hits.into_iter()
        .map(|(entity, hit)| (entity, hit.depth, hit.position.unwrap()))
        .collect()
}

fn pointers_hit_boxes(mut app: App) {
    let (camera, pointer) = scene(&mut app, Vec2::splat(SIDE as f32 / 2.0));
    let mut random = Random(21);
    for _ in 0..120 {
        let at = (random.position(8.0) - 4.0).to_array();
        block(&mut app, at);
    }
    app.update();
    let mut found = 0;
    for _ in 0..12 {
        let at = Vec2::new(random.unit(), random.unit()) * SIDE as f32;
        let mut location = app.world_mut().get_mut::<PointerLocation>(pointer).unwrap();
        location.location.as_mut().unwrap().position = at;
        let told = told(&mut app);
        let ray = ray(&app, camera, pointer);
        let expected = brute_force(&mut app, ray);
        assert_eq!(told.len(), expected.len(), "{told:?} {expected:?}");
        for (&(entity, depth, position), &(expected, distance)) in told.iter().zip(&expected) {
            assert!(entity == expected || told.iter().filter(|hit| (hit.1 - depth).abs() < 1e-4).count() > 1);
            assert!((depth - distance).abs() < 1e-3 && (position - ray.get_point(depth)).length() < 1e-3);
        }
        let hovered = app
            .world()
            .resource::<HoverMap>()
            .get(&POINTER)
            .cloned()
            .unwrap_or_default();
        assert_eq!(
            hovered.keys().copied().collect::<Vec<_>>(),
            Vec::from_iter(told.first().map(|hit| hit.0))
        );
        found += told.len();
    }
    assert!(found > 10, "{found}");
}

#[test]
fn pointers_hit_boxes_on_the_device() {
    let _alone = alone();
    pointers_hit_boxes(rendered(false, false));
}

#[test]
fn pointers_hit_boxes_on_the_cpu() {
    let _alone = alone();
    pointers_hit_boxes(rendered(false, true));
}

#[test]
fn what_is_not_to_be_picked_is_passed_over() {
    let _alone = alone();
    let mut app = rendered(true, false);
    let (camera, _) = scene(&mut app, Vec2::splat(SIDE as f32 / 2.0));
    let [ignored, hidden, elsewhere, through, blocks, behind] =
        [3.0, 2.0, 1.0, 0.0, -1.0, -3.0].map(|z| block(&mut app, [0.0, 0.0, z]));
    let world = app.world_mut();
    world.entity_mut(ignored).insert(Pickable::IGNORE);
    world.entity_mut(hidden).insert(Visibility::Hidden);
    world.entity_mut(elsewhere).insert(RenderLayers::layer(1));
    world.entity_mut(through).insert(Pickable {
        should_block_lower: false,
        is_hoverable: true,
    });
    world.entity_mut(blocks).insert(Pickable::default());
    let entities = |told: Vec<(Entity, f32, Vec3)>| told.into_iter().map(|hit| hit.0).collect::<Vec<_>>();
    assert_eq!(entities(told(&mut app)), [through, blocks]);
    let hovered = app.world().resource::<HoverMap>()[&POINTER].len();
    assert_eq!(hovered, 2);
    app.world_mut().entity_mut(camera).insert(RenderLayers::layer(1));
    assert_eq!(entities(told(&mut app)), [elsewhere]);
    app.world_mut().entity_mut(camera).remove::<RenderLayers>();
    app.world_mut().entity_mut(blocks).remove::<Pickable>();
    assert_eq!(entities(told(&mut app)), [through, blocks, behind]);
    app.world_mut().resource_mut::<BroadPhasePicking>().requires_pickable = true;
    assert_eq!(entities(told(&mut app)), [through]);
    app.world_mut().despawn(through);
    assert_eq!(entities(told(&mut app)), []);
    app.world_mut().resource_mut::<BroadPhasePicking>().is_enabled = false;
    assert_eq!(entities(told(&mut app)), []);
}

#[test]
fn hover_does_not_flicker() {
    let _alone = alone();
    let mut app = rendered(false, false);
    scene(&mut app, Vec2::splat(SIDE as f32 / 2.0));
    let still = block(&mut app, [0.0, 0.0, 0.0]);
    let moving: Vec<_> = (0..50)
        .map(|index| block(&mut app, [5.0 + index as f32, 3.0, 0.0]))
        .collect();
    assert_eq!(told(&mut app)[0].0, still);
    for frame in 0..30 {
        for &entity in &moving {
            app.world_mut().get_mut::<Transform>(entity).unwrap().translation.y += 0.01;
        }
        app.update();
        assert!(
            app.world().resource::<HoverMap>()[&POINTER].contains_key(&still),
            "frame {frame}"
        );
        last_hits(&mut app);
    }
}

#[test]
fn pointers_do_not_mix_and_neither_do_cameras() {
    let _alone = alone();
    let mut app = rendered(true, false);
    let (front, pointer) = scene(&mut app, Vec2::new(20.0, 30.0));
    let world = app.world_mut();
    let target = world.get::<RenderTarget>(front).unwrap().clone();
    let from_the_side = Transform::from_xyz(10.0, 0.0, 0.0).looking_at(Vec3::ZERO, Vec3::Y);
    let camera = Camera { order: 4, ..default() };
    let side = world.spawn((Camera3d::default(), camera, target, from_the_side)).id();
    let mut location = world
        .get::<PointerLocation>(pointer)
        .unwrap()
        .location()
        .unwrap()
        .clone();
    location.position = Vec2::new(40.0, 35.0);
    let other = PointerId::Touch(8);
    let other_pointer = world.spawn((other, PointerLocation::new(location))).id();
    let mut random = Random(41);
    for _ in 0..300 {
        let at = (random.position(8.0) - 4.0).to_array();
        block(&mut app, at);
    }
    for _ in 0..12 {
        frame(&mut app);
    }
    let messages = drain(&mut app);
    let mut seen = Vec::new();
    for (id, pointer) in [(POINTER, pointer), (other, other_pointer)] {
        for (order, camera) in [(3.0, front), (4.0, side)] {
            let told = last_of(&messages, id, order);
            let ray = ray(&app, camera, pointer);
            let expected = brute_force(&mut app, ray);
            assert_eq!(told.len(), expected.len());
            for (&(_, depth, position), &(_, distance)) in told.iter().zip(&expected) {
                assert!((depth - distance).abs() < 1e-3 && (position - ray.get_point(depth)).length() < 1e-3);
            }
            let [mut told, mut expected] = [
                told.into_iter().map(|hit| hit.0).collect::<Vec<_>>(),
                expected.into_iter().map(|hit| hit.0).collect(),
            ];
            told.sort();
            expected.sort();
            assert_eq!(told, expected);
            assert!(!seen.contains(&told) && !told.is_empty(), "{id:?} {order}");
            seen.push(told);
        }
    }
}

#[test]
fn picking_that_was_off_forgets() {
    let _alone = alone();
    let mut app = rendered(false, false);
    let (_, pointer) = scene(&mut app, Vec2::splat(SIDE as f32 / 2.0));
    let middle = block(&mut app, [0.0, 0.0, 0.0]);
    let corner = block(&mut app, [-3.0, 3.0, 0.0]);
    let point_at = |app: &mut App, at: Vec2| {
        let mut location = app.world_mut().get_mut::<PointerLocation>(pointer).unwrap();
        location.location.as_mut().unwrap().position = at;
    };
    let turn = |app: &mut App, on: bool| app.world_mut().resource_mut::<BroadPhasePicking>().is_enabled = on;
    for frames_off in 1..5 {
        point_at(&mut app, Vec2::splat(SIDE as f32 / 2.0));
        assert_eq!(told(&mut app)[0].0, middle);
        point_at(&mut app, Vec2::new(0.137, 0.137) * SIDE as f32);
        turn(&mut app, false);
        for _ in 0..frames_off {
            app.update();
            assert_eq!(drain(&mut app).len(), 0);
        }
        turn(&mut app, true);
        let mut hits = Vec::new();
        for _ in 0..10 {
            frame(&mut app);
            hits.extend(last_hits(&mut app).into_iter().map(|hit| hit.0));
        }
        assert!(!hits.is_empty() && hits.iter().all(|&hit| hit == corner), "{hits:?}");
    }
}

#[test]
fn pointers_survive_a_lost_device() {
    let _alone = alone();
    let mut app = rendered(false, false);
    app.insert_resource(RenderErrorHandler(|_, _, _| RenderErrorPolicy::StopRendering));
    let (_, pointer) = scene(&mut app, Vec2::splat(SIDE as f32 / 2.0));
    let middle = block(&mut app, [0.0, 0.0, 0.0]);
    assert_eq!(told(&mut app)[0].0, middle);
    _ = lose_device(&app);
    let mut location = app.world_mut().get_mut::<PointerLocation>(pointer).unwrap();
    location.location.as_mut().unwrap().position = Vec2::ZERO;
    assert_eq!(told(&mut app), []);
    let mut location = app.world_mut().get_mut::<PointerLocation>(pointer).unwrap();
    location.location.as_mut().unwrap().position = Vec2::splat(SIDE as f32 / 2.0);
    assert_eq!(told(&mut app)[0].0, middle);
}
