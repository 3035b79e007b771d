//! The scan stage: turns counts into offsets by an exclusive prefix sum in place.

use crate::api::counters::{Counted, Status};
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::passes::{Stage, variables};
use crate::gpu::shader::passes;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{SCAN_TILE, ScanParams};

passes! {
    "scan" {
    SCAN_REDUCE = "scan_reduce";

    /// Turns the sums into tile offsets and writes the 64-bit total to the counters. Sets a status bit if the total
    /// exceeds the capacity.
    SCAN_SPINE = "scan_spine";

    SCAN_APPLY = "scan_apply";
    }
}

buffers! {
    TILE_SUMS = "tile_sums": Objects;
}

variables! {
    DATA = "data";
    SCAN = "scan";
}

use variable::*;

#[derive(Clone, Copy)]
pub(crate) struct Scan {
    data: BufferId,
    count: u32,
    block: Block,
}

impl Scan {
    /// Sets the status bit of `output` if the total exceeds `capacity`.
    pub fn of(blocks: &mut Blocks, data: BufferId, count: u32, output: &Counted, capacity: u32) -> Self {
        Self::new(blocks, data, count, output.word, capacity, output.status)
    }

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

    pub fn record(self, stage: &mut Stage) {
        let binds = [DATA.is(self.data), SCAN.is_block(self.block)];
        let tiles = tiles(self.count);
        stage.run_groups(&SCAN_REDUCE, tiles, &binds);
        stage.run_groups(&SCAN_SPINE, 1, &binds);
        stage.run_groups(&SCAN_APPLY, tiles, &binds);
    }
}

pub(crate) fn sizes(count: u32) -> Sizes {
    vec![(buffer::TILE_SUMS, 8 * u64::from(tiles(count)))]
}

fn tiles(count: u32) -> u32 {
    count.div_ceil(SCAN_TILE as u32)
}
