//! The interpreter as a device of the pass tests. A fault that is not allowed ends the test.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gpu_broad_phase::shaders::Binding;
use gpu_broad_phase::wgpu;

use crate::allowed::is_allowed;
use crate::code::{Buffer, BufferKind, NONE, Program};
use crate::findings::{Fault, Finding, Findings, Tally};
use crate::harness::{Device, Dispatch};
use crate::lower::lower;
use crate::machine::{Config, Machine, Memory};
use crate::stats::Stats;

pub type Constants = Vec<(&'static str, u32)>;

#[derive(Clone)]
pub struct Case {
    pub constants: Constants,
    pub groups: [u32; 2],
    pub memories: Vec<(&'static str, Vec<u32>, usize)>,
}

#[derive(Default)]
pub struct Log {
    pub dispatches: u64,
    pub invocations: u64,
    pub cases: Vec<Case>,
}

pub struct Warps {
    name: String,
    lanes: usize,
    config: Config,
    dispatches: AtomicU64,
    /// Most cases recorded per pass, size and set of constants.
    kept: usize,
    pub log: Mutex<BTreeMap<&'static str, Log>>,
}

/// Operations after which a warp counts as endless.
pub const ENDLESS: u64 = 200_000_000;

pub const CONFIG: Config = Config {
    watches: true,
    counts: false,
    seed: 0,
    in_flight: 3,
    limit: ENDLESS,
};

impl Warps {
    pub fn new(lanes: usize, by_chance: bool) -> Self {
        Self {
            name: format!("warps of {lanes}, {}", if by_chance { "by chance" } else { "in order" }),
            lanes,
            config: Config {
                seed: u64::from(by_chance),
                ..CONFIG
            },
            dispatches: AtomicU64::new(0),
            kept: 0,
            log: Mutex::default(),
        }
    }

    pub fn keeping(kept: usize) -> Self {
        let mut warps = Self::new(32, false);
        warps.config.watches = false;
        Self { kept, ..warps }
    }
}

/// Cached for all devices. `keeps_loads` keeps loads whose values are unused.
pub fn program(name: &str, source: &str, constants: &[(&str, u32)], keeps_loads: bool) -> Arc<Program> {
    type Key = (String, String, Vec<(String, u32)>, bool);
    static PROGRAMS: LazyLock<Mutex<HashMap<Key, Arc<Program>>>> = LazyLock::new(Mutex::default);
    let owned = constants.iter().map(|&(name, value)| (name.to_owned(), value));
    let key = (name.to_owned(), source.to_owned(), owned.collect(), keeps_loads);
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || Arc::new(lower(name, source, constants, keeps_loads));
    programs.entry(key).or_insert_with(make).clone()
}

/// `bound` returns the words of a buffer and the number supplied, or `None` for workgroup memory.
pub fn memories(program: &Program, bound: impl Fn(&Buffer) -> Option<(Vec<u32>, usize)>) -> Vec<Memory> {
    let memory = |buffer| {
        let (words, given) = bound(buffer).unwrap_or_default();
        Memory { words, given }
    };
    program.buffers.iter().map(memory).collect()
}

pub fn run(
    lanes: usize,
    program: &Program,
    memories: &mut [Memory],
    groups: [u32; 2],
    config: Config,
) -> (Findings, Option<Stats>) {
    fn with<const L: usize>(
        program: &Program,
        memories: &mut [Memory],
        groups: [u32; 2],
        config: Config,
    ) -> (Findings, Option<Stats>) {
        let mut machine = Machine::<L>::new(program, memories, groups, config);
        machine.run();
        (machine.findings, machine.stats)
    }
    let run = match lanes {
        1 => with::<1>,
        8 => with::<8>,
        16 => with::<16>,
        32 => with::<32>,
        64 => with::<64>,
        _ => panic!("warps of {lanes} lanes: 1, 8, 16, 32 or 64"),
    };
    run(program, memories, groups, config)
}

pub fn told(program: &Program, finding: &Finding, tally: &Tally) -> String {
    let what = match finding.fault {
        Fault::WriteWrite => "two invocations write a word",
        Fault::ReadThenWrite => "an invocation writes what another one reads",
        Fault::WriteThenRead => "an invocation reads what another one writes",
        Fault::AtomicStoreStore => "two invocations store an atomic",
        Fault::AtomicStoreUpdate => "an invocation stores an atomic that another one updates",
        Fault::AtomicStoreLoad => "an invocation stores an atomic that another one loads",
        Fault::AtomicUpdateLoad => "an invocation loads an atomic that another one updates",
        Fault::OutOfBoundsRead | Fault::PastEndRead => "an invocation reads past the end",
        Fault::OutOfBoundsWrite | Fault::PastEndWrite => "an invocation writes past the end",
        Fault::IndexPastArray => "an index is past the end of its array",
        Fault::UnwrittenWorkgroupRead => "an invocation reads workgroup memory that nobody wrote",
        Fault::StaleRead => "an invocation reads what nobody wrote",
        Fault::DivergentBarrier => "a barrier in control flow that is not uniform",
        Fault::DivergentSubgroup => "an operation of a subgroup in control flow that is not uniform",
        Fault::LongShift => "a shift by 32 bits or more",
        Fault::Endless => "a loop that does not end",
    };
    let between = match (finding.earlier > 0, finding.across) {
        (true, true) => ", in two workgroups",
        (true, false) => ", and no barrier orders them",
        _ => "",
    };
    let buffer = match finding.buffer {
        NONE => String::new(),
        buffer => format!(" of `{}`", program.buffers[buffer as usize].name),
    };
    let earlier = match finding.earlier {
        0 => String::new(),
        line => format!("{}, then ", program.place(line)),
    };
    let times = match tally.idle {
        0 => format!("{} times", tally.count),
        idle => format!("{} times, {idle} of them without effect", tally.count),
    };
    let (place, example) = (program.place(finding.line), &tally.example);
    format!(
        "{}: {what}{between}: {earlier}{place}{buffer}: {example} ({times})",
        program.name
    )
}

pub fn faults(program: &Program, findings: &Findings) -> Vec<String> {
    findings
        .iter()
        .filter(|(finding, _)| !is_allowed(program, finding))
        .map(|(finding, tally)| told(program, finding, tally))
        .collect()
}

impl Device for Warps {
    fn name(&self) -> &str {
        &self.name
    }

    fn features(&self) -> wgpu::Features {
        wgpu::Features::SUBGROUP
    }

    fn rounds_as_reference(&self) -> bool {
        true
    }

    fn cuts_loops(&self) -> bool {
        false
    }

    fn dispatch(&self, dispatch: &Dispatch<'_>) -> BTreeMap<&'static str, Vec<u8>> {
        let pass = dispatch.pass;
        let program = program(pass.name, &pass.source(), &dispatch.constants, self.config.watches);
        let mut memories = memories(&program, |buffer| {
            let bound = dispatch.buffers.iter().find(|bound| bound.number == buffer.binding)?;
            Some((bytemuck::pod_collect_to_vec(&bound.bytes), bound.given / 4))
        });
        let mut config = self.config;
        config.seed *= 1 + self.dispatches.fetch_add(1, Ordering::Relaxed);
        {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let log = log.entry(pass.name).or_default();
            let [width, height] = dispatch.groups;
            log.dispatches += 1;
            log.invocations += u64::from(width * height * program.workgroup);
            let words = dispatch.buffers.iter().map(|bound| bound.given / 4).sum::<usize>();
            let is_alike = |case: &&Case| {
                let given = case.memories.iter().map(|&(_, _, given)| given).sum::<usize>();
                let is_as_large = given.max(1).ilog2() == words.max(1).ilog2();
                is_as_large && case.groups == dispatch.groups && case.constants == dispatch.constants
            };
            if log.cases.iter().filter(is_alike).count() < self.kept {
                log.cases.push(Case {
                    constants: dispatch.constants.clone(),
                    groups: dispatch.groups,
                    memories: (dispatch.buffers.iter())
                        .map(|bound| (bound.name, bytemuck::pod_collect_to_vec(&bound.bytes), bound.given / 4))
                        .collect(),
                });
            }
        }
        let (findings, _) = run(self.lanes, &program, &mut memories, dispatch.groups, config);
        let faults = faults(&program, &findings);
        if !faults.is_empty() {
            let (scene, constants) = (dispatch.scene, &dispatch.constants);
            panic!("{}\n{scene}, {constants:?} on {}", faults.join("\n"), self.name);
        }
        let written = dispatch.buffers.iter().filter(|bound| bound.kind == Binding::Write);
        let words = |number: u32| {
            let at = program
                .buffers
                .iter()
                .position(|buffer| buffer.binding == number && buffer.kind != BufferKind::Workgroup);
            at.map(|at| bytemuck::cast_slice(&memories[at].words).to_vec())
        };
        // Buffers that the code does not use stay unchanged.
        written
            .map(|bound| (bound.name, words(bound.number).unwrap_or_else(|| bound.bytes.clone())))
            .collect()
    }
}
