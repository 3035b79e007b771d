use std::process::Command;

use bevy::app::{TaskPoolOptions, TaskPoolPlugin, TaskPoolThreadAssignmentPolicy};
use bevy::prelude::*;
use bevy::tasks::ComputeTaskPool;

use super::avian::prelude::*;
use super::harness::{Number, STEPS, finish, noise, ours, step};

const THREADS: &str = "GPU_BROAD_PHASE_THREADS";
const RUNS: usize = 10;

/// A process has one task pool, so each run is a process.
#[test]
fn a_pile_ends_the_same_in_each_run_and_on_1_and_2_threads() {
    if let Ok(threads) = std::env::var(THREADS) {
        println!("\nplaces {:016x}", places_of_pile(threads.parse().unwrap()));
        return;
    }
    let name = "three::pile::a_pile_ends_the_same_in_each_run_and_on_1_and_2_threads";
    let run = |run: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact", "--nocapture"]);
        let output = command.env(THREADS, (1 + run % 2).to_string()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let hash = text.lines().find_map(|line| line.strip_prefix("places "));
        hash.unwrap_or_else(|| panic!("{text}")).to_string()
    };
    let hashes: Vec<_> = (0..RUNS).map(run).collect();
    println!("{hashes:?}");
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

fn places_of_pile(threads: usize) -> u64 {
    // Before the app's own plugin, whose pool is then this one.
    let mut options = TaskPoolOptions::with_num_threads(threads);
    options.compute = TaskPoolThreadAssignmentPolicy {
        min_threads: threads,
        max_threads: threads,
        percent: 1.0,
        on_thread_spawn: None,
        on_thread_destroy: None,
    };
    TaskPoolPlugin {
        task_pool_options: options,
    }
    .build(&mut App::new());
    let mut app = ours();
    assert_eq!(ComputeTaskPool::get().thread_num(), threads);
    app.add_systems(Startup, |mut commands: Commands| {
        let floor = (Number(0), RigidBody::Static, Collider::cuboid(40.0, 1.0, 40.0));
        commands.spawn((floor, Transform::from_xyz(0.0, -0.5, 0.0)));
        for index in 0..400 {
            let of = |axis| noise(index * 3 + axis);
            let at = Transform::from_xyz(9.0 * of(0), 1.0 + 40.0 * of(1), 9.0 * of(2));
            let shape = match index % 3 {
                0 => Collider::sphere(0.5),
                1 => Collider::capsule(0.4, 0.6),
                _ => Collider::cuboid(1.0, 0.8, 0.6),
            };
            commands.spawn((Number(1 + index), RigidBody::Dynamic, shape, at));
        }
    });
    finish(&mut app);
    let mut frame = step(&mut app);
    for _ in 1..STEPS {
        frame = step(&mut app);
    }
    // FNV-1a.
    let bytes = frame.places.values().flat_map(|place| place.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
