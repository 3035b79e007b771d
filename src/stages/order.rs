//! The order stage: outputs are put in ascending order.

use super::shape::Shape;
use super::sort::variable::GRID;
use super::sort::{self, Digit, Side, Sides, Sort};
use crate::api::descriptor::{PairOrder, RayMode};
use crate::api::types::Pair;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::recorder::{Recorder, variables};
use crate::gpu::shader::{Needed, Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::SortParams;
use crate::layout::digits::{bits_below, sort_digits, sum_words};
use crate::layout::grid::Grid;

passes! {
    "order" {
    /// Pairs to sort: their second keys.
    ORDER_SECONDS_PAIRS = "order_seconds_pairs" from "order_seconds" { rows: "pairs" } if sorts_pairs;

    /// Pairs to sort: their first keys.
    ORDER_FIRSTS_PAIRS = "order_firsts_pairs" from "order_firsts" { rows: "pairs" } if sorts_pairs;

    /// Pairs in ascending order.
    ORDER_ROWS_PAIRS = "order_rows_pairs" from "order_rows" { rows: "pairs" } if sorts_pairs;

    /// Hits to sort: their second keys.
    ORDER_SECONDS_HITS = "order_seconds_hits" from "order_seconds" { rows: "hits" } if sorts_hits;

    /// Hits to sort: their first keys.
    ORDER_FIRSTS_HITS = "order_firsts_hits" from "order_firsts" { rows: "hits" } if sorts_hits;

    /// Hits in ascending order.
    ORDER_ROWS_HITS = "order_rows_hits" from "order_rows" { rows: "hits" } if sorts_hits;

    /// Results to sort: their second keys.
    ORDER_SECONDS_RESULTS = "order_seconds_results" from "order_seconds" { rows: "results" } if sorts_results;

    /// Results to sort: their first keys.
    ORDER_FIRSTS_RESULTS = "order_firsts_results" from "order_firsts" { rows: "results" } if sorts_results;

    /// Results in ascending order.
    ORDER_ROWS_RESULTS = "order_rows_results" from "order_rows" { rows: "results" } if sorts_results;
    }
}

fn sorts_pairs(of: &Needed<'_>) -> bool {
    of.pairs && of.pair_order == PairOrder::Sorted
}

fn sorts_hits(of: &Needed<'_>) -> bool {
    of.uses.casts() && of.ray_mode == RayMode::All && of.pair_order == PairOrder::Sorted
}

fn sorts_results(of: &Needed<'_>) -> bool {
    of.uses.queries && of.pair_order == PairOrder::Sorted
}

buffers! {
    /// A key of each row, before or after a digit of the sort.
    KEYS_0 = "order_keys_0": Order;
    /// Keys on the other side of the sort.
    KEYS_1 = "order_keys_1": Order;
    /// The rows that the keys are of.
    VALUES_0 = "order_values_0": Order;
    /// Values on the other side of the sort.
    VALUES_1 = "order_values_1": Order;
    /// The rows in their order, until they are copied to where they came from.
    ROWS = "order_rows": Order;
    /// How many keys there are to sort.
    GRID = "order_grid": Order;
}

/// The sides of the sort.
const SIDES: Sides = Sides([
    Side {
        keys: buffer::KEYS_0,
        values: buffer::VALUES_0,
    },
    Side {
        keys: buffer::KEYS_1,
        values: buffer::VALUES_1,
    },
]);

variables! {
    ROWS = "rows";
    OFFSETS = "offsets";
    ORDERED_ROWS = "ordered_rows";
}

use variable::*;

/// The passes that sort an output: by its second key, by its first, and into rows.
pub(crate) type OrderPasses = [&'static Pass; 3];

pub(crate) static PAIRS: OrderPasses = [&ORDER_SECONDS_PAIRS, &ORDER_FIRSTS_PAIRS, &ORDER_ROWS_PAIRS];
pub(crate) static HITS: OrderPasses = [&ORDER_SECONDS_HITS, &ORDER_FIRSTS_HITS, &ORDER_ROWS_HITS];
pub(crate) static RESULTS: OrderPasses = [&ORDER_SECONDS_RESULTS, &ORDER_FIRSTS_RESULTS, &ORDER_ROWS_RESULTS];

/// An output whose rows are put in ascending order.
pub(crate) struct Ordered {
    /// The label of its part of the step.
    pub stage: &'static str,
    pub passes: &'static OrderPasses,
    pub rows: BufferId,
    pub offsets: BufferId,
    pub capacity: u32,
    pub row_bytes: u64,
    /// How many values the first and the second key may have.
    pub keys: [u32; 2],
}

/// The uniform blocks of an output: the digits of its second key, and behind them those of its first.
pub(crate) struct OrderBlocks {
    digits: Vec<Digit>,
    of_second: usize,
}

/// What sorting these outputs needs.
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

/// Rows of the largest output.
fn rows(outputs: &[Ordered]) -> u32 {
    outputs.iter().map(|output| output.capacity).fold(0, u32::max)
}

/// The digits of the second key of each output and behind them those of the first, where the outputs are sorted
/// together. The first number says how many are of the second key.
pub(crate) fn digits(outputs: &[Ordered], shape: &Shape) -> Vec<(usize, Vec<SortParams>)> {
    let rows = rows(outputs);
    let of = |output: &Ordered| {
        let [firsts, mut digits] = output
            .keys
            .map(|count| sort_digits(shape.sort, rows, bits_below(count)));
        let of_second = digits.len();
        let sums = sum_words(&digits);
        digits.extend(firsts.into_iter().map(|digit| SortParams {
            sums: sums + digit.sums,
            ..digit
        }));
        (of_second, digits)
    };
    outputs.iter().map(of).collect()
}

/// Writes the uniform blocks of each output.
pub(crate) fn write(blocks: &mut Blocks, outputs: &[Ordered], shape: &Shape) -> Vec<OrderBlocks> {
    let digits = digits(outputs, shape).into_iter();
    let of = |(of_second, digits)| OrderBlocks {
        digits: Digit::all(blocks, digits),
        of_second,
    };
    digits.map(of).collect()
}

impl Ordered {
    /// Records the sorting of the output, and the copying back of its rows.
    pub fn record(&self, recorder: &mut Recorder<'_>, shape: &Shape, blocks: &OrderBlocks) {
        let (seconds, firsts) = blocks.digits.split_at(blocks.of_second);
        let sort = Sort {
            strategy: shape.sort,
            sides: SIDES,
            grid: buffer::GRID,
        };
        let binds = |side: Side| {
            let [keys, values] = side.binds();
            [
                ROWS.is(self.rows),
                OFFSETS.is(self.offsets),
                GRID.is(buffer::GRID),
                keys,
                values,
                ORDERED_ROWS.is(buffer::ROWS),
            ]
        };
        let &[by_second, by_first, into_rows] = self.passes;
        sort::clear_sums(recorder, &blocks.digits);
        recorder.stage(self.stage, |stage| {
            let unsorted = SIDES.unsorted();
            stage.run(by_second, self.capacity, &binds(unsorted));
            let side = sort.record(stage, seconds, unsorted);
            stage.run(by_first, self.capacity, &binds(side));
            let side = sort.record(stage, firsts, side);
            stage.run(into_rows, self.capacity, &binds(side));
        });
        recorder.copy_bytes(buffer::ROWS, self.rows, self.row_bytes * u64::from(self.capacity));
    }
}
