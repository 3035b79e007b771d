//! The table stage: from objects to sorted entries, the cell table and the records.

pub(crate) mod statics;

use super::input::{Copied, Copying};
use super::scan::Scan;
use super::shape::{COUNTERS, Room, Shape};
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use crate::api::counters;
use crate::api::descriptor::{Capacities, Growth};
use crate::api::error::InputError;
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::recorder::{Recorder, WORKGROUP, label, variables};
use crate::gpu::shader::{PassContext, passes};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{CLUSTER_TILE, LARGE_TABLE_TILE, OCTAVES, SourceLayout};
use crate::layout::digits::table_digits;
use crate::layout::grid::{self, Grid, Params, Record};
use crate::shared::bounds::LARGEST_COUNT;
use crate::shared::wgsl::number;

passes! {
    "table" {
    /// Objects as the other passes read them.
    PREPARE = "prepare" from "prepare" { source: "tight" }
        if |of| of.prepares()
            || of.pair_filter.is_some()
            || of.uses.statics
            || of.uses.device_counts
            || of.uses.excluded_pairs;

    /// Objects that lie anywhere in a caller's buffer, as the other passes read them.
    PREPARE_STRIDED = "prepare_strided" from "prepare" { source: "strided" } if |of| of.uses.strided;

    /// Sizes of boxes and how crowded the cells of each octave would be, of a sample.
    SAMPLE_STATISTICS = "sample_statistics" if |of| of.is_hierarchical();

    /// The finest cell, and objects and bounds of every level.
    LEVEL_STATISTICS = "level_statistics" if |_| true;

    /// The level of the uniform scheme.
    LAYOUT = "layout" if |of| of.is_uniform();

    /// The levels' parts of the cell table, and keys of the schemes of one entry per object.
    KEYS = "keys" if |of| !of.is_uniform();

    /// The cover table and its entries, those of larger boxes.
    LARGE_TABLE_EMIT = "large_table_emit" if has_large_table;

    /// Cells covered by each object of the uniform scheme.
    ENTRY_COUNT = "entry_count" if |of| of.is_uniform();

    /// Entries of the uniform scheme.
    ENTRY_EMIT = "entry_emit" if |of| of.is_uniform();

    /// The cell table, and boxes in the order of the walks.
    GATHER = "gather" if |_| true;

    /// Boxes around those that follow each other, in crowded scenes.
    CLUSTERS = "clusters" if has_clusters;
    }
}

fn has_large_table(of: &PassContext<'_>) -> bool {
    of.is_hierarchical() && of.pairs
}

fn has_clusters(of: &PassContext<'_>) -> bool {
    !of.is_uniform()
}

buffers! {
    /// The objects as all later passes read them: `Aabb`, static ones first.
    OBJECTS = "objects": Inputs;
    /// The objects as they are given, where the step changes them first.
    SOURCE_OBJECTS = "source_objects": Inputs;
    /// A word of this says how many objects take part. It is always the caller's.
    OBJECT_LIMITS = "object_limits": Inputs;
    /// The world of each object, `u32`.
    WORLDS = "worlds": Inputs;
    /// The worlds as they are given, where they are copied first. It is always the caller's.
    SOURCE_WORLDS = "source_worlds": Inputs;
    /// What a sample of the objects tells of sizes and cells.
    SAMPLE_STATISTICS = "sample_statistics": Fixed;
    /// The hash tables in which objects of the sample are counted by cells.
    DENSITY_BUCKETS = "density_buckets": Fixed;
    /// Objects and bounds of each level.
    LEVEL_STATISTICS = "level_statistics": Fixed;
    /// The grid before the cover table is chosen.
    LEVELS = "levels": Fixed;
    /// The levels: [`Grid`]. A caller's shader may bind it as a uniform block.
    GRID = "grid": Fixed as UNIFORM;
    /// Uniform scheme: entries of each object, then their places.
    ENTRY_OFFSETS = "entry_offsets": Objects;
    /// Entries of objects in the cover table, for each choice of its cells: of all, and of each tile.
    LARGE_TABLE_SUMS = "large_table_sums": Objects;
    /// The key of each entry, before or after a digit of the sort.
    KEYS_0 = "keys_0": Objects;
    /// Keys on the other side of the sort.
    KEYS_1 = "keys_1": Objects;
    /// The object of each entry, before or after a digit of the sort.
    VALUES_0 = "values_0": Objects;
    /// Values on the other side of the sort.
    VALUES_1 = "values_1": Objects;
    /// The first entry of each cell.
    STARTS = "starts": Objects;
    /// The objects as walks read them, and behind them the boxes of clusters: [`Record`].
    RECORDS = "records": Objects;
    /// How many workgroups count the pairs of a scene that is not crowded: none if it is.
    SPARSE_GROUPS = "sparse_groups": Fixed as INDIRECT;
    /// How many workgroups count the pairs of a crowded scene: none if it is not.
    CROWDED_GROUPS = "crowded_groups": Fixed as INDIRECT;
}

/// The sides of the sort.
const PING_PONG: PingPong = PingPong([
    KeyValueBuffers {
        keys: buffer::KEYS_0,
        values: buffer::VALUES_0,
    },
    KeyValueBuffers {
        keys: buffer::KEYS_1,
        values: buffer::VALUES_1,
    },
]);

/// Objects of a workgroup of the pass `level_statistics`.
const LEVEL_TILE: u32 = WORKGROUP * number("table/level_statistics", "OBJECTS_PER_INVOCATION");

/// Words of the statistics of the sample.
const SAMPLE_WORDS: u32 = number("table/octave", "DENSITY") + number("table/octave", "OCTAVE_WORDS") * OCTAVES;
/// Choices of the cells of the cover table.
const LARGE_TABLE_SHIFTS: u32 = number("common/large_table", "LARGE_TABLE_SHIFTS");
/// Words of the totals of all tiles, two for each choice.
const LARGE_TABLE_TOTALS: u32 = 2 * LARGE_TABLE_SHIFTS;

variables! {
    /// Where the objects that are given lie.
    GIVEN_LAYOUT = "source_layout";
    /// The grid as a pass leaves it.
    NEXT_GRID = "next_grid";
}

use variable::*;

/// The stage of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TablePlan {
    /// Whether objects are changed before anything else.
    pub prepares: bool,
    /// Bytes that lie behind the objects.
    pub behind_objects: u64,
    /// Where objects do not lie as passes read them: how they do. Then they are prepared.
    pub layout: Option<SourceLayout>,
    /// Where worlds do not lie one behind the other: how they do. Then they are copied.
    pub source_worlds: Option<SourceLayout>,
}

/// The uniform blocks of the stage.
pub(crate) struct TableBlocks {
    layout: Option<Block>,
    worlds: Option<Copied>,
    entries: Scan,
    digits: Vec<Digit>,
}

impl TablePlan {
    /// Chooses how many entries and cells the table has, where earlier steps needed so many entries.
    pub fn fit(params: &mut Params, capacities: &Capacities, wanted: u32, room: Room) -> Result<(), InputError> {
        let (objects, words) = (params.object_count, room.binding_limit / 4);
        if params.is_uniform() {
            let first = grid::first_entries(objects, capacities.entries);
            params.entry_capacity = match (capacities.entries, room.growth) {
                (Some(fixed), Growth::Fixed) => count("cell entries", fixed.into())?,
                // One word more than entries has to fit: the offsets of their pairs.
                _ => first.max(wanted.into()).min(words - 1).min(LARGEST_COUNT - 1) as u32,
            };
        }
        // More words than cells have to fit: the starts of the large list's slots and of what takes no part, and the
        // cover table's end.
        let past_cells = u64::from(params.large_mask) + 3;
        let cells = grid::table_capacity(params.scheme, objects, capacities.entries);
        params.table_capacity = cells.min(words - past_cells).min(LARGEST_COUNT - past_cells) as u32;
        Ok(())
    }

    /// The buffer that objects are given in.
    pub const fn source(&self) -> BufferId {
        if self.prepares {
            buffer::SOURCE_OBJECTS
        } else {
            buffer::OBJECTS
        }
    }

    /// The buffer that worlds are given in.
    pub const fn worlds(&self) -> BufferId {
        if self.source_worlds.is_some() {
            buffer::SOURCE_WORLDS
        } else {
            buffer::WORLDS
        }
    }

    /// What the stage needs.
    pub fn sizes(&self, params: &Params) -> Sizes {
        let objects = u64::from(params.object_count);
        let entries = u64::from(params.table_entries());
        let records = u64::from(grid::record_capacity(params));
        let slots = u64::from(params.table_capacity) + u64::from(params.large_mask) + 3;
        let mut sizes = vec![
            (
                buffer::OBJECTS,
                size_of::<Aabb>() as u64 * u64::from(params.all_objects()) + self.behind_objects,
            ),
            (buffer::RECORDS, size_of::<Record>() as u64 * records),
            (
                buffer::LARGE_TABLE_SUMS,
                4 * u64::from(LARGE_TABLE_TOTALS + LARGE_TABLE_SHIFTS * large_table_tiles(params)),
            ),
            (buffer::LEVEL_STATISTICS, 32 * u64::from(grid::MAX_LEVELS)),
            (buffer::LEVELS, size_of::<Grid>() as u64),
            (buffer::GRID, size_of::<Grid>() as u64),
            (buffer::SPARSE_GROUPS, 12),
            (buffer::CROWDED_GROUPS, 12),
            // And the word that a list of walks begins with, which lies where keys were.
            (buffer::KEYS_0, 4 * (entries + 1)),
            (buffer::KEYS_1, 4 * (entries + 1)),
            (buffer::VALUES_0, 4 * entries),
            (buffer::VALUES_1, 4 * entries),
            (buffer::STARTS, 4 * slots),
            // `level_statistics` binds it, and reads it in the hierarchical scheme.
            (buffer::SAMPLE_STATISTICS, 4 * u64::from(SAMPLE_WORDS)),
            (buffer::WORLDS, if params.has_worlds() { 4 * objects } else { 0 }),
        ];
        if self.prepares && self.layout.is_none() {
            sizes.push((buffer::SOURCE_OBJECTS, size_of::<Aabb>() as u64 * objects));
        }
        if params.is_uniform() {
            sizes.push((buffer::ENTRY_OFFSETS, 4 * u64::from(entry_counts(params))));
        }
        if params.is_hierarchical() {
            sizes.push((
                buffer::DENSITY_BUCKETS,
                4 * u64::from(OCTAVES * params.octave_buckets()),
            ));
        }
        sizes
    }

    /// Writes the uniform blocks.
    pub fn write(&self, blocks: &mut Blocks, shape: &Shape) -> TableBlocks {
        let params = &shape.params;
        TableBlocks {
            layout: self.layout.map(|layout| blocks.push(&layout)),
            worlds: self.source_worlds.map(|layout| {
                let copying = Copying::of_words(layout, params.object_count);
                Copied::new(blocks, copying, [COUNTERS, buffer::SOURCE_WORLDS, buffer::WORLDS])
            }),
            entries: Scan::of(
                blocks,
                buffer::ENTRY_OFFSETS,
                entry_counts(params),
                &counters::ENTRIES,
                params.entry_capacity,
            ),
            digits: Digit::all(blocks, table_digits(params, shape.sort)),
        }
    }

    /// Records everything from the objects to the records. Returns the side of the sorted entries.
    pub fn record(&self, recorder: &mut Recorder<'_>, shape: &Shape, blocks: &TableBlocks) -> KeyValueBuffers {
        let params = &shape.params;
        let objects = params.object_count;
        if params.is_hierarchical() {
            recorder.clear(buffer::SAMPLE_STATISTICS);
            recorder.clear(buffer::DENSITY_BUCKETS);
        }
        recorder.clear(buffer::LEVEL_STATISTICS);
        let has_large_table = params.large_table_capacity > 0;
        if has_large_table {
            recorder.clear_words(buffer::LARGE_TABLE_SUMS, 0, LARGE_TABLE_TOTALS.into());
        }
        if let Some(worlds) = &blocks.worlds {
            recorder.stage(label!("worlds"), |stage| worlds.record(stage));
        }
        if self.prepares {
            // Any buffer will do where all objects take part.
            let all = (params.object_limit == 0).then(|| buffer::OBJECT_LIMITS.is(COUNTERS));
            let layout = blocks.layout.map(|block| GIVEN_LAYOUT.is_block(block));
            let pass = if layout.is_some() { &PREPARE_STRIDED } else { &PREPARE };
            let binds: Vec<_> = all.into_iter().chain(layout).collect();
            recorder.stage(label!("prepare"), |stage| stage.run(pass, objects, &binds));
        }
        if params.is_hierarchical() {
            recorder.stage(label!("statistics"), |stage| {
                stage.run(&SAMPLE_STATISTICS, params.sample_count, &[]);
            });
        }
        recorder.stage(label!("levels"), |stage| {
            stage.run_groups(&LEVEL_STATISTICS, objects.div_ceil(LEVEL_TILE).max(1), &[]);
            if params.is_uniform() {
                stage.run_groups(&LAYOUT, 1, &[NEXT_GRID.is(buffer::GRID)]);
            }
        });
        let unsorted = PING_PONG.unsorted();
        let [keys, values] = unsorted.binds();
        let tiles = large_table_tiles(params);
        recorder.stage(label!("entries"), |stage| {
            if params.is_uniform() {
                stage.run(&ENTRY_COUNT, objects, &[]);
                blocks.entries.record(stage);
                stage.run(&ENTRY_EMIT, objects, &[keys, values]);
            } else {
                let grid = if has_large_table { buffer::LEVELS } else { buffer::GRID };
                stage.run_groups(&KEYS, tiles.max(1), &[NEXT_GRID.is(grid), keys]);
            }
        });
        if has_large_table {
            recorder.stage(label!("cover"), |stage| {
                let grids = [buffer::GRID.is(buffer::LEVELS), NEXT_GRID.is(buffer::GRID)];
                stage.run_groups(&LARGE_TABLE_EMIT, tiles, &[grids[0], grids[1], keys, values]);
            });
        }
        let sort = Sort {
            strategy: shape.sort,
            ping_pong: PING_PONG,
            grid: buffer::GRID,
        };
        let mut sorted = unsorted;
        sort::clear_sums(recorder, &blocks.digits);
        recorder.stage(label!("sort"), |stage| {
            sorted = sort.record(stage, &blocks.digits, unsorted)
        });
        recorder.stage(label!("gather"), |stage| {
            stage.run(&GATHER, objects.max(params.entry_capacity + 1), &sorted.binds());
        });
        if params.has_clusters != 0 {
            // One workgroup says which pass counts pairs, be there records or not.
            let tiles = (objects + params.large_table_capacity)
                .div_ceil(CLUSTER_TILE as u32)
                .max(1);
            recorder.stage(label!("clusters"), |stage| {
                stage.run_groups(&CLUSTERS, tiles, &sorted.binds());
            });
        }
        sorted
    }
}

/// The keys of the side that is not that of the sorted entries: of no use any more.
pub(crate) fn unused_keys(sorted: KeyValueBuffers) -> BufferId {
    PING_PONG.other(sorted).keys
}

/// Words that count the entries of objects: one per object for each group of entries.
pub(crate) const fn entry_counts(params: &Params) -> u32 {
    grid::ENTRY_GROUPS * params.object_count
}

/// Workgroups of the passes that write keys, and entries of the cover table.
const fn large_table_tiles(params: &Params) -> u32 {
    params.object_count.div_ceil(LARGE_TABLE_TILE as u32)
}
