//! Results past capacities, memory limits and rounds.

use crate::common::pool::{opened, pooled};
use crate::common::steps::{
    RAY_MODES, UNIT, broad_phase, descriptor, encoder, poll, queries_of, read, record, scene_of, sorted, submit, whole,
};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, daily_or_full, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, CreateError, DescriptorError, GpuBroadPhase, Growth, InputError, Pair,
    QueryMode, Ray, RayHit, RayMode, ReadBackError, Scene, Scheme, Status, StepError, StepResult, wgpu,
};
use pollster::block_on;

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 1.0 },
];

fn step(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, objects: &[Aabb]) -> StepResult {
    submit(adapter, gpu, scene_of(objects));
    read(gpu)
}

fn with_limit<'t>(descriptor: BroadPhaseDescriptor<'t>, bytes: u64) -> BroadPhaseDescriptor<'t> {
    let mut limited = descriptor;
    limited.outputs.max_bytes = Some(bytes);
    limited
}

/// Returns the bytes that a refused step needs.
fn refused(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, scene: Scene<'_>) -> u64 {
    let limit = gpu.descriptor().outputs.max_bytes.expect("a limit");
    match gpu.step(&mut encoder(adapter), scene).err() {
        Some(StepError::Input(InputError::MemoryLimit { needed, limit: of })) if needed > limit && of == limit => {
            needed
        }
        error => panic!("{error:?} of a step over {limit} bytes on {}", adapter.name),
    }
}

fn is_memory_limit<T>(result: &Result<T, BroadPhaseError>) -> bool {
    matches!(result, Err(BroadPhaseError::Input(InputError::MemoryLimit { .. })))
}

/// Rods on three axes in the same cells. Only the first and the last overlap.
fn rods(count: u32) -> Vec<Aabb> {
    let rod = |index| {
        let [axis, place] = [index as usize % 3, index as usize / 3];
        let (mut low, mut high) = ([-1e6; 3], [1e6; 3]);
        low[(axis + 1) % 3] = (place % 75) as f32;
        low[(axis + 2) % 3] = (place / 75) as f32 + 0.5;
        for axis in [(axis + 1) % 3, (axis + 2) % 3] {
            high[axis] = low[axis] + 0.25;
        }
        Aabb::new(low, high)
    };
    (0..count - 1).chain([0]).map(rod).collect()
}

fn crowd(count: usize, neighbours: f32, rng: &mut Rng) -> Vec<Aabb> {
    let side = (8.0 * count as f32 / neighbours).cbrt();
    let low = (0..count).map(|_| rng.point(side));
    low.map(|low| Aabb::new(low, low.map(|low| low + 1.0))).collect()
}

/// All boxes overlap, so a search takes more than one round. Each adapter runs one scheme.
#[test]
fn equal_boxes_are_counted_exactly_and_give_a_prefix() {
    for (adapter, scheme) in adapters().iter().zip(SCHEMES.into_iter().cycle()) {
        count_equal_boxes(16_500, adapter, scheme);
    }
}

/// `tests/passes` covers scans past 32 bits on every adapter; unit tests cover results that no host can hold.
#[test]
#[ignore = "a minute on two processors"]
fn equal_boxes_past_32_bits_of_pairs_are_counted_exactly_and_give_a_prefix() {
    const MANY: u32 = 93_000;
    const { assert!(pairs_of(MANY) > 1 << 32) };
    for adapter in adapters().iter().take(1) {
        count_equal_boxes(MANY, adapter, SCHEMES[0]);
    }
}

const fn pairs_of(count: u32) -> u64 {
    count as u64 * (count as u64 - 1) / 2
}

fn count_equal_boxes(count: u32, adapter: &TestAdapter, scheme: Scheme) {
    let descriptor = descriptor(|all| {
        all.scheme = scheme;
        all.outputs.growth = Growth::Fixed;
        all.outputs.capacities.pairs = Some(1000);
    });
    let objects = vec![UNIT; count as usize];
    let result = block_on(pooled(adapter, &descriptor).step(&objects, &[])).expect("a prefix");
    let what = format!("{count} boxes, {scheme:?} on {}", adapter.name);
    assert_eq!(result.counters.pairs_needed, pairs_of(count), "{what}");
    assert_eq!(result.counters.status, Status::PAIRS, "{what}");
    assert!(result.counters.rounds_needed >= count.div_ceil(16_384), "{what}");
    let mut pairs = sorted(result.pairs);
    pairs.dedup();
    assert_eq!(pairs.len(), 1000, "{what}");
    assert!(pairs.iter().all(|pair| pair.a < pair.b && pair.b < count), "{what}");
}

#[test]
fn long_thin_rods_in_one_cell_take_bounded_rounds() {
    let count = 16_500;
    let objects = rods(count);
    for adapter in daily_adapters() {
        let mut broad_phase = opened(&adapter, &BroadPhaseDescriptor::default());
        for scheme in SCHEMES {
            let what = format!("{count} rods, {scheme:?} on {}", adapter.name);
            broad_phase
                .set_descriptor(&descriptor(|all| all.scheme = scheme))
                .expect("a descriptor");
            let result = block_on(broad_phase.step(&objects, &[])).expect("a result");
            assert_eq!(result.pairs, [Pair { a: 0, b: count - 1 }], "{what}");
            let rounds = count.div_ceil(16_384);
            assert!((rounds..2 * rounds).contains(&result.counters.rounds_needed), "{what}");
            for rounds in [rounds, 1] {
                let calm = block_on(broad_phase.step(&objects[..100], &[])).expect("a result");
                assert!(calm.pairs.is_empty() && calm.counters.is_complete(), "{what}");
                assert!(calm.counters.rounds_capacity >= rounds, "{what}");
                assert!(rounds > 1 || calm.counters.rounds_capacity == 1, "{what}");
            }
        }
    }
}

#[test]
fn a_step_without_enough_rounds_says_so_and_grows_them() {
    // Crowded searches pass over some boxes, yet these are more than one round tests.
    let objects = rods(17_000);
    for (adapter, scheme) in daily_adapters().into_iter().zip(SCHEMES.into_iter().cycle().skip(1)) {
        for (growth, rounds, complete) in [
            (Growth::Grow, None, [false, true]),
            (Growth::Fixed, None, [false, false]),
            (Growth::Fixed, Some(2), [true, true]),
        ] {
            let mut gpu = broad_phase(
                &adapter,
                &descriptor(|all| {
                    (all.scheme, all.outputs.growth) = (scheme, growth);
                    all.outputs.capacities.rounds = rounds;
                }),
            );
            for is_complete in complete {
                let what = format!("{scheme:?}, {growth:?}, {rounds:?} on {}", adapter.name);
                let found = step(&adapter, &mut gpu, &objects);
                let counters = found.counters;
                assert_eq!(found.pairs.len() == 1, is_complete, "{what}");
                assert_eq!(counters.status.has(Status::ROUNDS), !is_complete, "{what}");
                let rounds = (counters.rounds_needed, counters.rounds_capacity);
                assert_eq!(rounds, (2, 1 + u32::from(is_complete)), "{what}");
            }
        }
    }
}

#[test]
fn too_few_entries_are_reported_and_more_are_made() {
    let objects = uniform(600, &mut Rng(23));
    let expected = brute_force::pairs(&objects);
    for adapter in adapters() {
        let with_growth = |growth| {
            descriptor(|all| {
                all.scheme = Scheme::Uniform { cell_size: 0.75 };
                (all.outputs.growth, all.outputs.capacities.entries) = (growth, Some(100));
            })
        };
        let result = step(
            &adapter,
            &mut broad_phase(&adapter, &with_growth(Growth::Fixed)),
            &objects,
        );
        assert!(result.counters.status.has(Status::ENTRIES) && result.counters.entries_needed > 100);
        assert!(result.pairs.iter().all(|pair| expected.binary_search(pair).is_ok()));
        for statics in [0, 595] {
            let mut scene = scene_of(&objects[statics..]);
            scene.statics.objects = objects[..statics].into();
            let mut gpu = broad_phase(&adapter, &with_growth(Growth::Grow));
            submit(&adapter, &mut gpu, scene);
            let first = read(&mut gpu).counters;
            assert!(
                first.status.has(Status::ENTRIES),
                "{statics} static on {}",
                adapter.name
            );
            let pairs = sorted(whole(&adapter, &mut gpu, scene).pairs);
            let is_moving = |pair: &&Pair| pair.b as usize >= statics;
            assert!(
                pairs.iter().eq(expected.iter().filter(is_moving)),
                "{statics} static on {}",
                adapter.name
            );
        }
    }
}

#[test]
fn closest_hits_of_crowded_rays_are_found_over_several_rounds() {
    let mut objects = rods(40_000);
    let mut rng = Rng(3);
    objects.extend((0..64).map(|_| Aabb::point([0; 3].map(|_| 160.0 * rng.unit()))));
    let rays: Vec<_> = objects[40_000..]
        .iter()
        .map(|point| Ray::new([-1.0, point.min[1], point.min[2]], [1.0, 0.0, 0.0], f32::INFINITY))
        .collect();
    for adapter in daily_adapters() {
        for (scheme, ray_mode) in SCHEMES
            .into_iter()
            .flat_map(|scheme| RAY_MODES.map(|mode| (scheme, mode)))
        {
            let descriptor = descriptor(|all| {
                (all.scheme, all.pairs, all.outputs.ray_mode) = (scheme, false, ray_mode);
            });
            let result = block_on(pooled(&adapter, &descriptor).step(&objects, &rays)).expect("a result");
            let expected = cpu::step(&descriptor, &objects, &rays).expect("a result");
            let what = format!("{scheme:?}, {ray_mode:?} on {}", adapter.name);
            assert!(result.counters.is_complete(), "{what}");
            assert!(ray_mode == RayMode::Any || result.counters.rounds_needed > 1, "{what}");
            assert_eq!(result.ray_any, expected.ray_any, "{what}");
            assert_eq!(result.ray_offsets, expected.ray_offsets, "{what}");
            if ray_mode == RayMode::Closest {
                assert_eq!(result.ray_hits, expected.ray_hits, "{what}");
            }
        }
    }
}

#[test]
fn pairs_of_crowded_boxes_are_whole_under_every_memory_limit() {
    let mut rng = Rng(8);
    let scenes = [30.0, 50.0].map(|neighbours| crowd(3000, neighbours, &mut rng));
    let expected = scenes.each_ref().map(|objects| brute_force::pairs(objects));
    for adapter in daily_adapters() {
        let unlimited = BroadPhaseDescriptor::default();
        let mut gpu = broad_phase(&adapter, &unlimited);
        for objects in &scenes {
            whole(&adapter, &mut gpu, scene_of(objects));
        }
        let all = gpu.memory().total();
        let mut results = 0;
        for part in (12..=34).step_by(daily_or_full(2, 1)) {
            let descriptor = with_limit(unlimited, all * part / 20);
            if let Err(error) = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor) {
                let is_memory = matches!(
                    error,
                    CreateError::Descriptor(DescriptorError::NoStepFits(InputError::MemoryLimit { .. }))
                );
                assert!(is_memory && results == 0, "{error}");
                continue;
            }
            let mut limited = opened(&adapter, &descriptor);
            for (objects, expected) in scenes.iter().zip(&expected) {
                match block_on(limited.step(objects, &[])) {
                    Ok(result) => {
                        results += 1;
                        assert!(sorted(result.pairs) == *expected, "{part} of 20 on {}", adapter.name);
                    }
                    Err(error) => assert!(matches!(error, BroadPhaseError::Input(_)), "{error}"),
                }
            }
        }
        assert!(results > daily_or_full(10, 20), "{results} results on {}", adapter.name);
    }
}

#[test]
fn the_prefix_of_an_unfinished_count_does_not_depend_on_the_step_before() {
    let before = crowd(17_500, 30.0, &mut Rng(9));
    let crowd = vec![UNIT; 17_500];
    for adapter in daily_adapters() {
        let descriptor = descriptor(|all| all.outputs.capacities.pairs = Some(600_000));
        let [mut new, mut used] = [(); 2].map(|()| broad_phase(&adapter, &descriptor));
        let expected = step(&adapter, &mut new, &crowd);
        assert!(expected.counters.status.has(Status::ROUNDS));
        let first = step(&adapter, &mut used, &before).counters;
        assert_eq!(first.status, Status::default());
        let found = step(&adapter, &mut used, &crowd);
        assert!(found.pairs == expected.pairs, "{}", adapter.name);
    }
}

#[test]
fn steps_above_max_bytes_are_refused_and_forgotten() {
    let objects = uniform(3000, &mut Rng(5));
    let crowd = [UNIT; 1500];
    for adapter in adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let unlimited = descriptor(|all| all.scheme = scheme);
            let mut gpu = broad_phase(&adapter, &unlimited);
            (0..2).for_each(|_| _ = step(&adapter, &mut gpu, &objects));
            let limit = gpu.memory().total();
            let mut all = opened(&adapter, &with_limit(unlimited, limit));
            for objects in [&objects[..], &objects[..1000]] {
                let result = block_on(all.step_scene(&scene_of(objects))).expect("a result");
                assert!(all.gpu().unwrap().memory().total() <= limit, "{what}");
                let is_whole = result.counters.is_complete() && sorted(result.pairs) == brute_force::pairs(objects);
                assert!(is_whole, "{what}");
            }
            assert!(is_memory_limit(&block_on(all.step_scene(&scene_of(&crowd)))), "{what}");
            // The demand of the refused step is forgotten.
            let smaller = block_on(all.step_scene(&scene_of(&objects))).expect("a smaller step");
            assert!(smaller.counters.is_complete(), "{what}");

            let mut gpu = broad_phase(&adapter, &with_limit(unlimited, limit));
            let part = step(&adapter, &mut gpu, &crowd);
            let counters = part.counters;
            assert_eq!(
                (counters.pairs_needed, counters.status),
                (1_124_250, Status::PAIRS),
                "{what}"
            );
            assert_eq!(part.pairs.len(), counters.pairs_capacity as usize, "{what}");
            refused(&adapter, &mut gpu, scene_of(&crowd));
            step(&adapter, &mut gpu, &objects);

            let mut gpu = broad_phase(&adapter, &unlimited);
            step(&adapter, &mut gpu, &objects[..10]);
            let mut gpu = broad_phase(&adapter, &with_limit(unlimited, gpu.memory().total()));
            refused(&adapter, &mut gpu, scene_of(&objects));
            assert!(
                step(&adapter, &mut gpu, &objects[..10]).counters.is_complete(),
                "{what}"
            );
        }
    }
}

#[test]
fn trim_gives_memory_back_and_the_next_step_is_complete() {
    let objects = uniform(20_000, &mut Rng(7));
    let expected = brute_force::pairs(&objects[..500]);
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut gpu = broad_phase(&adapter, &descriptor(|all| all.scheme = scheme));
            (0..2).for_each(|_| _ = step(&adapter, &mut gpu, &objects));
            let before = gpu.memory().total();
            step(&adapter, &mut gpu, &objects[..500]);
            let held = gpu.memory().total();
            assert!(
                held >= before && 500 * held <= 501 * before,
                "{what}: {held} of {before}"
            );
            gpu.trim();
            assert_eq!(gpu.memory().total(), 0, "{what}");
            assert_eq!(block_on(gpu.read_back()).err(), Some(ReadBackError::NoStep), "{what}");
            let result = step(&adapter, &mut gpu, &objects[..500]);
            assert_eq!(sorted(result.pairs), expected, "{what}");
            let after = gpu.memory().total();
            assert!(after + 1_000_000 < before, "{what}: {after} bytes of {before}");
        }
    }
}

/// llvmpipe limits the loop iterations of eight rays together.
#[test]
fn rays_through_crowds_of_their_own_are_never_cut_short() {
    const CROWD: usize = 16_000;
    const RAYS: usize = 16;
    let cells = (0..RAYS).map(|index| 10.0 * index as f32 + 0.4);
    let in_cell = |at: f32| std::iter::repeat_n(Aabb::new([at, at, 0.4], [at + 0.2, at + 0.2, 0.6]), CROWD);
    let objects: Vec<_> = cells.clone().flat_map(in_cell).collect();
    let ray = |at: f32| Ray::new([-5.0, at + 0.1, 0.5], [1.0, 0.0, 0.0], f32::INFINITY);
    let rays: Vec<_> = cells.map(ray).collect();
    let offsets: Vec<_> = (0..=RAYS).map(|ray| (ray * CROWD) as u32).collect();
    for adapter in daily_adapters() {
        for scheme in [SCHEMES[0], Scheme::Uniform { cell_size: 1.0 }, SCHEMES[2]] {
            let descriptor = descriptor(|all| {
                (all.scheme, all.pairs, all.outputs.ray_mode) = (scheme, false, RayMode::All);
            });
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut scene = scene_of(&objects);
            scene.query.rays = rays[..].into();
            let mut gpu = broad_phase(&adapter, &descriptor);
            submit(&adapter, &mut gpu, scene);
            let first = read(&mut gpu).counters;
            let is_reported = first.status.has(Status::CUT);
            assert!(is_reported || first.hits_needed == (RAYS * CROWD) as u64, "{what}");
            let result = block_on(pooled(&adapter, &descriptor).step_scene(&scene)).expect("a result");
            assert!(result.counters.is_complete(), "{what}");
            assert_eq!(result.ray_offsets, offsets, "{what}");
        }
    }
}

/// The step fails because further rounds need more memory, but its table can be queried.
#[test]
fn a_query_after_a_step_that_ran_out_of_memory_ends() {
    let along = |index| Aabb::new([0.5 * index as f32, 0.0, 0.0], [0.5 * index as f32 + 0.2, 0.2, 0.2]);
    let objects: Vec<_> = (0..18_000).map(along).collect();
    let rays = vec![Ray::new([0.1, 0.1, -1.0], [0.0, 0.0, 1.0], 2.0); 100_000];
    let mut scene = scene_of(&objects);
    scene.query.rays = rays[..].into();
    for adapter in daily_adapters() {
        let descriptor = descriptor(|all| all.scheme = Scheme::Uniform { cell_size: 1e6 });
        let mut gpu = broad_phase(&adapter, &with_limit(descriptor, 1 << 20));
        let needed = refused(&adapter, &mut gpu, scene);
        let mut limited = opened(&adapter, &with_limit(descriptor, needed + 1000));
        assert!(
            is_memory_limit(&block_on(limited.step_scene(&scene))),
            "{}",
            adapter.name
        );
        let result = block_on(limited.query(&queries_of(&objects[5..6]))).expect("a result");
        let found = (result.query_objects, result.counters.status);
        assert_eq!(found, (vec![5], Status::default()), "{}", adapter.name);
    }
}

#[test]
fn rounds_of_a_crowded_step_go_after_many_that_need_fewer() {
    let points = [Aabb::point([1.0; 3]); 100];
    let rays = [Ray::new([0.0, 1.0, 1.0], [1.0, 0.0, 0.0], f32::INFINITY); 3];
    let mut crowded = scene_of(&points);
    crowded.query = queries_of(&points[..1]);
    crowded.query.query_mode = QueryMode::Nearest(1_024);
    crowded.query.rays = rays[..].into();
    let mut small = scene_of(&points[..10]);
    small.query.rays = rays[..].into();
    let hits = [RayHit { object: 0, t: 1.0 }; 3];
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let most = whole(&adapter, &mut gpu, crowded).counters.rounds_capacity;
        assert!(most > 1, "{most} rounds on {}", adapter.name);
        let rounds: Vec<_> = (0..150)
            .map(|step| {
                let result = whole(&adapter, &mut gpu, small);
                assert_eq!(result.ray_hits, hits, "step {step} on {}", adapter.name);
                result.counters.rounds_capacity
            })
            .collect();
        let is_held = rounds[..30].iter().all(|&rounds| rounds == most);
        assert!(is_held && rounds[149] == 1, "{rounds:?} on {}", adapter.name);
    }
}

#[test]
fn steps_make_room_without_a_wait_and_keep_their_demand_after_trim() {
    let mut rng = Rng(0x3a7c);
    let mut corner = |low| [low; 3].map(|low: f32| low + rng.unit());
    let crowd: Vec<_> = (0..300).map(|_| Aabb::new(corner(0.0), corner(1.0))).collect();
    let input = scene_of(&crowd);
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut gpu = broad_phase(&adapter, &descriptor(|all| all.scheme = scheme));
            assert_eq!(gpu.counters(), None, "{what}");
            let mut frames = 0;
            let complete = loop {
                submit(&adapter, &mut gpu, input);
                frames += 1;
                if frames % 4 == 0 {
                    poll(&adapter.device);
                }
                match gpu.counters() {
                    Some(counters) if counters.is_complete() => break counters,
                    Some(counters) => assert_eq!(counters.pairs_needed, pairs_of(300), "{what}"),
                    None => assert!(frames < 4, "{what}"),
                }
                assert!(frames < 20, "{what}");
            };
            assert!(frames > 1, "{what}");
            record(&mut gpu, &mut encoder(&adapter), Scene::default());
            poll(&adapter.device);
            assert_eq!(gpu.counters(), Some(complete), "{what}");
            assert_eq!(whole(&adapter, &mut gpu, input).counters, complete, "{what}");
            gpu.trim();
            assert_eq!(gpu.counters(), None, "{what}");
            // Counters that arrive late must not reduce the demand that a read-back measured.
            submit(&adapter, &mut gpu, Scene::default());
            let needed = whole(&adapter, &mut gpu, input).counters.pairs_needed;
            gpu.counters();
            gpu.trim();
            let pairs = record(&mut gpu, &mut encoder(&adapter), input).pairs.unwrap();
            assert!(u64::from(pairs.capacity) >= needed, "{what}");
        }
    }
}

#[test]
fn stage_times_come_along_with_counters() {
    let objects = uniform(500, &mut Rng(0x57a6));
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &descriptor(|all| all.outputs.timestamps = true));
        assert!(gpu.timings().is_empty());
        whole(&adapter, &mut gpu, scene_of(&objects));
        submit(&adapter, &mut gpu, scene_of(&objects));
        poll(&adapter.device);
        let timings = gpu.timings();
        assert_eq!(timings, read(&mut gpu).timings, "{}", adapter.name);
        let has_timestamps = adapter.device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        assert_eq!(timings.iter().any(|time| time.nanoseconds > 0.0), has_timestamps);
    }
}
