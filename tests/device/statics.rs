//! Static objects give the results of one list with `STATIC` flags. A reused table is neither uploaded nor built.

use crate::common::steps::{RAY_MODES, SCHEMES, broad_phase, counted, encoder, read, submit, whole};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, lattice, sweep};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Growth, InputError, OutputOptions, Page,
    Queries, Query, QueryInput, QueryMode, RayCell, RayMode, Rays, ResultOrder, Scene, Scheme, SelfQuery, Source,
    Statics, Status, StepError, StepResult, SweptRay, cpu, wgpu,
};
use wild::{Expected, check_definition, check_distances};

fn boxes(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let mut boxes = lattice(count, rng);
    let odd = [
        Aabb::new([-1e30; 3], [1e30; 3]),
        Aabb::new([2.0, 2.0, f32::NEG_INFINITY], [3.0, 3.0, f32::INFINITY]),
        Aabb::new([f32::NAN, 0.0, 0.0], [1.0; 3]),
        Aabb::new([1.0; 3], [0.0; 3]),
        Aabb::new([0.0; 3], [4.0; 3]).with_group(Aabb::EXCLUDED),
        Aabb::new([0.5; 3], [40.0; 3]),
        Aabb::point([3.0; 3]),
    ];
    for (index, object) in boxes.iter_mut().enumerate() {
        if index % 29 == 7 {
            *object = odd[rng.below(odd.len())];
        }
        if rng.below(4) == 0 {
            *object = object.with_layers(1 << rng.below(3), 0b110 | rng.below(2) as u16);
        }
        let group = [0, 0, 0, 1, 2, Aabb::STATIC][rng.below(6)];
        object.group |= group;
    }
    boxes
}

struct Case {
    statics: Vec<Aabb>,
    static_worlds: Vec<u32>,
    moving: Vec<Aabb>,
    worlds: Vec<u32>,
    rays: Vec<SweptRay>,
    queries: Vec<Query>,
    generation: u64,
}

impl Case {
    fn new(seed: u64, [statics, moving]: [usize; 2], worlds: u32) -> Self {
        let mut rng = Rng(seed);
        let [statics, moving] = [statics, moving].map(|count| boxes(count, &mut rng));
        let mut world_of = |objects: &[Aabb]| -> Vec<u32> {
            let worlds = if worlds > 1 { worlds as usize + 1 } else { 0 };
            let objects = if worlds > 0 { objects } else { &[] };
            objects.iter().map(|_| rng.below(worlds) as u32).collect()
        };
        let (static_worlds, worlds_of_moving) = (world_of(&statics), world_of(&moving));
        let scene = crate::common::scene(2, 10, 40, &mut rng);
        let rays = sweep(&scene.rays, worlds, &mut rng);
        let queries = boxes(40, &mut rng)
            .into_iter()
            .enumerate()
            .map(|(index, bounds)| Query {
                bounds,
                // Radii equal no distance of these boxes, which devices may round differently.
                radius: [0.0, 0.7137, 2.3171][index % 3],
                world: index as u32 % worlds,
                reserved: [0; 2],
            });
        Self {
            statics,
            static_worlds,
            moving,
            worlds: worlds_of_moving,
            queries: queries.collect(),
            rays,
            generation: seed,
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.moving),
            worlds: Source::Host(&self.worlds),
            statics: Statics {
                objects: Source::Host(&self.statics),
                worlds: Source::Host(&self.static_worlds),
                generation: self.generation,
            },
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&self.rays)),
                queries: Queries::General(Source::Host(&self.queries)),
                query_mode: QueryMode::All,
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, on_gpu: &StepResult, what: &str) {
    let on_cpu = cpu::step_scene(descriptor, scene).unwrap();
    let expected = Expected::of(descriptor, scene);
    check_definition(descriptor, scene, &expected, &on_cpu, &format!("{what}, reference"));
    check_definition(descriptor, scene, &expected, on_gpu, what);
    assert_eq!(counted(&on_gpu.counters), counted(&on_cpu.counters), "{what}");
    assert_eq!(
        on_gpu.counters.static_entries_needed, on_cpu.counters.static_entries_needed,
        "{what}"
    );
    assert_eq!(on_gpu.counters.table_cells, on_cpu.counters.table_cells, "{what}");
    assert!(on_gpu.pairs == on_cpu.pairs, "{what}: another order of pairs");
    assert_eq!(on_gpu.world_pairs, on_cpu.world_pairs, "{what}");
    assert_eq!(on_gpu.query_offsets, on_cpu.query_offsets, "{what}");
    check_distances(&on_gpu.query_nearest, &on_cpu.query_nearest, what);
}

fn descriptors() -> Vec<BroadPhaseDescriptor<'static>> {
    let default = BroadPhaseDescriptor::default();
    let mut all = Vec::new();
    for (index, scheme) in SCHEMES.into_iter().enumerate() {
        let ray_mode = RAY_MODES[index];
        all.extend([
            BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ..default.outputs
                },
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    order: [ResultOrder::Deterministic, ResultOrder::Sorted][index % 2],
                    ..default.outputs
                },
                dimensions: Dimensions::Two,
                margin: 0.125,
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RAY_MODES[(index + 1) % 3],
                    ..default.outputs
                },
                worlds: 3,
                ..default
            },
        ]);
    }
    all
}

const SIZES: [[usize; 2]; 7] = [[300, 40], [40, 300], [1, 1], [0, 50], [50, 0], [257, 256], [2000, 100]];

#[test]
fn static_objects_give_the_results_of_one_list() {
    for adapter in adapters() {
        let all = descriptors();
        for (index, descriptor) in all.iter().enumerate().filter(|(index, _)| adapter.runs(*index)) {
            let mut on_gpu = broad_phase(&adapter, descriptor);
            let turn = |(seed, _): &(usize, _)| (seed + index) % 2 == 0;
            for (seed, sizes) in SIZES.into_iter().enumerate().filter(turn) {
                let case = Case::new(seed as u64 + 10 * index as u64, sizes, descriptor.worlds);
                let mut scene = case.scene();
                let what = format!("{sizes:?} on {}, {descriptor:?}", adapter.name);
                for (mode, queries) in [
                    (QueryMode::All, scene.query.queries),
                    (
                        QueryMode::All,
                        Queries::Objects(SelfQuery::Within {
                            radius: 1.3171,
                            half: false,
                        }),
                    ),
                    (
                        QueryMode::All,
                        Queries::Objects(SelfQuery::Within {
                            radius: 0.9137,
                            half: true,
                        }),
                    ),
                    (QueryMode::All, SelfQuery::Overlaps { half: false }.into()),
                    (QueryMode::All, SelfQuery::Overlaps { half: true }.into()),
                    (QueryMode::Nearest(3), scene.query.queries),
                    (
                        QueryMode::Nearest(4),
                        Queries::Objects(SelfQuery::Within {
                            radius: 2.1171,
                            half: false,
                        }),
                    ),
                ] {
                    (scene.query.query_mode, scene.query.queries) = (mode, queries);
                    let what = format!("{what}, {mode:?} of {:?}", std::mem::discriminant(&queries));
                    let found = whole(&adapter, &mut on_gpu, scene);
                    check(descriptor, &scene, &found, &what);
                }
            }
        }
    }
}

fn bits(result: &StepResult) -> String {
    let hits = |result: &StepResult| -> Vec<_> {
        result
            .ray_hits
            .iter()
            .map(|hit| (hit.object, hit.t.to_bits()))
            .collect::<Vec<_>>()
    };
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        result.pairs,
        hits(result),
        result.ray_offsets,
        result.ray_any,
        result.ray_cells,
        result.ray_cell_offsets,
        result.query_objects,
        result.query_offsets,
        result.query_nearest,
        result.world_pairs,
        result.counters,
    )
}

fn everything(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ray_cells: true,
            ..Default::default()
        },
        worlds: 2,
        count_candidates: true,
        ..Default::default()
    }
}

#[test]
fn a_reused_table_gives_the_same_bytes_as_a_new_one() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = everything(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let mut case = Case::new(1, [700, 60], 2);
            for frame in 0..4 {
                let moving = Case::new(100 + frame, [0, 60 + 50 * frame as usize], 2);
                (case.moving, case.worlds) = (moving.moving, moving.worlds);
                let kept = whole(&adapter, &mut on_gpu, case.scene());
                check(&descriptor, &case.scene(), &kept, &what);
                let again = whole(&adapter, &mut on_gpu, case.scene());
                assert_eq!(bits(&again), bits(&kept), "{what}");
                case.generation += 1000;
                let built = whole(&adapter, &mut on_gpu, case.scene());
                assert_eq!(bits(&built), bits(&kept), "{what}, built anew");
                let mut other = broad_phase(&adapter, &descriptor);
                let first = whole(&adapter, &mut other, case.scene());
                assert_eq!(bits(&first), bits(&kept), "{what}, on a new broad phase");
            }
        }
    }
}

#[test]
fn static_objects_are_read_when_their_generation_or_count_changes() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let [first, mut second, third] =
                [(5, 300), (6, 300), (7, 310)].map(|(seed, count)| Case::new(seed, [count, 90], 1));
            let mut expect = |given: &Case, expected: &Case, what: &str| {
                let mut expected_scene = expected.scene();
                expected_scene.objects = Source::Host(&given.moving);
                (expected_scene.query.rays, expected_scene.query.queries) =
                    (given.scene().query.rays, given.scene().query.queries);
                let found = whole(&adapter, &mut on_gpu, given.scene());
                check(&descriptor, &expected_scene, &found, what);
            };
            expect(&first, &first, &what);
            second.generation = first.generation;
            expect(&second, &first, &format!("{what}, the generation is the same"));
            second.generation = 77;
            expect(&second, &second, &format!("{what}, another generation"));
            let mut grown = Case {
                generation: 77,
                ..third
            };
            expect(&grown, &grown, &format!("{what}, another count"));
            grown.statics.truncate(200);
            expect(&grown, &grown, &format!("{what}, a smaller count"));
            let statics = std::mem::take(&mut grown.statics);
            expect(&grown, &grown, &format!("{what}, none"));
            grown.statics = statics;
            expect(&grown, &grown, &format!("{what}, some again"));
        }
    }
}

fn device_buffer<T: bytemuck::Pod>(adapter: &TestAdapter, rows: &[T], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    adapter.device.create_buffer_init(&BufferInitDescriptor {
        label: Some("statics"),
        contents: bytemuck::cast_slice(rows),
        usage,
    })
}

#[test]
fn static_objects_may_lie_on_the_device_and_are_copied_once() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = everything(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let case = Case::new(3, [400, 70], 2);
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            let boxes = device_buffer(&adapter, &case.statics, usage);
            let worlds = device_buffer(&adapter, &case.static_worlds, usage);
            let moving = device_buffer(&adapter, &case.moving, usage);
            let count = case.statics.len() as u32;
            let scene = case.scene();
            let input = Scene {
                statics: Statics {
                    objects: Source::device(&boxes, count),
                    worlds: Source::device(&worlds, count),
                    generation: 1,
                },
                objects: Source::device(&moving, case.moving.len() as u32),
                ..scene
            };
            let found = whole(&adapter, &mut on_gpu, input);
            check(&descriptor, &scene, &found, &what);
            adapter.queue.write_buffer(&boxes, 0, &vec![0; 32 * count as usize]);
            let found = whole(&adapter, &mut on_gpu, input);
            check(&descriptor, &scene, &found, &what);
        }
    }
}

#[test]
fn missing_static_entries_are_reported_and_more_are_made() {
    for adapter in daily_adapters() {
        let case = Case::new(41, [600, 5], 1);
        let descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 0.6 },
            ..Default::default()
        };
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        submit(&adapter, &mut on_gpu, case.scene());
        let first = read(&mut on_gpu).counters;
        assert!(first.static_entries_needed > first.static_entries_capacity.into());
        assert!(first.status.has(Status::ENTRIES));
        let found = whole(&adapter, &mut on_gpu, case.scene());
        check(&descriptor, &case.scene(), &found, &adapter.name);
    }
}

#[test]
fn crowds_of_static_objects_are_walked_in_rounds() {
    for adapter in daily_adapters() {
        for (index, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RAY_MODES[index],
                    capacities: Capacities {
                        rounds: Some([3, 4, 5][index]),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut rng = Rng(index as u64);
            let mut rods = |count: usize, generation| Case {
                statics: (0..count)
                    .map(|_| {
                        let [y, z] = [rng.below(1 << 12), rng.below(1 << 12)].map(|place| place as f32 / 4096.0);
                        Aabb::new([0.0, y, z], [1.0, y + 0.0001, z + 0.0001])
                    })
                    .collect(),
                ..Case::new(generation, [0, 0], 1)
            };
            let mut case = rods(17_000, 1);
            case.moving = rods(100, 2).statics;
            let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), case.scene());
            assert!(found.counters.rounds_needed > 1, "{what}");
            check(&descriptor, &case.scene(), &found, &what);
        }
    }
}

#[test]
fn later_queries_search_both_tables() {
    for adapter in daily_adapters() {
        for (index, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RAY_MODES[index],
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let case = Case::new(8, [260, 60], 1);
            let scene = Scene {
                query: QueryInput {
                    rays: Rays::default(),
                    queries: Queries::None,
                    ..case.scene().query
                },
                ..case.scene()
            };
            whole(&adapter, &mut on_gpu, scene);
            for queries in [
                case.scene().query.queries,
                Queries::Objects(SelfQuery::Within {
                    radius: 1.1,
                    half: false,
                }),
            ] {
                let scene = Scene {
                    query: QueryInput {
                        rays: case.scene().query.rays,
                        queries,
                        ..scene.query
                    },
                    ..scene
                };
                let input = QueryInput {
                    rays: scene.query.rays,
                    queries,
                    query_mode: QueryMode::All,
                    ..QueryInput::default()
                };
                let ask = |on_gpu: &mut GpuBroadPhase| {
                    let mut encoder = encoder(&adapter);
                    on_gpu.query(&mut encoder, input).unwrap();
                    adapter.queue.submit([encoder.finish()]);
                    read(on_gpu)
                };
                let mut found = ask(&mut on_gpu);
                if !found.counters.is_complete() {
                    found = ask(&mut on_gpu);
                }
                let without_pairs = BroadPhaseDescriptor {
                    pairs: false,
                    ..descriptor
                };
                check_definition(
                    &without_pairs,
                    &scene,
                    &Expected::of(&without_pairs, &scene),
                    &found,
                    &what,
                );
            }
        }
    }
}

#[test]
fn pages_and_prefixes_cover_both_parts() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let whole_of = everything(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let case = Case::new(21, [400, 120], 2);
            let all = whole(&adapter, &mut broad_phase(&adapter, &whole_of), case.scene());
            let step = 37;
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(step),
                        hits: Some(step),
                        ray_cells: Some(step),
                        results: Some(step),
                        entries: Some(1 << 15),
                        ..Default::default()
                    },
                    ..whole_of.outputs
                },
                ..whole_of
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            submit(&adapter, &mut on_gpu, case.scene());
            let mut parts = read(&mut on_gpu);
            assert_eq!(parts.counters.pairs_needed, all.pairs.len() as u64, "{what}");
            let longest = all.pairs.len().max(all.ray_hits.len()).max(all.query_objects.len());
            let longest = longest.max(all.ray_cells.len()) as u32;
            for first in (step..longest.min(40 * step)).step_by(step as usize) {
                let window = Page {
                    pairs: first,
                    hits: first,
                    ray_cells: first,
                    results: first,
                };
                let mut encoder = encoder(&adapter);
                on_gpu.page(&mut encoder, window).unwrap();
                adapter.queue.submit([encoder.finish()]);
                let part = read(&mut on_gpu);
                parts.pairs.extend(part.pairs);
                parts.ray_hits.extend(part.ray_hits);
                parts.ray_cells.extend(part.ray_cells);
                parts.query_objects.extend(part.query_objects);
            }
            let shown = 40 * step as usize;
            let first = |of: usize| of.min(shown);
            // The capacity of entries sets the size of the uniform scheme's table, which changes the order.
            let is_uniform = matches!(scheme, Scheme::Uniform { .. });
            let on_cpu = cpu::step_scene(&descriptor_of_all(&descriptor), &case.scene()).unwrap();
            let pairs = if is_uniform { &on_cpu.pairs } else { &all.pairs };
            assert!(parts.pairs == pairs[..first(pairs.len())], "{what}: pairs");
            assert_eq!(parts.query_objects.len(), first(all.query_objects.len()), "{what}");
            assert_eq!(parts.ray_hits.len(), first(all.ray_hits.len()), "{what}");
            if !is_uniform {
                assert!(
                    parts.query_objects == all.query_objects[..first(all.query_objects.len())],
                    "{what}"
                );
                assert!(
                    parts.ray_hits == all.ray_hits[..first(all.ray_hits.len())],
                    "{what}: hits"
                );
            }
            assert!(
                parts.ray_cells == all.ray_cells[..first(all.ray_cells.len())],
                "{what}: cells"
            );
        }
    }
}

fn descriptor_of_all(descriptor: &BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        outputs: OutputOptions {
            capacities: Capacities {
                entries: descriptor.outputs.capacities.entries,
                ..Default::default()
            },
            ..descriptor.outputs
        },
        ..*descriptor
    }
}

#[test]
fn cells_of_rays_come_from_both_tables() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = everything(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let case = Case::new(31, [500, 80], 2);
            let on = |scene: &Scene<'_>| whole(&adapter, &mut broad_phase(&adapter, &descriptor), *scene);
            let both = on(&case.scene());
            let [moving, statics] = [
                Scene {
                    statics: Statics::default(),
                    ..case.scene()
                },
                Scene {
                    objects: Source::Host(&case.statics),
                    worlds: Source::Host(&case.static_worlds),
                    statics: Statics::default(),
                    ..case.scene()
                },
            ]
            .map(|scene| on(&scene));
            let cells = |of: &StepResult, ray: usize| {
                let range = of.ray_cell_offsets[ray] as usize..of.ray_cell_offsets[ray + 1] as usize;
                of.ray_cells[range].to_vec()
            };
            assert!(!statics.ray_cells.is_empty() && !moving.ray_cells.is_empty(), "{what}");
            for ray in 0..case.rays.len() {
                let of_statics = cells(&statics, ray).into_iter().map(|cell| RayCell {
                    level: cell.level + 32,
                    ..cell
                });
                let expected: Vec<_> = cells(&moving, ray).into_iter().chain(of_statics).collect();
                assert_eq!(cells(&both, ray), expected, "{what}: ray {ray}");
            }
        }
    }
}

#[test]
fn memory_limits_hold_with_static_objects_and_trim_gives_them_back() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let free = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let case = Case::new(51, [900, 90], 1);
            let mut on_gpu = broad_phase(&adapter, &free);
            let expected = whole(&adapter, &mut on_gpu, case.scene());
            let held = on_gpu.memory().total();
            on_gpu.trim();
            assert_eq!(on_gpu.memory().total(), 0, "{what}");
            let again = whole(&adapter, &mut on_gpu, case.scene());
            assert!(again.pairs == expected.pairs, "{what}");

            let tight = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(held + (16 << 20)),
                    ..free.outputs
                },
                ..free
            };
            let mut on_gpu = broad_phase(&adapter, &tight);
            for (statics, moving) in [(900, 90), (900, 30), (200, 80), (850, 20)] {
                let mut case = Case::new(51, [900, 90], 1);
                case.statics.truncate(statics);
                case.moving.truncate(moving);
                for _ in 0..2 {
                    submit(&adapter, &mut on_gpu, case.scene());
                    assert!(on_gpu.memory().total() <= tight.outputs.max_bytes.unwrap(), "{what}");
                    read(&mut on_gpu);
                }
                let found = whole(&adapter, &mut on_gpu, case.scene());
                check(&tight, &case.scene(), &found, &what);
            }
            let mut empty = broad_phase(&adapter, &free);
            submit(&adapter, &mut empty, Scene::default());
            let few = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(empty.memory().total()),
                    ..free.outputs
                },
                ..free
            };
            let mut on_gpu = broad_phase(&adapter, &few);
            let refused = on_gpu.step(&mut encoder(&adapter), case.scene()).err();
            assert!(
                matches!(refused, Some(StepError::Input(InputError::MemoryLimit { .. }))),
                "{what}: {refused:?}"
            );
        }
    }
}

#[test]
fn filters_that_are_off_and_periods_keep_static_objects_apart() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let plain = |count: usize, rng: &mut Rng| -> Vec<Aabb> {
                let objects = lattice(count, rng).into_iter();
                objects.map(|object| Aabb::new(object.min, object.max)).collect()
            };
            let mut rng = Rng(71);
            let mut case = Case::new(71, [0, 0], 1);
            (case.statics, case.moving) = (plain(300, &mut rng), plain(60, &mut rng));
            let unfiltered = BroadPhaseDescriptor {
                scheme,
                filters: false,
                ..Default::default()
            };
            let mut scene = case.scene();
            (scene.query.rays, scene.query.queries) = (Rays::default(), Queries::None);
            let found = whole(&adapter, &mut broad_phase(&adapter, &unfiltered), scene);
            check(&unfiltered, &scene, &found, &what);
            let periodic = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                periods: [4.0, 0.0, 5.5],
                ..Default::default()
            };
            scene.query.queries = Queries::Objects(SelfQuery::Within {
                radius: 1.3171,
                half: false,
            });
            for descriptor in [unfiltered, periodic] {
                let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
                check(&descriptor, &scene, &found, &what);
            }
        }
    }
}

/// Prints GPU times of one scene in which one box in twenty moves: one list with flags, moving boxes alone, and a
/// static table. `STATICS=1000000` sets the number of boxes.
#[test]
fn a_step_of_mostly_static_objects_costs_about_its_moving_ones() {
    let count = std::env::var("STATICS").map_or(40_000, |count| count.parse().unwrap());
    let mut rng = Rng(12);
    let all = crate::common::uniform(count, &mut rng);
    let (statics, moving) = all.split_at(count / 20 * 19);
    let marked: Vec<_> = statics.iter().map(|object| object.with_group(Aabb::STATIC)).collect();
    let listed = [&marked[..], moving].concat();
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                timestamps: true,
                ..Default::default()
            },
            ..Default::default()
        };
        let scenes = [
            Scene {
                objects: Source::Host(&listed),
                ..Default::default()
            },
            Scene {
                objects: Source::Host(moving),
                ..Default::default()
            },
            Scene {
                objects: Source::Host(moving),
                statics: Statics {
                    objects: Source::Host(statics),
                    generation: 1,
                    ..Default::default()
                },
                ..Default::default()
            },
        ];
        let mut ways = scenes.map(|_| broad_phase(&adapter, &descriptor));
        let mut times = [const { Vec::new() }; 3];
        let mut pairs = [0; 3];
        let frames = if count > 100_000 { 16 } else { 4 };
        for frame in 0..frames {
            for (way, scene) in scenes.iter().enumerate() {
                let result = whole(&adapter, &mut ways[way], *scene);
                pairs[way] = result.pairs.len();
                if frame > 0 {
                    times[way].push(result.timings);
                }
            }
        }
        assert_eq!(pairs[0], pairs[2], "{}", adapter.name);
        // A search visits all cells around an object in the static table, but half of them in a single list.
        let tests = scenes.map(|scene| {
            let descriptor = BroadPhaseDescriptor {
                count_candidates: true,
                ..Default::default()
            };
            let mut counting = broad_phase(&adapter, &descriptor);
            submit(&adapter, &mut counting, scene);
            read(&mut counting).counters.pair_candidates
        });
        println!("{}: {tests:?} box tests", adapter.name);
        assert!(tests[2] < tests[0] / 4, "{}: {tests:?}", adapter.name);
        let total = |stages: &Vec<gpu_broad_phase::StageTime>| -> f64 {
            stages.iter().map(|stage| stage.nanoseconds).sum::<f64>() / 1e6
        };
        for (what, mut runs) in ["one list", "moving alone", "static part"].iter().zip(times) {
            runs.sort_by(|a, b| total(a).total_cmp(&total(b)));
            let (least, median) = (&runs[0], &runs[runs.len() / 2]);
            let stages: Vec<_> = least
                .iter()
                .map(|stage| format!("{} {:.1}", stage.stage, stage.nanoseconds / 1e6))
                .collect();
            println!(
                "{}: {what}: {:.1} ms, median {:.1}: {}",
                adapter.name,
                total(least),
                total(median),
                stages.join(", ")
            );
        }
    }
}
