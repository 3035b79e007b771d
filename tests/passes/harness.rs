//! Compares passes on a device with the reference passes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use crate::common::Rng;
use bytemuck::{Pod, bytes_of, cast_slice, pod_collect_to_vec, pod_read_unaligned};
use encase::{ShaderType, UniformBuffer, internal::WriteInto};
use gpu_broad_phase::internals::blocks::{Overrides, PairBlocks, QueryBlocks, RayBlocks, Round, ScanParams};
use gpu_broad_phase::internals::grid::{Grid, Params};
use gpu_broad_phase::internals::reference::rows::CellTable;
use gpu_broad_phase::internals::reference::scan;
use gpu_broad_phase::internals::reference::table::clusters;
use gpu_broad_phase::internals::reference::{Table, Trace};
use gpu_broad_phase::shaders::{Binding, Pass};
use gpu_broad_phase::{BroadPhaseDescriptor, Capacities, Growth, OutputOptions, Pair, RayMode, Scheme, Status, wgpu};

/// Byte that fills outputs, padding, and words left by earlier steps.
pub const POISON: u8 = 0xcd;

pub const STALE: u32 = u32::from_ne_bytes([POISON; 4]);

pub const STALE_PAIR: Pair = Pair { a: STALE, b: STALE };

pub const PADDING: usize = 4096;

pub const ONE_ROUND: Round = Round {
    first: 0,
    tests: 1 << 30,
    is_last: 1,
    iterations: 40_000,
    canary_iterations: 16,
    continues: 0,
    is_continued: 0,
    walks: 0,
    first_row: 0,
};

pub use gpu_broad_phase::internals::counters::{
    PAIR_CANDIDATES, PAIRS_NEEDED, QUERY_CANDIDATES, RAY_CANDIDATES, ROUNDS_NEEDED, STATUS, UNFINISHED,
};

pub const STATUS_ROUNDS: u32 = Status::ROUNDS.bits();

pub trait Device: Send + Sync {
    fn name(&self) -> &str;

    fn features(&self) -> wgpu::Features;

    fn runs(&self, _case: usize) -> bool {
        true
    }

    /// True if floats round as on the CPU. Hardware may fuse a product and a sum.
    fn rounds_as_reference(&self) -> bool;

    /// True if loops may end early, as in llvmpipe.
    fn cuts_loops(&self) -> bool {
        true
    }

    fn dispatch(&self, dispatch: &Dispatch<'_>) -> BTreeMap<&'static str, Vec<u8>>;
}

pub struct Dispatch<'a> {
    pub pass: &'static Pass,
    pub constants: Vec<(&'static str, u32)>,
    pub groups: [u32; 2],
    pub buffers: Vec<Bound>,
    #[allow(dead_code, reason = "the interpreter's")]
    pub scene: &'a str,
}

pub struct Bound {
    pub number: u32,
    pub kind: Binding,
    pub name: &'static str,
    /// Contents, followed by [`PADDING`] bytes of poison.
    pub bytes: Vec<u8>,
    #[allow(dead_code, reason = "the interpreter's")]
    pub given: usize,
}

/// Uniform blocks of a pass: one for the variable that no other names, and those of named variables.
#[derive(Clone)]
pub struct Given {
    unnamed: Vec<u8>,
    named: Vec<(&'static str, Vec<u8>)>,
}

impl From<Vec<u8>> for Given {
    fn from(unnamed: Vec<u8>) -> Self {
        let named = Vec::new();
        Self { unnamed, named }
    }
}

impl<B: Blocks> From<&B> for Given {
    fn from(blocks: &B) -> Self {
        let (table, stage) = blocks.bytes();
        Self {
            unnamed: table,
            named: vec![stage],
        }
    }
}

pub trait Blocks: Copy {
    fn table_mut(&mut self) -> &mut Params;

    fn bytes(&self) -> (Vec<u8>, (&'static str, Vec<u8>));
}

macro_rules! blocks {
    ($($blocks:ident: $stage:ident, $variable:literal;)+) => { $(
        impl Blocks for $blocks {
            fn table_mut(&mut self) -> &mut Params {
                &mut self.table
            }

            fn bytes(&self) -> (Vec<u8>, (&'static str, Vec<u8>)) {
                (uniform(&self.table), ($variable, uniform(&self.$stage)))
            }
        }
    )+ };
}

blocks! {
    PairBlocks: pairs, "pair_params";
    RayBlocks: rays, "ray_params";
    QueryBlocks: queries, "query_params";
}

pub fn variants_of(pass: &'static Pass) -> impl Iterator<Item = (&'static str, bool)> {
    let excluding = pass.declares("EXCLUDES").then_some((pass.name, true));
    [(pass.name, false)].into_iter().chain(excluding)
}

pub struct Bench {
    pub device: Arc<dyn Device>,
    /// Passes that were run, with `true` if a list excluded pairs.
    pub run: RefCell<BTreeSet<(&'static str, bool)>>,
    pub overrides: Overrides,
    pub round: Cell<Round>,
    pub base: Cell<Round>,
    pub sweeps: Cell<bool>,
    /// Passes run as with serial tiles, the sort of CPUs.
    pub serial: Cell<bool>,
    /// True if the pair count stores partners during its walk, false if after it.
    pub stores_in_loop: bool,
    pub scheme: u32,
    /// Largest number of workgroups in the first dimension. More fold into the second.
    pub fold: u32,
    pub tries_all: bool,
    pub draw: RefCell<Rng>,
    pub scene: String,
}

impl Bench {
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            run: RefCell::default(),
            overrides: Overrides {
                filters: true,
                count_candidates: true,
            },
            round: Cell::new(ONE_ROUND),
            base: Cell::new(ONE_ROUND),
            sweeps: Cell::new(false),
            serial: Cell::new(false),
            stores_in_loop: true,
            scheme: 0,
            fold: 65_535,
            tries_all: true,
            draw: RefCell::new(Rng(20)),
            scene: String::new(),
        }
    }

    /// Runs a pass. `contents` has storage buffers and further uniform blocks by name.
    pub fn run(
        &self,
        pass: &'static Pass,
        groups: u32,
        blocks: impl Into<Given>,
        contents: &[(&str, Vec<u8>)],
    ) -> Output {
        let Given { unnamed, named } = blocks.into();
        let mut unnamed = Some(unnamed);
        let excludes = contents.iter().any(|(name, _)| *name == "exclusions") && pass.declares("EXCLUDES");
        self.run.borrow_mut().insert((pass.name, excludes));
        let constants = [
            ("SCHEME", self.scheme),
            ("FILTERS", self.overrides.filters.into()),
            ("COUNT_CANDIDATES", self.overrides.count_candidates.into()),
            ("SWEPT", self.sweeps.get().into()),
            ("STORES_IN_LOOP", self.stores_in_loop.into()),
            ("SERIAL_SORT", self.serial.get().into()),
            ("EXCLUDES", excludes.into()),
            ("DRIVER_CUTS_LOOPS", self.device.cuts_loops().into()),
        ];
        let mut bound = |&(number, kind, name): &(u32, Binding, &'static str)| {
            let mut all = contents.iter().chain(&named);
            let found = all.find(|(of, _)| *of == name).map(|(_, bytes)| bytes.clone());
            let contents = match kind {
                Binding::Uniform if name == "round" => Some(uniform(&self.round.get())),
                // Without a list, no pass reads this block.
                Binding::Uniform if name == "exclusions" => Some(found.unwrap_or_default()),
                Binding::Uniform => found.or_else(|| unnamed.take()),
                _ => found,
            };
            let mut bytes = contents.unwrap_or_else(|| panic!("{}: no contents for {name}", pass.name));
            let given = bytes.len();
            bytes.resize((given + PADDING).next_multiple_of(16), POISON);
            Bound {
                number,
                kind,
                name,
                bytes,
                given,
            }
        };
        let is_indirect = pass.name.starts_with("event_")
            || ["pair_count_sparse", "pair_count_crowded"].contains(&pass.name)
            || pass.bindings().contains(&(9, Binding::Read, "pair_walks"));
        let fold = if is_indirect { 65_535 } else { self.fold };
        let dispatch = Dispatch {
            pass,
            constants: constants.into_iter().filter(|(name, _)| pass.declares(name)).collect(),
            groups: [groups.min(fold), groups.div_ceil(fold)],
            buffers: pass.bindings().iter().map(&mut bound).collect(),
            scene: &self.scene,
        };
        Output {
            what: format!(
                "{} of {}, {:?} on {}",
                pass.name,
                self.scene,
                self.overrides,
                self.device.name()
            ),
            buffers: self.device.dispatch(&dispatch),
        }
    }
}

impl Bench {
    pub fn run_rounds(
        &self,
        pass: &'static Pass,
        groups: u32,
        blocks: &Given,
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
            let output = self.run(pass, groups, blocks.clone(), &contents);
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

    /// Returns a random case, or all if `tries_all`. Taking turns would correlate with the scenes.
    pub fn some_of<T>(&self, all: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut all: Vec<_> = all.into_iter().collect();
        if !self.tries_all && !all.is_empty() {
            let drawn = self.draw.borrow_mut().below(all.len());
            all = vec![all.swap_remove(drawn)];
        }
        all
    }

    pub fn draws(&mut self, check: impl FnOnce(&Self)) {
        let tries_all = std::mem::replace(&mut self.tries_all, false);
        check(self);
        self.tries_all = tries_all;
    }

    /// Returns pages: the complete result, and one or all of the partial ones.
    pub fn windows(&self, all: usize) -> Vec<(u32, usize, usize)> {
        let [whole, others @ ..] = windows(all);
        [vec![whole], self.some_of(others)].concat()
    }

    /// True if the page is also computed in rounds, which are slow.
    pub fn tries_rounds(&self, (shift, first, _): (u32, usize, usize)) -> bool {
        self.overrides.filters && (shift > 0 || first > 0)
    }

    pub fn rounds_of(
        &self,
        pass: &'static Pass,
        groups: u32,
        blocks: &Given,
        contents: &[(&'static str, Vec<u8>)],
    ) -> Rounds {
        Rounds::of(self.longest(pass, groups, blocks, contents))
    }

    /// Returns the number of box tests of the longest search, which a round of one test reports.
    fn longest(&self, pass: &'static Pass, groups: u32, blocks: &Given, contents: &[(&'static str, Vec<u8>)]) -> u32 {
        self.round.set(Round {
            tests: 1,
            ..self.base.get()
        });
        let output = self.run(pass, groups, blocks.clone(), contents);
        self.round.set(self.base.get());
        let counters: Vec<u32> = output.take("counters", 32);
        let longest = counters[ROUNDS_NEEDED];
        let is_told = counters[UNFINISHED] == STATUS_ROUNDS;
        assert_eq!(is_told, longest > 1, "{}: {counters:?}", output.what);
        longest
    }
}

pub struct Walk {
    walks_statics: bool,
    pub inputs: Vec<(&'static str, Vec<u8>)>,
    base: Round,
}

impl Walk {
    pub fn all(trace: &Trace, walks: usize, is_self_query: bool) -> Vec<Self> {
        let base = |by: &Table, [continues, is_continued]: [u32; 2]| Round {
            continues,
            is_continued,
            walks: if is_self_query {
                by.params.object_count
            } else {
                walks as u32
            },
            ..ONE_ROUND
        };
        let inputs = |table: &Table, queried_by: &Table| {
            let queries = is_self_query.then(|| ("queries", bytes(&queried_by.records)));
            [queries.into_iter().collect(), walk_inputs(table)].concat()
        };
        let statics = &trace.tables.statics;
        let mut walks = vec![Self {
            walks_statics: false,
            inputs: inputs(trace, trace),
            base: base(trace, [0, statics.is_some().into()]),
        }];
        if let Some(statics) = statics {
            walks.push(Self {
                walks_statics: true,
                inputs: inputs(statics, trace),
                base: base(trace, [1, 0]),
            });
            walks.extend(is_self_query.then(|| Self {
                walks_statics: false,
                inputs: inputs(trace, statics),
                base: base(statics, [0, 0]),
            }));
        }
        walks
    }
}

pub fn of_statics<B: Blocks>(mut blocks: B) -> B {
    let table = blocks.table_mut();
    (table.object_count, table.first_object) = (table.static_count, 0);
    blocks
}

impl Bench {
    pub fn run_walks(
        &self,
        pass: &'static Pass,
        walks: &[Walk],
        blocks: impl Blocks,
        contents: &[(&'static str, Vec<u8>)],
        rounds: Option<Rounds>,
    ) -> Output {
        let mut contents = contents.to_vec();
        let mut last = None;
        for walk in walks {
            self.begin(walk.base);
            let groups = (walk.base.walks + 1).div_ceil(pass.workgroup());
            let blocks = if walk.walks_statics { of_statics(blocks) } else { blocks };
            let bound = [walk.inputs.clone(), contents.clone()].concat();
            let output = match rounds {
                None => self.run(pass, groups, &blocks, &bound),
                Some(rounds) => self.run_rounds(pass, groups, &(&blocks).into(), &bound, rounds),
            };
            for (name, bytes) in &mut contents {
                if let Some(written) = output.buffers.get(name) {
                    let length = bytes.len();
                    bytes.copy_from_slice(&written[..length]);
                }
            }
            last = Some(output);
        }
        self.begin(ONE_ROUND);
        last.expect("a walk")
    }

    pub fn begin(&self, base: Round) {
        self.base.set(base);
        self.round.set(base);
    }

    pub fn rounds_of_walks(
        &self,
        pass: &'static Pass,
        walks: &[Walk],
        blocks: impl Blocks,
        contents: &[(&'static str, Vec<u8>)],
    ) -> Rounds {
        let one_test = Rounds { count: 1, tests: 1 };
        let output = self.run_walks(pass, walks, blocks, contents, Some(one_test));
        let counters: Vec<u32> = output.take("counters", 32);
        Rounds::of(counters[ROUNDS_NEEDED])
    }
}

impl Rounds {
    /// Returns rounds of a third of the `longest` search, just enough to end it.
    pub fn of(longest: u32) -> Self {
        let tests = (longest / 3).max(1);
        Self {
            count: longest.div_ceil(tests).max(1),
            tests,
        }
    }
}

#[derive(Clone, Copy)]
pub struct Rounds {
    pub count: u32,
    pub tests: u32,
}

pub struct Output {
    pub what: String,
    pub buffers: BTreeMap<&'static str, Vec<u8>>,
}

impl Output {
    /// Panics unless the buffer holds `expected`, followed by poison.
    pub fn check<T: Pod + Debug>(&self, name: &str, expected: &[T]) {
        let (what, found, size) = (&self.what, &self.buffers[name], size_of::<T>());
        let bytes: &[u8] = cast_slice(expected);
        let (found, rest) = found.split_at(bytes.len());
        if found != bytes {
            let at = (0..bytes.len()).find(|&at| found[at] != bytes[at]).unwrap();
            let (at, value) = (at / size, &found[at / size * size..][..size]);
            let value: T = pod_read_unaligned(value);
            panic!("{what}: {name}[{at}] is {value:?}, {:?} expected", expected[at]);
        }
        if let Some(at) = rest.iter().position(|&byte| byte != POISON) {
            panic!("{what}: {name}[{}] is written", expected.len() + at / size);
        }
    }

    pub fn take<T: Pod>(&self, name: &str, count: usize) -> Vec<T> {
        let (shown, rest) = self.buffers[name].split_at(count * size_of::<T>());
        let intact = rest.iter().all(|&byte| byte == POISON);
        assert!(intact, "{}: {name} is written past element {count}", self.what);
        pod_collect_to_vec(shown)
    }

    pub fn check_rounds(&self, expected: &[u32], rounds: Rounds) {
        let mut expected = expected.to_vec();
        expected[ROUNDS_NEEDED] = if rounds.count > 1 { rounds.count } else { 0 };
        self.check("counters", &expected);
    }

    /// In crowded scenes, a round that ends within a cluster changes the box tests.
    pub fn check_query_rounds(&self, expected: &[u32], rounds: Rounds, is_crowded: bool) {
        let mut expected = expected.to_vec();
        if is_crowded {
            let found: Vec<u32> = self.take("counters", expected.len());
            expected[QUERY_CANDIDATES..][..2].copy_from_slice(&found[QUERY_CANDIDATES..][..2]);
        }
        self.check_rounds(&expected, rounds);
    }

    pub fn check_ray_rounds(&self, expected: &[u32], rounds: Rounds) {
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

    /// Panics if the pass wrote more than `words` words behind `first`. Later rounds read those words.
    pub fn check_carry_words(&self, name: &str, first: &[u8], words: usize) {
        let found = &self.buffers[name];
        assert!(found.starts_with(first), "{}: {name}", self.what);
        let rest = &found[first.len() + 4 * words..];
        assert!(rest.iter().all(|&byte| byte == POISON), "{}: {name}", self.what);
    }

    /// Box tests of rays are approximate, since rounding affects the visited cells.
    pub fn check_ray_counters(&self, before: &[u32], expected: &[u32]) {
        self.check_about(before, expected, RAY_CANDIDATES);
    }

    /// Rounded distances affect box tests, and these the rounds.
    pub fn check_nearest_counters(&self, before: &[u32], expected: &[u32]) {
        let mut expected = expected.to_vec();
        expected[ROUNDS_NEEDED] = self.counter(ROUNDS_NEEDED);
        self.check_about(before, &expected, QUERY_CANDIDATES);
    }

    pub fn counter(&self, word: usize) -> u32 {
        self.take::<u32>("counters", 32)[word]
    }

    fn check_about(&self, before: &[u32], expected: &[u32], candidates: usize) {
        let tests_of = |words: &[u32]| wide(words, candidates);
        let mut found: Vec<u32> = self.take("counters", expected.len());
        let [tests, near] = [tests_of(&found), tests_of(expected)].map(|tests| tests - tests_of(before));
        assert!(
            tests <= 2 * near + 64 && near <= 2 * tests + 64,
            "{}: {tests} box tests, {near} in the reference",
            self.what
        );
        found[candidates..][..2].copy_from_slice(&expected[candidates..][..2]);
        assert_eq!(found, expected, "{}: counters", self.what);
    }
}

pub fn uniform<T: ShaderType + WriteInto>(value: &T) -> Vec<u8> {
    let mut buffer = UniformBuffer::new(Vec::<u8>::new());
    buffer.write(value).unwrap();
    buffer.into_inner()
}

pub fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    cast_slice(values).to_vec()
}

pub fn poison<T>(count: usize) -> Vec<u8> {
    vec![POISON; count * size_of::<T>()]
}

pub fn zeros(words: usize) -> Vec<u8> {
    vec![0; 4 * words]
}

pub fn groups(elements: usize) -> u32 {
    elements.div_ceil(256).max(1) as u32
}

/// Counters of earlier passes. Additions carry into high words, and other words must stay.
pub fn used_counters() -> Vec<u32> {
    let mut counters: Vec<u32> = (1000..1032).collect();
    counters[STATUS] = 0x50;
    (counters[ROUNDS_NEEDED], counters[UNFINISHED]) = (0, 0);
    counters[PAIR_CANDIDATES] = u32::MAX - 2;
    counters[RAY_CANDIDATES] = u32::MAX - 2;
    counters
}

pub fn stale_grid() -> Grid {
    pod_read_unaligned(&[POISON; size_of::<Grid>()])
}

pub fn with_stale(entries: &[u32], count: u32) -> Vec<u8> {
    let mut entries = entries.to_vec();
    entries[count as usize..].fill(STALE);
    bytes(&entries)
}

/// Returns the buffer of records: records, unused room, then the boxes of clusters.
fn with_clusters(trace: &Table) -> Vec<u8> {
    let mut records = bytes(&trace.records);
    if !trace.clusters.is_empty() {
        let all = trace.params.object_count + trace.params.large_table_capacity;
        records.resize(all as usize * size_of_val(&trace.records[0]), POISON);
        records.extend(bytes(&trace.clusters));
    }
    records
}

pub fn crowded(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    let table = &mut trace.tables.own;
    table.grid.is_crowded = 1;
    table.clusters = clusters::clusters(&table.grid, &table.keys, &mut table.values, &mut table.records);
    trace
}

pub fn walk_inputs(trace: &Table) -> Vec<(&'static str, Vec<u8>)> {
    let entries = trace.grid.entry_count;
    vec![
        ("grid", bytes_of(&trace.grid).to_vec()),
        ("records", with_clusters(trace)),
        ("starts", bytes(&trace.starts)),
        ("keys", with_stale(&trace.keys, entries)),
        ("values", with_stale(&trace.values, entries)),
    ]
}

pub fn table(trace: &Table) -> CellTable<'_> {
    trace.cells()
}

pub fn shifted(offsets: &[u32], shift: u32) -> Vec<u8> {
    bytes(&shifted_words(offsets, shift))
}

pub fn shifted_words(offsets: &[u32], shift: u32) -> Vec<u32> {
    offsets.iter().map(|offset| offset.saturating_add(shift)).collect()
}

/// Returns pages of `all` rows as (shift of the offsets, first row, most rows).
fn windows(all: usize) -> [(u32, usize, usize); 6] {
    [
        (0, 0, all),
        (0, all / 3, all / 3),
        (0, 0, all.min(7)),
        (0, all.saturating_sub(1), 5),
        (0, all, 9),
        // Half of the offsets exceed 32 bits.
        (u32::MAX - (all / 2) as u32, 0, all + 9),
    ]
}

pub fn shown(all: usize, (shift, first, capacity): (u32, usize, usize)) -> std::ops::Range<usize> {
    let fitting = all.min((u32::MAX - shift) as usize);
    first.min(fitting)..(first + capacity).min(fitting)
}

pub fn scan_of(counts: &mut [u32]) -> u64 {
    let scan = ScanParams {
        count: counts.len() as u32,
        total_word: 0,
        capacity: u32::MAX,
        status_bit: 0,
    };
    let mut counters = [0; 32];
    scan::scan(&scan, counts, &mut counters);
    wide(&counters, 0)
}

pub fn wide(words: &[u32], first: usize) -> u64 {
    u64::from(words[first]) | u64::from(words[first + 1]) << 32
}

pub fn descriptor(scheme: Scheme, entries: Option<u32>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            growth: Growth::Fixed,
            capacities: Capacities {
                entries,
                ..Default::default()
            },
            ..Default::default()
        },
        count_candidates: true,
        ..Default::default()
    }
}
