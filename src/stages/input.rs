//! The input stage: packs the caller's rays, queries or worlds.

use crate::gpu::buffers::BufferId;
use crate::gpu::passes::{Binds, Passes, Stage, variables};
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{CountParams, GatherParams, SourceLayout};

passes! {
    "input" {
        /// Copies packed rays or queries whose number only the device knows. Rows past that number find nothing.
        DEVICE_COUNT = "device_count";

        GATHER_INPUT = "gather_input";
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Copying {
    Count(CountParams),
    Gather(GatherParams),
}

impl Copying {
    /// `layout` is `None` for packed rows. `is_limited` is true if only the device knows the number of rows.
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

    pub fn of_words(layout: SourceLayout, elements: u32) -> Self {
        Self::Gather(GatherParams {
            elements,
            words: 1,
            ..layout.into()
        })
    }

    /// Returns true if uploaded rows need a source buffer of the broad phase.
    pub const fn needs_source_buffer(&self) -> bool {
        matches!(self, Self::Count(_))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Copied {
    pass: &'static Pass,
    invocations: u32,
    binds: [Binds; 4],
}

impl Copied {
    /// `buffers`: device counts, source rows, packed rows.
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

    pub fn record(&self, stage: &mut Stage) {
        stage.run(self.pass, self.invocations, &self.binds);
    }
}

pub(crate) fn record(passes: &mut Passes, copied: [Option<Copied>; 2]) {
    if copied.iter().all(Option::is_none) {
        return;
    }
    passes.stage("input", |stage| {
        copied.iter().flatten().for_each(|rows| rows.record(stage));
    });
}
