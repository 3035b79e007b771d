use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bevy::camera::primitives::Aabb;
use bevy::ecs::change_detection::Tick;
use bevy::log::LogPlugin;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy::render::renderer::RenderDevice;
use bevy::window::ExitCondition;
use bevy::winit::WinitPlugin;
use bevy_gpu_broad_phase::gpu_broad_phase::wgpu;
use bevy_gpu_broad_phase::{
    BroadPhaseDiagnostics, BroadPhaseObject, GpuBroadPhasePlugin, OverlapGroup, OverlapLayers, Overlaps, StaticObject,
    world_aabb,
};

pub const GUARD: Duration = Duration::from_secs(600);

/// Software adapters use all processors, so tests run one at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn minimal(force_cpu: bool) -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        TransformPlugin,
        GpuBroadPhasePlugin { force_cpu, ..default() },
    ));
    ready(app, !force_cpu)
}

pub fn rendered(pipelined: bool, force_cpu: bool) -> App {
    ready(with_renderer(pipelined, force_cpu, RenderPlugin::default()), !force_cpu)
}

/// The caller must finish the app's plugins.
pub fn with_renderer(pipelined: bool, force_cpu: bool, renderer: RenderPlugin) -> App {
    let mut app = App::new();
    let window = WindowPlugin {
        primary_window: None,
        exit_condition: ExitCondition::DontExit,
        ..default()
    };
    let mut plugins = DefaultPlugins
        .set(window)
        .set(renderer)
        .disable::<LogPlugin>()
        .disable::<WinitPlugin>();
    if !pipelined {
        plugins = plugins.disable::<PipelinedRenderingPlugin>();
    }
    app.add_plugins((plugins, GpuBroadPhasePlugin { force_cpu, ..default() }));
    app
}

fn ready(mut app: App, on_gpu: bool) -> App {
    app.finish();
    app.cleanup();
    // The first step opens the device.
    app.update();
    app.update();
    assert_eq!(
        app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu,
        on_gpu,
        "a Vulkan or GL adapter is needed"
    );
    app
}

/// Destroys the renderer's device. Returns the tick at which the device resource was last changed.
pub fn lose_device(app: &App) -> Tick {
    let device = app.world().resource_ref::<RenderDevice>();
    device.wgpu_device().destroy();
    // The loss is reported only when the device is idle.
    _ = device.wgpu_device().poll(wgpu::PollType::wait_indefinitely());
    device.last_changed()
}

/// Runs a frame and waits for the renderer's device, so that busy machines need no more frames. The plugin's own device
/// cannot be waited for.
pub fn frame(app: &mut App) {
    app.update();
    match app.world().get_resource::<RenderDevice>() {
        Some(device) => _ = device.wgpu_device().poll(wgpu::PollType::wait_indefinitely()),
        None => std::thread::sleep(Duration::from_millis(5)),
    }
}

/// Waits until steps use the new device, which Bevy opens on another thread.
pub fn recover(app: &mut App, lost: Tick) {
    let hangs = Instant::now() + GUARD;
    while Instant::now() < hangs {
        app.update();
        let since = app.world().resource_ref::<RenderDevice>().last_changed();
        if since != lost && app.world().resource::<BroadPhaseDiagnostics>().is_on_gpu {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no other device came");
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn position(&mut self, side: f32) -> Vec3 {
        Vec3::new(self.unit(), self.unit(), self.unit()) * side
    }
}

pub fn unit_box() -> Aabb {
    Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5))
}

pub type Pairs = HashSet<[Entity; 2]>;

pub fn ordered(a: Entity, b: Entity) -> [Entity; 2] {
    if a < b { [a, b] } else { [b, a] }
}

pub fn brute_force(world: &mut World) -> Pairs {
    type Parts<'a> = (
        Entity,
        &'a Aabb,
        &'a GlobalTransform,
        Option<&'a OverlapLayers>,
        Option<&'a OverlapGroup>,
        Has<StaticObject>,
    );
    let mut query = world.query_filtered::<Parts, With<BroadPhaseObject>>();
    let all: Vec<_> = query
        .iter(world)
        .filter_map(|(entity, bounds, transform, layers, group, is_static)| {
            let bounds = world_aabb(bounds, transform)?;
            Some((
                entity,
                bounds,
                layers.copied().unwrap_or_default(),
                group.map_or(0, |group| group.0),
                is_static,
            ))
        })
        .collect();
    let mut pairs = Pairs::new();
    for (index, a) in all.iter().enumerate() {
        for b in &all[index + 1..] {
            let meet = (0..3).all(|axis| a.1.min[axis] <= b.1.max[axis] && b.1.min[axis] <= a.1.max[axis]);
            let see = a.2.membership & b.2.mask != 0 && b.2.membership & a.2.mask != 0;
            let strange = a.3 == 0 || a.3 != b.3;
            if meet && see && strange && !(a.4 && b.4) {
                pairs.insert(ordered(a.0, b.0));
            }
        }
    }
    pairs
}

pub fn told(world: &World) -> Pairs {
    world
        .resource::<Overlaps>()
        .iter()
        .map(|[a, b]| ordered(a, b))
        .collect()
}

pub fn settle(app: &mut App) {
    let hangs = Instant::now() + GUARD;
    while Instant::now() < hangs {
        app.update();
        let diagnostics = app.world().resource::<BroadPhaseDiagnostics>();
        if diagnostics.steps_under_way == 0 && diagnostics.leaving == 0 {
            // The last results may have caused another step.
            app.update();
            app.update();
            if app.world().resource::<BroadPhaseDiagnostics>().steps_under_way == 0 {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!(
        "steps are not heard of: {:?}",
        app.world().resource::<BroadPhaseDiagnostics>()
    );
}
