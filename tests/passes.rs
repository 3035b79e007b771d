//! Every pass of the table on its own: its input comes from the reference passes before it, its output has to equal the
//! reference's byte for byte, and nothing is written past the end.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, bytes_of, cast_slice, pod_collect_to_vec, pod_read_unaligned};
use common::{Rng, Scene, TestAdapter, adapters, rods, scenes, sweep};
use encase::{ShaderType, UniformBuffer, internal::WriteInto};
use gpu_broad_phase::grid::{Grid, Params, Record};
use gpu_broad_phase::reference::blocks::{
    COVER_TILE, DispatchParams, DrawParams, EventParams, LimitParams, Overrides, Round, SCAN_TILE,
    STATIC_PARTNERS_KEPT, ScanParams, ScatterParams, SortParams,
};
use gpu_broad_phase::reference::dispatch::dispatch_args;
use gpu_broad_phase::reference::draw::{draw_boxes, draw_cells, draw_pairs, draw_ray_cells};
use gpu_broad_phase::reference::events::event::{self, Generations};
use gpu_broad_phase::reference::events::{event_emit, event_end, event_insert, event_match};
use gpu_broad_phase::reference::order::{order_firsts, order_rows, order_seconds, shown};
use gpu_broad_phase::reference::pairs::pair_count::{self, PairCounts};
use gpu_broad_phase::reference::pairs::pair_walk::{self, PairInput};
use gpu_broad_phase::reference::pairs::{
    pair_emit, pair_emit_kept, pair_replay, pair_static_count, pair_static_emit, world_pairs, world_pairs_static,
};
use gpu_broad_phase::reference::queries::{limit_asked, query_count, query_emit, query_nearest};
use gpu_broad_phase::reference::rays::{
    ray_any, ray_cells_count, ray_cells_emit, ray_closest, ray_count, ray_emit, ray_keys,
};
use gpu_broad_phase::reference::rows::Table;
use gpu_broad_phase::reference::scan::{scan_apply, scan_reduce, scan_spine};
use gpu_broad_phase::reference::sort::{sort_histogram, sort_scan, sort_scatter};
use gpu_broad_phase::reference::table::{
    base_cell, cell_starts, cover_layout, density, layout, level_statistics, prepare, scatter,
};
use gpu_broad_phase::reference::{Trace, trace};
use gpu_broad_phase::shaders::{self, Binding, Pass, passes};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, LineVertex, Neighbor, Pair, PairEvent, Query, RayCell,
    RayHit, RayMode, SceneRays, Scheme, SortStrategy, wgpu,
};

/// Fills what a pass has to write, the space behind every buffer and what a step before may have left.
const POISON: u8 = 0xcd;
const STALE: u32 = u32::from_ne_bytes([POISON; 4]);
const STALE_PAIR: Pair = Pair { a: STALE, b: STALE };
const PADDING: usize = 4096;
/// No walk of these tests has as many box tests.
const ONE_ROUND: Round = Round {
    first: 0,
    tests: 1 << 30,
    is_last: 1,
    turns: 40_000,
    canary_turns: 16,
    continues: 0,
    is_continued: 0,
};
const STATUS: usize = 5;
const STATUS_ROUNDS: u32 = 8;
const ROUNDS_NEEDED: usize = 28;
const UNFINISHED: usize = 29;
const PAIR_CANDIDATES: usize = 14;
const RAY_CANDIDATES: usize = 16;

/// Number of the device, name of the pass, and the constants that it declares.
type PipelineKey = (usize, &'static str, Vec<(&'static str, u32)>);
type Pipeline = (wgpu::BindGroupLayout, wgpu::ComputePipeline);

/// Runs passes on one adapter and remembers which.
struct Bench {
    adapter: TestAdapter,
    run: RefCell<BTreeSet<&'static str>>,
    overrides: Overrides,
    round: Cell<Round>,
    /// What all rounds have in common.
    base: Cell<Round>,
    /// Whether rays sweep a box.
    sweeps: Cell<bool>,
    /// As the uniform block numbers it.
    scheme: u32,
    /// Workgroups of the first dimension, at most: more fold into the second.
    fold: u32,
    /// What is under test, for messages.
    scene: String,
}

impl Bench {
    fn new(adapter: TestAdapter) -> Self {
        Self {
            adapter,
            run: RefCell::default(),
            overrides: Overrides {
                filters: true,
                count_candidates: true,
            },
            round: Cell::new(ONE_ROUND),
            base: Cell::new(ONE_ROUND),
            sweeps: Cell::new(false),
            scheme: 0,
            fold: 65_535,
            scene: String::new(),
        }
    }

    /// Made once per device.
    fn pipeline(&self, pass: &'static Pass) -> Pipeline {
        static PIPELINES: Mutex<BTreeMap<PipelineKey, Pipeline>> = Mutex::new(BTreeMap::new());
        let constants: Vec<_> = [
            ("SCHEME", self.scheme),
            ("FILTERS", self.overrides.filters.into()),
            ("COUNT_CANDIDATES", self.overrides.count_candidates.into()),
            ("SWEPT", self.sweeps.get().into()),
        ]
        .into_iter()
        .filter(|(name, _)| pass.source().contains(&format!("override {name}:")))
        .collect();
        let key = (self.adapter.number, pass.name, constants.clone());
        let mut pipelines = PIPELINES.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || create(&self.adapter.device, pass, &constants);
        pipelines.entry(key).or_insert_with(make).clone()
    }

    /// Dispatches at least `groups` workgroups and returns what the written buffers hold then. `block` is the uniform
    /// block, `contents` the rest.
    fn run(&self, pass: &'static Pass, groups: u32, block: Vec<u8>, contents: &[(&str, Vec<u8>)]) -> Output {
        self.run.borrow_mut().insert(pass.name);
        let (device, queue) = (&self.adapter.device, &self.adapter.queue);
        let (layout, pipeline) = self.pipeline(pass);
        let buffers: Vec<_> = pass
            .bindings()
            .iter()
            .map(|&(binding, kind, name)| {
                let find = || contents.iter().find(|(of, _)| *of == name).map(|(_, bytes)| bytes);
                let mut bytes = match kind {
                    Binding::Uniform if name == "round" => uniform(&self.round.get()),
                    Binding::Uniform => find().unwrap_or(&block).clone(),
                    _ => find()
                        .unwrap_or_else(|| panic!("{}: no contents for {name}", pass.name))
                        .clone(),
                };
                bytes.resize((bytes.len() + PADDING).next_multiple_of(16), POISON);
                let buffer = device.create_buffer_init(&BufferInitDescriptor {
                    label: Some(name),
                    contents: &bytes,
                    usage: match kind {
                        Binding::Uniform => wgpu::BufferUsages::UNIFORM,
                        _ => wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    },
                });
                (binding, kind, name, buffer)
            })
            .collect();
        let entries: Vec<_> = buffers
            .iter()
            .map(|(binding, _, _, buffer)| wgpu::BindGroupEntry {
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
            let is_indirect =
                pass.name.starts_with("event_") || pass.bindings().contains(&(9, Binding::Read, "pair_walks"));
            let fold = if is_indirect { 65_535 } else { self.fold };
            compute.dispatch_workgroups(groups.min(fold), groups.div_ceil(fold), 1);
        }
        let read: Vec<_> = buffers
            .iter()
            .filter(|(_, kind, ..)| *kind == Binding::Write)
            .map(|(_, _, name, buffer)| {
                let staging = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("read back"),
                    size: buffer.size(),
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                (*name, staging)
            })
            .collect();
        queue.submit([encoder.finish()]);
        for (_, staging) in &read {
            staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        }
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = |staging: wgpu::Buffer| staging.get_mapped_range(..).unwrap().to_vec();
        Output {
            what: format!(
                "{} of {}, {:?} on {}",
                pass.name, self.scene, self.overrides, self.adapter.name
            ),
            buffers: read.into_iter().map(|(name, staging)| (name, bytes(staging))).collect(),
        }
    }
}

impl Bench {
    /// Runs a pass in as many rounds as `round` says, each on what the one before it left.
    fn run_rounds(
        &self,
        pass: &'static Pass,
        groups: u32,
        block: &[u8],
        contents: &[(&'static str, Vec<u8>)],
        Rounds { count, tests }: Rounds,
    ) -> Output {
        let mut contents = contents.to_vec();
        for round in 0..count {
            self.round.set(Round {
                first: round * tests,
                tests,
                is_last: u32::from(round + 1 == count),
                ..self.base.get()
            });
            let output = self.run(pass, groups, block.to_vec(), &contents);
            if round + 1 == count {
                self.round.set(self.base.get());
                return output;
            }
            for (name, bytes) in &mut contents {
                if let Some(written) = output.buffers.get(name) {
                    let length = bytes.len();
                    bytes.copy_from_slice(&written[..length]);
                }
            }
        }
        unreachable!("no rounds")
    }

    /// Rounds take time: a part of the answer, and one whose places do not all fit, stand for all windows.
    fn tries_rounds(&self, (shift, first, _): (u32, usize, usize)) -> bool {
        self.overrides.filters && (shift > 0 || first > 0)
    }

    /// Some rounds that the longest walk of a pass just about needs.
    fn rounds_of(
        &self,
        pass: &'static Pass,
        groups: u32,
        block: &[u8],
        contents: &[(&'static str, Vec<u8>)],
    ) -> Rounds {
        Rounds::of(self.longest(pass, groups, block, contents))
    }

    /// Tests of the longest walk, if they are more than one: a round of a single test shows it.
    fn longest(&self, pass: &'static Pass, groups: u32, block: &[u8], contents: &[(&'static str, Vec<u8>)]) -> u32 {
        self.round.set(Round {
            tests: 1,
            ..self.base.get()
        });
        let output = self.run(pass, groups, block.to_vec(), contents);
        self.round.set(self.base.get());
        let counters: Vec<u32> = output.take("counters", 32);
        let longest = counters[ROUNDS_NEEDED];
        let is_told = counters[UNFINISHED] == STATUS_ROUNDS;
        assert_eq!(is_told, longest > 1, "{}: {counters:?}", output.what);
        longest
    }
}

/// One of the walks of rays or queries: through the moving objects' table or through the static ones'.
struct Walk {
    /// Rays, queries or objects that ask.
    asking: usize,
    params: Box<dyn Fn(Params) -> Params>,
    /// What is bound of the table.
    inputs: Vec<(&'static str, Vec<u8>)>,
    base: Round,
}

impl Walk {
    /// The walks of a step: `asking` of them, or those of the objects.
    fn all(trace: &Trace, asking: usize, objects_ask: bool) -> Vec<Self> {
        let base = |[continues, is_continued]: [u32; 2]| Round {
            continues,
            is_continued,
            ..ONE_ROUND
        };
        let asking_of = |of: &Trace| {
            if objects_ask {
                of.params.object_count as usize
            } else {
                asking
            }
        };
        let inputs = |table: &Trace, askers: &Trace| {
            let asks = objects_ask.then(|| ("queries", bytes(&askers.records)));
            [asks.into_iter().collect(), walk_inputs(table)].concat()
        };
        let asker_count = |asking: usize| {
            move |params| Params {
                asker_count: asking as u32,
                ..params
            }
        };
        let asking = asking_of(trace);
        let Some(statics) = trace.statics.as_deref() else {
            return vec![Self {
                asking,
                params: Box::new(asker_count(asking)),
                inputs: inputs(trace, trace),
                base: ONE_ROUND,
            }];
        };
        let mut walks = vec![
            Self {
                asking,
                params: Box::new(asker_count(asking)),
                inputs: inputs(trace, trace),
                base: base([0, 1]),
            },
            Self {
                asking,
                params: Box::new(move |params| of_statics(asker_count(asking)(params))),
                inputs: inputs(statics, trace),
                base: base([1, 0]),
            },
        ];
        if objects_ask {
            let asking = asking_of(statics);
            walks.push(Self {
                asking,
                params: Box::new(asker_count(asking)),
                inputs: inputs(trace, statics),
                base: ONE_ROUND,
            });
        }
        walks
    }
}

/// The block of walks through the static objects' table.
fn of_statics(params: Params) -> Params {
    Params {
        object_count: params.static_count,
        first_object: 0,
        ..params
    }
}

impl Bench {
    /// Runs a pass for all walks, each on what the one before it left; `rounds` cuts each.
    fn run_walks(
        &self,
        pass: &'static Pass,
        walks: &[Walk],
        params: Params,
        contents: &[(&'static str, Vec<u8>)],
        rounds: Option<Rounds>,
    ) -> Output {
        let mut contents = contents.to_vec();
        let mut last = None;
        for walk in walks {
            self.base.set(walk.base);
            self.round.set(walk.base);
            let (groups, block) = (groups(walk.asking + 1), uniform(&(walk.params)(params)));
            let bound = [walk.inputs.clone(), contents.clone()].concat();
            let output = match rounds {
                None => self.run(pass, groups, block, &bound),
                Some(rounds) => self.run_rounds(pass, groups, &block, &bound, rounds),
            };
            for (name, bytes) in &mut contents {
                if let Some(written) = output.buffers.get(name) {
                    let length = bytes.len();
                    bytes.copy_from_slice(&written[..length]);
                }
            }
            last = Some(output);
        }
        self.base.set(ONE_ROUND);
        self.round.set(ONE_ROUND);
        last.expect("a walk")
    }

    /// As [`rounds_of`](Self::rounds_of), for the longest of all walks.
    fn rounds_of_walks(
        &self,
        pass: &'static Pass,
        walks: &[Walk],
        params: Params,
        contents: &[(&'static str, Vec<u8>)],
    ) -> Rounds {
        let one_test = Rounds { count: 1, tests: 1 };
        let output = self.run_walks(pass, walks, params, contents, Some(one_test));
        let counters: Vec<u32> = output.take("counters", 32);
        Rounds::of(counters[ROUNDS_NEEDED])
    }
}

impl Rounds {
    /// Some that so many tests just about need.
    fn of(longest: u32) -> Self {
        let tests = (longest / 3).max(1);
        Self {
            count: longest.div_ceil(tests).max(1),
            tests,
        }
    }
}

/// How walks are cut.
#[derive(Clone, Copy)]
struct Rounds {
    count: u32,
    tests: u32,
}

fn create(device: &wgpu::Device, pass: &Pass, constants: &[(&'static str, u32)]) -> Pipeline {
    let entries: Vec<_> = pass
        .bindings()
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
    let label = Some(pass.name);
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &entries,
    });
    let source = wgpu::ShaderModuleDescriptor {
        label,
        source: wgpu::ShaderSource::Wgsl(pass.source().into()),
    };
    // SAFETY: what a pass reads or writes out of bounds without the checks that wgpu puts in is what these tests look for.
    let module = unsafe { device.create_shader_module_trusted(source, wgpu::ShaderRuntimeChecks::unchecked()) };
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let constants: Vec<_> = constants
        .iter()
        .map(|&(name, value)| (name, f64::from(value)))
        .collect();
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
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
}

/// Buffers after a pass, with their padding.
struct Output {
    what: String,
    buffers: BTreeMap<&'static str, Vec<u8>>,
}

impl Output {
    /// The buffer holds these bytes, and poison from there to the end of its padding.
    fn check<T: Pod + Debug>(&self, name: &str, expected: &[T]) {
        let (what, found, size) = (&self.what, &self.buffers[name], size_of::<T>());
        let bytes: &[u8] = cast_slice(expected);
        let (found, rest) = found.split_at(bytes.len());
        if let Some(at) = (0..bytes.len()).find(|&at| found[at] != bytes[at]) {
            let (at, value) = (at / size, &found[at / size * size..][..size]);
            let value: T = pod_read_unaligned(value);
            panic!("{what}: {name}[{at}] is {value:?}, {:?} expected", expected[at]);
        }
        if let Some(at) = rest.iter().position(|&byte| byte != POISON) {
            panic!("{what}: {name}[{}] is written", expected.len() + at / size);
        }
    }

    /// The first `count` elements, with poison behind them.
    fn take<T: Pod>(&self, name: &str, count: usize) -> Vec<T> {
        let (shown, rest) = self.buffers[name].split_at(count * size_of::<T>());
        let intact = rest.iter().all(|&byte| byte == POISON);
        assert!(intact, "{}: {name} is written past element {count}", self.what);
        pod_collect_to_vec(shown)
    }

    /// The counters after a count of so many rounds: they know how many those are and do not ask for more.
    fn check_rounds(&self, expected: &[u32], rounds: Rounds) {
        let mut expected = expected.to_vec();
        expected[ROUNDS_NEEDED] = if rounds.count > 1 { rounds.count } else { 0 };
        self.check("counters", &expected);
    }

    /// The same for rays.
    fn check_ray_rounds(&self, expected: &[u32], rounds: Rounds) {
        let mut expected = expected.to_vec();
        let mut found: Vec<u32> = self.take("counters", expected.len());
        let needed = found[ROUNDS_NEEDED].max(1);
        assert!(
            needed <= rounds.count,
            "{}: {needed} rounds, {}",
            self.what,
            rounds.count
        );
        for words in [&mut found, &mut expected] {
            words[ROUNDS_NEEDED] = 0;
            words[RAY_CANDIDATES..][..2].fill(0);
        }
        assert_eq!(found, expected, "{}: counters", self.what);
    }

    /// A buffer's first bytes are as they were, and nothing is written behind the words that walks leave to later rounds.
    fn check_left_behind(&self, name: &str, first: &[u8], words: usize) {
        let found = &self.buffers[name];
        assert!(found.starts_with(first), "{}: {name}", self.what);
        let rest = &found[first.len() + 4 * words..];
        assert!(rest.iter().all(|&byte| byte == POISON), "{}: {name}", self.what);
    }

    /// As [`check`](Self::check) for the counters, but for the box tests of rays: the cells that a walk visits are chosen
    /// in floating point, so that these are near the reference's only.
    fn check_ray_counters(&self, before: &[u32], expected: &[u32]) {
        let wide = |words: &[u32]| u64::from(words[RAY_CANDIDATES]) | u64::from(words[RAY_CANDIDATES + 1]) << 32;
        let mut found: Vec<u32> = self.take("counters", expected.len());
        let [tests, near] = [wide(&found), wide(expected)].map(|tests| tests - wide(before));
        assert!(
            tests <= 2 * near + 64 && near <= 2 * tests + 64,
            "{}: {tests} box tests, {near} in the reference",
            self.what
        );
        found[RAY_CANDIDATES..][..2].copy_from_slice(&expected[RAY_CANDIDATES..][..2]);
        assert_eq!(found, expected, "{}: counters", self.what);
    }
}

fn uniform<T: ShaderType + WriteInto>(value: &T) -> Vec<u8> {
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

/// Counters as other passes may have left them: what is added shows, also the carry into a high word, and what is not
/// touched has to stay.
fn used_counters() -> Vec<u32> {
    let mut counters: Vec<u32> = (1000..1032).collect();
    counters[STATUS] = 0x50;
    (counters[ROUNDS_NEEDED], counters[UNFINISHED]) = (0, 0);
    counters[PAIR_CANDIDATES] = u32::MAX - 2;
    counters[RAY_CANDIDATES] = u32::MAX - 2;
    counters
}

/// A grid of stale bytes, as far as the pass that comes next may not look at it.
fn stale_grid() -> Grid {
    pod_read_unaligned(&[POISON; size_of::<Grid>()])
}

/// Entries with stale words past `count`.
fn with_stale(entries: &[u32], count: u32) -> Vec<u8> {
    let mut entries = entries.to_vec();
    entries[count as usize..].fill(STALE);
    bytes(&entries)
}

/// The choice of the finest cell, from every object and from a sample.
fn check_statistics(bench: &Bench, trace: &Trace, objects: &[Aabb], worlds: &[u32]) {
    let statistics = || ("size_statistics", bytes(&trace.size_statistics));
    let found = bench.run(
        &shaders::SIZE_STATISTICS,
        groups(trace.params.object_count as usize),
        uniform(&trace.params),
        &[("objects", bytes(objects)), ("size_statistics", zeros(1025))],
    );
    found.check("size_statistics", &trace.size_statistics);
    let sampled = Params {
        sample_stride: 3,
        sample_count: trace.params.object_count / 3,
        ..trace.params
    };
    for params in [trace.params, sampled] {
        let density = density::density(&params, objects, &trace.size_statistics, worlds);
        let found = bench.run(
            &shaders::DENSITY,
            groups(params.sample_count as usize),
            uniform(&params),
            &[
                ("objects", bytes(objects)),
                statistics(),
                ("density_slots", zeros(24 * 32_768)),
                ("density", zeros(48)),
                ("worlds", bytes(worlds)),
            ],
        );
        found.check("density", &density);
        // The hash tables stay on the device: their sums have to be what was read off them.
        let slots: Vec<u32> = found.take("density_slots", 24 * 32_768);
        for (slots, density) in slots.chunks(32_768).zip(density.chunks(2)) {
            let entered: u32 = slots.iter().sum();
            let shared: u32 = slots.iter().map(|&slot| slot * slot.saturating_sub(1) / 2).sum();
            assert_eq!([entered, shared], density, "{}: density_slots", found.what);
        }
        let mut expected = stale_grid();
        base_cell::base_cell(&params, &trace.size_statistics, &density, &mut expected);
        let found = bench.run(
            &shaders::BASE_CELL,
            1,
            uniform(&params),
            &[
                statistics(),
                ("density", bytes(&density)),
                ("grid", bytes_of(&stale_grid()).to_vec()),
            ],
        );
        found.check("grid", &[expected]);
    }
}

/// The passes that lead to the sorted entries and the cell table.
fn check_table(bench: &Bench, trace: &Trace, descriptor: &BroadPhaseDescriptor<'_>, worlds: &[u32]) {
    let scheme = descriptor.scheme;
    let uniform_scheme = matches!(scheme, Scheme::Uniform { .. });
    let objects = &trace.objects[..];
    let world_bytes = || ("worlds", bytes(worlds));
    let params = || uniform(&trace.params);
    let count = trace.params.object_count as usize;
    let object_bytes = || ("objects", bytes(objects));
    let grid = |grid: &Grid| ("grid", bytes_of(grid).to_vec());
    if scheme == Scheme::Hierarchical {
        check_statistics(bench, trace, objects, worlds);
    }

    let mut counters = used_counters();
    let statistics = level_statistics::level_statistics(&trace.params, objects, &trace.grid_after_base, &mut counters);
    assert_eq!(statistics, trace.level_statistics);
    let found = bench.run(
        &shaders::LEVEL_STATISTICS,
        groups(count),
        params(),
        &[
            object_bytes(),
            grid(&trace.grid_after_base),
            ("level_statistics", zeros(256)),
            ("counters", bytes(&used_counters())),
        ],
    );
    found.check("level_statistics", &trace.level_statistics);
    found.check("counters", &counters);

    // Levels without objects keep what they held.
    let before = Grid {
        base_inverse: trace.grid_after_base.base_inverse,
        ..stale_grid()
    };
    let (mut after, mut counters) = (before, used_counters());
    layout::layout(&trace.params, &trace.level_statistics, &mut after, &mut counters);
    let found = bench.run(
        &shaders::LAYOUT,
        1,
        params(),
        &[
            ("level_statistics", bytes(&trace.level_statistics)),
            grid(&before),
            ("counters", bytes(&used_counters())),
        ],
    );
    found.check("grid", &[after]);
    found.check("counters", &counters);

    let capacity = trace.params.entry_capacity as usize;
    let all_capacity = capacity + trace.params.cover_capacity as usize;
    let entries = trace.grid.entry_count;
    let outputs = || [("keys", poison::<u32>(capacity)), ("values", poison::<u32>(capacity))];
    let found = if uniform_scheme {
        let found = bench.run(
            &shaders::ENTRY_COUNT,
            groups(count),
            params(),
            &[
                object_bytes(),
                grid(&trace.grid_after_layout),
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
        // Places past 32 bits: all entries are dropped, none wraps to a low place.
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
        bench.run(
            &shaders::KEYS,
            groups(count),
            params(),
            &[
                object_bytes(),
                grid(&trace.grid_after_layout),
                keys,
                values,
                world_bytes(),
            ],
        )
    };
    let before_cover = if trace.params.cover_capacity > 0 {
        count
    } else {
        entries as usize
    };
    found.check("keys", &trace.unsorted_keys[..before_cover]);
    found.check("values", &trace.unsorted_values[..before_cover]);
    if trace.params.cover_capacity > 0 {
        check_cover(bench, trace, objects, worlds);
    }

    let (mut keys, mut values) = (&trace.unsorted_keys, &trace.unsorted_values);
    for digit in &trace.digits {
        check_sort(bench, descriptor.sort, &digit.sort, &trace.grid, keys, values);
        (keys, values) = (&digit.keys, &digit.values);
    }
    assert_eq!((keys, values), (&trace.keys, &trace.values));

    let found = bench.run(
        &shaders::CELL_STARTS,
        groups(capacity + 1),
        params(),
        &[
            grid(&trace.grid),
            ("keys", with_stale(&trace.keys, entries)),
            (
                "starts",
                poison::<u32>((trace.params.table_capacity + trace.params.large_mask) as usize + 3),
            ),
        ],
    );
    found.check("starts", &trace.starts);
    let found = bench.run(
        &shaders::GATHER,
        groups(count),
        params(),
        &[
            object_bytes(),
            ("values", with_stale(&trace.values, entries)),
            ("records", poison::<Record>(all_capacity)),
            grid(&trace.grid),
            world_bytes(),
        ],
    );
    found.check("records", &trace.records);
}

/// The passes that enter larger boxes in the cover table.
fn check_cover(bench: &Bench, trace: &Trace, objects: &[Aabb], worlds: &[u32]) {
    let params = &trace.params;
    let count = params.object_count as usize;
    let tiles = count.div_ceil(COVER_TILE);
    let grid = |grid: &Grid| ("grid", bytes_of(grid).to_vec());
    let keys = &trace.unsorted_keys;
    let found = bench.run(
        &shaders::COVER_COUNT,
        tiles as u32,
        uniform(params),
        &[
            ("objects", bytes(objects)),
            grid(&trace.grid_after_layout),
            ("keys", with_stale(keys, params.object_count)),
            ("cover_sums", poison::<u32>(trace.cover_sums.len())),
        ],
    );
    found.check("cover_sums", &trace.cover_sums);

    // As counted, with sums past 32 bits, and with less room.
    let mut huge = trace.cover_sums.clone();
    huge.iter_mut().for_each(|sum| *sum |= 0xc000_0000);
    let less = Params {
        cover_capacity: trace.grid.cover.count.saturating_sub(1),
        ..*params
    };
    for (params, sums) in [(params, &trace.cover_sums), (params, &huge), (&less, &trace.cover_sums)] {
        let (mut expected, mut places) = (trace.grid_after_layout, sums.clone());
        cover_layout::cover_layout(params, &mut places, &mut expected);
        let found = bench.run(
            &shaders::COVER_LAYOUT,
            1,
            uniform(params),
            &[("cover_sums", bytes(sums)), grid(&trace.grid_after_layout)],
        );
        found.check("cover_sums", &places);
        found.check("grid", &[expected]);
    }

    let found = bench.run(
        &shaders::COVER_EMIT,
        tiles as u32,
        uniform(params),
        &[
            ("objects", bytes(objects)),
            grid(&trace.grid),
            ("keys", with_stale(keys, params.object_count)),
            ("values", with_stale(&trace.unsorted_values, params.object_count)),
            ("cover_sums", bytes(&trace.cover_places)),
            ("worlds", bytes(worlds)),
        ],
    );
    let entries = trace.grid.entry_count as usize;
    found.check("keys", &keys[..entries]);
    found.check("values", &trace.unsorted_values[..entries]);
}

/// Those whose passes the adapter can run.
fn strategies(adapter: &TestAdapter) -> Vec<SortStrategy> {
    let mut strategies = vec![SortStrategy::Portable, SortStrategy::Strips];
    if adapter.device.features().contains(wgpu::Features::SUBGROUP) {
        strategies.push(SortStrategy::Subgroups);
    } else {
        eprintln!("skipped: {} has no subgroups", adapter.name);
    }
    strategies
}

/// One digit of the sort, all passes.
fn check_sort(bench: &Bench, strategy: SortStrategy, sort: &SortParams, grid: &Grid, keys: &[u32], values: &[u32]) {
    let (histogram, scan, scatter, each) = match strategy {
        SortStrategy::Strips => (
            &shaders::SORT_HISTOGRAM_STRIPS,
            &shaders::SORT_SCAN_STRIPS,
            &shaders::SORT_SCATTER_STRIPS,
            8,
        ),
        SortStrategy::Subgroups => (
            &shaders::SORT_HISTOGRAM,
            &shaders::SORT_SCAN,
            &shaders::SORT_SCATTER_SUBGROUPS,
            1,
        ),
        _ => (&shaders::SORT_HISTOGRAM, &shaders::SORT_SCAN, &shaders::SORT_SCATTER, 1),
    };
    let groups = sort.tiles.div_ceil(each);
    let entries = grid.entry_count as usize;
    let counts = sort_histogram::sort_histogram(sort, grid, keys);
    let found = bench.run(
        histogram,
        groups,
        uniform(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", with_stale(keys, grid.entry_count)),
            ("digit_counts", poison::<u32>(counts.len())),
        ],
    );
    // The totals behind the counts are the scan's.
    let counts = &counts[..(sort.tiles << sort.bits) as usize];
    found.check("digit_counts", counts);
    let mut offsets = counts.to_vec();
    offsets.resize(counts.len() + (1 << sort.bits), STALE);
    let unscanned = bytes(&offsets);
    sort_scan::sort_scan(sort, &mut offsets);
    let found = bench.run(
        scan,
        (1u32 << sort.bits).div_ceil(each),
        uniform(sort),
        &[("digit_counts", unscanned)],
    );
    found.check("digit_counts", &offsets);
    let (sorted_keys, sorted_values) = sort_scatter::sort_scatter(sort, grid, keys, values, &offsets);
    let found = bench.run(
        scatter,
        groups,
        uniform(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", with_stale(keys, grid.entry_count)),
            ("values", with_stale(values, grid.entry_count)),
            ("digit_counts", bytes(&offsets)),
            ("sorted_keys", poison::<u32>(keys.len())),
            ("sorted_values", poison::<u32>(keys.len())),
        ],
    );
    found.check("sorted_keys", &sorted_keys[..entries]);
    found.check("sorted_values", &sorted_values[..entries]);
    if strategy == SortStrategy::Strips {
        // Places of first keys moved on to those behind the last ones.
        let (before, totals) = offsets.split_at(counts.len());
        let mut below = 0;
        let mut expected = Vec::new();
        for (digit, &total) in totals.iter().enumerate() {
            let words = digit * sort.tiles as usize..(digit + 1) * sort.tiles as usize;
            expected.extend(words.map(|word| below + before[word] + counts[word]));
            below += total;
        }
        expected.extend(totals);
        found.check("digit_counts", &expected);
    }
}

/// What every walk binds.
fn walk_inputs(trace: &Trace) -> Vec<(&'static str, Vec<u8>)> {
    let entries = trace.grid.entry_count;
    vec![
        ("grid", bytes_of(&trace.grid).to_vec()),
        ("records", bytes(&trace.records)),
        ("starts", bytes(&trace.starts)),
        ("keys", with_stale(&trace.keys, entries)),
        ("values", with_stale(&trace.values, entries)),
    ]
}

fn table(trace: &Trace) -> Table<'_> {
    Table {
        grid: &trace.grid,
        records: &trace.records,
        starts: &trace.starts,
    }
}

/// The same places `shift` further on; what does not fit 32 bits is the largest, as a scan leaves it.
fn shifted(offsets: &[u32], shift: u32) -> Vec<u8> {
    bytes(&shifted_words(offsets, shift))
}

fn shifted_words(offsets: &[u32], shift: u32) -> Vec<u32> {
    offsets.iter().map(|offset| offset.saturating_add(shift)).collect()
}

/// Windows on an answer of `all` rows whose first one lies at `shift`: `(shift, first, capacity)`, `first` from `shift`.
fn windows(all: usize) -> [(u32, usize, usize); 6] {
    [
        (0, 0, all),
        (0, all / 3, all / 3),
        (0, 0, all.min(7)),
        (0, all.saturating_sub(1), 5),
        (0, all, 9),
        // Half of the places do not fit 32 bits.
        (u32::MAX - (all / 2) as u32, 0, all + 9),
    ]
}

/// The rows of the answer that a window shows.
fn shown(all: usize, (shift, first, capacity): (u32, usize, usize)) -> std::ops::Range<usize> {
    let fitting = all.min((u32::MAX - shift) as usize);
    first.min(fitting)..(first + capacity).min(fitting)
}

fn check_pairs(bench: &Bench, trace: &Trace, objects: &[Aabb], uniform_scheme: bool) {
    let (count_pass, emit_pass) = if uniform_scheme {
        (&shaders::PAIR_COUNT_COVERED, &shaders::PAIR_EMIT_COVERED)
    } else {
        (&shaders::PAIR_COUNT_ONE_CELL, &shaders::PAIR_EMIT_ONE_CELL)
    };
    let entries = trace.params.entry_capacity as usize;
    let inputs =
        |more: Vec<(&'static str, Vec<u8>)>| [walk_inputs(trace), vec![("objects", bytes(objects))], more].concat();
    // Without static objects' rows: they have tests of their own.
    let params = Params {
        pair_rows: trace.params.entry_capacity,
        ..trace.params
    };
    let input = PairInput {
        table: table(trace),
        objects,
        keys: &trace.keys,
        values: &trace.values,
    };
    let mut counters = used_counters();
    let PairCounts { mut counts, slots, .. } = pair_count::pair_count(&params, &input, bench.overrides, &mut counters);
    let found = bench.run(
        count_pass,
        groups(entries + 1),
        uniform(&params),
        &inputs(vec![
            ("pair_slots", poison::<u32>(slots.len())),
            ("pair_offsets", poison::<u32>(entries + 1)),
            ("counters", bytes(&used_counters())),
        ]),
    );
    found.check("pair_offsets", &counts);
    found.check("counters", &counters);
    if !uniform_scheme {
        let kept = trace.params.partners_kept as usize * entries;
        let expected: Vec<_> = (0..kept)
            .map(|slot| {
                let written = slot / entries < counts[slot % entries] as usize;
                if written { slots[slot] } else { STALE }
            })
            .collect();
        found.check("pair_slots", &expected);
    }

    let contents = inputs(vec![
        ("pair_slots", poison::<u32>(slots.len())),
        ("pair_offsets", poison::<u32>(entries + 1)),
        ("counters", bytes(&used_counters())),
    ]);
    let block = uniform(&params);
    let rounds = bench.rounds_of(count_pass, groups(entries + 1), &block, &contents);
    let found = bench.run_rounds(count_pass, groups(entries + 1), &block, &contents, rounds);
    found.check("pair_offsets", &counts);
    found.check_rounds(&counters, rounds);

    let found = bench.run(
        &shaders::WORLD_PAIRS,
        groups(entries),
        uniform(&params),
        &inputs(vec![
            ("pair_offsets", bytes(&counts)),
            ("world_pairs", zeros(params.world_count as usize)),
        ]),
    );
    found.check(
        "world_pairs",
        &world_pairs::world_pairs(&params, &trace.records, &trace.values, &counts),
    );

    let scan = ScanParams {
        count: counts.len() as u32,
        total_word: 10,
        capacity: u32::MAX,
        status_bit: 0,
    };
    scan_reduce::scan(&scan, &mut counts, &mut counters);
    let all = counters[10] as usize;
    let whole = Params {
        pair_capacity: all as u32,
        ..params
    };
    let mut pairs = vec![STALE_PAIR; all];
    let every = 0..trace.params.entry_capacity;
    pair_emit::pair_emit(&whole, &input, bench.overrides, every, &counts, &mut pairs);
    for window in windows(all) {
        let (shift, first, capacity) = window;
        let params = Params {
            first_pair: shift + first as u32,
            pair_capacity: capacity as u32,
            ..params
        };
        let (kept, walks) = if uniform_scheme {
            (vec![STALE_PAIR; capacity], vec![0; entries])
        } else {
            emitted_kept(bench, trace, &params, &slots, &shifted_words(&counts, shift))
        };
        let contents = inputs(vec![
            ("pair_offsets", shifted(&counts, shift)),
            ("pair_walks", listed(&walks)),
            ("pairs", bytes(&kept)),
        ]);
        let found = bench.run(emit_pass, groups(walks.len()), uniform(&params), &contents);
        found.check("pairs", &pairs[shown(all, window)]);
        if !bench.tries_rounds(window) {
            continue;
        }
        let contents = inputs(vec![
            (
                "pair_offsets",
                [shifted(&counts, shift), poison::<u32>(entries)].concat(),
            ),
            ("pair_walks", listed(&walks)),
            ("pairs", bytes(&kept)),
        ]);
        let found = bench.run_rounds(emit_pass, groups(walks.len()), &uniform(&params), &contents, rounds);
        found.check("pairs", &pairs[shown(all, window)]);
        found.check_left_behind("pair_offsets", &shifted(&counts, shift), entries);
    }
    if !uniform_scheme && bench.overrides.filters {
        check_bits(bench, trace, objects, &pairs);
    }
}

/// A list of entries that walk, as the passes read it.
fn listed(walks: &[u32]) -> Vec<u8> {
    bytes(&[&[walks.len() as u32], walks].concat())
}

/// Runs and checks the pass that writes pairs of kept partners. Returns what it leaves of the window's pairs and the entries
/// that it lists, in its order.
fn emitted_kept(
    bench: &Bench,
    trace: &Trace,
    params: &Params,
    slots: &[u32],
    offsets: &[u32],
) -> (Vec<Pair>, Vec<u32>) {
    let capacity = params.pair_capacity as usize;
    let entries = params.entry_capacity as usize;
    let mut pairs = vec![STALE_PAIR; capacity];
    let expected = pair_emit_kept::pair_emit_kept(params, &trace.records, slots, offsets, &mut pairs);
    let found = bench.run(
        &shaders::PAIR_EMIT_KEPT,
        groups(entries),
        uniform(params),
        &[
            ("records", bytes(&trace.records)),
            ("pair_slots", bytes(slots)),
            ("pair_offsets", bytes(offsets)),
            ("pair_walks", [zeros(1), poison::<u32>(entries)].concat()),
            ("pair_walk_groups", zeros(3)),
            ("pairs", poison::<Pair>(capacity)),
        ],
    );
    found.check("pairs", &pairs);
    found.check("pair_offsets", offsets);
    let list: Vec<u32> = found.take("pair_walks", 1 + expected.len());
    let walks = list[1..].to_vec();
    let mut sorted = walks.clone();
    sorted.sort_unstable();
    assert_eq!((list[0], &sorted), (expected.len() as u32, &expected), "{}", found.what);
    let groups = expected.len().div_ceil(256) as u32;
    found.check("pair_walk_groups", &[groups, groups.min(1), groups.min(1)]);
    (pairs, walks)
}

/// Pairs of crowded boxes: by the bits that counting keeps, as far as they go, and by the walk from there on.
fn check_bits(bench: &Bench, trace: &Trace, objects: &[Aabb], pairs: &[Pair]) {
    let entries = trace.params.entry_capacity as usize;
    let input = PairInput {
        table: table(trace),
        objects,
        keys: &trace.keys,
        values: &trace.values,
    };
    // One walk an entry: there are many words to ask about.
    let tests: Vec<_> = (0..entries)
        .map(|entry| tests_of(trace, &input, entry as u32))
        .collect();
    for pair_bit_words in [1, 40] {
        let params = Params {
            pair_bit_words,
            pair_rows: entries as u32,
            ..trace.params
        };
        let counted = Overrides {
            count_candidates: true,
            ..bench.overrides
        };
        let mut kept = pair_count::pair_count(&params, &input, counted, &mut used_counters());
        let found = bench.run(
            &shaders::PAIR_COUNT_CROWDED,
            groups(entries + 1),
            uniform(&params),
            &[
                walk_inputs(trace),
                vec![
                    ("objects", bytes(objects)),
                    ("pair_slots", poison::<u32>(kept.slots.len())),
                    ("pair_bits", poison::<u32>(kept.bits.len())),
                    ("pair_offsets", poison::<u32>(entries + 1)),
                    ("counters", bytes(&used_counters())),
                ],
            ]
            .concat(),
        );
        found.check("pair_offsets", &kept.counts);
        let words: Vec<u32> = found.take("pair_bits", kept.bits.len());
        for (place, (&found, &expected)) in words.iter().zip(&kept.bits).enumerate() {
            let is_written = place / entries < tests[place % entries].div_ceil(32);
            assert_eq!(found, if is_written { expected } else { STALE }, "word {place}");
        }

        scan_of(&mut kept.counts);
        let tried = if pair_bit_words == 1 { 6 } else { 1 };
        for window in windows(pairs.len()).into_iter().take(tried) {
            let (shift, first, capacity) = window;
            let params = Params {
                first_pair: shift + first as u32,
                pair_capacity: capacity as u32,
                ..params
            };
            let shifted_kept = PairCounts {
                counts: shifted_words(&kept.counts, shift),
                ..kept.clone()
            };
            let (from_slots, walks) = emitted_kept(bench, trace, &params, &kept.slots, &shifted_kept.counts);
            let mut replayed = from_slots.clone();
            let next = pair_replay::pair_replay(&params, &input, &shifted_kept, &walks, &mut replayed);
            let mut places = vec![STALE; entries];
            for (&entry, next) in walks.iter().zip(next) {
                places[entry as usize] = next;
            }
            let more = |offsets: Vec<u8>, pairs: Vec<u8>| {
                let own = vec![
                    ("objects", bytes(objects)),
                    ("pair_bits", bytes(&kept.bits)),
                    ("pair_walks", listed(&walks)),
                    ("pair_offsets", offsets),
                    ("pairs", pairs),
                ];
                [walk_inputs(trace), own].concat()
            };
            let offsets = [bytes(&shifted_kept.counts), poison::<u32>(entries)].concat();
            let found = bench.run(
                &shaders::PAIR_REPLAY,
                groups(walks.len()),
                uniform(&params),
                &more(offsets, bytes(&from_slots)),
            );
            found.check("pairs", &replayed);
            let offsets = [&shifted_kept.counts[..], &places].concat();
            found.check("pair_offsets", &offsets);

            bench.round.set(Round {
                first: 32 * pair_bit_words,
                ..ONE_ROUND
            });
            let found = bench.run(
                &shaders::PAIR_EMIT_ONE_CELL,
                groups(walks.len()),
                uniform(&params),
                &more(bytes(&offsets), bytes(&replayed)),
            );
            bench.round.set(ONE_ROUND);
            let mut expected = pairs[shown(pairs.len(), window)].to_vec();
            expected.resize(capacity, STALE_PAIR);
            found.check("pairs", &expected);
        }
    }
}

/// Box tests of an entry.
fn tests_of(trace: &Trace, input: &PairInput<'_>, entry: u32) -> usize {
    let counted = Overrides {
        filters: false,
        count_candidates: true,
    };
    pair_walk::walk_pairs(&trace.params, input, counted, entry, |_, _| {}) as usize
}

/// Pairs of moving and static objects: their rows behind those of the entries.
fn check_static_pairs(bench: &Bench, trace: &Trace, uniform_scheme: bool) {
    let (count_pass, emit_pass) = if uniform_scheme {
        (&shaders::PAIR_STATIC_COUNT_COVERED, &shaders::PAIR_STATIC_EMIT_COVERED)
    } else {
        (
            &shaders::PAIR_STATIC_COUNT_ONE_CELL,
            &shaders::PAIR_STATIC_EMIT_ONE_CELL,
        )
    };
    let (Some(statics), Some(input)) = (trace.statics.as_deref(), trace.static_pair_input()) else {
        panic!("no static objects");
    };
    let params = trace.params;
    let (entries, rows) = (params.entry_capacity as usize, params.object_count as usize);
    assert_eq!(params.pair_rows as usize, entries + rows);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![
            ("objects", bytes(&trace.objects)),
            ("own_records", bytes(&trace.records)),
        ];
        [walk_inputs(statics), given, more].concat()
    };
    let own = PairInput {
        table: table(trace),
        objects: &trace.objects,
        keys: &trace.keys,
        values: &trace.values,
    };
    let PairCounts { mut counts, slots, .. } = pair_count::pair_count(&params, &own, bench.overrides, &mut [0; 32]);
    counts.truncate(entries);
    let mut counters = used_counters();
    let more = pair_static_count::pair_static_count(&params, &input, bench.overrides, &mut counters);
    let given = [bytes(&counts), poison::<u32>(rows + 1)].concat();
    counts.extend(&more.counts);
    let block = uniform(&of_statics(params));
    let kept = if uniform_scheme {
        0
    } else {
        STATIC_PARTNERS_KEPT as usize
    };
    let contents = inputs(vec![
        ("pair_slots", poison::<u32>(slots.len() + more.slots.len())),
        ("pair_offsets", given),
        ("counters", bytes(&used_counters())),
    ]);
    let found = bench.run(count_pass, groups(rows + 1), block.clone(), &contents);
    found.check("pair_offsets", &counts);
    found.check("counters", &counters);
    if !uniform_scheme {
        let of_statics = (0..kept * rows).map(|slot| {
            let written = slot / rows < more.counts[slot % rows] as usize;
            if written { more.slots[slot] } else { STALE }
        });
        let expected: Vec<_> = slots.iter().map(|_| STALE).chain(of_statics).collect();
        found.check("pair_slots", &expected);
    }
    let rounds = bench.rounds_of(count_pass, groups(rows + 1), &block, &contents);
    let found = bench.run_rounds(count_pass, groups(rows + 1), &block, &contents, rounds);
    found.check("pair_offsets", &counts);
    found.check_rounds(&counters, rounds);

    let mut world_pairs = vec![7; params.world_count as usize];
    let before = bytes(&world_pairs);
    world_pairs_static::world_pairs_static(&params, &trace.records, &counts, &mut world_pairs);
    let found = bench.run(
        &shaders::WORLD_PAIRS_STATIC,
        groups(rows),
        uniform(&params),
        &[
            ("records", bytes(&trace.records)),
            ("pair_offsets", bytes(&counts)),
            ("world_pairs", before),
        ],
    );
    found.check("world_pairs", &world_pairs);

    let slots = [slots, more.slots].concat();
    let all = scan_of(&mut counts) as usize;
    // Those of moving objects alone stay as they are.
    let mut pairs = vec![STALE_PAIR; all];
    pair_static_emit::pair_static_emit(&params, &input, bench.overrides, &slots, &counts, &mut pairs);
    for window in windows(all) {
        let (shift, first, capacity) = window;
        let params = Params {
            first_pair: shift + first as u32,
            pair_capacity: capacity as u32,
            ..params
        };
        let emit = |offsets: Vec<u8>, rounds: Option<Rounds>| {
            let contents = inputs(vec![
                ("pair_slots", bytes(&slots)),
                ("pair_offsets", offsets),
                ("pairs", poison::<Pair>(capacity)),
            ]);
            let block = uniform(&of_statics(params));
            match rounds {
                None => bench.run(emit_pass, groups(rows), block, &contents),
                Some(rounds) => bench.run_rounds(emit_pass, groups(rows), &block, &contents, rounds),
            }
        };
        let offsets = shifted(&counts, shift);
        emit(offsets.clone(), None).check("pairs", &pairs[shown(all, window)]);
        if bench.tries_rounds(window) {
            let left = poison::<u32>(entries + rows);
            let found = emit([offsets.clone(), left].concat(), Some(rounds));
            found.check("pairs", &pairs[shown(all, window)]);
            found.check_left_behind("pair_offsets", &offsets, entries + rows);
        }
    }
}

fn by_object(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    hits.sort_unstable();
    hits
}

fn ray_bytes(rays: SceneRays<'_>) -> (&'static str, Vec<u8>) {
    let contents = match rays {
        SceneRays::Plain(rays) => bytes(rays),
        SceneRays::Swept(rays) => bytes(rays),
        _ => panic!("a form of rays without a test"),
    };
    ("rays", contents)
}

/// As a step with these rays has them.
fn ray_params(trace: &Trace, rays: SceneRays<'_>) -> Params {
    Params {
        ray_stride: if matches!(rays, SceneRays::Swept(_)) { 4 } else { 2 },
        rays_sorted: 1,
        ..trace.params
    }
}

/// Checks the keys of rays and returns the order that they give.
fn check_ray_keys(bench: &Bench, trace: &Trace, rays: SceneRays<'_>) -> Vec<u32> {
    let params = ray_params(trace, rays);
    let (keys, values) = ray_keys::ray_keys(&params, &trace.grid, rays);
    let counted = Grid {
        entry_count: params.ray_count,
        ..Grid::default()
    };
    let found = bench.run(
        &shaders::RAY_KEYS,
        groups(rays.len()),
        uniform(&params),
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

/// The order of a ray's hits may differ between devices, the hits may not.
fn check_rays(bench: &Bench, trace: &Trace, rays: SceneRays<'_>, uniform_scheme: bool) {
    let [count_pass, emit_pass, closest_pass, any_pass] = if uniform_scheme {
        [
            &shaders::RAY_COUNT_COVERED,
            &shaders::RAY_EMIT_COVERED,
            &shaders::RAY_CLOSEST_COVERED,
            &shaders::RAY_ANY_COVERED,
        ]
    } else {
        [
            &shaders::RAY_COUNT_ONE_CELL,
            &shaders::RAY_EMIT_ONE_CELL,
            &shaders::RAY_CLOSEST_ONE_CELL,
            &shaders::RAY_ANY_ONE_CELL,
        ]
    };
    bench.sweeps.set(matches!(rays, SceneRays::Swept(_)));
    let order = check_ray_keys(bench, trace, rays);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![
            ray_bytes(rays),
            ("objects", bytes(&trace.objects)),
            ("walk_order", bytes(&order)),
        ];
        [given, more].concat()
    };
    let walks = Walk::all(trace, rays.len(), false);
    let params = ray_params(trace, rays);
    let tables = trace.ray_inputs(rays);
    let run = |pass, output: &'static str, count: usize| {
        let more = vec![(output, poison::<u32>(count)), ("counters", bytes(&used_counters()))];
        bench.run_walks(pass, &walks, params, &inputs(more), None)
    };
    // In several rounds.
    let run_rounds = |pass, output: &'static str, count: usize| {
        let more = vec![(output, poison::<u32>(count)), ("counters", bytes(&used_counters()))];
        let contents = inputs(more);
        let rounds = bench.rounds_of_walks(pass, &walks, params, &contents);
        (bench.run_walks(pass, &walks, params, &contents, Some(rounds)), rounds)
    };
    // What the walks of one table leave to those of the other.
    let carried = if walks.len() > 1 { rays.len() } else { 0 };
    let mut counters = used_counters();
    let mut offsets = ray_count::ray_count(&params, &tables, bench.overrides, &mut counters);
    let found = run(count_pass, "ray_offsets", rays.len() + 1);
    found.check("ray_offsets", &offsets);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, rounds) = run_rounds(count_pass, "ray_offsets", rays.len() + 1);
    found.check("ray_offsets", &offsets);
    found.check_ray_rounds(&counters, rounds);

    let counts = offsets.clone();
    let all = scan_of(&mut offsets) as usize;
    let emit = |window| {
        let (shift, first, capacity) = window;
        let params = Params {
            first_hit: shift + first as u32,
            hit_capacity: capacity as u32,
            ..params
        };
        let more = vec![
            (
                "ray_offsets",
                [shifted(&offsets, shift), poison::<u32>(carried)].concat(),
            ),
            ("ray_hits", poison::<RayHit>(capacity)),
        ];
        bench.run_walks(emit_pass, &walks, params, &inputs(more), None)
    };
    let whole = Params {
        hit_capacity: all as u32,
        ..params
    };
    let expected = ray_emit::ray_emit(&whole, &tables, bench.overrides, &offsets);
    let hits: Vec<RayHit> = emit((0, 0, all)).take("ray_hits", all);
    for ((index, ray), ends) in rays.iter().enumerate().zip(offsets.windows(2)) {
        let of_ray = ends[0] as usize..ends[1] as usize;
        assert_eq!(
            by_object(&hits[of_ray.clone()]),
            by_object(&expected[of_ray]),
            "ray_emit of {}, ray {index} {ray:?} on {}",
            bench.scene,
            bench.adapter.name
        );
    }
    for window in windows(all) {
        emit(window).check("ray_hits", &hits[shown(all, window)]);
        if !bench.tries_rounds(window) {
            continue;
        }
        let (shift, first, capacity) = window;
        let params = Params {
            first_hit: shift + first as u32,
            hit_capacity: capacity as u32,
            ..params
        };
        let shifted = shifted(&offsets, shift);
        let more = vec![
            ("ray_offsets", [shifted.clone(), poison::<u32>(rays.len())].concat()),
            ("ray_hits", poison::<RayHit>(capacity)),
        ];
        let found = bench.run_walks(emit_pass, &walks, params, &inputs(more), Some(rounds));
        found.check("ray_hits", &hits[shown(all, window)]);
        found.check_left_behind("ray_offsets", &shifted, rays.len());
    }

    // From hits that counting kept: of some rays all, of others not.
    for hits_kept in [1, 5] {
        let keeping = Params {
            hits_kept,
            hit_capacity: all as u32,
            ..params
        };
        let behind = rays.len() * (1 + 2 * hits_kept as usize);
        let counting = inputs(vec![
            ("ray_offsets", poison::<u32>(rays.len() + 1 + behind)),
            ("counters", bytes(&used_counters())),
        ]);
        for rounds in [None, Some(rounds)] {
            let counted = bench.run_walks(count_pass, &walks, keeping, &counting, rounds);
            counted.check_left_behind("ray_offsets", &bytes(&counts), behind);
            let words = counted.take::<u32>("ray_offsets", rays.len() + 1 + behind);
            let more = vec![
                (
                    "ray_offsets",
                    [bytes(&offsets), bytes(&words[rays.len() + 1..])].concat(),
                ),
                ("ray_hits", poison::<RayHit>(all)),
            ];
            let found = bench.run_walks(emit_pass, &walks, keeping, &inputs(more), rounds);
            found.check("ray_hits", &hits);
        }
    }

    let mut counters = used_counters();
    let closest = ray_closest::ray_closest(&params, &tables, bench.overrides, &mut counters);
    let found = run(closest_pass, "ray_hits", 2 * rays.len());
    found.check("ray_hits", &closest);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, _) = run_rounds(closest_pass, "ray_hits", 6 * rays.len());
    found.check_left_behind("ray_hits", &bytes(&closest), 4 * rays.len());
    assert_eq!(found.take::<u32>("counters", 32)[UNFINISHED], 0, "{}", found.what);

    let mut counters = used_counters();
    let any = ray_any::ray_any(&params, &tables, bench.overrides, &mut counters);
    let found = run(any_pass, "ray_any", rays.len());
    found.check("ray_any", &any);
    found.check_ray_counters(&used_counters(), &counters);
    let (found, rounds) = run_rounds(any_pass, "ray_any", rays.len());
    found.check("ray_any", &any);
    found.check_ray_rounds(&counters, rounds);
}

/// Turns counts into offsets and returns the total.
fn scan_of(counts: &mut [u32]) -> u64 {
    let scan = ScanParams {
        count: counts.len() as u32,
        total_word: 0,
        capacity: u32::MAX,
        status_bit: 0,
    };
    let mut counters = [0; 32];
    scan_reduce::scan(&scan, counts, &mut counters);
    u64::from(counters[0]) | u64::from(counters[1]) << 32
}

/// The cells are chosen in floating point, so that a few at the rim of a walk may differ between devices.
fn check_ray_cells(bench: &Bench, trace: &Trace, rays: SceneRays<'_>) {
    let params = ray_params(trace, rays);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| [vec![ray_bytes(rays)], more].concat();
    let walks = Walk::all(trace, rays.len(), false);
    let carried = if walks.len() > 1 { rays.len() } else { 0 };
    let grids: Vec<_> = [Some(trace), trace.statics.as_deref()]
        .into_iter()
        .flatten()
        .map(|of| &of.grid)
        .collect();
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
    let expected = ray_cells_count::ray_cells_count(&params, &grids, rays);
    for (index, (&count, &near)) in offsets.iter().zip(&expected).enumerate() {
        assert!(
            u64::from(count.abs_diff(near)) <= 8 + u64::from(near) / 4,
            "{}: {count} cells of ray {index}, {near} expected",
            found.what
        );
    }

    let all = scan_of(&mut offsets);
    let emit = |first: u64, capacity: u64| {
        let params = Params {
            first_ray_cell: first as u32,
            ray_cell_capacity: capacity as u32,
            ..params
        };
        let more = vec![
            ("ray_cell_offsets", [bytes(&offsets), poison::<u32>(carried)].concat()),
            ("ray_cells", poison::<RayCell>(capacity as usize)),
            ("counters", bytes(&used_counters())),
        ];
        let pass = &shaders::RAY_CELLS_EMIT;
        let contents = inputs(more);
        let found = bench.run_walks(pass, &walks, params, &contents, None);
        found.check("counters", &used_counters());
        found.check_left_behind("ray_cell_offsets", &bytes(&offsets), carried);
        let rounds = bench.rounds_of_walks(pass, &walks, params, &contents);
        let in_rounds = bench.run_walks(pass, &walks, params, &contents, Some(rounds));
        assert_eq!(
            in_rounds.buffers["ray_cells"], found.buffers["ray_cells"],
            "{}",
            found.what
        );
        in_rounds.check_rounds(&used_counters(), rounds);
        let shown = all.saturating_sub(first).min(capacity);
        let expected = ray_cells_emit::ray_cells_emit(&params, &grids, rays, &offsets);
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

/// A whole answer, or what room for so many entries gives.
fn descriptor(scheme: Scheme, entries: Option<u32>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        ray_mode: RayMode::All,
        count_candidates: true,
        growth: Growth::Fixed,
        capacities: Capacities {
            entries,
            ..Default::default()
        },
        ..Default::default()
    }
}

/// Queries of both forms and neighbours, all of their results and the nearest.
fn check_queries(bench: &Bench, trace: &Trace, queries: &[Query], uniform_scheme: bool) {
    let [count_pass, emit_pass, nearest_pass] = if uniform_scheme {
        [
            &shaders::QUERY_COUNT_COVERED,
            &shaders::QUERY_EMIT_COVERED,
            &shaders::QUERY_NEAREST_COVERED,
        ]
    } else {
        [
            &shaders::QUERY_COUNT_ONE_CELL,
            &shaders::QUERY_EMIT_ONE_CELL,
            &shaders::QUERY_NEAREST_ONE_CELL,
        ]
    };
    let boxes: Vec<_> = queries.iter().map(|query| Query::from(query.bounds)).collect();
    let bounds: Vec<_> = queries.iter().map(|query| query.bounds).collect();
    let base = Params {
        // No distance on a lattice: devices may differ there.
        radius: 1.2345,
        nearest: 3,
        ..trace.params
    };
    let asked = queries.len() as u32;
    let forms = [
        (&queries[..0], Vec::new(), [1, 1, 0], trace.objects.len() as u32),
        (&queries[..0], Vec::new(), [1, 0, 0], trace.objects.len() as u32),
        // Once a pair or in both directions, by turns.
        (
            &queries[..0],
            Vec::new(),
            [2, trace.objects.len() as u32 % 2, 0],
            trace.objects.len() as u32,
        ),
        (queries, bytes(queries), [0, 0, 1], asked),
        (&boxes, bytes(&bounds), [0, 0, 0], asked),
    ];
    for (queries, contents, [asking, once, wide_queries], query_count) in forms {
        let params = Params {
            asking,
            once,
            wide_queries,
            query_count,
            ..base
        };
        let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
            // Where objects ask, the walks bring these.
            let given = (asking == 0).then(|| ("queries", contents.clone()));
            let given = given.into_iter().chain([("objects", bytes(&trace.objects))]).collect();
            [given, more].concat()
        };
        let count = query_count as usize;
        let walks = Walk::all(trace, count, asking != 0);
        let carried = if walks.len() > 1 { count } else { 0 };
        let twins = trace.query_inputs(queries, asking != 0);
        let mut counters = used_counters();
        let mut offsets = query_count::query_count(&params, &twins, bench.overrides, &mut counters);
        let more = vec![
            ("query_offsets", poison::<u32>(count + 1)),
            ("counters", bytes(&used_counters())),
        ];
        let contents = inputs(more);
        let found = bench.run_walks(count_pass, &walks, params, &contents, None);
        found.check("query_offsets", &offsets);
        found.check("counters", &counters);
        let rounds = bench.rounds_of_walks(count_pass, &walks, params, &contents);
        let found = bench.run_walks(count_pass, &walks, params, &contents, Some(rounds));
        found.check("query_offsets", &offsets);
        found.check_rounds(&counters, rounds);

        let all = scan_of(&mut offsets) as usize;
        let whole = Params {
            result_capacity: all as u32,
            ..params
        };
        let results = query_emit::query_emit(&whole, &twins, bench.overrides, &offsets);
        for window in windows(all) {
            let (shift, first, capacity) = window;
            let params = Params {
                first_result: shift + first as u32,
                result_capacity: capacity as u32,
                ..params
            };
            let more = vec![
                (
                    "query_offsets",
                    [shifted(&offsets, shift), poison::<u32>(carried)].concat(),
                ),
                ("query_objects", poison::<u32>(capacity)),
            ];
            let found = bench.run_walks(emit_pass, &walks, params, &inputs(more), None);
            found.check("query_objects", &results[shown(all, window)]);
            if !bench.tries_rounds(window) {
                continue;
            }
            let shifted = shifted(&offsets, shift);
            let more = vec![
                ("query_offsets", [shifted.clone(), poison::<u32>(count)].concat()),
                ("query_objects", poison::<u32>(capacity)),
            ];
            let found = bench.run_walks(emit_pass, &walks, params, &inputs(more), Some(rounds));
            found.check("query_objects", &results[shown(all, window)]);
            found.check_left_behind("query_offsets", &shifted, count);
        }

        let mut counters = used_counters();
        let nearest = query_nearest::query_nearest(&params, &twins, bench.overrides, &mut counters);
        let more = vec![
            ("query_nearest", poison::<Neighbor>(nearest.len())),
            ("counters", bytes(&used_counters())),
        ];
        let contents = inputs(more);
        let found = bench.run_walks(nearest_pass, &walks, params, &contents, None);
        let in_rounds = bench.run_walks(nearest_pass, &walks, params, &contents, Some(rounds));
        assert_eq!(
            in_rounds.buffers["query_nearest"], found.buffers["query_nearest"],
            "{}",
            found.what
        );
        in_rounds.check_rounds(&counters, rounds);
        // The order is exact, distances are rounded.
        let given: Vec<Neighbor> = found.take("query_nearest", nearest.len());
        for (given, expected) in given.iter().zip(&nearest) {
            let [given_squared, squared] = [given.squared_distance, expected.squared_distance];
            let close = given_squared == squared || (given_squared - squared).abs() <= 1e-6 * squared;
            assert!(
                given.object == expected.object && close,
                "{}: {given:?}, {expected:?}",
                found.what
            );
        }
        found.check("counters", &counters);
    }
}

/// The passes that put an output in order, a window on it at a time.
fn check_order(bench: &Bench, trace: &Trace) {
    let kinds: [[&'static Pass; 3]; 3] = [
        [
            &shaders::ORDER_SECONDS_PAIRS,
            &shaders::ORDER_FIRSTS_PAIRS,
            &shaders::ORDER_ROWS_PAIRS,
        ],
        [
            &shaders::ORDER_SECONDS_HITS,
            &shaders::ORDER_FIRSTS_HITS,
            &shaders::ORDER_ROWS_HITS,
        ],
        [
            &shaders::ORDER_SECONDS_RESULTS,
            &shaders::ORDER_FIRSTS_RESULTS,
            &shaders::ORDER_ROWS_RESULTS,
        ],
    ];
    // Hits stand in for the results of queries as well.
    let objects: Vec<u32> = trace.ray_hits.iter().map(|hit| hit.object).collect();
    for ([seconds, firsts, rows], kind) in kinds.into_iter().zip(0..) {
        let all = if kind == 0 { trace.pairs.len() } else { objects.len() };
        for (first, capacity) in [(0, all + 5), (all / 3, all / 2), (0, all.min(7)), (all, 3)] {
            let shown = first..(first + capacity).min(all);
            let params = Params {
                first_pair: first as u32,
                first_hit: first as u32,
                first_result: first as u32,
                pair_capacity: capacity as u32,
                hit_capacity: capacity as u32,
                result_capacity: capacity as u32,
                query_count: trace.params.ray_count,
                ..trace.params
            };
            let walks = shown::Walks {
                offsets: &trace.ray_offsets,
                first: first as u32,
            };
            let pairs = &trace.pairs[if kind == 0 { shown.clone() } else { 0..0 }];
            let hits = &trace.ray_hits[if kind == 0 { 0..0 } else { shown.clone() }];
            let results = &objects[if kind == 0 { 0..0 } else { shown.clone() }];
            let (order, given) = match kind {
                0 => (shown::Rows::Pairs(pairs), bytes(pairs)),
                1 => (shown::Rows::Hits(hits, walks), bytes(hits)),
                _ => (shown::Rows::Results(results, walks), bytes(results)),
            };
            let mut counters = used_counters();
            for word in [10, 12, 22] {
                (counters[word], counters[word + 1]) = (all as u32, 0);
            }
            let mut stale = stale_grid();
            let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
                let mut rows = given.clone();
                rows.resize(capacity * given.len() / shown.len().max(1), POISON);
                let given = vec![
                    ("rows", rows),
                    ("counters", bytes(&counters)),
                    ("offsets", bytes(&trace.ray_offsets)),
                ];
                [given, more].concat()
            };
            let found = bench.run(
                seconds,
                groups(capacity),
                uniform(&params),
                &inputs(vec![
                    ("keys", poison::<u32>(capacity)),
                    ("values", poison::<u32>(capacity)),
                    ("grid", bytes_of(&stale).to_vec()),
                ]),
            );
            let (keys, values) = order_seconds::order_seconds(order);
            found.check("keys", &keys);
            found.check("values", &values);
            stale.entry_count = shown.len() as u32;
            found.check("grid", &[stale]);

            let mut by_second = values;
            by_second.sort_by_key(|&row| keys[row as usize]);
            let found = bench.run(
                firsts,
                groups(capacity),
                uniform(&params),
                &inputs(vec![("keys", poison::<u32>(capacity)), ("values", bytes(&by_second))]),
            );
            let keys = order_firsts::order_firsts(order, &by_second);
            found.check("keys", &keys);

            let mut places: Vec<_> = (0..by_second.len()).collect();
            places.sort_by_key(|&place| keys[place]);
            let by_both: Vec<_> = places.into_iter().map(|place| by_second[place]).collect();
            let found = bench.run(
                rows,
                groups(capacity),
                uniform(&params),
                &inputs(vec![
                    ("values", bytes(&by_both)),
                    ("ordered_rows", poison::<Pair>(capacity)),
                ]),
            );
            match order {
                shown::Rows::Pairs(rows) => {
                    let ordered = order_rows::order_rows(rows, &by_both);
                    assert!(ordered.is_sorted());
                    found.check("ordered_rows", &ordered);
                }
                shown::Rows::Hits(rows, _) => found.check("ordered_rows", &order_rows::order_rows(rows, &by_both)),
                shown::Rows::Results(rows, _) => found.check("ordered_rows", &order_rows::order_rows(rows, &by_both)),
            }
        }
    }
}

/// The table, then the walks with each of `overrides`. Returns the entries.
fn check_scene(
    bench: &mut Bench,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene,
    overrides: &[Overrides],
) -> u32 {
    check_parts(bench, descriptor, scene, 0, overrides)
}

/// The same of a scene whose first objects are static.
fn check_parts(
    bench: &mut Bench,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene,
    static_count: usize,
    overrides: &[Overrides],
) -> u32 {
    bench.scene = format!("{}, {descriptor:?}", scene.name);
    let scheme = descriptor.scheme;
    let uniform_scheme = matches!(scheme, Scheme::Uniform { .. });
    let worlds = scene.worlds(descriptor.worlds);
    let (statics, moving) = scene.objects.split_at(static_count);
    let (static_worlds, worlds) = worlds.split_at(static_count.min(worlds.len()));
    let input = gpu_broad_phase::Scene {
        objects: moving,
        worlds,
        statics: gpu_broad_phase::SceneStatics {
            objects: statics,
            worlds: static_worlds,
            generation: 0,
        },
        rays: SceneRays::Plain(&scene.rays),
        ..Default::default()
    };
    let trace = trace(descriptor, &input).unwrap();
    bench.scheme = trace.params.scheme;
    let is_periodic = descriptor.periods != [0.0; 3];
    let changes = trace.params.dimensions == 2 || trace.params.margin > 0.0 || trace.params.world_count > 1;
    if changes || is_periodic || static_count > 0 {
        let mut objects = poison::<Aabb>(scene.objects.len());
        let parts = [
            (trace.statics.as_deref(), statics, static_worlds),
            (Some(&trace), moving, worlds),
        ];
        for (part, given, worlds) in parts {
            let Some(part) = part else { continue };
            let found = bench.run(
                &shaders::PREPARE,
                groups(given.len()),
                uniform(&part.params),
                &[
                    ("given_objects", bytes(given)),
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
                ("given_objects", bytes(moving)),
                ("objects", objects.clone()),
                ("object_limits", bytes(&limits)),
                ("worlds", bytes(worlds)),
            ],
        );
        let expected = prepare::prepare(&limited, moving, &limits, worlds);
        let found: Vec<u8> = found.take("objects", 32 * scene.objects.len());
        assert!(found.ends_with(&bytes(&expected)), "{}: limited objects", bench.scene);
        // As bytes: a NaN is not equal to itself.
        assert!(objects == bytes(&trace.objects), "{}: objects", bench.scene);
    }
    if let Some(statics) = trace.statics.as_deref() {
        check_table(bench, statics, descriptor, static_worlds);
    }
    check_table(bench, &trace, descriptor, worlds);
    for &overrides in overrides {
        bench.overrides = overrides;
        check_pairs(bench, &trace, &trace.objects, uniform_scheme);
        if trace.statics.is_some() {
            check_static_pairs(bench, &trace, uniform_scheme);
        }
    }
    if !scene.rays.is_empty() {
        bench.overrides.count_candidates = true;
        let wide = sweep(&scene.rays, descriptor.worlds, &mut Rng(scene.rays.len() as u64));
        for (rays, filters) in [(SceneRays::Plain(&scene.rays), false), (SceneRays::Swept(&wide), true)] {
            bench.overrides.filters = filters;
            check_rays(bench, &trace, rays, uniform_scheme);
            check_ray_cells(bench, &trace, rays);
        }
        check_order(bench, &trace);
    }
    if scene.objects.len() < 300 {
        check_lines(bench, &trace, uniform_scheme);
    }
    // Neighbours of every object by every form and window: enough for sizes up to two tiles of the scan.
    if scene.objects.len() < 600 || scene.objects.len() == 1921 {
        bench.overrides = overrides[0];
        check_queries(bench, &trace, &scene.queries(descriptor.worlds), uniform_scheme);
    }
    trace.grid.entry_count
}

/// A scan of all but `spare` of the words.
fn check_scan(bench: &mut Bench, data: &[u32], spare: usize) {
    let count = data.len() - spare;
    bench.scene = format!("{count} words");
    let total = data[..count].iter().map(|&word| u64::from(word)).sum::<u64>();
    let exact = u32::try_from(total).unwrap_or(u32::MAX);
    for (total_word, capacity) in [(8, exact), (10, exact.saturating_sub(1)), (12, 1000)] {
        let scan = ScanParams {
            count: count as u32,
            total_word,
            capacity,
            status_bit: 2,
        };
        let tiles = count.div_ceil(SCAN_TILE);
        let mut sums = scan_reduce::scan_reduce(&scan, data);
        let reduced = bench.run(
            &shaders::SCAN_REDUCE,
            tiles.max(1) as u32,
            uniform(&scan),
            &[("data", bytes(data)), ("tile_sums", poison::<[u32; 2]>(tiles))],
        );
        reduced.check("tile_sums", &sums);
        let before = ("tile_sums", bytes(&sums));
        let mut counters = used_counters();
        scan_spine::scan_spine(&scan, &mut sums, &mut counters);
        let spine = bench.run(
            &shaders::SCAN_SPINE,
            1,
            uniform(&scan),
            &[before, ("counters", bytes(&used_counters()))],
        );
        spine.check("tile_sums", &sums);
        spine.check("counters", &counters);
        let mut expected = data.to_vec();
        scan_apply::scan_apply(&scan, &mut expected, &sums);
        let applied = bench.run(
            &shaders::SCAN_APPLY,
            tiles.max(1) as u32,
            uniform(&scan),
            &[("data", bytes(data)), ("tile_sums", bytes(&sums))],
        );
        applied.check("data", &expected);
    }
}

/// Boxes of any bits.
fn noise(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let words: Vec<_> = (0..8 * count).map(|_| rng.bits() as u32).collect();
    pod_collect_to_vec(&words)
}

/// Of `slots` listed slots every third lies past the end; `spare` more are listed past the count.
fn check_scatter(bench: &mut Bench, slots: usize, spare: usize, rng: &mut Rng) {
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

fn check_dispatch(bench: &mut Bench, needed: u64, [first, capacity, workgroup_rows]: [u32; 3]) {
    bench.scene = format!("{needed} rows, room for {capacity} from {first} on, {workgroup_rows} a workgroup");
    let params = DispatchParams {
        needed_word: 12,
        first,
        capacity,
        workgroup_rows,
    };
    let mut counters = used_counters();
    (counters[12], counters[13]) = (needed as u32, (needed >> 32) as u32);
    let found = bench.run(
        &shaders::DISPATCH_ARGS,
        1,
        uniform(&params),
        &[("step_counters", bytes(&counters)), ("args", poison::<u32>(4))],
    );
    let args = dispatch_args::dispatch_args(&params, &counters);
    found.check("args", &args);
    let [x, y, z, rows] = args.map(u64::from);
    assert!(x <= 65_535 && y <= 65_535 && z == 1);
    assert!(x * y * u64::from(workgroup_rows) >= rows, "{args:?}");
}

/// Devices may round positions in another way.
fn is_near(a: &LineVertex, b: &LineVertex) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    std::iter::zip(a.position, b.position).all(|(a, b)| near(a, b))
}

/// Lines of boxes, pairs, visited and occupied cells: all, and as many as there is room for.
fn check_lines(bench: &Bench, trace: &Trace, uniform_scheme: bool) {
    let objects = trace.objects.len() as u32;
    let cells = if uniform_scheme {
        &shaders::DRAW_CELLS_COVERED
    } else {
        &shaders::DRAW_CELLS_ONE_CELL
    };
    let mut counters = used_counters();
    (counters[10], counters[11]) = (trace.pairs.len() as u32, 0);
    (counters[20], counters[21]) = (trace.ray_cells.len() as u32 + 3, 0);
    let static_grid = trace.statics.as_deref().map_or(&trace.grid, |statics| &statics.grid);
    for (part, color) in [(1, 0x80ff_1234u32), (3, 0x3300_0000)] {
        let draw = |rows: usize, row_vertices: u32| DrawParams {
            rows: rows as u32,
            first: 0,
            capacity: (rows as u32).div_ceil(part) * row_vertices,
            color,
            levels: if part == 1 { !0 } else { 0x0f5 },
        };
        let run = |pass, params: &DrawParams, mut more: Vec<(&'static str, Vec<u8>)>| {
            more.extend([
                ("draw", uniform(params)),
                ("objects", bytes(&trace.objects)),
                ("step_counters", bytes(&counters)),
                ("lines", poison::<LineVertex>(params.capacity as usize)),
                ("draw_args", zeros(5)),
            ]);
            bench.run(pass, groups(params.rows as usize).max(1), uniform(&trace.params), &more)
        };
        let params = draw(objects as usize, 24);
        let found = run(&shaders::DRAW_BOXES, &params, Vec::new());
        let (lines, args) = draw_boxes::draw_boxes(&params, &trace.objects);
        found.check("lines", &lines);
        found.check("draw_args", &args);

        let params = draw(trace.pairs.len(), 2);
        let found = run(&shaders::DRAW_PAIRS, &params, vec![("pairs", bytes(&trace.pairs))]);
        let (lines, args) = draw_pairs::draw_pairs(&params, &trace.objects, &trace.pairs, &counters);
        found.check("lines", &lines);
        found.check("draw_args", &args);

        // As a window shows them: without the first ones.
        let shown = &trace.ray_cells[..trace.ray_cells.len().min(400)];
        let params = DrawParams {
            first: trace.ray_cells.len() as u32 + 3 - shown.len() as u32 / 2,
            ..draw(shown.len(), 24)
        };
        let more = vec![
            ("ray_cells", bytes(shown)),
            ("grid", bytes_of(&trace.grid).to_vec()),
            ("static_grid", bytes_of(static_grid).to_vec()),
        ];
        let found = run(&shaders::DRAW_RAY_CELLS, &params, more);
        let grids = [&trace.grid, static_grid];
        let (lines, args) = draw_ray_cells::draw_ray_cells(&trace.params, &params, grids, shown, &counters);
        found.check("draw_args", &args);
        let written: Vec<LineVertex> = pod_collect_to_vec(&found.buffers["lines"][..16 * lines.len()]);
        assert!(std::iter::zip(&written, &lines).all(|(a, b)| a.color == b.color && is_near(a, b)));

        let params = DrawParams {
            capacity: 24 * 4000,
            ..draw(trace.params.object_count as usize, 24)
        };
        let found = run(cells, &params, walk_inputs(trace));
        let [drawn, instances, _, _, all]: [u32; 5] = found.take("draw_args", 5).try_into().unwrap();
        assert_eq!((drawn, instances), (all, 1), "{}", found.what);
        let occupied = draw_cells::draw_cells(&trace.params, &params, table(trace), &trace.objects, &trace.values);
        let of_cell = |&cell: &RayCell| draw_cells::lines_of_cell(&trace.params, &params, table(trace), cell);
        let mut expected: Vec<_> = occupied.iter().map(of_cell).map(|lines| (lines, 0)).collect();
        let vertices: Vec<LineVertex> = pod_collect_to_vec(&found.buffers["lines"][..16 * drawn as usize]);
        for lines in vertices.chunks(24) {
            // Far from the origin cells are no further apart than what devices may round.
            let is_exact = |(cell, _): &(Vec<LineVertex>, u32)| cell == lines;
            let is_cell = |(cell, _): &(Vec<LineVertex>, u32)| {
                std::iter::zip(lines, cell).all(|(a, b)| a.color == b.color && is_near(a, b))
            };
            let exact = expected.iter().position(is_exact);
            let Some(place) = exact.or_else(|| expected.iter().position(is_cell)) else {
                panic!("{}: {lines:?} are no cell", found.what);
            };
            expected[place].1 += 1;
        }
        let twice = expected.iter().filter(|(_, times)| *times > 1).count();
        assert!(
            expected.iter().all(|(_, times)| *times > 0),
            "{}: {} cells",
            found.what,
            expected.len()
        );
        assert!(
            twice <= expected.len() / 4 || trace.params.world_count > 1,
            "{}: {twice} of {} cells twice",
            found.what,
            expected.len()
        );
    }
}

/// The first of so many rows are asked.
fn check_limit(bench: &mut Bench, rows: u32, stride: u32, limit: u32, rng: &mut Rng) {
    bench.scene = format!("{limit} of {rows} rows of {stride} vectors");
    let params = LimitParams {
        rows,
        stride,
        limit_word: 2,
        row_word: 4 * stride - 1 - rows % 3,
        value: 0x0dd5,
    };
    let given: Vec<u32> = (0..4 * stride * rows).map(|_| rng.bits() as u32).collect();
    let limits = [9, 7, limit];
    let found = bench.run(
        &shaders::LIMIT_ASKED,
        rows.div_ceil(256),
        uniform(&params),
        &[
            ("limits", bytes(&limits)),
            ("given", bytes(&given)),
            ("asked", poison::<u32>(given.len())),
        ],
    );
    found.check("asked", &limit_asked::limit_asked(&params, &limits, &given));
}

/// The passes of pair events, for so many pairs in either step. `spare` rows have room beyond them; without, the step needed
/// more pairs than it shows.
fn check_events(bench: &mut Bench, [before, now]: [usize; 2], spare: usize, rng: &mut Rng) {
    bench.scene = format!("events of {before} and {now} pairs, room for {spare} more");
    // Enough for all pairs, and few enough for most to meet again.
    let objects = 8 + 2 * before.max(now).isqrt() as u32;
    let generations: Vec<u32> = (0..objects).map(|_| rng.below(3) as u32).collect();
    let generations = Generations {
        statics: &generations[..2],
        moving: &generations[3..],
    };
    let mut some_pairs = |count: usize| -> Vec<Pair> {
        let mut all: Vec<_> = (0..objects)
            .flat_map(|a| (a + 1..objects).map(move |b| Pair { a, b }))
            .collect();
        let candidates = all.len();
        (0..count).for_each(|place| all.swap(place, place + rng.below(candidates - place)));
        all.truncate(count);
        all
    };
    let [pairs_before, pairs] = [before, now].map(&mut some_pairs);
    let capacities = [before, now].map(|count| (count + spare) as u32);
    let [previous_mask, table_mask] = capacities.map(|capacity| (2 * capacity.max(1)).next_power_of_two() - 1);
    let params = EventParams {
        pair_capacity: capacities[1],
        previous_capacity: capacities[0],
        table_mask,
        previous_mask,
        static_count: 4,
        static_generations: generations.statics.len() as u32,
        generations: generations.moving.len() as u32,
    };
    // Every fifth pair had other objects at its indices.
    let previous: Vec<_> = (0..)
        .zip(&pairs_before)
        .map(|(place, &pair)| {
            let row = event::row_of(&params, generations, pair);
            PairEvent {
                b_generation: row.b_generation + u32::from(place % 5 == 0),
                ..row
            }
        })
        .collect();
    let of_previous = EventParams {
        table_mask: previous_mask,
        ..params
    };
    let previous_table = event_insert::event_insert(&of_previous, &previous);
    let mut step_counters = used_counters();
    step_counters[STATUS] = 0xff;
    step_counters[10] = if spare > 0 { now as u32 } else { now as u32 + 7 };
    step_counters[11] = 0;
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![
            ("pairs", bytes(&pairs)),
            ("static_generations", bytes(generations.statics)),
            ("generations", bytes(generations.moving)),
            ("step_counters", bytes(&step_counters)),
            ("previous_rows", bytes(&previous)),
            ("previous_table", bytes(&previous_table)),
        ];
        [given, more].concat()
    };
    let [previous_rows, rows] = capacities.map(|capacity| capacity as usize);
    let (mut marks, mut matched) = event_match::event_match(&params, &pairs, generations, &previous, &previous_table);
    let found = bench.run(
        &shaders::EVENT_MATCH,
        groups(rows),
        uniform(&params),
        &inputs(vec![("marks", zeros(rows + 1)), ("matched", zeros(previous_rows + 1))]),
    );
    found.check("marks", &marks);
    found.check("matched", &matched);

    let mut counters: Vec<u32> = (50..50 + event::word::COUNT as u32).collect();
    for (marks, word) in [
        (&mut marks, event::word::PERSISTING),
        (&mut matched, event::word::MATCHED),
    ] {
        let scan = ScanParams {
            count: marks.len() as u32,
            total_word: word as u32,
            capacity: u32::MAX,
            status_bit: 0,
        };
        scan_reduce::scan(&scan, marks, &mut counters);
    }
    let before_emit = bytes(&counters);
    let status = step_counters[STATUS] | step_counters[UNFINISHED];
    let emitted = event_emit::event_emit(&params, &pairs, generations, status, &marks, &mut counters);
    let found = bench.run(
        &shaders::EVENT_EMIT,
        groups(rows),
        uniform(&params),
        &inputs(vec![
            ("marks", bytes(&marks)),
            ("rows", poison::<PairEvent>(rows)),
            ("counters", before_emit),
        ]),
    );
    found.check("rows", &emitted);
    found.check("counters", &counters);

    let mut previous_counters = vec![0; event::word::COUNT];
    previous_counters[event::word::PERSISTING] = before as u32 / 3;
    previous_counters[event::word::BEGUN] = (before - before / 3) as u32;
    let before_end = bytes(&counters);
    let ended = event_end::event_end(&previous, &matched, &mut counters);
    let found = bench.run(
        &shaders::EVENT_END,
        groups(previous_rows),
        uniform(&params),
        &inputs(vec![
            ("previous_counters", bytes(&previous_counters)),
            ("matched", bytes(&matched)),
            ("ended", poison::<PairEvent>(previous_rows)),
            ("counters", before_end),
        ]),
    );
    found.check("ended", &ended);
    found.check("counters", &counters);

    let found = bench.run(
        &shaders::EVENT_INSERT,
        groups(rows),
        uniform(&params),
        &[
            ("rows", bytes(&emitted)),
            ("counters", bytes(&counters)),
            ("table", zeros(table_mask as usize + 1)),
        ],
    );
    let table: Vec<u32> = found.take("table", table_mask as usize + 1);
    let places: Vec<_> = emitted
        .iter()
        .map(|row| event::find(&emitted, &table, table_mask, row))
        .collect();
    assert_eq!(places, (1..=emitted.len() as u32).collect::<Vec<_>>(), "{}", found.what);
    assert_eq!(
        table.iter().filter(|&&entry| entry != 0).count(),
        emitted.len(),
        "{}",
        found.what
    );
    let twin = event_insert::event_insert(&params, &emitted);
    assert!(
        places
            .iter()
            .zip(&emitted)
            .all(|(&place, row)| event::find(&emitted, &twin, table_mask, row) == place)
    );
}

/// Adapters side by side: most dispatches of these tests are too small for more than one processor. Tests take turns on an
/// adapter, because wgpu's GL takes a thread that waits for another one's long dispatch for a deadlock.
fn on_each_adapter(test: impl Fn(TestAdapter) + Sync) {
    static TURNS: [Mutex<()>; 4] = [const { Mutex::new(()) }; 4];
    let (test, adapters) = (&test, adapters());
    assert!(adapters.len() <= TURNS.len());
    std::thread::scope(|scope| {
        for (adapter, turn) in adapters.into_iter().zip(&TURNS) {
            scope.spawn(move || {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                test(adapter);
            });
        }
    });
}

/// Whether WebGPU would allow a pass does not depend on the boxes: there, enough scenes are tried to run every pass.
fn is_tried(scene: &Scene) -> bool {
    let flags = wgpu::InstanceFlags::from_env_or_default();
    !flags.contains(wgpu::InstanceFlags::STRICT_WEBGPU_COMPLIANCE)
        || (255..=257).contains(&scene.objects.len()) && scene.name.starts_with("lattice")
}

/// Objects in so many cells that walks of rays are given up for a look at each object.
#[test]
fn rays_along_rods_equal_their_reference() {
    let overrides = Overrides {
        filters: true,
        count_candidates: true,
    };
    on_each_adapter(|adapter| {
        let mut bench = Bench::new(adapter);
        let mut rng = Rng(12);
        for count in [40, 1_500] {
            let (mut objects, rays) = rods(count, 60, &mut rng);
            // The large list, a box that is invalid, and one that takes no part.
            objects[3].max[1] = f32::INFINITY;
            objects[5].min[0] = f32::NAN;
            objects[8].owner = Aabb::EXCLUDED;
            let scene = Scene {
                name: format!("{count} rods"),
                objects,
                rays,
            };
            let whole = descriptor(Scheme::Uniform { cell_size: 1.0 }, None);
            check_scene(&mut bench, &whole, &scene, &[overrides]);
            let worlds = BroadPhaseDescriptor { worlds: 3, ..whole };
            check_parts(&mut bench, &worlds, &scene, count / 3, &[overrides]);
        }
    });
}

#[test]
fn every_pass_equals_its_reference() {
    let overrides = |filters, count_candidates| Overrides {
        filters,
        count_candidates,
    };
    on_each_adapter(|adapter| {
        let strategies = strategies(&adapter);
        let features = adapter.device.features();
        let mut bench = Bench::new(adapter);
        for (index, scene) in scenes(42).enumerate().filter(|(_, scene)| is_tried(scene)) {
            bench.fold = [65_535, 1, 3][index % 3];
            let descriptor = |scheme, entries| BroadPhaseDescriptor {
                sort: strategies[index % strategies.len()],
                ..descriptor(scheme, entries)
            };
            let mut walks = vec![overrides(true, true), overrides(false, true)];
            if index % 4 == 0 {
                walks.push(overrides(true, false));
            }
            let hierarchical = descriptor(Scheme::Hierarchical, None);
            check_scene(&mut bench, &hierarchical, &scene, &walks);
            let uniform_scheme = Scheme::Uniform { cell_size: 1.25 };
            let covered = descriptor(uniform_scheme, None);
            let needed = check_scene(&mut bench, &covered, &scene, &walks);
            let adaptive = descriptor(Scheme::Adaptive { min_scale: 0.3 }, None);
            check_scene(&mut bench, &adaptive, &scene, &walks[..1]);
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
            // By turns: both change boxes before anything else, and no pass after that knows of it.
            let changed = if index % 2 == 0 { flat } else { periodic };
            check_scene(&mut bench, &changed, &scene, &walks[..1]);
            let worlds = BroadPhaseDescriptor {
                worlds: [3, 64, 1000][index % 3],
                ..all[(index / 3) % 3]
            };
            check_scene(&mut bench, &worlds, &scene, &walks[..1]);
            // In two parts, and all of them in one.
            let parts = [all[index % 3], flat, periodic, worlds][index % 4];
            let static_count = [
                scene.objects.len() / 2,
                scene.objects.len() / 20 * 19,
                scene.objects.len(),
            ][index % 3];
            check_parts(&mut bench, &parts, &scene, static_count, &walks[..2]);
            // As a step has it, with room to spare, and one whose entries overflow.
            let capacity = if index % 2 == 0 { needed + 300 } else { needed / 2 + 1 };
            check_scene(
                &mut bench,
                &descriptor(uniform_scheme, Some(capacity)),
                &scene,
                &walks[..1],
            );
        }
        let mut rng = Rng(43);
        for (index, count) in [0, 1, 255, 256, 257, 2047, 2048, 2049, 2048 * 256 + 1]
            .into_iter()
            .enumerate()
        {
            bench.fold = [65_535, 2][index % 2];
            let spare = [0, 5000][index % 2];
            let small: Vec<u32> = (0..count + spare).map(|_| rng.below(9) as u32).collect();
            check_scan(&mut bench, &small, spare);
            // Totals past 32 bits: offsets stop at the largest, the total goes on.
            let large: Vec<u32> = (0..count + spare).map(|_| rng.bits() as u32).collect();
            check_scan(&mut bench, &large, spare);
        }
        for (index, slots) in [0, 1, 255, 256, 257, 513, 5000].into_iter().enumerate() {
            bench.fold = [65_535, 1, 3][index % 3];
            check_scatter(&mut bench, slots, [0, slots / 4][index % 2], &mut rng);
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
            check_events(&mut bench, counts, [0, 700][index % 2], &mut rng);
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
                check_dispatch(&mut bench, needed, [first, capacity, workgroup_rows]);
            }
        }
        for (rows, stride, limit) in [(1, 2, 0), (300, 2, 77), (256, 3, 256), (500, 4, 0), (70, 4, 5000)] {
            check_limit(&mut bench, rows, stride, limit, &mut rng);
        }
        let covered = bench.run.borrow().clone();
        let can_run = |pass: &&Pass| features.contains(pass.features());
        let table: BTreeSet<_> = passes().filter(can_run).map(|pass| pass.name).collect();
        assert_eq!(covered, table, "{}", bench.adapter.name);
    });
}

/// Keys whose order or sameness strains a sort.
fn keys_to_sort(count: usize, rng: &mut Rng) -> [Vec<u32>; 6] {
    let random: Vec<_> = (0..count).map(|_| rng.bits() as u32).collect();
    let mut sorted = random.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let few = random.iter().map(|key| key & 0x0300_0300).collect();
    let top = random.iter().map(|key| key | 0xfff0_0000).collect();
    [random, sorted, reversed, few, top, vec![0x00ff_00ff; count]]
}

#[test]
fn sorting_is_stable_at_every_tile_boundary() {
    on_each_adapter(|adapter| {
        let mut rng = Rng(9);
        for strategy in strategies(&adapter) {
            let mut bench = Bench::new(adapter.clone());
            // Strips share the keys.
            let (tiles, digits): (&[u32], &[(u32, u32)]) = match strategy {
                SortStrategy::Subgroups => (&[3328], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
                SortStrategy::Strips => (&[1, 100, 1024], &[(0, 8), (24, 8), (3, 5), (31, 1), (20, 12), (0, 11)]),
                _ => (&[1920], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
            };
            let mut case = 0;
            for &tile in tiles {
                for count in [0, 1, tile - 1, tile, tile + 1, 2 * tile + 1, 9 * tile] {
                    for keys in keys_to_sort(count as usize, &mut rng) {
                        let (shift, bits) = digits[case % digits.len()];
                        let spare = [0, 700, tile][case % 3];
                        bench.fold = [65_535, 2][case % 2];
                        case += 1;
                        let grid = Grid {
                            entry_count: count,
                            ..Default::default()
                        };
                        let sort = SortParams {
                            shift,
                            bits,
                            tile: if strategy == SortStrategy::Strips { 0 } else { tile },
                            tiles: (count + spare).div_ceil(tile).max(1),
                        };
                        bench.scene = format!("{count} keys, {sort:?}, case {case}");
                        let values: Vec<u32> = (0..count).collect();
                        check_sort(&bench, strategy, &sort, &grid, &keys, &values);
                    }
                }
            }
        }
    });
}

#[test]
fn digits_cover_all_bits_of_a_key_and_tiles_all_keys() {
    use SortStrategy::{Auto, Portable, Strips, Subgroups};
    for strategy in [Auto, Portable, Subgroups, Strips] {
        for bits in 1..=32 {
            for keys in [0, 1, 1919, 1921, 100_000, 1_000_000, 4_000_000, (1 << 31) - 1] {
                let digits = SortParams::digits_of(strategy, keys, bits);
                let mut next = 0;
                for sort in &digits {
                    assert_eq!(sort.shift, next);
                    assert!(sort.bits > 0);
                    next += sort.bits;
                    let fits = u64::from(sort.tiles) * u64::from(sort.tile) >= u64::from(keys);
                    assert!(sort.tiles > 0 && (fits || strategy == Strips && sort.tile == 0));
                }
                assert_eq!(next, bits);
                assert_eq!(
                    (digits[0].tile, digits[0].tiles),
                    (digits[digits.len() - 1].tile, digits[0].tiles)
                );
            }
        }
        assert!(SortParams::digits_of(strategy, 5, 0).is_empty());
    }
}

/// The table of `keys`, an invocation each, and two where a part of them are of the cover table.
fn check_starts(bench: &Bench, cells: u32, keys: &[u32]) {
    let grid = Grid {
        table_cells: cells,
        key_count: cells + 2,
        entry_count: keys.len() as u32,
        ..Default::default()
    };
    let expected = cell_starts::cell_starts(&grid, keys);
    for entry_capacity in [keys.len(), keys.len() - keys.len() / 5] {
        let params = Params {
            entry_capacity: entry_capacity as u32,
            ..Default::default()
        };
        let found = bench.run(
            &shaders::CELL_STARTS,
            groups(entry_capacity + 1),
            uniform(&params),
            &[
                ("grid", bytes_of(&grid).to_vec()),
                ("keys", bytes(keys)),
                ("starts", poison::<u32>(cells as usize + 2)),
            ],
        );
        found.check("starts", &expected);
    }
}

#[test]
fn long_gaps_of_the_table_are_filled() {
    on_each_adapter(|adapter| {
        let bench = Bench::new(adapter);
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
    });
}

#[test]
fn more_workgroups_than_one_dimension_has_are_all_run() {
    on_each_adapter(|adapter| {
        let bench = Bench::new(adapter);
        let entries = 256 * 65_535 + 300;
        let keys: Vec<u32> = (0..entries).map(|entry| entry >> 7).collect();
        check_starts(&bench, (entries >> 7) + 40, &keys);
    });
}
