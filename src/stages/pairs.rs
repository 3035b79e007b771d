//! The pairs stage: counts pairs per entry, turns counts into offsets, writes pairs.
//!
//! 1. `pair_exclude` enters the caller's excluded pairs into a hash table.
//! 2. `pair_count_*` counts during a walk through the cell table. With one entry per object, it also caches the first
//!    partners of each entry, or in crowded scenes one bit per box test. `pair_static_count_*` counts and caches static
//!    partners.
//! 3. `world_pairs` counts pairs per world.
//! 4. In the uniform scheme, the scan stage makes offsets. In the others, counting already left prefix sums per tile.
//! 5. `pair_emit_cached` writes cached partners and lists entries with more. `pair_replay` writes partners from cached
//!    bits for listed entries. `pair_emit_*` walks again for the rest, and `pair_static_emit_*` writes static pairs.

use super::order;
use super::scan::Scan;
use super::shape::variable::ROUND;
use super::shape::{CapacityOf, Room, Shape, initial_rows};
use super::sort::KeyValueBuffers;
use super::table::{self, statics};
use crate::api::counters;
use crate::api::descriptor::{BroadPhaseDescriptor, Capacities, Growth, SortStrategy};
use crate::api::output::PairOutput;
use crate::api::types::Pair;
use crate::gpu::buffers::{BufferId, Buffers, Sizes, buffers};
use crate::gpu::reading::Readable;
use crate::gpu::recorder::{Binds, PARAMS, Recorder, WORKGROUP, variables};
use crate::gpu::shader::{Pass, PassContext, Variant, passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{CHUNK_WORDS, Exclusions, OrderParams, Round, STATIC_CACHED_PARTNERS};
use crate::layout::grid::{Params, VARIANT_CROWDED, VARIANT_SPARSE};
use crate::shared::wgsl::number;

passes! {
    "pairs" {
    PAIR_EXCLUDE = "pair_exclude" if |of| of.uses.excluded_pairs;

    PAIR_COUNT_SPARSE = "pair_count_sparse" from "pair_count" { variant: "sparse" }
        if |of| finds_pairs(of) && of.is_hierarchical();

    PAIR_COUNT_CROWDED = "pair_count_crowded" from "pair_count" { variant: "crowded" }
        if |of| finds_pairs(of)
            && !of.is_uniform()
            && (of.is_preparing || !of.is_hierarchical() || of.count_candidates || !starts_sparse(of, 0));

    PAIR_COUNT_MULTI_CELL = "pair_count_multi_cell" from "pair_count" { variant: "multi_cell" }
        if |of| finds_pairs(of) && of.is_uniform();

    WORLD_PAIRS = "world_pairs" if |of| of.pairs && of.has_worlds();

    PAIR_EMIT_CACHED = "pair_emit_cached" if |of| of.pairs && !of.is_uniform();

    PAIR_REPLAY = "pair_replay" if |of| of.pairs && !of.is_uniform() && of.is_preparing;

    PAIR_EMIT_SINGLE_CELL = "pair_emit_single_cell" from "pair_emit" { variant: "single_cell" }
        if |of| finds_pairs(of) && !of.is_uniform();

    PAIR_EMIT_MULTI_CELL = "pair_emit_multi_cell" from "pair_emit" { variant: "multi_cell" }
        if |of| finds_pairs(of) && of.is_uniform();

    PAIR_STATIC_COUNT_SINGLE_CELL = "pair_static_count_single_cell" from "pair_static_count" { variant: "single_cell" }
        if |of| finds_pairs(of) && !of.is_uniform() && of.uses.statics;

    PAIR_STATIC_COUNT_MULTI_CELL = "pair_static_count_multi_cell" from "pair_static_count" { variant: "multi_cell" }
        if |of| finds_pairs(of) && of.is_uniform() && of.uses.statics;

    PAIR_STATIC_EMIT_SINGLE_CELL = "pair_static_emit_single_cell" from "pair_static_emit" { variant: "single_cell" }
        if |of| finds_pairs(of) && !of.is_uniform() && of.uses.statics;

    PAIR_STATIC_EMIT_MULTI_CELL = "pair_static_emit_multi_cell" from "pair_static_emit" { variant: "multi_cell" }
        if |of| finds_pairs(of) && of.is_uniform() && of.uses.statics;
    }
}

/// Returns true if steps find pairs with this variant of a pass. With a pair filter, only the excluding variant is
/// used.
fn finds_pairs(of: &PassContext<'_>) -> bool {
    let has_filter = of.pair_filter.is_some();
    of.pairs
        && match of.excludes {
            true => has_filter || of.uses.excluded_pairs,
            false => !has_filter,
        }
}

/// Number of objects from which both variants are dispatched, since the sparse one takes longer in crowds.
const MANY_OBJECTS: u32 = 1 << 16;

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
    EXCLUSIONS = "exclusions": Fixed as UNIFORM;
}

variables! {
    /// Number of rows of pair counts to walk again, then these rows.
    WALKS = "pair_walks";
    OWN_RECORDS = "own_records";
}

use variable::*;

pub(crate) use crate::layout::blocks::MAX_CACHED_PARTNERS;
/// Partners cached per entry if [`MAX_CACHED_PARTNERS`] exceed the binding limit or memory is short.
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairPlan {
    pub are_requested: bool,
    /// True if the buffer holds pairs of an earlier step, so that it must not change.
    pub keeps_earlier_pairs: bool,
    pub exclusions: Option<Exclusions>,
}

pub(crate) struct PairUniforms {
    scan: Option<Scan>,
    rounds: Vec<Block>,
    emit_rounds: Vec<Block>,
    static_rounds: Vec<Block>,
    static_params: Block,
}

impl PairPlan {
    pub fn fit_rows(&self, params: &mut Params, capacities: &Capacities, wanted: u32, room: Room) {
        let default = initial_rows(params.object_count);
        params.pair_capacity = room.rows(capacities.pairs, wanted, default, size_of::<Pair>());
    }

    pub fn fit_partners(&self, params: &mut Params, binding_limit: u64) {
        let fits = |kept| 4 * slot_words(params, kept) <= binding_limit;
        // Crowded scenes cache bits, the uniform scheme nothing.
        params.cached_partners = match (params.counts_crowded(), fits(MAX_CACHED_PARTNERS)) {
            (Some(true), _) => 0,
            (_, true) => MAX_CACHED_PARTNERS,
            (_, false) => FEW_CACHED_PARTNERS,
        };
    }

    /// Sets the variant of `pair_count` from an earlier step, so that the device need not choose. Both variants find
    /// the same pairs.
    pub fn fit_variant(&self, params: &mut Params, crowded: Option<bool>) {
        params.pair_variant = match crowded.filter(|_| self.are_requested && params.has_clusters == 1) {
            None => 0,
            Some(false) => VARIANT_SPARSE,
            Some(true) => VARIANT_CROWDED,
        };
    }

    pub fn fit_split(&self, params: &mut Params) {
        if self.are_requested && !params.is_uniform() && params.entry_capacity <= FEW_ENTRIES {
            params.split(SPLIT_BITS);
        }
    }

    /// Sets the words per row for bits of box tests, which are 0 with several rounds per walk.
    pub fn fit_bits(&self, shape: &mut Shape, wanted: u32, binding_limit: u64) {
        let params = shape.params;
        let rows = u64::from(params.entry_rows.max(1));
        // Words that one round of tests fills, so that no older bits remain.
        let tested = u64::from(shape.round_tests(params.entry_rows, 1) / u32::BITS);
        let most = tested.min(binding_limit / 4 / rows);
        shape.params.pair_bit_words = if self.are_requested && !params.is_uniform() && shape.rounds == 1 {
            u64::from(wanted.div_ceil(1 << params.split_bits)).min(most) as u32
        } else {
            0
        };
    }

    /// Sets the number of chunks of partners past the slots: 0 with several rounds per walk, which would have to carry
    /// the ends of chains. `wanted` is in words per entry.
    pub fn fit_chunks(&self, shape: &mut Shape, wanted: u32, binding_limit: u64) {
        let params = &mut shape.params;
        params.partner_chunks = 0;
        if self.are_requested && params.cached_partners > 0 && shape.rounds == 1 {
            let entries = u64::from(params.entry_capacity);
            let chunks = MIN_CHUNKS + entries / ENTRIES_PER_CHUNK + u64::from(wanted) * entries / WORDS_PER_CHUNK;
            let most = (binding_limit / 4).saturating_sub(slot_words(params, params.cached_partners));
            params.partner_chunks = chunks.min(most / WORDS_PER_CHUNK) as u32;
        }
    }

    /// Optimizations to drop if memory is short, in this order.
    pub const DROPPABLE_SPEEDUPS: [fn(&mut Params); 3] = [
        |params| params.partner_chunks = 0,
        |params| params.pair_bit_words = 0,
        |params| params.cached_partners = params.cached_partners.min(FEW_CACHED_PARTNERS),
    ];

    pub fn shrinks(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Option<CapacityOf> {
        let is_fixed = descriptor.outputs.growth == Growth::Fixed && descriptor.outputs.capacities.pairs.is_some();
        let rows: CapacityOf = |params| &mut params.pair_capacity;
        (self.are_requested && !self.keeps_earlier_pairs && !is_fixed).then_some(rows)
    }

    pub fn sizes(&self, shape: &Shape) -> Sizes {
        let params = &shape.params;
        let mut sizes = Sizes::new();
        if let Some(exclusions) = self.exclusions {
            sizes.extend([
                (buffer::EXCLUDED, exclusions.list_bytes()),
                (buffer::EXCLUSION_ROWS, 4 * u64::from(exclusions.slots())),
                (buffer::DATA, exclusions.data_bytes()),
                (buffer::EXCLUSIONS, size_of::<Exclusions>() as u64),
            ]);
        }
        if !self.are_requested {
            return sizes;
        }
        let [entry_rows, rows] = [params.entry_rows, params.pair_rows].map(u64::from);
        let progress = if params.pair_bit_words > 0 {
            rows
        } else {
            shape.carry_words(rows, 1)
        };
        sizes.extend([
            (buffer::OFFSETS, 4 * (tile_words(params) + sum_words(params) + progress)),
            (
                buffer::PAIRS,
                size_of::<Pair>() as u64 * u64::from(params.pair_capacity),
            ),
        ]);
        if params.has_worlds() {
            sizes.push((buffer::WORLD_PAIRS, 4 * u64::from(params.world_count)));
        }
        if !params.is_uniform() {
            sizes.extend([
                (buffer::WALK_GROUPS, 12),
                (buffer::PAIR_CACHE, 4 * cache_words(params)),
                (buffer::BITS, 4 * u64::from(params.pair_bit_words) * entry_rows),
            ]);
        }
        sizes
    }

    pub fn kept(&self) -> &'static [BufferId] {
        if self.keeps_earlier_pairs {
            &[buffer::PAIRS, buffer::WORLD_PAIRS]
        } else {
            &[]
        }
    }

    pub fn output(&self, params: &Params, buffers: &Buffers) -> Option<PairOutput> {
        self.are_requested.then(|| PairOutput {
            buffer: buffers.get(buffer::PAIRS).clone(),
            capacity: params.pair_capacity,
            first: params.first_pair,
            per_world: params.has_worlds().then(|| buffers.get(buffer::WORLD_PAIRS).clone()),
        })
    }

    pub fn readable(&self, params: &Params, last: u32) -> Vec<Readable> {
        let rows = [last, params.first_pair, params.pair_capacity];
        let mut outputs = vec![Readable::counted::<Pair>(
            buffer::PAIRS,
            |found| found.pairs_needed,
            rows,
            counters::PAIRS.status,
        )];
        if params.has_worlds() {
            outputs.push(Readable::known::<u32>(buffer::WORLD_PAIRS, params.world_count.into()));
        }
        outputs
    }

    pub fn order(&self, params: &Params) -> Option<order::Ordered> {
        self.are_requested.then(|| order::Ordered {
            stage: "pair_order",
            rows: buffer::PAIRS,
            offsets: buffer::OFFSETS,
            params: OrderParams::of_pairs(params),
            keys: [params.all_objects(); 2],
        })
    }

    pub fn write(&self, blocks: &mut Blocks, shape: &Shape, static_params: Block) -> PairUniforms {
        let params = &shape.params;
        let mut all = |rounds: &mut dyn Iterator<Item = Round>| rounds.map(|round| blocks.push(&round)).collect();
        PairUniforms {
            rounds: all(&mut shape.rounds_of(params.entry_rows, 1, params.cached_partners)),
            emit_rounds: all(&mut emit_rounds(shape)),
            static_rounds: all(&mut shape.rounds_of(params.object_count, 1, STATIC_CACHED_PARTNERS)),
            scan: scanned(params)
                .map(|count| Scan::of(blocks, buffer::OFFSETS, count, &counters::PAIRS, params.pair_capacity)),
            static_params,
        }
    }

    fn walk<'p>(&self, pass: &'p Pass) -> Variant<'p> {
        pass.excluding(self.exclusions.is_some())
    }

    fn record_exclusions(&self, recorder: &mut Recorder<'_>) {
        let Some(exclusions) = self.exclusions else {
            return;
        };
        if exclusions.list_count > 0 {
            let (first, words) = (4 * exclusions.table_begin() as usize, 2 * u64::from(exclusions.slots()));
            recorder.clear_words(table::buffer::OBJECTS, first, words);
            recorder.clear(buffer::EXCLUSION_ROWS);
        }
        recorder.stage("pair_exclude", |stage| {
            stage.run(&PAIR_EXCLUDE, exclusions.list_count.max(exclusions.data_count), &[]);
        });
    }

    /// Clears before the table's passes, so that none waits for it.
    pub fn clear_sums(&self, recorder: &mut Recorder<'_>, params: &Params) {
        if self.are_requested && sum_words(params) > 0 {
            recorder.clear_words(buffer::OFFSETS, tile_words(params) as usize, sum_words(params));
        }
    }

    pub fn record_counts(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &PairUniforms,
        sorted: KeyValueBuffers,
    ) {
        self.record_exclusions(recorder);
        if !self.are_requested {
            return;
        }
        let params = &shape.params;
        let counts = params.entry_rows + 1;
        recorder.rounds("pair_count", &blocks.rounds, |stage, &round| {
            let binds = blocks.binds(sorted, round);
            let [sparse, crowded] = [&PAIR_COUNT_SPARSE, &PAIR_COUNT_CROWDED].map(|pass| self.walk(pass));
            if params.is_uniform() {
                stage.run(self.walk(&PAIR_COUNT_MULTI_CELL), counts, &binds);
            } else {
                match params.counts_crowded() {
                    Some(true) => stage.run(crowded, counts, &binds),
                    Some(false) => stage.run(sparse, counts, &binds),
                    None => {
                        stage.run_indirect(sparse, table::buffer::SPARSE_GROUPS, &binds);
                        stage.run_indirect(crowded, table::buffer::CROWDED_GROUPS, &binds);
                    }
                }
            }
        });
        if params.has_statics() {
            let pass = params.by_scheme(&PAIR_STATIC_COUNT_SINGLE_CELL, &PAIR_STATIC_COUNT_MULTI_CELL);
            recorder.rounds("pair_static_count", &blocks.static_rounds, |stage, &round| {
                stage.run_groups(
                    self.walk(pass),
                    static_tiles(params),
                    &blocks.static_binds(params, round),
                );
            });
        }
        if params.has_worlds() {
            recorder.clear(buffer::WORLD_PAIRS);
            recorder.stage("world_pairs", |stage| {
                stage.run(&WORLD_PAIRS, params.pair_rows, &sorted.binds());
            });
        }
        if let Some(scan) = blocks.scan {
            recorder.stage("pair_scan", |stage| scan.record(stage));
        }
    }

    pub fn record_emit(
        &self,
        recorder: &mut Recorder<'_>,
        shape: &Shape,
        blocks: &PairUniforms,
        sorted: KeyValueBuffers,
    ) {
        let params = &shape.params;
        let rows = params.entry_rows;
        if params.is_uniform() {
            recorder.rounds("pair_emit", &blocks.emit_rounds, |stage, &round| {
                stage.run(self.walk(&PAIR_EMIT_MULTI_CELL), rows, &blocks.binds(sorted, round));
            });
        } else {
            let list = table::unused_keys(sorted);
            let walks = WALKS.is(list);
            recorder.clear(buffer::WALK_GROUPS);
            recorder.clear_words(list, 0, 1);
            let [_, values] = sorted.binds();
            recorder.stage("pair_emit_cached", |stage| {
                stage.run(&PAIR_EMIT_CACHED, rows, &[walks, values]);
            });
            if params.pair_bit_words > 0 {
                recorder.stage("pair_replay", |stage| {
                    stage.run_indirect(&PAIR_REPLAY, buffer::WALK_GROUPS, &[walks]);
                });
            }
            recorder.rounds("pair_emit", &blocks.emit_rounds, |stage, &round| {
                let binds = [&[walks][..], &blocks.binds(sorted, round)].concat();
                stage.run_indirect(self.walk(&PAIR_EMIT_SINGLE_CELL), buffer::WALK_GROUPS, &binds);
            });
        }
        if params.has_statics() {
            let pass = params.by_scheme(&PAIR_STATIC_EMIT_SINGLE_CELL, &PAIR_STATIC_EMIT_MULTI_CELL);
            recorder.rounds("pair_static_emit", &blocks.static_rounds, |stage, &round| {
                stage.run(
                    self.walk(pass),
                    params.object_count,
                    &blocks.static_binds(params, round),
                );
            });
        }
    }
}

/// Number of counts to scan, in the uniform scheme.
pub(crate) fn scanned(params: &Params) -> Option<u32> {
    params.is_uniform().then(|| params.pair_rows.saturating_add(1))
}

/// Workgroups that count static pairs. The first may share a tile with the last workgroup of the entries.
const fn static_tiles(params: &Params) -> u32 {
    params.pair_rows / WORKGROUP - params.entry_rows / WORKGROUP + 1
}

/// Words of the pair counts per row and, except in the uniform scheme, per tile (`shaders/pairs/pair_sums.wgsl`).
fn tile_words(params: &Params) -> u64 {
    if params.is_uniform() {
        u64::from(params.pair_rows) + 1
    } else {
        TILE_WORDS * (u64::from(params.pair_rows / WORKGROUP) + 1)
    }
}

/// Words of the 64-bit sums over tiles, one sum per tile except the first, and of the number of claimed chunks.
fn sum_words(params: &Params) -> u64 {
    if params.is_uniform() {
        0
    } else {
        2 * u64::from(params.pair_rows / WORKGROUP) + 1
    }
}

fn slot_words(params: &Params, kept: u32) -> u64 {
    let [rows, static_rows] = [params.entry_rows, params.static_rows()].map(u64::from);
    u64::from(kept) * rows + u64::from(STATIC_CACHED_PARTNERS) * static_rows
}

fn cache_words(params: &Params) -> u64 {
    WORDS_PER_CHUNK * u64::from(params.partner_chunks) + slot_words(params, params.cached_partners)
}

/// Rounds of `pair_emit_*`, without the tests that `pair_replay` takes from cached bits.
fn emit_rounds(shape: &Shape) -> impl Iterator<Item = Round> {
    let params = &shape.params;
    let replayed = u32::BITS * params.pair_bit_words;
    shape
        .rounds_of(params.entry_rows, 1, params.cached_partners)
        .map(move |round| Round {
            first: round.first.saturating_add(replayed),
            // Never more tests than in the same round of counting.
            tests: round.tests.saturating_sub(replayed),
            ..round
        })
}

impl PairUniforms {
    fn binds(&self, sorted: KeyValueBuffers, round: Block) -> Vec<Binds> {
        let mut binds = sorted.binds().to_vec();
        binds.push(ROUND.is_block(round));
        binds
    }

    fn static_binds(&self, params: &Params, round: Block) -> Vec<Binds> {
        let mut binds = vec![
            PARAMS.is_block(self.static_params),
            OWN_RECORDS.is(table::buffer::RECORDS),
            ROUND.is_block(round),
        ];
        binds.extend(statics::binds(params));
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
