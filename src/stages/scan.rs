//! The scan stage: counts become offsets, and their total is checked against a capacity.

use crate::api::counters::CountedOutput;
use crate::api::counters::Status;
use crate::api::descriptor::RayMode;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::recorder::{Stage, variables};
use crate::gpu::shader::{PassContext, passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{SCAN_TILE, ScanParams};

passes! {
    "scan" {
    /// Sums of the tiles of an exclusive scan.
    SCAN_REDUCE = "scan_reduce" if needed;

    /// Offsets of the tiles of an exclusive scan.
    SCAN_SPINE = "scan_spine" if needed;

    /// The exclusive scan itself.
    SCAN_APPLY = "scan_apply" if needed;
    }
}

/// For the uniform scheme's entries and the places of their pairs, and for lists of hits, cells and results.
fn needed(of: &PassContext<'_>) -> bool {
    let lists_rays = of.outputs.ray_mode == RayMode::All || of.outputs.ray_cells;
    of.is_uniform() || of.uses.queries || (of.uses.casts() && lists_rays)
}

buffers! {
    /// The sum of each tile as a 64-bit number, low word first.
    TILE_SUMS = "tile_sums": Objects;
}

variables! {
    DATA = "data";
    SCAN = "scan";
}

use variable::*;

/// A scan, and its uniform block.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    data: BufferId,
    count: u32,
    block: Block,
}

impl Scan {
    /// Writes the block of a scan of `count` words, the counts of an output's rows. A total above `capacity` sets the
    /// output's status bit.
    pub fn of(blocks: &mut Blocks, data: BufferId, count: u32, output: &CountedOutput, capacity: u32) -> Self {
        Self::new(blocks, data, count, output.word, capacity, output.status)
    }

    /// Writes the block of a scan of `count` words. The 64-bit total goes to two counters from `total_word` on. A total
    /// above `capacity` sets the bits of `status`.
    pub fn new(
        blocks: &mut Blocks,
        data: BufferId,
        count: u32,
        total_word: usize,
        capacity: u32,
        status: Status,
    ) -> Self {
        let block = blocks.push(&ScanParams {
            count,
            total_word: total_word as u32,
            capacity,
            status_bit: status.bits(),
        });
        Self { data, count, block }
    }

    /// Turns the counts into offsets.
    pub fn record(self, stage: &mut Stage<'_>) {
        let binds = [DATA.is(self.data), SCAN.is_block(self.block)];
        let tiles = tiles(self.count);
        stage.run_groups(&SCAN_REDUCE, tiles, &binds);
        stage.run_groups(&SCAN_SPINE, 1, &binds);
        stage.run_groups(&SCAN_APPLY, tiles, &binds);
    }
}

/// The buffer that scans share, where the largest has so many words.
pub(crate) fn sizes(count: u32) -> Sizes {
    vec![(buffer::TILE_SUMS, 8 * u64::from(tiles(count)))]
}

fn tiles(count: u32) -> u32 {
    count.div_ceil(SCAN_TILE as u32)
}
