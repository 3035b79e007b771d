use crate::common::pool::pooled;
use crate::common::steps::check_lists;
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, lattice, random_scene, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Growth, NearestObject, OutputOptions, Page,
    Pair, Queries, QueryInput, QueryMode, Ray, RayMode, Rays, Scene, Scheme, SelfQuery, Source, Status, StepResult,
    wgpu,
};
use pollster::block_on;
use wild::answers::lists;

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 0.5 },
];

fn broad_phase(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
    GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor).unwrap()
}

fn step(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, scene: &Scene<'_>) -> StepResult {
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    broad_phase.step(&mut encoder, *scene).unwrap();
    adapter.queue.submit([encoder.finish()]);
    block_on(broad_phase.read_back()).unwrap()
}

fn query(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: QueryInput<'_>) -> StepResult {
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    broad_phase.query(&mut encoder, input).unwrap();
    adapter.queue.submit([encoder.finish()]);
    block_on(broad_phase.read_back()).unwrap()
}

fn boxes(queries: &[Aabb]) -> QueryInput<'_> {
    QueryInput {
        queries: Queries::Boxes(Source::Host(queries)),
        ..Default::default()
    }
}

fn exact(expected: &[Found]) -> Vec<Vec<u32>> {
    let names = |found: &Found| found.surely.iter().map(|&(object, _)| object).collect();
    expected.iter().map(names).collect()
}

fn check(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'static>, scene: &Scene<'_>, what: &str) {
    let what = format!("{what} on {}, {descriptor:?}", adapter.name);
    let expected = brute_force::scene_queries(descriptor, scene).unwrap();
    let mut gpu = pooled(adapter, descriptor);
    for (name, result) in [
        ("device", block_on(gpu.step_scene(scene)).unwrap()),
        ("reference", cpu::step_scene(descriptor, scene).unwrap()),
    ] {
        if expected.is_empty() {
            assert!(result.query_objects.is_empty(), "{what}");
        } else {
            check_lists(&result, &expected, &format!("{name}, {what}"));
        }
        assert_eq!(result.counters.status, Status::default(), "{what}");
        assert_eq!(result.counters.results_needed, result.query_objects.len() as u64);
    }
    let wanted = 4;
    let nearest = Scene {
        query: QueryInput {
            query_mode: QueryMode::Nearest(wanted),
            ..scene.query
        },
        ..*scene
    };
    let rows = block_on(gpu.step_scene(&nearest)).unwrap().query_nearest;
    let on_cpu = cpu::step_scene(descriptor, &nearest).unwrap().query_nearest;
    assert_eq!(rows.len(), expected.len() * wanted as usize, "{what}");
    for (query, expected) in expected.iter().enumerate() {
        let of_query = |rows: &[NearestObject]| rows[query * wanted as usize..][..wanted as usize].to_vec();
        let (rows, on_cpu) = (of_query(&rows), of_query(&on_cpu));
        let found = rows.iter().filter(|row| row.object != gpu_broad_phase::NONE).count();
        let most = expected.surely.len() + expected.perhaps.len();
        assert!(
            found <= most && found >= expected.surely.len().min(wanted as usize),
            "{what}"
        );
        for (row, on_cpu) in rows
            .iter()
            .zip(&on_cpu)
            .filter(|(_, on_cpu)| on_cpu.object != gpu_broad_phase::NONE)
        {
            // Devices may round the sum of squares differently.
            let (a, b) = (f64::from(row.squared_distance), f64::from(on_cpu.squared_distance));
            assert!(
                a == b || (a - b).abs() <= 1e-6 * a.max(b),
                "{what}: query {query}: {row:?}, not {on_cpu:?}"
            );
        }
    }
}

#[test]
fn random_queries_agree_with_the_reference_and_brute_force() {
    for adapter in adapters() {
        let mut rng = Rng(61);
        for case in 0..8 {
            let given = random_scene(&mut rng, 500, 0);
            let worlds = [1, 3][case % 2];
            let ids = given.worlds(worlds);
            let queries = given.queries(worlds);
            let bounds: Vec<_> = queries.iter().map(|query| query.bounds).collect();
            for scheme in SCHEMES {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    worlds,
                    pairs: false,
                    dimensions: [Dimensions::Three, Dimensions::Two][case / 2 % 2],
                    margin: [0.0, 0.125][case / 4 % 2],
                    filters: case != 5,
                    ..Default::default()
                };
                for queries in [
                    Queries::General(Source::Host(&queries)),
                    Queries::Boxes(Source::Host(&bounds)),
                ] {
                    let scene = Scene {
                        objects: Source::Host(&given.objects),
                        worlds: Source::Host(&ids),
                        query: QueryInput {
                            queries,
                            ..QueryInput::default()
                        },
                        ..Default::default()
                    };
                    check(&adapter, &descriptor, &scene, &given.name);
                }
            }
        }
    }
}

#[test]
fn neighbors_agree_with_the_reference_and_brute_force() {
    for adapter in adapters() {
        for (case, radius) in [0.0, 0.02, 0.5, 1.0, 2.6, 40.0].into_iter().enumerate() {
            let mut rng = Rng(62 + case as u64);
            if !adapter.runs(case) {
                continue;
            }
            let points: Vec<_> = (0..400)
                .map(|_| {
                    let on_lattice = case % 2 == 0;
                    let at = [0; 3].map(|_| rng.unit() * 15.0 - 5.0);
                    Aabb::point(if on_lattice {
                        at.map(|v| (2.0 * v).round() * 0.5)
                    } else {
                        at
                    })
                })
                .collect();
            for scheme in SCHEMES {
                for periods in [[0.0; 3], [5.0, 5.0, 5.0], [5.0, 0.0, 3.0]] {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        periods,
                        pairs: false,
                        dimensions: [Dimensions::Three, Dimensions::Two][case / 2 % 2],
                        ..Default::default()
                    };
                    let scene = Scene {
                        objects: Source::Host(&points),
                        query: QueryInput {
                            queries: SelfQuery::Within {
                                radius,
                                half: case % 3 == 0,
                            }
                            .into(),
                            ..QueryInput::default()
                        },
                        ..Default::default()
                    };
                    check(&adapter, &descriptor, &scene, "points");
                }
            }
        }
    }
}

#[test]
fn partners_are_the_pairs_of_each_object() {
    for adapter in adapters() {
        let mut rng = Rng(64);
        let mut objects = lattice(600, &mut rng);
        for object in &mut objects {
            match rng.below(12) {
                0 => object.group = Aabb::EXCLUDED,
                1 => object.min[1] = f32::NEG_INFINITY,
                2 => object.max = [40.0; 3],
                3 => object.min[0] = f32::NAN,
                4 => *object = object.with_layers(1 << rng.below(3), rng.bits() as u16),
                5 => object.group = 1 + rng.below(3) as u32,
                _ => {}
            }
        }
        for scheme in SCHEMES {
            for (half, margin) in [(false, 0.0), (true, 0.0), (false, 0.25)] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    margin,
                    ..Default::default()
                };
                let scene = Scene {
                    objects: Source::Host(&objects),
                    query: QueryInput {
                        queries: SelfQuery::Overlaps { half }.into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let what = format!("{descriptor:?} half {half} on {}", adapter.name);
                let result = block_on(pooled(&adapter, &descriptor).step_scene(&scene)).unwrap();
                let mut expected = vec![Vec::new(); objects.len()];
                for Pair { a, b } in brute_force::scene_pairs(&descriptor, &scene).unwrap() {
                    expected[a as usize].push(b);
                    if !half {
                        expected[b as usize].push(a);
                    }
                }
                expected.iter_mut().for_each(|partners| partners.sort_unstable());
                assert!(expected.iter().any(|partners| partners.len() > 100), "{what}");
                assert_eq!(lists(&result), expected, "{what}");
                let rows = expected.iter().map(Vec::len).sum::<usize>();
                assert_eq!(result.pairs.len() * if half { 1 } else { 2 }, rows, "{what}");
            }
        }
    }
}

/// Layers, groups and static flags of both sets apply. An excluded query finds nothing.
#[test]
fn one_set_against_another() {
    for adapter in adapters() {
        let mut rng = Rng(63);
        let (mut a, mut b) = (lattice(700, &mut rng), lattice(300, &mut rng));
        for object in a.iter_mut().chain(&mut b) {
            match rng.below(8) {
                0 => object.group = Aabb::STATIC,
                1 => object.group = 1 + rng.below(2) as u32,
                2 => object.group = Aabb::EXCLUDED,
                3 => *object = object.with_layers(1 << rng.below(3), rng.bits() as u16),
                _ => {}
            }
        }
        for scheme in SCHEMES {
            for filters in [true, false] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    filters,
                    ..Default::default()
                };
                let scene = Scene {
                    objects: Source::Host(&a),
                    query: QueryInput {
                        queries: Queries::Boxes(Source::Host(&b)),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let together: Vec<_> = a.iter().chain(&b).copied().collect();
                let plain = |object: &Aabb| Aabb::new(object.min, object.max).with_group(object.group & Aabb::EXCLUDED);
                let compared: Vec<_> = if filters {
                    together
                } else {
                    together.iter().map(plain).collect()
                };
                let mut expected = vec![Vec::new(); b.len()];
                for Pair { a: first, b: second } in brute_force::pairs(&compared) {
                    if (first as usize) < a.len() && second as usize >= a.len() {
                        expected[second as usize - a.len()].push(first);
                    }
                }
                let result = block_on(pooled(&adapter, &descriptor).step_scene(&scene)).unwrap();
                assert_eq!(lists(&result), expected, "{scheme:?} {filters} on {}", adapter.name);
                assert_eq!(result.counters.queries_invalid, 0);
            }
        }
    }
}

#[test]
fn a_table_answers_again() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let mut rng = Rng(64);
            let objects = lattice(500, &mut rng);
            let everything = vec![Aabb::new([-1e3; 3], [1e3; 3]); 20];
            let broken = vec![Aabb::point([f32::NAN; 3]); 5];
            let ray = [Ray::new([-50.0, 0.25, 0.25], [1.0, 0.0, 0.0], f32::INFINITY); 6];
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(100_000),
                        results: Some(3000),
                        hits: Some(2),
                        entries: Some(40_000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                count_candidates: true,
                ..Default::default()
            };
            let mut gpu = broad_phase(&adapter, &descriptor);
            let first = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    rays: (&ray[..]).into(),
                    queries: Queries::Boxes(Source::Host(&everything)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let before = step(&adapter, &mut gpu, &first);
            assert_eq!(before.counters.status, Status::HITS | Status::RESULTS);
            let few = query(&adapter, &mut gpu, boxes(&objects[..30]));
            let expected = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&objects[..30])),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let expected = exact(&brute_force::scene_queries(&descriptor, &expected).unwrap());
            assert_eq!(lists(&few), expected, "{scheme:?} on {}", adapter.name);
            assert!(few.ray_hits.is_empty() && few.counters.query_candidates > 0);
            let stays = |result: &StepResult| {
                let counters = result.counters;
                assert_eq!(
                    (counters.status, counters.hits_needed, counters.rays_invalid),
                    (Status::default(), 0, 0)
                );
                assert_eq!(counters.ray_candidates, 0);
                assert_eq!(counters.pairs_needed, before.counters.pairs_needed);
                assert_eq!(counters.pair_candidates, before.counters.pair_candidates);
                assert_eq!(counters.entries_needed, before.counters.entries_needed);
                assert_eq!(counters.levels, before.counters.levels);
            };
            stays(&few);
            let invalid = query(&adapter, &mut gpu, boxes(&broken));
            assert_eq!(invalid.counters.queries_invalid, 5);
            stays(&invalid);
            let nothing = query(&adapter, &mut gpu, QueryInput::default());
            assert_eq!(
                (nothing.counters.queries_invalid, nothing.counters.query_candidates),
                (0, 0)
            );
            assert!(nothing.query_offsets.is_empty() && nothing.query_objects.is_empty());
            stays(&nothing);

            let rays = QueryInput {
                rays: Rays::Plain(Source::Host(&ray[..1])),
                ..Default::default()
            };
            let hits = query(&adapter, &mut gpu, rays).counters.hits_needed;
            assert_eq!(hits, brute_force::rays_all(&objects, &ray[..1])[0].len() as u64);
            let pairs = copied_pairs(&adapter, &mut gpu, before.pairs.len());
            assert!(pairs == before.pairs, "{scheme:?} on {}", adapter.name);
        }
    }
}

fn copied_pairs(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, count: usize) -> Vec<Pair> {
    let bytes = 8 * count as u64;
    let staging = adapter.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("pairs after a query"),
        size: bytes,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = adapter.device.create_command_encoder(&Default::default());
    let output = gpu.query(&mut encoder, QueryInput::default()).unwrap();
    encoder.copy_buffer_to_buffer(&output.pairs.unwrap().buffer, 0, &staging, 0, bytes);
    adapter.queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = staging.get_mapped_range(..).unwrap().to_vec();
    bytemuck::pod_collect_to_vec(&bytes)
}

#[test]
fn pairs_outlast_a_query_that_could_grow_them() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    pairs: Some(50),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let objects = uniform(500, &mut Rng(65));
        let mut gpu = broad_phase(&adapter, &descriptor);
        let scene = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        let before = step(&adapter, &mut gpu, &scene);
        assert_eq!((before.pairs.len(), before.counters.status), (50, Status::PAIRS));
        let after = query(&adapter, &mut gpu, boxes(&objects[..5])).counters;
        assert_eq!((after.status, after.pairs_capacity), (Status::PAIRS, 50));
        assert!(copied_pairs(&adapter, &mut gpu, 50) == before.pairs, "{}", adapter.name);
        let whole = step(&adapter, &mut gpu, &scene);
        assert_eq!(whole.counters.pairs_needed, whole.pairs.len() as u64);
    }
}

#[test]
fn results_grow_or_are_a_prefix_with_the_exact_need() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let objects = uniform(800, &mut Rng(66));
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&objects)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let whole = lists(&cpu::step_scene(&BroadPhaseDescriptor::default(), &scene).unwrap());
            let needed: usize = whole.iter().map(Vec::len).sum();
            let growing = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    capacities: Capacities {
                        results: Some(40),
                        entries: Some(40_000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut gpu = broad_phase(&adapter, &growing);
            let first = step(&adapter, &mut gpu, &scene);
            assert_eq!(first.counters.status, Status::RESULTS);
            assert_eq!(
                (first.counters.results_needed, first.query_objects.len()),
                (needed as u64, 40)
            );
            let second = step(&adapter, &mut gpu, &scene);
            assert!(second.counters.is_complete());
            assert_eq!(lists(&second), whole);

            let fixed = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    ..growing.outputs
                },
                ..growing
            };
            let mut gpu = broad_phase(&adapter, &fixed);
            for _ in 0..2 {
                let result = step(&adapter, &mut gpu, &scene);
                assert_eq!(result.counters.status, Status::RESULTS);
                assert_eq!(result.counters.results_needed, needed as u64);
                assert_eq!(result.query_objects, second.query_objects[..40]);
            }
            let mut joined = Vec::new();
            while joined.len() < needed {
                let mut encoder = adapter.device.create_command_encoder(&Default::default());
                let first = Page {
                    results: joined.len() as u32,
                    ..Page::default()
                };
                gpu.page(&mut encoder, first).unwrap();
                adapter.queue.submit([encoder.finish()]);
                let part = block_on(gpu.read_back()).unwrap();
                assert!(!part.query_objects.is_empty());
                joined.extend(part.query_objects);
            }
            assert_eq!(joined, second.query_objects);
            let none = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    capacities: Capacities {
                        results: Some(0),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            assert!(GpuBroadPhase::new(&adapter.device, &adapter.queue, &none).is_err());
        }
    }
}

/// 6,000 × 6,000 results exceed a binding of 128 MiB.
#[test]
fn results_past_one_binding_are_complete_from_a_broad_phase() {
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            ..Default::default()
        };
        let mut gpu = pooled(&adapter, &descriptor);
        let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); 6000];
        block_on(gpu.step(&objects, &[])).unwrap();
        let result = block_on(gpu.query(&QueryInput {
            queries: Queries::Boxes(Source::Host(&objects)),
            ..QueryInput::default()
        }))
        .unwrap();
        assert_eq!(result.counters.status, Status::default());
        assert_eq!(result.query_objects.len(), 36_000_000);
        for ends in result.query_offsets.windows(2) {
            let list = &result.query_objects[ends[0] as usize..ends[1] as usize];
            let sum: u64 = list.iter().map(|&object| u64::from(object)).sum();
            assert_eq!((list.len(), sum), (6000, 5999 * 3000), "{}", adapter.name);
        }
    }
}

#[test]
fn a_query_of_many_rounds_is_reported_and_leaves_the_next_one_right() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut objects = vec![Aabb::new([0.0; 3], [1.0; 3]); 100_000];
        objects.push(Aabb::point([5.0; 3]));
        step(
            &adapter,
            &mut gpu,
            &Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            },
        );
        let crowd = query(&adapter, &mut gpu, boxes(&objects[..1]));
        assert!(crowd.counters.status.has(Status::ROUNDS), "{:?}", crowd.counters);
        assert_eq!((crowd.counters.rounds_needed, crowd.counters.rounds_capacity), (7, 1));
        query(&adapter, &mut gpu, boxes(&objects[..1]));
        let crowd = query(&adapter, &mut gpu, boxes(&objects[..1]));
        assert!(crowd.counters.is_complete(), "{:?}", crowd.counters);
        assert_eq!(crowd.query_objects.len(), 100_000);
        let lone = query(&adapter, &mut gpu, boxes(&objects[100_000..]));
        assert_eq!(
            (lone.counters.status, lone.query_objects),
            (Status::default(), vec![100_000])
        );
    }
}

#[test]
fn several_steps_and_queries_of_one_encoder_each_see_their_own_input() {
    for adapter in adapters() {
        let mut rng = Rng(67);
        let (first, second) = (uniform(300, &mut rng), uniform(200, &mut rng));
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        for objects in [&first, &second] {
            let input = Scene {
                objects: Source::Host(objects),
                ..Default::default()
            };
            gpu.step(&mut encoder, input).unwrap();
        }
        gpu.query(&mut encoder, boxes(&first)).unwrap();
        gpu.query(&mut encoder, boxes(&second[..50])).unwrap();
        queue.submit([encoder.finish()]);
        let result = block_on(gpu.read_back()).unwrap();
        let scene = Scene {
            objects: Source::Host(&second),
            query: QueryInput {
                queries: Queries::Boxes(Source::Host(&second[..50])),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let expected = brute_force::scene_queries(&BroadPhaseDescriptor::default(), &scene).unwrap();
        assert_eq!(lists(&result), exact(&expected), "{}", adapter.name);
    }
}

#[test]
fn neighbors_across_the_border_are_exact_on_every_device() {
    for adapter in adapters() {
        let mut rng = Rng(68);
        for (period, part, most) in [(100.0, 1e-6, 1), (0.1, 1e-4, 900), (3.3, 0.03, 0), (7e4, 0.0, 3)] {
            let radius: f32 = period * part;
            let points: Vec<_> = (0..300)
                .map(|_| {
                    let border = period * (rng.below(2 * most + 1) as f32 - most as f32);
                    Aabb::point([0; 3].map(|_| border + radius * (4.0 * rng.unit() - 2.0)))
                })
                .collect();
            for scheme in SCHEMES {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    periods: [period; 3],
                    pairs: false,
                    ..Default::default()
                };
                let scene = Scene {
                    objects: Source::Host(&points),
                    query: QueryInput {
                        queries: SelfQuery::Within { radius, half: false }.into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                check(&adapter, &descriptor, &scene, "border");
            }
        }
    }
}
