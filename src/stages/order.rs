//! The order stage: sorts the rows of an output by two keys.
//!
//! Rows are sorted by the second key, then stably by the first, which keeps the order of second keys. They are gathered
//! in this order and copied back.

use super::sort::variable::GRID;
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use crate::api::descriptor::SortStrategy;
use crate::api::types::Pair;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::passes::{Passes, variables};
use crate::gpu::shader::passes;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{OrderParams, SortParams};
use crate::layout::digits::{bits_below, place_counts, sort_digits};
use crate::layout::grid::Grid;

passes! {
    "order" {
    ORDER_SECONDS = "order_seconds";

    ORDER_FIRSTS = "order_firsts";

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

/// The digits of the second key come first; `of_second` is their number.
pub(crate) struct OrderUniforms {
    params: Block,
    digits: Vec<Digit>,
    of_second: usize,
    strategy: SortStrategy,
}

pub(crate) fn sizes(outputs: &[Ordered]) -> Sizes {
    if outputs.is_empty() {
        return Sizes::new();
    }
    let rows = u64::from(rows(outputs));
    vec![
        (buffer::KEYS_0, 4 * rows),
        (buffer::KEYS_1, 4 * rows),
        (buffer::VALUES_0, 4 * rows),
        (buffer::VALUES_1, 4 * rows),
        (buffer::ROWS, size_of::<Pair>() as u64 * rows),
        (buffer::GRID, size_of::<Grid>() as u64),
    ]
}

fn rows(outputs: &[Ordered]) -> u32 {
    outputs.iter().map(|output| output.params.capacity).fold(0, u32::max)
}

/// For each output: number of digits of the second key, then all digits, second key first.
pub(crate) fn digits(outputs: &[Ordered], strategy: SortStrategy) -> Vec<(usize, Vec<SortParams>)> {
    let rows = rows(outputs);
    let of = |output: &Ordered| {
        let [firsts, mut digits] = output.keys.map(|count| sort_digits(strategy, rows, bits_below(count)));
        let of_second = digits.len();
        digits.extend(firsts);
        place_counts(&mut digits);
        (of_second, digits)
    };
    outputs.iter().map(of).collect()
}

pub(crate) fn write(blocks: &mut Blocks, outputs: &[Ordered], strategy: SortStrategy) -> Vec<OrderUniforms> {
    let digits = digits(outputs, strategy).into_iter();
    let of = |(output, (of_second, digits)): (&Ordered, _)| OrderUniforms {
        params: blocks.push(&output.params),
        digits: Digit::all(blocks, digits),
        of_second,
        strategy,
    };
    outputs.iter().zip(digits).map(of).collect()
}

impl Ordered {
    pub fn record(&self, passes: &mut Passes, blocks: &OrderUniforms) {
        let (seconds, firsts) = blocks.digits.split_at(blocks.of_second);
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
            let sorted = sort.record(stage, firsts, sorted);
            stage.run(&ORDER_ROWS, self.params.capacity, &binds(sorted));
        });
        let bytes = 4 * u64::from(self.params.row_words) * u64::from(self.params.capacity);
        passes.copy_bytes(buffer::ROWS, self.rows, bytes);
    }
}
