use std::sync::Arc;

use crate::common::Rng;
use crate::harness::*;
use crate::input::strided;
use crate::sort::check_sort;
use bytemuck::{bytes_of, pod_collect_to_vec};
use gpu_broad_phase::internals::blocks::{CENTER_HALF, PairBlocks, PairParams, ScatterParams, SortParams, UNFILTERED};
use gpu_broad_phase::internals::grid::{CLUSTER, Grid, Params, Record, VARIANT_SPARSE};
use gpu_broad_phase::internals::reference::sort::sort_histogram;
use gpu_broad_phase::internals::reference::table::{
    clusters, gather, large_table_emit, layout, level_statistics, prepare, sample_statistics, scatter,
};
use gpu_broad_phase::internals::reference::{Table, source, trace};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Scene, Scheme, Source};

pub fn check_statistics(bench: &Bench, trace: &Table, objects: &[Aabb], worlds: &[u32]) {
    let sampled = Params {
        sample_stride: 3,
        sample_count: trace.params.object_count / 3,
        ..trace.params
    };
    for (params, serial) in [(trace.params, false), (sampled, false), (sampled, true)] {
        let statistics = sample_statistics::sample_statistics(&params, objects, worlds);
        let slots = params.octave_buckets() as usize;
        let lanes = if serial { 1 } else { 4 };
        bench.serial.set(serial);
        let found = bench.run(
            &shaders::SAMPLE_STATISTICS,
            groups(lanes * params.sample_count as usize),
            uniform(&params),
            &[
                ("objects", bytes(objects)),
                ("sample_statistics", zeros(statistics.len())),
                ("density_buckets", zeros(48 * slots)),
                ("worlds", bytes(worlds)),
            ],
        );
        bench.serial.set(false);
        found.check("sample_statistics", &statistics);
        // Reference passes write no hash tables, so the statistics are checked against the device's tables.
        let tables: Vec<u32> = found.take("density_buckets", 48 * slots);
        let of_octaves = [0, 1]
            .map(|shape| &statistics[1096 * shape + 1024..1096 * (shape + 1)])
            .concat();
        let most = 1 + (64 / params.sample_stride).min(params.sample_count / 4);
        for (slots, density) in tables.chunks(slots).zip(of_octaves.chunks(3)) {
            let entered: u32 = slots.iter().sum();
            let shared: u32 = slots.iter().map(|&slot| slot * slot.saturating_sub(1) / 2).sum();
            let bounded: u32 = slots
                .iter()
                .flat_map(|&slot| 0..slot)
                .map(|before| before.min(most))
                .sum();
            assert_eq!([entered, shared, bounded], density, "{}: density_buckets", found.what);
        }
        check_level_statistics(bench, &params, objects, worlds, &statistics);
    }
}

fn check_level_statistics(bench: &Bench, params: &Params, objects: &[Aabb], worlds: &[u32], sample_statistics: &[u32]) {
    let mut counters = used_counters();
    let statistics = level_statistics::level_statistics(params, objects, worlds, sample_statistics, &mut counters);
    let of_sample = match params.is_hierarchical() {
        true => bytes(sample_statistics),
        false => poison::<u32>(2194),
    };
    let found = bench.run(
        &shaders::LEVEL_STATISTICS,
        groups(params.object_count.div_ceil(3) as usize),
        uniform(params),
        &[
            ("objects", bytes(objects)),
            ("sample_statistics", of_sample),
            ("level_statistics", zeros(256)),
            ("counters", bytes(&used_counters())),
            ("worlds", bytes(worlds)),
        ],
    );
    found.check("level_statistics", &statistics);
    found.check("counters", &counters);
}

pub fn check_table(
    bench: &Bench,
    trace: &Table,
    pairs: PairParams,
    objects: &[Aabb],
    descriptor: &BroadPhaseDescriptor<'_>,
    worlds: &[u32],
) {
    let pair_blocks = PairBlocks {
        table: trace.params,
        pairs,
    };
    let scheme = descriptor.scheme;
    let uniform_scheme = matches!(scheme, Scheme::Uniform { .. });
    let world_bytes = || ("worlds", bytes(worlds));
    let params = || uniform(&trace.params);
    let count = trace.params.object_count as usize;
    let object_bytes = || ("objects", bytes(objects));
    let grid = |grid: &Grid| ("grid", bytes_of(grid).to_vec());
    if scheme == Scheme::Hierarchical {
        check_statistics(bench, trace, objects, worlds);
    }
    check_level_statistics(bench, &trace.params, objects, worlds, &trace.sample_statistics);

    let mut counters = used_counters();
    assert_eq!(
        layout::layout(&trace.params, &trace.level_statistics, &mut counters),
        trace.grid_after_layout
    );
    let levels = || {
        [
            ("level_statistics", bytes(&trace.level_statistics)),
            ("next_grid", bytes_of(&stale_grid()).to_vec()),
            ("counters", bytes(&used_counters())),
        ]
    };
    if uniform_scheme {
        let found = bench.run(&shaders::LAYOUT, 2, params(), &levels());
        found.check("next_grid", &[trace.grid_after_layout]);
        found.check("counters", &counters);
    }

    let capacity = trace.params.entry_capacity as usize;
    let all_capacity = capacity + trace.params.large_table_capacity as usize;
    let entries = trace.grid.entry_count;
    let outputs = || [("keys", poison::<u32>(capacity)), ("values", poison::<u32>(capacity))];
    let found = if uniform_scheme {
        let found = bench.run(
            &shaders::ENTRY_COUNT,
            groups(count),
            params(),
            &[
                object_bytes(),
                world_bytes(),
                ("entry_offsets", poison::<u32>(trace.entry_counts.len())),
            ],
        );
        found.check("entry_offsets", &trace.entry_counts);
        let emit = |offsets: &[u32], counters: &[u32]| {
            let [keys, values] = outputs();
            bench.run(
                &shaders::ENTRY_EMIT,
                groups(count),
                params(),
                &[
                    object_bytes(),
                    grid(&trace.grid_after_layout),
                    ("entry_offsets", bytes(offsets)),
                    ("counters", bytes(counters)),
                    keys,
                    values,
                    world_bytes(),
                ],
            )
        };
        // Offsets past 32 bits drop all entries. None may wrap around.
        let mut counters = trace.counters_after_entries.clone();
        counters[8..10].copy_from_slice(&[3, 1]);
        let found = emit(&vec![u32::MAX - 1; trace.entry_offsets.len()], &counters);
        let full = Grid {
            entry_count: trace.params.entry_capacity,
            ..trace.grid_after_layout
        };
        found.check("grid", &[full]);
        found.check::<u32>("keys", &[]);
        found.check::<u32>("values", &[]);

        let found = emit(&trace.entry_offsets, &trace.counters_after_entries);
        found.check("grid", &[trace.grid]);
        found
    } else {
        let [keys, values] = outputs();
        let mut inputs = vec![object_bytes(), keys, values, world_bytes()];
        inputs.extend(levels());
        let mut sums = vec![0; 6];
        sums.resize(6 + 3 * trace.params.large_table_tiles() as usize, STALE);
        inputs.push(("large_table_sums", bytes(&sums)));
        inputs.extend(counting(trace, None));
        let tiles = trace.params.large_table_tiles() + 1;
        let found = bench.run(&shaders::KEYS, tiles, params(), &inputs);
        found.check("next_grid", &[trace.grid_after_layout]);
        found.check("counters", &counters);
        if trace.params.large_table_capacity > 0 {
            found.check("large_table_sums", &with_totals(&trace.large_table_sums));
        }
        found.check("next_counts", &first_counts(trace, &trace.grid_after_layout));
        found
    };
    let before_large_table = if trace.params.large_table_capacity > 0 {
        count
    } else {
        entries as usize
    };
    found.check("keys", &trace.unsorted_keys[..before_large_table]);
    if uniform_scheme {
        found.check("values", &trace.unsorted_values[..before_large_table]);
    }
    if trace.params.large_table_capacity > 0 {
        check_large_table(bench, trace, objects, worlds);
    }

    let (mut keys, mut values) = (&trace.unsorted_keys, &trace.unsorted_values);
    for digit in &trace.digits {
        check_sort(bench, descriptor.sort, &digit.sort, &trace.grid, keys, values);
        (keys, values) = (&digit.keys, &digit.values);
    }
    assert_eq!(keys, &trace.keys);

    let found = bench.run(
        &shaders::GATHER,
        groups(count.max(capacity + 1)),
        &pair_blocks,
        &[
            object_bytes(),
            ("keys", with_stale(&trace.keys, entries)),
            ("values", with_stale(values, entries)),
            (
                "starts",
                poison::<u32>((trace.params.table_capacity + trace.params.large_buckets) as usize + 2),
            ),
            ("records", poison::<Record>(all_capacity.max(count))),
            grid(&trace.grid),
            world_bytes(),
        ],
    );
    let (starts, gathered) = gather::gather(&trace.params, objects, &trace.keys, values, &trace.grid, worlds);
    found.check("starts", &starts);
    assert_eq!(starts, trace.starts);
    found.check("records", &gathered);
    if trace.params.has_clusters == 1 {
        check_clusters(bench, trace, &pair_blocks, objects, values, gathered, worlds);
    }
}

fn check_clusters(
    bench: &Bench,
    trace: &Table,
    pair_blocks: &PairBlocks,
    objects: &[Aabb],
    values: &[u32],
    records: Vec<Record>,
    worlds: &[u32],
) {
    let params = &trace.params;
    let entries = trace.grid.entry_count;
    let all = (params.object_count + params.large_table_capacity) as usize;
    let stale = |records: &[Record], clusters: &[Record]| {
        let mut bytes = bytes(records);
        bytes.resize(all * size_of::<Record>(), POISON);
        bytes.extend(self::bytes(clusters));
        bytes.resize((all + all.div_ceil(CLUSTER as usize)) * size_of::<Record>(), POISON);
        bytes
    };
    for is_crowded in [0, 1] {
        let grid = Grid {
            is_crowded,
            ..trace.grid
        };
        let (mut sorted_values, mut sorted) = (values.to_vec(), records.clone());
        let found_clusters = clusters::clusters(&grid, &trace.keys, &mut sorted_values, &mut sorted);
        if is_crowded == trace.grid.is_crowded {
            assert_eq!(
                (&sorted_values, &sorted, &found_clusters),
                (&trace.values, &trace.records, &trace.clusters)
            );
        }
        let found = bench.run(
            &shaders::CLUSTERS,
            (groups(all) / [1, 3][all % 2]).max(1),
            pair_blocks,
            &[
                ("grid", bytes_of(&grid).to_vec()),
                ("keys", with_stale(&trace.keys, entries)),
                ("values", with_stale(values, entries)),
                ("records", stale(&records, &[])),
                ("sparse_groups", poison::<u32>(3)),
                ("crowded_groups", poison::<u32>(3)),
            ],
        );
        let [sparse, crowded] = clusters::count_groups(&pair_blocks.pairs, &grid);
        found.check("sparse_groups", &sparse);
        found.check("crowded_groups", &crowded);
        found.check("values", &sorted_values[..entries as usize]);
        found.check("records", &stale(&sorted, &found_clusters));
        let sparse = PairBlocks {
            table: *params,
            pairs: PairParams {
                variant: VARIANT_SPARSE,
                ..pair_blocks.pairs
            },
        };
        let found = bench.run(
            &shaders::GATHER,
            groups(params.entry_capacity as usize + 1),
            &sparse,
            &[
                ("objects", bytes(objects)),
                ("grid", bytes_of(&grid).to_vec()),
                ("keys", with_stale(&trace.keys, entries)),
                ("values", with_stale(values, entries)),
                ("starts", poison::<u32>(trace.starts.len())),
                ("records", stale(&[], &[])),
                ("worlds", bytes(worlds)),
            ],
        );
        found.check("values", &sorted_values[..entries as usize]);
        found.check("records", &stale(&sorted, &found_clusters));
    }
}

fn counting(trace: &Table, counted: Option<&Grid>) -> [(&'static str, Vec<u8>); 2] {
    let first = trace.digits[0].sort;
    let before_first = SortParams {
        bits: 0,
        next_bits: if first.tile > 0 { first.bits } else { 0 },
        ..first
    };
    let counts = first_counts(trace, counted.unwrap_or(&Grid::default()));
    [("sort", uniform(&before_first)), ("next_counts", bytes(&counts))]
}

fn first_counts(trace: &Table, grid: &Grid) -> Vec<u32> {
    let first = trace.digits[0].sort;
    match first.tile {
        0 => vec![STALE],
        _ => sort_histogram::sort_histogram(&first, grid, &trace.unsorted_keys),
    }
}

/// Prepends the totals of all tiles, one per cell size of the large-object table.
fn with_totals(sums: &[u32]) -> Vec<u32> {
    let totals = sums.chunks(sums.len() / 3).flat_map(|tiles| {
        let total: u64 = tiles.iter().map(|&sum| u64::from(sum)).sum();
        [total as u32, (total >> 32) as u32]
    });
    totals.chain(sums.iter().copied()).collect()
}

pub fn check_large_table(bench: &Bench, trace: &Table, objects: &[Aabb], worlds: &[u32]) {
    let params = &trace.params;
    let tiles = params.large_table_tiles();
    let keys = &trace.unsorted_keys;
    let run = |params: &Params, totals: Vec<u32>| {
        let [sort_block, counts] = counting(trace, Some(&trace.grid_after_layout));
        bench.run(
            &shaders::LARGE_TABLE_EMIT,
            tiles + 1,
            uniform(params),
            &[
                ("objects", bytes(objects)),
                ("grid", bytes_of(&trace.grid_after_layout).to_vec()),
                ("next_grid", bytes_of(&stale_grid()).to_vec()),
                ("keys", with_stale(keys, params.object_count)),
                ("values", with_stale(&trace.unsorted_values, params.object_count)),
                ("large_table_sums", bytes(&totals)),
                ("worlds", bytes(worlds)),
                sort_block,
                counts,
            ],
        )
    };
    let found = run(params, with_totals(&trace.large_table_sums));
    found.check("next_grid", &[trace.grid]);
    let entries = trace.grid.entry_count as usize;
    found.check("keys", &keys[..entries]);
    found.check("values", &trace.unsorted_values[..entries]);
    found.check("next_counts", &first_counts(trace, &trace.grid));

    let mut huge = with_totals(&trace.large_table_sums);
    [huge[1], huge[3], huge[5]] = [1; 3];
    let less = Params {
        large_table_capacity: trace.grid.large_table.count.saturating_sub(1),
        ..*params
    };
    for (params, sums, totals) in [
        (params, vec![u32::MAX; trace.large_table_sums.len()], huge),
        (
            &less,
            trace.large_table_sums.clone(),
            with_totals(&trace.large_table_sums),
        ),
    ] {
        let (mut expected, mut places) = (trace.grid_after_layout, sums);
        large_table_emit::choose_large_table(params, &mut places, &mut expected);
        let is_chosen = expected.large_table_below > 0;
        let found = run(params, totals);
        found.check("next_grid", &[expected]);
        if !is_chosen {
            found.check("keys", &keys[..params.object_count as usize]);
        }
    }
}

pub fn noise(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let words: Vec<_> = (0..8 * count).map(|_| rng.bits() as u32).collect();
    pod_collect_to_vec(&words)
}

/// A third of `slots` is out of range, and the last `spare` are past the count.
pub fn check_scatter(bench: &mut Bench, slots: usize, spare: usize, rng: &mut Rng) {
    bench.scene = format!("{slots} slots, {spare} past the count");
    let mut listed: Vec<_> = (0..slots as u32).collect();
    (1..slots).for_each(|last| listed.swap(last, rng.below(last + 1)));
    let params = ScatterParams {
        change_count: (slots - spare) as u32,
        object_count: (slots - slots / 3) as u32,
    };
    if let Some(slot) = listed.iter_mut().find(|slot| **slot >= params.object_count) {
        *slot = u32::MAX;
    }
    let (before, changed) = (noise(slots, rng), noise(slots, rng));
    let mut expected = before.clone();
    scatter::scatter(&params, &listed, &changed, &mut expected);
    let found = bench.run(
        &shaders::SCATTER,
        groups(slots),
        uniform(&params),
        &[
            ("changed_slots", bytes(&listed)),
            ("changed_boxes", bytes(&changed)),
            ("objects", bytes(&before)),
        ],
    );
    found.check("objects", &expected);
}

/// Keys past the capacity of entries belong to the large-object table.
pub fn check_starts(bench: &Bench, cells: u32, keys: &[u32]) {
    let grid = Grid {
        table_cells: cells,
        key_count: cells + 2,
        entry_count: keys.len() as u32,
        ..Default::default()
    };
    // In this scheme, each object has one record.
    let (objects, scheme) = ([Aabb::new([0.0; 3], [1.0; 3])], 1);
    for entry_capacity in [keys.len(), keys.len() - keys.len() / 5] {
        let params = Params {
            entry_capacity: entry_capacity as u32,
            object_count: 1,
            world_count: 1,
            scheme,
            ..Default::default()
        };
        let (starts, records) = gather::gather(&params, &objects, keys, &[], &grid, &[]);
        let found = bench.run(
            &shaders::GATHER,
            groups(entry_capacity + 1),
            &PairBlocks {
                table: params,
                ..PairBlocks::default()
            },
            &[
                ("grid", bytes_of(&grid).to_vec()),
                ("keys", bytes(keys)),
                ("starts", poison::<u32>(cells as usize + 2)),
                ("objects", bytes(&objects)),
                ("values", bytes(&[0u32])),
                ("worlds", bytes(&[0u32])),
                ("records", poison::<Record>(1)),
            ],
        );
        found.check("starts", &starts);
        found.check("records", &records);
    }
}

pub fn check_gaps(device: Arc<dyn Device>) {
    let bench = Bench::new(device);
    let cells = 100_000;
    for keys in [
        vec![],
        vec![cells],
        vec![0, 0, 31, 33, 65_000, 65_000, cells - 1],
        vec![cells + 1; 300],
        (0..600).map(|k| k * 150).collect(),
    ] {
        check_starts(&bench, cells, &keys);
    }
}

fn crowds() -> Vec<(&'static str, Dimensions, Vec<Aabb>)> {
    let mut rng = Rng(43);
    let mut scenes = Vec::new();
    for (dimensions, side) in [(Dimensions::Three, 16.0), (Dimensions::Two, 64.0)] {
        let flat = |place: [f32; 3]| match dimensions {
            Dimensions::Three => place,
            Dimensions::Two => [place[0], place[1], 0.0],
        };
        let even: Vec<_> = (0..4096).map(|_| flat([0; 3].map(|_| side * rng.unit()))).collect();
        let around = |place: [f32; 3], reach: f32, rng: &mut Rng| flat(place.map(|along| along + reach * rng.unit()));
        let padded = |count| [&even[..], &vec![[0.0; 3]; count]].concat();
        let ball = |reach, count, rng: &mut Rng| {
            let near: Vec<_> = (0..count).map(|_| around([5.0; 3], reach, rng)).collect();
            [&even[..], &near].concat()
        };
        let groups = |count: usize, reach: f32, rng: &mut Rng| -> Vec<_> {
            let groups = even.iter().step_by(count);
            groups
                .flat_map(|&place| vec![place; count])
                .map(|place| around(place, reach, rng))
                .collect()
        };
        let places = [
            ("even", even.clone()),
            ("padded by 1 %", padded(41)),
            ("padded by 10 %", padded(410)),
            ("a ball", ball(1e-5, 200, &mut rng)),
            ("a crowd", ball(1e-3, 500, &mut rng)),
            ("half of all", ball(1e-2, 4096, &mut rng)),
            ("ten times", groups(10, 0.0, &mut rng)),
            ("ten jittered", groups(10, 1e-3, &mut rng)),
        ];
        for edge in [0.0, 1e-6] {
            let boxed = |place: &[f32; 3]| Aabb::new(*place, flat(place.map(|low| low + edge)));
            let boxed = places
                .iter()
                .map(|(what, places)| (*what, dimensions, places.iter().map(boxed).collect()));
            scenes.extend(boxed);
        }
    }
    scenes
}

/// A crowd must not set the finest cell's size, which follows the density of most points.
pub fn check_crowds(device: Arc<dyn Device>) {
    let scenes = crowds();
    let mut bench = Bench::new(device);
    for (what, dimensions, objects) in &scenes {
        bench.scene = format!("{what}, {dimensions:?}");
        let descriptor = BroadPhaseDescriptor {
            dimensions: *dimensions,
            ..BroadPhaseDescriptor::default()
        };
        let scene = Scene {
            objects: Source::Host(objects),
            ..Scene::default()
        };
        let trace = trace(&descriptor, &scene).unwrap();
        check_statistics(&bench, &trace, &trace.tables.objects, &[]);
        let cell = 1.0 / trace.grid.base_inverse;
        assert!((0.5..=8.0).contains(&cell), "{}: {cell}", bench.scene);
    }
}

pub fn check_many_workgroups(device: Arc<dyn Device>) {
    let bench = Bench::new(device);
    let entries = 256 * 65_535 + 300;
    let keys: Vec<u32> = (0..entries).map(|entry| entry >> 7).collect();
    check_starts(&bench, (entries >> 7) + 40, &keys);
}

pub fn check_strided(bench: &mut Bench, params: &Params, worlds: &[u32]) {
    let mut rng = Rng(u64::from(params.object_count));
    let scene = bench.scene.clone();
    for flags in [0, UNFILTERED, CENTER_HALF, CENTER_HALF | UNFILTERED] {
        let (layout, words) = strided(params.object_count, flags, 8, &mut rng);
        bench.scene = format!("{scene}, {layout:?}");
        let found = bench.run(
            &shaders::PREPARE_STRIDED,
            groups(params.object_count as usize),
            uniform(params),
            &[
                ("source_objects", bytes(&words)),
                ("source_layout", uniform(&layout)),
                (
                    "objects",
                    poison::<Aabb>((params.first_object + params.object_count) as usize),
                ),
                ("object_limits", zeros(1)),
                ("worlds", bytes(worlds)),
            ],
        );
        let boxes = source::boxes(&layout, &words, params.object_count as usize);
        let expected = prepare::prepare(params, &boxes, &[], worlds);
        let expected = [poison::<Aabb>(params.first_object as usize), bytes(&expected)].concat();
        found.check("objects", &expected);
    }
    bench.scene = scene;
}
