//! The limits stage: rays and queries that lie anywhere in a caller's buffer, or of which only the device knows how
//! many are asked.

use crate::gpu::buffers::BufferId;
use crate::gpu::recorder::{Binds, Recorder, Stage, variables};
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{GivenLayout, LimitParams, TakeParams};

passes! {
    "limits" {
        /// Rays or queries of which the device says how many are asked.
        LIMIT_ASKED = "limit_asked"
            if |of| of.uses.device_counts && (of.uses.casts() || of.uses.queries || of.uses.nearest);

        /// Rays, queries or numbers that lie anywhere in a caller's buffer, as rows.
        TAKE_ASKED = "take_asked"
            if |of| of.uses.strided
                && (of.has_worlds() || of.uses.casts() || of.uses.queries || of.uses.nearest);
    }
}

variables! {
    LIMIT = "limit";
    TAKE = "take";
    LIMITS = "limits";
    GIVEN = "given";
    ASKED = "asked";
}

use variable::*;

/// How rows that are asked are made of those that are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Copying {
    /// They lie as passes read them, and the device says how many are asked.
    Limit(LimitParams),
    /// They lie as this says.
    Take(TakeParams),
}

impl Copying {
    /// How rows of `limit.stride` vectors are made. `given` says how they lie where passes cannot read them, and
    /// `is_limited` whether the device says how many are asked.
    pub fn of(given: Option<GivenLayout>, is_limited: bool, limit: LimitParams) -> Option<Self> {
        match given {
            Some(given) => Some(Self::Take(TakeParams {
                elements: limit.rows,
                words: 4 * limit.stride,
                limit: if is_limited { limit.limit_word + 1 } else { 0 },
                row_word: limit.row_word,
                value: limit.value,
                ..given.into()
            })),
            None => is_limited.then_some(Self::Limit(limit)),
        }
    }

    /// All of so many numbers.
    pub fn of_words(given: GivenLayout, elements: u32) -> Self {
        Self::Take(TakeParams {
            elements,
            words: 1,
            ..given.into()
        })
    }

    /// Whether rows are given in a buffer that may be the own one.
    pub const fn is_from_own(&self) -> bool {
        matches!(self, Self::Limit(_))
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
        let [limits, given, asked] = buffers;
        let binds = |block, limits| [block, LIMITS.is(limits), GIVEN.is(given), ASKED.is(asked)];
        match copying {
            Copying::Limit(params) => Self {
                pass: &LIMIT_ASKED,
                invocations: params.rows,
                binds: binds(LIMIT.is_block(blocks.push(&params)), limits),
            },
            Copying::Take(params) => Self {
                pass: &TAKE_ASKED,
                invocations: params.elements * params.words,
                binds: binds(
                    TAKE.is_block(blocks.push(&params)),
                    if params.limit == 0 { given } else { limits },
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
    recorder.stage("limits", |stage| {
        copied.iter().flatten().for_each(|rows| rows.record(stage));
    });
}
