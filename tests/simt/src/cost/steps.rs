//! The passes of a step, a dispatch after the other, as a steady step of the hierarchical scheme has them.

use bytemuck::bytes_of;
use gpu_broad_phase::internals::blocks::{CLUSTER_TILE, COVER_TILE, Overrides, Round};
use gpu_broad_phase::internals::grid::{Grid, Params, Record};
use gpu_broad_phase::internals::reference::pairs::pair_count;
use gpu_broad_phase::internals::reference::pairs::pair_excludes::Excludes;
use gpu_broad_phase::internals::reference::pairs::pair_sums;
use gpu_broad_phase::internals::reference::pairs::pair_walk::PairReads;
use gpu_broad_phase::internals::reference::table::layout;
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::shaders::Pass;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Neighbor, Pair, Query, Ray, RayHit, Rays, Scene, SortStrategy, Source,
};

use crate::common::Rng;
use crate::harness::*;
use crate::pairs::{filter_inputs, listed};
use crate::queries::STATE_WORDS;
use crate::rays::{check_ray_keys, ray_bytes, ray_params};
use crate::sort::check_sort;

/// What is costed.
pub enum Asked {
    /// The table and all pairs.
    Pairs,
    /// So many rays through a table that is there: the mode.
    Rays(usize, Mode),
    /// So many boxes around a table's.
    Queries(usize),
    /// So many points, and the nearest objects of each.
    Nearest(usize, u32),
}

#[derive(Clone, Copy)]
pub enum Mode {
    Closest,
    Any,
    All,
}

/// Dispatches the passes of a step. Returns how many boxes, rays or queries the costs are of.
pub fn step(bench: &mut Bench, objects: &[Aabb], asked: &Asked) -> usize {
    let descriptor = BroadPhaseDescriptor {
        sort: SortStrategy::Subgroups,
        filters: true,
        ..Default::default()
    };
    bench.overrides = Overrides {
        filters: true,
        count_candidates: false,
    };
    let mut rng = Rng(8);
    let scene = |rays| Scene {
        objects: Source::Host(objects),
        rays,
        ..Default::default()
    };
    match *asked {
        Asked::Pairs => {
            let trace = trace(&descriptor, &scene(Rays::None)).expect("boxes that a step takes");
            bench.scheme = trace.params.scheme;
            // As the step before has shown: bits of box tests pay where entries have many pairs.
            let mean = trace.pairs.len() as u32 / trace.grid.entry_count.max(1);
            let params = Params {
                partners_kept: 12,
                pair_bit_words: if mean < 12 { 0 } else { mean.min(512) },
                pair_capacity: trace.pairs.len() as u32,
                pair_form: if trace.grid.is_crowded != 0 { 2 } else { 1 },
                ..trace.params
            };
            table(bench, &trace, &params);
            pairs(bench, &trace, &params);
            objects.len()
        }
        Asked::Rays(count, mode) => {
            let rays: Vec<Ray> = (0..count).map(|_| ray(objects, &mut rng)).collect();
            let rays = Rays::Plain(Source::Host(&rays));
            let trace = trace(&descriptor, &scene(rays)).expect("boxes and rays that a step takes");
            bench.scheme = trace.params.scheme;
            of_rays(bench, &trace, rays, mode);
            count
        }
        Asked::Queries(count) | Asked::Nearest(count, _) => {
            let trace = trace(&descriptor, &scene(Rays::None)).expect("boxes that a step takes");
            bench.scheme = trace.params.scheme;
            let around = |rng: &mut Rng| objects[rng.below(objects.len())];
            let queries: Vec<Query> = (0..count)
                .map(|_| match asked {
                    Asked::Nearest(..) => Query::sphere(around(&mut rng).min, f32::INFINITY),
                    _ => Query::overlaps(around(&mut rng)),
                })
                .collect();
            let nearest = if let Asked::Nearest(_, nearest) = *asked {
                nearest
            } else {
                0
            };
            of_queries(bench, &trace, &queries, nearest);
            count
        }
    }
}

/// From a box towards another one.
fn ray(objects: &[Aabb], rng: &mut Rng) -> Ray {
    let mut center = || {
        let of = objects[rng.below(objects.len())];
        [0, 1, 2].map(|axis| 0.5 * of.min[axis] + 0.5 * of.max[axis])
    };
    let (from, to) = (center(), center());
    let way = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    let length = way.iter().map(|along| along * along).sum::<f32>().sqrt().max(1e-6);
    Ray::new(from, way.map(|along| along / length), length)
}

fn table(bench: &Bench, trace: &Trace, params: &Params) {
    let objects = &trace.objects;
    let count = objects.len();
    let given = || [("objects", bytes(objects)), ("worlds", Vec::new())];
    let grid = |grid: &Grid| ("grid", bytes_of(grid).to_vec());
    let run = |pass: &'static Pass, groups: u32, more: Vec<(&'static str, Vec<u8>)>| {
        bench.run(pass, groups, uniform(params), &[given().to_vec(), more].concat())
    };
    let found = run(
        &shaders::SAMPLE_STATISTICS,
        groups(params.sample_count as usize),
        vec![
            ("sample_statistics", zeros(trace.sample_statistics.len())),
            ("density_slots", zeros(24 * params.octave_slots() as usize)),
        ],
    );
    found.check("sample_statistics", &trace.sample_statistics);
    let found = run(
        &shaders::LEVEL_STATISTICS,
        count.div_ceil(256 * 8).max(1) as u32,
        vec![
            ("level_statistics", zeros(256)),
            ("counters", zeros(32)),
            ("sample_statistics", bytes(&trace.sample_statistics)),
        ],
    );
    found.check("level_statistics", &trace.level_statistics);
    let tiles = count.div_ceil(COVER_TILE);
    let mut sums = vec![0; 6];
    sums.resize(6 + 3 * tiles, STALE);
    let found = run(
        &shaders::KEYS,
        tiles as u32,
        vec![
            ("keys", poison::<u32>(count)),
            ("values", poison::<u32>(count)),
            ("level_statistics", bytes(&trace.level_statistics)),
            ("next_grid", bytes_of(&stale_grid()).to_vec()),
            ("counters", zeros(32)),
            ("cover_sums", bytes(&sums)),
        ],
    );
    found.check("keys", &trace.unsorted_keys[..count]);
    let found = run(
        &shaders::COVER_EMIT,
        tiles as u32,
        vec![
            grid(&trace.grid_after_layout),
            ("next_grid", bytes_of(&stale_grid()).to_vec()),
            ("keys", with_stale(&trace.unsorted_keys, params.object_count)),
            ("values", with_stale(&trace.unsorted_values, params.object_count)),
            ("cover_sums", bytes(&found.take::<u32>("cover_sums", 6 + 3 * tiles))),
        ],
    );
    found.check("next_grid", &[trace.grid]);
    let (mut keys, mut values) = (&trace.unsorted_keys, &trace.unsorted_values);
    for digit in &trace.digits {
        check_sort(bench, SortStrategy::Subgroups, &digit.sort, &trace.grid, keys, values);
        (keys, values) = (&digit.keys, &digit.values);
    }
    let entries = trace.grid.entry_count;
    let all = (params.object_count + params.cover_capacity) as usize;
    let found = run(
        &shaders::GATHER,
        groups(count.max(params.entry_capacity as usize + 1)),
        vec![
            ("keys", with_stale(keys, entries)),
            ("values", with_stale(values, entries)),
            (
                "starts",
                poison::<u32>((params.table_capacity + params.large_mask) as usize + 3),
            ),
            ("records", poison::<Record>(all)),
            grid(&trace.grid),
        ],
    );
    found.check("starts", &trace.starts);
    let mut records = found.buffers["records"][..all * size_of::<Record>()].to_vec();
    records.resize((all + all.div_ceil(8)) * size_of::<Record>(), POISON);
    let found = run(
        &shaders::CLUSTERS,
        all.div_ceil(CLUSTER_TILE).max(1) as u32,
        vec![
            grid(&trace.grid),
            ("keys", with_stale(keys, entries)),
            ("values", with_stale(values, entries)),
            ("records", records),
            ("sparse_groups", poison::<u32>(3)),
            ("crowded_groups", poison::<u32>(3)),
            ("counters", zeros(32)),
        ],
    );
    found.check("values", &trace.values[..entries as usize]);
}

fn pairs(bench: &Bench, trace: &Trace, params: &Params) {
    let rows = params.entry_capacity as usize;
    let input = PairReads {
        table: crate::harness::table(trace),
        objects: &trace.objects,
        keys: &trace.keys,
        values: &trace.values,
        excludes: Excludes {
            exclusions: trace.exclusions,
            table: &trace.exclusion_table,
            admits: None,
        },
    };
    // How large what counting keeps is.
    let kept = pair_count::pair_count(params, &input, bench.overrides, &mut [0; 32]);
    let walk =
        |more: Vec<(&'static str, Vec<u8>)>| [walk_inputs(trace), filter_inputs(trace, &trace.objects), more].concat();
    let pass = if layout::keeps_bits(params, &trace.grid) {
        &shaders::PAIR_COUNT_CROWDED
    } else {
        &shaders::PAIR_COUNT_ONE_CELL
    };
    let counted = bench.run(
        pass,
        groups(rows + 1),
        uniform(params),
        &walk(vec![
            ("pair_slots", poison::<u32>(kept.slots.len())),
            ("pair_bits", poison::<u32>(kept.bits.len().max(1))),
            ("pair_offsets", bytes(&pair_sums::no_words(params, 0))),
            ("counters", zeros(32)),
        ]),
    );
    // Buffers as the pass leaves them; what it does not bind is poison.
    let left = |output: &Output, name: &str, words: usize| {
        let found = output.buffers.get(name).map(|found| found[..4 * words].to_vec());
        found.unwrap_or_else(|| poison::<u32>(words))
    };
    let mut offsets = left(&counted, "pair_offsets", kept.words.len());
    let all = trace.pairs.len();
    let emitted = bench.run(
        &shaders::PAIR_EMIT_KEPT,
        groups(rows),
        uniform(params),
        &[
            ("grid", bytes_of(&trace.grid).to_vec()),
            ("values", with_stale(&trace.values, trace.grid.entry_count)),
            ("pair_slots", left(&counted, "pair_slots", kept.slots.len())),
            ("pair_offsets", offsets.clone()),
            ("pair_walks", [zeros(1), poison::<u32>(rows)].concat()),
            ("pair_walk_groups", zeros(3)),
            ("pairs", poison::<Pair>(all)),
        ],
    );
    let walks: Vec<u32> = bytemuck::pod_collect_to_vec(&emitted.buffers["pair_walks"][..4 * (1 + rows)]);
    let walks = &walks[1..1 + walks[0] as usize];
    if walks.is_empty() {
        return emitted.check("pairs", &trace.pairs);
    }
    let mut pairs = left(&emitted, "pairs", 2 * all);
    if params.pair_bit_words > 0 {
        let replayed = bench.run(
            &shaders::PAIR_REPLAY,
            groups(walks.len()),
            uniform(params),
            &walk(vec![
                ("pair_bits", left(&counted, "pair_bits", kept.bits.len())),
                ("pair_walks", listed(walks)),
                ("pair_offsets", [offsets.clone(), poison::<u32>(rows)].concat()),
                ("pairs", pairs),
            ]),
        );
        offsets = left(&replayed, "pair_offsets", kept.words.len() + rows);
        pairs = left(&replayed, "pairs", 2 * all);
        bench.round.set(Round {
            first: 32 * params.pair_bit_words,
            ..ONE_ROUND
        });
    }
    let found = bench.run(
        &shaders::PAIR_EMIT_ONE_CELL,
        groups(walks.len()),
        uniform(params),
        &walk(vec![
            ("pair_offsets", offsets),
            ("pair_walks", listed(walks)),
            ("pairs", pairs),
        ]),
    );
    bench.round.set(ONE_ROUND);
    found.check("pairs", &trace.pairs);
}

fn of_rays(bench: &Bench, trace: &Trace, rays: Rays<'_>, mode: Mode) {
    let order = check_ray_keys(bench, trace, rays);
    let params = ray_params(trace, rays);
    let walks = Walk::all(trace, rays.len(), false);
    let run = |pass: &'static Pass, params: Params, more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![
            ray_bytes(rays),
            ("objects", bytes(&trace.objects)),
            ("walk_order", bytes(&order)),
            ("counters", zeros(32)),
        ];
        bench.run_walks(pass, &walks, params, &[given, more].concat(), None)
    };
    match mode {
        Mode::Closest => {
            let more = vec![("ray_hits", poison::<RayHit>(2 * rays.len()))];
            run(&shaders::RAY_CLOSEST_ONE_CELL, params, more);
        }
        Mode::Any => {
            run(
                &shaders::RAY_ANY_ONE_CELL,
                params,
                vec![("ray_any", poison::<u32>(rays.len()))],
            );
        }
        Mode::All => {
            let more = vec![("ray_offsets", poison::<u32>(rays.len() + 1))];
            let counted = run(&shaders::RAY_COUNT_ONE_CELL, params, more);
            let mut offsets: Vec<u32> = counted.take("ray_offsets", rays.len() + 1);
            let hit_capacity = scan_of(&mut offsets) as u32;
            let more = vec![
                ("ray_offsets", bytes(&offsets)),
                ("ray_hits", poison::<RayHit>(hit_capacity as usize)),
            ];
            run(&shaders::RAY_EMIT_ONE_CELL, Params { hit_capacity, ..params }, more);
        }
    }
}

fn of_queries(bench: &Bench, trace: &Trace, queries: &[Query], nearest: u32) {
    let params = Params {
        query_count: queries.len() as u32,
        radius: f32::MAX,
        nearest,
        wide_queries: 1,
        ..trace.params
    };
    let walks = Walk::all(trace, queries.len(), false);
    let run = |pass: &'static Pass, params: Params, more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![("queries", bytes(queries)), ("counters", zeros(32))];
        let filters = filter_inputs(trace, &trace.objects);
        bench.run_walks(pass, &walks, params, &[given, filters, more].concat(), None)
    };
    if nearest > 0 {
        let rows = queries.len() * nearest as usize;
        let more = vec![(
            "query_nearest",
            [poison::<Neighbor>(rows), poison::<u32>(STATE_WORDS * queries.len())].concat(),
        )];
        run(&shaders::QUERY_NEAREST_ONE_CELL, params, more);
        return;
    }
    let more = vec![("query_offsets", poison::<u32>(queries.len() + 1))];
    let counted = run(&shaders::QUERY_COUNT_ONE_CELL, params, more);
    let mut offsets: Vec<u32> = counted.take("query_offsets", queries.len() + 1);
    let result_capacity = scan_of(&mut offsets) as u32;
    let more = vec![
        ("query_offsets", bytes(&offsets)),
        ("query_objects", poison::<u32>(result_capacity as usize)),
    ];
    run(
        &shaders::QUERY_EMIT_ONE_CELL,
        Params {
            result_capacity,
            ..params
        },
        more,
    );
}
