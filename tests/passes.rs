//! Every pass of the table on its own: its input comes from the reference passes before it, its output has to equal the
//! reference's byte for byte, and nothing is written past the end.

mod common;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytemuck::{Pod, bytes_of, cast_slice, pod_collect_to_vec};
use common::{Rng, TestAdapter, adapters, lattice, power_law, random_scene, uniform};
use encase::{ShaderType, UniformBuffer, internal::WriteInto};
use gpu_broad_phase::reference::blocks::{PARTNERS_KEPT, ScanParams, SortParams};
use gpu_broad_phase::reference::{Trace, cell_starts, scan_reduce, sort_histogram, sort_scatter, trace};
use gpu_broad_phase::shaders::{self, Binding, Pass};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Pair, Ray, RayHit, RayMode, Scheme, grid::Grid, grid::Params, shaders::passes, wgpu,
};

/// Fills what a pass has to write, and the space behind every buffer.
const POISON: u8 = 0xcd;
const PADDING: usize = 64;

type Pipeline = (wgpu::BindGroupLayout, wgpu::ComputePipeline);

/// Runs passes on one adapter and remembers which.
struct Bench {
    adapter: TestAdapter,
    pipelines: RefCell<HashMap<(&'static str, bool), Pipeline>>,
    run: RefCell<BTreeSet<&'static str>>,
    filters: bool,
}

impl Bench {
    fn new(adapter: TestAdapter) -> Self {
        Self {
            adapter,
            pipelines: RefCell::default(),
            run: RefCell::default(),
            filters: true,
        }
    }

    fn pipeline(&self, pass: &'static Pass) -> Pipeline {
        let make = || {
            let device = &self.adapter.device;
            let entries: Vec<_> = pass
                .bindings
                .iter()
                .map(|&(binding, kind, _)| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: match kind {
                            Binding::Uniform => wgpu::BufferBindingType::Uniform,
                            Binding::Read => wgpu::BufferBindingType::Storage { read_only: true },
                            Binding::Write => wgpu::BufferBindingType::Storage { read_only: false },
                        },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(pass.name),
                entries: &entries,
            });
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(pass.name),
                source: wgpu::ShaderSource::Wgsl(pass.source().into()),
            });
            let constants: Vec<_> = [("FILTERS", self.filters), ("COUNT_CANDIDATES", true)]
                .into_iter()
                .filter(|(name, _)| pass.source().contains(&format!("override {name}")))
                .map(|(name, on)| (name, f64::from(u8::from(on))))
                .collect();
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(pass.name),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(pass.name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    ..Default::default()
                },
                cache: None,
            });
            (layout, pipeline)
        };
        let mut pipelines = self.pipelines.borrow_mut();
        pipelines.entry((pass.name, self.filters)).or_insert_with(make).clone()
    }

    /// Dispatches `groups` workgroups and returns what the written buffers hold then, after a look at their padding.
    fn run(&self, pass: &'static Pass, groups: u32, block: Vec<u8>, contents: &[(&str, Vec<u8>)]) -> Output {
        self.run.borrow_mut().insert(pass.name);
        let (device, queue) = (&self.adapter.device, &self.adapter.queue);
        let (layout, pipeline) = self.pipeline(pass);
        let buffers: Vec<_> = pass
            .bindings
            .iter()
            .map(|&(binding, kind, name)| {
                let find = || {
                    contents
                        .iter()
                        .find(|(of, _)| *of == name)
                        .map(|(_, bytes)| bytes.clone())
                };
                let mut bytes = match kind {
                    Binding::Uniform => block.clone(),
                    _ => find().unwrap_or_else(|| panic!("{}: no contents for {name}", pass.name)),
                };
                let length = bytes.len();
                bytes.resize((length + PADDING).next_multiple_of(16), POISON);
                let buffer = device.create_buffer_init(&BufferInitDescriptor {
                    label: Some(name),
                    contents: &bytes,
                    usage: match kind {
                        Binding::Uniform => wgpu::BufferUsages::UNIFORM,
                        _ => wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    },
                });
                (binding, kind, name, length, buffer)
            })
            .collect();
        let entries: Vec<_> = buffers
            .iter()
            .map(|(binding, _, _, _, buffer)| wgpu::BindGroupEntry {
                binding: *binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(pass.name),
            layout: &layout,
            entries: &entries,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut compute = encoder.begin_compute_pass(&Default::default());
            compute.set_pipeline(&pipeline);
            compute.set_bind_group(0, &group, &[]);
            compute.dispatch_workgroups(groups, 1, 1);
        }
        let written: Vec<_> = buffers.iter().filter(|(_, kind, ..)| *kind == Binding::Write).collect();
        let read: Vec<_> = written
            .iter()
            .map(|(_, _, name, length, buffer)| {
                let staging = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("read back"),
                    size: buffer.size(),
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                (*name, *length, staging)
            })
            .collect();
        queue.submit([encoder.finish()]);
        for (_, _, staging) in &read {
            staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        }
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let outputs = read.into_iter().map(|(name, length, staging)| {
            let mut bytes = staging.get_mapped_range(..).unwrap().to_vec();
            let intact = bytes[length..].iter().all(|&byte| byte == POISON);
            assert!(intact, "{} wrote past the end of {name}", pass.name);
            bytes.truncate(length);
            (name, bytes)
        });
        Output(outputs.collect())
    }
}

/// Buffers after a pass.
struct Output(BTreeMap<&'static str, Vec<u8>>);

impl Output {
    fn get<T: Pod>(&self, name: &str) -> Vec<T> {
        pod_collect_to_vec(&self.0[name])
    }
}

fn block<T: ShaderType + WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::<u8>::new());
    buffer.write(value).unwrap();
    buffer.into_inner()
}

fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    cast_slice(values).to_vec()
}

fn poison<T>(count: usize) -> Vec<u8> {
    vec![POISON; count * size_of::<T>()]
}

fn zeros(words: usize) -> Vec<u8> {
    vec![0; 4 * words]
}

fn groups(elements: usize) -> u32 {
    elements.div_ceil(256).max(1) as u32
}

fn check<T: Pod + PartialEq + std::fmt::Debug>(what: &str, found: &[T], expected: &[T]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
        panic!("{what}: element {at} is {:?}, {:?} expected", found[at], expected[at]);
    }
}

/// The passes that lead to the sorted entries and the cell table.
fn check_table(bench: &Bench, trace: &Trace, objects: &[Aabb], uniform_scheme: bool) {
    let params = || block(&trace.params);
    let count = objects.len();
    let object_bytes = || ("objects", bytes(objects));
    let grid = |grid: &Grid| ("grid", bytes_of(grid).to_vec());
    if !uniform_scheme {
        let found = bench.run(
            &shaders::SIZE_STATISTICS,
            groups(count),
            params(),
            &[object_bytes(), ("size_statistics", zeros(1025))],
        );
        check("size_statistics", &found.get("size_statistics"), &trace.size_statistics);
        let statistics = || ("size_statistics", bytes(&trace.size_statistics));
        let found = bench.run(
            &shaders::DENSITY,
            groups(trace.params.sample_count as usize),
            params(),
            &[
                object_bytes(),
                statistics(),
                ("density_slots", zeros(24 * 32_768)),
                ("density", zeros(48)),
            ],
        );
        check("density", &found.get("density"), &trace.density);
        let density = ("density", bytes(&trace.density));
        let found = bench.run(
            &shaders::BASE_CELL,
            1,
            params(),
            &[statistics(), density, grid(&Grid::default())],
        );
        assert_eq!(found.get::<Grid>("grid")[0], trace.grid_after_base, "base_cell");
    }

    let found = bench.run(
        &shaders::LEVEL_STATISTICS,
        groups(count),
        params(),
        &[
            object_bytes(),
            grid(&trace.grid_after_base),
            ("level_statistics", zeros(256)),
            ("counters", zeros(24)),
        ],
    );
    check(
        "level_statistics",
        &found.get("level_statistics"),
        &trace.level_statistics,
    );
    check(
        "counters",
        &found.get("counters"),
        &trace.counters_after_level_statistics,
    );
    let found = bench.run(
        &shaders::LAYOUT,
        1,
        params(),
        &[
            ("level_statistics", bytes(&trace.level_statistics)),
            grid(&trace.grid_after_base),
            ("counters", bytes(&trace.counters_after_level_statistics)),
        ],
    );
    assert_eq!(found.get::<Grid>("grid")[0], trace.grid_after_layout, "layout");
    check("counters", &found.get("counters"), &trace.counters_after_layout);

    let entries = trace.params.entry_capacity as usize;
    let outputs = || [("keys", poison::<u32>(entries)), ("values", poison::<u32>(entries))];
    let found = if uniform_scheme {
        let found = bench.run(
            &shaders::ENTRY_COUNT,
            groups(count),
            params(),
            &[
                object_bytes(),
                grid(&trace.grid_after_layout),
                ("entry_offsets", poison::<u32>(count)),
            ],
        );
        check("entry_count", &found.get("entry_offsets"), &trace.entry_counts);
        let [keys, values] = outputs();
        let found = bench.run(
            &shaders::ENTRY_EMIT,
            groups(count),
            params(),
            &[
                object_bytes(),
                grid(&trace.grid_after_layout),
                ("entry_offsets", bytes(&trace.entry_offsets)),
                ("counters", bytes(&trace.counters_after_entries)),
                keys,
                values,
            ],
        );
        assert_eq!(found.get::<Grid>("grid")[0], trace.grid, "entry_emit");
        found
    } else {
        let [keys, values] = outputs();
        bench.run(
            &shaders::KEYS,
            groups(count),
            params(),
            &[object_bytes(), grid(&trace.grid_after_layout), keys, values],
        )
    };
    check("unsorted keys", &found.get("keys"), &trace.unsorted_keys);
    check("unsorted values", &found.get("values"), &trace.unsorted_values);

    let (mut keys, mut values) = (&trace.unsorted_keys, &trace.unsorted_values);
    for digit in &trace.digits {
        check_sort(bench, &digit.sort, &trace.grid, keys, values);
        (keys, values) = (&digit.keys, &digit.values);
    }
    assert_eq!((keys, values), (&trace.keys, &trace.values));

    let found = bench.run(
        &shaders::CELL_STARTS,
        groups(entries + 1),
        params(),
        &[
            grid(&trace.grid),
            ("keys", bytes(&trace.keys)),
            ("starts", poison::<u32>(trace.starts.len())),
        ],
    );
    check("cell_starts", &found.get("starts"), &trace.starts);
    let found = bench.run(
        &shaders::GATHER,
        groups(count),
        params(),
        &[
            object_bytes(),
            ("values", bytes(&trace.values)),
            ("records", poison::<[u32; 8]>(count)),
        ],
    );
    check("gather", &found.get("records"), &trace.records);
}

/// One digit of the sort, both passes.
fn check_sort(bench: &Bench, sort: &SortParams, grid: &Grid, keys: &[u32], values: &[u32]) {
    let counts = sort_histogram::sort_histogram(sort, grid, keys);
    let found = bench.run(
        &shaders::SORT_HISTOGRAM,
        sort.tiles,
        block(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", bytes(keys)),
            ("digit_counts", poison::<u32>(counts.len())),
        ],
    );
    check("sort_histogram", &found.get("digit_counts"), &counts);
    let mut offsets = counts;
    let scan = ScanParams {
        count: offsets.len() as u32,
        total_word: 18,
        capacity: u32::MAX,
        status_bit: 0,
    };
    scan_reduce::scan(&scan, &mut offsets, &mut [0; 24]);
    let (sorted_keys, sorted_values) = sort_scatter::sort_scatter(sort, grid, keys, values, &offsets);
    let found = bench.run(
        &shaders::SORT_SCATTER,
        sort.tiles,
        block(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", bytes(keys)),
            ("values", bytes(values)),
            ("digit_counts", bytes(&offsets)),
            ("sorted_keys", poison::<u32>(keys.len())),
            ("sorted_values", poison::<u32>(keys.len())),
        ],
    );
    check("sorted keys", &found.get("sorted_keys"), &sorted_keys);
    check("sorted values", &found.get("sorted_values"), &sorted_values);
}

/// What every walk binds.
fn walk_inputs<'n>(trace: &Trace) -> Vec<(&'n str, Vec<u8>)> {
    vec![
        ("grid", bytes_of(&trace.grid).to_vec()),
        ("records", bytes(&trace.records)),
        ("starts", bytes(&trace.starts)),
        ("keys", bytes(&trace.keys)),
        ("values", bytes(&trace.values)),
    ]
}

fn with<'n>(
    mut inputs: Vec<(&'n str, Vec<u8>)>,
    more: impl IntoIterator<Item = (&'n str, Vec<u8>)>,
) -> Vec<(&'n str, Vec<u8>)> {
    inputs.extend(more);
    inputs
}

fn check_pairs(bench: &Bench, trace: &Trace, objects: &[Aabb], uniform_scheme: bool) {
    let (count_pass, emit_pass) = if uniform_scheme {
        (&shaders::PAIR_COUNT_UNIFORM, &shaders::PAIR_EMIT_UNIFORM)
    } else {
        (&shaders::PAIR_COUNT_HIERARCHICAL, &shaders::PAIR_EMIT_HIERARCHICAL)
    };
    let entries = trace.params.entry_capacity as usize;
    let inputs = || with(walk_inputs(trace), [("objects", bytes(objects))]);
    let found = bench.run(
        count_pass,
        groups(entries + 1),
        block(&trace.params),
        &with(
            inputs(),
            [
                ("pair_slots", poison::<u32>(trace.pair_slots.len())),
                ("pair_offsets", poison::<u32>(entries + 1)),
                ("counters", zeros(24)),
            ],
        ),
    );
    check("pair_count", &found.get("pair_offsets"), &trace.pair_counts);
    check(
        "pair candidates",
        &found.get::<u32>("counters")[14..16],
        &trace.counters[14..16],
    );
    if !uniform_scheme {
        let poisoned = u32::from_ne_bytes([POISON; 4]);
        let expected: Vec<_> = (0..trace.pair_slots.len())
            .map(|slot| {
                let written = slot / entries < trace.pair_counts[slot % entries] as usize;
                if written { trace.pair_slots[slot] } else { poisoned }
            })
            .collect();
        assert_eq!(expected.len(), PARTNERS_KEPT as usize * entries);
        check("pair slots", &found.get("pair_slots"), &expected);
    }

    let all = trace.pairs.len();
    for (first, capacity) in [
        (0, all),
        (all / 3, all / 3),
        (0, all.min(7)),
        (all.saturating_sub(1), 5),
    ] {
        let params = Params {
            first_pair: first as u32,
            pair_capacity: capacity as u32,
            ..trace.params
        };
        let found = bench.run(
            emit_pass,
            groups(entries),
            block(&params),
            &with(
                inputs(),
                [
                    ("pair_slots", bytes(&trace.pair_slots)),
                    ("pair_offsets", bytes(&trace.pair_offsets)),
                    ("pairs", poison::<Pair>(capacity)),
                ],
            ),
        );
        let shown = &trace.pairs[first.min(all)..(first + capacity).min(all)];
        check("pair_emit", &found.get::<Pair>("pairs")[..shown.len()], shown);
        let rest = &found.0["pairs"][size_of_val(shown)..];
        assert!(
            rest.iter().all(|&byte| byte == POISON),
            "pair_emit wrote past the last pair"
        );
    }
}

fn by_object(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    hits.sort_unstable();
    hits
}

/// The order of a ray's hits may differ between devices, the hits may not.
fn check_all_hits(bench: &Bench, trace: &Trace, rays: &[Ray], uniform_scheme: bool) {
    let (count_pass, emit_pass) = if uniform_scheme {
        (&shaders::RAY_COUNT_UNIFORM, &shaders::RAY_EMIT_UNIFORM)
    } else {
        (&shaders::RAY_COUNT_HIERARCHICAL, &shaders::RAY_EMIT_HIERARCHICAL)
    };
    let inputs = || with(walk_inputs(trace), [("rays", bytes(rays))]);
    let found = bench.run(
        count_pass,
        groups(rays.len() + 1),
        block(&trace.params),
        &with(
            inputs(),
            [("ray_offsets", poison::<u32>(rays.len() + 1)), ("counters", zeros(24))],
        ),
    );
    check("ray_count", &found.get("ray_offsets"), &trace.ray_counts);
    assert_eq!(found.get::<u32>("counters")[6], trace.counters[6], "invalid rays");

    let emit = |first: usize, capacity: usize| {
        let params = Params {
            first_hit: first as u32,
            hit_capacity: capacity as u32,
            ..trace.params
        };
        let more = [
            ("ray_offsets", bytes(&trace.ray_offsets)),
            ("ray_hits", poison::<RayHit>(capacity)),
        ];
        let found = bench.run(emit_pass, groups(rays.len()), block(&params), &with(inputs(), more));
        found.get::<RayHit>("ray_hits")
    };
    let all = trace.ray_hits.len();
    let hits = emit(0, all);
    for ends in trace.ray_offsets.windows(2) {
        let of_ray = ends[0] as usize..ends[1] as usize;
        assert_eq!(
            by_object(&hits[of_ray.clone()]),
            by_object(&trace.ray_hits[of_ray]),
            "ray_emit"
        );
    }
    let (first, capacity) = (all / 3, all / 2);
    check("window of hits", &emit(first, capacity), &hits[first..first + capacity]);
}

fn check_closest(bench: &Bench, trace: &Trace, rays: &[Ray], uniform_scheme: bool) {
    let pass = if uniform_scheme {
        &shaders::RAY_CLOSEST_UNIFORM
    } else {
        &shaders::RAY_CLOSEST_HIERARCHICAL
    };
    let more = [
        ("rays", bytes(rays)),
        ("ray_hits", poison::<RayHit>(rays.len())),
        ("counters", zeros(24)),
    ];
    let found = bench.run(
        pass,
        groups(rays.len()),
        block(&trace.params),
        &with(walk_inputs(trace), more),
    );
    check("ray_closest", &found.get("ray_hits"), &trace.ray_hits);
}

fn check_scene(bench: &Bench, scheme: Scheme, objects: &[Aabb], rays: &[Ray]) {
    let descriptor = BroadPhaseDescriptor {
        scheme,
        ray_mode: RayMode::All,
        filters: bench.filters,
        count_candidates: true,
        ..Default::default()
    };
    let uniform_scheme = scheme != Scheme::Hierarchical;
    let all = trace(&descriptor, objects, rays).unwrap();
    check_table(bench, &all, objects, uniform_scheme);
    check_pairs(bench, &all, objects, uniform_scheme);
    if !rays.is_empty() {
        check_all_hits(bench, &all, rays, uniform_scheme);
        let closest = BroadPhaseDescriptor {
            ray_mode: RayMode::Closest,
            ..descriptor
        };
        check_closest(bench, &trace(&closest, objects, rays).unwrap(), rays, uniform_scheme);
    }
}

fn check_scan(bench: &Bench, data: &[u32]) {
    let scan = ScanParams {
        count: data.len() as u32,
        total_word: 10,
        capacity: 1000,
        status_bit: 2,
    };
    let tiles = data.len().div_ceil(2048);
    let mut expected = data.to_vec();
    let mut counters = [0; 24];
    scan_reduce::scan(&scan, &mut expected, &mut counters);
    let sums = ("tile_sums", poison::<[u32; 2]>(tiles));
    let groups = tiles.max(1) as u32;
    let reduced = bench.run(
        &shaders::SCAN_REDUCE,
        groups,
        block(&scan),
        &[("data", bytes(data)), sums],
    );
    let sums = ("tile_sums", reduced.0["tile_sums"].clone());
    let spine = bench.run(&shaders::SCAN_SPINE, 1, block(&scan), &[sums, ("counters", zeros(24))]);
    check("scan totals", &spine.get("counters"), &counters);
    let sums = ("tile_sums", spine.0["tile_sums"].clone());
    let applied = bench.run(
        &shaders::SCAN_APPLY,
        groups,
        block(&scan),
        &[("data", bytes(data)), sums],
    );
    check("scan", &applied.get("data"), &expected);
}

#[test]
fn every_pass_equals_its_reference() {
    for adapter in adapters() {
        let mut bench = Bench::new(adapter);
        let mut rng = Rng(42);
        let mut scenes: Vec<(Vec<Aabb>, Vec<Ray>)> = [0, 1, 2, 255, 256, 257, 1919, 1920, 1921]
            .into_iter()
            .map(|count| (lattice(count, &mut rng), random_scene(&mut rng, 60, 70).rays))
            .collect();
        scenes.push((uniform(3841, &mut rng), random_scene(&mut rng, 60, 300).rays));
        scenes.push((power_law(5000, &mut rng), random_scene(&mut rng, 60, 300).rays));
        scenes.extend((0..12).map(|_| {
            let scene = random_scene(&mut rng, 700, 150);
            (scene.objects, scene.rays)
        }));
        for (index, (objects, rays)) in scenes.iter().enumerate() {
            bench.filters = index % 3 != 0;
            for scheme in [Scheme::Hierarchical, Scheme::Uniform { cell_size: 1.25 }] {
                check_scene(&bench, scheme, objects, rays);
            }
        }
        for count in [0, 1, 255, 256, 257, 2047, 2048, 2049, 2048 * 256 + 1] {
            let small: Vec<u32> = (0..count).map(|_| rng.below(9) as u32).collect();
            check_scan(&bench, &small);
            // Totals past 32 bits: offsets stop at the largest, the total goes on.
            let large: Vec<u32> = (0..count).map(|_| rng.bits() as u32).collect();
            check_scan(&bench, &large);
        }
        let covered = bench.run.borrow().clone();
        let table: BTreeSet<_> = passes().map(|pass| pass.name).collect();
        assert_eq!(covered, table, "{}", bench.adapter.name);
    }
}

#[test]
fn sorting_is_stable_at_every_tile_boundary() {
    for adapter in adapters() {
        let bench = Bench::new(adapter);
        let mut rng = Rng(9);
        for count in [0usize, 1, 127, 128, 1919, 1920, 1921, 3841] {
            for (shift, mask) in [(0, u32::MAX), (8, 0x300), (24, 0xff00_0000), (0, 0), (16, 0x00ff_0000)] {
                let mut keys: Vec<u32> = (0..count).map(|_| rng.bits() as u32 & mask).collect();
                if mask == 0x00ff_0000 {
                    keys.fill(mask);
                }
                let values: Vec<u32> = (0..count as u32).collect();
                let grid = Grid {
                    entry_count: count as u32,
                    ..Default::default()
                };
                let sort = SortParams {
                    shift,
                    tiles: count.div_ceil(1920).max(1) as u32,
                };
                check_sort(&bench, &sort, &grid, &keys, &values);
            }
        }
    }
}

#[test]
fn long_gaps_of_the_table_are_filled() {
    for adapter in adapters() {
        let bench = Bench::new(adapter);
        let cells = 100_000;
        for keys in [
            vec![],
            vec![cells],
            vec![0, 0, 31, 33, 65_000, 65_000, cells - 1],
            vec![cells + 1; 300],
            (0..600).map(|k| k * 150).collect(),
        ] {
            let grid = Grid {
                table_cells: cells,
                entry_count: keys.len() as u32,
                ..Default::default()
            };
            let params = Params::default();
            let expected = cell_starts::cell_starts(&params, &grid, &keys);
            let found = bench.run(
                &shaders::CELL_STARTS,
                groups(keys.len() + 1),
                block(&params),
                &[
                    ("grid", bytes_of(&grid).to_vec()),
                    ("keys", bytes(&keys)),
                    ("starts", poison::<u32>(expected.len())),
                ],
            );
            check("cell_starts", &found.get("starts"), &expected);
        }
    }
}
