//! The table stage: makes sorted entries, a cell table and records from objects.
//!
//! `ARCHITECTURE.md` lists the passes. In the uniform scheme, `layout` sets up the level, and `entry_count`, a scan and
//! `entry_emit` write one entry per covered cell. In the others, `clusters` also chooses the variant of `pair_count`.

pub(crate) mod statics;

use super::input::{Copied, Copying};
use super::scan::{self, Scan};
use super::shape::{Basis, COUNTERS};
use super::sort::{self, Digit, KeyValueBuffers, PingPong, Sort};
use crate::api::counters::ENTRIES;
use crate::api::descriptor::{Growth, SortStrategy};
use crate::api::error::InputError;
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::gpu::buffers::{BufferId, Sizes, buffers};
use crate::gpu::passes::{Passes, WORKGROUP, variables};
use crate::gpu::shader::passes;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{OCTAVES, SortParams, SourceLayout};
use crate::layout::digits::{before_first, count_words, table_digits};
use crate::layout::grid::{self, CLUSTER, Grid, Params, Record};
use crate::shared::bounds::LARGEST_COUNT;
use crate::shared::wgsl::number;

passes! {
    "table" {
    PREPARE = "prepare" from "prepare" { source: "tight" };

    PREPARE_STRIDED = "prepare_strided" from "prepare" { source: "strided" };

    SAMPLE_STATISTICS = "sample_statistics";

    LEVEL_STATISTICS = "level_statistics";

    LAYOUT = "layout";

    KEYS = "keys";

    LARGE_TABLE_EMIT = "large_table_emit";

    ENTRY_COUNT = "entry_count";

    ENTRY_EMIT = "entry_emit";

    GATHER = "gather";

    CLUSTERS = "clusters";
    }
}

buffers! {
    /// Packed objects, `Aabb`, static ones first.
    OBJECTS = "objects": Inputs;
    /// Objects before `prepare` changes them.
    SOURCE_OBJECTS = "source_objects": Inputs;
    OBJECT_LIMITS = "object_limits": Inputs;
    WORLDS = "worlds": Inputs;
    /// The caller's worlds, if their layout is not packed.
    SOURCE_WORLDS = "source_worlds": Inputs;
    SAMPLE_STATISTICS = "sample_statistics": Fixed;
    /// Hash tables that count the sampled objects of each cell.
    DENSITY_BUCKETS = "density_buckets": Fixed;
    LEVEL_STATISTICS = "level_statistics": Fixed;
    /// The grid before the large-object table is chosen.
    LEVELS = "levels": Fixed;
    /// The levels: [`Grid`]. The caller's shaders may bind it as a uniform block.
    GRID = "grid": Fixed as UNIFORM;
    /// Entries per object in the uniform scheme, which a scan turns into offsets.
    ENTRY_OFFSETS = "entry_offsets": Objects;
    /// Number of large-object table entries for each possible cell size: over all tiles, then per tile.
    LARGE_TABLE_SUMS = "large_table_sums": Objects;
    KEYS_0 = "keys_0": Objects;
    KEYS_1 = "keys_1": Objects;
    VALUES_0 = "values_0": Objects;
    VALUES_1 = "values_1": Objects;
    STARTS = "starts": Objects;
    /// [`Record`]s of objects and large-object entries, then the bounds of clusters.
    RECORDS = "records": Objects;
    /// Workgroup counts of `pair_count_sparse`; 0 in crowded scenes.
    SPARSE_GROUPS = "sparse_groups": Fixed as INDIRECT;
    /// Workgroup counts of `pair_count_crowded`; 0 in sparse scenes.
    CROWDED_GROUPS = "crowded_groups": Fixed as INDIRECT;
}

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

/// Objects per workgroup of `level_statistics` on CPUs, where each workgroup is costly.
const LEVEL_TILE: u32 = 8 * WORKGROUP;
/// Most workgroups of `level_statistics` on GPUs.
const LEVEL_GROUPS: u32 = 512;
/// Blocks of 256 entries per workgroup of `clusters`, outside of crowded scenes.
const SPARSE_BLOCKS: u32 = 8;
/// Blocks per workgroup of `clusters` on CPUs, outside of crowded scenes.
const SERIAL_BLOCKS: u32 = 64;

const LANES_PER_SAMPLE: u32 = number("table/sample_statistics", "LANES_PER_SAMPLE");
const SAMPLE_WORDS: u32 = number("table/octave", "ASPECT") + 1;
const LARGE_TABLE_SHIFTS: u32 = number("common/large_table", "LARGE_TABLE_SHIFTS");
const LARGE_TABLE_TOTALS: u32 = 2 * LARGE_TABLE_SHIFTS;

variables! {
    PARAMS = "params";
    PAIR_PARAMS = "pair_params";
    SOURCE_LAYOUT = "source_layout";
    NEXT_GRID = "next_grid";
}

use variable::*;
pub(crate) use variable::{PAIR_PARAMS, PARAMS};

/// Objects of a table, as a step passes them.
#[derive(Clone, Copy, Default)]
pub(crate) struct TableInput {
    pub objects: u64,
    /// Number of static objects; all of them if `is_static`.
    pub statics: u32,
    pub is_static: bool,
    /// Index of the word in the caller's buffer that holds the number of objects, if only the device knows it.
    pub object_limit: Option<u32>,
    /// Layouts of objects and worlds; `None` if packed.
    pub layouts: [Option<SourceLayout>; 2],
    /// Bytes of exclusions and filter data behind the objects, if the step excludes pairs.
    pub behind_objects: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TablePlan {
    pub params: Params,
    pub sort: SortStrategy,
    pub is_static: bool,
    /// True if `prepare` copies the objects, which makes room for static objects before them and exclusions behind.
    pub prepares: bool,
    /// Bytes of exclusions and filter data behind the objects, if the step excludes pairs.
    pub behind_objects: Option<u64>,
    pub layout: Option<SourceLayout>,
    pub source_worlds: Option<SourceLayout>,
}

macro_rules! label {
    ($plan:expr, $name:literal) => {
        if $plan.is_static {
            concat!("static_", $name)
        } else {
            $name
        }
    };
}

pub(crate) struct TableUniforms {
    layout: Option<Block>,
    worlds: Option<Copied>,
    entries: Scan,
    digits: Vec<Digit>,
    before_first: Block,
    counts_first: bool,
}

impl TablePlan {
    pub fn new(basis: &Basis<'_>, input: &TableInput) -> Result<Self, InputError> {
        let Basis { descriptor, demand, .. } = *basis;
        let object_count = count("objects", input.objects)?;
        let first_object = if input.is_static { 0 } else { input.statics };
        let base = Params::of_table(descriptor, object_count, first_object);
        let finds_pairs = descriptor.pairs && !input.is_static;
        let records = basis.binding_limit / size_of::<Record>() as u64;
        let has_clusters =
            !base.is_uniform() && !input.is_static && input.objects + input.objects.div_ceil(CLUSTER.into()) <= records;
        let records = match has_clusters {
            true => records / (u64::from(CLUSTER) + 1) * u64::from(CLUSTER),
            false => records,
        };
        let large_table = u64::from(grid::large_table_capacity(&base, finds_pairs));
        let wanted = if input.is_static {
            demand.static_entries
        } else {
            demand.entries
        };
        let params = Params {
            entry_capacity: entry_capacity(basis, &base, wanted)?,
            table_capacity: table_capacity(basis, &base),
            static_count: if input.is_static { object_count } else { input.statics },
            object_limit: input.object_limit.map_or(0, |word| word + 1),
            has_clusters: has_clusters.into(),
            large_table_capacity: records.saturating_sub(input.objects).min(large_table) as u32,
            ..base
        };
        let [layout, source_worlds] = input.layouts;
        // A copy, which `order_worlds` reads in later steps.
        let source_worlds = source_worlds.or(input.is_static.then_some(SourceLayout::WORDS));
        let copies = input.statics > 0 || input.object_limit.is_some() || input.behind_objects.is_some();
        Ok(Self {
            params,
            sort: descriptor.sort,
            is_static: input.is_static,
            prepares: descriptor.prepares() || input.is_static || copies || layout.is_some(),
            behind_objects: input.behind_objects,
            layout,
            source_worlds: source_worlds.filter(|_| params.has_worlds()),
        })
    }

    pub const fn source(&self) -> BufferId {
        if self.prepares {
            buffer::SOURCE_OBJECTS
        } else {
            buffer::OBJECTS
        }
    }

    pub const fn worlds(&self) -> BufferId {
        if self.source_worlds.is_some() {
            buffer::SOURCE_WORLDS
        } else {
            buffer::WORLDS
        }
    }

    /// Sizes of the table's buffers. `pair_rows`: rows of pair counts, which reuse the keys' buffers.
    pub fn sizes(&self, pair_rows: u32) -> Sizes {
        let params = &self.params;
        let objects = u64::from(params.object_count);
        let entries = u64::from(params.table_entries());
        let records = u64::from(grid::record_capacity(params));
        let slots = u64::from(params.table_capacity) + u64::from(params.large_buckets) + 2;
        let mut sizes = vec![
            (
                buffer::OBJECTS,
                size_of::<Aabb>() as u64 * u64::from(params.all_objects()) + self.behind_objects.unwrap_or(0),
            ),
            (buffer::RECORDS, size_of::<Record>() as u64 * records),
            (
                buffer::LARGE_TABLE_SUMS,
                4 * u64::from(LARGE_TABLE_TOTALS + LARGE_TABLE_SHIFTS * params.large_table_tiles()),
            ),
            (buffer::LEVEL_STATISTICS, 32 * u64::from(grid::MAX_LEVELS)),
            (buffer::LEVELS, size_of::<Grid>() as u64),
            (buffer::GRID, size_of::<Grid>() as u64),
            (buffer::SPARSE_GROUPS, 12),
            (buffer::CROWDED_GROUPS, 12),
            // The buffer later holds the number of rows of pair counts to walk again, then these rows.
            (buffer::KEYS_0, 4 * entries.max(1 + u64::from(pair_rows))),
            (buffer::KEYS_1, 4 * entries.max(1 + u64::from(pair_rows))),
            (buffer::VALUES_0, 4 * entries),
            (buffer::VALUES_1, 4 * entries),
            (buffer::STARTS, 4 * slots),
            // `level_statistics` binds this buffer in every scheme.
            (buffer::SAMPLE_STATISTICS, 4 * u64::from(SAMPLE_WORDS)),
            (buffer::WORLDS, if params.has_worlds() { 4 * objects } else { 0 }),
        ];
        if self.prepares && self.layout.is_none() {
            sizes.push((buffer::SOURCE_OBJECTS, size_of::<Aabb>() as u64 * objects));
        }
        sizes.extend(sort::sizes(count_words(&self.digits())));
        if params.is_uniform() {
            sizes.push((buffer::ENTRY_OFFSETS, 4 * u64::from(entry_counts(params))));
            sizes.extend(scan::sizes(entry_counts(params)));
        }
        if params.is_hierarchical() {
            sizes.push((
                buffer::DENSITY_BUCKETS,
                8 * u64::from(OCTAVES * params.octave_buckets()),
            ));
        }
        sizes
    }

    /// Buffers of the sorted entries.
    pub fn sorted(&self) -> KeyValueBuffers {
        PING_PONG.after(self.digits().len())
    }

    pub fn digits(&self) -> Vec<SortParams> {
        table_digits(&self.params, self.sort)
    }

    pub fn write(&self, blocks: &mut Blocks) -> TableUniforms {
        let params = &self.params;
        let digits = self.digits();
        let before_first = before_first(&digits, !params.is_uniform());
        TableUniforms {
            layout: self.layout.map(|layout| blocks.push(&layout)),
            worlds: self.source_worlds.map(|layout| {
                let copying = Copying::of_words(layout, params.object_count);
                Copied::new(blocks, copying, [COUNTERS, buffer::SOURCE_WORLDS, buffer::WORLDS])
            }),
            entries: Scan::of(
                blocks,
                buffer::ENTRY_OFFSETS,
                entry_counts(params),
                &ENTRIES,
                params.entry_capacity,
            ),
            before_first: blocks.push(&before_first),
            counts_first: before_first.next_bits == 0,
            digits: Digit::all(blocks, digits),
        }
    }

    /// `is_crowded`: the variant that counts pairs, `None` if the device chooses.
    pub fn record(&self, passes: &mut Passes, blocks: &TableUniforms, is_crowded: Option<bool>) {
        self.record_objects(passes, blocks);
        self.record_levels(passes);
        self.record_entries(passes, blocks);
        let sort = Sort {
            strategy: self.sort,
            ping_pong: PING_PONG,
            grid: buffer::GRID,
            counts_first: blocks.counts_first,
        };
        passes.stage(label!(self, "sort"), |stage| {
            sort.record(stage, &blocks.digits, PING_PONG.unsorted());
        });
        let params = &self.params;
        let sorted = self.sorted().binds();
        passes.stage(label!(self, "gather"), |stage| {
            stage.run(&GATHER, params.object_count.max(params.entry_capacity + 1), &sorted);
        });
        let is_sparse = !self.is_serial() && is_crowded == Some(false);
        if params.has_clusters != 0 && !is_sparse {
            let blocks = (params.object_count + params.large_table_capacity).div_ceil(WORKGROUP);
            // Few workgroups outside of crowded scenes, where they start for nothing.
            let groups = match is_crowded {
                Some(true) => blocks,
                _ if self.is_serial() => blocks.div_ceil(SERIAL_BLOCKS),
                _ => blocks.div_ceil(SPARSE_BLOCKS),
            };
            passes.stage(label!(self, "clusters"), |stage| {
                stage.run_groups(&CLUSTERS, groups.max(1), &sorted);
            });
        }
    }

    /// True with the sort of CPUs, where each workgroup is costly.
    fn is_serial(&self) -> bool {
        self.sort == SortStrategy::SerialTiles
    }

    fn record_objects(&self, passes: &mut Passes, blocks: &TableUniforms) {
        let params = &self.params;
        if params.is_hierarchical() {
            passes.clear(buffer::SAMPLE_STATISTICS);
            passes.clear(buffer::DENSITY_BUCKETS);
        }
        passes.clear(buffer::LEVEL_STATISTICS);
        if params.large_table_capacity > 0 {
            passes.clear_words(buffer::LARGE_TABLE_SUMS, 0, LARGE_TABLE_TOTALS.into());
        }
        sort::clear_counts(passes, &blocks.digits);
        if let Some(worlds) = &blocks.worlds {
            passes.stage(label!(self, "worlds"), |stage| worlds.record(stage));
        }
        if self.prepares {
            // Without a device count, the pass reads no limits, so it may bind any buffer.
            let all = (params.object_limit == 0).then(|| buffer::OBJECT_LIMITS.is(COUNTERS));
            let layout = blocks.layout.map(|block| SOURCE_LAYOUT.is_block(block));
            let pass = if layout.is_some() { &PREPARE_STRIDED } else { &PREPARE };
            let binds: Vec<_> = all.into_iter().chain(layout).collect();
            passes.stage(label!(self, "prepare"), |stage| {
                stage.run(pass, params.object_count, &binds);
            });
        }
    }

    fn record_levels(&self, passes: &mut Passes) {
        let params = &self.params;
        if params.is_hierarchical() {
            passes.stage(label!(self, "statistics"), |stage| {
                let lanes = if self.is_serial() { 1 } else { LANES_PER_SAMPLE };
                stage.run(&SAMPLE_STATISTICS, lanes * params.sample_count, &[]);
            });
        }
        passes.stage(label!(self, "levels"), |stage| {
            let groups = match self.is_serial() {
                true => params.object_count.div_ceil(LEVEL_TILE),
                false => params.object_count.div_ceil(WORKGROUP).min(LEVEL_GROUPS),
            };
            stage.run_groups(&LEVEL_STATISTICS, groups.max(1), &[]);
            if params.is_uniform() {
                stage.run_groups(&LAYOUT, 1, &[NEXT_GRID.is(buffer::GRID)]);
            }
        });
    }

    fn record_entries(&self, passes: &mut Passes, blocks: &TableUniforms) {
        let params = &self.params;
        let has_large_table = params.large_table_capacity > 0;
        let [keys, values] = PING_PONG.unsorted().binds();
        let tiles = params.large_table_tiles();
        let [sort_block, counts] = sort::counting(blocks.before_first);
        passes.stage(label!(self, "entries"), |stage| {
            if params.is_uniform() {
                stage.run(&ENTRY_COUNT, params.object_count, &[]);
                blocks.entries.record(stage);
                stage.run(&ENTRY_EMIT, params.object_count, &[keys, values]);
            } else {
                let grid = if has_large_table { buffer::LEVELS } else { buffer::GRID };
                stage.run_groups(&KEYS, tiles.max(1), &[NEXT_GRID.is(grid), keys, sort_block, counts]);
            }
        });
        if has_large_table {
            passes.stage(label!(self, "large_table"), |stage| {
                let grids = [buffer::GRID.is(buffer::LEVELS), NEXT_GRID.is(buffer::GRID)];
                let binds = [grids[0], grids[1], keys, values, sort_block, counts];
                stage.run_groups(&LARGE_TABLE_EMIT, tiles, &binds);
            });
        }
    }
}

fn entry_capacity(basis: &Basis<'_>, params: &Params, wanted: u32) -> Result<u32, InputError> {
    if !params.is_uniform() {
        return Ok(params.object_count);
    }
    let outputs = &basis.descriptor.outputs;
    match (outputs.capacities.entries, outputs.growth) {
        (Some(fixed), Growth::Fixed) => count("cell entries", fixed.into()),
        (first, _) => {
            let first = grid::first_entries(params.object_count, first);
            // The offsets of pairs take one word more than the entries.
            let most = (basis.binding_limit / 4 - 1).min(LARGEST_COUNT - 1);
            Ok(first.max(wanted.into()).min(most) as u32)
        }
    }
}

fn table_capacity(basis: &Basis<'_>, params: &Params) -> u32 {
    // Words of the cell table behind its cells: buckets of the large list, ignored objects, end of the large-object
    // table.
    let past_cells = u64::from(params.large_buckets) + 2;
    let wanted_entries = basis.descriptor.outputs.capacities.entries;
    let cells = grid::table_capacity(params.scheme, params.object_count, wanted_entries);
    let words = basis.binding_limit / 4;
    cells.min(words - past_cells).min(LARGEST_COUNT - past_cells) as u32
}

pub(crate) fn unused_keys(sorted: KeyValueBuffers) -> BufferId {
    PING_PONG.other(sorted).keys
}

/// Words that count entries: one per object and entry group.
pub(crate) const fn entry_counts(params: &Params) -> u32 {
    grid::ENTRY_GROUPS * params.object_count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::counters::PerOutput;
    use crate::api::descriptor::{BroadPhaseDescriptor, Scheme};
    use crate::stages::shape::Demand;

    fn params(scheme: Scheme, demand: Demand, objects: u64) -> Params {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..Default::default()
        };
        let input = TableInput {
            objects,
            ..TableInput::default()
        };
        TablePlan::new(&Basis::of(&descriptor, &demand), &input).unwrap().params
    }

    #[test]
    fn entries_of_the_uniform_scheme_fill_a_binding() {
        let demand = Demand {
            entries: u32::MAX,
            ..Demand::default()
        };
        let params = params(Scheme::Uniform { cell_size: 1.0 }, demand, 1_000_000);
        assert_eq!(params.entry_capacity, (128 << 20) / 4 - 1);
    }

    /// The order of pairs depends on it.
    #[test]
    fn the_large_object_table_does_not_depend_on_earlier_steps() {
        let more = Demand {
            entries: 1 << 20,
            rows: PerOutput::of(|_| 1 << 20),
            rounds: 3,
            bit_words: 64,
            is_crowded: Some(true),
            ..Demand::default()
        };
        // The boxes of all objects fill a binding.
        for (objects, capacity) in [(10_000, 2500), (4 << 20, 0)] {
            for demand in [Demand::default(), more] {
                let params = params(Scheme::Hierarchical, demand, objects);
                assert_eq!(params.large_table_capacity, capacity, "{objects} objects");
            }
        }
    }
}
