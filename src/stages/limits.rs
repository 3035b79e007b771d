//! The limits stage: rays and queries of which only the device knows how many are asked.

use crate::gpu::buffers::BufferId;
use crate::gpu::recorder::{Recorder, variables};
use crate::gpu::shader::passes;
use crate::gpu::upload::{Block, Blocks};
use crate::shared::blocks::LimitParams;

passes! {
    "limits" {
        /// Rays or queries of which the device says how many are asked.
        LIMIT_ASKED = "limit_asked"
            if |of| of.uses.device_counts && (of.uses.casts() || of.uses.queries || of.uses.nearest);
    }
}

variables! {
    LIMIT = "limit";
    LIMITS = "limits";
    GIVEN = "given";
    ASKED = "asked";
}

use variable::*;

/// Rays or queries with a limit, and the uniform block of their pass.
#[derive(Clone, Copy)]
pub(crate) struct Limited {
    rows: u32,
    block: Block,
    /// Where the limit, the rows that are given and those that are asked lie.
    buffers: [BufferId; 3],
}

impl Limited {
    /// Writes the block of rows that have a limit. `buffers` hold the limit, the rows that are given and those that are
    /// asked.
    pub fn new(blocks: &mut Blocks, params: Option<LimitParams>, buffers: [BufferId; 3]) -> Option<Self> {
        params.map(|params| Self {
            rows: params.rows,
            block: blocks.push(&params),
            buffers,
        })
    }
}

/// Makes the rays and queries that are asked of those that are given.
pub(crate) fn record(recorder: &mut Recorder<'_>, limited: [Option<Limited>; 2]) {
    if limited.iter().all(Option::is_none) {
        return;
    }
    recorder.stage("limits", |stage| {
        for Limited { rows, block, buffers } in limited.into_iter().flatten() {
            let [limits, given, asked] = buffers;
            let binds = [
                LIMIT.is_block(block),
                LIMITS.is(limits),
                GIVEN.is(given),
                ASKED.is(asked),
            ];
            stage.run(&LIMIT_ASKED, rows, &binds);
        }
    });
}
