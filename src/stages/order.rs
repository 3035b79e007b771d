//! The order stage: sorts the rows of an output.
//!
//! Rows are sorted by the second key, then stably by the first, which keeps the order of second keys; with worlds,
//! pairs then by world. They are gathered in this order and copied back.

use super::sort::variable::GRID;
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use super::table::{self, statics};
use crate::api::counters::Output;
use crate::api::descriptor::SortStrategy;
use crate::api::types::Pair;
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::passes::{Passes, variables};
use crate::gpu::reading::Readable;
use crate::gpu::shader::passes;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{OrderParams, SortParams};
use crate::layout::digits::{bits_below, place_counts, sort_digits};
use crate::layout::grid::Grid;

passes! {
    "order" {
    ORDER_SECONDS = "order_seconds";

    ORDER_FIRSTS = "order_firsts";

    ORDER_WORLDS = "order_worlds";

    WORLD_OFFSETS = "world_offsets";

    ORDER_ROWS = "order_rows";
    }
}

buffers! {
    KEYS_0 = "order_keys_0": Order;
    KEYS_1 = "order_keys_1": Order;
    VALUES_0 = "order_values_0": Order;
    VALUES_1 = "order_values_1": Order;
    ROWS = "order_rows": Order;
    GRID = "order_grid": Order;
    /// Place of each world's first pair, of the first pair of two objects of all worlds, and the number of pairs.
    WORLD_OFFSETS = "world_offsets": Objects;
}

const PING_PONG: PingPong = PingPong([
    KeyValueBuffers {
        keys: buffer::KEYS_0,
        values: buffer::VALUES_0,
    },
    KeyValueBuffers {
        keys: buffer::KEYS_1,
        values: buffer::VALUES_1,
    },
]);

variables! {
    ORDER = "order";
    ROWS = "rows";
    OFFSETS = "offsets";
    ORDERED_ROWS = "ordered_rows";
}

use variable::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ordered {
    pub stage: &'static str,
    pub rows: BufferId,
    pub offsets: BufferId,
    pub params: OrderParams,
    /// Number of possible values of the first key, then of the second.
    pub keys: [u32; 2],
}

/// Digits of the second key, of the first, then of the world.
pub(crate) struct OrderUniforms {
    params: Block,
    digits: Vec<Digit>,
    /// Number of digits of each key.
    counts: [usize; 3],
    strategy: SortStrategy,
}

pub(crate) fn sizes(outputs: &[Ordered]) -> Sizes {
    if outputs.is_empty() {
        return Sizes::new();
    }
    let rows = u64::from(rows(outputs));
    let offsets = outputs.iter().filter(|output| output.has_worlds());
    let offsets = offsets.map(|output| (buffer::WORLD_OFFSETS, 4 * output.offset_count()));
    let sizes = [
        (buffer::KEYS_0, 4 * rows),
        (buffer::KEYS_1, 4 * rows),
        (buffer::VALUES_0, 4 * rows),
        (buffer::VALUES_1, 4 * rows),
        (buffer::ROWS, size_of::<Pair>() as u64 * rows),
        (buffer::GRID, size_of::<Grid>() as u64),
    ];
    sizes.into_iter().chain(offsets).collect()
}

fn rows(outputs: &[Ordered]) -> u32 {
    outputs.iter().map(|output| output.params.capacity).fold(0, u32::max)
}

/// For each output: number of digits of each key, then all digits, in the order of sorting.
pub(crate) fn digits(outputs: &[Ordered], strategy: SortStrategy) -> Vec<([usize; 3], Vec<SortParams>)> {
    let rows = rows(outputs);
    let of = |output: &Ordered| {
        let [first, second] = output.keys;
        let worlds = if output.has_worlds() {
            output.params.world_count + 1
        } else {
            0
        };
        let keys = [second, first, worlds].map(|count| sort_digits(strategy, rows, bits_below(count)));
        let counts = keys.each_ref().map(Vec::len);
        let mut digits = keys.concat();
        place_counts(&mut digits);
        (counts, digits)
    };
    outputs.iter().map(of).collect()
}

pub(crate) fn write(blocks: &mut Blocks, outputs: &[Ordered], strategy: SortStrategy) -> Vec<OrderUniforms> {
    let digits = digits(outputs, strategy).into_iter();
    let of = |(output, (counts, digits)): (&Ordered, _)| OrderUniforms {
        params: blocks.push(&output.params),
        digits: Digit::all(blocks, digits),
        counts,
        strategy,
    };
    outputs.iter().zip(digits).map(of).collect()
}

impl Ordered {
    /// True for pairs of a scene with worlds.
    const fn has_worlds(&self) -> bool {
        self.params.world_count > 0
    }

    fn offset_count(&self) -> u64 {
        u64::from(self.params.world_count) + 2
    }

    pub fn world_offsets(&self, buffers: &Buffers) -> Option<wgpu::Buffer> {
        self.has_worlds().then(|| buffers.get(buffer::WORLD_OFFSETS).clone())
    }

    pub fn readable(&self, buffers: &Buffers) -> Option<Readable> {
        let count = self.offset_count();
        let offsets = || Readable::known::<u32>(buffers, buffer::WORLD_OFFSETS, Output::Pairs, count);
        self.has_worlds().then(offsets)
    }

    pub fn record(&self, passes: &mut Passes, blocks: &OrderUniforms) {
        let [of_second, of_first, _] = blocks.counts;
        let (seconds, others) = blocks.digits.split_at(of_second);
        let (firsts, worlds) = others.split_at(of_first);
        let sort = Sort {
            strategy: blocks.strategy,
            ping_pong: PING_PONG,
            grid: buffer::GRID,
            counts_first: true,
        };
        let binds = |sorted: KeyValueBuffers| {
            let [keys, values] = sorted.binds();
            [
                ORDER.is_block(blocks.params),
                ROWS.is(self.rows),
                OFFSETS.is(self.offsets),
                GRID.is(buffer::GRID),
                keys,
                values,
                ORDERED_ROWS.is(buffer::ROWS),
            ]
        };
        sort::clear_counts(passes, &blocks.digits);
        passes.stage(self.stage, |stage| {
            let unsorted = PING_PONG.unsorted();
            stage.run(&ORDER_SECONDS, self.params.capacity, &binds(unsorted));
            let sorted = sort.record(stage, seconds, unsorted);
            stage.run(&ORDER_FIRSTS, self.params.capacity, &binds(sorted));
            let mut sorted = sort.record(stage, firsts, sorted);
            if self.has_worlds() {
                let mut with_worlds = binds(sorted).to_vec();
                if self.params.static_count == 0 {
                    // The pass reads no worlds of static objects, so it may bind any buffer.
                    with_worlds.push(statics::buffer::WORLDS.is(table::buffer::WORLDS));
                }
                stage.run(&ORDER_WORLDS, self.params.capacity, &with_worlds);
                sorted = sort.record(stage, worlds, sorted);
                stage.run(&WORLD_OFFSETS, self.offset_count() as u32, &binds(sorted));
            }
            stage.run(&ORDER_ROWS, self.params.capacity, &binds(sorted));
        });
        let bytes = 4 * u64::from(self.params.row_words) * u64::from(self.params.capacity);
        passes.copy_bytes(buffer::ROWS, self.rows, bytes);
    }
}
