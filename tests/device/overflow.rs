use crate::common::pool::opened;
use crate::common::steps::{self, broad_phase, sorted};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, daily_or_full, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, Capacities, CreateError, DescriptorError, GpuBroadPhase,
    Growth, InputError, OutputOptions, Pair, Queries, QueryInput, QueryMode, Ray, RayMode, Scene, Scheme, Source,
    Status, StepError, StepResult, wgpu,
};
use pollster::block_on;

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 1.0 },
];

fn record(
    adapter: &TestAdapter,
    gpu: &mut GpuBroadPhase,
    objects: &[Aabb],
    rays: &[Ray],
) -> Result<StepResult, StepError> {
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    let input = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: Source::Host(rays).into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    gpu.step(&mut encoder, input)?;
    adapter.queue.submit([encoder.finish()]);
    Ok(block_on(gpu.read_back()).expect("a result"))
}

fn step(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, objects: &[Aabb], rays: &[Ray]) -> StepResult {
    record(adapter, gpu, objects, rays).expect("a step")
}

fn headless(adapter: &TestAdapter, descriptor: BroadPhaseDescriptor<'_>) -> BroadPhase {
    opened(adapter, &descriptor)
}

/// Parallel rods in the same cells. Only the first and the last overlap.
fn rods(count: u32) -> Vec<Aabb> {
    let mut rods: Vec<_> = (0..count)
        .map(|index| {
            let x = 0.5 * (index % 317) as f32;
            let y = 0.5 * (index / 317) as f32;
            Aabb::new([x, y, -1e6], [x + 0.25, y + 0.25, 1e6])
        })
        .collect();
    rods[count as usize - 1] = rods[0];
    rods
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
    for (adapter, scheme) in adapters().iter().zip(SCHEMES).take(1) {
        count_equal_boxes(MANY, adapter, scheme);
    }
}

const fn pairs_of(count: u32) -> u64 {
    count as u64 * (count as u64 - 1) / 2
}

fn count_equal_boxes(count: u32, adapter: &TestAdapter, scheme: Scheme) {
    let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); count as usize];
    let descriptor = BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            growth: Growth::Fixed,
            capacities: Capacities {
                pairs: Some(1000),
                ..Default::default()
            },
            ..Default::default()
        },
        ..Default::default()
    };
    let result = block_on(headless(adapter, descriptor).step(&objects, &[])).expect("a prefix");
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
    let adapters = daily_adapters();
    for (adapter, scheme) in adapters
        .iter()
        .flat_map(|adapter| SCHEMES.map(|scheme| (adapter, scheme)))
    {
        let objects = rods(count);
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..Default::default()
        };
        let mut headless = headless(adapter, descriptor);
        let result = block_on(headless.step(&objects, &[])).expect("an answer");
        let what = format!("{count} rods, {scheme:?} on {}", adapter.name);
        assert_eq!(result.pairs, [Pair { a: 0, b: count - 1 }], "{what}");
        assert!(result.counters.is_complete(), "{what}");
        let rounds = count.div_ceil(16_384);
        assert!((rounds..2 * rounds).contains(&result.counters.rounds_needed), "{what}");
        for rounds in [rounds, 1] {
            let calm = block_on(headless.step(&objects[..100], &[])).expect("an answer");
            assert!(calm.pairs.is_empty() && calm.counters.is_complete(), "{what}");
            assert!(calm.counters.rounds_capacity >= rounds, "{what}");
            assert!(rounds > 1 || calm.counters.rounds_capacity == 1, "{what}");
        }
    }
}

#[test]
fn a_step_without_enough_rounds_says_so_and_grows_them() {
    // Crowded searches pass over some boxes, yet these are more than one round tests.
    let objects = rods(17_000);
    for (adapter, scheme) in daily_adapters().into_iter().zip(SCHEMES.into_iter().cycle().skip(1)) {
        for growth in [Growth::Grow, Growth::Fixed] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    growth,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
            let what = format!("{scheme:?}, {growth:?} on {}", adapter.name);
            let short = step(&adapter, &mut gpu, &objects, &[]);
            assert_eq!(short.counters.status, Status::ROUNDS, "{what}");
            assert_eq!(
                (short.counters.rounds_needed, short.counters.rounds_capacity),
                (2, 1),
                "{what}"
            );
            let next = step(&adapter, &mut gpu, &objects, &[]);
            assert_eq!(next.counters.is_complete(), growth == Growth::Grow, "{what}");
            assert_eq!(next.pairs.len() == 1, growth == Growth::Grow, "{what}");
        }
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    rounds: Some(2),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
        let whole = step(&adapter, &mut gpu, &objects, &[]);
        assert!(
            whole.counters.is_complete() && whole.pairs.len() == 1,
            "{scheme:?} on {}",
            adapter.name
        );
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
        for scheme in SCHEMES {
            for ray_mode in [RayMode::Closest, RayMode::Any, RayMode::All] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    pairs: false,
                    outputs: OutputOptions {
                        ray_mode,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                let result = block_on(headless(&adapter, descriptor).step(&objects, &rays)).expect("an answer");
                let expected = cpu::step(&descriptor, &objects, &rays).expect("an answer");
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
}

fn crowd(count: usize, neighbours: f32, rng: &mut Rng) -> Vec<Aabb> {
    let side = (8.0 * count as f32 / neighbours).cbrt();
    (0..count)
        .map(|_| {
            let low = [(); 3].map(|()| side * rng.unit());
            Aabb::new(low, low.map(|low| low + 1.0))
        })
        .collect()
}

#[test]
fn pairs_of_crowded_boxes_are_whole_under_every_memory_limit() {
    let mut rng = Rng(8);
    let scenes = [crowd(3000, 30.0, &mut rng), crowd(3000, 50.0, &mut rng)];
    let expected = scenes.each_ref().map(|objects| brute_force::pairs(objects));
    for adapter in daily_adapters() {
        let mut unlimited = headless(&adapter, BroadPhaseDescriptor::default());
        for objects in &scenes {
            block_on(unlimited.step(objects, &[])).expect("an answer");
        }
        let all = unlimited.gpu().unwrap().memory().total();
        let mut answers = 0;
        for part in (12..=34).step_by(daily_or_full(2, 1)) {
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(all * part / 20),
                    ..Default::default()
                },
                ..Default::default()
            };
            if let Err(error) = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor) {
                let is_memory = matches!(
                    error,
                    CreateError::Descriptor(DescriptorError::NoStepFits(InputError::MemoryLimit { .. }))
                );
                assert!(is_memory && answers == 0, "{error}");
                continue;
            }
            let mut limited = headless(&adapter, descriptor);
            for (objects, expected) in scenes.iter().zip(&expected) {
                match block_on(limited.step(objects, &[])) {
                    Ok(result) => {
                        answers += 1;
                        assert!(sorted(result.pairs) == *expected, "{part} of 20 on {}", adapter.name);
                    }
                    Err(error) => assert!(matches!(error, BroadPhaseError::Input(_)), "{error}"),
                }
            }
        }
        assert!(answers > daily_or_full(10, 20), "{answers} answers on {}", adapter.name);
    }
}

#[test]
fn the_prefix_of_an_unfinished_count_does_not_depend_on_the_step_before() {
    let mut rng = Rng(9);
    let before = crowd(17_500, 30.0, &mut rng);
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]); 17_500];
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    pairs: Some(600_000),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut fresh = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
        let expected = step(&adapter, &mut fresh, &crowd, &[]);
        assert!(expected.counters.status.has(Status::ROUNDS));
        let mut used = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
        assert_eq!(
            step(&adapter, &mut used, &before, &[]).counters.status,
            Status::default()
        );
        let found = step(&adapter, &mut used, &crowd, &[]);
        assert!(found.pairs == expected.pairs, "{}", adapter.name);
    }
}

#[test]
fn steps_above_max_bytes_are_refused() {
    let mut rng = Rng(5);
    let objects = uniform(3000, &mut rng);
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]); 1500];
    for adapter in adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let unlimited = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &unlimited).expect("a broad phase");
            for _ in 0..2 {
                step(&adapter, &mut gpu, &objects, &[]);
            }
            let limit = gpu.memory().total();
            let limited = |max_bytes| BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(max_bytes),
                    ..unlimited.outputs
                },
                ..unlimited
            };
            let growing = limited(limit);
            let mut whole = headless(&adapter, growing);
            for objects in [&objects, &objects[..1000].to_vec()] {
                let result = block_on(whole.step(objects, &[])).expect("an answer");
                assert!(whole.gpu().unwrap().memory().total() <= limit, "{what}");
                let expected = brute_force::pairs(objects);
                assert!(
                    result.counters.is_complete() && sorted(result.pairs) == expected,
                    "{what}"
                );
            }
            let refused = block_on(whole.step(&crowd, &[])).err();
            assert!(
                matches!(refused, Some(BroadPhaseError::Input(InputError::MemoryLimit { .. }))),
                "{what}: {refused:?}"
            );
            // The demand of the refused step is forgotten.
            let smaller = block_on(whole.step(&objects, &[])).expect("a smaller step");
            assert!(smaller.counters.is_complete(), "{what}");

            let is_refusal = |refused: &Option<StepError>, limit: u64| {
                matches!(refused, Some(StepError::Input(InputError::MemoryLimit { needed, limit: of }))
                    if *needed > limit && *of == limit)
            };
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &growing).expect("a broad phase");
            let part = step(&adapter, &mut gpu, &crowd, &[]);
            assert_eq!(
                (part.counters.pairs_needed, part.counters.status),
                (1_124_250, Status::PAIRS),
                "{what}"
            );
            assert_eq!(part.pairs.len(), part.counters.pairs_capacity as usize, "{what}");
            let refused = record(&adapter, &mut gpu, &crowd, &[]).err();
            assert!(is_refusal(&refused, limit), "{what}: {refused:?}");
            step(&adapter, &mut gpu, &objects, &[]);

            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &unlimited).expect("a broad phase");
            step(&adapter, &mut gpu, &objects[..10], &[]);
            let few = limited(gpu.memory().total());
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &few).expect("a broad phase");
            let refused = record(&adapter, &mut gpu, &objects, &[]).err();
            assert!(
                is_refusal(&refused, few.outputs.max_bytes.unwrap()),
                "{what}: {refused:?}"
            );
            assert!(
                step(&adapter, &mut gpu, &objects[..10], &[]).counters.is_complete(),
                "{what}"
            );
        }
    }
}

#[test]
fn trim_gives_memory_back_and_the_next_step_is_complete() {
    let mut rng = Rng(7);
    let objects = uniform(20_000, &mut rng);
    let expected = brute_force::pairs(&objects[..500]);
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
            for _ in 0..2 {
                step(&adapter, &mut gpu, &objects, &[]);
            }
            let before = gpu.memory().total();
            step(&adapter, &mut gpu, &objects[..500], &[]);
            let kept = gpu.memory().total();
            assert!(
                kept >= before && 500 * kept <= 501 * before,
                "{what}: {kept} bytes of {before}"
            );
            gpu.trim();
            assert_eq!(gpu.memory().total(), 0, "{what}");
            let read = block_on(gpu.read_back()).err();
            assert_eq!(read, Some(gpu_broad_phase::ReadBackError::NoStep), "{what}");
            let result = step(&adapter, &mut gpu, &objects[..500], &[]);
            assert_eq!(sorted(result.pairs), expected, "{what}");
            let after = gpu.memory().total();
            assert!(after + 1_000_000 < before, "{what}: {after} bytes of {before}");
        }
    }
}

#[test]
fn outputs_start_at_what_was_needed_after_trim() {
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]); 1500];
    for adapter in daily_adapters() {
        let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &BroadPhaseDescriptor::default())
            .expect("a broad phase");
        assert!(!step(&adapter, &mut gpu, &crowd, &[]).counters.is_complete());
        gpu.trim();
        assert!(
            step(&adapter, &mut gpu, &crowd, &[]).counters.is_complete(),
            "{}",
            adapter.name
        );
    }
}

/// llvmpipe limits the loop iterations of eight rays together.
#[test]
fn rays_through_crowds_of_their_own_are_never_cut_short() {
    const CROWD: usize = 16_000;
    const RAYS: usize = 16;
    let cells = (0..RAYS).map(|index| 10.0 * index as f32 + 0.4);
    let objects: Vec<_> = cells
        .clone()
        .flat_map(|at| std::iter::repeat_n(Aabb::new([at, at, 0.4], [at + 0.2, at + 0.2, 0.6]), CROWD))
        .collect();
    let rays: Vec<_> = cells
        .map(|at| Ray::new([-5.0, at + 0.1, 0.5], [1.0, 0.0, 0.0], f32::INFINITY))
        .collect();
    let offsets: Vec<_> = (0..=RAYS).map(|ray| (ray * CROWD) as u32).collect();
    for adapter in daily_adapters() {
        for scheme in [SCHEMES[0], Scheme::Uniform { cell_size: 1.0 }, SCHEMES[2]] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
            let first = step(&adapter, &mut gpu, &objects, &rays);
            let is_told = first.counters.status.has(Status::CUT);
            assert!(is_told || first.counters.hits_needed == (RAYS * CROWD) as u64, "{what}");
            let result = block_on(headless(&adapter, descriptor).step(&objects, &rays)).expect("an answer");
            assert!(result.counters.is_complete(), "{what}");
            assert_eq!(result.ray_offsets, offsets, "{what}");
        }
    }
}

/// The step fails because further rounds need more memory, but its table can be queried.
#[test]
fn a_query_after_a_step_that_ran_out_of_memory_ends() {
    let objects: Vec<_> = (0..18_000)
        .map(|index| {
            let at = 0.5 * index as f32;
            Aabb::new([at, 0.0, 0.0], [at + 0.2, 0.2, 0.2])
        })
        .collect();
    let rays = vec![Ray::new([0.1, 0.1, -1.0], [0.0, 0.0, 1.0], 2.0); 100_000];
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 1e6 },
            ..Default::default()
        };
        let limited = |max_bytes| BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: Some(max_bytes),
                ..descriptor.outputs
            },
            ..descriptor
        };
        let few = 1 << 20;
        let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &limited(few)).expect("a broad phase");
        let Err(StepError::Input(InputError::MemoryLimit { needed, .. })) = record(&adapter, &mut gpu, &objects, &rays)
        else {
            panic!("{}: {few} bytes are enough", adapter.name);
        };
        let descriptor = limited(needed + 1000);
        let mut headless = headless(&adapter, descriptor);
        let refused = block_on(headless.step(&objects, &rays)).err();
        let is_memory = matches!(refused, Some(BroadPhaseError::Input(InputError::MemoryLimit { .. })));
        assert!(is_memory, "{}: {refused:?}", adapter.name);
        let asked = [objects[5]];
        let result = block_on(headless.query(&QueryInput {
            queries: Queries::Boxes(Source::Host(&asked)),
            ..QueryInput::default()
        }));
        let result = result.expect("an answer");
        assert_eq!(
            (result.query_objects, result.counters.status),
            (vec![5], Status::default()),
            "{}",
            adapter.name
        );
    }
}

#[test]
fn rounds_of_a_crowded_step_go_after_many_that_need_fewer() {
    let points = [Aabb::point([1.0; 3]); 100];
    let nearest = [Aabb::point([1.0; 3]).into()];
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let crowded = Scene {
            objects: Source::Host(&points),
            query: QueryInput {
                queries: Queries::General(Source::Host(&nearest)),
                query_mode: QueryMode::Nearest(1_024),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let calm = Scene {
            objects: Source::Host(&points[..10]),
            ..Scene::default()
        };
        let most = steps::whole(&adapter, &mut gpu, crowded).counters.rounds_capacity;
        assert!(most > 1, "{most} rounds on {}", adapter.name);
        let mut rounds = Vec::new();
        for _ in 0..150 {
            steps::submit(&adapter, &mut gpu, calm);
            rounds.push(steps::read(&mut gpu).counters.rounds_capacity);
        }
        assert_eq!(rounds.last(), Some(&1), "{rounds:?} on {}", adapter.name);
        assert!(
            rounds[..30].iter().all(|&rounds| rounds == most),
            "{rounds:?} on {}",
            adapter.name
        );
    }
}

#[test]
fn steps_make_room_without_a_wait() {
    for adapter in daily_adapters() {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut rng = Rng(0x3a7c);
        let crowd: Vec<_> = (0..300)
            .map(|_| Aabb::new([0; 3].map(|_| rng.unit()), [0; 3].map(|_| 1.0 + rng.unit())))
            .collect();
        let input = Scene {
            objects: Source::Host(&crowd),
            ..Scene::default()
        };
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut broad_phase = broad_phase(&adapter, &descriptor);
            assert_eq!(broad_phase.counters(), None, "{what}");
            let mut frames = 0;
            let whole = loop {
                let mut encoder = steps::encoder(&adapter);
                steps::record(&mut broad_phase, &mut encoder, input);
                queue.submit([encoder.finish()]);
                frames += 1;
                if frames % 4 == 0 {
                    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
                }
                match broad_phase.counters() {
                    Some(counters) if counters.is_complete() => break counters,
                    Some(counters) => assert_eq!(counters.pairs_needed, 300 * 299 / 2, "{what}"),
                    None => assert!(frames < 4, "{what}"),
                }
                assert!(frames < 20, "{what}");
            };
            assert!(frames > 1, "{what}");
            let mut dropped = steps::encoder(&adapter);
            steps::record(&mut broad_phase, &mut dropped, Scene::default());
            drop(dropped);
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            assert_eq!(broad_phase.counters(), Some(whole), "{what}");
            let result = steps::whole(&adapter, &mut broad_phase, input);
            assert_eq!(result.counters, whole, "{what}");
            broad_phase.trim();
            assert_eq!(broad_phase.counters(), None, "{what}");
            // Counters that arrive late must not reduce the demand that a read-back measured.
            let mut encoder = steps::encoder(&adapter);
            steps::record(&mut broad_phase, &mut encoder, Scene::default());
            queue.submit([encoder.finish()]);
            let needed = steps::whole(&adapter, &mut broad_phase, input).counters.pairs_needed;
            broad_phase.counters();
            broad_phase.trim();
            let mut encoder = steps::encoder(&adapter);
            let step = steps::record(&mut broad_phase, &mut encoder, input);
            assert!(u64::from(step.pairs.unwrap().capacity) >= needed, "{what}");
        }
    }
}

#[test]
fn stage_times_come_along_with_counters() {
    for adapter in daily_adapters() {
        let mut rng = Rng(0x57a6);
        let objects = uniform(500, &mut rng);
        let input = Scene {
            objects: Source::Host(&objects),
            ..Scene::default()
        };
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                timestamps: true,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut broad_phase = broad_phase(&adapter, &descriptor);
        assert!(broad_phase.timings().is_empty());
        steps::whole(&adapter, &mut broad_phase, input);
        let mut encoder = steps::encoder(&adapter);
        steps::record(&mut broad_phase, &mut encoder, input);
        adapter.queue.submit([encoder.finish()]);
        adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let watched = broad_phase.timings();
        assert_eq!(watched, steps::read(&mut broad_phase).timings, "{}", adapter.name);
        let has_timestamps = adapter.device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        assert_eq!(watched.iter().any(|time| time.nanoseconds > 0.0), has_timestamps);
    }
}
