use std::time::{Duration, Instant};

use bevy::asset::RenderAssetUsages;
use bevy::camera::RenderTarget;
use bevy::prelude::*;
use bevy::render::error_handler::{RenderErrorHandler, RenderErrorPolicy};
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::settings::WgpuSettings;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy_gpu_broad_phase::{BroadPhaseDiagnostics, BroadPhaseGizmos, BroadPhaseObject, StaticObject};

use crate::common::{GUARD, alone, lose_device, recover, rendered, settle, unit_box};

#[derive(Resource, Default)]
struct Taken(Option<Image>);

/// Counts mostly red, green and blue pixels.
fn colored(app: &mut App, target: &Handle<Image>) -> [usize; 3] {
    for _ in 0..5 {
        app.update();
    }
    app.world_mut().spawn(Screenshot::image(target.clone())).observe(
        |mut captured: On<ScreenshotCaptured>, mut taken: ResMut<Taken>| {
            taken.0 = Some(std::mem::take(&mut captured.image));
        },
    );
    let hangs = Instant::now() + GUARD;
    while Instant::now() < hangs {
        app.update();
        if let Some(image) = app.world_mut().resource_mut::<Taken>().0.take() {
            let pixels = image.data.as_ref().unwrap().chunks_exact(4);
            let mostly = |channel: usize| {
                let is = |pixel: &&[u8]| {
                    (0..3).all(|other| other == channel || pixel[channel] > pixel[other].saturating_add(60))
                };
                pixels.clone().filter(is).count()
            };
            return [0, 1, 2].map(mostly);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no picture came");
}

/// Two overlapping boxes, one of them static.
fn two_boxes(app: &mut App) -> (Handle<Image>, Entity) {
    app.init_resource::<Taken>();
    let mut image = Image::new_target_texture(128, 128, TextureFormat::Rgba8UnormSrgb, None);
    image.asset_usage = RenderAssetUsages::default();
    image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    let target = app.world_mut().resource_mut::<Assets<Image>>().add(image);
    let camera = (
        Camera3d::default(),
        RenderTarget::Image(target.clone().into()),
        Transform::from_xyz(0.3, 0.4, 4.0),
    );
    let camera = app.world_mut().spawn(camera).id();
    for (x, is_static) in [(-0.4, false), (0.4, true)] {
        let at = Transform::from_xyz(x, 0.0, 0.0);
        let mut entity = app.world_mut().spawn((BroadPhaseObject, unit_box(), at));
        if is_static {
            entity.insert(StaticObject);
        }
    }
    (target, camera)
}

fn ask(app: &mut App, gizmos: BroadPhaseGizmos) {
    app.world_mut().insert_resource(gizmos);
}

const RED: Srgba = Srgba::rgb(1.0, 0.0, 0.0);
const GREEN: Srgba = Srgba::rgb(0.0, 1.0, 0.0);

#[test]
fn lines_are_drawn_where_they_are_asked_for() {
    let _alone = alone();
    let mut app = rendered(true, false);
    let (target, camera) = two_boxes(&mut app);
    assert_eq!(colored(&mut app, &target), [0, 0, 0]);
    let bytes = |app: &App| app.world().resource::<BroadPhaseDiagnostics>().device_bytes;
    let without = bytes(&app);
    ask(
        &mut app,
        BroadPhaseGizmos {
            boxes: Some(RED),
            ..default()
        },
    );
    let [boxes, other, _] = colored(&mut app, &target);
    assert!(boxes > 100 && other == 0, "{boxes} {other}");
    // Two boxes have 24 lines of 32 bytes.
    assert!(bytes(&app) >= without + 24 * 32, "{} {without}", bytes(&app));
    ask(
        &mut app,
        BroadPhaseGizmos {
            pairs: Some(GREEN),
            ..default()
        },
    );
    let [other, pairs, _] = colored(&mut app, &target);
    assert!(pairs > 5 && pairs < 100 && other == 0, "{pairs} {other}");
    // With half of the lines, only one box is drawn.
    ask(
        &mut app,
        BroadPhaseGizmos {
            boxes: Some(RED),
            max_lines: 12,
            ..default()
        },
    );
    let [one, _, _] = colored(&mut app, &target);
    assert!(one > 40 && one < boxes, "{one} {boxes}");
    ask(
        &mut app,
        BroadPhaseGizmos {
            cells: true,
            ..default()
        },
    );
    assert!(colored(&mut app, &target).iter().sum::<usize>() > 50);
    ask(&mut app, BroadPhaseGizmos::default());
    assert_eq!(colored(&mut app, &target), [0, 0, 0]);
    assert_eq!(bytes(&app), without);
    app.world_mut().entity_mut(camera).remove::<Camera3d>().insert((
        Camera2d,
        Transform::from_xyz(0.0, 0.0, 5.0),
        Projection::Orthographic(OrthographicProjection {
            scale: 0.03,
            ..OrthographicProjection::default_2d()
        }),
    ));
    ask(
        &mut app,
        BroadPhaseGizmos {
            boxes: Some(RED),
            ..default()
        },
    );
    assert!(colored(&mut app, &target)[0] > 40);
}

#[test]
fn lines_come_back_with_a_renderer_that_recovers() {
    let _alone = alone();
    let mut app = rendered(true, false);
    app.insert_resource(RenderErrorHandler(|_, _, _| {
        RenderErrorPolicy::Recover(WgpuSettings::default().into())
    }));
    let (target, _) = two_boxes(&mut app);
    let lines = BroadPhaseGizmos {
        boxes: Some(RED),
        pairs: Some(GREEN),
        ..default()
    };
    ask(&mut app, lines);
    let before = colored(&mut app, &target);
    assert!(before[0] > 100 && before[1] > 5, "{before:?}");
    let lost = lose_device(&app);
    recover(&mut app, lost);
    settle(&mut app);
    assert_eq!(colored(&mut app, &target), before);
}
