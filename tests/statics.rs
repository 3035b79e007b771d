//! Static objects: the answer is that of one list with marks, whether their table was kept or built, and a kept table is
//! neither uploaded nor built.

mod common;

use common::{Rng, TestAdapter, adapters, lattice, sweep};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DescriptorError, Dimensions, GpuBroadPhase, Growth, Headless,
    HeadlessDescriptor, Neighbors, Pair, PairOrder, Query, QueryInput, QueryMode, RayMode, STATUS_ENTRIES,
    STATUS_ROUNDS, Scene, SceneQueries, SceneRays, SceneStatics, Scheme, Source, Statics, StepError, StepInput,
    StepResult, SweptRay, Window, reference, wgpu,
};
use pollster::block_on;
use common::steps::{
    RAY_MODES, SCHEMES, broad_phase, check_hits, check_lists, check_nearest, counted, encoder, read, record, sorted, submit, whole,
};

/// Boxes of all kinds: touching ones on a lattice with layers, owners and marks, a few without bounds, huge, faulty and
/// excluded ones.
fn boxes(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let mut boxes = lattice(count, rng);
    let odd = [
        Aabb::new([-1e30; 3], [1e30; 3]),
        Aabb::new([2.0, 2.0, f32::NEG_INFINITY], [3.0, 3.0, f32::INFINITY]),
        Aabb::new([f32::NAN, 0.0, 0.0], [1.0; 3]),
        Aabb::new([1.0; 3], [0.0; 3]),
        Aabb::new([0.0; 3], [4.0; 3]).with_owner(Aabb::EXCLUDED),
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
        let owner = [0, 0, 0, 1, 2, Aabb::STATIC][rng.below(6)];
        object.owner |= owner;
    }
    boxes
}

/// What a scene borrows.
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
        // One more than there are.
        let mut world_of = |objects: &[Aabb]| -> Vec<u32> {
            let worlds = if worlds > 1 { worlds as usize + 1 } else { 0 };
            let objects = if worlds > 0 { objects } else { &[] };
            objects.iter().map(|_| rng.below(worlds) as u32).collect()
        };
        let (static_worlds, worlds_of_moving) = (world_of(&statics), world_of(&moving));
        let scene = common::scene(2, 10, 40, &mut rng);
        let rays = sweep(&scene.rays, worlds, &mut rng);
        let queries = boxes(40, &mut rng)
            .into_iter()
            .enumerate()
            .map(|(index, bounds)| Query {
                bounds,
                radius: [0.0, 0.7, 2.3][index % 3],
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
            objects: &self.moving,
            worlds: &self.worlds,
            statics: SceneStatics {
                objects: &self.statics,
                worlds: &self.static_worlds,
                generation: self.generation,
            },
            rays: SceneRays::Swept(&self.rays),
            queries: SceneQueries::Rounded(&self.queries),
            query_mode: QueryMode::All,
        }
    }
}

/// The answer of a scene is that of the definition, on whatever it was found.
fn check_answer(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, what: &str) {
    use gpu_broad_phase::reference::brute_force;
    if descriptor.pairs {
        let pairs = brute_force::scene_pairs(descriptor, scene);
        let found = sorted(result.pairs.clone());
        if found != pairs {
            let lost: Vec<_> = pairs.iter().filter(|pair| !found.contains(pair)).collect();
            let more: Vec<_> = found.iter().filter(|pair| !pairs.contains(pair)).collect();
            panic!("{what}: pairs {lost:?} are lost, {more:?} are too many, {} of {}", found.len(), pairs.len());
        }
        if descriptor.worlds > 1 {
            let of_worlds: u32 = result.world_pairs.iter().sum();
            assert_eq!(of_worlds as usize, pairs.len(), "{what}: pairs of worlds");
        }
    }
    let hits = brute_force::scene_rays(descriptor, scene);
    check_hits(result, descriptor.ray_mode, &hits, what);
    let found = brute_force::scene_queries(descriptor, scene);
    if scene.query_mode == QueryMode::All && !found.is_empty() {
        check_lists(result, &found, what);
    }
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, on_gpu: &StepResult, what: &str) {
    let on_cpu = reference::step_scene(descriptor, scene).unwrap();
    check_answer(descriptor, scene, &on_cpu, &format!("{what}, reference"));
    check_answer(descriptor, scene, on_gpu, what);
    assert_eq!(counted(&on_gpu.counters), counted(&on_cpu.counters), "{what}");
    assert_eq!(
        on_gpu.counters.static_entries_needed, on_cpu.counters.static_entries_needed,
        "{what}"
    );
    assert_eq!(on_gpu.counters.table_cells, on_cpu.counters.table_cells, "{what}");
    // Not only as a set: in the reference's order.
    assert!(on_gpu.pairs == on_cpu.pairs, "{what}: another order of pairs");
    assert_eq!(on_gpu.world_pairs, on_cpu.world_pairs, "{what}");
    assert_eq!(on_gpu.query_offsets, on_cpu.query_offsets, "{what}");
    check_nearest(&on_gpu.query_nearest, &on_cpu.query_nearest, what);
}

fn descriptors() -> Vec<BroadPhaseDescriptor<'static>> {
    let default = BroadPhaseDescriptor::default();
    let mut all = Vec::new();
    for (index, scheme) in SCHEMES.into_iter().enumerate() {
        let ray_mode = RAY_MODES[index];
        all.extend([
            BroadPhaseDescriptor {
                scheme,
                ray_mode,
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                ray_mode: RayMode::All,
                dimensions: Dimensions::Two,
                margin: 0.125,
                pair_order: [PairOrder::Deterministic, PairOrder::Sorted][index % 2],
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                ray_mode: RAY_MODES[(index + 1) % 3],
                worlds: 3,
                ..default
            },
        ]);
    }
    all
}

const SIZES: [[usize; 2]; 7] = [[300, 40], [40, 300], [1, 1], [0, 50], [50, 0], [257, 256], [2000, 100]];

#[test]
fn the_answer_is_that_of_one_list() {
    for adapter in adapters() {
        for (index, descriptor) in descriptors().iter().enumerate() {
            let mut on_gpu = broad_phase(&adapter, descriptor);
            for (seed, sizes) in SIZES.into_iter().enumerate() {
                let case = Case::new(seed as u64 + 10 * index as u64, sizes, descriptor.worlds);
                let mut scene = case.scene();
                let what = format!("{sizes:?} on {}, {descriptor:?}", adapter.name);
                for (mode, queries) in [
                    (QueryMode::All, scene.queries),
                    (QueryMode::All, SceneQueries::Neighbors(Neighbors { radius: 1.3, once: false })),
                    (QueryMode::All, SceneQueries::Neighbors(Neighbors { radius: 0.9, once: true })),
                    (QueryMode::Nearest(3), scene.queries),
                    (QueryMode::Nearest(4), SceneQueries::Neighbors(Neighbors { radius: 2.1, once: false })),
                ] {
                    (scene.query_mode, scene.queries) = (mode, queries);
                    let what = format!("{what}, {mode:?} {:?}", matches!(queries, SceneQueries::Neighbors(_)));
                    let found = whole(&adapter, &mut on_gpu, (&scene).into());
                    check(descriptor, &scene, &found, &what);
                }
            }
        }
    }
}

/// Everything of an answer but its times, to the bit.
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
        ray_mode: RayMode::All,
        ray_cells: true,
        worlds: 2,
        count_candidates: true,
        ..Default::default()
    }
}

#[test]
fn a_kept_table_gives_the_same_bytes_as_a_new_one() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let descriptor = everything(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let mut case = Case::new(1, [700, 60], 2);
            for frame in 0..4 {
                // The moving ones are others, and more, in each frame.
                let moving = Case::new(100 + frame, [0, 60 + 50 * frame as usize], 2);
                (case.moving, case.worlds) = (moving.moving, moving.worlds);
                let kept = whole(&adapter, &mut on_gpu, (&case.scene()).into());
                check(&descriptor, &case.scene(), &kept, &what);
                let again = whole(&adapter, &mut on_gpu, (&case.scene()).into());
                assert_eq!(bits(&again), bits(&kept), "{what}");
                on_gpu.forget_statics();
                let built = whole(&adapter, &mut on_gpu, (&case.scene()).into());
                assert_eq!(bits(&built), bits(&kept), "{what}, built anew");
                let mut other = broad_phase(&adapter, &descriptor);
                let first = whole(&adapter, &mut other, (&case.scene()).into());
                assert_eq!(bits(&first), bits(&kept), "{what}, on a new broad phase");
            }
        }
    }
}

/// What is given with a known generation is not looked at.
#[test]
fn static_objects_are_read_when_their_generation_or_count_changes() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let [first, mut second, third] = [(5, 300), (6, 300), (7, 310)].map(|(seed, count)| Case::new(seed, [count, 90], 1));
            let mut expect = |given: &Case, expected: &Case, what: &str| {
                let mut expected_scene = expected.scene();
                // Only the static ones differ.
                expected_scene.objects = &given.moving;
                (expected_scene.rays, expected_scene.queries) = (given.scene().rays, given.scene().queries);
                let found = whole(&adapter, &mut on_gpu, (&given.scene()).into());
                check(&descriptor, &expected_scene, &found, what);
            };
            expect(&first, &first, &what);
            second.generation = first.generation;
            expect(&second, &first, &format!("{what}, the generation is the same"));
            second.generation = 77;
            expect(&second, &second, &format!("{what}, another generation"));
            let mut grown = Case { generation: 77, ..third };
            expect(&grown, &grown, &format!("{what}, another count"));
            grown.statics.truncate(200);
            expect(&grown, &grown, &format!("{what}, a smaller count"));
            // Without any for a step.
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
    for adapter in adapters() {
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
            let input = StepInput {
                statics: Statics {
                    objects: Source::device(&boxes, count),
                    worlds: Source::device(&worlds, count),
                    generation: 1,
                },
                objects: Source::device(&moving, case.moving.len() as u32),
                ..StepInput::from(&scene)
            };
            let found = whole(&adapter, &mut on_gpu, input);
            check(&descriptor, &scene, &found, &what);
            // What happens to the buffer later is no matter.
            adapter.queue.write_buffer(&boxes, 0, &vec![0; 32 * count as usize]);
            let found = whole(&adapter, &mut on_gpu, input);
            check(&descriptor, &scene, &found, &what);
        }
    }
}

/// A crowd on either side: walks of several rounds in both tables.
#[test]
fn crowds_are_walked_in_rounds_in_both_tables() {
    for adapter in adapters() {
        for (index, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ray_mode: RAY_MODES[index],
                capacities: Capacities {
                    rounds: Some([3, 4, 5][index]),
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut rng = Rng(index as u64);
            // Thin rods side by side, which cross the cells of one another.
            let mut rods = |count: usize, generation| Case {
                statics: (0..count)
                    .map(|_| {
                        let [y, z] = [rng.below(1 << 12), rng.below(1 << 12)].map(|place| place as f32 / 4096.0);
                        Aabb::new([0.0, y, z], [1.0, y + 0.0001, z + 0.0001])
                    })
                    .collect(),
                ..Case::new(generation, [0, 0], 1)
            };
            let mut case = rods(20_000, 1);
            case.moving = rods(300, 2).statics;
            let found = whole(&adapter, &mut on_gpu(&adapter, &descriptor), (&case.scene()).into());
            assert!(found.counters.rounds_needed > 1, "{what}");
            check(&descriptor, &case.scene(), &found, &what);
            std::mem::swap(&mut case.moving, &mut case.statics);
            let found = whole(&adapter, &mut on_gpu(&adapter, &descriptor), (&case.scene()).into());
            check(&descriptor, &case.scene(), &found, &what);
        }
    }
}

fn on_gpu(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
    broad_phase(adapter, descriptor)
}

/// GPU times of three ways to step the same boxes of which one in twenty moves: all in one list with marks, the moving ones
/// alone, and with a static part. Prints them; `STATICS=1000000` for a count of boxes.
#[test]
fn a_step_of_mostly_static_objects_costs_about_its_moving_ones() {
    let count = std::env::var("STATICS").map_or(40_000, |count| count.parse().unwrap());
    let mut rng = Rng(12);
    let all = common::uniform(count, &mut rng);
    let (statics, moving) = all.split_at(count / 20 * 19);
    let marked: Vec<_> = statics.iter().map(|object| object.with_owner(Aabb::STATIC)).collect();
    let listed = [&marked[..], moving].concat();
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            timestamps: true,
            ..Default::default()
        };
        let scenes = [
            Scene {
                objects: &listed,
                ..Default::default()
            },
            Scene {
                objects: moving,
                ..Default::default()
            },
            Scene {
                objects: moving,
                statics: SceneStatics {
                    objects: statics,
                    generation: 1,
                    ..Default::default()
                },
                ..Default::default()
            },
        ];
        let mut ways = scenes.map(|_| broad_phase(&adapter, &descriptor));
        let mut times = [const { Vec::new() }; 3];
        let mut pairs = [0; 3];
        for frame in 0..6 {
            for (way, scene) in scenes.iter().enumerate() {
                let result = whole(&adapter, &mut ways[way], scene.into());
                pairs[way] = result.pairs.len();
                if frame > 0 {
                    times[way].push(result.timings);
                }
            }
        }
        assert_eq!(pairs[0], pairs[2], "{}", adapter.name);
        let total = |stages: &Vec<gpu_broad_phase::StageTime>| -> f64 {
            stages.iter().map(|stage| stage.nanoseconds).sum::<f64>() / 1e6
        };
        for (what, mut runs) in ["one list", "moving alone", "static part"].iter().zip(times) {
            runs.sort_by(|a, b| total(a).total_cmp(&total(b)));
            let median = &runs[runs.len() / 2];
            let stages: Vec<_> = median
                .iter()
                .map(|stage| format!("{} {:.2}", stage.stage, stage.nanoseconds / 1e6))
                .collect();
            println!("{}: {what}: {:.1} ms: {}", adapter.name, total(median), stages.join(", "));
        }
    }
}
