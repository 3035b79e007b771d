//! The limits stage: rays and queries that lie anywhere in a caller's buffer, or of which only the device knows how
//! many are asked.

use crate::gpu::buffers::BufferId;
use crate::gpu::recorder::{Binds, Recorder, Stage, variables};
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, GatherParams, SourceLayout};

passes! {
    "input" {
        /// Rays or queries of which the device says how many are asked.
        DEVICE_COUNT = "device_count"
            if |of| of.uses.device_counts && (of.uses.casts() || of.uses.queries || of.uses.nearest);

        /// Rays, queries or numbers that lie anywhere in a caller's buffer, as rows.
        GATHER_INPUT = "gather_input"
            if |of| of.uses.strided
                && (of.has_worlds() || of.uses.casts() || of.uses.queries || of.uses.nearest);
    }
}

variables! {
    COUNT = "count";
    GATHER = "gather";
    COUNTS = "counts";
    SOURCE = "source";
    GATHERED = "gathered";
}

use variable::*;

/// How rows that are asked are made of those that are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Copying {
    /// They lie as passes read them, and the device says how many are asked.
    Count(CountParams),
    /// They lie as this says.
    Gather(GatherParams),
}

impl Copying {
    /// How rows of `limit.stride` vectors are made. `given` says how they lie where passes cannot read them, and
    /// `is_limited` whether the device says how many are asked.
    pub fn of(layout: Option<SourceLayout>, is_limited: bool, limit: CountParams) -> Option<Self> {
        match layout {
            Some(layout) => Some(Self::Gather(GatherParams {
                elements: limit.rows,
                words: 4 * limit.stride,
                limit: if is_limited { limit.limit_word + 1 } else { 0 },
                row_word: limit.row_word,
                value: limit.value,
                ..layout.into()
            })),
            None => is_limited.then_some(Self::Count(limit)),
        }
    }

    /// All of so many numbers.
    pub fn of_words(layout: SourceLayout, elements: u32) -> Self {
        Self::Gather(GatherParams {
            elements,
            words: 1,
            ..layout.into()
        })
    }

    /// Whether rows are given in a buffer that may be the own one.
    pub const fn is_from_own(&self) -> bool {
        matches!(self, Self::Count(_))
    }
}

/// Rows that are copied, and the uniform block of their pass.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    pass: &'static Pass,
    invocations: u32,
    binds: [Binds; 4],
}

impl Copied {
    /// Writes the block of rows that are copied. `buffers` hold the limit, the rows that are given and those that are
    /// asked. The first is of no matter where there is no limit.
    pub fn new(blocks: &mut Blocks, copying: Copying, buffers: [BufferId; 3]) -> Self {
        let [counts, source, gathered] = buffers;
        let binds = |block, counts| [block, COUNTS.is(counts), SOURCE.is(source), GATHERED.is(gathered)];
        match copying {
            Copying::Count(params) => Self {
                pass: &DEVICE_COUNT,
                invocations: params.rows,
                binds: binds(COUNT.is_block(blocks.push(&params)), counts),
            },
            Copying::Gather(params) => Self {
                pass: &GATHER_INPUT,
                invocations: params.elements * params.words,
                binds: binds(
                    GATHER.is_block(blocks.push(&params)),
                    if params.limit == 0 { source } else { counts },
                ),
            },
        }
    }

    pub fn record(&self, stage: &mut Stage<'_>) {
        stage.run(self.pass, self.invocations, &self.binds);
    }
}

/// Makes the rays and queries that are asked of those that are given.
pub(crate) fn record(recorder: &mut Recorder<'_>, copied: [Option<Copied>; 2]) {
    if copied.iter().all(Option::is_none) {
        return;
    }
    recorder.stage("input", |stage| {
        copied.iter().flatten().for_each(|rows| rows.record(stage));
    });
}
