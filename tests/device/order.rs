use crate::common::steps::{SCHEMES, broad_phase, encoder, read, submit, whole};
use crate::common::{Rng, TestAdapter, adapters, random_scene, sweep, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Growth, OutputOptions, Page, Queries, QueryInput,
    RayMode, Rays, ResultOrder, Scene, Scheme, SortStrategy, Source, StepResult,
};

fn descriptor(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            order: ResultOrder::Sorted,
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn words(result: &StepResult) -> [Vec<u32>; 5] {
    let hits = result.ray_hits.iter();
    [
        result.pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect(),
        hits.flat_map(|hit| [hit.object, hit.t.to_bits()]).collect(),
        result.ray_offsets.clone(),
        result.query_objects.clone(),
        result.query_offsets.clone(),
    ]
}

fn is_ascending(result: &StepResult) -> bool {
    let of_each = |offsets: &[u32], rows: &[u32]| {
        let mut ranges = offsets.windows(2).map(|ends| &rows[ends[0] as usize..ends[1] as usize]);
        ranges.all(|rows| rows.windows(2).all(|two| two[0] < two[1]))
    };
    let objects: Vec<_> = result.ray_hits.iter().map(|hit| hit.object).collect();
    result.pairs.windows(2).all(|two| two[0] < two[1])
        && of_each(&result.ray_offsets, &objects)
        && of_each(&result.query_offsets, &result.query_objects)
}

fn scene_of(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, scene: &Scene<'_>) -> StepResult {
    whole(adapter, gpu, *scene)
}

#[test]
fn every_sort_strategy_gives_the_same_bytes() {
    let mut rng = Rng(72);
    let boxes = uniform(9000, &mut rng);
    let scene = Scene {
        objects: Source::Host(&boxes),
        ..Default::default()
    };
    for adapter in adapters() {
        for order in [ResultOrder::Deterministic, ResultOrder::Sorted] {
            let answers = [
                SortStrategy::Auto,
                SortStrategy::Portable,
                SortStrategy::Subgroups,
                SortStrategy::SerialTiles,
            ]
            .map(|sort| {
                let descriptor = BroadPhaseDescriptor {
                    sort,
                    outputs: OutputOptions {
                        order,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                words(&scene_of(&adapter, &mut broad_phase(&adapter, &descriptor), &scene))
            });
            assert!(answers[0][0].len() > 40_000);
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{}", adapter.name);
        }
    }
}

#[test]
fn sorted_answers_are_the_same_bytes_on_every_device_with_every_scheme_and_on_the_cpu() {
    let mut rng = Rng(71);
    for dimensions in [Dimensions::Three, Dimensions::Two] {
        let descriptors = SCHEMES.map(|scheme| BroadPhaseDescriptor {
            dimensions,
            ..descriptor(scheme)
        });
        let mut gpus: Vec<_> = adapters()
            .into_iter()
            .flat_map(|adapter| descriptors.map(|descriptor| (adapter.clone(), broad_phase(&adapter, &descriptor))))
            .collect();
        for _ in 0..12 {
            let given = random_scene(&mut rng, 1500, 80);
            let asked: Vec<_> = given.objects.iter().step_by(9).copied().collect();
            let wide = sweep(&given.rays, 1, &mut rng);
            let scene = Scene {
                objects: Source::Host(&given.objects),
                query: QueryInput {
                    rays: Rays::Swept(Source::Host(&wide)),
                    queries: Queries::Boxes(Source::Host(&asked)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let on_cpu = descriptors.map(|descriptor| cpu::step_scene(&descriptor, &scene).unwrap());
            let expected = words(&on_cpu[0]);
            let mut pairs = brute_force::scene_pairs(&descriptors[0], &scene).unwrap();
            pairs.sort_unstable();
            assert!(
                on_cpu[0].pairs == pairs && on_cpu.iter().all(is_ascending),
                "{}",
                given.name
            );
            assert!(on_cpu.iter().all(|result| words(result) == expected), "{}", given.name);
            for (adapter, gpu) in &mut gpus {
                let found = scene_of(adapter, gpu, &scene);
                let what = format!("{}, {:?} on {}", given.name, gpu.descriptor().scheme, adapter.name);
                assert!(words(&found) == expected, "{what}");
            }
        }
    }
}

#[test]
fn windows_and_prefixes_are_ascending_in_themselves() {
    let mut rng = Rng(73);
    let objects = uniform(900, &mut rng);
    let mut expected = brute_force::pairs(&objects);
    expected.sort_unstable();
    for adapter in adapters() {
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(500),
                        entries: Some(20_000),
                        ..Default::default()
                    },
                    ..descriptor(scheme).outputs
                },
                ..descriptor(scheme)
            };
            let mut gpu = broad_phase(&adapter, &descriptor);
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            submit(&adapter, &mut gpu, scene);
            let mut joined = read(&mut gpu).pairs;
            assert_eq!(joined.len(), 500, "{what}");
            assert!(joined.is_sorted(), "{what}");
            while joined.len() < expected.len() {
                let mut encoder = encoder(&adapter);
                let first = Page {
                    pairs: joined.len() as u32,
                    ..Default::default()
                };
                gpu.page(&mut encoder, first).unwrap();
                adapter.queue.submit([encoder.finish()]);
                let part = read(&mut gpu).pairs;
                assert!(part.is_sorted() && !part.is_empty(), "{what}");
                joined.extend(part);
            }
            joined.sort_unstable();
            assert!(joined == expected, "{what}");
        }
    }
}
