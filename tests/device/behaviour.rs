//! Outputs in default order, and the work that the host records: `behaviour.txt`. `GPU_BROAD_PHASE_REWRITE=1` records
//! them again, for the adapters that run.

mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::golden::hash;
use crate::common::steps::{self, encoder};
use crate::common::{TestAdapter, adapters};
use cases::cases;
use gpu_broad_phase::internals::{Work, watch};
use gpu_broad_phase::{
    Backend, BroadPhase, BroadPhaseDescriptor, Counters, GpuBroadPhase, Page, QueryInput, Scene, StepOutput,
    StepResult, wgpu,
};
use pollster::block_on;

const REWRITE: &str = "GPU_BROAD_PHASE_REWRITE";
const COLUMNS: [&str; 11] = [
    "case",
    "on",
    "pairs",
    "hits",
    "results",
    "outputs",
    "stages",
    "dispatches",
    "transfers",
    "buffers",
    "bytes",
];

pub struct Case {
    name: &'static str,
    descriptor: BroadPhaseDescriptor<'static>,
    is_on_cpu: bool,
    body: fn(&mut Run<'_>),
}

enum Engine<'a> {
    Gpu(&'a TestAdapter, Box<GpuBroadPhase>),
    Cpu(Box<BroadPhase>),
}

pub struct Run<'a> {
    engine: Engine<'a>,
    descriptor: BroadPhaseDescriptor<'static>,
    /// Pairs, hits, query results.
    rows: [usize; 3],
    outputs: Vec<u32>,
    counters: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(case: &Case, adapter: Option<&'a TestAdapter>) -> Self {
        let engine = match adapter {
            Some(adapter) => Engine::Gpu(adapter, Box::new(steps::broad_phase(adapter, &case.descriptor))),
            None => Engine::Cpu(Box::new(
                block_on(BroadPhase::with_backend(&case.descriptor, Backend::Cpu)).unwrap(),
            )),
        };
        Self {
            engine,
            descriptor: case.descriptor,
            rows: [0; 3],
            outputs: Vec::new(),
            counters: Vec::new(),
        }
    }

    fn adapter(&self) -> Option<&'a TestAdapter> {
        match self.engine {
            Engine::Gpu(adapter, _) => Some(adapter),
            Engine::Cpu(_) => None,
        }
    }

    /// Records, submits and waits. Returns `None` on the CPU.
    fn on_gpu<T>(&mut self, record: impl FnOnce(&mut GpuBroadPhase, &mut wgpu::CommandEncoder) -> T) -> Option<T> {
        let Engine::Gpu(adapter, gpu) = &mut self.engine else {
            return None;
        };
        let mut encoder = encoder(adapter);
        let output = record(gpu, &mut encoder);
        adapter.queue.submit([encoder.finish()]);
        // Counters arrive before the next step is recorded.
        adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        Some(output)
    }

    fn read_gpu(&mut self) {
        if let Engine::Gpu(_, gpu) = &mut self.engine {
            let result = steps::read(gpu);
            self.observe(&result);
        }
    }

    fn step(&mut self, scene: &Scene<'_>) {
        if let Engine::Cpu(cpu) = &mut self.engine {
            let result = block_on(cpu.step_scene(scene)).unwrap();
            return self.observe(&result);
        }
        self.on_gpu(|gpu, encoder| gpu.step(encoder, *scene).unwrap());
        self.read_gpu();
    }

    fn query(&mut self, input: &QueryInput<'_>) {
        if let Engine::Cpu(cpu) = &mut self.engine {
            let result = block_on(cpu.query(input)).unwrap();
            return self.observe(&result);
        }
        self.on_gpu(|gpu, encoder| gpu.query(encoder, *input).unwrap());
        self.read_gpu();
    }

    fn page(&mut self, first: Page) {
        self.on_gpu(|gpu, encoder| gpu.page(encoder, first).unwrap());
        self.read_gpu();
    }

    fn step_and(&mut self, scene: &Scene<'_>, record: impl FnOnce(&mut wgpu::CommandEncoder, &StepOutput)) {
        self.on_gpu(|gpu, encoder| {
            let output = gpu.step(encoder, *scene).unwrap();
            record(encoder, &output);
        });
        self.read_gpu();
    }

    fn observe(&mut self, result: &StepResult) {
        let StepResult {
            pairs,
            ray_hits,
            ray_offsets,
            ray_any,
            ray_cells,
            ray_cell_offsets,
            query_objects,
            query_offsets,
            query_nearest,
            world_pairs,
            world_offsets,
            counters,
            timings,
        } = result;
        let counted = [
            pairs.len(),
            ray_hits.len() + ray_any.len(),
            query_objects.len() + query_nearest.len(),
        ];
        for (rows, more) in self.rows.iter_mut().zip(counted) {
            *rows += more;
        }
        let nearest: Vec<_> = query_nearest.iter().map(|nearest| nearest.object).collect();
        let stages: String = timings.iter().map(|time| time.stage).collect();
        for words in [
            bytemuck::cast_slice(pairs),
            bytemuck::cast_slice(ray_hits),
            ray_offsets,
            ray_any,
            bytemuck::cast_slice(ray_cells),
            ray_cell_offsets,
            query_objects,
            query_offsets,
            &nearest,
            world_pairs,
        ] {
            self.words(words);
        }
        if !world_offsets.is_empty() {
            self.words(world_offsets);
        }
        self.words(&stages.bytes().map(u32::from).collect::<Vec<_>>());
        self.words(
            &counts(counters)
                .map(|count| [count as u32, (count >> 32) as u32])
                .concat(),
        );
        self.counters.push(format!("{counters:?}"));
    }

    fn words(&mut self, words: &[u32]) {
        self.outputs.push(words.len() as u32);
        self.outputs.extend_from_slice(words);
    }
}

fn counts(counters: &Counters) -> [u64; 26] {
    let Counters {
        objects,
        invalid,
        excluded,
        large,
        levels,
        table_cells,
        entries_needed,
        entries_capacity,
        static_entries_needed,
        static_entries_capacity,
        pairs_needed,
        pairs_capacity,
        hits_needed,
        hits_capacity,
        ray_cells_needed,
        ray_cells_capacity,
        results_needed,
        results_capacity,
        queries_invalid,
        query_candidates,
        rays_invalid,
        pair_candidates,
        ray_candidates,
        rounds_needed,
        rounds_capacity,
        status,
    } = *counters;
    [
        objects.into(),
        invalid.into(),
        excluded.into(),
        large.into(),
        levels.into(),
        table_cells.into(),
        entries_needed,
        entries_capacity.into(),
        static_entries_needed,
        static_entries_capacity.into(),
        pairs_needed,
        pairs_capacity.into(),
        hits_needed,
        hits_capacity.into(),
        ray_cells_needed,
        ray_cells_capacity.into(),
        results_needed,
        results_capacity.into(),
        queries_invalid.into(),
        query_candidates,
        rays_invalid.into(),
        pair_candidates,
        ray_candidates,
        rounds_needed.into(),
        rounds_capacity.into(),
        status.bits().into(),
    ]
}

fn short(words: impl IntoIterator<Item = u32>) -> String {
    let hash = hash(words);
    format!("{:08x}", (hash ^ hash >> 32) as u32)
}

fn counted(lines: &[String]) -> String {
    let hash = short(lines.join("\n").bytes().map(u32::from));
    format!("{}/{hash}", lines.len())
}

/// Lists by column, and bytes of buffers. Omits uniform and staging buffers and bind groups.
fn lists(log: &[Work]) -> ([Vec<String>; 4], u64) {
    let (mut columns, mut total) = ([const { Vec::new() }; 4], 0);
    let host = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE;
    for work in log {
        let (column, line) = match work {
            Work::Stage(label) => (0, label.clone()),
            Work::Dispatch { pass, groups } => {
                (1, groups.map_or(format!("{pass} indirect"), |n| format!("{pass} {n}")))
            }
            Work::Clear { buffer, bytes } => (2, format!("clear {buffer} {bytes}")),
            Work::Copy { to, bytes } => (2, format!("copy to {to} {bytes}")),
            Work::Buffer { label, bytes, usage } if !usage.intersects(host) => {
                total += bytes;
                (3, format!("{label} {bytes}"))
            }
            Work::Buffer { .. } | Work::BindGroup { .. } => continue,
        };
        columns[column].push(line);
    }
    columns[3].sort();
    (columns, total)
}

/// Returns the line, and everything that it counts.
fn observed(case: &Case, adapter: Option<&TestAdapter>) -> (Vec<String>, String) {
    let (run, log) = watch(|| {
        let mut run = Run::new(case, adapter);
        (case.body)(&mut run);
        run
    });
    let mut line = vec![case.name.to_owned(), short_name(adapter).to_owned()];
    line.extend(run.rows.map(|rows| rows.to_string()));
    line.push(short(run.outputs.iter().copied()));
    if adapter.is_some() {
        let (lists, bytes) = lists(&log);
        line.extend(lists.iter().map(|list| counted(list)));
        line.push(bytes.to_string());
    }
    let work: Vec<_> = log.iter().map(|work| format!("{work:?}")).collect();
    let all = format!("## {}\n{}\n{}\n", case.name, work.join("\n"), run.counters.join("\n"));
    (line, all)
}

fn short_name(adapter: Option<&TestAdapter>) -> &str {
    adapter.map_or("cpu", |adapter| adapter.name.split(' ').next().unwrap_or_default())
}

/// Two or more spaces separate columns.
fn text(line: &[String]) -> String {
    const WIDTHS: [usize; 11] = [32, 6, 6, 5, 7, 8, 12, 13, 12, 12, 0];
    let padded = line.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:width$}"));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn key(line: &str) -> String {
    let mut cells = line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim);
    let (case, on) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    format!("{case} on {on}")
}

fn differences(old: &str, new: &str) -> String {
    let cells = |line: &str| {
        let cells = line.split("  ").map(|cell| cell.trim().to_owned());
        cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    let (old, new) = (cells(old), cells(new));
    let differ = (0..COLUMNS.len()).filter(|&column| old.get(column) != new.get(column));
    differ.map(|column| COLUMNS[column]).collect::<Vec<_>>().join(", ")
}

#[test]
fn steps_keep_their_behaviour() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("device");
    let file = folder.join("behaviour.txt");
    let recorded = fs::read_to_string(&file).unwrap_or_default();
    let mut lines: BTreeMap<_, _> = recorded
        .lines()
        .skip(1)
        .map(|line| (key(line), line.to_owned()))
        .collect();
    let adapters = adapters();
    // The work depends on the device.
    let software = adapters.iter().filter(|adapter| adapter.name.contains("llvmpipe"));
    let all: Vec<_> = [None].into_iter().chain(software.map(Some)).collect();
    let cases = cases();
    let (mut faults, mut order) = (Vec::new(), Vec::new());
    for adapter in &all {
        let mut everything = String::new();
        for case in cases.iter().filter(|case| adapter.is_some() || case.is_on_cpu) {
            let (line, all) = observed(case, *adapter);
            let new = text(&line);
            everything.push_str(&all);
            order.push(key(&new));
            let old = lines.insert(key(&new), new.clone()).unwrap_or_default();
            if old != new {
                faults.push(format!("{}\n  before: {old}\n  now:    {new}", differences(&old, &new)));
            }
        }
        let lists = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("behaviour.{}.txt", short_name(*adapter)));
        fs::write(lists, everything).unwrap();
    }
    let is_of = |key: &str| {
        all.iter()
            .any(|adapter| key.ends_with(&format!(" on {}", short_name(*adapter))))
    };
    let gone: Vec<_> = lines
        .keys()
        .filter(|key| is_of(key) && !order.contains(key))
        .cloned()
        .collect();
    if std::env::var_os(REWRITE).is_some() {
        gone.iter().for_each(|key| drop(lines.remove(key)));
        let header = text(&COLUMNS.map(str::to_owned));
        let lines: Vec<_> = [header].into_iter().chain(lines.into_values()).collect();
        return fs::write(&file, lines.join("\n") + "\n").unwrap();
    }
    assert!(gone.is_empty(), "no such cases: {gone:?}");
    assert!(
        faults.is_empty(),
        "{} lines of tests/device/behaviour.txt differ. {REWRITE}=1 rewrites them; the work of each case is in \
         {}/behaviour.*.txt.\n{}",
        faults.len(),
        env!("CARGO_TARGET_TMPDIR"),
        faults.join("\n")
    );
}
