//! The counter buffer and its host form.

use crate::shared::grid::Params;

/// Words of the counter buffer: `shaders/common/counters.wgsl`. 64-bit counts take two words, low first.
pub(crate) mod word {
    pub const INVALID: usize = 0;
    pub const EXCLUDED: usize = 1;
    pub const LARGE: usize = 2;
    pub const LEVELS: usize = 3;
    pub const TABLE_CELLS: usize = 4;
    pub const STATUS: usize = 5;
    pub const RAYS_INVALID: usize = 6;
    pub const ENTRIES_NEEDED: usize = 8;
    pub const PAIRS_NEEDED: usize = 10;
    pub const HITS_NEEDED: usize = 12;
    pub const PAIR_CANDIDATES: usize = 14;
    pub const RAY_CANDIDATES: usize = 16;
    pub const RAY_CELLS_NEEDED: usize = 20;
    pub const RESULTS_NEEDED: usize = 22;
    pub const QUERIES_INVALID: usize = 24;
    pub const QUERY_CANDIDATES: usize = 26;
    pub const ROUNDS_NEEDED: usize = 28;
    pub const UNFINISHED: usize = 29;
    pub const STATIC_ENTRIES_NEEDED: usize = 30;
    pub const COUNT: usize = 32;
}

/// Status bit: more cell entries were needed than fit, pairs and hits may be missing.
pub const STATUS_ENTRIES: u32 = 1;
/// Status bit: more pairs were found than fit.
pub const STATUS_PAIRS: u32 = 2;
/// Status bit: more hits were found than fit.
pub const STATUS_HITS: u32 = 4;
/// Status bit: the walks of a crowded scene need more rounds than were recorded, pairs, hits of every mode, cells of
/// rays, results and nearest objects may be missing. A round makes so few box tests a walk that no dispatch takes long;
/// [`Counters::rounds_needed`] says how many would do.
pub const STATUS_ROUNDS: u32 = 8;
/// Status bit: the driver ended loops before they were done, pairs, hits and results may be missing. llvmpipe allows a
/// group of lanes 65,535 turns. After a read-back that shows this the next step cuts its walks smaller, by a factor of
/// eight; [`Headless`](crate::Headless) repeats until nothing is cut.
pub const STATUS_CUT: u32 = 64;
/// Status bit: more results of queries were found than fit.
pub const STATUS_RESULTS: u32 = 16;
/// Status bit: more cells of rays were visited than fit.
pub const STATUS_RAY_CELLS: u32 = 32;

/// What a step counted.
///
/// On the GPU ([`StepOutput::counters`](crate::StepOutput::counters)) these are 32 words: 0 invalid, 1 excluded, 2
/// large, 3 levels, 4 table cells, 5 status, 6 invalid rays, 8–9 entries needed, 10–11 pairs needed, 12–13 hits needed,
/// 14–15 pair candidates, 16–17 ray candidates, 20–21 ray cells needed, 22–23 query results needed, 24 invalid queries,
/// 26–27 query candidates, 28 rounds needed where that is more than one, 29 the bits [`STATUS_ROUNDS`] and
/// [`STATUS_CUT`] of the status, which are not in word 5, 30–31 entries of static objects needed; 64-bit counts are two
/// words, low first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Counters {
    /// Objects given, static ones among them, as in all counts.
    pub objects: u32,
    /// Objects left out because of a NaN or `min > max`.
    pub invalid: u32,
    /// Objects left out because of [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED).
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
    /// Cells of rays needed ([`ray_cells`](crate::BroadPhaseDescriptor::ray_cells)), exact past the capacity; a single
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
    /// Box tests of the query walk, where they are counted.
    pub query_candidates: u64,
    /// Rays left out because of a NaN, an infinity, an overlong direction or a world that does not exist.
    pub rays_invalid: u32,
    /// Box tests of the pair walk, where they are counted.
    pub pair_candidates: u64,
    /// Box tests of the ray walk, where they are counted.
    pub ray_candidates: u64,
    /// Rounds that the longest walk needs: see [`Capacities::rounds`](crate::Capacities::rounds).
    pub rounds_needed: u32,
    /// Rounds that were recorded.
    pub rounds_capacity: u32,
    /// [`STATUS_ENTRIES`], [`STATUS_PAIRS`], [`STATUS_HITS`], [`STATUS_ROUNDS`], [`STATUS_CUT`], [`STATUS_RESULTS`],
    /// [`STATUS_RAY_CELLS`].
    pub status: u32,
}

impl Counters {
    /// Whether nothing overflowed: the outputs hold the whole answer.
    pub const fn is_whole(&self) -> bool {
        self.status == 0
    }

    /// `static_entries` is the capacity for entries of static objects.
    pub(crate) fn from_words(words: &[u32], params: &Params, rounds: u32, static_entries: u32) -> Self {
        let wide = |first: usize| u64::from(words[first]) | u64::from(words[first + 1]) << 32;
        Self {
            objects: params.static_count + params.object_count,
            invalid: words[word::INVALID],
            excluded: words[word::EXCLUDED],
            large: words[word::LARGE],
            levels: words[word::LEVELS],
            table_cells: words[word::TABLE_CELLS],
            entries_needed: wide(word::ENTRIES_NEEDED),
            entries_capacity: params.entry_capacity,
            static_entries_needed: wide(word::STATIC_ENTRIES_NEEDED),
            static_entries_capacity: static_entries,
            pairs_needed: wide(word::PAIRS_NEEDED),
            pairs_capacity: params.pair_capacity,
            hits_needed: wide(word::HITS_NEEDED),
            hits_capacity: params.hit_capacity,
            ray_cells_needed: wide(word::RAY_CELLS_NEEDED),
            ray_cells_capacity: params.ray_cell_capacity,
            results_needed: wide(word::RESULTS_NEEDED),
            results_capacity: params.result_capacity,
            queries_invalid: words[word::QUERIES_INVALID],
            query_candidates: wide(word::QUERY_CANDIDATES),
            rays_invalid: words[word::RAYS_INVALID],
            pair_candidates: wide(word::PAIR_CANDIDATES),
            ray_candidates: wide(word::RAY_CANDIDATES),
            rounds_needed: words[word::ROUNDS_NEEDED].max(1),
            rounds_capacity: rounds,
            status: words[word::STATUS] | words[word::UNFINISHED],
        }
    }
}
