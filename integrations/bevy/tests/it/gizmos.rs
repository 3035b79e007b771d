//! Lines in a picture.

use bevy::asset::RenderAssetUsages;
use bevy::camera::RenderTarget;
use bevy::prelude::*;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy_gpu_broad_phase::{BroadPhaseGizmos, BroadPhaseObject, StaticObject};

use crate::common::{alone, rendered, unit_box};

#[derive(Resource, Default)]
struct Taken(Option<Image>);

/// How many pixels of a picture are mostly red, green and blue.
fn colored(app: &mut App, target: &Handle<Image>) -> [usize; 3] {
    for _ in 0..5 {
        app.update();
    }
    app.world_mut().spawn(Screenshot::image(target.clone())).observe(
        |mut captured: On<ScreenshotCaptured>, mut taken: ResMut<Taken>| {
            taken.0 = Some(std::mem::take(&mut captured.image));
        },
    );
    for _ in 0..100 {
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
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("no picture came");
}

#[test]
fn lines_are_drawn_where_they_are_asked_for() {
    let _alone = alone();
    let mut app = rendered(true, false);
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
    let ask = |app: &mut App, gizmos: BroadPhaseGizmos| app.world_mut().insert_resource(gizmos);
    assert_eq!(colored(&mut app, &target), [0, 0, 0]);
    let (red, green) = (Srgba::rgb(1.0, 0.0, 0.0), Srgba::rgb(0.0, 1.0, 0.0));
    ask(
        &mut app,
        BroadPhaseGizmos {
            boxes: Some(red),
            ..default()
        },
    );
    let [boxes, other, _] = colored(&mut app, &target);
    assert!(boxes > 100 && other == 0, "{boxes} {other}");
    ask(
        &mut app,
        BroadPhaseGizmos {
            pairs: Some(green),
            ..default()
        },
    );
    let [other, pairs, _] = colored(&mut app, &target);
    assert!(pairs > 5 && pairs < 100 && other == 0, "{pairs} {other}");
    // Two boxes have room for 24 lines: half of that is one box.
    ask(
        &mut app,
        BroadPhaseGizmos {
            boxes: Some(red),
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
    // In two dimensions, too.
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
            boxes: Some(red),
            ..default()
        },
    );
    assert!(colored(&mut app, &target)[0] > 40);
}
