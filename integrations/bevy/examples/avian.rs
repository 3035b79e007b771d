//! A pile of 5,000 bodies of Avian. Space switches between Avian's own broad phase and this crate's. The text shows the
//! times of a step: broad phase, Avian's trees, narrow phase.
//!
//! `cargo run --release --features avian3d --example avian`, or `-- --screenshot FILE.png` without a window.

mod shared;

use avian3d::collider_tree::{ColliderTreeDiagnostics, MovedProxies};
use avian3d::collision::CollisionDiagnostics;
use avian3d::prelude::*;
use bevy::ecs::schedule::SingleThreadedExecutor;
use bevy::prelude::*;
use bevy::render::renderer::{RenderDevice, RenderQueue};
use bevy::render::{Extract, ExtractSchedule, RenderApp};
use bevy_gpu_broad_phase::avian3d::AvianBroadPhasePlugin;
use bevy_gpu_broad_phase::gpu_broad_phase::Aabb;
use shared::{Boxes, BoxesPlugin, Drawn, Target, noise};

const BODIES: [[u8; 4]; 3] = [[230, 150, 70, 255], [215, 110, 60, 255], [240, 190, 110, 255]];
const ASLEEP: [u8; 4] = [60, 95, 150, 255];
const GROUND: [u8; 4] = [60, 66, 74, 255];
const TEXT: [u8; 4] = [255, 255, 255, 255];

const EYE: Vec3 = Vec3::new(0.0, 24.0, 38.0);
const CENTER: Vec3 = Vec3::new(0.0, 6.0, 0.0);

#[derive(Resource, PartialEq)]
enum Engine {
    Ours,
    Avian,
}

#[derive(Resource, Default)]
struct Moved(usize);

/// Half the size of a drawn box.
#[derive(Component, Clone, Copy)]
struct Half(Vec3);

/// Boxes and colours. The word of layers has the rotation.
#[derive(Resource, Default)]
struct Instances(Vec<Aabb>, Vec<[u8; 4]>);

fn main() {
    let mut app = shared::app("avian", 240);
    let physics = PhysicsPlugins::default().build().disable::<BvhBroadPhasePlugin>();
    app.add_plugins((physics, BoxesPlugin))
        .insert_resource(Engine::Ours)
        .init_resource::<Moved>()
        .init_resource::<Instances>()
        .add_systems(Startup, spawn)
        .add_systems(Update, switch)
        .add_systems(Last, draw);
    // A program that needs no switch adds one of the plugins.
    let mut ours = schedule_of(AvianBroadPhasePlugin::new());
    let mut avian = schedule_of(BvhBroadPhasePlugin::<()>::default());
    let broad_phase = move |world: &mut World| match world.resource() {
        Engine::Ours => ours.run(world),
        Engine::Avian => avian.run(world),
    };
    let count_moved = |moved: Res<MovedProxies>, mut count: ResMut<Moved>| count.0 = moved.proxies().len();
    app.add_systems(
        PhysicsSchedule,
        (
            broad_phase.in_set(BroadPhaseSystems::CollectCollisions),
            count_moved.in_set(NarrowPhaseSystems::First),
        ),
    );
    app.sub_app_mut(RenderApp).add_systems(ExtractSchedule, extract);
    app.run();
}

fn schedule_of(plugin: impl Plugin) -> Schedule {
    let mut app = App::empty();
    plugin.build(&mut app);
    let schedule = app.world_mut().resource_mut::<Schedules>().remove(PhysicsSchedule);
    let mut schedule = schedule.expect("systems of the plugin");
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule
}

fn spawn(mut commands: Commands, target: Res<Target>) {
    let eye = Transform::from_translation(EYE).looking_at(CENTER, Vec3::Y);
    commands.spawn((shared::camera(&target), eye));
    let mut fixed = |size: Vec3, at: Transform| {
        let shape = Collider::cuboid(size.x, size.y, size.z);
        commands.spawn((RigidBody::Static, shape, at, Half(0.5 * size)));
    };
    fixed(Vec3::new(90.0, 1.0, 90.0), Transform::from_xyz(0.0, -0.5, 0.0));
    for quarter in 0..4 {
        let turn = Quat::from_rotation_y(quarter as f32 * std::f32::consts::FRAC_PI_2);
        let tilt = Quat::from_rotation_x(0.6);
        let at = turn * Vec3::new(0.0, 1.5, 13.0);
        let size = Vec3::new(28.0, 6.0, 0.6);
        fixed(size, Transform::from_translation(at).with_rotation(turn * tilt));
    }
    for index in 0..shared::count(5_000) as u32 {
        let of = |what: u32| noise(index * 7 + what);
        let at = Vec3::new(18.0 * (of(0) - 0.5), 2.0 + 60.0 * of(1), 18.0 * (of(2) - 0.5));
        let size = 0.6 + 0.5 * Vec3::new(of(3), of(4), of(5));
        let shape = Collider::cuboid(size.x, size.y, size.z);
        let at = Transform::from_translation(at).with_rotation(Quat::from_rotation_z(3.0 * of(6)));
        commands.spawn((RigidBody::Dynamic, shape, at, Half(0.5 * size)));
    }
}

fn switch(keys: Res<ButtonInput<KeyCode>>, mut engine: ResMut<Engine>) {
    if keys.just_pressed(KeyCode::Space) {
        *engine = match *engine {
            Engine::Ours => Engine::Avian,
            Engine::Avian => Engine::Ours,
        };
    }
}

fn draw(
    bodies: Query<(&Transform, &Half, &RigidBody, Has<Sleeping>)>,
    engine: Res<Engine>,
    moved: Res<Moved>,
    trees: Res<ColliderTreeDiagnostics>,
    times: Res<CollisionDiagnostics>,
    mut instances: ResMut<Instances>,
) {
    let Instances(boxes, colors) = &mut *instances;
    boxes.clear();
    colors.clear();
    let (mut all, mut sleepers) = (0, 0);
    for (at, half, kind, is_asleep) in &bodies {
        boxes.push(turned(at.translation, half.0, at.rotation));
        all += usize::from(kind.is_dynamic());
        sleepers += usize::from(is_asleep);
        colors.push(match (kind.is_static(), is_asleep) {
            (true, _) => GROUND,
            (_, true) => ASLEEP,
            (_, false) => BODIES[boxes.len() % 3],
        });
    }
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let name = if *engine == Engine::Ours {
        "GPU-BROAD-PHASE"
    } else {
        "AVIAN"
    };
    let lines = [
        format!("{name}  (SPACE)"),
        format!("BROAD PHASE {:.2} MS", milliseconds(times.broad_phase)),
        format!("TREES {:.2} MS", milliseconds(trees.update + trees.optimize)),
        format!("NARROW PHASE {:.2} MS", milliseconds(times.narrow_phase)),
        format!("BODIES {all}  MOVED {}  ASLEEP {sleepers}", moved.0),
        format!("CONTACTS {}", times.contact_count),
    ];
    let eye = Transform::from_translation(EYE).looking_at(CENTER, Vec3::Y);
    for (row, line) in lines.iter().enumerate() {
        for (column, letter) in line.chars().enumerate() {
            for pixel in pixels(letter) {
                let at = Vec2::new((4 * column) as f32, (7 * row) as f32) + pixel;
                let at = Vec3::new(-1.7 + 0.0115 * at.x, 0.95 - 0.0115 * at.y, -2.5);
                boxes.push(turned(eye * at, Vec3::splat(0.005), eye.rotation));
                colors.push(TEXT);
            }
        }
    }
}

fn turned(at: Vec3, half: Vec3, rotation: Quat) -> Aabb {
    let byte = |part: f32| (part * 127.0).round() as i8 as u8;
    Aabb {
        layers: u32::from_le_bytes(rotation.to_array().map(byte)),
        ..Aabb::new((at - half).into(), (at + half).into())
    }
}

/// Returns the pixels of a letter: 5 rows of 3, from the upper left.
fn pixels(letter: char) -> impl Iterator<Item = Vec2> {
    const LETTERS: &str = "0123456789ABCDEGHIMNOPRSTUVWL.-()";
    const ROWS: [u16; 33] = [
        0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71111, 0o75757, 0o75717, 0o75755, 0o65656,
        0o74447, 0o65556, 0o74647, 0o74557, 0o55755, 0o72227, 0o57755, 0o57775, 0o25552, 0o75744, 0o65655, 0o74717,
        0o72222, 0o55557, 0o55552, 0o55775, 0o44447, 0o00002, 0o00700, 0o12221, 0o42224,
    ];
    let rows = LETTERS.find(letter).map_or(0, |index| ROWS[index]);
    (0..15)
        .filter(move |bit| rows >> (14 - bit) & 1 > 0)
        .map(|bit| Vec2::new((bit % 3) as f32, (bit / 3) as f32))
}

fn extract(
    instances: Extract<Res<Instances>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut drawn: ResMut<Drawn>,
) {
    let Instances(boxes, colors) = &**instances;
    let write = |label, bytes: &[u8]| {
        let buffer = shared::buffer(device.wgpu_device(), label, bytes.len() as u64);
        queue.write_buffer(&buffer, 0, bytes);
        buffer
    };
    let words = |bounds: &Aabb| {
        let [low, high] = [bounds.min, bounds.max].map(|corner| corner.map(f32::to_bits));
        [
            low[0],
            low[1],
            low[2],
            bounds.layers,
            high[0],
            high[1],
            high[2],
            bounds.group,
        ]
    };
    let bytes: Vec<u8> = boxes.iter().flat_map(words).flat_map(u32::to_le_bytes).collect();
    drawn.0 = vec![Boxes {
        bounds: write("boxes", &bytes),
        colors: write("colors", colors.as_flattened()),
        count: boxes.len() as u32,
        are_turned: true,
    }];
}
