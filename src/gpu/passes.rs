//! The passes of a recording as a value: clears, copies and dispatches in order, with buffers by name. `Recorder`
//! records it. Its pipelines and missing buffers are found without a device.

use super::buffers::BufferId;
use super::shader::Variant;
use super::upload::Block;
use crate::shared::wgsl::number;

/// Rounds per submission if a walk is split. Driver watchdogs limit the time of one submission.
pub(crate) const SUBMISSION_ROUNDS: usize = 8;

/// Workgroup size of all passes with one invocation per element.
pub(crate) const WORKGROUP: u32 = number("common/workgroup", "WORKGROUP");

#[derive(Default)]
pub(crate) struct Passes {
    pub commands: Vec<Command>,
    /// Bindings of all dispatches that do not give others.
    pub binds: Vec<Binds>,
}

pub(crate) enum Command {
    /// `bytes` is `None` for the whole buffer.
    Clear {
        id: BufferId,
        first: u64,
        bytes: Option<u64>,
    },
    /// `bytes` is `None` for the size of `to`.
    Copy {
        from: (BufferId, u64),
        to: (BufferId, u64),
        bytes: Option<u64>,
    },
    Stage(Stage),
}

/// One labelled compute pass with all its dispatches.
pub(crate) struct Stage {
    pub name: &'static str,
    pub dispatches: Vec<Dispatch>,
    pub part: Part,
}

/// Part of a walk in rounds, which may be split into submissions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// The first of several parts, with the number of rounds.
    First(usize),
    /// Later parts are not timed.
    Later,
}

pub(crate) struct Dispatch {
    pub variant: Variant,
    pub groups: GroupCount,
    pub binds: Vec<Binds>,
}

/// Number of workgroups.
#[derive(Clone, Copy)]
pub(crate) enum GroupCount {
    Known(u32),
    In(BufferId),
}

/// A WGSL variable that each dispatch binds explicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable(pub &'static str);

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Buffer(BufferId),
    Block(Block),
}

pub(crate) type Binds = (Variable, Bound);

macro_rules! variables {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)+) => {
        pub(crate) mod variable {
            use $crate::gpu::passes::Variable;

            $(
                $(#[$doc])*
                pub(crate) const $constant: Variable = Variable($name);
            )+
            #[cfg(test)]
            pub(crate) const ALL: &[Variable] = &[$($constant),+];
        }
    };
}

pub(crate) use variables;

impl Variable {
    pub const fn is(self, buffer: BufferId) -> Binds {
        (self, Bound::Buffer(buffer))
    }

    pub const fn is_block(self, block: Block) -> Binds {
        (self, Bound::Block(block))
    }
}

impl From<BufferId> for Variable {
    fn from(id: BufferId) -> Self {
        Self(id.name)
    }
}

impl BufferId {
    pub const fn is(self, buffer: Self) -> Binds {
        Variable(self.name).is(buffer)
    }
}

impl Passes {
    pub const fn new(binds: Vec<Binds>) -> Self {
        Self {
            commands: Vec::new(),
            binds,
        }
    }

    pub fn clear(&mut self, id: BufferId) {
        let (first, bytes) = (0, None);
        self.commands.push(Command::Clear { id, first, bytes });
    }

    pub fn clear_words(&mut self, id: BufferId, first: usize, count: u64) {
        let (first, bytes) = (4 * first as u64, Some(4 * count));
        self.commands.push(Command::Clear { id, first, bytes });
    }

    /// Fills `to` from the start of `from`.
    pub fn copy(&mut self, from: BufferId, to: BufferId) {
        self.push_copy((from, 0), (to, 0), None);
    }

    pub fn copy_bytes(&mut self, from: BufferId, to: BufferId, bytes: u64) {
        self.push_copy((from, 0), (to, 0), Some(bytes));
    }

    pub fn copy_words(&mut self, from: BufferId, first: usize, to: BufferId, place: usize, count: u64) {
        self.push_copy((from, 4 * first as u64), (to, 4 * place as u64), Some(4 * count));
    }

    fn push_copy(&mut self, from: (BufferId, u64), to: (BufferId, u64), bytes: Option<u64>) {
        self.commands.push(Command::Copy { from, to, bytes });
    }

    pub fn stage(&mut self, name: &'static str, body: impl FnOnce(&mut Stage)) {
        self.push_stage(name, Part::Whole, body);
    }

    fn push_stage(&mut self, name: &'static str, part: Part, body: impl FnOnce(&mut Stage)) {
        let mut stage = Stage {
            name,
            dispatches: Vec::new(),
            part,
        };
        body(&mut stage);
        self.commands.push(Command::Stage(stage));
    }

    /// A stage that runs once per round.
    pub fn rounds<T>(&mut self, name: &'static str, rounds: &[T], mut body: impl FnMut(&mut Stage, &T)) {
        let is_split = rounds.len() > SUBMISSION_ROUNDS;
        let mut part = if is_split {
            Part::First(rounds.len())
        } else {
            Part::Whole
        };
        for rounds in rounds.chunks(SUBMISSION_ROUNDS) {
            self.push_stage(name, part, |stage| rounds.iter().for_each(|round| body(stage, round)));
            part = Part::Later;
        }
    }

    fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.commands.iter().flat_map(|command| match command {
            Command::Stage(stage) => &stage.dispatches[..],
            _ => &[],
        })
    }

    /// Variants of passes that the list dispatches.
    pub fn variants(&self) -> impl Iterator<Item = Variant> {
        self.dispatches().map(|dispatch| dispatch.variant)
    }

    /// Returns the first buffer for which `has` is false, and the pass, clear or copy that uses it.
    pub fn unbound(&self, has: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
        let mut used = self.commands.iter().flat_map(|command| match command {
            Command::Clear { id, .. } => vec![("a clear", id.name)],
            Command::Copy { from, to, .. } => vec![("a copy", from.0.name), ("a copy", to.0.name)],
            Command::Stage(stage) => stage.dispatches.iter().flat_map(|of| self.used_by(of)).collect(),
        });
        used.find(|(_, name)| !has(name))
    }

    /// The pass, and each buffer that it binds or whose workgroup counts it takes.
    fn used_by(&self, dispatch: &Dispatch) -> impl Iterator<Item = (&'static str, &'static str)> {
        let pass = dispatch.variant.pass;
        let groups = match dispatch.groups {
            GroupCount::In(id) => Some(id.name),
            GroupCount::Known(_) => None,
        };
        let bound = pass
            .bindings()
            .iter()
            .filter_map(|&(.., name)| match dispatch.bound(self, name) {
                Some(Bound::Block(_)) => None,
                Some(Bound::Buffer(id)) => Some(id.name),
                None => Some(name),
            });
        groups.into_iter().chain(bound).map(|name| (pass.name, name))
    }
}

impl Stage {
    pub fn run(&mut self, pass: impl Into<Variant>, elements: u32, binds: &[Binds]) {
        let variant = pass.into();
        self.run_groups(variant, elements.div_ceil(variant.pass.workgroup()), binds);
    }

    /// `binds` gives the buffers of variables that are not named like their buffer.
    pub fn run_groups(&mut self, pass: impl Into<Variant>, groups: u32, binds: &[Binds]) {
        self.push(pass.into(), GroupCount::Known(groups), binds);
    }

    pub fn run_indirect(&mut self, pass: impl Into<Variant>, groups: BufferId, binds: &[Binds]) {
        self.push(pass.into(), GroupCount::In(groups), binds);
    }

    fn push(&mut self, variant: Variant, groups: GroupCount, binds: &[Binds]) {
        if !matches!(groups, GroupCount::Known(0)) {
            let binds = binds.to_vec();
            self.dispatches.push(Dispatch { variant, groups, binds });
        }
    }
}

impl Dispatch {
    /// Explicit binding of a variable; `None` if it has the name of its buffer.
    pub fn bound(&self, passes: &Passes, name: &str) -> Option<Bound> {
        let mut binds = self.binds.iter().chain(&passes.binds);
        binds
            .find(|(Variable(variable), _)| *variable == name)
            .map(|&(_, bound)| bound)
    }
}
