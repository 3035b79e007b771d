//! Refused calls: one row per mistake, with the call and the message of its error. After each row, the broad phase
//! gives the same results as before.

mod calls;
mod inputs;

use std::error::Error;
use std::iter::successors;

use crate::common::steps::{self, UNIT, broad_phase, encoder};
use crate::common::{TestAdapter, daily_adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, GpuBroadPhase, Growth, OutputOptions, Ray, RayMode, Scene, Scheme,
    StepOutput, StepResult, cpu, wgpu,
};
use pollster::block_on;

pub use calls::Components;

const OBJECTS: &[Aabb] = &[UNIT, Aabb::new([0.5; 3], [2.0; 3])];
const RAYS: &[Ray] = &[Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];

fn valid_scene() -> Scene<'static> {
    scene(|scene| {
        (scene.objects, scene.statics.objects) = (OBJECTS.into(), OBJECTS.into());
        (scene.query.rays, scene.query.queries) = (RAYS.into(), OBJECTS.into());
        scene.statics.generation = 1;
    })
}

pub fn scene<'b>(set: impl FnOnce(&mut Scene<'b>)) -> Scene<'b> {
    let mut scene = Scene::default();
    set(&mut scene);
    scene
}

fn options() -> OutputOptions {
    OutputOptions {
        ray_mode: RayMode::All,
        ..OutputOptions::default()
    }
}

pub fn descriptor(set: impl FnOnce(&mut BroadPhaseDescriptor<'static>)) -> BroadPhaseDescriptor<'static> {
    steps::descriptor(|all| {
        all.outputs = options();
        set(all);
    })
}

fn fixed(set: impl FnOnce(&mut Capacities)) -> BroadPhaseDescriptor<'static> {
    descriptor(|all| {
        all.outputs.growth = Growth::Fixed;
        set(&mut all.outputs.capacities);
    })
}

struct Table<'a> {
    adapter: &'a TestAdapter,
    /// Bytes that the device can bind.
    limit: u64,
    gpu: GpuBroadPhase,
    step: StepOutput,
    expected: StepResult,
    /// Errors of all rows, as debug texts with their type.
    seen: Vec<String>,
    faults: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(adapter: &'a TestAdapter) -> Self {
        let limits = adapter.device.limits();
        let mut gpu = broad_phase(adapter, &descriptor(|_| {}));
        let mut encoder = encoder(adapter);
        let step = gpu.step(&mut encoder, valid_scene()).expect("a step");
        adapter.queue.submit([encoder.finish()]);
        let expected = block_on(gpu.read_back()).expect("a result");
        assert!(expected.counters.is_complete() && expected.pairs.len() == 5);
        Self {
            adapter,
            limit: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15,
            gpu,
            step,
            expected,
            seen: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Fails unless the call, which may use the encoder, gives the message's error.
    fn row<T, E: Error + 'static>(
        &mut self,
        what: &str,
        message: &str,
        call: impl FnOnce(&mut GpuBroadPhase, &mut wgpu::CommandEncoder) -> Result<T, E>,
    ) {
        let mut encoder = encoder(self.adapter);
        let called = call(&mut self.gpu, &mut encoder).map(drop);
        self.adapter.queue.submit([encoder.finish()]);
        if !message.is_empty() {
            self.check_result(what);
        }
        self.check(what, message, called);
    }

    /// Fails unless the error has the message, which may end with `…`. If it is empty, there must be no error.
    fn check<T, E: Error + 'static>(&mut self, what: &str, message: &str, called: Result<T, E>) {
        let found = called.as_ref().err().map(full_message).unwrap_or_default();
        let is_expected = match message.strip_suffix('…') {
            Some(start) => found.starts_with(start),
            None => found == message,
        };
        if !is_expected {
            self.faults.push(format!("{what}: {found:?}, not {message:?}"));
        }
        self.seen.extend(called.err().map(|error| text(&error)));
        let mut encoder = encoder(self.adapter);
        match self.gpu.step(&mut encoder, valid_scene()) {
            Ok(step) => self.step = step,
            Err(error) => self.faults.push(format!("{what}, the next step: {error:?}")),
        }
        self.adapter.queue.submit([encoder.finish()]);
        self.check_result(what);
    }

    fn check_result(&mut self, what: &str) {
        let found = block_on(self.gpu.read_back()).map(|found| StepResult {
            counters: self.expected.counters,
            ..found
        });
        if found.as_ref() != Ok(&self.expected) {
            self.faults.push(format!("{what}, the result: {found:?}"));
        }
    }

    fn too_large(&self, what: &str, needed: u64) -> String {
        format!("{what}: {needed} bytes needed, the device binds at most {}", self.limit)
    }

    fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        steps::buffer(&self.adapter.device, size, usage)
    }

    fn refuse(&mut self, message: &str, descriptor: &BroadPhaseDescriptor<'_>) {
        let TestAdapter { device, queue, .. } = self.adapter;
        self.check("new", message, GpuBroadPhase::new(device, queue, descriptor));
        let set = self.gpu.set_descriptor(descriptor);
        self.check("set_descriptor", message, set);
    }
}

fn full_message<E: Error + 'static>(error: &E) -> String {
    let first: &(dyn Error + 'static) = error;
    let chain = successors(Some(first), |&error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn text<E: Error>(error: &E) -> String {
    let name = std::any::type_name::<E>().rsplit("::").next();
    format!("{}::{error:?}", name.unwrap_or_default())
}

const INFINITY: f32 = f32::INFINITY;
const NO_LENGTHS: [f32; 8] = [-1.0, -1e-45, 1e-45, 1e-40, f32::MAX, INFINITY, -INFINITY, f32::NAN];

type SetCapacity = fn(&mut Capacities, u32);

const CAPACITIES: [(&str, SetCapacity); 6] = [
    ("pairs", |all, rows| all.pairs = Some(rows)),
    ("hits", |all, rows| all.hits = Some(rows)),
    ("ray cells", |all, rows| all.ray_cells = Some(rows)),
    ("results of queries", |all, rows| all.results = Some(rows)),
    ("entries", |all, rows| all.entries = Some(rows)),
    ("rounds", |all, rows| all.rounds = Some(rows)),
];

const PAIR_FILTERS: [(&str, &str); 6] = [
    ("// One.", "fn admits_pair(a: u32, b: u32) -> bool is missing"),
    ("fn f() {}", "line 1: the name f must begin with admits_"),
    (
        "\n@group(0) var<uniform> b: u32;",
        "line 2: @ is not allowed: declare functions, structs, constants and aliases only, without attributes",
    ),
    ("\nfn admits_a() {", "line 2: { is not closed"),
    ("\n\n}", "line 3: closing bracket without an opening one"),
    (
        "fn admits_a() {\n quadSwapX(1); }",
        "line 2: quadSwapX is not allowed: the function tests one pair and cannot exchange values with other invocations",
    ),
];

/// Pair filters with an error in line 3, which only a compiler finds. Some use names of the passes.
const WRONG_LINES: [&str; 4] = [
    "// One.\nfn admits_pair(a: u32, b: u32) -> bool {\n /* Zwölf */ return a + nothing < b;\n}",
    "\n\nconst admits_most: u32 = -1;\nfn admits_pair(a: u32, b: u32) -> bool { return a < b; }",
    "fn admits_pair(a: u32, b: u32) -> bool {\n\n return params.object_count < b; }",
    "fn admits_pair(a: u32, b: u32) -> bool {\n\n return pair_data(a, b) == 0u; }",
];

const WRONG_SIGNATURES: [&str; 3] = [
    "fn admits_pair(a: i32, b: i32) -> bool { return a < b; }",
    "fn admits_pair(a: u32, b: u32) -> u32 { return a + b; }",
    "fn admits_pair(a: vec2<u32>) -> bool { return a.x < a.y; }",
];

fn outputs() -> Vec<(OutputOptions, String)> {
    let mut rows = Vec::new();
    for headroom in [-0.1, 16.1, INFINITY, f32::NAN] {
        let message = format!("the headroom is {headroom}: it must be between 0 and 16");
        rows.push((OutputOptions { headroom, ..options() }, message));
    }
    for (what, set) in CAPACITIES {
        let none = fixed(|all| set(all, 0)).outputs;
        rows.push((none, format!("the capacity for {what} is 0: it must be at least 1")));
    }
    let rounds = fixed(|all| all.rounds = Some(u32::MAX)).outputs;
    rows.push((rounds, "4294967295 rounds: the maximum is 4096".to_owned()));
    rows
}

fn descriptors() -> Vec<(BroadPhaseDescriptor<'static>, String)> {
    let mut rows = Vec::new();
    let mut row = |message, set: &dyn Fn(&mut BroadPhaseDescriptor<'static>)| rows.push((descriptor(set), message));
    for length in NO_LENGTHS.into_iter().chain([0.0, -0.0]) {
        let message = format!("the cell size is {length}: it must be between 2^-100 and 2^100");
        row(message, &|all| all.scheme = Scheme::Uniform { cell_size: length });
        let message = format!("the smallest scale is {length}: it must be between 2^-100 and 2^90");
        row(message, &|all| all.scheme = Scheme::Adaptive { min_scale: length });
    }
    for (axis, length) in NO_LENGTHS.into_iter().enumerate() {
        let message = format!("a period is {length}: it must be 0, or between 2^-100 and 2^90");
        row(message, &|all| all.periods[axis % 3] = length);
    }
    for margin in [-1.0, -1e-45, INFINITY, -INFINITY, f32::NAN] {
        let message = format!("the margin is {margin}: it must be finite and not negative");
        row(message, &|all| all.margin = margin);
    }
    let no_worlds = "the number of worlds is 0: it must be at least 1";
    row(no_worlds.to_owned(), &|all| all.worlds = 0);
    for (outputs, message) in outputs() {
        row(message, &|all| all.outputs = outputs);
    }
    for (text, message) in PAIR_FILTERS {
        let message = format!("invalid pair filter: {message}");
        row(message, &|all| all.pair_filter = Some(text));
    }
    rows
}

fn options_rows(table: &mut Table<'_>) {
    for (descriptor, message) in descriptors() {
        table.refuse(&message, &descriptor);
        table.check("validate", &message, descriptor.validate());
        table.check("cpu::step", &message, cpu::step(&descriptor, &[], &[]));
    }
    let lines = WRONG_LINES.map(|text| (text, "line 3: …"));
    let signatures =
        WRONG_SIGNATURES.map(|text| (text, "the function must be fn admits_pair(a: u32, b: u32) -> bool: …"));
    for (text, message) in lines.into_iter().chain(signatures) {
        let message = format!("invalid pair filter: {message}");
        table.refuse(&message, &descriptor(|all| all.pair_filter = Some(text)));
    }
    let mut set = table.gpu.query_set("set", &options()).expect("options");
    for (outputs, message) in outputs() {
        table.check("set_options", &message, set.set_options(&outputs));
        assert_eq!(*set.options(), options());
        let set = table.gpu.query_set("bad", &outputs);
        table.check("query_set", &message, set);
    }
}

/// Options that even an empty step on this device cannot satisfy.
fn limits_rows(table: &mut Table<'_>) {
    let limit = table.limit;
    let no_step = "even a step without objects does not fit";
    for pairs in [u32::MAX, (limit / 8) as u32 + 1] {
        let too_large = table.too_large("pairs", 8 * u64::from(pairs));
        table.refuse(
            &format!("{no_step}: {too_large}"),
            &fixed(|all| all.pairs = Some(pairs)),
        );
    }
    let mut uniform = fixed(|all| all.entries = Some(u32::MAX));
    uniform.scheme = Scheme::Uniform { cell_size: 1.0 };
    let message = format!("{no_step}: 4294967295 cell entries: the maximum is 536870911");
    table.refuse(&message, &uniform);
    let most = (limit / 4 - 2).min((1 << 29) - 1);
    for worlds in [u32::MAX, most as u32 + 1] {
        let message = format!("{worlds} worlds: the maximum is {most}");
        table.refuse(&message, &descriptor(|all| all.worlds = worlds));
    }
    let worlds = cpu::step(&descriptor(|all| all.worlds = u32::MAX), &[], &[]);
    table.check("worlds", "4294967295 worlds: the maximum is 536870911", worlds);

    let limited = |bytes| descriptor(|all| all.outputs.max_bytes = Some(bytes));
    let TestAdapter { device, queue, .. } = table.adapter;
    let refused = GpuBroadPhase::new(device, queue, &limited(0)).err().expect("an error");
    let message = full_message(&refused);
    let mut numbers = message.split(' ').filter_map(|word| word.parse().ok());
    let needed: u64 = numbers.next().expect("bytes");
    for bytes in [0, 1, 1000, needed - 1] {
        let message = format!("{no_step}: the step needs {needed} bytes of buffers, the limit is {bytes}");
        table.refuse(&message, &limited(bytes));
        table.check("no limit", "", cpu::step(&limited(bytes), &[], &[]));
    }
    let mut gpu = broad_phase(table.adapter, &limited(needed));
    table.row("enough bytes", "", |_, encoder| gpu.step(encoder, Scene::default()));
    assert!(gpu.memory().total() <= needed);
    table.row("bytes", "the step needs …", |_, encoder| {
        gpu.step(encoder, valid_scene())
    });
}

/// Variants without a row: the file of their test, or the reason that there is none.
const WITHOUT_ROW: [(&str, &str); 20] = [
    ("CreateError::Limit", "tests/device/faults.rs"),
    ("CreateError::DeviceLost", "tests/device/faults.rs"),
    ("StepError::DeviceLost", "tests/device/faults.rs"),
    ("ReadBackError::DeviceLost", "tests/device/faults.rs"),
    ("BroadPhaseError::DeviceLost", "tests/device/faults.rs"),
    ("CreateError::Device", "tests/device/memory.rs"),
    ("BroadPhaseError::Cancelled", "tests/device/cancel.rs"),
    ("BroadPhaseError::NoBackend", "tests/readme.rs"),
    ("BroadPhaseError::TooManyResults", "src/step/whole.rs"),
    ("SnapshotError::Io", "tests/device/snapshot.rs"),
    ("SnapshotError::NotASnapshot", "tests/device/snapshot.rs"),
    ("SnapshotError::OtherFormat", "tests/device/snapshot.rs"),
    ("SnapshotError::Damaged", "tests/device/snapshot.rs"),
    ("ReadBackError::Map", "tests/browser/src/troubles.rs"),
    ("ReadBackError::Device", "only browsers report refusals this late"),
    ("ReadBackError::Timeout", "depends on the device's speed"),
    ("ReadBackError::Cancelled", "depends on the device's speed"),
    ("BroadPhaseError::NoDevice", "needs an adapter that fails"),
    ("BroadPhaseError::Create", "needs an adapter with low limits"),
    ("BroadPhaseError::LoopsCut", "needs a driver that ends loops"),
];

/// Variants of the public error types.
fn declared() -> Vec<String> {
    let error = include_str!("../../src/api/error.rs").lines();
    let snapshot = include_str!("../../src/api/snapshot.rs").lines();
    let (mut of, mut found) = (None, Vec::new());
    for line in error.chain(snapshot) {
        if let Some(name) = line.strip_prefix("pub enum ") {
            of = name.strip_suffix(" {");
        } else if line == "}" {
            of = None;
        }
        let name = line.split([',', ' ', '(']).nth(4).unwrap_or_default();
        if let (Some(of), true) = (of, name.starts_with(char::is_uppercase)) {
            found.push(format!("{of}::{name}"));
        }
    }
    found
}

/// True if the debug text is of the variant, or of an error that has it inside, such as `Input(Radius(-1.0))`.
fn has(text: &str, variant: &str) -> bool {
    let inside = variant.replace("Error::", "(");
    text.split(['(', ' ']).next() == Some(variant) || text.contains(&inside)
}

#[test]
fn every_mistake_is_refused_with_its_error_and_loses_nothing() {
    for adapter in &daily_adapters() {
        let mut table = Table::new(adapter);
        options_rows(&mut table);
        limits_rows(&mut table);
        inputs::rows(&mut table);
        calls::rows(&mut table);
        let Table { faults, seen, .. } = table;
        let count = faults.len();
        assert_eq!(count, 0, "{count} faults on {}:\n{}", adapter.name, faults.join("\n"));
        for variant in declared() {
            let has_row = seen.iter().any(|text| has(text, &variant));
            let has_reason = WITHOUT_ROW.iter().any(|(name, _)| variant == *name);
            assert!(has_row || has_reason, "{variant} has no row");
        }
    }
}

#[test]
fn errors_without_a_row_are_in_the_named_test() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
    let declared = declared();
    assert!(
        WITHOUT_ROW
            .iter()
            .all(|(variant, _)| declared.iter().any(|name| name == variant))
    );
    for (variant, file) in WITHOUT_ROW.into_iter().filter(|(_, reason)| reason.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.to_owned() + file).expect(file);
        assert!(text.contains(variant), "{file} does not name {variant}");
    }
}
