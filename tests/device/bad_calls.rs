//! Invalid descriptors, buffers and call orders, one fault at a time. The step after a fault must be correct.

mod descriptors;

use crate::common::pool::opened;
use crate::common::steps::{
    Bench, INFINITY, SCHEMES, UNIT, among, benches, broad_phase, check_lists, check_on, counted, encoder, read, record,
    sorted, whole, with_bound,
};
use crate::common::{Rng, TestAdapter, daily_adapters, lattice, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, Capacities, CreateError, DescriptorError, DeviceCount, GpuBroadPhase,
    Growth, InputError, OutputOptions, Page, Pair, Queries, Query, QueryInput, Ray, RayMode, Rays, ReadBackError,
    Scene, Scheme, SelfQuery, Source, Statics, StepError, StepResult, adapters as all_adapters, wgpu,
};
use pollster::block_on;

fn mixed() -> Vec<Aabb> {
    among(&[
        Aabb::point([1e-30; 3]),
        Aabb::point([2e-30, 0.0, 1e-30]),
        Aabb::new([1e6; 3], [1e6 + 1.0; 3]),
        Aabb::new([1e6 + 1.0; 3], [1e6 + 2.0; 3]),
        Aabb::point([-1e30; 3]),
        Aabb::point([-1e30; 3]),
        Aabb::new([-3.0; 3], [INFINITY; 3]),
        with_bound(0, f32::NAN),
    ])
}

fn check_descriptor(descriptor: &BroadPhaseDescriptor<'_>, scenes: &[&[Aabb]], worlds: &[u32], fault: &str) {
    let rays = [
        Ray::new([-9.0, 0.25, 0.25], [1.0, 0.0, 0.0], INFINITY),
        Ray::new([-9.0; 3], [1.0; 3], INFINITY),
        Ray::new([1e6 + 0.5; 3], [-1.0, -1.0, -1.0], INFINITY),
    ];
    let queries = [
        Query::overlaps(Aabb::new([-1.0; 3], [1.0; 3])),
        Query::sphere([0.25; 3], 2.0),
        Query::point([1e-30; 3]),
    ];
    for adapter in daily_adapters() {
        let mut on_gpu = broad_phase(&adapter, descriptor);
        for objects in scenes {
            let scene = Scene {
                objects: Source::Host(objects),
                worlds: Source::Host(worlds),
                query: QueryInput {
                    rays: rays.as_slice().into(),
                    queries: queries.as_slice().into(),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            check_on(&adapter, descriptor, &mut on_gpu, &scene, fault);
        }
    }
}

fn refused(adapter: &TestAdapter, on_gpu: &mut GpuBroadPhase, input: Scene<'_>) -> StepError {
    let mut encoder = encoder(adapter);
    let error = on_gpu.step(&mut encoder, input).expect_err("the step is taken");
    adapter.queue.submit([encoder.finish()]);
    error
}

#[test]
fn outputs_that_are_far_too_small_hold_a_part_of_the_answer() {
    let crowd: Vec<_> = mixed().into_iter().chain(vec![UNIT; 300]).collect();
    let rays = [Ray::new([-9.0, 0.25, 0.25], [1.0, 0.0, 0.0], INFINITY); 3];
    let scene = Scene {
        objects: Source::Host(&crowd),
        query: QueryInput {
            rays: rays.as_slice().into(),
            queries: Queries::Boxes(Source::Host(&[UNIT, UNIT])),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    for scheme in SCHEMES {
        for (rows, entries) in [(1, 1), (3, 40), (5, 1 << 16)] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ray_cells: true,
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(rows),
                        hits: Some(rows),
                        ray_cells: Some(rows),
                        results: Some(rows),
                        entries: Some(entries),
                        rounds: None,
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let pairs = brute_force::scene_pairs(&descriptor, &scene).unwrap();
            let hits = brute_force::scene_rays(&descriptor, &scene).unwrap();
            let found = brute_force::scene_queries(&descriptor, &scene).unwrap();
            for adapter in daily_adapters() {
                let what = format!("{descriptor:?} on {}", adapter.name);
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                let mut encoder = encoder(&adapter);
                record(&mut on_gpu, &mut encoder, scene);
                adapter.queue.submit([encoder.finish()]);
                let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
                let on_gpu = read(&mut on_gpu);
                assert_eq!(on_gpu.counters.status, on_cpu.counters.status, "{what}");
                for result in [on_gpu, on_cpu] {
                    let counters = &result.counters;
                    let most = rows as usize;
                    assert!(!counters.is_complete() && result.pairs.len() <= most, "{what}");
                    assert!(
                        result.ray_hits.len() <= most && result.query_objects.len() <= most,
                        "{what}"
                    );
                    assert!(result.pairs.iter().all(|pair| pairs.contains(pair)), "{what}");
                    assert!(result.ray_hits.iter().all(|hit| hits[0].contains(hit)), "{what}");
                    let in_query = |object: &u32| found[0].surely.iter().any(|(other, _)| other == object);
                    assert!(result.query_objects.iter().all(in_query), "{what}");
                    let fits = counters.entries_needed <= u64::from(counters.entries_capacity);
                    let needed = [counters.pairs_needed, counters.hits_needed, counters.results_needed];
                    let all = [
                        pairs.len(),
                        hits.iter().map(Vec::len).sum(),
                        found.iter().map(|found| found.surely.len()).sum(),
                    ];
                    assert!(
                        !fits || needed == all.map(|count| count as u64),
                        "{what}: {needed:?}, not {all:?}"
                    );
                    let is_uniform = matches!(scheme, Scheme::Uniform { .. });
                    assert_eq!(fits, !is_uniform || entries > 1000, "{what}");
                }
            }
        }
    }
}

#[test]
fn more_objects_rays_or_worlds_than_a_binding_holds_are_refused() {
    for adapter in daily_adapters() {
        let limit = adapter.device.limits().max_storage_buffer_binding_size;
        let count = (limit / 32) as u32 + 1;
        let pool = adapter.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pool of the caller"),
            size: 32,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let too_large = |what| {
            StepError::Input(InputError::BufferTooLarge {
                what,
                needed: 32 * u64::from(count),
                limit,
            })
        };
        let objects = vec![UNIT; count as usize];
        let rays = vec![Ray::new([0.0; 3], [1.0; 3], 1.0); count as usize];
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let many_objects = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let many_rays = Scene {
                query: QueryInput {
                    rays: Source::Host(rays.as_slice()).into(),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let many_queries = Scene {
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&objects)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            assert_eq!(refused(&adapter, &mut on_gpu, many_objects), too_large("objects"));
            assert_eq!(refused(&adapter, &mut on_gpu, many_rays), too_large("rays"));
            assert_eq!(refused(&adapter, &mut on_gpu, many_queries), too_large("queries"));
            let many = Scene {
                objects: Source::device(&pool, u32::MAX),
                ..Default::default()
            };
            let expected = StepError::Input(InputError::BufferTooSmall {
                what: "objects",
                needed: 32 * u64::from(u32::MAX),
                available: 32,
            });
            assert_eq!(refused(&adapter, &mut on_gpu, many), expected);
            let worlds = BroadPhaseDescriptor {
                worlds: u32::MAX,
                ..descriptor
            };
            let expected = DescriptorError::TooMany {
                what: "worlds",
                count: u32::MAX.into(),
                limit: limit / 4,
            };
            let refused = GpuBroadPhase::new(&adapter.device, &adapter.queue, &worlds).err();
            assert_eq!(refused, Some(CreateError::Descriptor(expected)));
        }
    }
}

fn sources<'b>(buffer: &'b wgpu::Buffer, count: u32) -> [(&'static str, u64, Scene<'b>); 6] {
    let input = Scene::default();
    let with_rays = |rays| Scene {
        query: QueryInput { rays, ..input.query },
        ..input
    };
    let with_queries = |queries| Scene {
        query: QueryInput { queries, ..input.query },
        ..input
    };
    [
        (
            "objects",
            32,
            Scene {
                objects: Source::device(buffer, count),
                ..input
            },
        ),
        (
            "worlds",
            4,
            Scene {
                worlds: Source::device(buffer, count),
                ..input
            },
        ),
        ("rays", 32, with_rays(Rays::Plain(Source::device(buffer, count)))),
        ("rays", 64, with_rays(Rays::Swept(Source::device(buffer, count)))),
        (
            "queries",
            32,
            with_queries(Queries::Boxes(Source::device(buffer, count))),
        ),
        (
            "queries",
            48,
            with_queries(Queries::General(Source::device(buffer, count))),
        ),
    ]
}

#[test]
fn buffers_of_the_caller_that_cannot_be_read_are_refused_and_nothing_is_lost() {
    for mut bench in benches() {
        let Bench { adapter, by_mode } = &mut *bench;
        let (_, on_gpu) = &mut by_mode[0];
        let make = |size, usage| {
            adapter.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("buffer of the caller"),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let objects = among(&[]);
        let scene = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        let before = whole(adapter, on_gpu, scene);
        let other_usage = make(4096, wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::UNIFORM);
        for count in [0, 1, 3] {
            for (what, _, input) in sources(&other_usage, count) {
                assert_eq!(
                    refused(adapter, on_gpu, input),
                    StepError::Input(InputError::Usage { what })
                );
            }
        }
        for (kind, (_, bytes, _)) in sources(&other_usage, 0).into_iter().enumerate() {
            let short = make(3 * bytes - 4, wgpu::BufferUsages::STORAGE);
            let (what, _, input) = sources(&short, 3)[kind];
            let expected = StepError::Input(InputError::BufferTooSmall {
                what,
                needed: 3 * bytes,
                available: 3 * bytes - 4,
            });
            assert_eq!(refused(adapter, on_gpu, input), expected);
            if kind > 1 {
                let mut encoder = encoder(adapter);
                let error = on_gpu.query(&mut encoder, input.query);
                assert_eq!(error.expect_err("too short"), expected);
            }
        }
        let no_radius = Scene {
            query: QueryInput {
                queries: Queries::Objects(SelfQuery::Within {
                    radius: -1.0,
                    half: false,
                }),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let expected = StepError::Input(InputError::Radius(-1.0));
        assert_eq!(refused(adapter, on_gpu, no_radius), expected);
        assert_eq!(read(on_gpu), before);
        let mut encoder = encoder(adapter);
        let first = Page {
            pairs: 10,
            ..Default::default()
        };
        on_gpu.page(&mut encoder, first).unwrap();
        adapter.queue.submit([encoder.finish()]);
        assert_eq!(read(on_gpu).pairs, before.pairs[10..]);
    }
}

#[test]
fn what_lies_on_the_device_alone_is_refused_by_the_reference() {
    let descriptor = BroadPhaseDescriptor::default();
    for bench in benches() {
        let buffer = &bench.adapter.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("buffer of the caller"),
            size: 4096,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let input = Scene::default();
        let with_statics = |statics| Scene { statics, ..input };
        let limit = Some(DeviceCount { buffer, word: 0 });
        let of_statics = [
            (
                "static objects",
                with_statics(Statics {
                    objects: Source::device(buffer, 1),
                    ..Default::default()
                }),
            ),
            (
                "worlds of static objects",
                with_statics(Statics {
                    worlds: Source::device(buffer, 1),
                    ..Default::default()
                }),
            ),
            (
                "number of objects",
                Scene {
                    object_count: limit,
                    ..input
                },
            ),
            (
                "number of rays",
                Scene {
                    query: QueryInput {
                        ray_count: limit,
                        ..input.query
                    },
                    ..input
                },
            ),
            (
                "number of queries",
                Scene {
                    query: QueryInput {
                        query_count: limit,
                        ..input.query
                    },
                    ..input
                },
            ),
        ];
        let of_sources = sources(buffer, 1).map(|(what, _, input)| (what, input));
        for (what, input) in of_statics.into_iter().chain(of_sources) {
            let refused = Err(InputError::NotOnHost { what });
            let by_reference = cpu::step_scene(&descriptor, &input).map(drop);
            assert_eq!(by_reference, refused.clone().map_err(BroadPhaseError::from));
            assert_eq!(brute_force::scene_pairs(&descriptor, &input).map(drop), refused);
        }
        for (_, _, input) in sources(buffer, 0) {
            let result = cpu::step_scene(&descriptor, &input).unwrap();
            assert!(result.pairs.is_empty() && result.ray_hits.is_empty() && result.query_objects.is_empty());
        }
    }
}

#[test]
fn empty_buffers_of_the_caller_are_no_input() {
    for mut bench in benches() {
        let Bench { adapter, by_mode } = &mut *bench;
        let buffer = adapter.device.create_buffer_init(&BufferInitDescriptor {
            label: Some("buffer of the caller"),
            contents: bytemuck::bytes_of(&UNIT),
            usage: wgpu::BufferUsages::STORAGE,
        });
        for (descriptor, on_gpu) in by_mode {
            for (what, _, input) in sources(&buffer, 0) {
                let result = whole(adapter, on_gpu, input);
                let offsets = |are_there: bool| if are_there { vec![0] } else { Vec::new() };
                let empty = StepResult {
                    counters: result.counters,
                    ray_offsets: offsets(
                        !matches!(input.query.rays, Rays::None) && descriptor.outputs.ray_mode == RayMode::All,
                    ),
                    query_offsets: offsets(!matches!(input.query.queries, Queries::None)),
                    ..Default::default()
                };
                assert_eq!(
                    (result, empty.counters.objects),
                    (empty.clone(), 0),
                    "{what}, {descriptor:?}"
                );
            }
            let input = Scene {
                objects: Source::device(&buffer, 1),
                query: QueryInput {
                    queries: Queries::Boxes(Source::device(&buffer, 1)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            assert_eq!(whole(adapter, on_gpu, input).query_objects, [0]);
        }
    }
}

#[test]
fn read_backs_pages_and_queries_before_any_step_are_refused() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    timestamps: true,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut unused = broad_phase(&adapter, &descriptor);
            let queue = &adapter.queue;
            assert_eq!(block_on(unused.read_back()), Err(ReadBackError::NoStep));
            assert_eq!(unused.counters(), None);
            let mut encoder = encoder(&adapter);
            let window = unused.page(&mut encoder, Page::default()).err();
            assert_eq!(window, Some(StepError::NoStep));
            let asked = QueryInput {
                queries: Queries::Boxes(Source::Host(&[UNIT])),
                ..Default::default()
            };
            assert_eq!(unused.query(&mut encoder, asked).err(), Some(StepError::NoStep));
            assert_eq!(
                unused.query(&mut encoder, QueryInput::default()).err(),
                Some(StepError::NoStep)
            );
            queue.submit([encoder.finish()]);
            let mut headless = opened(&adapter, &descriptor);
            let asked = block_on(headless.query(&QueryInput {
                queries: Queries::Boxes(Source::Host(&[UNIT])),
                ..QueryInput::default()
            }));
            assert_eq!(asked, Err(BroadPhaseError::NoStep));
            let scene = Scene {
                objects: Source::Host(&[UNIT, UNIT]),
                ..Default::default()
            };
            check_on(&adapter, &descriptor, &mut unused, &scene, "after refusals");
        }
    }
}

fn check_unread(on_gpu: &mut GpuBroadPhase, what: &str) {
    let told = Err(ReadBackError::NotSubmitted);
    assert_eq!(block_on(on_gpu.read_back()).map(drop), told, "{what}");
}

#[test]
fn encoders_that_are_dropped_leave_the_next_step_right() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    timestamps: true,
                    ..Default::default()
                },
                ..Default::default()
            };
            let queue = &adapter.queue;
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let mut rng = Rng(38);
            let rays = [Ray::new([-9.0; 3], [1.0; 3], INFINITY)];
            for count in [20, 700, 300] {
                let (lost, kept) = (uniform(count, &mut rng), lattice(200, &mut rng));
                let scene = |objects| Scene {
                    objects: Source::Host(objects),
                    query: QueryInput {
                        rays: Rays::Plain(Source::Host(&rays)),
                        queries: Queries::Boxes(Source::Host(&[UNIT])),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let asked = QueryInput {
                    rays: Rays::Plain(Source::Host(&rays)),
                    queries: Queries::Boxes(Source::Host(&[UNIT])),
                    ..Default::default()
                };
                let mut dropped = encoder(&adapter);
                record(&mut on_gpu, &mut dropped, scene(&lost));
                drop(dropped);
                let what = format!("{count} objects, {scheme:?} on {}", adapter.name);
                check_unread(&mut on_gpu, &what);
                let mut ordinary = encoder(&adapter);
                let asked_in_vain = on_gpu.query(&mut ordinary, asked).map(drop);
                assert_eq!(asked_in_vain, Err(StepError::Dropped), "{what}");
                let window = on_gpu.page(&mut ordinary, Page::default()).map(drop);
                assert_eq!(window, Err(StepError::Dropped), "{what}");
                let watched = on_gpu.record_read_back(&mut ordinary, &[]).map(drop);
                assert_eq!(watched, Err(StepError::Dropped), "{what}");
                queue.submit([ordinary.finish()]);
                check_unread(&mut on_gpu, &what);
                check_on(
                    &adapter,
                    &descriptor,
                    &mut on_gpu,
                    &scene(&kept),
                    "after a dropped step",
                );

                let mut dropped = encoder(&adapter);
                on_gpu.query(&mut dropped, asked).unwrap();
                on_gpu.page(&mut dropped, Page::default()).unwrap();
                drop(dropped);
                check_unread(&mut on_gpu, &what);
                let mut ordinary = encoder(&adapter);
                let window = on_gpu.page(&mut ordinary, Page::default()).map(drop);
                assert_eq!(window, Err(StepError::Dropped), "{what}");
                on_gpu.query(&mut ordinary, asked).unwrap();
                queue.submit([ordinary.finish()]);
                assert_eq!(found_by(&read(&mut on_gpu)), asked_of(&kept), "{what}");
                let mut ordinary = encoder(&adapter);
                on_gpu.page(&mut ordinary, Page::default()).unwrap();
                let mut dropped = encoder(&adapter);
                on_gpu
                    .page(
                        &mut dropped,
                        Page {
                            results: 1,
                            ..Default::default()
                        },
                    )
                    .unwrap();
                drop(dropped);
                queue.submit([ordinary.finish()]);
                check_unread(&mut on_gpu, &what);
                let mut ordinary = encoder(&adapter);
                on_gpu.page(&mut ordinary, Page::default()).unwrap();
                queue.submit([ordinary.finish()]);
                assert_eq!(found_by(&read(&mut on_gpu)), asked_of(&kept), "{what}");
                check_on(
                    &adapter,
                    &descriptor,
                    &mut on_gpu,
                    &scene(&kept),
                    "after a dropped query",
                );
            }
        }
    }
}

fn found_by(result: &StepResult) -> Vec<u32> {
    let mut found = result.query_objects.clone();
    found.sort_unstable();
    found
}

fn asked_of(objects: &[Aabb]) -> Vec<u32> {
    let meets = |object: &Aabb| (0..3).all(|axis| object.min[axis] <= 1.0 && object.max[axis] >= 0.0);
    (0..)
        .zip(objects)
        .filter(|(_, object)| meets(object))
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn reading_before_the_submission_is_refused_and_spoils_nothing() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    timestamps: true,
                    capacities: Capacities {
                        entries: Some(1 << 14),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            for count in [50, 400] {
                let objects = uniform(count, &mut Rng(39));
                let scene = Scene {
                    objects: Source::Host(&objects),
                    query: QueryInput {
                        queries: Queries::Boxes(Source::Host(&[UNIT])),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let mut open = encoder(&adapter);
                record(&mut on_gpu, &mut open, scene);
                check_unread(&mut on_gpu, "an open encoder");
                let ready = open.finish();
                check_unread(&mut on_gpu, "a command buffer");
                adapter.queue.submit([ready]);
                let result = read(&mut on_gpu);
                assert_eq!(
                    sorted(result.pairs),
                    brute_force::pairs(&objects),
                    "{scheme:?} on {}",
                    adapter.name
                );
                check_on(&adapter, &descriptor, &mut on_gpu, &scene, "after an early read");
            }
        }
    }
}

#[test]
fn counters_of_a_dropped_step_do_not_arrive() {
    for adapter in daily_adapters() {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut on_gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut counts = Vec::new();
        for (count, is_dropped) in [(20, false), (30, true), (40, false)] {
            let objects = lattice(count, &mut Rng(42));
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let (mut step, mut watch) = (encoder(&adapter), encoder(&adapter));
            record(&mut on_gpu, &mut step, scene);
            let mut later = on_gpu.record_read_back(&mut watch, &[]).unwrap();
            let step = (!is_dropped).then(|| step.finish());
            queue.submit(step.into_iter().chain([watch.finish()]));
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            counts.push(match later.take().expect("it was submitted") {
                Ok(result) => Ok((result.counters.objects, result.counters.pairs_needed)),
                Err(error) => Err(error),
            });
            let told = block_on(on_gpu.read_back()).map(|result| result.counters.objects);
            let expected = if is_dropped {
                Err(ReadBackError::NotSubmitted)
            } else {
                Ok(count as u32)
            };
            assert_eq!(told, expected, "{}", adapter.name);
        }
        let pairs = |count| brute_force::pairs(&lattice(count, &mut Rng(42))).len() as u64;
        let expected = [
            Ok((20, pairs(20))),
            Err(ReadBackError::NotSubmitted),
            Ok((40, pairs(40))),
        ];
        assert_eq!(counts, expected, "{}", adapter.name);
    }
}

#[test]
fn outputs_that_are_read_after_the_next_step_show_either_of_the_two() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let crowd = vec![UNIT; 150];
            for next in [lattice(100, &mut Rng(40)), crowd] {
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                let first = uniform(200, &mut Rng(41));
                let input = |objects| Scene {
                    objects: Source::Host(objects),
                    ..Default::default()
                };
                let mut encoder = encoder(&adapter);
                let output = on_gpu.step(&mut encoder, input(&first)).unwrap();
                let held = output.pairs.unwrap().buffer.clone();
                adapter.queue.submit([encoder.finish()]);
                let before = read(&mut on_gpu).pairs;
                assert_eq!(pairs_in(&adapter, &held, before.len()), before);
                let after = whole(&adapter, &mut on_gpu, input(&next)).pairs;
                assert_eq!(sorted(after.clone()), brute_force::pairs(&next));
                let shown = pairs_in(&adapter, &held, before.len().min(after.len()));
                let is_start_of = |pairs: &[Pair]| pairs.starts_with(&shown);
                assert!(
                    is_start_of(&before) || is_start_of(&after),
                    "{scheme:?} on {}",
                    adapter.name
                );
            }
        }
    }
}

fn pairs_in(adapter: &TestAdapter, buffer: &wgpu::Buffer, count: usize) -> Vec<Pair> {
    let copy = adapter.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("pairs of a step"),
        size: 8 * count as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = encoder(adapter);
    encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, copy.size());
    adapter.queue.submit([encoder.finish()]);
    copy.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = copy.get_mapped_range(..).unwrap().to_vec();
    bytemuck::pod_collect_to_vec(&bytes)
}

#[test]
fn windows_past_the_end_and_of_nothing_are_empty() {
    for mut bench in benches() {
        let Bench { adapter, by_mode } = &mut *bench;
        for (descriptor, on_gpu) in by_mode {
            let ends = [1, u32::MAX - 1, u32::MAX].map(|end| Page {
                pairs: end,
                hits: end,
                ray_cells: end,
                results: end,
            });
            for objects in [&[][..], &[UNIT, UNIT]] {
                let scene = Scene {
                    objects: Source::Host(objects),
                    query: QueryInput {
                        queries: Queries::Boxes(Source::default()),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let all = whole(adapter, on_gpu, scene);
                assert_eq!(all.pairs.len(), usize::from(descriptor.pairs && !objects.is_empty()));
                for first in ends {
                    let mut encoder = encoder(adapter);
                    on_gpu.page(&mut encoder, first).unwrap();
                    adapter.queue.submit([encoder.finish()]);
                    let part = read(on_gpu);
                    assert_eq!(
                        (part.pairs.len(), part.ray_hits.len(), part.query_objects.len()),
                        (0, 0, 0)
                    );
                    assert_eq!(part.counters, all.counters, "{descriptor:?} on {}", adapter.name);
                }
            }
        }
    }
}
