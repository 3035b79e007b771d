use std::sync::{Arc, Mutex};

use bevy::prelude::*;
use bevy::render::error_handler::{RenderError, RenderErrorHandler, RenderErrorPolicy};
use bevy::render::renderer::{RenderContext, RenderDevice, RenderGraph};
use bevy::render::settings::WgpuSettings;
use bevy::render::{Extract, ExtractSchedule, RenderApp, RenderPlugin};
use bevy_gpu_broad_phase::gpu_broad_phase::{Pair, wgpu};
use bevy_gpu_broad_phase::{
    BroadPhaseDiagnostics, BroadPhaseObject, BroadPhaseOutput, GpuBroadPhasePlugin, StaticObject,
};

use crate::common::{
    Pairs, Random, alone, brute_force, lose_device, minimal, ordered, recover, rendered, settle, told, unit_box,
    with_renderer,
};

fn crowd(world: &mut World, random: &mut Random, count: usize, side: f32) -> Vec<Entity> {
    let spawn = |_| {
        let at = Transform::from_translation(random.position(side));
        let mut entity = world.spawn((BroadPhaseObject, unit_box(), at));
        if random.below(5) == 0 {
            entity.insert(StaticObject);
        }
        entity.id()
    };
    (0..count).map(spawn).collect()
}

fn jostle(world: &mut World, random: &mut Random, all: &[Entity], side: f32) {
    for _ in 0..all.len() / 4 {
        let entity = all[random.below(all.len())];
        world.get_mut::<Transform>(entity).unwrap().translation = random.position(side);
    }
}

fn wait(app: &App) {
    let device = app.world().resource::<RenderDevice>().wgpu_device();
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

#[derive(Resource, Clone, Default)]
struct Expected(Pairs);

#[derive(Resource, Clone, Default)]
struct Seen(Arc<Mutex<Vec<(wgpu::Buffer, BroadPhaseOutput, Pairs)>>>);

fn copy(mut context: RenderContext, output: Option<Res<BroadPhaseOutput>>, expected: Res<Expected>, seen: Res<Seen>) {
    let Some(output) = output else {
        return;
    };
    let pairs = output.step.pairs.as_ref().unwrap();
    let bytes = 256 + u64::from(pairs.capacity) * 8;
    let copied = context
        .render_device()
        .wgpu_device()
        .create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
    let encoder = context.command_encoder();
    encoder.copy_buffer_to_buffer(
        &output.step.counters,
        0,
        &copied,
        0,
        output.step.counters.size().min(256),
    );
    encoder.copy_buffer_to_buffer(&pairs.buffer, 0, &copied, 256, bytes - 256);
    seen.0
        .lock()
        .unwrap()
        .push((copied, output.clone(), expected.0.clone()));
}

fn passes_see_the_step_of_their_frame(pipelined: bool) {
    let mut app = with_renderer(pipelined, false, RenderPlugin::default());
    let seen = Seen::default();
    app.init_resource::<Expected>().add_systems(Last, |world: &mut World| {
        let pairs = brute_force(world);
        world.resource_mut::<Expected>().0 = pairs;
    });
    let extract = |expected: Extract<Res<Expected>>, mut commands: Commands| {
        commands.insert_resource(Expected(expected.0.clone()));
    };
    app.sub_app_mut(RenderApp)
        .insert_resource(seen.clone())
        .add_systems(ExtractSchedule, extract)
        .add_systems(RenderGraph, copy);
    app.finish();
    app.cleanup();
    let mut random = Random(7);
    let all = crowd(app.world_mut(), &mut random, 200, 8.0);
    for _ in 0..40 {
        jostle(app.world_mut(), &mut random, &all, 8.0);
        app.update();
    }
    wait(&app);
    app.update();
    wait(&app);
    let mut seen = std::mem::take(&mut *seen.0.lock().unwrap());
    if pipelined {
        // The renderer may not have submitted the last frame.
        seen.pop();
    }
    assert!(seen.len() >= 38, "{}", seen.len());
    let mut compared = 0;
    for (copied, output, expected) in seen {
        copied.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        wait(&app);
        let bytes = copied.get_mapped_range(..).unwrap();
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let capacity = output.step.pairs.as_ref().unwrap().capacity as usize;
        // The first buffers may be too small.
        if expected.len() > capacity {
            continue;
        }
        let entity = |object| output.entities.entity(object).unwrap();
        // Counter words 10 and 11: number of pairs.
        assert_eq!(words[10] as usize, expected.len());
        let pairs: Pairs = words[64..]
            .chunks_exact(2)
            .take(expected.len())
            .map(|pair| Pair { a: pair[0], b: pair[1] })
            .map(|Pair { a, b }| ordered(entity(a), entity(b)))
            .collect();
        assert_eq!(pairs, expected);
        compared += 1;
    }
    assert!(compared >= 30, "{compared}");
}

#[test]
fn passes_see_the_step_of_their_frame_in_turn() {
    let _alone = alone();
    passes_see_the_step_of_their_frame(false);
}

#[test]
fn passes_see_the_step_of_their_frame_side_by_side() {
    let _alone = alone();
    passes_see_the_step_of_their_frame(true);
}

#[test]
fn outputs_are_absent_on_the_cpu() {
    let _alone = alone();
    let mut app = rendered(false, true);
    crowd(app.world_mut(), &mut Random(1), 20, 3.0);
    app.update();
    assert!(
        app.sub_app(RenderApp)
            .world()
            .get_resource::<BroadPhaseOutput>()
            .is_none()
    );
}

/// A frame that ends before its results arrive did not wait for the device. The plugin waits only to open one. Mesa's
/// software Vulkan runs passes during submission, so an asynchronous device would be a stricter test.
#[test]
fn frames_do_not_wait_for_the_device() {
    let _alone = alone();
    for mut app in [minimal(false), rendered(false, false)] {
        let mut random = Random(3);
        let all = crowd(app.world_mut(), &mut random, 300, 9.0);
        for _ in 0..20 {
            jostle(app.world_mut(), &mut random, &all, 9.0);
            app.update();
            assert_ne!(told(app.world()), brute_force(app.world_mut()));
        }
        settle(&mut app);
        assert_eq!(told(app.world()), brute_force(app.world_mut()));
    }
    let mut waits = Vec::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let folders = [source.to_owned(), format!("{source}/avian")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = files.map(|file| file.unwrap().path());
    for file in files.filter(|file| file.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        // `record_read_back` does not wait.
        let text = text.replace("record_read_back(", "");
        for word in [
            "PollType::Wait",
            "wait_indefinitely",
            "read_back(",
            "read_changes",
            "block_on",
        ] {
            waits.extend(text.matches(word).map(str::to_owned));
        }
    }
    assert_eq!(waits, ["block_on"]);
}

#[test]
fn memory_does_not_grow() {
    let _alone = alone();
    let mut app = rendered(false, false);
    let mut random = Random(11);
    let mut all = crowd(app.world_mut(), &mut random, 400, 8.0);
    let mut seen = Vec::new();
    for frame in 0..400 {
        for _ in 0..5 {
            let gone = all.swap_remove(random.below(all.len()));
            app.world_mut().despawn(gone);
        }
        all.extend(crowd(app.world_mut(), &mut random, 5, 8.0));
        jostle(app.world_mut(), &mut random, &all, 8.0);
        app.update();
        wait(&app);
        if frame % 100 == 99 {
            let device = app.world().resource::<RenderDevice>().wgpu_device();
            let counters = device.get_internal_counters().hal;
            let diagnostics = app.world().resource::<BroadPhaseDiagnostics>();
            seen.push((
                diagnostics.device_bytes,
                counters.buffers.read(),
                counters.buffer_memory.read(),
                counters.bind_groups.read(),
                diagnostics.leaving,
            ));
        }
    }
    let [_, second, _, last] = seen[..] else { unreachable!() };
    assert!(second.0 > 0 && second.1 > 0, "{seen:?}");
    assert!(last.0 <= second.0 * 5 / 4, "{seen:?}");
    assert!(
        last.1 <= second.1 + 8 && last.2 <= second.2 * 5 / 4 && last.3 <= second.3 + 8,
        "{seen:?}"
    );
    assert!(last.4 <= 20, "{seen:?}");
    settle(&mut app);
    for _ in 0..5 {
        app.update();
        assert_eq!(app.world().resource::<BroadPhaseDiagnostics>().steps_under_way, 0);
    }
}

type Handler = for<'a> fn(&'a RenderError, &'a mut World, &'a mut World) -> RenderErrorPolicy;

fn a_device_is_lost(handler: Handler, comes_back: bool) {
    for (pipelined, at_rest) in [(false, false), (false, true), (true, false)] {
        let mut app = rendered(pipelined, false);
        app.insert_resource(RenderErrorHandler(handler));
        let mut random = Random(5);
        let all = crowd(app.world_mut(), &mut random, 100, 5.0);
        settle(&mut app);
        if !at_rest {
            jostle(app.world_mut(), &mut random, &all, 5.0);
            app.update();
        }
        let lost = lose_device(&app);
        for _ in 0..8 {
            jostle(app.world_mut(), &mut random, &all, 5.0);
            app.update();
        }
        if comes_back {
            recover(&mut app, lost);
            jostle(app.world_mut(), &mut random, &all, 5.0);
        }
        settle(&mut app);
        assert_eq!(told(app.world()), brute_force(app.world_mut()));
        assert_eq!(app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu, comes_back);
        if !pipelined {
            let output = app.sub_app(RenderApp).world().get_resource::<BroadPhaseOutput>();
            assert_eq!(output.is_some(), comes_back);
        }
    }
}

#[test]
fn a_lost_device_leaves_the_cpu_where_the_renderer_stops() {
    let _alone = alone();
    a_device_is_lost(|_, _, _| RenderErrorPolicy::StopRendering, false);
}

#[test]
fn a_lost_device_leaves_the_cpu_where_the_renderer_goes_on() {
    let _alone = alone();
    a_device_is_lost(|_, _, _| RenderErrorPolicy::Ignore, false);
}

#[test]
fn a_renderer_that_recovers_brings_the_device_back() {
    let _alone = alone();
    let recover: Handler = |_, _, _| RenderErrorPolicy::Recover(WgpuSettings::default().into());
    a_device_is_lost(recover, true);
}

#[derive(Resource)]
struct Stopped;

/// If the renderer stops, steps continue and outputs do not pile up.
#[test]
fn steps_go_on_where_the_renderer_stops() {
    let _alone = alone();
    let mut app = rendered(false, false);
    app.insert_resource(RenderErrorHandler(|_, main, _| {
        main.insert_resource(Stopped);
        RenderErrorPolicy::StopRendering
    }));
    let mut random = Random(6);
    let mut all = crowd(app.world_mut(), &mut random, 100, 5.0);
    settle(&mut app);
    let device = app.world().resource::<RenderDevice>().wgpu_device().clone();
    _ = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("wrong on purpose"),
        size: 4,
        usage: wgpu::BufferUsages::empty(),
        mapped_at_creation: false,
    });
    for _ in 0..5 {
        all.extend(crowd(app.world_mut(), &mut random, 20, 5.0));
        jostle(app.world_mut(), &mut random, &all, 5.0);
        app.update();
        let output = app.sub_app(RenderApp).world().resource::<BroadPhaseOutput>();
        assert_eq!(output.entities.object_count() as usize, all.len());
    }
    assert!(app.world().contains_resource::<Stopped>());
    settle(&mut app);
    assert!(app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu);
    assert_eq!(told(app.world()), brute_force(app.world_mut()));
}

#[test]
fn a_device_below_the_limits_leaves_the_cpu() {
    let _alone = alone();
    let limits = wgpu::Limits {
        max_storage_buffers_per_shader_stage: 4,
        ..wgpu::Limits::default()
    };
    let settings = WgpuSettings {
        constrained_limits: Some(limits),
        ..default()
    };
    let renderer = RenderPlugin {
        render_creation: settings.into(),
        ..default()
    };
    let mut app = with_renderer(true, false, renderer);
    app.finish();
    app.cleanup();
    crowd(app.world_mut(), &mut Random(9), 100, 5.0);
    for _ in 0..3 {
        app.update();
    }
    assert!(!app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu);
    assert_eq!(told(app.world()), brute_force(app.world_mut()));
    assert!(!told(app.world()).is_empty());
}

/// Starts another process, because backends are chosen per process.
#[test]
fn no_adapter_leaves_the_cpu() {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rendering::steps_without_an_adapter", "--ignored"])
        // A backend that this system lacks.
        .env("WGPU_BACKEND", if cfg!(windows) { "metal" } else { "dx12" })
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "a part of `no_adapter_leaves_the_cpu`"]
fn steps_without_an_adapter() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, GpuBroadPhasePlugin::default()));
    app.finish();
    app.cleanup();
    crowd(app.world_mut(), &mut Random(4), 100, 5.0);
    app.update();
    app.update();
    assert!(!app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu);
    assert_eq!(told(app.world()), brute_force(app.world_mut()));
    assert!(!told(app.world()).is_empty());
}
