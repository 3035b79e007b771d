use bevy::prelude::*;

use super::avian::prelude::*;
use super::harness::{Number, STEPS, Step, compare, noise, ours, theirs};

#[test]
fn rain_on_a_pyramid() {
    let scene = |app: &mut App| {
        app.add_systems(Startup, |mut commands: Commands| {
            let floor = (Number(0), RigidBody::Static, Collider::rectangle(40.0, 1.0));
            commands.spawn((floor, Transform::from_xyz(0.0, -0.5, 0.0)));
            let mut number = 0;
            for row in 0..8 {
                for column in 0..8 - row {
                    number += 1;
                    let x = 1.1 * (column as f32 + 0.5 * row as f32 - 4.0);
                    let square = (Number(number), RigidBody::Dynamic, Collider::rectangle(1.0, 1.0));
                    commands.spawn((square, Transform::from_xyz(x, 0.5 + row as f32, 0.0)));
                }
            }
        })
        .add_systems(Update, |step: Res<Step>, mut commands: Commands| {
            if step.0.is_multiple_of(8) {
                // z is ignored.
                let at = Transform::from_xyz(16.0 * (noise(step.0) - 0.5), 12.0, step.0 as f32);
                commands.spawn((Number(100 + step.0), RigidBody::Dynamic, Collider::circle(0.4), at));
            }
        });
    };
    let [mut own, mut other] = [ours(), theirs()];
    scene(&mut own);
    scene(&mut other);
    assert!(compare("rain in 2D", own, other, STEPS) > 60);
}
