use std::time::Instant;

use avian3d::collider_tree::{ColliderTreeDiagnostics, MovedProxies};
use avian3d::collision::CollisionDiagnostics;
use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_gpu_broad_phase::avian3d::AvianBroadPhasePlugin;

use crate::{COUNTS, app, noise};

/// Frames until bodies sleep and drops disappear.
const WARM_UP: usize = 75;
const WARM_UP_OF_FLIGHT: usize = 5;

#[derive(Clone, Copy, Debug)]
enum State {
    /// All fly and collide.
    AllMove,
    /// All sleep, and one in a hundred flies above them.
    FewMove,
    /// All sleep.
    Rest,
    /// All sleep. One in five hundred is added to the rain in each frame, and disappears 60 frames later.
    Rain,
}

const STATES: [State; 4] = [State::AllMove, State::FewMove, State::Rest, State::Rain];

#[derive(Clone, Copy)]
enum Engine {
    Avian,
    Ours,
    /// Without optimization of Avian's trees.
    OursAlone,
}

const ENGINES: [Engine; 3] = [Engine::Avian, Engine::Ours, Engine::OursAlone];

#[derive(Clone, Copy, Default)]
struct Times {
    frame: f64,
    broad_phase: f64,
    trees: f64,
}

/// Prints times of whole frames and broad phases. Apps take turns, frame by frame.
pub fn compare(frames: usize) {
    println!(
        "| state | bodies | moved | contacts | broad phase: Avian | ours | trees | frame: Avian | ours \
         | no tree optimization |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for state in STATES {
        for count in COUNTS {
            let mut apps = ENGINES.map(|engine| open(engine, state, count));
            let mut times: [Vec<Times>; 3] = Default::default();
            let mut moved = 0;
            let warm_up = match state {
                State::AllMove => WARM_UP_OF_FLIGHT,
                _ => WARM_UP,
            };
            for frame in 0..warm_up + frames {
                for (app, times) in apps.iter_mut().zip(&mut times) {
                    let took = step(app);
                    if frame >= warm_up {
                        times.push(took);
                    }
                }
                moved = apps[1].world().resource::<Moved>().0;
            }
            let median = |engine: usize, of: fn(&Times) -> f64| {
                let mut all: Vec<_> = times[engine].iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all[all.len() / 2]
            };
            let contacts = apps[1].world().resource::<CollisionDiagnostics>().contact_count;
            println!(
                "| {state:?} | {count} | {moved} | {contacts} | {:.3} | {:.3} | {:.2} | {:.1} | {:.1} | {:.1} |",
                median(0, |times| times.broad_phase),
                median(1, |times| times.broad_phase),
                median(1, |times| times.trees),
                median(0, |times| times.frame),
                median(1, |times| times.frame),
                median(2, |times| times.frame),
            );
        }
    }
}

/// Number of proxies that moved in the last step.
#[derive(Resource, Default)]
struct Moved(usize);

fn step(app: &mut App) -> Times {
    let began = Instant::now();
    app.update();
    let frame = began.elapsed().as_secs_f64() * 1e3;
    let world = app.world();
    let trees = world.resource::<ColliderTreeDiagnostics>();
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    Times {
        frame,
        broad_phase: milliseconds(world.resource::<CollisionDiagnostics>().broad_phase),
        trees: milliseconds(trees.update + trees.optimize),
    }
}

fn open(engine: Engine, state: State, count: u32) -> App {
    let mut app = app();
    let physics = PhysicsPlugins::new(PostUpdate);
    let ours = AvianBroadPhasePlugin::new();
    let replaced = |physics: PhysicsPlugins| physics.build().disable::<BvhBroadPhasePlugin>();
    match engine {
        Engine::Avian => app.add_plugins(physics),
        Engine::Ours => app.add_plugins(replaced(physics).add(ours)),
        Engine::OursAlone => app.add_plugins(replaced(physics).add(ours.without_tree_optimization())),
    };
    let count_moved = |moved: Res<MovedProxies>, mut count: ResMut<Moved>| count.0 = moved.proxies().len();
    app.init_resource::<Moved>()
        .add_systems(PhysicsSchedule, count_moved.in_set(PhysicsStepSystems::NarrowPhase));
    match state {
        State::AllMove => fly(&mut app, count),
        State::FewMove => {
            lie(&mut app, count);
            for index in 0..count / 100 {
                let side = side(count);
                let at = |axis| side * (noise(index * 3 + axis) - 0.5);
                let velocity = |axis| 16.0 * (noise(index * 3 + axis + 77_777) - 0.5);
                let at = Transform::from_xyz(at(0), 3.0 + 0.05 * at(1).abs(), at(2));
                let flies = (
                    LinearVelocity(Vec3::new(velocity(0), 0.0, velocity(2))),
                    GravityScale(0.0),
                );
                app.world_mut().spawn((cube(at), flies, SleepingDisabled));
            }
        }
        State::Rest => lie(&mut app, count),
        State::Rain => {
            lie(&mut app, count);
            app.add_systems(Update, rain(count));
        }
    }
    app.finish();
    app.cleanup();
    app
}

fn cube(at: Transform) -> impl Bundle {
    (RigidBody::Dynamic, Collider::cuboid(1.0, 1.0, 1.0), at)
}

fn side(count: u32) -> f32 {
    1.5 * (count as f32).sqrt()
}

fn fly(app: &mut App, count: u32) {
    app.insert_resource(Gravity::ZERO);
    let side = (6.0 * count as f32).cbrt();
    for index in 0..count {
        let at = |axis| side * noise(index * 3 + axis);
        let velocity = |axis| 60.0 * (noise(index * 3 + axis + 77_777) - 0.5);
        let velocity = LinearVelocity(Vec3::new(velocity(0), velocity(1), velocity(2)));
        app.world_mut()
            .spawn((cube(Transform::from_xyz(at(0), at(1), at(2))), velocity));
    }
}

fn lie(app: &mut App, count: u32) {
    let side = side(count);
    let floor = (RigidBody::Static, Collider::cuboid(2.0 * side, 1.0, 2.0 * side));
    app.world_mut().spawn((floor, Transform::from_xyz(0.0, -0.5, 0.0)));
    let columns = (count as f32).sqrt().ceil() as u32;
    for index in 0..count {
        let at = |place: u32| 1.5 * place as f32 - 0.5 * side;
        let at = Transform::from_xyz(at(index % columns), 0.5, at(index / columns));
        app.world_mut().spawn(cube(at));
    }
}

fn rain(count: u32) -> impl FnMut(Commands, Local<Vec<Entity>>) {
    let each = (count / 500) as usize;
    let mut number = 0u32;
    move |mut commands: Commands, mut drops: Local<Vec<Entity>>| {
        for _ in 0..each {
            number += 1;
            let at = |axis| side(count) * (noise(number * 3 + axis) - 0.5);
            let drop = Collider::sphere(0.3);
            let at = Transform::from_xyz(at(0), 8.0, at(2));
            drops.push(commands.spawn((RigidBody::Dynamic, drop, at)).id());
        }
        if drops.len() > 60 * each {
            drops.drain(..each).for_each(|drop| commands.entity(drop).despawn());
        }
    }
}
