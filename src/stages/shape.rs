//! What all stages know of a step: the uniform block, how walks are cut into rounds, how keys are sorted.

use crate::api::descriptor::{Growth, SortStrategy};
use crate::gpu::buffers::buffers;
use crate::gpu::recorder::variables;
use crate::layout::blocks::{MAX_ITERATIONS, Round};
use crate::layout::grid::Params;

/// Box tests of one dispatch, about: a fraction of a second on weak hardware, whose drivers give up after some.
const DISPATCH_TESTS: u64 = 1 << 32;
/// By what walks are cut smaller each time that a driver cuts them. Once is enough for any eight lanes of llvmpipe
/// together, unless nearest objects are kept in order.
const SHRINK_FACTOR: u32 = 8;
/// Turns that a walk may take beyond those of counting and of a loop over what it keeps. Counting tries out as many
/// more as both, so that nothing is cut where counting was not.
const WRITING_ITERATIONS: u32 = 8;
/// Box tests of one walk in one dispatch, at most.
const MAX_ROUND_TESTS: u64 = 16_384;
/// Box tests of one walk in one dispatch, at least.
const MIN_ROUND_TESTS: u64 = 1024;

buffers! {
    /// What a step counts, 32 words: every stage adds to it.
    COUNTERS = "counters": Fixed;
}

pub(crate) use buffer::COUNTERS;

variables! {
    /// The block of a round: `round` in `shaders/common/round.wgsl`.
    ROUND = "round";
}

/// The capacity of an output, which memory limits may make smaller.
pub(crate) type CapacityOf = fn(&mut Params) -> &mut u32;

/// What all stages know of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub params: Params,
    /// Dispatches that each walk is cut into.
    pub rounds: u32,
    /// How often walks are cut smaller by [`SHRINK_FACTOR`].
    pub walk_shrink: u32,
    /// How keys are sorted, as chosen for the device.
    pub sort: SortStrategy,
}

impl Shape {
    /// Box tests that a round of so many walks makes of each, where a test takes up to so many turns of a loop.
    pub fn round_tests(&self, walks: u32, iterations: u32) -> u32 {
        let most = (MAX_ITERATIONS as u64 / u64::from(iterations)).min(MAX_ROUND_TESTS);
        let tests = (DISPATCH_TESTS / u64::from(walks.max(1)))
            .max(MIN_ROUND_TESTS)
            .min(most) as u32;
        (tests / self.cut_smaller()).max(1)
    }

    fn cut_smaller(&self) -> u32 {
        SHRINK_FACTOR.saturating_pow(self.walk_shrink)
    }

    /// The rounds of so many walks, where a test takes up to so many turns of a loop and counting keeps so many results
    /// of a walk.
    pub fn rounds_of(&self, walks: u32, iterations: u32, kept: u32) -> impl Iterator<Item = Round> {
        let tests = self.round_tests(walks, iterations);
        let iterations = MAX_ITERATIONS as u32 / self.cut_smaller();
        let rounds = self.rounds;
        (0..rounds).map(move |round| Round {
            // A walk that long has no tests left.
            first: round.saturating_mul(tests),
            tests,
            is_last: u32::from(round + 1 == rounds),
            iterations,
            canary_iterations: kept + WRITING_ITERATIONS,
            continues: 0,
            is_continued: 0,
        })
    }

    /// Rows that walks leave for their next round, where each leaves so many.
    pub fn carry_words(&self, walks: u64, rows: u64) -> u64 {
        if self.rounds > 1 { walks * rows } else { 0 }
    }

    /// Rows that walks leave, one each, where they go on in a further round or through the static objects' table.
    pub fn carry_table_words(&self, walks: u64) -> u64 {
        if self.params.has_statics() {
            walks
        } else {
            self.carry_words(walks, 1)
        }
    }
}

/// How much room outputs get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub growth: Growth,
    /// Bytes that one buffer may have.
    pub binding_limit: u64,
}

impl Room {
    /// How many rows an output holds: from its fixed or first capacity, what earlier steps were seen to need, a default
    /// and the bytes of a row.
    pub fn rows(self, fixed: Option<u32>, wanted: u32, default: u64, row_bytes: usize) -> u32 {
        let default = u32::try_from(default).unwrap_or(u32::MAX);
        let rows = match (fixed, self.growth) {
            (Some(fixed), Growth::Fixed) => return fixed,
            (Some(first), Growth::Grow) => first.max(wanted),
            (None, _) => default.max(wanted),
        };
        // The largest u32 is no place.
        rows.min(u32::try_from(self.binding_limit / row_bytes as u64).unwrap_or(u32::MAX))
            .min(u32::MAX - 1)
    }
}

/// Rows that an output has room for at first, where so many ask.
pub(crate) const fn few_each(count: u32) -> u64 {
    4 * count as u64 + 1024
}
