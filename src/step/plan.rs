//! Sizes of a step on a device: what the uniform block says and how large each buffer is. Pure arithmetic.

use crate::api::descriptor::{
    BroadPhaseDescriptor, Dimensions, Growth, MAX_ROUNDS, PairOrder, RayMode, Scheme, SortStrategy,
};
use crate::api::error::DescriptorError;
use crate::api::queries::{Asking, Neighbor, Query, QueryMode, asking};
use crate::api::types::{Aabb, Pair, RayCell, RayHit};
use crate::gpu::buffers::rounded;
use crate::reference::rays::ray_keys::RAY_KEY_BITS;
use crate::reference::table::cover;
use crate::shared::blocks::{self, LimitParams, MAX_TURNS, Round, SortParams};
use crate::shared::grid::{self, Params};
use crate::stages::sort;

/// Objects that the density estimate looks at, at most.
pub(crate) const SAMPLES: u32 = 16_384;
/// Indices stay below 2^29: the bits above are home flags of entries.
pub(crate) const LARGEST_COUNT: u64 = 1 << 29;
/// Words of the density estimate's hash tables.
pub(crate) const DENSITY_SLOTS: u64 = 24 * 32_768;
/// Partners of an entry that counting keeps for writing, at most (`MOST_KEPT` in
/// `shaders/pairs/pair_slots_write.wgsl`).
pub(crate) const MOST_PARTNERS_KEPT: u32 = 12;
/// The same where twelve of all entries are more than a binding holds, or memory is short. No more bytes than boxes
/// take.
const FEW_PARTNERS_KEPT: u32 = 8;
/// Static partners of a moving object that counting keeps (`STATIC_KEPT` in `shaders/pairs/pair_slots_static_*.wgsl`).
pub(crate) const STATIC_PARTNERS_KEPT: u32 = blocks::STATIC_PARTNERS_KEPT;
/// Box tests of one dispatch, about: a fraction of a second on weak hardware, whose drivers give up after some.
const DISPATCH_TESTS: u64 = 1 << 32;
/// By what walks are cut smaller each time that a driver cuts them. Once is enough for any eight lanes of llvmpipe
/// together, unless nearest objects are kept in order.
const SHRINK_FACTOR: u32 = 8;
/// Turns that a walk may take beyond those of counting and of a loop over what it keeps. Counting tries out as many
/// more as both, so that nothing is cut where counting was not.
const WRITING_TURNS: u32 = 8;
/// Box tests of one walk in one dispatch.
const MAX_ROUND_TESTS: u64 = 16_384;
const MIN_ROUND_TESTS: u64 = 1024;
/// Pairs an object from which on counting keeps bits.
const CROWDED_PAIRS: u64 = 12;
const MAX_BIT_WORDS: u64 = 512;
/// Hits of a ray that counting keeps while nothing is known of them.
const FIRST_HITS_KEPT: u32 = 8;
const MOST_HITS_KEPT: u32 = 64;
/// Fewer save no walk worth their memory.
const FEWEST_HITS_KEPT: u64 = 4;
/// Bytes of all hits that are kept, at most.
const KEPT_HITS_BYTES: u64 = 64 << 20;
/// Rays from which on sorting them takes less than it saves.
const SORTED_RAYS: u32 = 4096;
/// Nearest objects of a query, at most: keeping them in order takes as many turns a box test.
pub(crate) const MAX_NEAREST: u32 = 1024;
/// Read-backs in a row that show that outputs need less room than they grew to.
const LATE_READS: u32 = 64;
/// Room for so many rows stays.
const FEW_ROWS: u32 = 1 << 16;
/// Rows that memory limits leave to an output: fewer would make an answer of too many parts.
const SMALLEST_OUTPUT: u32 = 1024;
/// Objects of a workgroup of the pass `level_statistics`.
pub(crate) const LEVEL_TILE: u32 = 2048;
pub(crate) const SCAN_TILE: u32 = blocks::SCAN_TILE as u32;
/// Workgroups of one dimension, at most: WebGPU's default limit.
pub(crate) const MAX_GROUPS: u32 = 65_535;
/// Objects of a workgroup of the passes that count and write entries of the cover table.
pub(crate) const COVER_TILE: u32 = blocks::COVER_TILE as u32;

/// Buffers that a static objects' table does not have of its own.
pub(crate) const OF_STEP: [&str; 4] = ["objects", "given_objects", "worlds", "step_counters"];

/// What steps need of the growable outputs: rows, unless a field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub entries: u32,
    pub static_entries: u32,
    pub pairs: u32,
    pub hits: u32,
    pub ray_cells: u32,
    pub results: u32,
    /// Rounds of the walks.
    pub rounds: u32,
    /// Words of bits that an entry's pairs are written from.
    pub bit_words: u32,
    /// Hits of a ray that counting keeps, where steps have shown how many there are.
    pub hits_kept: Option<u32>,
    /// How often drivers cut walks so far.
    pub walk_shrink: u32,
}

impl Needs {
    /// What outputs should hold next time: a quarter more than was needed of what did not fit.
    pub fn grown(self, needed: Self, held: Self) -> Self {
        let grown = |wanted: u32, needed: u32, held: u32| {
            if needed <= held {
                return wanted;
            }
            wanted.max(needed.saturating_add(needed / 4))
        };
        Self {
            entries: grown(self.entries, needed.entries, held.entries),
            static_entries: grown(self.static_entries, needed.static_entries, held.static_entries),
            pairs: grown(self.pairs, needed.pairs, held.pairs),
            hits: grown(self.hits, needed.hits, held.hits),
            ray_cells: grown(self.ray_cells, needed.ray_cells, held.ray_cells),
            results: grown(self.results, needed.results, held.results),
            rounds: grown(self.rounds, needed.rounds, held.rounds),
            bit_words: needed.bit_words,
            // No more often than needed, since a change makes buffers and bind groups anew.
            hits_kept: match (self.hits_kept, needed.hits_kept) {
                (Some(kept), Some(pays)) if kept / 4 < pays && pays <= kept => Some(kept),
                (kept, None) => kept,
                (_, pays) => pays,
            },
            walk_shrink: self.walk_shrink,
        }
    }
}

/// What read-backs of late have shown to be needed, so that room which nobody needs any more can go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LateNeeds {
    reads: u32,
    most: Needs,
}

impl LateNeeds {
    /// What outputs should hold next time, after one more read-back, of a step or of what was asked after it. Only
    /// those of steps count, since a query says nothing of what steps need. Static entries stay: other room for them
    /// would build their table anew.
    pub fn note(&mut self, wanted: Needs, needed: Needs, is_of_step: bool) -> Needs {
        let most = &mut self.most;
        most.entries = most.entries.max(needed.entries);
        most.pairs = most.pairs.max(needed.pairs);
        most.hits = most.hits.max(needed.hits);
        most.ray_cells = most.ray_cells.max(needed.ray_cells);
        most.results = most.results.max(needed.results);
        most.rounds = most.rounds.max(needed.rounds);
        self.reads += u32::from(is_of_step);
        if self.reads < LATE_READS {
            return wanted;
        }
        let Self { most, .. } = std::mem::take(self);
        let fewer = |wanted: u32, most: u32, fewest: u32| {
            let enough = most.saturating_add(most / 4).max(fewest);
            if enough <= wanted / 2 { enough } else { wanted }
        };
        let shrunk = |wanted, most| fewer(wanted, most, FEW_ROWS);
        Needs {
            entries: shrunk(wanted.entries, most.entries),
            pairs: shrunk(wanted.pairs, most.pairs),
            hits: shrunk(wanted.hits, most.hits),
            ray_cells: shrunk(wanted.ray_cells, most.ray_cells),
            results: shrunk(wanted.results, most.results),
            // Each costs dispatches of every walk, whether anything is left for it or not.
            rounds: fewer(wanted.rounds, most.rounds, 1),
            ..wanted
        }
    }
}

/// What is asked of the objects beside pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub rays: u64,
    /// In vectors of four words.
    pub ray_stride: u32,
    pub queries: u64,
    pub wide_queries: bool,
    pub asking: Option<Asking>,
    pub query_mode: QueryMode,
    /// Where only the device knows how many of the rays are cast: the word that says it.
    pub ray_limit: Option<u32>,
    /// The same of queries.
    pub query_limit: Option<u32>,
}

/// Everything that the host knows of a step before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    pub params: Params,
    /// Whether objects are changed before anything else.
    pub prepares: bool,
    pub pairs: bool,
    pub ray_mode: RayMode,
    pub ray_cells: bool,
    /// Where rays are copied with a bound on how many are cast.
    pub ray_limit: Option<LimitParams>,
    /// The same of queries.
    pub query_limit: Option<LimitParams>,
    /// Dispatches that each walk is cut into.
    pub rounds: u32,
    /// How often walks are cut smaller by [`SHRINK_FACTOR`].
    pub walk_shrink: u32,
    /// How keys are sorted, as chosen for the device.
    pub sort: SortStrategy,
    /// Whether outputs are put in ascending order.
    pub sorts_outputs: bool,
    /// Whether pairs and hits were counted already, so that what counting kept for writing them has to stay as it is.
    pub is_counted: bool,
    /// Whether it is of a step, not of a query of the table that a step left.
    pub is_of_step: bool,
    /// Whether pairs stand from an earlier step, so that their buffer has to stay as it is.
    pub keeps_pairs: bool,
    /// Entries that the static objects' table holds.
    pub static_entries: u32,
    /// Bytes of that table and of what building it takes.
    pub static_bytes: u64,
}

impl Plan {
    /// `statics` is the plan of the static objects' table; `wanted` holds what earlier steps were seen to need;
    /// `binding_limit` is in bytes.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u64,
        statics: Option<&Self>,
        asked: &Asked,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<Self, DescriptorError> {
        let static_count = statics.map_or(0, |statics| statics.params.object_count);
        count("objects", objects.saturating_add(static_count.into()))?;
        let object_count = count("objects", objects)?;
        let capacities = descriptor.capacities;
        let words = binding_limit / 4;
        let scheme = grid::scheme_number(descriptor.scheme);
        let entry_capacity = match descriptor.scheme {
            Scheme::Hierarchical | Scheme::Adaptive { .. } => object_count,
            Scheme::Uniform { .. } => {
                let first = grid::first_entries(object_count, capacities.entries);
                match (capacities.entries, descriptor.growth) {
                    (Some(fixed), Growth::Fixed) => count("cell entries", fixed.into())?,
                    // One word more than entries has to fit: the offsets of their pairs.
                    _ => first.max(wanted.entries.into()).min(words - 1).min(LARGEST_COUNT - 1) as u32,
                }
            }
        };
        let static_rows = if static_count > 0 { object_count } else { 0 };
        let large_mask = grid::large_mask(descriptor.worlds);
        // More words than cells have to fit: the starts of the large list's slots and of what takes no part, and the
        // cover table's end.
        let past_cells = u64::from(large_mask) + 3;
        let table = grid::table_capacity(scheme, object_count, capacities.entries)
            .min(words - past_cells)
            .min(LARGEST_COUNT - past_cells);
        let sample_stride = object_count.div_ceil(SAMPLES).max(1);
        let mut plan = Self {
            params: Params {
                object_count,
                entry_capacity,
                table_capacity: table as u32,
                scheme,
                cell_inverse: grid::cell_inverse(descriptor.scheme),
                sample_count: object_count.div_ceil(sample_stride),
                sample_stride,
                dimensions: descriptor.dimensions.count(),
                world_count: descriptor.worlds,
                large_mask,
                margin: descriptor.margin,
                period_x: descriptor.periods[0],
                period_y: descriptor.periods[1],
                period_z: descriptor.periods[2],
                first_object: static_count,
                static_count,
                pair_rows: entry_capacity.saturating_add(static_rows),
                ..Params::default()
            },
            // That is also how moving objects come to lie behind static ones.
            prepares: prepares(descriptor) || static_count > 0,
            pairs: descriptor.pairs,
            ray_mode: descriptor.ray_mode,
            ray_cells: false,
            ray_limit: None,
            query_limit: None,
            rounds: 1,
            walk_shrink: 0,
            sort: descriptor.sort,
            sorts_outputs: descriptor.pair_order == PairOrder::Sorted,
            is_counted: false,
            is_of_step: true,
            keeps_pairs: false,
            static_entries: statics.map_or(0, |statics| statics.params.entry_capacity),
            static_bytes: statics.map_or(0, Self::table_bytes),
        };
        plan.params.cover_capacity = plan.cover_capacity(descriptor, statics, asked, binding_limit)?;
        plan.params.partners_kept = plan.partners_kept(binding_limit);
        plan.fit_pairs(descriptor, wanted, binding_limit);
        plan.fit_rounds(descriptor, wanted);
        plan.fit_bits(wanted, binding_limit);
        plan.ask(descriptor, asked, wanted, binding_limit)?;
        Ok(plan)
    }

    /// Only so many objects take part as a word of a buffer says.
    pub fn limit_objects(&mut self, descriptor: &BroadPhaseDescriptor<'_>, word: u32) -> Result<(), DescriptorError> {
        self.params.object_limit = word + 1;
        self.prepares = true;
        self.fit_memory(descriptor)
    }

    /// The same table and the same pairs, asked something else.
    pub fn ask(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        asked: &Asked,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<(), DescriptorError> {
        asked.write(&mut self.params)?;
        self.ray_cells = descriptor.ray_cells && asked.rays > 0;
        // A negative end of the ray, and an excluded query.
        self.ray_limit = asked
            .ray_limit
            .filter(|_| asked.rays > 0)
            .map(|limit_word| LimitParams {
                rows: self.params.ray_count,
                stride: self.params.ray_stride,
                limit_word,
                row_word: 3,
                value: (-1.0f32).to_bits(),
            });
        let asks_own = asked.queries > 0 && asked.asking.is_none();
        self.query_limit = asked.query_limit.filter(|_| asks_own).map(|limit_word| LimitParams {
            rows: self.params.query_count,
            stride: 2 + self.params.wide_queries,
            limit_word,
            row_word: 7,
            value: Aabb::EXCLUDED,
        });
        self.is_counted = false;
        self.params.rays_sorted = u32::from(!self.is_uniform() && self.params.ray_count >= SORTED_RAYS);
        self.fit_hits_kept(wanted, binding_limit);
        self.fit_answers(descriptor, wanted, binding_limit);
        self.fit_memory(descriptor)?;
        match self.buffers().into_iter().find(|&(_, bytes)| bytes > binding_limit) {
            Some((what, needed)) => Err(DescriptorError::BufferTooLarge {
                what,
                needed,
                limit: binding_limit,
            }),
            None => Ok(()),
        }
    }

    /// Chooses how many pairs the output holds.
    pub fn fit_pairs(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs, binding_limit: u64) {
        let rows = output_rows(descriptor.growth, binding_limit);
        self.params.pair_capacity = rows(
            descriptor.capacities.pairs,
            wanted.pairs,
            few_each(self.params.object_count),
            size_of::<Pair>(),
        );
    }

    /// Entries that the cover table has room for, none where memory is short. What decides on it may only be the input,
    /// the descriptor and the device: the order of pairs depends on it.
    fn cover_capacity(
        &self,
        descriptor: &BroadPhaseDescriptor<'_>,
        statics: Option<&Self>,
        asked: &Asked,
        binding_limit: u64,
    ) -> Result<u32, DescriptorError> {
        let records = binding_limit / size_of::<grid::Record>() as u64;
        let most = records.saturating_sub(self.params.object_count.into());
        let capacity = most.min(cover::capacity(&self.params, descriptor.pairs).into()) as u32;
        let Some(limit) = descriptor.max_bytes.filter(|_| capacity > 0) else {
            return Ok(capacity);
        };
        let unlimited = BroadPhaseDescriptor {
            max_bytes: None,
            ..*descriptor
        };
        let objects = self.params.object_count.into();
        let mut least = Self::new(&unlimited, objects, statics, asked, Needs::default(), binding_limit)?;
        least.drop_what_saves_time(descriptor, 0);
        let wanted = least.rows_of_outputs(descriptor);
        least.shrink(descriptor, &wanted, 0.0);
        // As much is left to outputs and to what later steps may turn out to need.
        Ok(if least.bytes() <= limit / 2 { capacity } else { 0 })
    }

    fn partners_kept(&self, binding_limit: u64) -> u32 {
        let fits = |kept| 4 * self.slot_words(kept) <= binding_limit;
        match (self.is_uniform(), fits(MOST_PARTNERS_KEPT)) {
            (true, _) => 0,
            (false, true) => MOST_PARTNERS_KEPT,
            (false, false) => FEW_PARTNERS_KEPT,
        }
    }

    /// Words of all partners that counting keeps, where it keeps so many of an entry.
    fn slot_words(&self, kept: u32) -> u64 {
        let [entries, rows] = [self.params.entry_capacity, self.params.static_rows()].map(u64::from);
        u64::from(kept) * entries + u64::from(STATIC_PARTNERS_KEPT) * rows
    }

    /// Chooses how many rounds the walks have.
    pub fn fit_rounds(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs) {
        self.rounds = rounds(descriptor, wanted);
        self.walk_shrink = wanted.walk_shrink;
    }

    /// Chooses how many box tests of an entry counting keeps bits of. Several rounds keep none.
    fn fit_bits(&mut self, wanted: Needs, binding_limit: u64) {
        let walked = self.pairs && !self.is_uniform() && self.rounds == 1;
        let entries = u64::from(self.params.entry_capacity.max(1));
        // As many tests as a round makes have bits, so that all of them are written anew.
        let tested = u64::from(self.round_tests(self.params.entry_capacity, 1) / u32::BITS);
        let most = tested.min(binding_limit / 4 / entries);
        self.params.pair_bit_words = if walked {
            u64::from(wanted.bit_words).min(most) as u32
        } else {
            0
        };
    }

    /// Chooses how many hits of a ray counting keeps.
    fn fit_hits_kept(&mut self, wanted: Needs, binding_limit: u64) {
        let rays = u64::from(self.params.ray_count.max(1));
        let hit_bytes = size_of::<RayHit>() as u64;
        // Behind a word a ray of offsets, and one that rounds leave.
        let beside = hit_bytes * rays + 4;
        let most = binding_limit.saturating_sub(beside).min(KEPT_HITS_BYTES) / (hit_bytes * rays);
        let pays = u64::from(wanted.hits_kept.unwrap_or(FIRST_HITS_KEPT));
        self.params.hits_kept = if self.all_hits() && most >= FEWEST_HITS_KEPT {
            pays.min(most) as u32
        } else {
            0
        };
    }

    /// The rounds in which pairs are written: behind those whose bits were kept.
    pub fn pair_emit_rounds(&self) -> impl Iterator<Item = Round> {
        let replayed = u32::BITS * self.params.pair_bit_words;
        self.rounds_of(self.params.entry_capacity, 1, self.params.partners_kept)
            .map(move |round| Round {
                first: round.first.saturating_add(replayed),
                // No test that counting did not make.
                tests: round.tests.saturating_sub(replayed),
                ..round
            })
    }

    /// Box tests that a round of so many walks makes of each, where a test takes up to so many turns of a loop.
    fn round_tests(&self, walks: u32, turns: u32) -> u32 {
        let most = (MAX_TURNS as u64 / u64::from(turns)).min(MAX_ROUND_TESTS);
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
    pub fn rounds_of(&self, walks: u32, turns: u32, kept: u32) -> impl Iterator<Item = Round> {
        let tests = self.round_tests(walks, turns);
        let turns = MAX_TURNS as u32 / self.cut_smaller();
        let rounds = self.rounds;
        (0..rounds).map(move |round| Round {
            // A walk that long has no tests left.
            first: round.saturating_mul(tests),
            tests,
            is_last: u32::from(round + 1 == rounds),
            turns,
            canary_turns: kept + WRITING_TURNS,
            continues: 0,
            is_continued: 0,
        })
    }

    /// What the walks of an output with one row a walk leave for their next round, in rows of their own a walk.
    fn left_behind(&self, walks: u64, rows: u64) -> u64 {
        if self.rounds > 1 { walks * rows } else { 0 }
    }

    /// The same of walks that go through both tables where there are two.
    fn left_behind_tables(&self, walks: u64) -> u64 {
        if self.has_statics() {
            walks
        } else {
            self.left_behind(walks, 1)
        }
    }

    /// Chooses how many rows the answers to rays and queries hold.
    pub fn fit_answers(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs, binding_limit: u64) {
        let rows = output_rows(descriptor.growth, binding_limit);
        let params = &mut self.params;
        params.hit_capacity = match self.ray_mode {
            RayMode::Closest => params.ray_count,
            RayMode::Any => 0,
            RayMode::All => rows(
                descriptor.capacities.hits,
                wanted.hits,
                few_each(params.ray_count),
                size_of::<RayHit>(),
            ),
        };
        params.result_capacity = if params.nearest > 0 {
            0
        } else {
            rows(
                descriptor.capacities.results,
                wanted.results,
                few_each(params.query_count),
                // Sorting them takes buffers of wider rows.
                if self.sorts_outputs {
                    size_of::<Pair>()
                } else {
                    size_of::<u32>()
                },
            )
        };
        if self.ray_cells {
            params.ray_cell_capacity = rows(
                descriptor.capacities.ray_cells,
                wanted.ray_cells,
                64 * u64::from(params.ray_count) + 1024,
                size_of::<RayCell>(),
            );
        }
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        let own: u64 = self.buffers().into_iter().map(|(_, bytes)| rounded(bytes)).sum();
        own + self.static_bytes
    }

    /// Makes outputs smaller, all by the same share, where the buffers would take more bytes than they may.
    pub fn fit_memory(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), DescriptorError> {
        let Some(limit) = descriptor.max_bytes else {
            return Ok(());
        };
        if !self.is_counted {
            self.drop_what_saves_time(descriptor, limit);
        }
        let bytes = self.bytes();
        if bytes <= limit {
            return Ok(());
        }
        let wanted = self.rows_of_outputs(descriptor);
        self.shrink(descriptor, &wanted, 0.0);
        let needed = self.bytes();
        if needed > limit {
            return Err(DescriptorError::MemoryLimit { needed, limit });
        }
        let mut share = (limit - needed) as f64 / (bytes - needed) as f64;
        // What grows with the rows grows by steps.
        while share > 0.0 {
            self.shrink(descriptor, &wanted, share);
            if self.bytes() <= limit {
                break;
            }
            share = (share - 0.01).max(0.0);
            self.shrink(descriptor, &wanted, share);
        }
        Ok(())
    }

    /// Does without what only saves time, as far as bytes are short where no output is smaller than it may become.
    fn drop_what_saves_time(&mut self, descriptor: &BroadPhaseDescriptor<'_>, limit: u64) {
        let drops: [fn(&mut Params); 4] = [
            |params| params.pair_bit_words = 0,
            |params| params.partners_kept = params.partners_kept.min(FEW_PARTNERS_KEPT),
            |params| params.hits_kept = 0,
            |params| params.rays_sorted = 0,
        ];
        for drop in drops {
            let mut least = *self;
            for rows in least.outputs(descriptor) {
                *rows = (*rows).max(SMALLEST_OUTPUT);
            }
            if least.bytes() > limit {
                drop(&mut self.params);
            }
        }
    }

    fn rows_of_outputs(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<u32> {
        self.outputs(descriptor).into_iter().map(|rows| *rows).collect()
    }

    /// Leaves a share of what is wanted beyond the smallest outputs.
    fn shrink(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: &[u32], share: f64) {
        for (rows, &wanted) in self.outputs(descriptor).into_iter().zip(wanted) {
            let smallest = wanted.min(SMALLEST_OUTPUT);
            *rows = smallest + (f64::from(wanted - smallest) * share) as u32;
        }
    }

    /// Rows of the outputs that may shrink.
    fn outputs(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<&mut u32> {
        let fixed = |capacity: Option<u32>| descriptor.growth == Growth::Fixed && capacity.is_some();
        let capacities = descriptor.capacities;
        let all_hits = self.ray_mode == RayMode::All;
        let params = &mut self.params;
        let outputs = [
            (
                &mut params.pair_capacity,
                fixed(capacities.pairs) || !self.pairs || self.keeps_pairs,
            ),
            (&mut params.hit_capacity, fixed(capacities.hits) || !all_hits),
            (&mut params.ray_cell_capacity, fixed(capacities.ray_cells)),
            (&mut params.result_capacity, fixed(capacities.results)),
        ];
        let shrinking = outputs.into_iter().filter(|(_, stays)| !stays);
        shrinking.map(|(rows, _)| rows).collect()
    }

    pub fn is_uniform(&self) -> bool {
        self.params.scheme == grid::SCHEME_UNIFORM
    }

    /// Words that count the entries of objects: one per object for each group of entries.
    pub fn entry_counts(&self) -> u32 {
        grid::ENTRY_GROUPS * self.params.object_count
    }

    pub fn is_hierarchical(&self) -> bool {
        self.params.scheme == grid::SCHEME_HIERARCHICAL
    }

    pub fn asks_all(&self) -> bool {
        self.params.query_count > 0 && self.params.nearest == 0
    }

    pub fn asks_nearest(&self) -> bool {
        self.params.query_count > 0 && self.params.nearest > 0
    }

    /// Whether some of the objects are static and have a table of their own.
    pub fn has_statics(&self) -> bool {
        self.params.static_count > 0
    }

    /// All objects, static ones among them.
    pub fn all_objects(&self) -> u32 {
        self.params.static_count + self.params.object_count
    }

    pub fn has_worlds(&self) -> bool {
        self.params.world_count > 1
    }

    /// Rows of the largest output that is sorted.
    pub fn sorted_rows(&self) -> u32 {
        if !self.sorts_outputs {
            return 0;
        }
        let params = &self.params;
        let pairs = if self.pairs { params.pair_capacity } else { 0 };
        let hits = if self.all_hits() { params.hit_capacity } else { 0 };
        let results = if self.asks_all() { params.result_capacity } else { 0 };
        pairs.max(hits).max(results)
    }

    pub fn all_hits(&self) -> bool {
        self.params.ray_count > 0 && self.ray_mode == RayMode::All
    }

    /// The digits of the sort: only as many as the largest key needs.
    pub fn digits(&self) -> Vec<SortParams> {
        let key_bits = grid::key_bits(self.params.table_capacity, self.params.large_mask);
        self.sort.digits(self.params.table_entries(), key_bits)
    }

    /// The digits of the sort of rays.
    pub fn ray_digits(&self) -> Vec<SortParams> {
        let key_bits = if self.sorts_rays() { RAY_KEY_BITS } else { 0 };
        self.sort.digits(self.params.ray_count, key_bits)
    }

    /// Whether rays are walked in the order of where they start.
    pub fn sorts_rays(&self) -> bool {
        self.params.rays_sorted != 0
    }

    /// The digits of the sort of outputs by keys below `count`.
    pub fn order_digits(&self, count: u32) -> Vec<SortParams> {
        self.sort.digits(self.sorted_rows(), sort::bits_below(count))
    }

    /// How many values the keys of outputs may have: objects, rays, queries.
    pub fn order_keys(&self) -> [u32; 3] {
        let params = &self.params;
        let counts = [self.all_objects(), params.ray_count, params.query_count];
        counts.map(|count| if self.sorts_outputs { count } else { 0 })
    }

    fn counter_words(&self) -> u32 {
        let order = self
            .order_keys()
            .map(|count| sort::counter_words(&self.order_digits(count)));
        let own = [self.digits(), self.ray_digits()].map(|digits| sort::counter_words(&digits));
        order.into_iter().chain(own).fold(0, u32::max)
    }

    /// The table of so many static objects, which nothing is asked of on its own.
    pub fn of_statics(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u64,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<Self, DescriptorError> {
        let table = BroadPhaseDescriptor {
            pairs: false,
            pair_order: PairOrder::Unordered,
            // The step that it is part of looks at all bytes.
            max_bytes: None,
            ..*descriptor
        };
        let wanted = Needs {
            entries: wanted.static_entries,
            ..Needs::default()
        };
        let mut plan = Self::new(&table, objects, None, &Asked::default(), wanted, binding_limit)?;
        plan.params.static_count = plan.params.object_count;
        plan.prepares = true;
        Ok(plan)
    }

    /// Bytes of the buffers that are the table's own.
    fn table_bytes(&self) -> u64 {
        let own = self.buffers().into_iter().filter(|(name, _)| !OF_STEP.contains(name));
        own.map(|(_, bytes)| rounded(bytes)).sum()
    }

    /// Name and size in bytes of every buffer that a step owns, by the names of the pass table.
    pub fn buffers(&self) -> Vec<(&'static str, u64)> {
        let params = &self.params;
        let objects = u64::from(params.object_count);
        let rays = u64::from(params.ray_count);
        let entries = u64::from(params.entry_capacity);
        let pair_rows = u64::from(params.pair_rows);
        let largest_scan = [
            self.entry_counts(),
            params.pair_rows.saturating_add(1),
            params.ray_count + 1,
            params.query_count + 1,
        ]
        .into_iter()
        .fold(1, u32::max);
        let mut buffers = vec![
            ("objects", size_of::<Aabb>() as u64 * u64::from(self.all_objects())),
            (
                "records",
                size_of::<grid::Record>() as u64 * (objects + u64::from(params.cover_capacity)),
            ),
            ("cover_sums", 12 * u64::from(params.object_count.div_ceil(COVER_TILE))),
            ("level_statistics", 4 * 256),
            ("grid", size_of::<grid::Grid>() as u64),
            ("counters", 4 * crate::api::counters::word::COUNT as u64),
            ("step_counters", 4 * crate::api::counters::word::COUNT as u64),
            // And the word that a list of walks begins with, which lies where keys were.
            ("keys_0", 4 * (u64::from(self.params.table_entries()) + 1)),
            ("keys_1", 4 * (u64::from(self.params.table_entries()) + 1)),
            ("values_0", 4 * u64::from(self.params.table_entries())),
            ("values_1", 4 * u64::from(self.params.table_entries())),
            ("digit_counts", 4 * u64::from(self.counter_words())),
            ("tile_sums", 8 * u64::from(largest_scan.div_ceil(SCAN_TILE))),
            (
                "starts",
                4 * (u64::from(params.table_capacity) + u64::from(params.large_mask) + 3),
            ),
            ("worlds", if self.has_worlds() { 4 * objects } else { 0 }),
        ];
        if self.prepares {
            buffers.push(("given_objects", size_of::<Aabb>() as u64 * objects));
        }
        if self.is_uniform() {
            buffers.push(("entry_offsets", 4 * u64::from(self.entry_counts())));
        }
        if self.is_hierarchical() {
            buffers.extend([
                ("size_statistics", 4 * 1025),
                ("density_slots", 4 * DENSITY_SLOTS),
                ("density", 4 * 48),
            ]);
        }
        if self.pairs {
            let progress = if params.pair_bit_words > 0 {
                pair_rows
            } else {
                self.left_behind(pair_rows, 1)
            };
            buffers.extend([
                ("pair_offsets", 4 * (pair_rows + 1 + progress)),
                ("pairs", size_of::<Pair>() as u64 * u64::from(params.pair_capacity)),
            ]);
            if self.has_worlds() {
                buffers.push(("world_pairs", 4 * u64::from(params.world_count)));
            }
            if !self.is_uniform() {
                buffers.push(("pair_walk_groups", 12));
                buffers.push(("pair_slots", 4 * self.slot_words(params.partners_kept)));
                buffers.push(("pair_bits", 4 * u64::from(params.pair_bit_words) * entries));
            }
        }
        if params.ray_count > 0 {
            let bytes = 16 * u64::from(params.ray_stride) * rays;
            buffers.push(("rays", bytes));
            if self.ray_limit.is_some() {
                buffers.push(("given_rays", bytes));
            }
            let hits = |more: u64| {
                let rows = u64::from(params.hit_capacity) + more;
                ("ray_hits", size_of::<RayHit>() as u64 * rows)
            };
            match self.ray_mode {
                RayMode::Closest => buffers.push(hits(self.left_behind(rays, 2))),
                RayMode::Any => buffers.push(("ray_any", 4 * rays)),
                RayMode::All => {
                    let kept = u64::from(params.hits_kept);
                    let left_behind = if kept > 0 { rays } else { self.left_behind_tables(rays) };
                    let offsets = rays + 1 + left_behind + 2 * kept * rays;
                    buffers.extend([hits(0), ("ray_offsets", 4 * offsets)]);
                }
            }
        }
        if self.sorts_rays() {
            buffers.extend([
                ("ray_keys_0", 4 * rays),
                ("ray_keys_1", 4 * rays),
                ("ray_values_0", 4 * rays),
                ("ray_values_1", 4 * rays),
                ("ray_grid", size_of::<grid::Grid>() as u64),
            ]);
        }
        if self.ray_cells {
            let cells = size_of::<RayCell>() as u64 * u64::from(params.ray_cell_capacity);
            let carried = if self.has_statics() { rays } else { 0 };
            buffers.extend([("ray_cell_offsets", 4 * (rays + 1 + carried)), ("ray_cells", cells)]);
        }
        let queries = u64::from(params.query_count);
        if queries > 0 && params.asking == asking::NOBODY {
            let bytes = if params.wide_queries != 0 {
                size_of::<Query>()
            } else {
                size_of::<Aabb>()
            };
            let bytes = bytes as u64 * queries;
            buffers.push(("queries", bytes));
            if self.query_limit.is_some() {
                buffers.push(("given_queries", bytes));
            }
        }
        if self.asks_all() {
            let results = 4 * u64::from(params.result_capacity);
            let offsets = queries + 1 + self.left_behind_tables(queries);
            buffers.extend([("query_offsets", 4 * offsets), ("query_objects", results)]);
        }
        if self.asks_nearest() {
            let neighbors = (size_of::<Neighbor>() as u64 * queries).saturating_mul(params.nearest.into());
            buffers.push(("query_nearest", neighbors));
        }
        if self.sorts_outputs {
            let rows = u64::from(self.sorted_rows());
            buffers.extend([
                ("order_keys_0", 4 * rows),
                ("order_keys_1", 4 * rows),
                ("order_values_0", 4 * rows),
                ("order_values_1", 4 * rows),
                ("order_rows", size_of::<Pair>() as u64 * rows),
                ("order_grid", size_of::<grid::Grid>() as u64),
            ]);
        }
        // A binding may not be empty.
        buffers.iter_mut().for_each(|(_, bytes)| *bytes = (*bytes).max(16));
        buffers
    }
}

impl Asked {
    /// Writes to the uniform block what it says of rays and queries; their capacities come later.
    pub fn write(&self, params: &mut Params) -> Result<(), DescriptorError> {
        params.ray_count = count("rays", self.rays)?;
        params.ray_stride = self.ray_stride;
        params.query_count = count("queries", self.queries)?;
        params.wide_queries = self.wide_queries.into();
        params.asker_count = match self.asking {
            Some(_) => params.object_count,
            None => params.query_count,
        };
        let (kind, radius, once) = match self.asking {
            None => (asking::NOBODY, 0.0, false),
            Some(Asking::Neighbors(neighbors)) => (asking::NEIGHBORS, neighbors.radius, neighbors.once),
            Some(Asking::Partners(partners)) => (asking::PARTNERS, 0.0, partners.once),
        };
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(DescriptorError::Radius(radius));
        }
        params.asking = kind;
        // -0 and denormals are 0.
        params.radius = grid::flush(radius);
        params.once = once.into();
        params.nearest = match self.query_mode {
            QueryMode::All => 0,
            QueryMode::Nearest(0) => return Err(DescriptorError::ZeroCapacity { what: "nearest" }),
            QueryMode::Nearest(nearest @ ..=MAX_NEAREST) => nearest,
            QueryMode::Nearest(nearest) => {
                return Err(DescriptorError::TooMany {
                    what: "nearest objects",
                    count: nearest.into(),
                    limit: MAX_NEAREST.into(),
                });
            }
        };
        (params.first_hit, params.first_ray_cell, params.first_result) = (0, 0, 0);
        (params.hit_capacity, params.ray_cell_capacity, params.result_capacity) = (0, 0, 0);
        Ok(())
    }
}

/// Rounds of the next step.
pub(crate) fn rounds(descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs) -> u32 {
    let first = descriptor.capacities.rounds.unwrap_or(1);
    first.max(wanted.rounds).min(MAX_ROUNDS)
}

/// Words of bits an entry that pay, as the last step had so many pairs and entries: an object of few pairs has them in
/// its slots; else there are some four to eight box tests a pair, and objects that have twice as many as the mean.
pub(crate) fn bit_words(pairs: u64, entries: u64) -> u32 {
    let mean = pairs / entries.max(1);
    if mean < CROWDED_PAIRS {
        0
    } else {
        mean.min(MAX_BIT_WORDS) as u32
    }
}

/// Hits of a ray that pay to be kept, as rays of the last step had so many: nearly all of most rays, or none of too
/// many.
pub(crate) fn worth_keeping(hits: u64, rays: u64) -> u32 {
    let mean = hits.div_ceil(rays.max(1));
    let most_rays = mean + mean / 2 + 4;
    if mean > u64::from(MOST_HITS_KEPT) {
        0
    } else {
        // In few steps, so that it seldom changes.
        most_rays
            .next_power_of_two()
            .clamp(FIRST_HITS_KEPT.into(), MOST_HITS_KEPT.into()) as u32
    }
}

const fn few_each(count: u32) -> u64 {
    4 * count as u64 + 1024
}

/// How many rows an output holds, from its fixed or first capacity, what earlier steps were seen to need, a default and
/// the bytes of a row.
fn output_rows(growth: Growth, binding_limit: u64) -> impl Fn(Option<u32>, u32, u64, usize) -> u32 {
    move |fixed, wanted, default, row_bytes| {
        let default = u32::try_from(default).unwrap_or(u32::MAX);
        let rows = match (fixed, growth) {
            (Some(fixed), Growth::Fixed) => return fixed,
            (Some(first), Growth::Grow) => first.max(wanted),
            (None, _) => default.max(wanted),
        };
        // The largest u32 is no place.
        rows.min(u32::try_from(binding_limit / row_bytes as u64).unwrap_or(u32::MAX))
            .min(u32::MAX - 1)
    }
}

pub(crate) fn count(what: &'static str, count: u64) -> Result<u32, DescriptorError> {
    if count < LARGEST_COUNT {
        Ok(count as u32)
    } else {
        Err(DescriptorError::TooMany {
            what,
            count,
            limit: LARGEST_COUNT - 1,
        })
    }
}

/// Whether objects need [`prepare`](crate::reference::table::prepare).
pub(crate) fn prepares(descriptor: &BroadPhaseDescriptor<'_>) -> bool {
    descriptor.dimensions == Dimensions::Two
        || descriptor.margin > 0.0
        || descriptor.worlds > 1
        || descriptor.periods != [0.0; 3]
}

/// Refuses a descriptor with which not even a step without objects fits: every other step takes more.
pub(crate) fn check_smallest_step(
    descriptor: &BroadPhaseDescriptor<'_>,
    binding_limit: u64,
) -> Result<(), DescriptorError> {
    if descriptor.pairs && descriptor.worlds > 1 {
        // Each has a count of its pairs.
        let limit = (binding_limit / 4).min(LARGEST_COUNT - 1);
        let count = u64::from(descriptor.worlds);
        if count > limit {
            let what = "worlds";
            return Err(DescriptorError::TooMany { what, count, limit });
        }
    }
    Plan::new(descriptor, 0, None, &Asked::default(), Needs::default(), binding_limit).map(|_| ())
}

/// With several worlds every object needs one.
pub(crate) fn check_worlds(
    descriptor: &BroadPhaseDescriptor<'_>,
    worlds: u64,
    objects: u64,
) -> Result<(), DescriptorError> {
    if descriptor.worlds > 1 && worlds != objects {
        return Err(DescriptorError::WorldsMissing { worlds, objects });
    }
    Ok(())
}

/// Bytes that one buffer may have and bind.
pub(crate) fn binding_limit(limits: &wgpu::Limits) -> u64 {
    // Sizes are rounded up to 16 bytes.
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(rays: u64, wanted: Needs, max_bytes: Option<u64>) -> Result<Plan, DescriptorError> {
        let descriptor = BroadPhaseDescriptor {
            ray_mode: RayMode::All,
            max_bytes,
            ..Default::default()
        };
        let asked = Asked {
            rays,
            ray_stride: 2,
            ..Asked::default()
        };
        Plan::new(&descriptor, 10_000, None, &asked, wanted, 128 << 20)
    }

    #[test]
    fn memory_is_taken_first_from_what_saves_time_alone() {
        let (rays, wanted) = (u64::from(SORTED_RAYS), Needs::default());
        let whole = cast(rays, wanted, None).unwrap();
        assert!(whole.sorts_rays() && whole.params.hits_kept == FIRST_HITS_KEPT);
        let mut least = whole;
        (least.params.rays_sorted, least.params.hits_kept) = (0, 0);
        least.params.partners_kept = FEW_PARTNERS_KEPT;
        for rows in least.outputs(&BroadPhaseDescriptor::default()) {
            *rows = SMALLEST_OUTPUT;
        }
        let plan = cast(rays, wanted, Some(least.bytes())).unwrap();
        assert!(!plan.sorts_rays() && plan.params.hits_kept == 0);
        assert_eq!(plan.params.partners_kept, FEW_PARTNERS_KEPT);
        assert!(plan.bytes() <= least.bytes());
        let plan = cast(rays, wanted, Some(2 * whole.bytes())).unwrap();
        assert_eq!(plan.params, whole.params);
    }

    /// It decides the order of pairs.
    #[test]
    fn room_for_the_cover_table_does_not_depend_on_steps_before() {
        let more = Needs {
            pairs: 1 << 20,
            rounds: 3,
            bit_words: 64,
            hits_kept: Some(MOST_HITS_KEPT),
            ..Needs::default()
        };
        let whole = cast(5000, Needs::default(), None).unwrap();
        assert_eq!(whole.params.cover_capacity, 2500);
        let mut seen = Vec::new();
        for share in 8..40 {
            let limit = Some(whole.bytes() * share / 16);
            let capacities = [Needs::default(), more].map(|wanted| cast(5000, wanted, limit));
            let [Ok(first), Ok(later)] = capacities else {
                continue;
            };
            assert_eq!(first.params.cover_capacity, later.params.cover_capacity, "{limit:?}");
            seen.push(first.params.cover_capacity);
        }
        assert!(seen.contains(&0) && seen.contains(&2500), "{seen:?}");
    }

    #[test]
    fn what_was_counted_is_written_from_what_was_kept() {
        let mut plan = cast(5000, Needs::default(), None).unwrap();
        let before = plan.params;
        plan.is_counted = true;
        let descriptor = BroadPhaseDescriptor {
            max_bytes: Some(plan.bytes() - 16),
            ..Default::default()
        };
        plan.fit_memory(&descriptor).unwrap();
        assert!(plan.params.pair_capacity < before.pair_capacity);
        assert_eq!(
            (plan.params.hits_kept, plan.params.rays_sorted),
            (before.hits_kept, before.rays_sorted)
        );
    }

    #[test]
    fn hits_are_kept_where_they_are_few_and_seldom_otherwise_than_before() {
        assert_eq!([0, 1000, 4000].map(|hits| worth_keeping(hits, 1000)), [8, 8, 16]);
        assert_eq!(
            [16_400, 64_000, 64_001].map(|hits| worth_keeping(hits, 1000)),
            [32, 64, 0]
        );
        assert_eq!(worth_keeping(0, 0), 8);
        let kept = |hits_kept| Needs {
            hits_kept,
            ..Needs::default()
        };
        let next = |kept_before, pays| kept(kept_before).grown(kept(pays), Needs::default()).hits_kept;
        assert_eq!(next(None, Some(8)), Some(8));
        assert_eq!(next(Some(8), Some(16)), Some(16));
        assert_eq!(next(Some(32), Some(32)), Some(32));
        assert_eq!(next(Some(32), Some(16)), Some(32));
        assert_eq!(next(Some(32), Some(8)), Some(8));
        assert_eq!(next(Some(32), Some(0)), Some(0));
        assert_eq!(next(Some(32), None), Some(32));
    }

    #[test]
    fn room_goes_after_steps_that_did_without_and_queries_say_nothing_of_that() {
        let held = Needs {
            pairs: 1 << 20,
            hits: 1 << 20,
            rounds: 5,
            ..Needs::default()
        };
        let few = Needs {
            pairs: 100,
            rounds: 1,
            ..Needs::default()
        };
        let mut late = LateNeeds::default();
        for _ in 0..10 * LATE_READS {
            assert_eq!(late.note(held, few, false), held);
        }
        for _ in 1..LATE_READS {
            assert_eq!(late.note(held, few, true), held);
        }
        let fewer = Needs {
            pairs: FEW_ROWS,
            hits: FEW_ROWS,
            rounds: 1,
            ..Needs::default()
        };
        assert_eq!(late.note(held, few, true), fewer);
        // What a query needs in between stays, and so does what is not twice as much as needed.
        let asked = Needs {
            hits: 1 << 19,
            rounds: 4,
            ..Needs::default()
        };
        late.note(held, asked, false);
        let last = (0..LATE_READS).map(|_| late.note(held, few, true)).last();
        assert_eq!(
            last,
            Some(Needs {
                pairs: FEW_ROWS,
                ..held
            })
        );
    }

    #[test]
    fn partners_that_are_kept_leave_room_for_as_many_objects_as_boxes_do() {
        let kept = |objects| {
            let plan = Plan::new(
                &BroadPhaseDescriptor::default(),
                objects,
                None,
                &Asked::default(),
                Needs::default(),
                128 << 20,
            );
            plan.unwrap().params.partners_kept
        };
        let most = (128 << 20) / size_of::<Aabb>() as u64;
        assert_eq!([1_000_000, most].map(kept), [MOST_PARTNERS_KEPT, FEW_PARTNERS_KEPT]);
    }

    #[test]
    fn kept_hits_stay_within_a_binding_and_their_share() {
        for rays in [1, 5000, 1 << 20, 3 << 20] {
            let wanted = Needs {
                hits_kept: Some(MOST_HITS_KEPT),
                ..Needs::default()
            };
            let plan = cast(rays, wanted, None).unwrap();
            let kept = 8 * u64::from(plan.params.hits_kept) * rays;
            assert!(kept <= KEPT_HITS_BYTES, "{rays}: {kept}");
            assert_eq!(plan.params.hits_kept == 0, rays == 3 << 20);
        }
    }
}
