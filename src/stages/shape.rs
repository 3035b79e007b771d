//! Dependencies of all plans besides their input.

use crate::api::counters::{Output, PerOutput};
use crate::api::descriptor::{BroadPhaseDescriptor, Growth, MAX_ROUNDS};
use crate::gpu::adapter::DeviceClass;
use crate::gpu::buffers::buffers;
use crate::gpu::passes::variables;
use crate::layout::blocks::{MAX_ITERATIONS, Round};

/// Approximate box tests per dispatch: a fraction of a second on weak hardware, below driver watchdogs.
const DISPATCH_TESTS: u64 = 1 << 32;
/// Factor by which rounds get shorter when a driver ends loops early. One factor suffices for any eight lanes of
/// llvmpipe, except for nearest objects, which need more iterations.
const SHRINK_FACTOR: u32 = 8;
/// Loop iterations of writing beyond those of counting, besides one per cached result. The canary loop of counting
/// includes both, so a driver that cuts writing also cuts counting.
const WRITING_ITERATIONS: u32 = 8;
const MAX_ROUND_TESTS: u64 = 16_384;
const MIN_ROUND_TESTS: u64 = 1024;

buffers! {
    /// Counters of a step: 32 words, written by every stage.
    COUNTERS = "counters": Fixed;
    /// Copy of the counters before the step's rays and queries. Later queries start from this copy.
    STEP_COUNTERS = "step_counters": Fixed;
}

pub(crate) use buffer::{COUNTERS, STEP_COUNTERS};

variables! {
    ROUND = "round";
}

/// Descriptor, device, and the demand of earlier steps.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'d> {
    pub descriptor: &'d BroadPhaseDescriptor<'d>,
    pub demand: &'d Demand,
    pub binding_limit: u64,
    pub class: DeviceClass,
}

/// Demand for growable outputs, in rows unless noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub entries: u32,
    pub static_entries: u32,
    pub rows: PerOutput<u32>,
    pub rounds: u32,
    /// Words of test bits per entry.
    pub bit_words: u32,
    /// Words of chunks of partners per entry.
    pub chunk_words: u32,
    /// Hits worth caching per ray, if measured.
    pub cached_hits: Option<u32>,
    pub walk_shrink: u32,
    pub is_crowded: Option<bool>,
}

/// Rounds of each walk. With `shrink`, they are shorter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    pub count: u32,
    pub shrink: u32,
}

impl Basis<'_> {
    pub fn rounds(&self) -> Rounds {
        let first = self.descriptor.outputs.capacities.rounds.unwrap_or(1);
        Rounds {
            count: first.max(self.demand.rounds).min(MAX_ROUNDS),
            shrink: self.demand.walk_shrink,
        }
    }

    /// Capacity of `output` in rows.
    pub fn rows(&self, output: Output, default: u64, row_bytes: usize) -> u32 {
        let fixed = self.descriptor.outputs.capacities.of(output);
        let wanted = self.demand.rows[output];
        let default = u32::try_from(default).unwrap_or(u32::MAX);
        let rows = match (fixed, self.descriptor.outputs.growth) {
            (Some(fixed), Growth::Fixed) => return fixed,
            (Some(first), Growth::Grow) => first.max(wanted),
            (None, _) => default.max(wanted),
        };
        // An offset may equal the number of rows, but not `u32::MAX`.
        rows.min(u32::try_from(self.binding_limit / row_bytes as u64).unwrap_or(u32::MAX))
            .min(u32::MAX - 1)
    }
}

impl Rounds {
    /// Box tests per walk and round. A test takes up to `iterations` loop iterations.
    pub fn tests(self, walks: u32, iterations: u32) -> u32 {
        let most = (MAX_ITERATIONS as u64 / u64::from(iterations)).min(MAX_ROUND_TESTS);
        let tests = (DISPATCH_TESTS / u64::from(walks.max(1)))
            .max(MIN_ROUND_TESTS)
            .min(most) as u32;
        (tests / self.divisor()).max(1)
    }

    fn divisor(self) -> u32 {
        SHRINK_FACTOR.saturating_pow(self.shrink)
    }

    /// Rounds of `walks` walks. A test takes up to `iterations` loop iterations; a walk caches up to `kept` results.
    pub fn of(self, walks: u32, iterations: u32, kept: u32) -> impl Iterator<Item = Round> {
        let tests = self.tests(walks, iterations);
        let iterations = MAX_ITERATIONS as u32 / self.divisor();
        (0..self.count).map(move |round| Round {
            // If the product saturates, no walk has tests left.
            first: round.saturating_mul(tests),
            tests,
            is_last: u32::from(round + 1 == self.count),
            iterations,
            canary_iterations: kept + WRITING_ITERATIONS,
            continues: 0,
            is_continued: 0,
            walks,
            first_row: 0,
        })
    }

    /// Rows that walks carry to the next round: `rows` per walk.
    pub fn carry_words(self, walks: u64, rows: u64) -> u64 {
        if self.count > 1 { walks * rows } else { 0 }
    }

    /// Rows that walks carry to the next round or to the static table: one per walk.
    pub fn carry_table_words(self, walks: u64, has_statics: bool) -> u64 {
        if has_statics { walks } else { self.carry_words(walks, 1) }
    }
}

pub(crate) const fn initial_rows(count: u32) -> u64 {
    4 * count as u64 + 1024
}

#[cfg(test)]
impl<'d> Basis<'d> {
    /// On hardware with WebGPU's default limit of bindings.
    pub fn of(descriptor: &'d BroadPhaseDescriptor<'d>, demand: &'d Demand) -> Self {
        Self {
            descriptor,
            demand,
            binding_limit: 128 << 20,
            class: DeviceClass::Hardware,
        }
    }
}
