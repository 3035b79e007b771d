use std::f32::consts::PI;

use bevy::ecs::entity_disabling::Disabled;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;

use super::AvianBroadPhasePlugin;
use super::avian::prelude::*;
use super::harness::{Number, STEPS, Step, app, compare, noise, ours, theirs};

// Systems sort by number where order matters, since the two apps may iterate in different orders.

const STATIC: RigidBody = RigidBody::Static;
const DYNAMIC: RigidBody = RigidBody::Dynamic;
const KINEMATIC: RigidBody = RigidBody::Kinematic;

fn floor() -> impl Bundle {
    body(0, STATIC, Collider::cuboid(60.0, 1.0, 60.0), [0.0, -0.5, 0.0])
}

fn body(number: u32, kind: RigidBody, shape: Collider, at: [f32; 3]) -> impl Bundle {
    (collider(number, shape, at), kind)
}

fn collider(number: u32, shape: Collider, at: [f32; 3]) -> impl Bundle {
    (Number(number), shape, Transform::from_translation(at.into()))
}

fn cube() -> Collider {
    Collider::cuboid(1.0, 1.0, 1.0)
}

fn ball() -> Collider {
    Collider::sphere(0.5)
}

/// A place above the floor, at random.
fn above(seed: u32, side: f32, high: f32) -> [f32; 3] {
    let of = |axis| noise(seed * 3 + axis);
    [(of(0) - 0.5) * side, 1.0 + of(1) * high, (of(2) - 0.5) * side]
}

fn at_step(step: u32) -> impl Fn(Res<Step>) -> bool + Clone {
    move |now: Res<Step>| now.0 == step
}

fn every(steps: u32) -> impl Fn(Res<Step>) -> bool + Clone {
    move |now: Res<Step>| now.0.is_multiple_of(steps)
}

/// Compares apps, and expects at least `least` touching pairs in some step.
fn check(name: &str, least: usize, scene: impl Fn(&mut App)) {
    let [mut own, mut other] = [ours(), theirs()];
    scene(&mut own);
    scene(&mut other);
    let most = compare(name, own, other, STEPS);
    assert!(most >= least, "{name}: at most {most} pairs touch");
}

#[test]
fn stack() {
    check("stack", 10, |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..10 {
                commands.spawn(body(1 + index, DYNAMIC, cube(), [0.0, 0.5 + index as f32, 0.0]));
            }
        });
    });
}

#[test]
fn pyramid() {
    check("pyramid", 80, |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            let mut number = 0;
            for row in 0..9 {
                for column in 0..9 - row {
                    number += 1;
                    let x = 1.1 * (column as f32 + 0.5 * row as f32 - 4.0);
                    commands.spawn(body(number, DYNAMIC, cube(), [x, 0.5 + 1.02 * row as f32, 0.0]));
                }
            }
        });
    });
}

fn chain(commands: &mut Commands, excludes: bool) {
    commands.spawn(floor());
    let hold = commands.spawn(body(1, STATIC, cube(), [0.0, 14.0, 0.0])).id();
    let mut before = hold;
    for index in 0..12 {
        let at = [0.9 * (index + 1) as f32, 14.0, 0.0];
        let next = commands.spawn(body(2 + index, DYNAMIC, ball(), at)).id();
        let joint = SphericalJoint::new(before, next)
            .with_local_anchor1(Vec3::X * 0.45)
            .with_local_anchor2(Vec3::NEG_X * 0.45);
        let mut joint = commands.spawn(joint);
        if excludes {
            joint.insert(JointCollisionDisabled);
        }
        before = next;
    }
    for index in 0..20 {
        commands.spawn(body(100 + index, DYNAMIC, cube(), above(index, 8.0, 5.0)));
    }
}

#[test]
fn chain_whose_links_pass_each_other() {
    check("chain", 10, |app| {
        app.add_systems(Startup, |mut commands: Commands| chain(&mut commands, true));
    });
}

#[test]
fn chain_whose_links_collide_for_a_while() {
    let switch = |mut commands: Commands,
                  joints: Query<(Entity, Has<JointCollisionDisabled>), With<SphericalJoint>>| {
        for (joint, is_disabled) in &joints {
            match is_disabled {
                true => commands.entity(joint).remove::<JointCollisionDisabled>(),
                false => commands.entity(joint).insert(JointCollisionDisabled),
            };
        }
    };
    let cut = |mut commands: Commands, joints: Query<Entity, With<SphericalJoint>>| {
        if let Some(joint) = joints.iter().nth(5) {
            commands.entity(joint).despawn();
        }
    };
    check("chain that collides", 10, move |app| {
        app.add_systems(Startup, |mut commands: Commands| chain(&mut commands, false))
            .add_systems(Update, (switch.run_if(every(150)), cut.run_if(at_step(350))).chain());
    });
}

#[test]
fn sensors() {
    let swing = |time: Res<Step>, mut all: Query<&mut Transform, (With<Sensor>, Without<RigidBody>)>| {
        for mut transform in &mut all {
            transform.translation.x = 6.0 * (time.0 as f32 * 0.05).sin();
        }
    };
    check("sensors", 20, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            commands.spawn((
                body(1, STATIC, Collider::cuboid(6.0, 2.0, 6.0), [0.0, 2.0, 0.0]),
                Sensor,
            ));
            commands.spawn((
                body(2, KINEMATIC, ball(), [-8.0, 2.0, 0.0]),
                Sensor,
                LinearVelocity(Vec3::X),
            ));
            commands.spawn((body(3, DYNAMIC, cube(), [2.0, 9.0, 0.0]), Sensor));
            commands.spawn((collider(4, Collider::sphere(2.0), [0.0, 1.0, 0.0]), Sensor));
            commands.spawn((body(5, STATIC, cube(), [3.0, 0.2, 3.0]), Sensor, CollisionEventsEnabled));
            for index in 0..30 {
                commands.spawn(body(10 + index, DYNAMIC, ball(), above(index, 8.0, 12.0)));
            }
        })
        .add_systems(Update, swing);
    });
}

#[test]
fn sensors_that_become_solid_and_back() {
    let switch = |step: Res<Step>, mut commands: Commands, all: Query<(Entity, &Number, Has<Sensor>)>| {
        for (entity, number, is_sensor) in all.iter().sort::<&Number>() {
            if number.0 == 0 || !(number.0 + step.0 / 40).is_multiple_of(3) {
                continue;
            }
            match is_sensor {
                true => commands.entity(entity).remove::<Sensor>(),
                false => commands.entity(entity).insert(Sensor),
            };
        }
    };
    check("switched sensors", 20, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..6 {
                commands.spawn(body(1 + index, STATIC, cube(), above(index + 500, 6.0, 1.0)));
            }
            for index in 0..40 {
                commands.spawn(body(10 + index, DYNAMIC, cube(), above(index, 7.0, 10.0)));
            }
        })
        .add_systems(Update, switch.run_if(every(40)));
    });
}

/// Balls of a parity pass platforms of the other one, and platforms hold what comes from above.
#[derive(SystemParam)]
struct Platforms<'w, 's> {
    numbers: Query<'w, 's, (&'static Number, &'static RigidBody)>,
}

impl CollisionHooks for Platforms<'_, '_> {
    fn filter_pairs(&self, a: Entity, b: Entity, commands: &mut Commands) -> bool {
        commands.queue(|world: &mut World| world.resource_mut::<Calls>().0 += 1);
        let Ok([(a, kind), (b, other)]) = self.numbers.get_many([a, b]) else {
            return true;
        };
        kind == other || a.0 % 2 == b.0 % 2
    }

    fn modify_contacts(&self, contacts: &mut ContactPair, _: &mut Commands) -> bool {
        let Ok([(_, kind), (_, other)]) = self.numbers.get_many([contacts.collider1, contacts.collider2]) else {
            return true;
        };
        let up = match (kind, other) {
            (RigidBody::Static, _) => Vec3::Y,
            (_, RigidBody::Static) => Vec3::NEG_Y,
            _ => return true,
        };
        contacts.manifolds.iter().all(|manifold| manifold.normal.dot(up) > 0.5)
    }
}

#[derive(Resource, Default)]
struct Calls(u32);

#[test]
fn one_way_platforms_by_hooks() {
    let scene = |app: &mut App| {
        app.init_resource::<Calls>()
            .add_systems(Startup, |mut commands: Commands| {
                commands.spawn(floor());
                for index in 0..8 {
                    let at = [3.0 * (index % 4) as f32 - 4.5, 2.0 + 2.0 * (index / 4) as f32, 0.0];
                    let platform = body(1 + index, STATIC, Collider::cuboid(2.5, 0.3, 3.0), at);
                    commands.spawn((platform, ActiveCollisionHooks::all()));
                }
                for index in 0..40 {
                    let up = LinearVelocity(Vec3::Y * 12.0 * noise(index + 70));
                    let hooks = ActiveCollisionHooks::FILTER_PAIRS;
                    commands.spawn((body(20 + index, DYNAMIC, ball(), above(index, 9.0, 6.0)), up, hooks));
                }
            });
    };
    let hooked = || PhysicsPlugins::new(PostUpdate).with_collision_hooks::<Platforms>();
    let [mut own, mut other] = [app(), app()];
    let plugins = hooked().build().disable::<BvhBroadPhasePlugin<Platforms>>();
    own.add_plugins(plugins.add(AvianBroadPhasePlugin::<Platforms>::with_hooks()));
    other.add_plugins(hooked());
    scene(&mut own);
    scene(&mut other);
    let reported = |app: &mut App| {
        app.add_systems(Last, |step: Res<Step>, calls: Res<Calls>| {
            assert!(step.0 < 200 || calls.0 > 50)
        });
    };
    reported(&mut own);
    reported(&mut other);
    assert!(compare("platforms", own, other, STEPS) > 20);
}

#[test]
fn sleepers_that_a_late_ball_wakes() {
    let throw = |mut commands: Commands| {
        let ball = body(99, DYNAMIC, Collider::sphere(1.0), [-14.0, 2.0, 0.0]);
        commands.spawn((ball, LinearVelocity(Vec3::X * 25.0)));
    };
    let asleep = |sleeping: Query<&Sleeping>, step: Res<Step>| {
        assert!(step.0 != 299 || sleeping.iter().len() > 8, "{}", sleeping.iter().len());
    };
    check("sleepers", 12, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..12 {
                let at = [1.5 * (index / 3) as f32, 0.5 + (index % 3) as f32, 0.0];
                commands.spawn(body(1 + index, DYNAMIC, cube(), at));
            }
        })
        .add_systems(Update, (throw.run_if(at_step(300)), asleep));
    });
}

#[test]
fn layers_of_thirty_two_bits_that_change() {
    let change = |step: Res<Step>, mut commands: Commands, all: Query<(Entity, &Number)>| {
        for (entity, number) in all.iter().sort::<&Number>() {
            if number.0 > 0 && (number.0 + step.0 / 70).is_multiple_of(4) {
                commands.entity(entity).insert(layers(number.0 + step.0));
            }
        }
    };
    fn layers(seed: u32) -> CollisionLayers {
        // Bits 1 and 17 share a bit of the engine.
        let of = [1 << 1, 1 << 17, 1 << 5, 1 << 31][seed as usize % 4];
        let with = [u32::MAX, 1 | 1 << 17, 1 | 1 << 5 | 1 << 31, 1][(noise(seed) * 4.0) as usize];
        CollisionLayers::from_bits(of, with)
    }
    check("layers", 20, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..60 {
                let cube = body(1 + index, DYNAMIC, cube(), above(index, 7.0, 14.0));
                commands.spawn((cube, layers(index)));
            }
            commands.spawn((body(90, DYNAMIC, ball(), [0.0, 4.0, 0.0]), CollisionLayers::NONE));
        })
        .add_systems(Update, change.run_if(every(70)));
    });
}

#[test]
fn compound_bodies() {
    let drop_part = |mut commands: Commands, parts: Query<(Entity, &Number)>| {
        for (part, number) in parts.iter().sort::<&Number>() {
            match number.0 {
                // A collider leaves its body, another its world.
                101 | 141 => _ = commands.entity(part).remove::<ChildOf>(),
                103 | 143 => commands.entity(part).despawn(),
                _ => {}
            }
        }
    };
    check("compounds", 20, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..12 {
                let number = 100 + 10 * index;
                let at = Transform::from_translation(above(index, 8.0, 16.0).into());
                commands.spawn((
                    (Number(number), RigidBody::Dynamic, at),
                    children![
                        collider(number + 1, cube(), [0.0, 0.0, 0.0]),
                        collider(number + 2, ball(), [0.8, 0.0, 0.0]),
                        collider(number + 3, Collider::cuboid(0.5, 2.0, 0.5), [-0.5, 0.5, 0.0]),
                    ],
                ));
            }
        })
        .add_systems(Update, drop_part.run_if(at_step(250)));
    });
}

#[test]
fn kinematic_platforms_that_turn_and_stir() {
    check("kinematics", 40, |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            let paddle = body(1, KINEMATIC, Collider::cuboid(9.0, 1.0, 0.5), [0.0, 0.8, 0.0]);
            commands.spawn((paddle, AngularVelocity(Vec3::Y * 1.5)));
            let lift = body(2, KINEMATIC, Collider::cuboid(3.0, 0.4, 3.0), [0.0, 0.5, 5.0]);
            commands.spawn((lift, LinearVelocity(Vec3::Y * 0.7)));
            for index in 0..60 {
                commands.spawn(body(10 + index, DYNAMIC, ball(), above(index, 8.0, 8.0)));
            }
        });
    });
}

#[test]
fn statics_that_are_moved() {
    let shift = |step: Res<Step>, mut all: Query<(&Number, &RigidBody, &mut Transform)>| {
        for (number, kind, mut transform) in &mut all {
            if kind.is_static() && number.0 == step.0 / 60 {
                transform.translation.y -= 1.0;
                transform.rotate_y(PI / 5.0);
            }
        }
    };
    check("statics", 30, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..9 {
                let at = [3.0 * (index % 3) as f32 - 3.0, 3.0, 3.0 * (index / 3) as f32 - 3.0];
                commands.spawn(body(1 + index, STATIC, Collider::cuboid(2.8, 0.5, 2.8), at));
            }
            for index in 0..50 {
                let at = above(index, 8.0, 8.0);
                commands.spawn(body(20 + index, DYNAMIC, cube(), [at[0], 3.5 + at[1], at[2]]));
            }
        })
        .add_systems(Update, shift.run_if(every(60)));
    });
}

#[test]
fn rain_that_is_despawned() {
    let spawn = |step: Res<Step>, mut commands: Commands, old: Query<(Entity, &Number)>| {
        for index in 0..2 {
            let number = 1 + 2 * step.0 + index;
            let at = above(number, 8.0, 1.0);
            let shape = [ball, cube][number as usize % 2]();
            commands.spawn(body(number, DYNAMIC, shape, [at[0], 9.0 + at[1], at[2]]));
        }
        for (entity, number) in old.iter().sort::<&Number>() {
            if number.0 > 0 && noise(number.0 * 977 + step.0) < 0.01 {
                commands.entity(entity).despawn();
            }
        }
    };
    check("rain", 60, move |app| {
        app.add_systems(Startup, |mut commands: Commands| _ = commands.spawn(floor()))
            .add_systems(Update, spawn.run_if(every(3)));
    });
}

#[test]
fn bodies_and_colliders_that_are_disabled_and_enabled() {
    let switch = |step: Res<Step>, mut commands: Commands, all: Query<(Entity, &Number), Allow<Disabled>>| {
        for (entity, number) in all.iter().sort::<&Number>() {
            let kind = if number.0.is_multiple_of(4) {
                3
            } else {
                1 + number.0 / 4 % 2
            };
            if number.0 == 0 || noise(number.0 * 31 + step.0) > 0.3 {
                continue;
            }
            let mut entity = commands.entity(entity);
            match (kind, noise(number.0 * 37 + step.0) < 0.5) {
                (1, true) => entity.insert(ColliderDisabled),
                (1, false) => entity.remove::<ColliderDisabled>(),
                (2, true) => entity.insert(RigidBodyDisabled),
                (2, false) => entity.remove::<RigidBodyDisabled>(),
                (_, true) => entity.insert(Disabled),
                (_, false) => entity.remove::<Disabled>(),
            };
        }
    };
    check("disabled", 30, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..60 {
                let cube = body(1 + 4 * index, DYNAMIC, cube(), above(index, 7.0, 12.0));
                // Avian 0.8's solver panics if a whole body gets `Disabled`, with its own broad phase, too.
                commands.spawn((cube, children![collider(4 + 4 * index, ball(), [0.3, 0.5, 0.0])]));
            }
        })
        .add_systems(Update, switch.run_if(every(25)));
    });
}

#[test]
fn bullets_with_speculative_margins() {
    let shoot = |step: Res<Step>, mut commands: Commands| {
        for index in 0..3 {
            let number = 100 + step.0 + index;
            let bullet = body(
                number,
                DYNAMIC,
                Collider::sphere(0.1),
                [-12.0, 0.5 + 1.4 * index as f32, 0.1],
            );
            let velocity = LinearVelocity(Vec3::X * (60.0 + 90.0 * noise(number)));
            match number % 3 {
                0 => commands.spawn((bullet, velocity, SweptCcd::default())),
                1 => commands.spawn((bullet, velocity, SpeculativeCcd::default())),
                _ => commands.spawn((bullet, velocity, SpeculativeCcd { max_distance: 0.5 })),
            };
        }
    };
    check("bullets", 25, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            commands.spawn(body(1, STATIC, Collider::cuboid(0.1, 10.0, 10.0), [6.0, 5.0, 0.0]));
            for index in 0..16 {
                let at = [1.05 * (index % 4) as f32, 0.5 + (index / 4) as f32, 0.0];
                commands.spawn(body(2 + index, DYNAMIC, cube(), at));
            }
        })
        .add_systems(Update, shoot.run_if(every(30)));
    });
}

#[test]
fn collision_margins_and_shapes_that_change() {
    let reshape = |step: Res<Step>, mut commands: Commands, all: Query<(Entity, &Number), With<RigidBody>>| {
        for (entity, number) in all.iter().sort::<&Number>() {
            if number.0 > 0 && number.0 % 6 == step.0 / 50 % 6 {
                let size = 0.4 + 1.2 * noise(number.0 + step.0);
                commands.entity(entity).insert(Collider::cuboid(size, 1.0, size));
            }
        }
    };
    check("margins", 40, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((floor(), CollisionMargin(0.05)));
            for index in 0..50 {
                let margin = CollisionMargin(0.2 * noise(index + 300));
                commands.spawn((body(1 + index, DYNAMIC, cube(), above(index, 7.0, 10.0)), margin));
            }
        })
        .add_systems(Update, reshape.run_if(every(50)));
    });
}

#[test]
fn bodies_of_other_kinds_later() {
    let change = |step: Res<Step>, mut commands: Commands, all: Query<(Entity, &Number), With<RigidBody>>| {
        for (entity, number) in all.iter().sort::<&Number>() {
            if number.0 > 0 && noise(number.0 * 91 + step.0) < 0.2 {
                let kind = [DYNAMIC, STATIC, KINEMATIC, DYNAMIC][(step.0 / 60 + number.0) as usize % 4];
                commands.entity(entity).insert(kind);
            }
        }
    };
    check("kinds", 30, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..60 {
                commands.spawn(body(1 + index, DYNAMIC, cube(), above(index, 7.0, 12.0)));
            }
        })
        .add_systems(Update, change.run_if(every(60)));
    });
}

#[test]
fn colliders_without_a_body() {
    let move_some = |step: Res<Step>, mut commands: Commands, mut all: Query<(Entity, &Number, &mut Transform)>| {
        for (entity, number, mut transform) in all.iter_mut().sort::<&Number>() {
            match number.0 {
                1 | 3 if step.0 == 300 => _ = commands.entity(entity).insert(STATIC),
                1..5 => transform.translation.x += 0.02 * (number.0 as f32 - 2.5),
                10..14 if step.0 == 200 => _ = commands.entity(entity).remove::<RigidBody>(),
                _ => {}
            }
        }
    };
    check("standalone", 15, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..5 {
                commands.spawn(collider(
                    1 + index,
                    Collider::cuboid(2.0, 0.5, 2.0),
                    above(index + 40, 5.0, 2.0),
                ));
            }
            for index in 0..30 {
                commands.spawn(body(10 + index, DYNAMIC, ball(), above(index, 6.0, 9.0)));
            }
        })
        .add_systems(Update, move_some);
    });
}

#[derive(Resource, Default)]
struct Spawned(u32);

/// Avian clears its list of moved proxies after such events.
#[test]
fn spawned_while_events_of_collisions_run() {
    let spawn = |_: On<CollisionStart>, mut commands: Commands, mut spawned: ResMut<Spawned>| {
        if spawned.0 < 60 {
            spawned.0 += 1;
            let number = 200 + spawned.0;
            let at = above(number, 6.0, 2.0);
            commands.spawn(body(number, DYNAMIC, ball(), at));
        }
    };
    check("events", 30, move |app| {
        app.init_resource::<Spawned>()
            .add_observer(spawn)
            .add_systems(Startup, |mut commands: Commands| {
                commands.spawn(floor());
                for index in 0..40 {
                    let cube = body(1 + index, DYNAMIC, cube(), above(index, 7.0, 14.0));
                    commands.spawn((cube, CollisionEventsEnabled));
                }
            });
    });
}

#[test]
fn wall_and_wrecking_ball() {
    check("wall", 300, |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            let hook = commands.spawn(body(1, STATIC, ball(), [0.0, 18.0, 0.0])).id();
            let heavy = (
                body(2, DYNAMIC, Collider::sphere(1.5), [-12.0, 12.0, 0.0]),
                ColliderDensity(20.0),
            );
            let heavy = commands.spawn(heavy).id();
            commands.spawn(DistanceJoint::new(hook, heavy).with_limits(13.4, 13.6));
            for index in 0..200 {
                let [row, column] = [index / 20, index % 20];
                let at = [
                    0.0,
                    0.5 + row as f32,
                    1.01 * column as f32 - 10.0 + 0.5 * (row % 2) as f32,
                ];
                commands.spawn(body(10 + index, DYNAMIC, cube(), at));
            }
        });
    });
}

#[test]
fn tumbler() {
    check("tumbler", 60, |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            let side = |number, size: [f32; 3], at| collider(number, Collider::cuboid(size[0], size[1], size[2]), at);
            commands.spawn((
                (
                    Number(1),
                    KINEMATIC,
                    Transform::default(),
                    AngularVelocity(Vec3::Z * 0.8),
                ),
                children![
                    side(2, [8.0, 0.5, 4.0], [0.0, -4.0, 0.0]),
                    side(3, [8.0, 0.5, 4.0], [0.0, 4.0, 0.0]),
                    side(4, [0.5, 8.0, 4.0], [-4.0, 0.0, 0.0]),
                    side(5, [0.5, 8.0, 4.0], [4.0, 0.0, 0.0]),
                    side(6, [8.0, 8.0, 0.5], [0.0, 0.0, -2.0]),
                    side(7, [8.0, 8.0, 0.5], [0.0, 0.0, 2.0]),
                ],
            ));
            for index in 0..60 {
                let of = |axis| 4.0 * (noise(index * 3 + axis) - 0.5);
                commands.spawn(body(
                    10 + index,
                    DYNAMIC,
                    Collider::sphere(0.35),
                    [of(0), of(1), of(2) * 0.6],
                ));
            }
        });
    });
}

#[test]
fn pushed_from_afar_by_one_of_many_sleepers() {
    let push = |step: Res<Step>, mut all: Query<(&Number, &mut LinearVelocity)>| {
        for (number, mut velocity) in &mut all {
            if number.0 == 1 + step.0 / 2 % 200 {
                velocity.0 = Vec3::new(4.0, 5.0, 3.0);
            }
        }
    };
    check("pushed", 200, move |app| {
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(floor());
            for index in 0..200 {
                let at = [1.5 * (index % 14) as f32 - 10.0, 0.5, 1.5 * (index / 14) as f32 - 10.0];
                commands.spawn(body(1 + index, DYNAMIC, cube(), at));
            }
        })
        .add_systems(Update, push.run_if(every(20)));
    });
}
