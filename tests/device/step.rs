use crate::common::pool::opened;
use crate::common::steps::{self, SCHEMES, broad_phase, by_object, hits_by_ray, sorted};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, lattice, power_law, random_scene, sweep, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhase, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Growth, InputError, OutputOptions,
    Page, Pair, QueryInput, Ray, RayHit, RayMode, Rays, ResultOrder, Scene, Scheme, Source, Status, StepError,
    StepResult, wgpu,
};
use pollster::block_on;

fn submit<'i>(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, inputs: impl IntoIterator<Item = Scene<'i>>) {
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    for input in inputs {
        broad_phase.step(&mut encoder, input).unwrap();
    }
    adapter.queue.submit([encoder.finish()]);
}

fn host<'a>(objects: &'a [Aabb], rays: &'a [Ray]) -> Scene<'a> {
    Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: Source::Host(rays).into(),
            ..QueryInput::default()
        },
        ..Default::default()
    }
}

fn whole(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, objects: &[Aabb], rays: &[Ray]) -> StepResult {
    steps::whole(adapter, broad_phase, host(objects, rays))
}

#[test]
fn random_scenes_agree_with_the_reference_and_brute_force() {
    for adapter in adapters() {
        let mut rng = Rng(2026);
        for scheme in SCHEMES {
            let [closest, all] = [RayMode::Closest, RayMode::All].map(|ray_mode| BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ..Default::default()
                },
                ..Default::default()
            });
            let (mut closest_gpu, mut all_gpu) = (broad_phase(&adapter, &closest), broad_phase(&adapter, &all));
            for _ in 0..25 {
                let scene = random_scene(&mut rng, 700, 200);
                let name = format!("{} on {}, {scheme:?}", scene.name, adapter.name);
                let (objects, rays) = (&scene.objects, &scene.rays);
                let result = whole(&adapter, &mut closest_gpu, objects, rays);
                let expected = brute_force::pairs(objects);
                assert_eq!(sorted(result.pairs), expected, "{name}");
                assert_eq!(
                    sorted(cpu::step(&closest, objects, rays).unwrap().pairs),
                    expected,
                    "{name}"
                );
                let hits = |hits: &[RayHit]| hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect::<Vec<_>>();
                let expected = brute_force::rays_closest(objects, rays);
                assert_eq!(hits(&result.ray_hits), hits(&expected), "{name}");

                let result = whole(&adapter, &mut all_gpu, objects, rays);
                let expected: Vec<_> = brute_force::rays_all(objects, rays)
                    .iter()
                    .map(|hits| by_object(hits))
                    .collect();
                if !rays.is_empty() {
                    assert_eq!(hits_by_ray(&result), expected, "{name}");
                }
            }
        }
    }
}

#[test]
fn rays_of_every_form_and_mode_agree_with_the_reference_and_brute_force() {
    for adapter in adapters() {
        let mut rng = Rng(2027);
        for (scheme, worlds, dimensions) in [
            (SCHEMES[0], 3, Dimensions::Three),
            (SCHEMES[1], 1, Dimensions::Two),
            (SCHEMES[1], 3, Dimensions::Three),
            (SCHEMES[2], 1, Dimensions::Two),
        ] {
            let descriptors = [RayMode::Closest, RayMode::Any, RayMode::All].map(|ray_mode| BroadPhaseDescriptor {
                scheme,
                worlds,
                dimensions,
                outputs: OutputOptions {
                    ray_mode,
                    ..Default::default()
                },
                pairs: false,
                ..Default::default()
            });
            let mut on_gpu = descriptors
                .each_ref()
                .map(|descriptor| broad_phase(&adapter, descriptor));
            for _ in 0..8 {
                let scene = random_scene(&mut rng, 700, 200);
                let wide = sweep(&scene.rays, worlds, &mut rng);
                let in_worlds = scene.worlds(worlds);
                let buffer = adapter.device.create_buffer_init(&BufferInitDescriptor {
                    label: Some("swept rays of the caller"),
                    contents: bytemuck::cast_slice(&wide),
                    usage: wgpu::BufferUsages::STORAGE,
                });
                for rays in [Rays::Plain(Source::Host(&scene.rays)), Rays::Swept(Source::Host(&wide))] {
                    let given = Scene {
                        objects: Source::Host(&scene.objects),
                        worlds: Source::Host(&in_worlds),
                        query: QueryInput {
                            rays,
                            ..QueryInput::default()
                        },
                        ..Default::default()
                    };
                    let mut input = given;
                    if matches!(rays, Rays::Swept(Source::Host(_))) {
                        input.query.rays = Rays::Swept(Source::device(&buffer, wide.len() as u32));
                    }
                    let expected = brute_force::scene_rays(&descriptors[0], &given).unwrap();
                    for (descriptor, on_gpu) in descriptors.iter().zip(&mut on_gpu) {
                        let found = steps::whole(&adapter, on_gpu, input);
                        let reference = cpu::step_scene(descriptor, &given).unwrap();
                        let what = format!("{} on {}, {descriptor:?}", scene.name, adapter.name);
                        for result in [&found, &reference] {
                            check_hits(result, descriptor.outputs.ray_mode, &expected, &what);
                            assert_eq!(result.counters.rays_invalid, reference.counters.rays_invalid, "{what}");
                        }
                    }
                }
            }
        }
    }
}

fn check_hits(result: &StepResult, mode: RayMode, expected: &[Vec<RayHit>], what: &str) {
    if mode == RayMode::All {
        let expected: Vec<_> = expected.iter().map(|hits| by_object(hits)).collect();
        assert_eq!(hits_by_ray(result), expected, "{what}");
        return;
    }
    let met: Vec<u32> = expected.iter().map(|hits| u32::from(!hits.is_empty())).collect();
    let closest: Vec<_> = expected.iter().map(|hits| brute_force::closest(hits)).collect();
    let (hits, any) = if mode == RayMode::Any {
        (vec![], met)
    } else {
        (closest, vec![])
    };
    assert_eq!((&result.ray_hits, &result.ray_any), (&hits, &any), "{what}");
}

#[test]
fn cells_of_rays_are_complete_from_a_broad_phase() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(29);
            let objects = uniform(2000, &mut rng);
            let rays: Vec<_> = uniform(40, &mut rng)
                .iter()
                .map(|at| Ray::new(at.min, at.max, 9.0))
                .chain([Ray::new([f32::NAN; 3], [1.0; 3], 9.0)])
                .collect();
            let broad_phase = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_cells: true,
                    capacities: Capacities {
                        ray_cells: Some(7),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut headless = opened(&adapter, &broad_phase);
            let result = block_on(headless.step(&objects, &rays)).unwrap();
            let reference = cpu::step(&broad_phase, &objects, &rays).unwrap();
            assert!(result.counters.is_complete());
            assert_eq!(result.ray_hits, reference.ray_hits);
            let ends = &result.ray_cell_offsets;
            assert_eq!((ends.len(), ends[40]), (rays.len() + 1, ends[41]));
            assert_eq!(result.ray_cells.len(), ends[41] as usize);
            // Rounding affects the visited cells, so a few may differ.
            let kept = result
                .ray_cells
                .iter()
                .filter(|cell| reference.ray_cells.contains(cell));
            let count = reference.ray_cells.len();
            assert!(count > 500 && kept.count() + count / 50 >= count);
            assert!(result.ray_cells.len().abs_diff(count) <= count / 50);

            let fixed = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    ..broad_phase.outputs
                },
                ..broad_phase
            };
            let mut fixed = self::broad_phase(&adapter, &fixed);
            submit(&adapter, &mut fixed, [host(&objects, &rays)]);
            let part = block_on(fixed.read_back()).unwrap();
            assert_eq!(part.ray_cells, result.ray_cells[..7]);
            assert!(part.counters.status.has(Status::RAY_CELLS));
            assert_eq!(part.counters.ray_cells_needed, result.ray_cells.len() as u64);
            let first = Page {
                ray_cells: 5,
                ..Default::default()
            };
            let mut encoder = adapter.device.create_command_encoder(&Default::default());
            fixed.page(&mut encoder, first).unwrap();
            adapter.queue.submit([encoder.finish()]);
            let part = block_on(fixed.read_back()).unwrap();
            assert_eq!(part.ray_cells, result.ray_cells[5..12]);
        }
    }
}

#[test]
fn box_tests_stay_few_and_the_large_list_empty() {
    for adapter in adapters() {
        let mut rng = Rng(5);
        let rays: Vec<_> = (0..500)
            .map(|_| {
                Ray::new(
                    [0, 1, 2].map(|_| rng.unit() * 25.0),
                    [0, 1, 2].map(|_| rng.unit() - 0.5),
                    16.0,
                )
            })
            .collect();
        let scenes = [
            ("uniform", uniform(20_000, &mut rng), 20),
            ("power law", power_law(20_000, &mut rng), 25),
        ];
        for (name, objects, tests_an_object) in scenes {
            let descriptor = BroadPhaseDescriptor {
                count_candidates: true,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let counters = whole(&adapter, &mut broad_phase(&adapter, &descriptor), &objects, &rays).counters;
            assert_eq!(counters.large, 0, "{name}");
            let tests = counters.pair_candidates / u64::from(counters.objects);
            assert!(
                (1..=tests_an_object).contains(&tests),
                "{name}: {tests} box tests an object"
            );
            let tests = counters.ray_candidates / rays.len() as u64;
            assert!((1..=400).contains(&tests), "{name}: {tests} box tests a ray");
        }
    }
}

#[test]
fn steps_of_one_encoder_each_see_their_own_input() {
    for adapter in adapters() {
        let mut rng = Rng(7);
        let (first, second) = (uniform(300, &mut rng), uniform(200, &mut rng));
        let mut broad_phase = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let kept = adapter.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pairs of the first step"),
            size: 8 * 4096,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = adapter.device.create_command_encoder(&Default::default());
        let output = broad_phase.step(&mut encoder, host(&first, &[])).unwrap();
        let expected = brute_force::pairs(&first);
        encoder.copy_buffer_to_buffer(&output.pairs.unwrap().buffer, 0, &kept, 0, 8 * expected.len() as u64);
        broad_phase.step(&mut encoder, host(&second, &[])).unwrap();
        adapter.queue.submit([encoder.finish()]);

        let result = block_on(broad_phase.read_back()).unwrap();
        assert_eq!(sorted(result.pairs), brute_force::pairs(&second));
        kept.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = kept.get_mapped_range(..8 * expected.len() as u64).unwrap().to_vec();
        assert_eq!(sorted(bytemuck::pod_collect_to_vec(&bytes)), expected);
    }
}

#[test]
fn passes_that_every_step_needs_are_dispatched() {
    let boxes = uniform(500, &mut Rng(77));
    let worlds = vec![1; boxes.len()];
    for adapter in adapters() {
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 1.0 },
            Scheme::Adaptive { min_scale: 1.0 },
        ] {
            for (pairs, order, world_count) in [
                (true, ResultOrder::Deterministic, 1),
                (true, ResultOrder::Sorted, 2),
                (false, ResultOrder::Sorted, 1),
            ] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    pairs,
                    outputs: OutputOptions {
                        order,
                        ..Default::default()
                    },
                    worlds: world_count,
                    ..Default::default()
                };
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                assert!(!on_gpu.unused_passes(None).is_empty());
                let input = Scene {
                    objects: Source::Host(&boxes),
                    worlds: Source::Host(if world_count > 1 { &worlds } else { &[] }),
                    ..Default::default()
                };
                submit(&adapter, &mut on_gpu, [input]);
                assert_eq!(
                    on_gpu.unused_passes(None),
                    [""; 0],
                    "{descriptor:?} on {}",
                    adapter.name
                );
            }
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_whatever_ran_before() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(11);
            let (objects, others) = (power_law(1500, &mut rng), uniform(4000, &mut rng));
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut used = broad_phase(&adapter, &descriptor);
            let before = whole(&adapter, &mut used, &objects, &[]);
            whole(&adapter, &mut used, &others, &[]);
            let after = whole(&adapter, &mut used, &objects, &[]);
            assert!(before.pairs == after.pairs, "{scheme:?} on {}", adapter.name);

            let mut sparse = power_law(1000, &mut rng);
            sparse
                .iter_mut()
                .for_each(|object| object.max = object.min.map(|low| low + 1.0));
            let mut fresh = broad_phase(&adapter, &descriptor);
            let before = whole(&adapter, &mut fresh, &sparse, &[]);
            whole(
                &adapter,
                &mut fresh,
                &vec![Aabb::new([0.0; 3], [4.0; 3]); 4000][..2000],
                &[],
            );
            let after = whole(&adapter, &mut fresh, &sparse, &[]);
            assert!(before.pairs == after.pairs, "{scheme:?} on {}", adapter.name);
        }
    }
}

#[test]
fn crowded_boxes_keep_their_bytes_once_their_tests_are_kept() {
    for adapter in adapters() {
        for order in [ResultOrder::Deterministic, ResultOrder::Sorted] {
            let mut rng = Rng(12);
            let mut objects = uniform(3000, &mut rng);
            for object in &mut objects[..1200] {
                object.min = object.min.map(|low| 0.1 * low);
                object.max = object.min.map(|low| low + 1.0 + rng.below(100) as f32 * 0.01);
            }
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    timestamps: true,
                    order,
                    ..Default::default()
                },
                ..Default::default()
            };
            // Without growth, counting caches partners but no bits.
            let fixed = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(1 << 20),
                        ..Default::default()
                    },
                    ..descriptor.outputs
                },
                ..descriptor
            };
            let first = whole(&adapter, &mut broad_phase(&adapter, &fixed), &objects, &[]);
            let mut used = broad_phase(&adapter, &descriptor);
            whole(&adapter, &mut used, &objects, &[]);
            assert!(first.pairs.len() > 13 * objects.len(), "{} pairs", first.pairs.len());
            let second = whole(&adapter, &mut used, &objects, &[]);
            assert!(first.pairs == second.pairs, "{order:?} on {}", adapter.name);
            let replays = second.timings.iter().any(|time| time.stage == "pair_replay");
            assert!(replays || second.timings.is_empty(), "{:?}", second.timings);
            assert!(second.timings.windows(2).all(|two| two[0].begin <= two[1].begin));

            let sparse = uniform(3000, &mut rng);
            whole(&adapter, &mut used, &sparse, &[]);
            let third = whole(&adapter, &mut used, &objects, &[]);
            assert!(first.pairs == third.pairs, "{order:?} on {}", adapter.name);
        }
    }
}

/// The last read-back selects the next step's pair count, which is the wrong one if the scene has changed.
#[test]
fn either_form_of_counting_gives_the_same_pairs_and_one_alone_takes_fewer_dispatches() {
    for adapter in daily_adapters() {
        let mut rng = Rng(31);
        let sparse = uniform(3000, &mut rng);
        let mut crowded = sparse.clone();
        for (index, object) in crowded.iter_mut().enumerate() {
            object.min = object.min.map(|low| 0.1 * low);
            object.max = object.min.map(|low| low + 1.0 + rng.below(100) as f32 * 0.01);
            // Equal groups leave few pairs, so no bits are cached.
            object.group = u32::from(index % 300 != 0);
        }
        for order in [ResultOrder::Deterministic, ResultOrder::Sorted] {
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    order,
                    capacities: Capacities {
                        pairs: Some(12 * 3000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let [of_sparse, of_crowded] = [&sparse, &crowded].map(|objects| {
                let mut fresh = broad_phase(&adapter, &descriptor);
                submit(&adapter, &mut fresh, [host(objects, &[])]);
                // Of few objects, software adapters count with one form at first.
                let counts_both = adapter.device.adapter_info().device_type != wgpu::DeviceType::Cpu;
                let dispatches = fresh.dispatches();
                let first = block_on(fresh.read_back()).unwrap();
                let pairs = whole(&adapter, &mut fresh, objects, &[]).pairs;
                let before = fresh.dispatches();
                let again = whole(&adapter, &mut fresh, objects, &[]);
                let fewer = dispatches - u32::from(counts_both);
                assert_eq!(fresh.dispatches() - before, fewer, "{}", adapter.name);
                assert_eq!(again.counters, first.counters, "{}", adapter.name);
                assert!(again.pairs == pairs && first.pairs == pairs, "{}", adapter.name);
                assert!(
                    pairs.len() > objects.len() && pairs.len() < 12 * objects.len(),
                    "{}",
                    pairs.len()
                );
                pairs
            });
            let mut used = broad_phase(&adapter, &descriptor);
            let pairs_of = |used: &mut GpuBroadPhase, objects: &[Aabb]| whole(&adapter, used, objects, &[]).pairs;
            for _ in 0..2 {
                assert!(pairs_of(&mut used, &sparse) == of_sparse, "{}", adapter.name);
                assert!(pairs_of(&mut used, &crowded) == of_crowded, "{}", adapter.name);
                assert!(pairs_of(&mut used, &crowded) == of_crowded, "{}", adapter.name);
            }
        }
        let scene = Scene {
            objects: Source::Host(&crowded),
            ..Scene::default()
        };
        let trace = gpu_broad_phase::internals::reference::trace(&BroadPhaseDescriptor::default(), &scene).unwrap();
        assert_eq!(trace.grid.is_crowded, 1);
    }
}

#[test]
fn windows_show_the_rest_of_an_answer() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(19);
            let objects = lattice(600, &mut rng);
            let rays = [
                Ray::new([-9.0, 0.25, 0.25], [1.0, 0.0, 0.0], f32::INFINITY),
                Ray::new([-9.0; 3], [1.0; 3], f32::INFINITY),
                Ray::new([f32::NAN; 3], [1.0; 3], 1.0),
            ];
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let all = whole(&adapter, &mut broad_phase(&adapter, &descriptor), &objects, &rays);
            assert!(all.pairs.len() > 50 && all.ray_hits.len() > 5);
            let small = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(40),
                        hits: Some(3),
                        entries: Some(40_000),
                        ..Default::default()
                    },
                    ..descriptor.outputs
                },
                ..descriptor
            };
            let mut windowed = broad_phase(&adapter, &small);
            submit(&adapter, &mut windowed, [host(&objects, &rays)]);
            let (mut pairs, mut hits) = (Vec::new(), Vec::new());
            while pairs.len() < all.pairs.len() || hits.len() < all.ray_hits.len() {
                let mut encoder = adapter.device.create_command_encoder(&Default::default());
                let first = Page {
                    pairs: pairs.len() as u32,
                    hits: hits.len() as u32,
                    ..Default::default()
                };
                windowed.page(&mut encoder, first).unwrap();
                adapter.queue.submit([encoder.finish()]);
                let part = block_on(windowed.read_back()).unwrap();
                assert!(part.pairs.len() <= 40 && part.ray_hits.len() <= 3);
                assert_eq!(part.counters.rays_invalid, 1);
                pairs.extend(part.pairs);
                hits.extend(part.ray_hits);
            }
            assert_eq!(sorted(pairs), sorted(all.pairs));
            assert_eq!(by_object(&hits), by_object(&all.ray_hits));
        }
    }
}

#[test]
fn missing_room_for_entries_is_reported_and_made() {
    for adapter in adapters() {
        let objects = uniform(500, &mut Rng(23));
        let ray = [Ray::new([0.0; 3], [1.0; 3], f32::INFINITY)];
        let expected = brute_force::pairs(&objects);
        let descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 0.75 },
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    entries: Some(100),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut fixed = broad_phase(&adapter, &descriptor);
        submit(&adapter, &mut fixed, [host(&objects, &ray)]);
        let result = block_on(fixed.read_back()).unwrap();
        assert!(result.counters.status.has(Status::ENTRIES));
        assert!(result.counters.entries_needed > 100);
        assert!(result.pairs.iter().all(|pair| expected.binary_search(pair).is_ok()));

        let growing = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Grow,
                ..descriptor.outputs
            },
            ..descriptor
        };
        let mut headless = opened(&adapter, &growing);
        let result = block_on(headless.step(&objects, &ray)).unwrap();
        assert_eq!(sorted(result.pairs), expected);
        assert_eq!(result.ray_hits, brute_force::rays_closest(&objects, &ray));
    }
}

#[test]
fn only_the_used_part_of_a_callers_buffer_is_bound() {
    for adapter in adapters() {
        let make = |size| {
            adapter.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("pool of the caller"),
                size,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            })
        };
        let limits = adapter.device.limits();
        let mut pools = vec![(make(4), 0), (make(32 * 10 + 4), 10)];
        if limits.max_buffer_size > limits.max_storage_buffer_binding_size {
            pools.push((make(limits.max_storage_buffer_binding_size + 32), 1000));
        }
        let mut broad_phase = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        for (pool, count) in &pools {
            let input = Scene {
                objects: Source::device(pool, *count),
                ..Default::default()
            };
            submit(&adapter, &mut broad_phase, [input]);
            let result = block_on(broad_phase.read_back()).unwrap();
            // A zeroed box is a point without layers, which pairs with nothing.
            assert_eq!((result.counters.objects, result.pairs.len()), (*count, 0));
        }
    }
}

#[test]
fn buffers_of_the_caller_serve_as_input() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(13);
            let boxes = lattice(900, &mut rng);
            let directions = lattice(100, &mut rng).into_iter().map(|at| at.max);
            let lines: Vec<_> = directions
                .map(|direction| Ray::new([0.25; 3], direction, 9.0))
                .collect();
            let upload = |contents: &[u8], usage| {
                adapter.device.create_buffer_init(&BufferInitDescriptor {
                    label: Some("input of the caller"),
                    contents,
                    usage,
                })
            };
            let objects = upload(bytemuck::cast_slice(&boxes), wgpu::BufferUsages::STORAGE);
            let rays = upload(bytemuck::cast_slice(&lines), wgpu::BufferUsages::STORAGE);
            let mut broad_phase = broad_phase(
                &adapter,
                &BroadPhaseDescriptor {
                    scheme,
                    outputs: OutputOptions {
                        capacities: Capacities {
                            pairs: Some(1 << 20),
                            entries: Some(1 << 16),
                            ..Default::default()
                        },
                        ..Default::default()
                    },
                    ..Default::default()
                },
            );
            let count = |count: usize| u32::try_from(count).unwrap();
            let input = Scene {
                objects: Source::device(&objects, count(boxes.len())),
                query: QueryInput {
                    rays: Rays::Plain(Source::device(&rays, count(lines.len()))),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            submit(&adapter, &mut broad_phase, [input]);
            let result = block_on(broad_phase.read_back()).unwrap();
            assert_eq!(sorted(result.pairs), brute_force::pairs(&boxes));
            assert_eq!(result.ray_hits, brute_force::rays_closest(&boxes, &lines));

            let wrong = upload(&[0; 64], wgpu::BufferUsages::COPY_SRC);
            let mut encoder = adapter.device.create_command_encoder(&Default::default());
            let mut step = |buffer, count| {
                let input = Scene {
                    objects: Source::device(buffer, count),
                    ..Default::default()
                };
                broad_phase.step(&mut encoder, input).unwrap_err()
            };
            assert_eq!(step(&wrong, 2), StepError::Input(InputError::Usage { what: "objects" }));
            let one_too_many = count(boxes.len()) + 1;
            assert!(matches!(
                step(&objects, one_too_many),
                StepError::Input(InputError::BufferTooSmall { what: "objects", .. })
            ));
        }
    }
}

#[test]
fn fixed_capacities_give_a_valid_prefix_and_the_exact_need() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(17);
            let objects = uniform(2000, &mut rng);
            let rays = [Ray::new([-1.0, 5.0, 5.0], [1.0, 0.01, 0.02], f32::INFINITY); 3];
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(10),
                        hits: Some(2),
                        entries: Some(40_000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut broad_phase = broad_phase(&adapter, &descriptor);
            submit(&adapter, &mut broad_phase, [host(&objects, &rays)]);
            let result = block_on(broad_phase.read_back()).unwrap();
            let expected = brute_force::pairs(&objects);
            let hits: usize = brute_force::rays_all(&objects, &rays).iter().map(Vec::len).sum();
            assert_eq!(result.counters.pairs_needed, expected.len() as u64);
            assert_eq!(result.counters.hits_needed, hits as u64);
            assert!(result.counters.status.has(Status::PAIRS) && !result.counters.is_complete());
            assert_eq!((result.pairs.len(), result.ray_hits.len()), (10, 2));
            let mut found = sorted(result.pairs);
            found.dedup();
            assert_eq!(found.len(), 10);
            assert!(found.iter().all(|pair| expected.binary_search(pair).is_ok()));
        }
    }
}

/// 17,997,000 pairs exceed a binding of 128 MiB.
#[test]
fn answers_past_one_binding_are_complete_from_a_broad_phase() {
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut headless = opened(&adapter, &descriptor);
        let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); 6_000];
        let result = block_on(headless.step(&objects, &[])).unwrap();
        assert!(result.counters.is_complete());
        let expected = (0..6_000).flat_map(|a| (a + 1..6_000).map(move |b| Pair { a, b }));
        assert!(sorted(result.pairs).into_iter().eq(expected), "{}", adapter.name);
    }
}

/// If the last results fitted, pairs are written without a count, and an overflow repeats the step.
#[test]
fn headless_answers_alike_whether_it_counts_first_or_not() {
    for adapter in adapters() {
        for (case, (scheme, ray_mode)) in SCHEMES
            .into_iter()
            .zip([RayMode::Closest, RayMode::All, RayMode::Closest])
            .enumerate()
        {
            if !adapter.runs(case) {
                continue;
            }
            let mut rng = Rng(31);
            let (small, crowd) = (uniform(400, &mut rng), vec![Aabb::new([0.0; 3], [1.0; 3]); 700]);
            let rays: Vec<_> = small
                .iter()
                .map(|from| Ray::new(from.min, [1.0, 0.25, 0.5], 9.0))
                .collect();
            let asked: Vec<_> = [&crowd[..], &small, &small].concat();
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ..Default::default()
                },
                count_candidates: true,
                ..Default::default()
            };
            let fresh = || opened(&adapter, &descriptor);
            let answer = |headless: &mut BroadPhase, objects: &[Aabb], asked: &[Aabb]| {
                [
                    block_on(headless.step(objects, &rays)).unwrap(),
                    block_on(headless.query(&QueryInput {
                        rays: rays.as_slice().into(),
                        queries: asked.into(),
                        ..QueryInput::default()
                    }))
                    .unwrap(),
                ]
            };
            let scenes = [(&small[..], &asked[1100..]), (&crowd, &asked)];
            let expected = scenes.map(|(objects, asked)| answer(&mut fresh(), objects, asked));
            let mut used = fresh();
            for scene in [0, 0, 1, 1, 0, 0, 1] {
                let (objects, asked) = scenes[scene];
                for (found, expected) in answer(&mut used, objects, asked).iter().zip(&expected[scene]) {
                    let what = format!("{scene}, {scheme:?} on {}", adapter.name);
                    assert!(found.pairs == expected.pairs, "{what}");
                    assert!(found.query_objects == expected.query_objects, "{what}");
                    assert!(found.query_offsets == expected.query_offsets, "{what}");
                    assert!(found.ray_hits == expected.ray_hits, "{what}");
                    assert!(found.ray_offsets == expected.ray_offsets, "{what}");
                    let counted = |result: &StepResult| {
                        let counters = result.counters;
                        let needs = [counters.pairs_needed, counters.hits_needed, counters.results_needed];
                        (
                            needs,
                            counters.ray_candidates,
                            counters.query_candidates,
                            counters.status,
                        )
                    };
                    assert_eq!(counted(found), counted(expected), "{what}");
                }
            }
        }
    }
}

/// The ray's 100,000 hits exceed llvmpipe's limit of loop iterations.
#[test]
fn a_ray_through_a_crowd_is_walked_in_rounds() {
    for adapter in adapters() {
        for (growth, hits) in [(Growth::Grow, None), (Growth::Fixed, Some(100_000))] {
            let descriptor = BroadPhaseDescriptor {
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    growth,
                    capacities: Capacities {
                        hits,
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut headless = opened(&adapter, &descriptor);
            let objects = vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); 100_000];
            let result = block_on(headless.step(&objects, &[Ray::new([0.0; 3], [1.0; 3], 1.0)])).unwrap();
            assert_eq!(result.ray_hits.len(), 100_000, "{} {growth:?}", adapter.name);
        }
    }
}

/// The only pair comes after more candidates than llvmpipe's limit of loop iterations. One adapter suffices, since the
/// test above runs on each.
#[test]
#[ignore = "minutes on two processors"]
fn crowded_walks_get_their_rounds_with_fixed_capacities_too() {
    const COUNT: u32 = 66_500;
    let mut objects: Vec<_> = (0..COUNT)
        .map(|index| Aabb::new([2.0 * index as f32, 0.0, 0.0], [2.0 * index as f32 + 1.0, 1.0, 1.0]))
        .collect();
    objects[COUNT as usize - 1] = objects[0];
    if let Some(adapter) = adapters().first() {
        let descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 1e6 },
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
        let mut headless = opened(adapter, &descriptor);
        let result = block_on(headless.step(&objects, &[])).unwrap();
        let expected = [Pair { a: 0, b: COUNT - 1 }];
        assert_eq!(result.pairs, expected, "{}", adapter.name);
        assert!(result.counters.is_complete(), "{}", adapter.name);
    }
}

#[test]
fn empty_and_single_scenes_are_ordinary() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut broad_phase = broad_phase(&adapter, &descriptor);
            let ray = Ray::new([0.5; 3], [1.0, 0.0, 0.0], 1.0);
            let one = Aabb::new([0.0; 3], [1.0; 3]);
            let none = whole(&adapter, &mut broad_phase, &[], &[]);
            assert_eq!((none.pairs.len(), none.ray_hits.len()), (0, 0));
            let only_a_ray = whole(&adapter, &mut broad_phase, &[], &[ray]);
            assert_eq!(only_a_ray.ray_offsets, [0, 0]);
            let both = whole(&adapter, &mut broad_phase, &[one], &[ray]);
            assert_eq!(both.ray_hits, [RayHit { object: 0, t: 0.0 }]);
            assert!(both.pairs.is_empty());
        }
    }
}
