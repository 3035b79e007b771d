//! The counter buffer and its form on the host.

use crate::api::error::BroadPhaseError;

/// Words of the counter buffer, see `shaders/common/counters.wgsl`. 64-bit counts take two words, low first.
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
    /// This word and the next are written on the host only.
    pub const STATIC_ENTRIES_NEEDED: usize = 30;
    pub const COUNT: usize = 32;

    const fn counter(name: &str) -> usize {
        number("common/counters", name) as usize
    }
}

/// Parts of a result that are missing, as bits of a counter word. Empty if the result is complete.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Status(u32);

impl Status {
    /// Cell entries did not fit. Pairs and hits may be missing.
    pub const ENTRIES: Self = Self(1);
    /// Pairs did not fit.
    pub const PAIRS: Self = Self(2);
    /// Hits did not fit.
    pub const HITS: Self = Self(4);
    /// Walks of a crowded scene need more [`rounds`](crate::Capacities::rounds) than were recorded.
    ///
    /// Any output may be missing rows. [`Counters::rounds_needed`] is the number that suffices.
    pub const ROUNDS: Self = Self(8);
    /// Results of queries did not fit.
    pub const RESULTS: Self = Self(16);
    /// Cells of rays did not fit.
    pub const RAY_CELLS: Self = Self(32);
    /// The driver ended loops early. Pairs, hits and results may be missing.
    ///
    /// llvmpipe does so after 65,535 iterations of a group of lanes. Discrete and integrated GPUs are not checked. Once
    /// these counters arrive, the next step makes its rounds eight times shorter. [`BroadPhase`](crate::BroadPhase)
    /// repeats until nothing is cut.
    pub const CUT: Self = Self(64);

    /// Bits of walks that miss candidates, for any output.
    pub(crate) const WALKS: Self = Self(Self::ENTRIES.0 | Self::ROUNDS.0 | Self::CUT.0);

    /// Bits that mean missing pairs.
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

    /// Creates a status from word 5 of a counter buffer, or from word 29.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the bits, as in counter buffers.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns true if nothing is missing.
    pub const fn is_whole(self) -> bool {
        self.0 == 0
    }

    /// Returns true if any bit of `any` is set.
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Returns the bits that are set in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the bits that are set in both.
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

/// Prints `whole`, or the missing outputs, such as `pairs+hits`.
impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_whole() {
            return formatter.write_str("whole");
        }
        let names = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit));
        let mut names: Vec<_> = names.map(|(_, name)| (*name).to_owned()).collect();
        // Bits of a newer version.
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

/// An output whose rows are counted before they are written.
pub(crate) struct CountedOutput {
    /// Name in errors.
    pub name: &'static str,
    /// First word of the 64-bit number of needed rows.
    pub word: usize,
    /// Status bit for rows that do not fit.
    pub status: Status,
}

const fn counted(name: &'static str, word: usize, status: Status) -> CountedOutput {
    CountedOutput { name, word, status }
}

impl CountedOutput {
    /// Returns `needed` as `u32`. Fails with [`BroadPhaseError::TooManyResults`] if it exceeds 32-bit offsets.
    pub fn returnable(&self, needed: u64) -> Result<u32, BroadPhaseError> {
        let limit = u32::MAX - 1;
        let fits = u32::try_from(needed).ok().filter(|&needed| needed <= limit);
        fits.ok_or(BroadPhaseError::TooManyResults {
            what: self.name,
            needed,
            limit: limit.into(),
        })
    }
}

pub(crate) const ENTRIES: CountedOutput = counted("entries", word::ENTRIES_NEEDED, Status::ENTRIES);
pub(crate) const PAIRS: CountedOutput = counted("pairs", word::PAIRS_NEEDED, Status::PAIRS);
pub(crate) const HITS: CountedOutput = counted("hits", word::HITS_NEEDED, Status::HITS);
pub(crate) const RAY_CELLS: CountedOutput = counted("ray cells", word::RAY_CELLS_NEEDED, Status::RAY_CELLS);
pub(crate) const RESULTS: CountedOutput = counted("results of queries", word::RESULTS_NEEDED, Status::RESULTS);

/// Counts of a step: objects, needs and capacities of its outputs, and its status.
///
/// "Needed" counts are exact even past the capacity, unless noted. On the GPU
/// ([`StepOutput::counters`](crate::StepOutput::counters)) the counters are 32 words of `u32`; ranges are 64-bit
/// counts, low word first:
///
/// | words | count |
/// |---|---|
/// | 0, 1, 2 | invalid, excluded, large objects |
/// | 3, 4 | levels, table cells |
/// | 5 | status, without the bits of word 29 |
/// | 6, 24 | invalid rays, invalid queries |
/// | 7 | 1 if the scene is crowded |
/// | 8–9, 30–31 | entries needed, those of static objects |
/// | 10–11, 12–13 | pairs, hits needed |
/// | 14–15, 16–17, 26–27 | candidates of pairs, rays, queries |
/// | 20–21, 22–23 | ray cells, query results needed |
/// | 28 | rounds needed if more than one |
/// | 29 | status bits [`Status::ROUNDS`] and [`Status::CUT`] |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Counters {
    /// Objects of the step. Counts include static objects unless noted.
    pub objects: u32,
    /// Objects ignored because of a NaN or `min > max`.
    pub invalid: u32,
    /// Objects ignored because of [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED). Their bounds do not matter.
    pub excluded: u32,
    /// Objects on the large list, which are tested against everything: infinite, or too large for every cell.
    pub large: u32,
    /// Levels that have objects, in both tables.
    pub levels: u32,
    /// Cells of the table, or of both tables.
    pub table_cells: u32,
    /// Cell entries needed, without those of static objects.
    pub entries_needed: u64,
    /// Cell entries that fit.
    pub entries_capacity: u32,
    /// Cell entries that static objects needed when their table was built.
    pub static_entries_needed: u64,
    /// Cell entries of static objects that fit.
    pub static_entries_capacity: u32,
    /// Pairs needed. Exact if all entries fit and all rounds were recorded.
    pub pairs_needed: u64,
    /// Pairs that fit.
    pub pairs_capacity: u32,
    /// Hits needed ([`RayMode::All`](crate::RayMode::All)). Exact as [`pairs_needed`](Self::pairs_needed).
    pub hits_needed: u64,
    /// Hits that fit.
    pub hits_capacity: u32,
    /// Cells of rays needed ([`ray_cells`](crate::OutputOptions::ray_cells)). Each ray counts for at most 2^32 - 1.
    pub ray_cells_needed: u64,
    /// Cells of rays that fit.
    pub ray_cells_capacity: u32,
    /// Results of queries needed ([`QueryMode::All`](crate::QueryMode::All)). Exact as
    /// [`pairs_needed`](Self::pairs_needed).
    pub results_needed: u64,
    /// Results of queries that fit.
    pub results_capacity: u32,
    /// Queries ignored because of a NaN, `min > max`, a negative radius or a world that does not exist.
    pub queries_invalid: u32,
    /// Box tests of queries, as [`pair_candidates`](Self::pair_candidates).
    pub query_candidates: u64,
    /// Rays ignored because of a NaN, an infinity, an overlong direction or a world that does not exist.
    pub rays_invalid: u32,
    /// Box tests of pairs, if [`count_candidates`](crate::BroadPhaseDescriptor::count_candidates) is on.
    ///
    /// In a crowded scene, tests of the boxes around eight records count too; the tests they save do not.
    pub pair_candidates: u64,
    /// Box tests of rays, as [`pair_candidates`](Self::pair_candidates).
    pub ray_candidates: u64,
    /// Rounds that the longest walk needs: see [`Capacities::rounds`](crate::Capacities::rounds).
    pub rounds_needed: u32,
    /// Rounds recorded.
    pub rounds_capacity: u32,
    /// Missing parts of the result.
    pub status: Status,
}

impl Counters {
    /// Returns each output with its needed rows and its capacity.
    pub(crate) const fn outputs(&self) -> [(CountedOutput, u64, u32); 4] {
        [
            (PAIRS, self.pairs_needed, self.pairs_capacity),
            (HITS, self.hits_needed, self.hits_capacity),
            (RAY_CELLS, self.ray_cells_needed, self.ray_cells_capacity),
            (RESULTS, self.results_needed, self.results_capacity),
        ]
    }

    /// Returns true if the result is complete: nothing overflowed.
    pub const fn is_whole(&self) -> bool {
        self.status.is_whole()
    }
}
