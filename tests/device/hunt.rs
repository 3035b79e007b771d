//! Fuzzes unusual scenes for wrong results and too many box tests, on every device and the CPU.
//!
//! `GPU_BROAD_PHASE_HUNT` selects scenes: `20000` the first 20,000, `7000..9000` a range. A single scene (`7123..7124`)
//! is printed, and reduced if it fails. `WGPU_VALIDATION=0 WGPU_DEBUG=0` disables the Vulkan validation layer.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::mem::Discriminant;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::pool::opened;
use crate::common::{Rng, TestAdapter, adapters, daily_or_full, is_full, lattice};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, Counters, Dimensions, GpuBroadPhase, Growth, Queries, QueryInput,
    QueryMode, Scene, Scheme, Source, Status, StepResult, cpu,
};
use pollster::block_on;
use wild::{Asks, Wild};
use wild::{Expected, check};
use wild::{check_definition, check_read_back_of_query, check_reference};

const VARIABLE: &str = "GPU_BROAD_PHASE_HUNT";
/// Time limit of a scene, long enough to compile every pipeline on a busy machine.
const HANG: Duration = Duration::from_secs(1200);
/// Box tests within the limit that justify a further round, beyond [`SPARE_ROUNDS`].
const ROUND_TESTS: u64 = 1 << 10;
const SPARE_ROUNDS: u64 = 2;
const ATTEMPTS: u32 = 400;
/// The limit of box tests is [`FEW`] times those of brute force, plus [`ALWAYS_ALLOWED`]. A search tests each large
/// object once, other objects four times on average, and all once more if it gives up on cells.
const FEW: u64 = 6;
const ALWAYS_ALLOWED: u64 = 100;

fn generation() -> u64 {
    static GENERATION: AtomicU64 = AtomicU64::new(0);
    GENERATION.fetch_add(1, Ordering::Relaxed)
}

fn range() -> Range<u64> {
    let Ok(asked) = std::env::var(VARIABLE) else {
        return 0..daily_or_full(90, 120);
    };
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .expect("GPU_BROAD_PHASE_HUNT: a number or a range")
    };
    match asked.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(&asked),
    }
}

enum Engine {
    Own(Box<GpuBroadPhase>),
    Whole(Box<BroadPhase>),
}

/// The last property is true for a device of its own.
type Kind = (Discriminant<Scheme>, [bool; 5]);

fn kind_of(number: u64, descriptor: &BroadPhaseDescriptor<'_>) -> Kind {
    let [has_worlds, is_periodic] = [descriptor.worlds > 1, descriptor.periods != [0.0; 3]];
    let is_headless = number % 7 < 3 && descriptor.filters && !has_worlds && !is_periodic;
    let scheme = std::mem::discriminant(&descriptor.scheme);
    let switches = [
        descriptor.filters,
        descriptor.count_candidates,
        has_worlds,
        is_periodic,
        is_headless,
    ];
    (scheme, switches)
}

struct Hunter {
    adapter: TestAdapter,
    is_first: bool,
    engines: HashMap<Kind, Engine>,
}

impl Hunter {
    fn engine(&mut self, number: u64, descriptor: &BroadPhaseDescriptor<'static>) -> &mut Engine {
        let adapter = &self.adapter;
        let kind = kind_of(number, descriptor);
        let make = || {
            if let [.., true] = kind.1 {
                let headless = block_on(BroadPhase::with_backend(descriptor, Backend::Gpu(adapter.backends)));
                Engine::Whole(Box::new(headless.unwrap()))
            } else {
                Engine::Own(Box::new(
                    GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor).unwrap(),
                ))
            }
        };
        self.engines.entry(kind).or_insert_with(make)
    }

    fn prepare(&mut self, number: u64, descriptor: &BroadPhaseDescriptor<'static>) {
        match self.engine(number, descriptor) {
            Engine::Whole(headless) => headless.set_descriptor(descriptor).unwrap(),
            Engine::Own(broad_phase) => broad_phase.set_descriptor(descriptor).unwrap(),
        }
    }

    fn answer(&mut self, number: u64, descriptor: &BroadPhaseDescriptor<'static>, scene: &Scene<'_>) -> StepResult {
        let TestAdapter { device, queue, .. } = self.adapter.clone();
        match self.engine(number, descriptor) {
            Engine::Whole(headless) => block_on(headless.step_scene(scene)).unwrap(),
            Engine::Own(broad_phase) => whole(descriptor, || {
                let mut encoder = device.create_command_encoder(&Default::default());
                broad_phase.step(&mut encoder, *scene).unwrap();
                queue.submit([encoder.finish()]);
                block_on(broad_phase.read_back()).unwrap()
            }),
        }
    }

    fn answer_when_read(
        &mut self,
        number: u64,
        descriptor: &BroadPhaseDescriptor<'static>,
        queries: Queries<'_>,
        query_mode: QueryMode,
    ) -> StepResult {
        let TestAdapter { device, queue, .. } = self.adapter.clone();
        match self.engine(number, descriptor) {
            Engine::Whole(headless) => block_on(headless.query(&QueryInput {
                queries,
                query_mode,
                ..QueryInput::default()
            }))
            .unwrap(),
            Engine::Own(broad_phase) => whole(descriptor, || {
                let mut encoder = device.create_command_encoder(&Default::default());
                let input = QueryInput {
                    queries,
                    query_mode,
                    ..QueryInput::default()
                };
                broad_phase.query(&mut encoder, input).unwrap();
                queue.submit([encoder.finish()]);
                block_on(broad_phase.read_back()).unwrap()
            }),
        }
    }
}

fn whole(descriptor: &BroadPhaseDescriptor<'_>, mut step: impl FnMut() -> StepResult) -> StepResult {
    let mut last = Status::default();
    for _ in 0..6 {
        let result = step();
        if descriptor.outputs.growth == Growth::Fixed || result.counters.is_complete() {
            return result;
        }
        last = result.counters.status;
    }
    panic!("still not whole after six steps: {last:?}");
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    scenes: u64,
    objects: u64,
    rays: u64,
    queries: u64,
    pairs: u64,
    hits: u64,
    results: u64,
    differences: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.scenes, other.scenes),
            (&mut self.objects, other.objects),
            (&mut self.rays, other.rays),
            (&mut self.queries, other.queries),
            (&mut self.pairs, other.pairs),
            (&mut self.hits, other.hits),
            (&mut self.results, other.results),
            (&mut self.differences, other.differences),
        ] {
            *sum += more;
        }
    }
}

struct Truth {
    on_cpu: StepResult,
    expected: Expected,
}

fn text(payload: &(dyn std::any::Any + Send)) -> String {
    let known = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied());
    let text = known.unwrap_or("a panic without words");
    text.chars().take(600).collect()
}

thread_local! {
    static IS_HUNTING: Cell<bool> = const { Cell::new(false) };
}

fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let was_hunting = IS_HUNTING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run)).map_err(|payload| text(&*payload));
    IS_HUNTING.set(was_hunting);
    result
}

fn check_work(descriptor: &BroadPhaseDescriptor<'_>, wild: &Wild, counters: &Counters) {
    let objects = wild.objects.len() as u64;
    let queries = wild.asks.count(wild.objects.len()) as u64;
    let rays = wild.rays.len() as u64;
    for (what, tests, all) in [
        (
            "pairs",
            counters.pair_candidates,
            objects * objects.saturating_sub(1) / 2,
        ),
        ("rays", counters.ray_candidates, objects * rays),
        ("queries", counters.query_candidates, objects * queries),
    ] {
        assert!(
            tests <= FEW * all + ALWAYS_ALLOWED,
            "work: {tests} tests for {what}, brute force has {all}; {descriptor:?}"
        );
    }
    let rounds = SPARE_ROUNDS + FEW * objects / ROUND_TESTS;
    assert!(
        u64::from(counters.rounds_needed) <= rounds,
        "work: {} rounds for walks past {objects} objects, {rounds} are enough; {descriptor:?}",
        counters.rounds_needed
    );
}

fn truth(
    descriptor: &BroadPhaseDescriptor<'static>,
    wild: &Wild,
    scene: &Scene<'_>,
) -> Result<(Truth, Vec<String>), String> {
    caught(|| {
        let on_cpu = cpu::step_scene(descriptor, scene).unwrap();
        let expected = Expected::of(descriptor, scene);
        let mut faults = Vec::new();
        let mut hold = |checked: Result<(), String>| faults.extend(checked.err());
        hold(caught(|| {
            check_definition(descriptor, scene, &expected, &on_cpu, "CPU")
        }));
        hold(caught(|| check_work(descriptor, wild, &on_cpu.counters)));
        (Truth { on_cpu, expected }, faults)
    })
}

struct Case {
    number: u64,
    descriptor: BroadPhaseDescriptor<'static>,
    wild: Wild,
}

#[derive(Default)]
struct Verdict {
    faults: Vec<String>,
    tally: Tally,
}

impl Verdict {
    fn hold(&mut self, who: &str, checked: Result<(), String>) {
        self.faults.extend(checked.err().map(|fault| format!("{who}: {fault}")));
    }
}

impl Hunter {
    fn judge(&mut self, case: &Case) -> Verdict {
        let Case {
            number,
            descriptor,
            wild,
        } = case;
        let scene = wild.scene(generation());
        let mut verdict = Verdict::default();
        let truth = match truth(descriptor, wild, &scene) {
            Ok((truth, faults)) => {
                let told = if self.is_first { faults } else { Vec::new() };
                verdict.faults.extend(told);
                truth
            }
            Err(fault) => {
                verdict.hold("CPU", Err(fault));
                verdict.tally.differences = verdict.faults.len() as u64;
                return verdict;
            }
        };
        let who = self.adapter.name.clone();
        self.prepare(*number, descriptor);
        let result = caught(|| self.answer(*number, descriptor, &scene));
        let is_answered = result.is_ok();
        verdict.tally = Tally {
            scenes: 1,
            objects: wild.objects.len() as u64,
            rays: wild.rays.len() as u64,
            queries: wild.asks.count(wild.objects.len()) as u64,
            ..Tally::default()
        };
        match result {
            Ok(result) => {
                let by_definition = || check_definition(descriptor, &scene, &truth.expected, &result, "definition");
                verdict.hold(&who, caught(by_definition));
                verdict.hold(
                    &who,
                    caught(|| check_reference(descriptor, &scene, &result, &truth.on_cpu)),
                );
                verdict.hold(&who, caught(|| check_work(descriptor, wild, &result.counters)));
                verdict.tally.pairs = result.pairs.len() as u64;
                verdict.tally.hits = (result.ray_hits.len() + result.ray_any.len()) as u64;
                verdict.tally.results = (result.query_objects.len() + result.query_nearest.len()) as u64;
            }
            Err(fault) => verdict.hold(&who, Err(fault)),
        }
        if let Some((asks, mode)) = wild.later.as_ref().filter(|_| is_answered) {
            let result = caught(|| self.answer_when_read(*number, descriptor, asks.queries(), *mode));
            let query = (asks.queries(), *mode);
            let checked = result.and_then(|result| {
                verdict.tally.results += (result.query_objects.len() + result.query_nearest.len()) as u64;
                caught(|| check_read_back_of_query(descriptor, &scene, query, &result, "asked later"))
            });
            verdict.hold(&who, checked);
        }
        if !is_answered {
            self.engines.remove(&kind_of(*number, descriptor));
        }
        verdict.tally.differences = verdict.faults.len() as u64;
        verdict
    }
}

fn shrunk(mut wild: Wild, mut fails: impl FnMut(&Wild) -> bool) -> Wild {
    let mut attempts = 0..ATTEMPTS;
    let mut attempt = |smaller: Wild, wild: &mut Wild| {
        let is_smaller = attempts.next().is_some() && fails(&smaller);
        if is_smaller {
            *wild = smaller;
        }
        is_smaller
    };
    let changes: [fn(&mut Wild); 5] = [
        |wild| wild.later = None,
        |wild| wild.rays.clear(),
        |wild| wild.asks = Asks::Nothing,
        |wild| wild.statics = 0,
        |wild| wild.mode = QueryMode::All,
    ];
    for change in changes {
        let mut smaller = wild.clone();
        change(&mut smaller);
        smaller.plain.truncate(smaller.rays.len());
        attempt(smaller, &mut wild);
    }
    let lengths = |wild: &Wild| {
        let asked = match &wild.asks {
            Asks::Boxes(boxes) => boxes.len(),
            Asks::Rounded(queries) => queries.len(),
            _ => 0,
        };
        [wild.objects.len(), wild.rays.len(), asked]
    };
    for list in 0..3 {
        let mut part = lengths(&wild)[list];
        while part > 0 {
            let mut first = 0;
            while first < lengths(&wild)[list] {
                let gone = first..(first + part).min(lengths(&wild)[list]);
                let mut smaller = wild.clone();
                match list {
                    0 => {
                        smaller.statics -= gone.clone().filter(|&object| object < wild.statics).count();
                        smaller.objects.drain(gone.clone());
                        if !smaller.worlds.is_empty() {
                            smaller.worlds.drain(gone);
                        }
                    }
                    1 => {
                        smaller.rays.drain(gone.clone());
                        smaller.plain.drain(gone);
                    }
                    _ => match &mut smaller.asks {
                        Asks::Boxes(boxes) => drop(boxes.drain(gone)),
                        Asks::Rounded(queries) => drop(queries.drain(gone)),
                        _ => {}
                    },
                }
                if !attempt(smaller, &mut wild) {
                    first += part;
                }
            }
            part /= 2;
        }
    }
    wild
}

struct Bag {
    name: String,
    tally: Tally,
    faults: Vec<String>,
}

type Post = Mutex<Option<(u64, Instant)>>;

/// Exits the process if a scene hangs. Needs its own thread, since software drivers run work within the submitting
/// call.
fn watch(name: &str, post: &Post) {
    loop {
        // As a loop condition, this would hold the lock during the sleep.
        let place = *post.lock().unwrap();
        let Some((scene, since)) = place else {
            return;
        };
        if since.elapsed() > HANG {
            let _ = writeln!(
                std::io::stderr(),
                "scene {scene} does not end on {name}: the hunt ends here"
            );
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn hunt(adapter: TestAdapter, scenes: Range<u64>, is_first: bool, post: &Post) -> Bag {
    let runs_all = is_full() || std::env::var_os(VARIABLE).is_some();
    let is_single = scenes.end - scenes.start == 1;
    let mut bag = Bag {
        name: adapter.name.clone(),
        tally: Tally::default(),
        faults: Vec::new(),
    };
    let mut hunter = Hunter {
        adapter,
        is_first,
        engines: HashMap::new(),
    };
    for number in scenes {
        let descriptor = wild::descriptor(number);
        // In daily runs, later adapters take only descriptors with filters, since others need more pipelines.
        let is_daily = wild::is_daily(&descriptor) && (is_first || descriptor.filters);
        if !is_daily && !runs_all {
            continue;
        }
        let case = Case {
            number,
            descriptor,
            wild: wild::scene(number, &descriptor),
        };
        *post.lock().unwrap() = Some((number, Instant::now()));
        if is_single {
            eprintln!("{descriptor:?}\n{:?}", case.wild);
        }
        let verdict = hunter.judge(&case);
        bag.tally.add(&verdict.tally);
        if number % 1_000 == 999 {
            eprintln!("{}: {:?}", bag.name, bag.tally);
        }
        for fault in &verdict.faults {
            let told = format!("scene {number} ({}, {}): {fault}", case.wild.kind, name_of(&descriptor));
            eprintln!("{told}");
            bag.faults.push(told);
        }
        if is_single {
            tell(&mut hunter, case, &verdict);
        }
    }
    *post.lock().unwrap() = None;
    bag
}

/// Prints a smaller scene with the same fault.
fn tell(hunter: &mut Hunter, case: Case, verdict: &Verdict) {
    // Text before the first number. Numbers change as the scene shrinks.
    let start = |fault: &String| {
        fault
            .chars()
            .take_while(|letter| !letter.is_ascii_digit())
            .collect::<String>()
    };
    let Case {
        number,
        descriptor,
        mut wild,
    } = case;
    let mut judge = |wild: &Wild| {
        let wild = wild.clone();
        hunter.judge(&Case {
            number,
            descriptor,
            wild,
        })
    };
    let Some(wanted) = verdict.faults.first().map(start) else {
        return;
    };
    wild = shrunk(wild, |smaller| {
        judge(smaller).faults.iter().map(start).any(|fault| fault == wanted)
    });
    eprintln!("made smaller: {wild:?}\n{:?}", judge(&wild).faults);
}

fn name_of(descriptor: &BroadPhaseDescriptor<'_>) -> String {
    let BroadPhaseDescriptor {
        scheme,
        dimensions,
        margin,
        periods,
        worlds,
        ..
    } = descriptor;
    format!(
        "{scheme:?}, {}D, margin {margin}, periods {periods:?}, worlds {worlds}",
        dimensions.count()
    )
}

#[test]
fn wild_scenes_are_answered_alike_everywhere_and_with_little_work() {
    let scenes = range();
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !IS_HUNTING.get() {
            tell(panic);
        }
    }));
    let bags: Vec<_> = std::thread::scope(|scope| {
        let hunters: Vec<_> = adapters()
            .into_iter()
            .enumerate()
            .map(|(place, adapter)| {
                let scenes = scenes.clone();
                scope.spawn(move || {
                    let (name, post) = (adapter.name.clone(), Post::new(Some((scenes.start, Instant::now()))));
                    std::thread::scope(|scope| {
                        scope.spawn(|| watch(&name, &post));
                        hunt(adapter, scenes, place == 0, &post)
                    })
                })
            })
            .collect();
        hunters.into_iter().map(|hunter| hunter.join().unwrap()).collect()
    });
    let mut faults = Vec::new();
    for bag in bags {
        println!("{}: {:?}", bag.name, bag.tally);
        faults.extend(bag.faults);
    }
    assert!(
        faults.is_empty(),
        "{} faults, the first: {:#?}",
        faults.len(),
        &faults[..faults.len().min(20)]
    );
}

/// Returns searches that once did not finish.
fn small_queries() -> Vec<(&'static str, Vec<Aabb>, Vec<Aabb>, Scheme)> {
    let mut rng = Rng(18);
    let points = [[-1.0, 0.0, 1000.0], [1.0, 100.0, 1000.0]].map(Aabb::point).to_vec();
    let beside_points = vec![Aabb::new([-0.5, 10.0, 1000.0], [0.5, 90.0, 1000.0])];
    let map: Vec<_> = (0..300)
        .map(|_| {
            let [x, y] = [100.0 * rng.unit(), 100.0 * rng.unit()];
            Aabb::new([x, y, 1000.0], [x + 1e-5, y + 1e-5, 1000.0])
        })
        .collect();
    let strips = (0..8)
        .map(|_| {
            let [x, y] = [100.0 * rng.unit(), 100.0 * rng.unit() - 50.0];
            Aabb::new([x, y, 1000.0], [x + 2e-4, y + 100.0, 1000.0])
        })
        .collect();
    let boxes = lattice(1_200, &mut rng);
    let moved = |corner: [f32; 3]| corner.map(|bound| bound + 0.25);
    let beside_boxes = boxes[..64]
        .iter()
        .map(|object| Aabb::new(moved(object.min), moved(object.max)))
        .collect();
    let of_map = Scheme::Adaptive { min_scale: 1e-5 };
    let of_boxes = Scheme::adaptive_for(&boxes, Dimensions::Three);
    vec![
        (
            "points",
            points.clone(),
            beside_points.clone(),
            Scheme::Uniform { cell_size: 1e-5 },
        ),
        ("points", points, beside_points, Scheme::Adaptive { min_scale: 1e-5 }),
        ("map", map, strips, of_map),
        ("lattice", boxes, beside_boxes, of_boxes),
    ]
}

#[test]
fn small_queries_among_many_cells_take_few_tests() {
    let post = Post::new(Some((0, Instant::now())));
    std::thread::scope(|scope| {
        scope.spawn(|| watch("small queries", &post));
        let asked = catch_unwind(ask_small_queries);
        *post.lock().unwrap() = None;
        asked.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

fn ask_small_queries() {
    for adapter in adapters() {
        for (name, objects, queries, scheme) in small_queries() {
            let what = format!("{name}, {scheme:?} on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                scheme,
                count_candidates: true,
                ..BroadPhaseDescriptor::default()
            };
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    queries: queries[..].into(),
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            let mut headless = opened(&adapter, &descriptor);
            let result = block_on(headless.step_scene(&scene)).unwrap_or_else(|error| panic!("{what}: {error}"));
            let all = (objects.len() * queries.len()) as u64;
            let tests = result.counters.query_candidates;
            assert!(tests <= FEW * all, "{what}: {tests} tests, brute force has {all}");
            assert!(result.counters.rounds_needed <= 1, "{what}: {:?}", result.counters);
            check(&descriptor, &scene, &Expected::of(&descriptor, &scene), &result, &what);
        }
    }
}
