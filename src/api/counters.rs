//! The counter buffer and its host form.

use crate::api::error::BroadPhaseError;

/// Words of the counter buffer: `shaders/common/counters.wgsl`. 64-bit counts take two words, low first.
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
    /// Of the host alone, as is the next: no shader writes it.
    pub const STATIC_ENTRIES_NEEDED: usize = 30;
    pub const COUNT: usize = 32;

    const fn counter(name: &str) -> usize {
        number("common/counters", name) as usize
    }
}

/// What a step could not do, as the bits of a word of its counters. An empty status says that the answer is whole.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Status(u32);

impl Status {
    /// More cell entries were needed than fit. Pairs and hits may be missing.
    pub const ENTRIES: Self = Self(1);
    /// More pairs were found than fit.
    pub const PAIRS: Self = Self(2);
    /// More hits were found than fit.
    pub const HITS: Self = Self(4);
    /// The walks of a crowded scene need more rounds than were recorded. Pairs, hits of every mode, cells of rays,
    /// results and nearest objects may be missing. A round makes so few box tests per walk that no dispatch takes long.
    /// [`Counters::rounds_needed`] says how many rounds would do.
    pub const ROUNDS: Self = Self(8);
    /// More results of queries were found than fit.
    pub const RESULTS: Self = Self(16);
    /// More cells of rays were visited than fit.
    pub const RAY_CELLS: Self = Self(32);
    /// The driver ended loops before they were done. Pairs, hits and results may be missing. llvmpipe allows a group of
    /// lanes 65,535 turns. Adapters that report a discrete or an integrated GPU are not checked for it. After
    /// counters that show this have arrived, the next step cuts its walks smaller, by a factor of eight.
    /// [`BroadPhase`](crate::BroadPhase) repeats until nothing is cut.
    pub const CUT: Self = Self(64);

    /// The bits of walks that miss candidates, whatever they look for.
    pub(crate) const WALKS: Self = Self(Self::ENTRIES.0 | Self::ROUNDS.0 | Self::CUT.0);

    /// The bits that say that pairs are missing.
    pub(crate) const LACKS_PAIRS: Self = Self::WALKS.union(Self::PAIRS);

    /// All bits with their names.
    const NAMES: [(Self, &'static str); 7] = [
        (Self::ENTRIES, "entries"),
        (Self::PAIRS, "pairs"),
        (Self::HITS, "hits"),
        (Self::ROUNDS, "rounds"),
        (Self::RESULTS, "results"),
        (Self::RAY_CELLS, "ray-cells"),
        (Self::CUT, "cut"),
    ];

    /// The status that a word of a counter buffer says.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The word, as counter buffers hold it.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether nothing is missing.
    pub const fn is_whole(self) -> bool {
        self.0 == 0
    }

    /// Whether one of these bits is set.
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// The bits of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits that both have.
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

/// `whole`, or what is missing: `pairs+hits`.
impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_whole() {
            return formatter.write_str("whole");
        }
        let names = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit));
        let mut names: Vec<_> = names.map(|(_, name)| (*name).to_owned()).collect();
        // Bits of a later version.
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
    /// Word of the counters where the 64-bit number of needed rows begins.
    pub word: usize,
    /// Status bit that is set if the rows do not fit.
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

/// What a step counted.
///
/// On the GPU ([`StepOutput::counters`](crate::StepOutput::counters)) these are 32 words: 0 invalid, 1 excluded, 2
/// large, 3 levels, 4 table cells, 5 status, 6 invalid rays, 7 whether the scene is
/// crowded, 8–9 entries needed, 10–11 pairs needed, 12–13 hits needed,
/// 14–15 pair candidates, 16–17 ray candidates, 20–21 ray cells needed, 22–23 query results needed, 24 invalid queries,
/// 26–27 query candidates, 28 rounds needed where that is more than one, 29 the bits [`Status::ROUNDS`] and
/// [`Status::CUT`] of the status, which are not in word 5, 30–31 entries of static objects needed; 64-bit counts are
/// two words, low first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Counters {
    /// Objects given, static ones among them, as in all counts.
    pub objects: u32,
    /// Objects left out because of a NaN or `min > max`.
    pub invalid: u32,
    /// Objects left out because of [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED), whatever their bounds are: an excluded
    /// box with a NaN counts here, and not as [`invalid`](Self::invalid).
    pub excluded: u32,
    /// Objects on the large list: infinite, or too large for every cell. Everything is tested against them.
    pub large: u32,
    /// Levels that have objects, in both tables where there are static ones.
    pub levels: u32,
    /// Cells of the table, or of both.
    pub table_cells: u32,
    /// Cell entries needed, exact past the capacity; without those of static objects.
    pub entries_needed: u64,
    /// Cell entries that fit.
    pub entries_capacity: u32,
    /// Cell entries that the static objects needed when their table was built, exact past the capacity.
    pub static_entries_needed: u64,
    /// Cell entries of static objects that fit.
    pub static_entries_capacity: u32,
    /// Pairs needed, exact past the capacity while all entries fit and all rounds were made.
    pub pairs_needed: u64,
    /// Pairs that fit.
    pub pairs_capacity: u32,
    /// Hits needed ([`RayMode::All`](crate::RayMode::All)), exact past the capacity while all entries fit and all
    /// rounds were made.
    pub hits_needed: u64,
    /// Hits that fit.
    pub hits_capacity: u32,
    /// Cells of rays needed ([`ray_cells`](crate::OutputOptions::ray_cells)), exact past the capacity; a single
    /// ray counts for at most 2^32 - 1.
    pub ray_cells_needed: u64,
    /// Cells of rays that fit.
    pub ray_cells_capacity: u32,
    /// Results of queries needed ([`QueryMode::All`](crate::QueryMode::All)), exact past the capacity while all entries
    /// fit and all rounds were made.
    pub results_needed: u64,
    /// Results of queries that fit.
    pub results_capacity: u32,
    /// Queries left out because of a NaN, `min > max`, a negative radius or a world that does not exist.
    pub queries_invalid: u32,
    /// Box tests of the query walk, where they are counted. In a crowded scene those of the boxes around eight records
    /// are among them, and those that these spare are not.
    pub query_candidates: u64,
    /// Rays left out because of a NaN, an infinity, an overlong direction or a world that does not exist.
    pub rays_invalid: u32,
    /// Box tests of the pair walk, where they are counted. In a crowded scene those of the boxes around eight records
    /// are among them, and those that these spare are not.
    pub pair_candidates: u64,
    /// Box tests of the ray walk, where they are counted, as [`query_candidates`](Self::query_candidates).
    pub ray_candidates: u64,
    /// Rounds that the longest walk needs: see [`Capacities::rounds`](crate::Capacities::rounds).
    pub rounds_needed: u32,
    /// Rounds that were recorded.
    pub rounds_capacity: u32,
    /// What the step could not do.
    pub status: Status,
}

impl Counters {
    /// Returns each output with the rows that it needs and the rows that fit.
    pub(crate) const fn outputs(&self) -> [(CountedOutput, u64, u32); 4] {
        [
            (PAIRS, self.pairs_needed, self.pairs_capacity),
            (HITS, self.hits_needed, self.hits_capacity),
            (RAY_CELLS, self.ray_cells_needed, self.ray_cells_capacity),
            (RESULTS, self.results_needed, self.results_capacity),
        ]
    }

    /// Whether nothing overflowed: the outputs hold the whole answer.
    pub const fn is_whole(&self) -> bool {
        self.status.is_whole()
    }
}
