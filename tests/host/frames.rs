//! Steps that follow each other give the results of new broad phases. `GPU_BROAD_PHASE_WILD` selects scenes.

use gpu_broad_phase::cpu::{CpuBroadPhase, step_scene_where};
use gpu_broad_phase::{ALL_WORLDS, Aabb, Growth, Pair, Scene};
use rayon::prelude::*;
use wild::{Rng, Wild, caught};

const SCENES: u64 = 1500;
const STEPS: u64 = 10;

/// Mean motion of a step, in sides of the moved boxes.
fn pace(rng: &mut Rng) -> f32 {
    rng.one_of(&[0.0, 0.003, 0.01, 0.03, 0.1, 2.0])
}

fn moved(object: &mut Aabb, pace: f32, rng: &mut Rng) {
    let sides = [0, 1, 2].map(|axis| object.max[axis] - object.min[axis]);
    let longest = sides.into_iter().filter(|side| side.is_finite()).fold(0.0, f32::max);
    for axis in 0..3 {
        let motion = pace * longest * 2.0 * (rng.unit() - 0.5);
        object.min[axis] += motion;
        object.max[axis] += motion;
        if rng.once_in(8) {
            object.max[axis] += motion.abs();
        }
    }
}

fn advance(wild: &mut Wild, pace: f32, worlds: u32, rng: &mut Rng) {
    let statics = wild.statics;
    for object in &mut wild.objects[statics..] {
        moved(object, pace, rng);
    }
    let count = wild.objects.len();
    if count == 0 || rng.once_in(2) {
        return;
    }
    let any = rng.below(count);
    let other = rng.below(count);
    match rng.below(16) {
        0 => moved(&mut wild.objects[any], 1e3, rng),
        1 => (wild.objects[any].min, wild.objects[any].max) = (wild.objects[other].min, wild.objects[other].max),
        2 => wild.objects[any].min[rng.below(3)] = rng.one_of(&[f32::NAN, f32::NEG_INFINITY, 1e30]),
        3 => wild.objects[any].group ^= rng.one_of(&[1, Aabb::EXCLUDED, Aabb::STATIC]),
        4 => wild.objects[any].layers ^= rng.one_of(&[1, 1 << 16]),
        5 => wild.excluded.push(Pair::new(any as u32, other as u32)),
        6 => wild.excluded.clear(),
        7 if worlds > 1 => {
            let existing = rng.below(worlds as usize) as u32;
            wild.worlds[any] = rng.one_of(&[existing, worlds, ALL_WORLDS]);
        }
        8 | 9 => {
            wild.objects.push(wild.objects[other]);
            if worlds > 1 {
                wild.worlds.push(wild.worlds[other]);
            }
        }
        10 | 11 if any >= statics => {
            wild.objects.swap_remove(any);
            if worlds > 1 {
                wild.worlds.swap_remove(any);
            }
        }
        12 if any < statics => moved(&mut wild.objects[any], 0.1, rng),
        13 => wild.objects[statics..].reverse(),
        14 => {
            for object in &mut wild.objects {
                moved(object, 0.3, rng);
            }
        }
        _ => {}
    }
}

/// Returns the number of steps after which there are candidates, and the number of pairs.
fn check_scene(number: u64) -> [usize; 2] {
    let rng = &mut Rng(number.wrapping_mul(0x9e37_79b9) ^ 0xf7a3);
    let mut descriptor = wild::descriptor(number);
    // Some would be 2^32, once boxes moved.
    descriptor.outputs.ray_cells = false;
    let mut wild = wild::scene(number, &descriptor);
    if !number.is_multiple_of(8) {
        (descriptor.pairs, descriptor.count_candidates) = (true, false);
        descriptor.outputs.growth = Growth::Grow;
    }
    let admits = |a: u32, b: u32| !number.is_multiple_of(4) || !(a + 3 * b).is_multiple_of(7);
    let pace = pace(rng);
    let mut broad_phase = CpuBroadPhase::new(&descriptor).unwrap();
    let mut found = [0; 2];
    for step in 0..STEPS {
        let mut scene = wild.scene(step);
        let query = std::mem::take(&mut scene.query);
        if !step.is_multiple_of(3) {
            scene.query = query;
        }
        let expected = step_scene_where(&descriptor, &scene, &admits);
        let result = broad_phase.step_scene_where(&scene, &admits);
        if let (Ok(result), Ok(expected)) = (&result, &expected) {
            assert_eq!(result.counters, expected.counters, "step {step}");
        }
        assert_eq!(result, expected, "step {step}");
        found[0] += usize::from(broad_phase.has_candidates());
        found[1] += result.map_or(0, |result| result.pairs.len());
        if step % 4 == 2 {
            let mut expected = step_scene_where(&descriptor, &Scene { query, ..scene }, &admits).unwrap();
            (expected.pairs, expected.world_pairs, expected.world_offsets) = Default::default();
            let later = broad_phase.query(&query).unwrap();
            // Without the function, queries for partners find more.
            if !number.is_multiple_of(4) {
                assert_eq!(later, expected, "queries after step {step}");
            }
        }
        advance(&mut wild, pace, descriptor.worlds, rng);
    }
    found
}

#[test]
fn steps_give_the_results_of_new_broad_phases() {
    let results: Vec<_> = wild::selected(SCENES)
        .into_par_iter()
        .map(|number| (number, caught(|| check_scene(number))))
        .collect();
    let mut found = [0; 2];
    let mut failed = Vec::new();
    for (number, result) in results {
        match result {
            Ok(counts) => found = [0, 1].map(|place| found[place] + counts[place]),
            Err(fault) => failed.push(format!("scene {number}: {fault}")),
        }
    }
    let first = failed[..failed.len().min(20)].join("\n");
    assert!(failed.is_empty(), "{} scenes fail\n{first}", failed.len());
    println!("{found:?}");
    assert!(
        wild::is_selected() || found[0] > 3000 && found[1] > 100_000,
        "{found:?}"
    );
}
