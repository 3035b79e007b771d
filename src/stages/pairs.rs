//! The pairs stage: counts pairs per entry, turns counts into offsets, writes pairs.
//!
//! 1. `pair_exclude` enters the caller's excluded pairs into a hash table.
//! 2. `pair_count_*` counts during a walk through the cell table. With one entry per object, it also caches the first
//!    partners of each entry, or in crowded scenes one bit per box test. `pair_static_count_*` counts and caches static
//!    partners.
//! 3. `world_pairs` and `world_pairs_static` count pairs per world.
//! 4. In the uniform scheme, the scan stage makes offsets. In the others, counting already left prefix sums per tile.
//! 5. `pair_emit_cached` writes cached partners and lists entries with more. `pair_replay` writes these from cached
//!    bits, else `pair_emit_*` walks again; `pair_static_emit_*` writes static pairs.

use super::order;
use super::scan::Scan;
use super::shape::variable::ROUND;
use super::shape::{Basis, Rounds, initial_rows};
use super::sort::KeyValueBuffers;
use super::table::{self, PARAMS, TablePlan, statics};
use super::walks::TableBlocks;
use crate::api::counters::Output;
use crate::api::descriptor::{BroadPhaseDescriptor, SortStrategy};
use crate::api::error::InputError;
use crate::api::input::count;
use crate::api::output::{Page, PairOutput};
use crate::api::types::Pair;
use crate::gpu::adapter::DeviceClass;
use crate::gpu::buffers::{Buffers, Sizes, buffers};
use crate::gpu::passes::{Binds, Passes, WORKGROUP, variables};
use crate::gpu::reading::Readable;
use crate::gpu::shader::{Pass, Variant, passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{CHUNK_WORDS, Exclusions, OrderParams, PairParams, Round, STATIC_CACHED_PARTNERS};
use crate::layout::grid::{Params, VARIANT_CROWDED, VARIANT_SPARSE};
use crate::shared::wgsl::number;

passes! {
    "pairs" {
    PAIR_EXCLUDE = "pair_exclude";

    PAIR_COUNT_SPARSE = "pair_count_sparse" from "pair_count" { variant: "sparse" } switch EXCLUDES;

    PAIR_COUNT_CROWDED = "pair_count_crowded" from "pair_count" { variant: "crowded" } switch EXCLUDES;

    PAIR_COUNT_MULTI_CELL = "pair_count_multi_cell" from "pair_count" { variant: "multi_cell" } switch EXCLUDES;

    WORLD_PAIRS = "world_pairs";

    WORLD_PAIRS_STATIC = "world_pairs_static" switch EXCLUDES;

    PAIR_EMIT_CACHED = "pair_emit_cached";

    PAIR_REPLAY = "pair_replay";

    PAIR_EMIT_SINGLE_CELL = "pair_emit_single_cell" from "pair_emit" { variant: "single_cell" } switch EXCLUDES;

    PAIR_EMIT_MULTI_CELL = "pair_emit_multi_cell" from "pair_emit" { variant: "multi_cell" } switch EXCLUDES;

    PAIR_STATIC_COUNT_SINGLE_CELL = "pair_static_count_single_cell" from "pair_static_count" { variant: "single_cell" }
        switch EXCLUDES;

    PAIR_STATIC_COUNT_MULTI_CELL = "pair_static_count_multi_cell" from "pair_static_count" { variant: "multi_cell" }
        switch EXCLUDES;

    PAIR_STATIC_EMIT_SINGLE_CELL = "pair_static_emit_single_cell" from "pair_static_emit" { variant: "single_cell" }
        switch EXCLUDES;

    PAIR_STATIC_EMIT_MULTI_CELL = "pair_static_emit_multi_cell" from "pair_static_emit" { variant: "multi_cell" }
        switch EXCLUDES;
    }
}

/// Switch of passes: skips excluded pairs.
pub(crate) const EXCLUDES: &str = "EXCLUDES";

/// Number of objects from which both variants are dispatched, since the sparse one takes longer in crowds.
pub(crate) const MANY_OBJECTS: u32 = 1 << 16;

/// True if the sparse variant of `pair_count` counts before counters arrive, otherwise the device chooses. Software
/// drivers compile a pass even for an empty dispatch.
pub(crate) fn starts_sparse(of: &BroadPhaseDescriptor<'_>, objects: u32) -> bool {
    of.sort == SortStrategy::SerialTiles && objects < MANY_OBJECTS
}

buffers! {
    /// Offsets of the pairs of each entry, then of the static pairs of each moving object. In the uniform scheme, a
    /// scan makes them from counts. In the others, they are prefix sums within tiles, then sums of tiles. Data carried
    /// between rounds follows.
    OFFSETS = "pair_offsets": Objects;
    /// Cached partners of entries, then of moving objects with static ones (`shaders/pairs/pair_cache.wgsl`).
    PAIR_CACHE = "pair_cache": Objects;
    /// Bits of the box tests of each entry, in crowded scenes.
    BITS = "pair_bits": Objects;
    WALK_GROUPS = "pair_walk_groups": Objects as INDIRECT;
    PAIRS = "pairs": Pairs;
    WORLD_PAIRS = "world_pairs": Objects;
    EXCLUDED = "excluded_pairs": Inputs;
    /// For each slot of the exclusion hash table: index of its list row plus one, or 0 if free. The table itself is
    /// behind the objects.
    EXCLUSION_ROWS = "exclusion_rows": Objects;
    /// Data of the pair filter, before it is copied behind the objects.
    DATA = "pair_filter_data": Inputs;
}

variables! {
    /// Number of rows of pair counts to walk again, then these rows.
    WALKS = "pair_walks";
    EXCLUSIONS = "exclusions";
    OWN_RECORDS = "own_records";
}

pub(crate) use variable::EXCLUSIONS;
use variable::*;

pub(crate) use crate::layout::blocks::MAX_CACHED_PARTNERS;
/// Partners cached per entry if [`MAX_CACHED_PARTNERS`] exceed the binding limit.
pub(crate) const FEW_CACHED_PARTNERS: u32 = 8;
const WORDS_PER_CHUNK: u64 = CHUNK_WORDS as u64;
/// Chunks besides those of [`chunk_words`]: few entries of sparse scenes have more partners than slots.
const MIN_CHUNKS: u64 = 64;
const ENTRIES_PER_CHUNK: u64 = 32;
const TILE_WORDS: u64 = number("pairs/pair_sums", "TILE_WORDS") as u64;
/// Two invocations share a walk of a small scene: with four, small GPUs lose what large ones gain (docs/tried.md).
const SPLIT_BITS: u32 = 1;
/// Most entries of small scenes. Their walks do not fill a GPU, so the longest one decides.
const FEW_ENTRIES: u32 = 1 << 14;
const MAX_BIT_WORDS: u64 = 512;

/// Pairs to exclude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExclusionPlan {
    pub block: Exclusions,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairPlan {
    pub params: PairParams,
    /// The variant that counts pairs; `None` if the device chooses.
    pub is_crowded: Option<bool>,
    pub excludes: bool,
    pub is_uniform: bool,
    /// Number of moving objects and of worlds, and true with static objects.
    pub object_count: u32,
    pub world_count: u32,
    pub has_statics: bool,
    pub rounds: Rounds,
}

pub(crate) struct PairUniforms {
    scan: Option<Scan>,
    rounds: Vec<Block>,
    emit_rounds: Vec<Block>,
    static_rounds: Vec<Block>,
    static_params: Option<Block>,
}

impl ExclusionPlan {
    /// `None` if the step excludes no pairs. `rows`: pairs of the list. `words`: data of the pair filter.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u32,
        [rows, words]: [u64; 2],
    ) -> Result<Option<Self>, InputError> {
        let has_filter = descriptor.pair_filter.is_some();
        if rows == 0 && !has_filter {
            return Ok(None);
        }
        let words = if has_filter { words } else { 0 };
        let [rows, words] = [
            count("excluded pairs", rows)?,
            count("words of the pair filter", words)?,
        ];
        let block = Exclusions::new(objects, rows, words);
        Ok(Some(Self { block }))
    }

    pub fn reads_list(&self) -> bool {
        self.block.list_count > 0
    }

    pub fn reads_data(&self) -> bool {
        self.block.data_count > 0
    }

    pub fn sizes(&self) -> Sizes {
        vec![
            (buffer::EXCLUDED, self.block.list_bytes()),
            (buffer::EXCLUSION_ROWS, 4 * u64::from(self.block.slots())),
            (buffer::DATA, self.block.data_bytes()),
        ]
    }

    pub fn record(&self, passes: &mut Passes) {
        let block = &self.block;
        if self.reads_list() {
            let (first, words) = (4 * block.table_begin() as usize, 2 * u64::from(block.slots()));
            passes.clear_words(table::buffer::OBJECTS, first, words);
            passes.clear(buffer::EXCLUSION_ROWS);
        }
        passes.stage("pair_exclude", |stage| {
            stage.run(&PAIR_EXCLUDE, block.list_count.max(block.data_count), &[]);
        });
    }
}

impl PairPlan {
    pub fn new(basis: &Basis<'_>, table: &TablePlan, excludes: bool) -> Self {
        let own = &table.params;
        let is_uniform = own.is_uniform();
        let rounds = basis.rounds();
        let has_statics = own.has_statics();
        let rows = PairParams::of_rows(
            own.entry_capacity,
            split_bits(basis, own),
            if has_statics { own.object_count } else { 0 },
        );
        let chosen = chosen_variant(basis, own);
        let is_crowded = is_crowded(own, chosen);
        let fits = |kept| 4 * slot_words(&rows, kept) <= basis.binding_limit;
        // Crowded scenes cache bits, the uniform scheme nothing.
        let cached = match is_crowded {
            Some(true) => 0,
            _ if fits(MAX_CACHED_PARTNERS) => MAX_CACHED_PARTNERS,
            _ => FEW_CACHED_PARTNERS,
        };
        let default = initial_rows(own.object_count);
        let params = PairParams {
            capacity: basis.rows(Output::Pairs, default, size_of::<Pair>()),
            bit_words: if is_uniform {
                0
            } else {
                bit_words_of(basis, &rows, rounds)
            },
            cached,
            chunks: chunks_of(basis, own.entry_capacity, &rows, cached, rounds),
            variant: match chosen {
                None => 0,
                Some(false) => VARIANT_SPARSE,
                Some(true) => VARIANT_CROWDED,
            },
            ..rows
        };
        Self {
            params,
            is_crowded: if params.bit_words > 0 { Some(true) } else { is_crowded },
            excludes,
            is_uniform,
            object_count: own.object_count,
            world_count: own.world_count,
            has_statics,
            rounds,
        }
    }

    /// Plan of the page from pair `first` on.
    pub fn page(&self, basis: &Basis<'_>, first: &Page) -> Self {
        let default = initial_rows(self.object_count);
        Self {
            params: PairParams {
                first: first.pairs,
                capacity: basis.rows(Output::Pairs, default, size_of::<Pair>()),
                ..self.params
            },
            ..*self
        }
    }

    fn has_worlds(&self) -> bool {
        self.world_count > 1
    }

    fn counted_worlds(&self) -> u64 {
        u64::from(self.world_count) + 1
    }

    pub fn sizes(&self) -> Sizes {
        let params = &self.params;
        let [entry_rows, rows] = [params.entry_rows, params.rows].map(u64::from);
        let progress = match params.bit_words > 0 {
            true => rows,
            false => self.rounds.carry_words(rows, 1),
        };
        let pair_bytes = size_of::<Pair>() as u64;
        let mut sizes = vec![
            (buffer::OFFSETS, 4 * (self.tile_words() + self.sum_words() + progress)),
            (buffer::PAIRS, pair_bytes * u64::from(params.capacity)),
        ];
        if self.has_worlds() {
            sizes.push((buffer::WORLD_PAIRS, 4 * self.counted_worlds()));
        }
        if !self.is_uniform {
            sizes.extend([
                (buffer::WALK_GROUPS, 12),
                (buffer::PAIR_CACHE, 4 * cache_words(params)),
                (buffer::BITS, 4 * u64::from(params.bit_words) * entry_rows),
            ]);
        }
        sizes
    }

    pub fn output(&self, buffers: &Buffers) -> PairOutput {
        PairOutput {
            buffer: buffers.get(buffer::PAIRS).clone(),
            capacity: self.params.capacity,
            first: self.params.first,
            per_world: self.has_worlds().then(|| buffers.get(buffer::WORLD_PAIRS).clone()),
            world_offsets: None,
        }
    }

    pub fn readable(&self, buffers: &Buffers) -> Vec<Readable> {
        let rows = [self.params.first, self.params.capacity];
        let mut outputs = vec![Readable::counted::<Pair>(buffers, buffer::PAIRS, Output::Pairs, rows)];
        if self.has_worlds() {
            let worlds = self.counted_worlds();
            outputs.push(Readable::known::<u32>(
                buffers,
                buffer::WORLD_PAIRS,
                Output::Pairs,
                worlds,
            ));
        }
        outputs
    }

    pub fn order(&self, table: &Params) -> order::Ordered {
        order::Ordered {
            stage: "pair_order",
            rows: buffer::PAIRS,
            offsets: buffer::OFFSETS,
            params: OrderParams {
                needed_word: Output::Pairs.counted().word as u32,
                first: self.params.first,
                capacity: self.params.capacity,
                row_words: (size_of::<Pair>() / 4) as u32,
                walks: 0,
                world_count: if self.has_worlds() { self.world_count } else { 0 },
                static_count: table.static_count,
            },
            keys: [table.all_objects(); 2],
        }
    }

    pub fn write(&self, blocks: &mut Blocks, tables: TableBlocks) -> PairUniforms {
        let (params, rounds) = (&self.params, self.rounds);
        let mut all = |rounds: &mut dyn Iterator<Item = Round>| rounds.map(|round| blocks.push(&round)).collect();
        PairUniforms {
            rounds: all(&mut rounds.of(params.entry_rows, 1, params.cached)),
            emit_rounds: all(&mut self.emit_rounds()),
            static_rounds: all(&mut self.static_rounds().filter(|_| tables.statics.is_some())),
            scan: self.scanned().map(|count| {
                Scan::of(
                    blocks,
                    buffer::OFFSETS,
                    count,
                    &Output::Pairs.counted(),
                    params.capacity,
                )
            }),
            static_params: tables.statics,
        }
    }

    fn walk(&self, pass: &'static Pass) -> Variant {
        pass.switched(self.excludes)
    }

    /// Clears before the table's passes, so that none waits for it.
    pub fn clear_sums(&self, passes: &mut Passes) {
        if self.sum_words() > 0 {
            passes.clear_words(buffer::OFFSETS, self.tile_words() as usize, self.sum_words());
        }
    }

    pub fn record_counts(&self, passes: &mut Passes, blocks: &PairUniforms, sorted: KeyValueBuffers) {
        let counts = self.params.entry_rows + 1;
        passes.rounds("pair_count", &blocks.rounds, |stage, &round| {
            let binds = blocks.binds(sorted, round);
            let [sparse, crowded] = [&PAIR_COUNT_SPARSE, &PAIR_COUNT_CROWDED].map(|pass| self.walk(pass));
            match self.is_crowded {
                _ if self.is_uniform => stage.run(self.walk(&PAIR_COUNT_MULTI_CELL), counts, &binds),
                Some(true) => stage.run(crowded, counts, &binds),
                Some(false) => stage.run(sparse, counts, &binds),
                None => {
                    stage.run_indirect(sparse, table::buffer::SPARSE_GROUPS, &binds);
                    stage.run_indirect(crowded, table::buffer::CROWDED_GROUPS, &binds);
                }
            }
        });
        if self.has_statics {
            let pass = self.by_scheme(&PAIR_STATIC_COUNT_SINGLE_CELL, &PAIR_STATIC_COUNT_MULTI_CELL);
            passes.rounds("pair_static_count", &blocks.static_rounds, |stage, &round| {
                stage.run_groups(
                    self.walk(pass),
                    self.static_tiles(),
                    &blocks.static_binds(self.is_uniform, round),
                );
            });
        }
        if self.has_worlds() {
            passes.clear(buffer::WORLD_PAIRS);
            passes.stage("world_pairs", |stage| {
                stage.run(&WORLD_PAIRS, self.params.rows, &sorted.binds());
            });
            if self.has_statics {
                passes.rounds("world_pairs_static", &blocks.static_rounds, |stage, &round| {
                    let binds = blocks.static_binds(self.is_uniform, round);
                    stage.run(self.walk(&WORLD_PAIRS_STATIC), self.object_count, &binds);
                });
            }
        }
        if let Some(scan) = blocks.scan {
            passes.stage("pair_scan", |stage| scan.record(stage));
        }
    }

    pub fn record_emit(&self, passes: &mut Passes, blocks: &PairUniforms, sorted: KeyValueBuffers) {
        let rows = self.params.entry_rows;
        if self.is_uniform {
            passes.rounds("pair_emit", &blocks.emit_rounds, |stage, &round| {
                stage.run(self.walk(&PAIR_EMIT_MULTI_CELL), rows, &blocks.binds(sorted, round));
            });
        } else {
            let list = table::unused_keys(sorted);
            let walks = WALKS.is(list);
            passes.clear(buffer::WALK_GROUPS);
            passes.clear_words(list, 0, 1);
            let [_, values] = sorted.binds();
            passes.stage("pair_emit_cached", |stage| {
                stage.run(&PAIR_EMIT_CACHED, rows, &[walks, values]);
            });
            if self.params.bit_words > 0 {
                passes.stage("pair_replay", |stage| {
                    stage.run_indirect(&PAIR_REPLAY, buffer::WALK_GROUPS, &[walks]);
                });
            }
            passes.rounds("pair_emit", &blocks.emit_rounds, |stage, &round| {
                let binds = [&[walks][..], &blocks.binds(sorted, round)].concat();
                stage.run_indirect(self.walk(&PAIR_EMIT_SINGLE_CELL), buffer::WALK_GROUPS, &binds);
            });
        }
        if self.has_statics {
            let pass = self.by_scheme(&PAIR_STATIC_EMIT_SINGLE_CELL, &PAIR_STATIC_EMIT_MULTI_CELL);
            passes.rounds("pair_static_emit", &blocks.static_rounds, |stage, &round| {
                let binds = blocks.static_binds(self.is_uniform, round);
                stage.run(self.walk(pass), self.object_count, &binds);
            });
        }
    }

    fn by_scheme<T>(&self, single_cell: T, multi_cell: T) -> T {
        if self.is_uniform { multi_cell } else { single_cell }
    }

    /// Number of counts to scan, in the uniform scheme.
    pub fn scanned(&self) -> Option<u32> {
        self.is_uniform.then(|| self.params.rows.saturating_add(1))
    }

    /// Workgroups that count static pairs. The first may share a tile with the last workgroup of the entries.
    const fn static_tiles(&self) -> u32 {
        self.params.rows / WORKGROUP - self.params.entry_rows / WORKGROUP + 1
    }

    /// Words of the pair counts per row and, except in the uniform scheme, per tile (`shaders/pairs/pair_sums.wgsl`).
    fn tile_words(&self) -> u64 {
        match self.is_uniform {
            true => u64::from(self.params.rows) + 1,
            false => TILE_WORDS * (u64::from(self.params.rows / WORKGROUP) + 1),
        }
    }

    /// Words of the 64-bit sums over tiles, one sum per tile except the first, and of the number of claimed chunks.
    fn sum_words(&self) -> u64 {
        match self.is_uniform {
            true => 0,
            false => 2 * u64::from(self.params.rows / WORKGROUP) + 1,
        }
    }

    fn static_rounds(&self) -> impl Iterator<Item = Round> {
        let first_row = self.params.entry_rows;
        let rounds = self.rounds.of(self.object_count, 1, STATIC_CACHED_PARTNERS);
        rounds.map(move |round| Round { first_row, ..round })
    }

    /// Rounds of `pair_emit_*`, without the tests that `pair_replay` takes from cached bits.
    fn emit_rounds(&self) -> impl Iterator<Item = Round> {
        let replayed = u32::BITS * self.params.bit_words;
        let rounds = self.rounds.of(self.params.entry_rows, 1, self.params.cached);
        rounds.map(move |round| Round {
            first: round.first.saturating_add(replayed),
            // Never more tests than in the same round of counting.
            tests: round.tests.saturating_sub(replayed),
            ..round
        })
    }
}

/// The variant by earlier steps, so that the device need not choose; `None` if it must. Both find the same pairs.
/// Counted box tests differ between variants and must not depend on earlier steps, so the device then chooses.
fn chosen_variant(basis: &Basis<'_>, table: &Params) -> Option<bool> {
    let Basis { descriptor, demand, .. } = *basis;
    let starts_sparse = starts_sparse(descriptor, table.object_count).then_some(false);
    let chosen = demand.is_crowded.or(starts_sparse);
    chosen.filter(|_| table.has_clusters == 1 && !descriptor.count_candidates)
}

/// The variant that counts the pairs of `table` without cached bits; `None` if the device chooses.
pub(crate) fn is_crowded(table: &Params, chosen: Option<bool>) -> Option<bool> {
    match chosen {
        _ if !table.is_hierarchical() => Some(true),
        _ if table.has_clusters == 0 => Some(false),
        chosen => chosen,
    }
}

/// The order of pairs depends on this, so demand must not decide.
fn split_bits(basis: &Basis<'_>, table: &Params) -> u32 {
    let is_small = !table.is_uniform() && table.entry_capacity <= FEW_ENTRIES;
    if basis.class == DeviceClass::Hardware && !basis.descriptor.count_candidates && is_small {
        SPLIT_BITS
    } else {
        0
    }
}

/// Words per row for bits of box tests, which are 0 with several rounds per walk.
fn bit_words_of(basis: &Basis<'_>, rows: &PairParams, rounds: Rounds) -> u32 {
    if rounds.count > 1 {
        return 0;
    }
    // Words that one round of tests fills, so that no older bits remain.
    let tested = u64::from(rounds.tests(rows.entry_rows, 1) / u32::BITS);
    let most = tested.min(basis.binding_limit / 4 / u64::from(rows.entry_rows.max(1)));
    u64::from(basis.demand.bit_words.div_ceil(1 << rows.split_bits)).min(most) as u32
}

/// Number of chunks of partners past the slots: 0 with several rounds per walk, which would have to carry the ends of
/// chains.
fn chunks_of(basis: &Basis<'_>, entries: u32, rows: &PairParams, cached: u32, rounds: Rounds) -> u32 {
    if cached == 0 || rounds.count > 1 {
        return 0;
    }
    let entries = u64::from(entries);
    let wanted = u64::from(basis.demand.chunk_words) * entries / WORDS_PER_CHUNK;
    let most = (basis.binding_limit / 4).saturating_sub(slot_words(rows, cached));
    (MIN_CHUNKS + entries / ENTRIES_PER_CHUNK + wanted).min(most / WORDS_PER_CHUNK) as u32
}

fn slot_words(params: &PairParams, kept: u32) -> u64 {
    let [rows, static_rows] = [params.entry_rows, params.static_rows()].map(u64::from);
    u64::from(kept) * rows + u64::from(STATIC_CACHED_PARTNERS) * static_rows
}

fn cache_words(params: &PairParams) -> u64 {
    WORDS_PER_CHUNK * u64::from(params.chunks) + slot_words(params, params.cached)
}

impl PairUniforms {
    fn binds(&self, sorted: KeyValueBuffers, round: Block) -> Vec<Binds> {
        let mut binds = sorted.binds().to_vec();
        binds.push(ROUND.is_block(round));
        binds
    }

    fn static_binds(&self, is_uniform: bool, round: Block) -> Vec<Binds> {
        let mut binds = vec![OWN_RECORDS.is(table::buffer::RECORDS), ROUND.is_block(round)];
        binds.extend(self.static_params.map(|block| PARAMS.is_block(block)));
        binds.extend(statics::binds(is_uniform));
        binds
    }
}

/// Words per entry for bits of box tests, by the last counters. 0 if the partner cache holds the pairs of a mean entry.
/// Else one word (32 bits) per pair: entries have about four to eight box tests per pair, some twice that.
pub(crate) fn bit_words(pairs: u64, entries: u64) -> u32 {
    let mean = pairs / entries.max(1);
    if mean < u64::from(MAX_CACHED_PARTNERS) {
        0
    } else {
        mean.min(MAX_BIT_WORDS) as u32
    }
}

/// Words of chunks per entry, by the last counters. 0 if crowded scenes store bits instead. A chunk per
/// [`MAX_CACHED_PARTNERS`] pairs always suffices. Since most entries need none, only pairs past a quarter of all slots
/// count.
pub(crate) fn chunk_words(pairs: u64, entries: u64) -> u32 {
    if bit_words(pairs, entries) > 0 {
        return 0;
    }
    let entries = entries.max(1);
    let slots = u64::from(MAX_CACHED_PARTNERS);
    let chained = pairs.saturating_sub(slots / 4 * entries);
    (chained * WORDS_PER_CHUNK / slots).div_ceil(entries) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::counters::PerOutput;
    use crate::stages::shape::Demand;
    use crate::stages::table::TableInput;

    fn params(objects: u64, demand: Demand) -> PairParams {
        let descriptor = BroadPhaseDescriptor::default();
        let basis = Basis::of(&descriptor, &demand);
        let input = TableInput {
            objects,
            ..TableInput::default()
        };
        PairPlan::new(&basis, &TablePlan::new(&basis, &input).unwrap(), false).params
    }

    #[test]
    fn split_walks_do_not_depend_on_earlier_steps() {
        let crowded = Demand {
            rows: PerOutput::of(|_| 1 << 20),
            is_crowded: Some(true),
            ..Demand::default()
        };
        for (objects, split_bits) in [(1, 1), (1 << 14, 1), ((1 << 14) + 1, 0)] {
            for demand in [Demand::default(), crowded] {
                assert_eq!(params(objects, demand).split_bits, split_bits, "{objects} objects");
            }
        }
    }

    #[test]
    fn cached_partners_leave_room_for_all_objects_of_a_binding() {
        // A box takes 32 bytes.
        let cached = [1_000_000, (128 << 20) / 32].map(|objects| params(objects, Demand::default()).cached);
        assert_eq!(cached, [MAX_CACHED_PARTNERS, FEW_CACHED_PARTNERS]);
    }
}
