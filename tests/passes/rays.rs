use std::borrow::Cow;
use std::sync::Arc;

use crate::common::{self, Rng, rods};
use crate::harness::*;
use crate::suite::{check_parts, check_scene};
use gpu_broad_phase::internals::blocks::{Overrides, RayBlocks, RayParams};
use gpu_broad_phase::internals::grid::Grid;
use gpu_broad_phase::internals::reference::rays::{
    ray_any, ray_cells_count, ray_cells_emit, ray_closest, ray_count, ray_emit, ray_keys,
};
use gpu_broad_phase::internals::reference::{HostScene, Trace};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, QueryInput, RayCell, RayHit, Rays, Scene, Scheme, SweptRay};

pub fn by_object(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    hits.sort_unstable();
    hits
}

fn ray_bytes(rays: Rays<'_>) -> (&'static str, Vec<u8>) {
    let contents = match rays {
        Rays::Plain(rays) => bytes(rays.elements().unwrap()),
        Rays::Swept(rays) => bytes(rays.elements().unwrap()),
        _ => panic!("a form of rays without a test"),
    };
    ("rays", contents)
}

pub fn wide(rays: Rays<'_>) -> Cow<'_, [SweptRay]> {
    let scene = Scene {
        query: QueryInput {
            rays,
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    HostScene::of(&scene).unwrap().rays
}

fn ray_blocks(trace: &Trace, rays: Rays<'_>) -> RayBlocks {
    let stride = if matches!(rays, Rays::Swept(_)) { 4 } else { 2 };
    let base = trace.ray_blocks;
    with_rays(
        base,
        RayParams {
            stride,
            is_sorted: 1,
            ..base.rays
        },
    )
}

fn with_rays(blocks: RayBlocks, rays: RayParams) -> RayBlocks {
    RayBlocks { rays, ..blocks }
}

fn check_ray_keys(bench: &Bench, trace: &Trace, rays: Rays<'_>) -> Vec<u32> {
    let params = ray_blocks(trace, rays);
    let (keys, values) = ray_keys::ray_keys(&params, &trace.grid, &wide(rays));
    let counted = Grid {
        entry_count: params.rays.count,
        ..Grid::default()
    };
    let found = bench.run(
        &shaders::RAY_KEYS,
        groups(rays.len()),
        &params,
        &[
            ray_bytes(rays),
            ("grid", bytes(&[trace.grid])),
            ("keys", poison::<u32>(rays.len())),
            ("values", poison::<u32>(rays.len())),
            ("sort_grid", bytes(&[Grid::default()])),
        ],
    );
    found.check("keys", &keys);
    found.check("values", &values);
    found.check("sort_grid", &[counted]);
    assert!(keys.iter().all(|key| key >> ray_keys::RAY_KEY_BITS == 0));
    let mut order = values;
    order.sort_by_key(|&ray| keys[ray as usize]);
    order
}

/// Devices may order a ray's hits differently.
pub fn check_rays(bench: &Bench, trace: &Trace, rays: Rays<'_>, uniform_scheme: bool) {
    bench.sweeps.set(matches!(rays, Rays::Swept(_)));
    let order = check_ray_keys(bench, trace, rays);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let order = (!uniform_scheme).then(|| ("values", bytes(&order)));
        let given = [ray_bytes(rays), ("objects", bytes(&trace.tables.objects))];
        given.into_iter().chain(order).chain(more).collect::<Vec<_>>()
    };
    let mut walks = Walk::all(trace, rays.len(), false);
    for walk in &mut walks {
        walk.inputs.retain(|(name, _)| uniform_scheme || *name != "values");
    }
    let params = ray_blocks(trace, rays);
    let wide = wide(rays);
    let tables = trace.reads().rays(&wide);
    let run = |pass, output: &'static str, count: usize| {
        let more = vec![(output, poison::<u32>(count)), ("counters", bytes(&used_counters()))];
        bench.run_walks(pass, &walks, params, &inputs(more), None)
    };
    let run_rounds = |pass, output: &'static str, count: usize| {
        let more = vec![(output, poison::<u32>(count)), ("counters", bytes(&used_counters()))];
        let contents = inputs(more);
        let rounds = bench.rounds_of_walks(pass, &walks, params, &contents);
        (bench.run_walks(pass, &walks, params, &contents, Some(rounds)), rounds)
    };
    let carried = if walks.len() > 1 { rays.len() } else { 0 };
    let mut counters = used_counters();
    let mut offsets = ray_count::ray_count(&params, &tables, bench.overrides, &mut counters);
    let found = run(&shaders::RAY_COUNT, "ray_offsets", rays.len() + 1);
    found.check("ray_offsets", &offsets);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, rounds) = run_rounds(&shaders::RAY_COUNT, "ray_offsets", rays.len() + 1);
    found.check("ray_offsets", &offsets);
    found.check_ray_rounds(&counters, rounds);

    let counts = offsets.clone();
    let all = scan_of(&mut offsets) as usize;
    let page = |(shift, first, capacity): (u32, usize, usize)| {
        let page = RayParams {
            first_hit: shift + first as u32,
            hit_capacity: capacity as u32,
            ..params.rays
        };
        with_rays(params, page)
    };
    let emit = |window| {
        let (shift, _, capacity) = window;
        let params = page(window);
        let more = vec![
            (
                "ray_offsets",
                [shifted(&offsets, shift), poison::<u32>(carried)].concat(),
            ),
            ("ray_hits", poison::<RayHit>(capacity)),
        ];
        bench.run_walks(&shaders::RAY_EMIT, &walks, params, &inputs(more), None)
    };
    let whole = page((0, 0, all));
    let expected = ray_emit::ray_emit(&whole, &tables, bench.overrides, &offsets);
    let hits: Vec<RayHit> = emit((0, 0, all)).take("ray_hits", all);
    for ((index, ray), ends) in wide.iter().enumerate().zip(offsets.windows(2)) {
        let of_ray = ends[0] as usize..ends[1] as usize;
        assert_eq!(
            by_object(&hits[of_ray.clone()]),
            by_object(&expected[of_ray]),
            "ray_emit of {}, ray {index} {ray:?} on {}",
            bench.scene,
            bench.device.name()
        );
    }
    for window in bench.windows(all) {
        emit(window).check("ray_hits", &hits[shown(all, window)]);
        if !bench.tries_rounds(window) {
            continue;
        }
        let (shift, _, capacity) = window;
        let params = page(window);
        let shifted = shifted(&offsets, shift);
        let more = vec![
            ("ray_offsets", [shifted.clone(), poison::<u32>(rays.len())].concat()),
            ("ray_hits", poison::<RayHit>(capacity)),
        ];
        let found = bench.run_walks(&shaders::RAY_EMIT, &walks, params, &inputs(more), Some(rounds));
        found.check("ray_hits", &hits[shown(all, window)]);
        found.check_carry_words("ray_offsets", &shifted, rays.len());
    }

    // Counting caches all hits of some rays, but not of others.
    for cached in bench.some_of([1, 5]) {
        let keeping = with_rays(params, RayParams { cached, ..whole.rays });
        let behind = rays.len() * (1 + 2 * cached as usize);
        let counting = inputs(vec![
            ("ray_offsets", poison::<u32>(rays.len() + 1 + behind)),
            ("counters", bytes(&used_counters())),
        ]);
        for rounds in [None, Some(rounds)] {
            let counted = bench.run_walks(&shaders::RAY_COUNT, &walks, keeping, &counting, rounds);
            counted.check_carry_words("ray_offsets", &bytes(&counts), behind);
            let words = counted.take::<u32>("ray_offsets", rays.len() + 1 + behind);
            let more = vec![
                (
                    "ray_offsets",
                    [bytes(&offsets), bytes(&words[rays.len() + 1..])].concat(),
                ),
                ("ray_hits", poison::<RayHit>(all)),
            ];
            let found = bench.run_walks(&shaders::RAY_EMIT, &walks, keeping, &inputs(more), rounds);
            found.check("ray_hits", &hits);
        }
    }

    let mut counters = used_counters();
    let closest = ray_closest::ray_closest(&params, &tables, bench.overrides, &mut counters);
    let found = run(&shaders::RAY_CLOSEST, "ray_hits", 2 * rays.len());
    found.check("ray_hits", &closest);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, _) = run_rounds(&shaders::RAY_CLOSEST, "ray_hits", 6 * rays.len());
    found.check_carry_words("ray_hits", &bytes(&closest), 4 * rays.len());
    assert_eq!(found.take::<u32>("counters", 32)[UNFINISHED], 0, "{}", found.what);

    let mut counters = used_counters();
    let any = ray_any::ray_any(&params, &tables, bench.overrides, &mut counters);
    let found = run(&shaders::RAY_ANY, "ray_any", rays.len());
    found.check("ray_any", &any);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, rounds) = run_rounds(&shaders::RAY_ANY, "ray_any", rays.len());
    found.check("ray_any", &any);
    found.check_ray_rounds(&counters, rounds);
}

/// Rounding affects the visited cells, so a few may differ.
pub fn check_ray_cells(bench: &Bench, trace: &Trace, rays: Rays<'_>) {
    let params = ray_blocks(trace, rays);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| [vec![ray_bytes(rays)], more].concat();
    let walks = Walk::all(trace, rays.len(), false);
    let carried = if walks.len() > 1 { rays.len() } else { 0 };
    let tables = [&trace.tables.own].into_iter().chain(&trace.tables.statics);
    let grids: Vec<_> = tables.map(|of| &of.grid).collect();
    let found = bench.run_walks(
        &shaders::RAY_CELLS_COUNT,
        &walks,
        params,
        &inputs(vec![
            ("ray_cell_offsets", poison::<u32>(rays.len() + 1)),
            ("counters", bytes(&used_counters())),
        ]),
        None,
    );
    found.check("counters", &used_counters());
    let mut offsets: Vec<u32> = found.take("ray_cell_offsets", rays.len() + 1);
    let expected = ray_cells_count::ray_cells_count(&params, &grids, &wide(rays));
    for (index, (&count, &near)) in offsets.iter().zip(&expected).enumerate() {
        assert!(
            u64::from(count.abs_diff(near)) <= 8 + u64::from(near) / 4,
            "{}: {count} cells of ray {index}, {near} expected",
            found.what
        );
    }

    let all = scan_of(&mut offsets);
    let emit = |first: u64, capacity: u64| {
        let page = RayParams {
            first_cell: first as u32,
            cell_capacity: capacity as u32,
            ..params.rays
        };
        let params = with_rays(params, page);
        let more = vec![
            ("ray_cell_offsets", [bytes(&offsets), poison::<u32>(carried)].concat()),
            ("ray_cells", poison::<RayCell>(capacity as usize)),
            ("counters", bytes(&used_counters())),
        ];
        let pass = &shaders::RAY_CELLS_EMIT;
        let contents = inputs(more);
        let found = bench.run_walks(pass, &walks, params, &contents, None);
        found.check("counters", &used_counters());
        found.check_carry_words("ray_cell_offsets", &bytes(&offsets), carried);
        let rounds = bench.rounds_of_walks(pass, &walks, params, &contents);
        let in_rounds = bench.run_walks(pass, &walks, params, &contents, Some(rounds));
        assert_eq!(
            in_rounds.buffers["ray_cells"], found.buffers["ray_cells"],
            "{}",
            found.what
        );
        in_rounds.check_rounds(&used_counters(), rounds);
        let shown = all.saturating_sub(first).min(capacity);
        let expected = ray_cells_emit::ray_cells_emit(&params, &grids, &wide(rays), &offsets);
        let cells: Vec<RayCell> = found.take("ray_cells", shown as usize);
        (cells, expected)
    };
    let (cells, expected) = emit(0, 3000);
    let same = cells.iter().filter(|cell| expected.contains(cell)).count();
    assert!(same + 8 >= cells.len() - cells.len() / 8, "{}: ray_cells", found.what);
    let (part, _) = emit(all.min(1000), 500);
    assert_eq!(
        part[..],
        cells[cells.len().min(1000)..cells.len().min(1500)],
        "{}",
        found.what
    );
}

/// Rods are in many cells each, so rays test all objects instead of cells.
pub fn check_rods(device: Arc<dyn Device>) {
    let overrides = Overrides {
        filters: true,
        count_candidates: true,
    };
    let mut bench = Bench::new(device.clone());
    let mut rng = Rng(12);
    for (_, count) in [500, 40].into_iter().enumerate().filter(|(case, _)| device.runs(*case)) {
        let (mut objects, rays) = rods(count, 60, &mut rng);
        objects[3].max[1] = f32::INFINITY;
        objects[5].min[0] = f32::NAN;
        objects[8].group = Aabb::EXCLUDED;
        let scene = common::Scene {
            name: format!("{count} rods"),
            objects,
            rays,
        };
        let whole = descriptor(Scheme::Uniform { cell_size: 1.0 }, None);
        check_scene(&mut bench, &whole, &scene, &[overrides]);
        let worlds = BroadPhaseDescriptor { worlds: 3, ..whole };
        check_parts(&mut bench, &worlds, &scene, count / 3, &[overrides]);
    }
}
