//! An empty list of rays or queries has outputs without rows. An absent list has no outputs.

use crate::common::pool::opened;
use crate::common::steps::{RAY_MODES, SCHEMES, UNIT, broad_phase, download, encoder, read, record};
use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DebugDraw, DebugLines, DeviceCount, DispatchArgs, GpuBroadPhase, Lists, Output,
    OutputOptions, Page, Queries, Query, QueryInput, QueryMode, Ray, RayMode, Rays, ResultOrder, Scene, SelfQuery,
    Source, StepOutput, StepResult, SweptRay, cpu, wgpu,
};
use pollster::block_on;

const MODES: [QueryMode; 2] = [QueryMode::All, QueryMode::Nearest(3)];

fn offsets(descriptor: &BroadPhaseDescriptor<'_>, mode: QueryMode, has_queries: bool) -> [Vec<u32>; 3] {
    let one = |is_there: bool| if is_there && has_queries { vec![0] } else { Vec::new() };
    [
        one(descriptor.outputs.ray_mode == RayMode::All),
        one(descriptor.outputs.ray_cells),
        one(mode == QueryMode::All),
    ]
}

fn check(result: &StepResult, expected: &[Vec<u32>; 3], what: &str) {
    let found = [&result.ray_offsets, &result.ray_cell_offsets, &result.query_offsets];
    assert_eq!(found, expected.each_ref(), "{what}");
    let rows = [
        result.ray_hits.len(),
        result.ray_any.len(),
        result.ray_cells.len(),
        result.query_objects.len(),
        result.query_nearest.len(),
    ];
    assert_eq!(rows, [0; 5], "{what}");
    assert!(result.counters.is_complete(), "{what}: {}", result.counters.status);
}

fn check_outputs(
    adapter: &TestAdapter,
    out: &StepOutput,
    descriptor: &BroadPhaseDescriptor<'_>,
    mode: QueryMode,
    what: &str,
) {
    let is = |wanted: RayMode| descriptor.outputs.ray_mode == wanted;
    assert_eq!(out.rays.closest.is_some(), is(RayMode::Closest), "{what}");
    assert_eq!(out.rays.any.is_some(), is(RayMode::Any), "{what}");
    assert_eq!(out.rays.hits.is_some(), is(RayMode::All), "{what}");
    assert_eq!(out.rays.cells.is_some(), descriptor.outputs.ray_cells, "{what}");
    assert_eq!(out.queries.objects.is_some(), mode == QueryMode::All, "{what}");
    assert_eq!(out.queries.nearest.is_some(), mode != QueryMode::All, "{what}");
    let lists = [&out.rays.hits, &out.rays.cells, &out.queries.objects];
    for Lists { offsets, .. } in lists.into_iter().flatten() {
        let words: Vec<u32> = download(&adapter.device, &adapter.queue, offsets, 4);
        assert_eq!(words, [0], "{what}");
    }
    let mut args = DispatchArgs::new(None);
    for (rows, lists) in [Output::RayHits, Output::RayCells, Output::QueryObjects]
        .into_iter()
        .zip(lists)
    {
        let mut encoder = encoder(adapter);
        let recorded = args.record(&mut encoder, out, rows, 64);
        assert_eq!(recorded.is_ok(), lists.is_some(), "{rows:?}, {what}");
        adapter.queue.submit([encoder.finish()]);
        if let Ok(buffer) = recorded {
            let words: Vec<u32> = download(&adapter.device, &adapter.queue, &buffer, 16);
            assert_eq!(words[3], 0, "{rows:?}, {what}");
        }
    }
    if descriptor.outputs.ray_cells {
        let mut lines = DebugDraw::new(descriptor, None);
        let mut encoder = encoder(adapter);
        let drawn = lines.record(&mut encoder, out, DebugLines::RayCells, [0; 4], 9);
        let args = drawn.expect("lines of nothing").args;
        adapter.queue.submit([encoder.finish()]);
        let words: Vec<u32> = download(&adapter.device, &adapter.queue, &args, 4);
        assert_eq!(words, [0], "{what}");
    }
}

fn reads(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, mut encoder: wgpu::CommandEncoder) -> [StepResult; 2] {
    let mut later = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
    adapter.queue.submit([encoder.finish()]);
    let now = read(gpu);
    let later = later.take().expect("there").expect("in order");
    [now, later]
}

#[test]
fn lists_of_nothing_have_outputs() {
    let objects = [UNIT, UNIT, Aabb::new([5.0; 3], [6.0; 3])];
    for adapter in adapters() {
        let buffer = adapter.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("no elements"),
            size: 64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let count = Some(DeviceCount {
            buffer: &buffer,
            word: 0,
        });
        let rays = [
            Rays::Plain(Source::Host(&[])),
            Rays::Swept(Source::Host(&[])),
            Rays::Plain(Source::<Ray>::device(&buffer, 0)),
            Rays::Swept(Source::<SweptRay>::device(&buffer, 0)),
        ];
        let queries = [
            Queries::Boxes(Source::Host(&[])),
            Queries::General(Source::Host(&[])),
            Queries::Boxes(Source::<Aabb>::device(&buffer, 0)),
            Queries::General(Source::<Query>::device(&buffer, 0)),
        ];
        for (place, scheme) in SCHEMES.into_iter().enumerate() {
            for (turn, (ray_mode, mode)) in RAY_MODES
                .into_iter()
                .flat_map(|ray| MODES.map(|mode| (ray, mode)))
                .enumerate()
            {
                let form = (place + turn / 2 + 2 * (turn % 2)) % 4;
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    outputs: OutputOptions {
                        ray_mode,
                        ray_cells: form % 2 == 0,
                        order: if form < 2 {
                            ResultOrder::Sorted
                        } else {
                            ResultOrder::default()
                        },
                        ..Default::default()
                    },
                    ..BroadPhaseDescriptor::default()
                };
                let what = format!("{scheme:?}, {ray_mode:?}, {mode:?}, form {form} on {}", adapter.name);
                let asked = QueryInput {
                    rays: rays[form],
                    queries: queries[form],
                    query_mode: mode,
                    ray_count: count.filter(|_| form == 3),
                    query_count: count.filter(|_| form == 3),
                };
                let scene = Scene {
                    objects: objects[..].into(),
                    query: asked,
                    ..Scene::default()
                };
                let without = Scene {
                    objects: objects[..].into(),
                    query: QueryInput {
                        query_mode: mode,
                        ..QueryInput::default()
                    },
                    ..Scene::default()
                };
                let mut gpu = broad_phase(&adapter, &descriptor);
                let expected = offsets(&descriptor, mode, true);
                let mut first = encoder(&adapter);
                let out = record(&mut gpu, &mut first, scene);
                for result in reads(&adapter, &mut gpu, first) {
                    check(&result, &expected, &what);
                    assert_eq!(result.pairs.len(), 1, "{what}");
                }
                check_outputs(&adapter, &out, &descriptor, mode, &what);
                let mut page = encoder(&adapter);
                let step = gpu.page(&mut page, Page::default()).expect("a page");
                for result in reads(&adapter, &mut gpu, page) {
                    check(&result, &expected, &what);
                }
                let mut own = encoder(&adapter);
                let out = gpu.query(&mut own, asked).expect("a query");
                for result in reads(&adapter, &mut gpu, own) {
                    check(&result, &expected, &what);
                }
                check_outputs(&adapter, &out, &descriptor, mode, &what);
                let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
                let mut own = encoder(&adapter);
                let out = set.record(&mut own, &step, asked).expect("a set");
                let mut later = set.record_read_back(&mut own, Output::ALL).expect("a handle");
                adapter.queue.submit([own.finish()]);
                check(&block_on(set.read_back()).expect("an answer"), &expected, &what);
                check(&later.take().expect("there").expect("in order"), &expected, &what);
                check_outputs(&adapter, &out, &descriptor, mode, &what);
                let mut last = encoder(&adapter);
                let out = record(&mut gpu, &mut last, without);
                for result in reads(&adapter, &mut gpu, last) {
                    check(&result, &offsets(&descriptor, mode, false), &what);
                }
                let lists = [out.rays.hits, out.rays.cells, out.queries.objects];
                assert!(lists.iter().all(Option::is_none), "{what}");
                let rows = [out.rays.closest, out.rays.any, out.queries.nearest];
                assert!(rows.iter().all(Option::is_none), "{what}");
                if form < 2 {
                    let on_cpu = cpu::step_scene(&descriptor, &scene).expect("an answer");
                    check(&on_cpu, &expected, &what);
                    let on_cpu = cpu::step_scene(&descriptor, &without).expect("an answer");
                    check(&on_cpu, &offsets(&descriptor, mode, false), &what);
                    let mut kept = CpuBroadPhase::new(&descriptor).expect("a broad phase");
                    check(&kept.step_scene(&scene).expect("an answer"), &expected, &what);
                    check(&kept.query(&asked).expect("an answer"), &expected, &what);
                }
            }
        }
    }
}

#[test]
fn no_objects_have_lists_of_nothing() {
    let own = [
        Queries::Objects(SelfQuery::Within {
            radius: 1.0,
            half: false,
        }),
        Queries::Objects(SelfQuery::Overlaps { half: true }),
    ];
    for adapter in adapters() {
        for (queries, mode) in own.into_iter().flat_map(|queries| MODES.map(|mode| (queries, mode))) {
            let what = format!("{queries:?}, {mode:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor::default();
            let scene = Scene {
                query: QueryInput {
                    queries,
                    query_mode: mode,
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            let expected = [Vec::new(), Vec::new(), offsets(&descriptor, mode, true)[2].clone()];
            let mut gpu = broad_phase(&adapter, &descriptor);
            let mut first = encoder(&adapter);
            let out = record(&mut gpu, &mut first, scene);
            for result in reads(&adapter, &mut gpu, first) {
                check(&result, &expected, &what);
            }
            assert_eq!(out.queries.objects.is_some(), mode == QueryMode::All, "{what}");
            assert_eq!(out.queries.nearest.is_some(), mode != QueryMode::All, "{what}");
            check(
                &cpu::step_scene(&descriptor, &scene).expect("an answer"),
                &expected,
                &what,
            );
        }
    }
}

#[test]
fn numbers_that_vary_need_no_special_case() {
    let objects = [UNIT, UNIT];
    let all_rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0); 3];
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let mut headless = opened(&adapter, &descriptor);
        for count in [0, 2, 0, 0, 3, 1, 0] {
            let what = format!("{count} rays on {}", adapter.name);
            let rays = &all_rays[..count];
            let expected: Vec<u32> = (0..=count as u32).map(|ray| 2 * ray).collect();
            let found = block_on(headless.step(&objects, rays)).expect("an answer");
            assert_eq!(found.ray_offsets, expected, "{what}");
            assert_eq!(found.ray_cell_offsets.len(), count + 1, "{what}");
            assert_eq!(
                found,
                StepResult {
                    counters: found.counters,
                    timings: found.timings.clone(),
                    ..cpu::step(&descriptor, &objects, rays).expect("an answer")
                },
                "{what}"
            );
            let asked = QueryInput {
                rays: rays.into(),
                queries: Queries::Boxes(Source::Host(&objects[..count.min(2)])),
                ..QueryInput::default()
            };
            let found = block_on(headless.query(&asked)).expect("an answer");
            assert_eq!(found.ray_offsets, expected, "{what}");
            let expected: Vec<u32> = (0..=count.min(2) as u32).map(|query| 2 * query).collect();
            assert_eq!(found.query_offsets, expected, "{what}");
        }
    }
}

#[test]
fn lists_of_nothing_take_no_dispatches() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                order: ResultOrder::Sorted,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut dispatches = |scene: Scene<'_>| {
            let before = gpu.dispatches();
            let mut encoder = encoder(&adapter);
            record(&mut gpu, &mut encoder, scene);
            adapter.queue.submit([encoder.finish()]);
            gpu.dispatches() - before
        };
        let objects = [UNIT, UNIT];
        let without = Scene {
            objects: objects[..].into(),
            ..Scene::default()
        };
        let of_nothing = Scene {
            query: QueryInput {
                rays: Rays::Plain(Source::Host(&[])),
                queries: Queries::Boxes(Source::Host(&[])),
                ..without.query
            },
            ..without
        };
        assert_eq!(dispatches(of_nothing), dispatches(without), "{}", adapter.name);
    }
}
