use std::ops::{Index, IndexMut};

/// Word indices in the counter buffer, from `shaders/common/counters.wgsl`; the low word of a 64-bit count.
#[allow(missing_docs, reason = "documented with `Counters`")]
pub(crate) mod word {
    use crate::shared::wgsl::number;

    pub const INVALID: usize = counter("COUNTER_INVALID");
    pub const EXCLUDED: usize = counter("COUNTER_EXCLUDED");
    pub const LARGE: usize = counter("COUNTER_LARGE");
    pub const LEVELS: usize = counter("COUNTER_LEVELS");
    pub const TABLE_CELLS: usize = counter("COUNTER_TABLE_CELLS");
    pub const STATUS: usize = counter("COUNTER_STATUS");
    pub const RAYS_INVALID: usize = counter("COUNTER_RAYS_INVALID");
    pub const CROWDED: usize = counter("COUNTER_CROWDED");
    pub const ENTRIES_NEEDED: usize = counter("COUNTER_ENTRIES_NEEDED");
    pub const PAIRS_NEEDED: usize = counter("COUNTER_PAIRS_NEEDED");
    pub const HITS_NEEDED: usize = counter("COUNTER_HITS_NEEDED");
    pub const PAIR_CANDIDATES: usize = counter("COUNTER_PAIR_CANDIDATES");
    pub const RAY_CANDIDATES: usize = counter("COUNTER_RAY_CANDIDATES");
    pub const RAY_CELLS_NEEDED: usize = counter("COUNTER_RAY_CELLS_NEEDED");
    pub const RESULTS_NEEDED: usize = counter("COUNTER_RESULTS_NEEDED");
    pub const QUERIES_INVALID: usize = counter("COUNTER_QUERIES_INVALID");
    pub const QUERY_CANDIDATES: usize = counter("COUNTER_QUERY_CANDIDATES");
    pub const ROUNDS_NEEDED: usize = counter("COUNTER_ROUNDS_NEEDED");
    pub const UNFINISHED: usize = counter("COUNTER_UNFINISHED");
    /// Copied from the static table's counters.
    pub const STATIC_ENTRIES_NEEDED: usize = 30;
    pub const COUNT: usize = 32;

    const fn counter(name: &str) -> usize {
        number("common/counters", name) as usize
    }
}

/// Incomplete outputs of a step, or of their copy by a read-back, as bits of a counter word. No bit is set if the
/// result is complete.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Status(u32);

impl Status {
    /// Cell entries overflowed the cell table. Rows may be missing in any output.
    pub const ENTRIES: Self = Self(1);
    /// Pairs overflowed their buffer.
    pub const PAIRS: Self = Self(2);
    /// Hits of rays overflowed their buffer.
    pub const HITS: Self = Self(4);
    /// Some objects, rays or queries of a crowded scene need more [`rounds`](crate::Capacities::rounds) than the step
    /// had.
    ///
    /// Rows may be missing in any output. [`Counters::rounds_needed`] rounds suffice.
    pub const ROUNDS: Self = Self(8);
    /// Results of queries overflowed their buffer.
    pub const RESULTS: Self = Self(16);
    /// Cells of rays overflowed their buffer.
    pub const RAY_CELLS: Self = Self(32);
    /// The driver ended shader loops early. Pairs, hits and query results may be missing.
    ///
    /// Mesa's llvmpipe does so after 65,535 iterations. Discrete and integrated GPUs are not checked and never set this
    /// bit. Once the host has these counters, the next step makes its rounds eight times shorter.
    /// [`BroadPhase`](crate::BroadPhase) repeats the step until no loop is cut.
    pub const CUT: Self = Self(64);

    /// Bits after which rows may be missing in any output.
    pub(crate) const WALKS: Self = Self(Self::ENTRIES.0 | Self::ROUNDS.0 | Self::CUT.0);

    pub(crate) const LACKS_PAIRS: Self = Self::WALKS.union(Self::PAIRS);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::ENTRIES, "entries"),
        (Self::PAIRS, "pairs"),
        (Self::HITS, "hits"),
        (Self::ROUNDS, "rounds"),
        (Self::RESULTS, "results"),
        (Self::RAY_CELLS, "ray-cells"),
        (Self::CUT, "cut"),
    ];

    /// Creates a status from word 5 of a counter buffer, from word 29, or from both combined by "or".
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits, as in counter buffers.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns true if no bit is set: the result is complete.
    pub const fn is_complete(self) -> bool {
        self.0 == 0
    }

    /// Returns true if at least one bit of `any` is set in `self`.
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Returns the bits that are set in `self`, in `other` or in both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the bits that are set in both `self` and `other`.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::BitOr for Status {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// Prints `complete` if no bit is set, else the names of the bits, such as `pairs+hits`.
impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_complete() {
            return formatter.write_str("complete");
        }
        let names = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit));
        let mut names: Vec<_> = names.map(|(_, name)| (*name).to_owned()).collect();
        // Bits that only a newer version defines.
        let unknown = Self::NAMES.iter().fold(self.0, |bits, (known, _)| bits & !known.0);
        names.extend((unknown != 0).then(|| format!("{unknown:#x}")));
        formatter.write_str(&names.join("+"))
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Status({self})")
    }
}

/// An output whose rows are counted on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Output {
    /// [`StepOutput::pairs`](crate::StepOutput::pairs).
    Pairs,
    /// [`RayOutput::hits`](crate::RayOutput::hits). In read-backs also closest hits and
    /// [`RayOutput::any`](crate::RayOutput::any).
    RayHits,
    /// [`RayOutput::cells`](crate::RayOutput::cells).
    RayCells,
    /// [`QueryOutput::objects`](crate::QueryOutput::objects). In read-backs also
    /// [`QueryOutput::nearest`](crate::QueryOutput::nearest).
    QueryObjects,
}

/// Counter words and status bit of an output or of the cell entries.
pub(crate) struct Counted {
    pub name: &'static str,
    /// Counter word with the low half of the 64-bit number of rows needed.
    pub word: usize,
    /// Status bit that is set if rows do not fit.
    pub status: Status,
}

pub(crate) const ENTRIES: Counted = counted("entries", word::ENTRIES_NEEDED, Status::ENTRIES);

const fn counted(name: &'static str, word: usize, status: Status) -> Counted {
    Counted { name, word, status }
}

impl Output {
    /// All outputs.
    pub const ALL: &'static [Self] = &Self::EACH;
    pub(crate) const EACH: [Self; 4] = [Self::Pairs, Self::RayHits, Self::RayCells, Self::QueryObjects];

    pub(crate) const fn counted(self) -> Counted {
        match self {
            Self::Pairs => counted("pairs", word::PAIRS_NEEDED, Status::PAIRS),
            Self::RayHits => counted("hits", word::HITS_NEEDED, Status::HITS),
            Self::RayCells => counted("ray cells", word::RAY_CELLS_NEEDED, Status::RAY_CELLS),
            Self::QueryObjects => counted("results of queries", word::RESULTS_NEEDED, Status::RESULTS),
        }
    }
}

/// A value for each [`Output`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerOutput<T>([T; 4]);

// Indices by `as`: the last variant is the last of `EACH`.
const _: () = assert!(Output::EACH.len() == Output::QueryObjects as usize + 1);

impl<T> PerOutput<T> {
    pub fn of(value: impl FnMut(Output) -> T) -> Self {
        Self(Output::EACH.map(value))
    }
}

impl<T> Index<Output> for PerOutput<T> {
    type Output = T;

    fn index(&self, output: Output) -> &T {
        &self.0[output as usize]
    }
}

impl<T> IndexMut<Output> for PerOutput<T> {
    fn index_mut(&mut self, output: Output) -> &mut T {
        &mut self.0[output as usize]
    }
}

/// Counts of a step: objects, rows that each output needed and could hold, and the status.
///
/// Rows *needed* include those that did not fit. Their number is exact unless noted. Outputs without input have
/// capacity 0.
///
/// In shaders, [`StepOutput::counters`](crate::StepOutput::counters) is a buffer of 32 `u32` words. A range of two
/// words is a 64-bit count, low word first:
///
/// | words | count |
/// |---|---|
/// | 0, 1, 2 | invalid objects, excluded objects, large objects |
/// | 3, 4 | levels, table cells |
/// | 5 | status, without the bits of word 29 |
/// | 6, 24 | invalid rays, invalid queries |
/// | 7 | 1 if the scene is crowded |
/// | 8–9, 30–31 | entries needed by moving objects, by static objects |
/// | 10–11, 12–13 | pairs needed, hits needed |
/// | 14–15, 16–17, 26–27 | candidates of pairs, rays, queries |
/// | 20–21, 22–23 | ray cells needed, query results needed |
/// | 28 | rounds needed, or 0 if one suffices |
/// | 29 | status bits [`Status::ROUNDS`] and [`Status::CUT`] |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Counters {
    /// Number of objects. All counts include static objects unless noted.
    pub objects: u32,
    /// Objects ignored because of a NaN or `min > max`.
    pub invalid: u32,
    /// Objects ignored because of [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED), whatever their bounds.
    pub excluded: u32,
    /// Objects on the large list. Each is tested against all objects, because its box has an infinite bound, is too
    /// large for the cells of every level, or is in all worlds.
    pub large: u32,
    /// Number of grid levels with objects, summed over the moving and the static objects' tables. 0 on the CPU
    /// unless [`count_candidates`](crate::BroadPhaseDescriptor::count_candidates) is set.
    pub levels: u32,
    /// Number of cells, like [`levels`](Self::levels).
    pub table_cells: u32,
    /// Cell entries needed, without those of static objects.
    pub entries_needed: u64,
    /// Cell entries that the table can hold, without those of static objects.
    pub entries_capacity: u32,
    /// Cell entries that static objects needed when their table was last built.
    pub static_entries_needed: u64,
    /// Cell entries that the static objects' table can hold.
    pub static_entries_capacity: u32,
    /// Pairs found, even those that did not fit. Exact if all cell entries fit and all rounds were recorded.
    pub pairs_needed: u64,
    /// Pairs that the output can hold.
    pub pairs_capacity: u32,
    /// Hits found, even those that did not fit, with [`RayMode::All`](crate::RayMode::All). Exact if
    /// [`pairs_needed`](Self::pairs_needed) is.
    pub hits_needed: u64,
    /// Hits that the output can hold.
    pub hits_capacity: u32,
    /// Rows needed for cells of rays ([`ray_cells`](crate::OutputOptions::ray_cells)). Each ray adds less than 2^32.
    pub ray_cells_needed: u64,
    /// Cells of rays that the output can hold.
    pub ray_cells_capacity: u32,
    /// Query results found, even those that did not fit, with [`QueryMode::All`](crate::QueryMode::All). Exact if
    /// [`pairs_needed`](Self::pairs_needed) is.
    pub results_needed: u64,
    /// Results of queries that the output can hold.
    pub results_capacity: u32,
    /// Queries ignored because of a NaN, `min > max`, a negative radius or a world that does not exist.
    pub queries_invalid: u32,
    /// Box tests of queries, counted like [`pair_candidates`](Self::pair_candidates).
    pub query_candidates: u64,
    /// Rays ignored because of a NaN, an infinity, an overlong direction or a world that does not exist.
    pub rays_invalid: u32,
    /// Box tests of pairs, if [`count_candidates`](crate::BroadPhaseDescriptor::count_candidates) is on.
    ///
    /// In a crowded scene, a test of the bounding box of eight objects may replace eight tests. It counts as one test.
    pub pair_candidates: u64,
    /// Box tests of rays, counted like [`pair_candidates`](Self::pair_candidates).
    pub ray_candidates: u64,
    /// Rounds that suffice for every object, ray and query: see [`Capacities::rounds`](crate::Capacities::rounds).
    pub rounds_needed: u32,
    /// Rounds that the step had.
    pub rounds_capacity: u32,
    /// Outputs that are incomplete.
    pub status: Status,
}

impl Counters {
    /// Rows that `output` needed, and those that it can hold.
    pub(crate) const fn rows(&self, output: Output) -> (u64, u32) {
        match output {
            Output::Pairs => (self.pairs_needed, self.pairs_capacity),
            Output::RayHits => (self.hits_needed, self.hits_capacity),
            Output::RayCells => (self.ray_cells_needed, self.ray_cells_capacity),
            Output::QueryObjects => (self.results_needed, self.results_capacity),
        }
    }

    /// Returns true if the result is complete.
    pub const fn is_complete(&self) -> bool {
        self.status.is_complete()
    }
}
