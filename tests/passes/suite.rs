//! Checks of all passes, for any device.

use crate::common::{Rng, Scene, sweep};
use crate::cull::check_cull;
use crate::dispatch::check_dispatch;
use crate::draw::check_lines;
use crate::events::check_events;
use crate::harness::*;
use crate::input::{check_count, check_gather};
use crate::order::check_order;
use crate::pairs::{check_exclusions, check_pairs, check_static_pairs, check_sums, list_of};
use crate::queries::check_queries;
use crate::rays::{check_ray_cells, check_rays};
use crate::scan::check_scan;
use crate::sort::strategies;
use crate::table::{check_scatter, check_strided, check_table};
use gpu_broad_phase::internals::blocks::Overrides;
use gpu_broad_phase::internals::grid::Params;
use gpu_broad_phase::internals::reference::table::prepare;
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Rays, Scheme, Source};

pub fn check_scene(
    bench: &mut Bench,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene,
    overrides: &[Overrides],
) -> u32 {
    check_parts(bench, descriptor, scene, 0, overrides)
}

pub fn check_parts(
    bench: &mut Bench,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene,
    static_count: usize,
    overrides: &[Overrides],
) -> u32 {
    bench.scene = format!("{}, {descriptor:?}", scene.name);
    let scheme = descriptor.scheme;
    let uniform_scheme = matches!(scheme, Scheme::Uniform { .. });
    let all_worlds = scene.worlds(descriptor.worlds);
    let (statics, moving) = scene.objects.split_at(static_count);
    let (static_worlds, worlds) = all_worlds.split_at(static_count.min(all_worlds.len()));
    let input = gpu_broad_phase::Scene {
        query: gpu_broad_phase::QueryInput {
            rays: Rays::Plain(Source::Host(&scene.rays)),
            ..Default::default()
        },
        ..wild::scene_of(&scene.objects, &all_worlds, static_count, 0)
    };
    let trace = trace(descriptor, &input).unwrap();
    bench.scheme = trace.params.scheme;
    let is_periodic = descriptor.periods != [0.0; 3];
    let changes = trace.params.dimensions == 2 || trace.params.margin > 0.0 || trace.params.world_count > 1;
    if changes || is_periodic || static_count > 0 {
        let mut objects = poison::<Aabb>(scene.objects.len());
        let parts = [
            (trace.tables.statics.as_ref(), statics, static_worlds),
            (Some(&trace.tables.own), moving, worlds),
        ];
        for (part, given, worlds) in parts {
            let Some(part) = part else { continue };
            let found = bench.run(
                &shaders::PREPARE,
                groups(given.len()),
                uniform(&part.params),
                &[
                    ("source_objects", bytes(given)),
                    ("objects", objects),
                    ("object_limits", zeros(1)),
                    ("worlds", bytes(worlds)),
                ],
            );
            objects = found.take("objects", 32 * scene.objects.len());
        }
        let limits = [7, moving.len() as u32 / 2];
        let limited = Params {
            object_limit: 2,
            ..trace.params
        };
        let found = bench.run(
            &shaders::PREPARE,
            groups(moving.len()),
            uniform(&limited),
            &[
                ("source_objects", bytes(moving)),
                ("objects", objects.clone()),
                ("object_limits", bytes(&limits)),
                ("worlds", bytes(worlds)),
            ],
        );
        let expected = prepare::prepare(&limited, moving, &limits, worlds);
        let found: Vec<u8> = found.take("objects", 32 * scene.objects.len());
        assert!(found.ends_with(&bytes(&expected)), "{}: limited objects", bench.scene);
        // Compared as bytes, since a NaN is not equal to itself.
        assert!(objects == bytes(&trace.tables.objects), "{}: objects", bench.scene);
    }
    check_strided(bench, &trace.params, worlds);
    if let Some(statics) = &trace.tables.statics {
        check_table(
            bench,
            statics,
            trace.pair_blocks.pairs,
            &trace.tables.objects,
            descriptor,
            static_worlds,
        );
    }
    check_table(
        bench,
        &trace,
        trace.pair_blocks.pairs,
        &trace.tables.objects,
        descriptor,
        worlds,
    );
    for &overrides in overrides {
        bench.overrides = overrides;
        check_pairs(bench, &trace, &trace.tables.objects, uniform_scheme);
        if trace.tables.statics.is_some() {
            check_static_pairs(bench, &trace, uniform_scheme);
        }
    }
    let list = list_of(
        &trace.pairs,
        scene.objects.len() as u32,
        &mut Rng(scene.objects.len() as u64),
    );
    let listed = gpu_broad_phase::Scene {
        excluded_pairs: Source::Host(&list),
        ..input
    };
    let listed = gpu_broad_phase::internals::reference::trace(descriptor, &listed).unwrap();
    bench.overrides = overrides[scene.objects.len() % overrides.len()];
    bench.draws(|bench| {
        check_exclusions(bench, &listed, &list);
        check_pairs(bench, &listed, &listed.tables.objects, uniform_scheme);
        if listed.tables.statics.is_some() {
            check_static_pairs(bench, &listed, uniform_scheme);
        }
        if scene.objects.len() < 600 {
            check_queries(bench, &listed, &[]);
        }
    });
    let can_crowd = trace.params.has_clusters == 1 && trace.grid.is_crowded == 0;
    let crowded = can_crowd.then(|| crowded(&trace));
    if !scene.rays.is_empty() {
        bench.overrides.count_candidates = true;
        let wide = sweep(&scene.rays, descriptor.worlds, &mut Rng(scene.rays.len() as u64));
        for (rays, filters) in bench.some_of([
            (Rays::Plain(Source::Host(&scene.rays)), false),
            (Rays::Swept(Source::Host(&wide)), true),
        ]) {
            bench.overrides.filters = filters;
            check_rays(bench, &trace, rays, uniform_scheme);
            if let Some(crowded) = &crowded {
                bench.draws(|bench| check_rays(bench, crowded, rays, uniform_scheme));
            }
            check_ray_cells(bench, &trace, rays);
        }
        check_order(bench, &trace);
    }
    let view_count = [1, 3, 32, 8, 17][scene.objects.len() % 5];
    check_cull(bench, descriptor, &input, &trace, view_count);
    if scene.objects.len() < 300 {
        check_lines(bench, &trace);
    }
    // Queries are slow, so only two sizes of scan tiles run them.
    if scene.objects.len() < 600 || scene.objects.len() == 1921 {
        bench.overrides = overrides[0];
        let queries = scene.queries(descriptor.worlds);
        check_queries(bench, &trace, &queries);
        if let Some(crowded) = &crowded {
            bench.draws(|bench| check_queries(bench, crowded, &queries));
        }
    }
    trace.grid.entry_count
}

/// With `thoroughly`, some scenes run all pages and query layouts, not a random one of each.
pub fn check_scenes(bench: &mut Bench, thoroughly: bool, scenes: impl Iterator<Item = (usize, Scene)>) {
    let overrides = |filters, count_candidates| Overrides {
        filters,
        count_candidates,
    };
    let strategies = strategies(&*bench.device);
    for (index, scene) in scenes {
        bench.fold = [65_535, 1, 3][index % 3];
        bench.stores_in_loop = index % 2 == 0;
        let descriptor = |scheme, entries| BroadPhaseDescriptor {
            sort: strategies[index % strategies.len()],
            ..descriptor(scheme, entries)
        };
        let mut walks = vec![overrides(true, true), overrides(false, true)];
        if index % 4 == 0 {
            walks.push(overrides(true, false));
        }
        // A third of the scenes suffices for every pass without static objects.
        bench.tries_all = thoroughly && index % 3 == 0;
        let hierarchical = descriptor(Scheme::Hierarchical, None);
        check_scene(bench, &hierarchical, &scene, &walks);
        let uniform_scheme = Scheme::Uniform { cell_size: 1.25 };
        let covered = descriptor(uniform_scheme, None);
        let needed = check_scene(bench, &covered, &scene, &walks);
        bench.tries_all = false;
        let adaptive = descriptor(Scheme::Adaptive { min_scale: 0.3 }, None);
        check_scene(bench, &adaptive, &scene, &walks[..1]);
        let all = [hierarchical, covered, adaptive];
        let flat = BroadPhaseDescriptor {
            dimensions: Dimensions::Two,
            margin: [0.0, 0.125][index / 2 % 2],
            ..all[index % 3]
        };
        let periodic = BroadPhaseDescriptor {
            periods: [8.0, 0.0, 2.5],
            ..all[(index + 1) % 3]
        };
        // Either descriptor only changes the boxes that later passes read, so scenes alternate between them.
        let changed = if index % 2 == 0 { flat } else { periodic };
        check_scene(bench, &changed, &scene, &walks[..1]);
        let worlds = BroadPhaseDescriptor {
            worlds: [3, 64, 1000][index % 3],
            ..all[(index / 3) % 3]
        };
        check_scene(bench, &worlds, &scene, &walks[..1]);
        let parts = [all[index % 3], flat, periodic, worlds][index % 4];
        let static_count = [
            scene.objects.len() / 2,
            scene.objects.len() / 20 * 19,
            scene.objects.len(),
        ][index % 3];
        // A fifth of the scenes suffices with static objects.
        bench.tries_all = thoroughly && index % 5 == 0;
        check_parts(bench, &parts, &scene, static_count, &walks[..2]);
        bench.tries_all = false;
        let capacity = if index % 2 == 0 { needed + 300 } else { needed / 2 + 1 };
        check_scene(bench, &descriptor(uniform_scheme, Some(capacity)), &scene, &walks[..1]);
    }
}

pub fn check_alone(bench: &mut Bench, thoroughly: bool) {
    let is_tried = |size: &usize| thoroughly || *size < 3_000;
    let mut rng = Rng(43);
    let counts = [0, 1, 255, 256, 257, 2047, 2048, 2049, 2048 * 256 + 1];
    for (index, count) in counts.into_iter().filter(is_tried).enumerate() {
        bench.fold = [65_535, 2][index % 2];
        let spare = [0, 5000][index % 2];
        let small: Vec<u32> = (0..count + spare).map(|_| rng.below(9) as u32).collect();
        check_scan(bench, &small, spare);
        // The total exceeds 32 bits. Offsets saturate, the total does not.
        let large: Vec<u32> = (0..count + spare).map(|_| rng.bits() as u32).collect();
        check_scan(bench, &large, spare);
    }
    let without_objects = trace(
        &descriptor(Scheme::Hierarchical, None),
        &gpu_broad_phase::Scene::default(),
    )
    .unwrap();
    bench.scheme = without_objects.params.scheme;
    let entry_counts = [0, 1, 255, 256, 257, 65_535, 65_536, 140_000];
    for entries in entry_counts.into_iter().filter(is_tried) {
        for rows in [0, 1, 300, 70_000].into_iter().filter(is_tried) {
            bench.scene = format!("counts of {entries} entries and {rows} moving objects");
            bench.fold = [65_535, 3][entries % 2];
            check_sums(bench, &without_objects, [entries, rows], &mut rng);
        }
    }
    for (index, slots) in [0, 1, 255, 256, 257, 513, 5000].into_iter().enumerate() {
        bench.fold = [65_535, 1, 3][index % 3];
        check_scatter(bench, slots, [0, slots / 4][index % 2], &mut rng);
    }
    for (index, counts) in [
        [0, 0],
        [0, 300],
        [300, 0],
        [1, 1],
        [255, 257],
        [2047, 2048],
        [5000, 4000],
    ]
    .into_iter()
    .enumerate()
    {
        bench.fold = [65_535, 1, 3][index % 3];
        check_events(bench, counts, [0, 700][index % 2], &mut rng);
    }
    for (needed, capacity, workgroup_rows) in [
        (0u64, 100, 64),
        (1, 100, 64),
        (64, 100, 64),
        (65, 100, 64),
        (1 << 40, 100, 1),
        (u64::from(u32::MAX), u32::MAX, 2),
        (65_535 * 64, u32::MAX, 64),
        (65_535 * 64 + 1, u32::MAX, 64),
    ] {
        for first in [0, 1, 70] {
            check_dispatch(bench, needed, [first, capacity, workgroup_rows]);
        }
    }
    for (rows, stride, limit) in [(1, 2, 0), (300, 2, 77), (256, 3, 256), (500, 4, 0), (70, 4, 5000)] {
        check_count(bench, rows, stride, limit, &mut rng);
    }
    for (elements, words) in [(1, 1), (700, 1), (33, 8), (300, 8), (64, 12), (200, 16)] {
        for limit in [None, Some(0), Some(elements / 2), Some(5000)] {
            check_gather(bench, elements, words, limit, &mut rng);
        }
    }
}
