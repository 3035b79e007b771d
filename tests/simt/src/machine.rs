use crate::code::{BufferKind, NONE, Program};
use crate::findings::{Fault, Finding, Findings};
use crate::shadow::Word;
use crate::stats::Stats;

#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub watches: bool,
    pub counts: bool,
    /// Seed of the random order. 0 runs warps and workgroups one after the other.
    pub seed: u64,
    /// Number of workgroups that run at once, if in random order.
    pub in_flight: usize,
    /// Operations after which a warp is stopped.
    pub limit: u64,
}

pub const UNWRITTEN: u32 = 0xdead_beef;

pub struct Memory {
    pub words: Vec<u32>,
    /// Number of supplied words. The words behind them catch accesses past the end.
    pub given: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ready,
    Waiting,
    Done,
}

pub struct Warp<const L: usize> {
    pub pc: usize,
    pub mask: u64,
    pub full: u64,
    pub state: State,
    pub registers: Vec<[u32; L]>,
    pub masks: Vec<u64>,
    pub who: [u32; L],
    pub steps: u64,
    pub clocks: u64,
}

pub struct Group<const L: usize> {
    pub id: u32,
    is_live: bool,
    pub warps: Vec<Warp<L>>,
    pub shared: Vec<Vec<u32>>,
    pub shadow: Vec<Vec<Word>>,
    pub written: Vec<Vec<bool>>,
    /// Number of barriers for workgroup memory, and for storage.
    pub epochs: [u32; 2],
    /// Sectors in the workgroup's small cache.
    pub tags: Vec<u64>,
}

pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn shuffle(&mut self, list: &mut [u32]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

pub struct Machine<'p, const L: usize> {
    pub program: &'p Program,
    pub config: Config,
    pub memories: &'p mut [Memory],
    pub shadow: Vec<Vec<Word>>,
    pub findings: Findings,
    pub stats: Option<Stats>,
    pub groups: [u32; 2],
    pub chance: Chance,
    pub is_given_up: bool,
}

impl<'p, const L: usize> Machine<'p, L> {
    pub fn new(program: &'p Program, memories: &'p mut [Memory], groups: [u32; 2], config: Config) -> Self {
        let shadow = memories
            .iter()
            .zip(&program.buffers)
            .map(|(memory, buffer)| match buffer.kind {
                BufferKind::Write if config.watches => vec![Word::default(); memory.words.len()],
                _ => Vec::new(),
            })
            .collect();
        let stats = config.counts.then(|| Stats::new(program, memories));
        Self {
            program,
            config,
            memories,
            shadow,
            findings: Findings::new(),
            stats,
            groups,
            is_given_up: false,
            chance: Chance(config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        }
    }

    fn new_group(&self) -> Group<L> {
        let program = self.program;
        let shared: Vec<Vec<u32>> = program
            .buffers
            .iter()
            .map(|buffer| match buffer.kind {
                BufferKind::Workgroup => vec![UNWRITTEN; buffer.words as usize],
                _ => Vec::new(),
            })
            .collect();
        let warps = (0..(program.workgroup as usize).div_ceil(L)).map(|_| {
            let mut registers = vec![[0; L]; program.rows as usize];
            for &(row, value) in &program.constants {
                registers[row as usize] = [value; L];
            }
            Warp {
                pc: 0,
                mask: 0,
                full: 0,
                state: State::Done,
                registers,
                masks: vec![0; program.slots as usize + 1],
                who: [0; L],
                steps: 0,
                clocks: 0,
            }
        });
        let watched = |words: &Vec<u32>| if self.config.watches { words.len() } else { 0 };
        Group {
            id: 0,
            is_live: false,
            warps: warps.collect(),
            shadow: shared
                .iter()
                .map(|words| vec![Word::default(); watched(words)])
                .collect(),
            written: shared.iter().map(|words| vec![false; watched(words)]).collect(),
            shared,
            epochs: [0; 2],
            tags: vec![u64::MAX; (program.workgroup as usize * 4).next_power_of_two()],
        }
    }

    fn begin(&mut self, group: &mut Group<L>, id: u32) {
        group.id = id;
        group.is_live = true;
        group.shared.iter_mut().for_each(|words| words.fill(UNWRITTEN));
        group.shadow.iter_mut().for_each(|words| words.fill(Word::default()));
        group.written.iter_mut().for_each(|words| words.fill(false));
        group.epochs = [0; 2];
        group.tags.fill(u64::MAX);
        let size = self.program.workgroup;
        let order: Vec<u32> = (0..size).collect();
        for (warp, who) in group.warps.iter_mut().zip(order.chunks(L)) {
            warp.pc = 0;
            warp.full = u64::MAX >> (64 - who.len());
            warp.mask = warp.full;
            warp.state = State::Ready;
            warp.steps = 0;
            warp.clocks = 0;
            warp.who[..who.len()].copy_from_slice(who);
        }
        if let Some(stats) = &mut self.stats {
            stats.workgroups += 1;
        }
    }

    pub fn run(&mut self) {
        let all = self.groups[0] * self.groups[1];
        let mut order: Vec<u32> = (0..all).rev().collect();
        let by_chance = self.config.seed != 0;
        if by_chance {
            self.chance.shuffle(&mut order);
        }
        let most = if by_chance { self.config.in_flight } else { 1 };
        let mut live: Vec<Group<L>> = (0..most.min(all as usize)).map(|_| self.new_group()).collect();
        loop {
            for group in &mut live {
                if !group.is_live
                    && let Some(id) = order.pop()
                {
                    self.begin(group, id);
                }
            }
            live.retain(|group| group.is_live);
            if live.is_empty() || self.is_given_up {
                return;
            }
            if by_chance {
                let at = self.chance.below(live.len());
                let group = &mut live[at];
                let is_ready = |&warp: &usize| group.warps[warp].state == State::Ready;
                let ready: Vec<usize> = (0..group.warps.len()).filter(is_ready).collect();
                let warp = ready[self.chance.below(ready.len())];
                let turn = 1 + self.chance.below(64) as u64;
                self.step(group, warp, turn);
                self.settle(group);
            } else {
                let group = &mut live[0];
                for warp in 0..group.warps.len() {
                    if group.warps[warp].state == State::Ready {
                        self.step(group, warp, u64::MAX);
                    }
                }
                self.settle(group);
            }
        }
    }

    /// If all warps wait, they pass the barrier. If all are done, the workgroup ends.
    fn settle(&mut self, group: &mut Group<L>) {
        if group.warps.iter().any(|warp| warp.state == State::Ready) {
            return;
        }
        let most = group.warps.iter().map(|warp| warp.clocks).max().unwrap_or(0);
        let is_waiting = |&warp: &usize| group.warps[warp].state == State::Waiting;
        let waiting: Vec<usize> = (0..group.warps.len()).filter(is_waiting).collect();
        let Some(&first) = waiting.first() else {
            group.is_live = false;
            if let Some(stats) = &mut self.stats {
                stats.longest = stats.longest.max(most);
                stats.clocks += most;
            }
            return;
        };
        let barrier = group.warps[first].pc - 1;
        let is_one = waiting.iter().all(|&warp| group.warps[warp].pc - 1 == barrier);
        let are_whole = waiting
            .iter()
            .all(|&warp| group.warps[warp].mask == group.warps[warp].full);
        let (count, all, id) = (waiting.len(), group.warps.len(), group.id);
        if !is_one || !are_whole || count < all {
            self.report(Fault::DivergentBarrier, NONE, self.program.lines[barrier], || {
                let whole = if are_whole { "" } else { ", some in part" };
                let apart = if is_one { "" } else { ", at several barriers" };
                format!("{count} of {all} warps of workgroup {id} wait{whole}{apart}")
            });
        }
        for warp in &mut group.warps {
            warp.clocks = most;
        }
        for &warp in &waiting {
            group.warps[warp].state = State::Ready;
        }
        let orders = naga::Barrier::from_bits_truncate(self.program.ops[barrier].imm);
        group.epochs[0] += u32::from(orders.contains(naga::Barrier::WORK_GROUP));
        group.epochs[1] += u32::from(orders.contains(naga::Barrier::STORAGE));
    }

    #[cold]
    pub fn report(&mut self, fault: Fault, buffer: u32, line: u32, example: impl FnOnce() -> String) {
        let finding = Finding {
            fault,
            buffer,
            earlier: 0,
            line,
            across: false,
        };
        self.note(finding, false, example);
    }

    #[cold]
    pub fn note(&mut self, finding: Finding, is_idle: bool, example: impl FnOnce() -> String) {
        let tally = self.findings.entry(finding).or_default();
        tally.count += 1;
        tally.idle += u64::from(is_idle);
        if tally.count == 1 {
            tally.example = example();
        }
    }
}
