//! An empty list of rays or queries has outputs without rows. An absent list has no outputs.

use crate::common::steps::{
    RAY_MODES, SCHEMES, UNIT, broad_phase, buffer, descriptor, download, encoder, read, record, scene_of,
};
use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DebugDraw, DebugLines, DeviceCount, DispatchArgs, GpuBroadPhase, Lists, Output, Page,
    Queries, Query, QueryInput, QueryMode, Ray, RayMode, Rays, ResultOrder, Scene, Source, StepOutput, StepResult,
    SweptRay, cpu, wgpu,
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
    let later = later.take().expect("a result that has arrived").expect("a result");
    [now, later]
}

#[test]
fn empty_lists_have_outputs_without_rows() {
    let objects = [UNIT, UNIT, Aabb::new([5.0; 3], [6.0; 3])];
    for adapter in adapters() {
        let buffer = buffer(&adapter.device, 64, wgpu::BufferUsages::STORAGE);
        let (buffer, word) = (&buffer, 0);
        let count = Some(DeviceCount { buffer, word });
        let rays = [
            Rays::Plain(Source::Host(&[])),
            Rays::Swept(Source::Host(&[])),
            Rays::Plain(Source::<Ray>::device(buffer, 0)),
            Rays::Swept(Source::<SweptRay>::device(buffer, 0)),
        ];
        let queries = [
            Queries::Boxes(Source::Host(&[])),
            Queries::General(Source::Host(&[])),
            Queries::Boxes(Source::<Aabb>::device(buffer, 0)),
            Queries::General(Source::<Query>::device(buffer, 0)),
        ];
        let modes = RAY_MODES.into_iter().flat_map(|ray| MODES.map(|mode| (ray, mode)));
        for (turn, (ray_mode, mode)) in modes.enumerate() {
            let (kind, scheme) = (turn % 4, SCHEMES[turn % 3]);
            let descriptor = descriptor(|all| {
                (all.scheme, all.outputs.ray_mode, all.outputs.ray_cells) = (scheme, ray_mode, kind % 2 == 0);
                if kind < 2 {
                    all.outputs.order = ResultOrder::Sorted;
                }
            });
            let what = format!("{scheme:?}, {ray_mode:?}, {mode:?}, lists {kind} on {}", adapter.name);
            let query = QueryInput {
                rays: rays[kind],
                queries: queries[kind],
                query_mode: mode,
                ray_count: count.filter(|_| kind == 3),
                query_count: count.filter(|_| kind == 3),
            };
            let scene = Scene {
                query,
                ..scene_of(&objects)
            };
            let mut without = scene_of(&objects);
            without.query.query_mode = mode;
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
            let out = gpu.query(&mut own, query).expect("a query");
            for result in reads(&adapter, &mut gpu, own) {
                check(&result, &expected, &what);
            }
            check_outputs(&adapter, &out, &descriptor, mode, &what);
            let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
            let mut own = encoder(&adapter);
            let out = set.record(&mut own, &step, query).expect("a set");
            let mut later = set.record_read_back(&mut own, Output::ALL).expect("a handle");
            adapter.queue.submit([own.finish()]);
            check(&block_on(set.read_back()).expect("a result"), &expected, &what);
            check(
                &later.take().expect("a result that has arrived").expect("a result"),
                &expected,
                &what,
            );
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
            if kind < 2 {
                let on_cpu = cpu::step_scene(&descriptor, &scene).expect("a result");
                check(&on_cpu, &expected, &what);
                let on_cpu = cpu::step_scene(&descriptor, &without).expect("a result");
                check(&on_cpu, &offsets(&descriptor, mode, false), &what);
                let mut on_cpu = CpuBroadPhase::new(&descriptor).expect("a broad phase");
                check(&on_cpu.step_scene(&scene).expect("a result"), &expected, &what);
                check(&on_cpu.query(&query).expect("a result"), &expected, &what);
            }
        }
    }
}
