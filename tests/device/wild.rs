//! Random scenes by number, on each adapter: results are those of brute force and of the CPU engine, with few box
//! tests.
//!
//! `GPU_BROAD_PHASE_WILD` selects scenes: `20000` the first 20,000, `7000..9000` a range. A single scene (`7123..7124`)
//! is printed with `-- --nocapture`, and reduced if it fails.

mod inputs;
mod shrink;

use std::collections::{HashMap, HashSet};
use std::mem::Discriminant;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::pool::opened;
use crate::common::steps::{broad_phase, encoder, query, read, submit};
use crate::common::{TestAdapter, adapters, daily_or_full, is_full};
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::{
    BroadPhase, BroadPhaseDescriptor, GpuBroadPhase, Growth, OutputOptions, Page, QueryInput, RayCell, RayMode,
    ResultOrder, Scene, Scheme, Status, StepResult, cpu,
};
use inputs::Inputs;
use pollster::block_on;
use shrink::shrunk;
use wild::{
    Expected, Wild, caught, check_definition, check_later, check_reference, check_searches, check_work, check_worlds,
};

/// Most pages that are joined.
const PAGES: usize = 12;

/// Also as WGSL, which [`BroadPhaseDescriptor::pair_filter`] takes.
fn admits_pair(a: u32, b: u32) -> bool {
    !(7 * a + b).is_multiple_of(3)
}

const ADMITS_PAIR: &str = "fn admits_pair(a: u32, b: u32) -> bool { return (7u * a + b) % 3u != 0u; }";

fn generation() -> u64 {
    static GENERATION: AtomicU64 = AtomicU64::new(0);
    GENERATION.fetch_add(1, Ordering::Relaxed)
}

/// The calls that turn a scene into results.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Calls {
    Step,
    /// As [`Step`](Self::Step), with inputs at random offsets and strides of buffers, and some counts on the device.
    Strided,
    /// A step without rays and queries, which a query set then runs.
    QuerySet,
    /// A step of a [`BroadPhase`].
    BroadPhase,
}

/// True for the most usual choice of pipelines.
fn is_plain(descriptor: &BroadPhaseDescriptor<'_>) -> bool {
    descriptor.filters && descriptor.worlds == 1 && descriptor.periods == [0.0; 3]
}

struct Case {
    number: u64,
    descriptor: BroadPhaseDescriptor<'static>,
    wild: Wild,
    calls: Calls,
    inputs: Option<Inputs>,
}

impl Case {
    fn new(number: u64) -> Self {
        let descriptor = wild::descriptor(number);
        let mut wild = wild::scene(number, &descriptor);
        let is_plain = is_plain(&descriptor);
        let calls = match number % 7 {
            0 | 3 if is_plain => Calls::BroadPhase,
            1 => Calls::QuerySet,
            2 | 5 => Calls::Strided,
            _ => Calls::Step,
        };
        let has_filter = number % 13 == 8 && is_plain;
        Self {
            number,
            descriptor: BroadPhaseDescriptor {
                pair_filter: has_filter.then_some(ADMITS_PAIR),
                ..descriptor
            },
            inputs: (calls == Calls::Strided).then(|| Inputs::new(number, &mut wild)),
            wild,
            calls,
        }
    }

    fn has_filter(&self) -> bool {
        self.descriptor.pair_filter.is_some()
    }

    /// In daily runs, later adapters take the most usual descriptors only, since others need more pipelines.
    fn is_daily(&self, is_first: bool) -> bool {
        wild::is_daily(&self.descriptor) && (is_first || (is_plain(&self.descriptor) && !self.has_filter()))
    }

    fn on_cpu(&self, descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> StepResult {
        let descriptor = &BroadPhaseDescriptor {
            pair_filter: None,
            ..*descriptor
        };
        let admits: &(dyn Fn(u32, u32) -> bool + Sync) = match self.has_filter() {
            true => &admits_pair,
            false => &|_, _| true,
        };
        cpu::step_scene_where(descriptor, scene, admits).unwrap()
    }

    fn expected(&self, descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Expected {
        let mut expected = Expected::of(descriptor, scene);
        if self.has_filter() {
            expected.retain_pairs(scene, admits_pair);
        }
        expected
    }

    fn name(&self) -> String {
        let (number, calls, kind) = (self.number, self.calls, self.wild.kind);
        let BroadPhaseDescriptor {
            scheme,
            dimensions,
            margin,
            periods,
            worlds,
            ..
        } = self.descriptor;
        let axes = dimensions.count();
        format!(
            "scene {number} ({kind}, {calls:?}, {scheme:?}, {axes}D, margin {margin}, periods {periods:?}, worlds {worlds}; \
             again: {})",
            wild::again(number, "device")
        )
    }
}

enum Engine {
    Gpu(Box<GpuBroadPhase>),
    BroadPhase(Box<BroadPhase>),
}

/// Properties that select pipelines. The last is true for a device of its own.
type Kind = (Discriminant<Scheme>, [bool; 6]);

fn kind_of(case: &Case) -> Kind {
    let descriptor = &case.descriptor;
    let switches = [
        descriptor.filters,
        descriptor.count_candidates,
        descriptor.worlds > 1,
        descriptor.periods != [0.0; 3],
        case.has_filter(),
        case.calls == Calls::BroadPhase,
    ];
    (std::mem::discriminant(&descriptor.scheme), switches)
}

struct Device {
    adapter: TestAdapter,
    is_first: bool,
    engines: HashMap<Kind, Engine>,
}

impl Device {
    /// Returns an engine that earlier scenes used, which must not change results.
    fn engine(&mut self, case: &Case) -> &mut Engine {
        let (adapter, descriptor) = (&self.adapter, &case.descriptor);
        let make = || match case.calls {
            Calls::BroadPhase => Engine::BroadPhase(Box::new(opened(adapter, descriptor))),
            _ => Engine::Gpu(Box::new(broad_phase(adapter, descriptor))),
        };
        self.engines.entry(kind_of(case)).or_insert_with(make)
    }

    /// Compares all results of a case. `tally` counts their rows.
    fn check(&mut self, case: &Case, reference: &Reference, tally: &mut Tally) {
        let adapter = self.adapter.clone();
        let (descriptor, wild) = (&case.descriptor, &case.wild);
        let host = wild.scene(generation());
        let buffers = case.inputs.as_ref().map(|inputs| inputs.upload(&adapter.device));
        let scene = match (&case.inputs, &buffers) {
            (Some(inputs), Some(buffers)) => inputs.scene(host, buffers),
            _ => host,
        };
        match self.engine(case) {
            Engine::BroadPhase(broad_phase) => broad_phase.set_descriptor(descriptor).unwrap(),
            Engine::Gpu(gpu) => gpu.set_descriptor(descriptor).unwrap(),
        }
        let result = match self.engine(case) {
            Engine::BroadPhase(broad_phase) => block_on(broad_phase.step_scene(&scene)).unwrap(),
            Engine::Gpu(gpu) if case.calls == Calls::QuerySet => {
                let (of_step, of_set) = run_query_set(&adapter, gpu, &scene);
                let (step, set) = (without_queries(host), without_pairs(*descriptor));
                let expected = case.expected(descriptor, &step);
                check_definition(descriptor, &step, &expected, &of_step, "the step of a set");
                check_reference(descriptor, &step, &of_step, &case.on_cpu(descriptor, &step));
                check_work(descriptor, wild, &of_step.counters);
                check_definition(&set, &host, &reference.expected, &of_set, "a query set");
                if descriptor.outputs.growth == Growth::Grow {
                    check_searches(descriptor, &host, &of_set, &reference.on_cpu);
                }
                tally.count(&of_step);
                tally.count(&of_set);
                return;
            }
            Engine::Gpu(gpu) => whole(descriptor, || {
                submit(&adapter, gpu, scene);
                read(gpu)
            }),
        };
        tally.count(&result);
        check_definition(descriptor, &host, &reference.expected, &result, "definition");
        check_reference(descriptor, &host, &result, &reference.on_cpu);
        check_work(descriptor, wild, &result.counters);
        if descriptor.outputs.growth == Growth::Grow {
            check_cells(&result, &reference.on_cpu);
            if descriptor.outputs.order == ResultOrder::Deterministic && !case.has_filter() {
                assert!(
                    result.pairs == trace(descriptor, &host).unwrap().pairs,
                    "order of pairs"
                );
            }
        } else if let Engine::Gpu(gpu) = self.engine(case) {
            join_pages(&adapter, gpu, case, &host, result);
        }
        let Some(later) = wild.later_input().filter(|_| !case.has_filter()) else {
            return;
        };
        let result = match self.engine(case) {
            Engine::BroadPhase(broad_phase) => block_on(broad_phase.query(&later)).unwrap(),
            Engine::Gpu(gpu) => whole(descriptor, || query(&adapter, gpu, later)),
        };
        tally.count(&result);
        check_later(descriptor, &host, &later, &result);
    }
}

/// Rounding may move a ray to other cells at borders, which are next to those of the CPU.
fn check_cells(result: &StepResult, on_cpu: &StepResult) {
    assert_eq!(result.counters.ray_cells_needed, result.ray_cells.len() as u64);
    let cells = |of: &StepResult| -> Vec<HashSet<_>> {
        let lists = of.ray_cell_offsets.windows(2);
        lists
            .map(|ends| {
                of.ray_cells[ends[0] as usize..ends[1] as usize]
                    .iter()
                    .copied()
                    .collect()
            })
            .collect()
    };
    assert_eq!(result.ray_cell_offsets.len(), on_cpu.ray_cell_offsets.len());
    for (ray, (found, expected)) in cells(result).iter().zip(&cells(on_cpu)).enumerate() {
        for (cells, others) in [(found, expected), (expected, found)] {
            let is_near = |cell: &RayCell| {
                (0..27).any(|side| {
                    let [x, y, z] = [side % 3, side / 3 % 3, side / 9].map(|side| side - 1);
                    let (level, [x, y, z]) = (cell.level, [cell.x + x, cell.y + y, cell.z + z]);
                    others.contains(&RayCell { level, x, y, z })
                })
            };
            let differing = cells.difference(others);
            let far = differing.clone().find(|cell| !is_near(cell));
            assert!(
                far.is_none() && differing.count() <= 2 + cells.len() / 16,
                "ray {ray}: {cells:?}, not {others:?}"
            );
        }
    }
}

fn without_pairs(descriptor: BroadPhaseDescriptor<'_>) -> BroadPhaseDescriptor<'_> {
    BroadPhaseDescriptor {
        pairs: false,
        ..descriptor
    }
}

fn without_queries(scene: Scene<'_>) -> Scene<'_> {
    Scene {
        query: QueryInput::default(),
        ..scene
    }
}

/// Returns the results of the step and of the set.
fn run_query_set(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, scene: &Scene<'_>) -> (StepResult, StepResult) {
    let descriptor = gpu.descriptor();
    let (is_fixed, mut set) = (
        descriptor.outputs.growth == Growth::Fixed,
        gpu.query_set("set", &descriptor.outputs).expect("options"),
    );
    for _ in 0..6 {
        let mut encoder = encoder(adapter);
        let step = gpu.step(&mut encoder, without_queries(*scene)).unwrap();
        set.record(&mut encoder, &step, scene.query).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let results = (read(gpu), block_on(set.read_back()).unwrap());
        if is_fixed || (results.0.counters.is_complete() && results.1.counters.is_complete()) {
            return results;
        }
    }
    panic!("still not whole after six steps");
}

/// Checks the whole results, of which `joined` is the first part.
fn join_pages(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, case: &Case, host: &Scene<'_>, mut joined: StepResult) {
    let whole = BroadPhaseDescriptor {
        outputs: OutputOptions {
            growth: Growth::Grow,
            // Pages ascend each in itself.
            order: ResultOrder::Deterministic,
            ..case.descriptor.outputs
        },
        ..case.descriptor
    };
    let lacks_search = joined.counters.status.has(Status::ENTRIES | Status::ROUNDS);
    let needed = joined.counters;
    let lacks = |joined: &StepResult| {
        (joined.pairs.len() as u64) < needed.pairs_needed
            || (joined.ray_hits.len() as u64) < needed.hits_needed
            || (joined.ray_cells.len() as u64) < needed.ray_cells_needed
            || (joined.query_objects.len() as u64) < needed.results_needed
    };
    for _ in 0..PAGES {
        if lacks_search || !lacks(&joined) {
            break;
        }
        let page = Page {
            pairs: joined.pairs.len() as u32,
            hits: joined.ray_hits.len() as u32,
            ray_cells: joined.ray_cells.len() as u32,
            results: joined.query_objects.len() as u32,
        };
        let mut encoder = encoder(adapter);
        gpu.page(&mut encoder, page).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let part = read(gpu);
        let is_sorted = case.descriptor.outputs.order == ResultOrder::Sorted && case.descriptor.worlds == 1;
        assert!(!is_sorted || part.pairs.is_sorted(), "a page does not ascend");
        check_worlds(&case.descriptor, host, &part, "a page");
        joined.pairs.extend(part.pairs);
        // Closest hits have no pages and stay.
        if whole.outputs.ray_mode == RayMode::All {
            joined.ray_hits.extend(part.ray_hits);
        }
        joined.ray_cells.extend(part.ray_cells);
        joined.query_objects.extend(part.query_objects);
    }
    if !lacks_search && !lacks(&joined) {
        joined.counters.status = Status::default();
        joined.world_offsets.clear();
        check_definition(&whole, host, &case.expected(&whole, host), &joined, "joined pages");
        check_reference(&whole, host, &joined, &case.on_cpu(&whole, host));
    }
}

fn whole(descriptor: &BroadPhaseDescriptor<'_>, mut step: impl FnMut() -> StepResult) -> StepResult {
    for _ in 0..6 {
        let result = step();
        if descriptor.outputs.growth == Growth::Fixed || result.counters.is_complete() {
            return result;
        }
    }
    panic!("still not whole after six steps");
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    scenes: usize,
    pairs: usize,
    hits: usize,
    results: usize,
}

impl Tally {
    fn count(&mut self, result: &StepResult) {
        self.pairs += result.pairs.len();
        self.hits += result.ray_hits.len() + result.ray_any.len();
        self.results += result.query_objects.len() + result.query_nearest.len();
    }
}

struct Reference {
    on_cpu: StepResult,
    expected: Expected,
}

impl Reference {
    fn new(case: &Case) -> Self {
        let scene = case.wild.scene(generation());
        Self {
            on_cpu: case.on_cpu(&case.descriptor, &scene),
            expected: case.expected(&case.descriptor, &scene),
        }
    }

    fn check(&self, case: &Case) {
        let scene = case.wild.scene(generation());
        check_definition(&case.descriptor, &scene, &self.expected, &self.on_cpu, "CPU");
        check_work(&case.descriptor, &case.wild, &self.on_cpu.counters);
    }
}

fn faults_of(device: &mut Device, case: &Case, tally: &mut Tally) -> Vec<String> {
    let reference = match caught(|| Reference::new(case)) {
        Ok(reference) => reference,
        Err(fault) => return vec![format!("CPU: {fault}")],
    };
    tally.scenes += 1;
    let mut faults = Vec::new();
    if device.is_first {
        faults.extend(
            caught(|| reference.check(case))
                .err()
                .map(|fault| format!("CPU: {fault}")),
        );
    }
    if let Err(fault) = caught(|| device.check(case, &reference, tally)) {
        faults.push(format!("{}: {fault}", device.adapter.name));
        // A step may have stopped half-way.
        device.engines.remove(&kind_of(case));
    }
    faults
}

/// A further daily scene, with rays that are slow in units of cells.
const ALSO_DAILY: [u64; 1] = [751];

fn run(adapter: TestAdapter, scenes: Range<u64>, is_first: bool) -> (Tally, Vec<String>) {
    let runs_all = is_full() || wild::is_selected();
    let is_single = scenes.end - scenes.start == 1;
    let more = ALSO_DAILY.into_iter().filter(|_| !wild::is_selected());
    let mut device = Device {
        adapter,
        is_first,
        engines: HashMap::new(),
    };
    let (mut tally, mut faults) = (Tally::default(), Vec::new());
    for number in scenes.chain(more) {
        let case = Case::new(number);
        if !runs_all && !case.is_daily(is_first) {
            continue;
        }
        if is_single {
            eprintln!("{:?}\n{:?}", case.descriptor, case.wild);
        }
        let of_case = faults_of(&mut device, &case, &mut tally);
        for fault in &of_case {
            eprintln!("{}: {fault}", case.name());
        }
        faults.extend(of_case.iter().map(|fault| format!("{}: {fault}", case.name())));
        if is_single && !of_case.is_empty() {
            print_smaller(&mut device, case, &of_case[0]);
        }
    }
    (tally, faults)
}

/// Prints a smaller scene with the same fault.
fn print_smaller(device: &mut Device, case: Case, fault: &str) {
    // Numbers change as the scene shrinks.
    let start = |fault: &str| {
        fault
            .chars()
            .take_while(|letter| !letter.is_ascii_digit())
            .collect::<String>()
    };
    let wanted = start(fault);
    if case.inputs.is_some() {
        eprintln!("scenes in buffers are not made smaller");
        return;
    }
    let mut smaller = Case {
        wild: case.wild.clone(),
        ..case
    };
    let mut faults_of_smaller = |wild: &Wild| {
        smaller.wild = wild.clone();
        faults_of(device, &smaller, &mut Tally::default())
    };
    let wild = shrunk(case.wild, |wild| {
        faults_of_smaller(wild).iter().any(|fault| start(fault) == wanted)
    });
    eprintln!("made smaller: {wild:?}\n{:?}", faults_of_smaller(&wild));
}

#[test]
fn wild_scenes_have_the_results_of_brute_force_on_each_adapter() {
    let scenes = wild::selected(daily_or_full(200, 600));
    let found: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (adapters().into_iter().enumerate())
            .map(|(place, adapter)| {
                let scenes = scenes.clone();
                scope.spawn(move || (adapter.name.clone(), run(adapter, scenes, place == 0)))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut all = Vec::new();
    for (name, (tally, faults)) in found {
        println!("{name}: {tally:?}");
        let few = [tally.pairs, tally.hits, tally.results].into_iter().min() < Some(1_000);
        if few && !wild::is_selected() {
            all.push(format!("{name}: the scenes have few results"));
        }
        all.extend(faults);
    }
    assert!(
        all.is_empty(),
        "{} faults, the first: {:#?}",
        all.len(),
        &all[..all.len().min(20)]
    );
}
