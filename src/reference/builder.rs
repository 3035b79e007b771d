//! The passes of a step up to its tables, in order: for the CPU engine, and for the trace, which watches them.

use bytemuck::cast_slice;

use super::host::HostScene;
use super::outputs::scan_output;
use super::pairs::pair_exclude::pair_exclude;
use super::pairs::pair_excludes::{Admits, Excludes};
use super::params::{fixed, prepared};
use super::reads::{StepReads, TableReads};
use super::rows::CellTable;
use super::sort::sort_digit;
use super::table::clusters::clusters;
use super::table::entry_count::entry_count;
use super::table::entry_emit::entry_emit;
use super::table::gather::gather;
use super::table::keys::{keys, large_table_sums};
use super::table::large_table_emit::{choose_large_table, large_table_emit};
use super::table::layout::layout;
use super::table::level_statistics::level_statistics;
use super::table::sample_statistics::sample_statistics;
use crate::api::counters::{ENTRIES, word};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::layout::blocks::{Exclusions, SortParams};
use crate::layout::counters::Held;
use crate::layout::digits::table_digits;
use crate::layout::grid::{Grid, PRIMARY_FLAGS, Params, Record, ordered};
use crate::layout::worlds::Worlds;

/// Buffers after the passes of one digit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SortDigit {
    pub sort: SortParams,
    pub keys: Vec<u32>,
    pub values: Vec<u32>,
}

/// Table of the moving or the static objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub params: Params,
    pub grid: Grid,
    pub keys: Vec<u32>,
    /// Sorted values, reordered by [`clusters`].
    pub values: Vec<u32>,
    /// Output of [`gather`]: first entry of each key.
    pub starts: Vec<u32>,
    pub records: Vec<Record>,
    pub clusters: Vec<Record>,
    // Only in a trace, buffers that no later pass needs or as they were between passes; empty if a pass did not run.
    pub sample_statistics: Vec<u32>,
    pub level_statistics: Vec<u32>,
    pub counters_after_level_statistics: Vec<u32>,
    pub grid_after_layout: Grid,
    pub counters_after_layout: Vec<u32>,
    pub entry_counts: Vec<u32>,
    pub entry_offsets: Vec<u32>,
    pub counters_after_entries: Vec<u32>,
    pub large_table_sums: Vec<u32>,
    pub unsorted_keys: Vec<u32>,
    pub unsorted_values: Vec<u32>,
    pub digits: Vec<SortDigit>,
}

impl Table {
    fn build(
        descriptor: &BroadPhaseDescriptor<'_>,
        mut params: Params,
        objects: &[Aabb],
        worlds: &[u32],
        counters: &mut [u32],
        is_trace: bool,
    ) -> Result<Self, BroadPhaseError> {
        let copy = |words: &[u32]| if is_trace { words.to_vec() } else { Vec::new() };
        let mut table = Self::default();
        let mut sample = Vec::new();
        if params.is_hierarchical() {
            sample = sample_statistics(&params, objects, worlds);
        }
        let levels = completed(level_statistics(&params, objects, worlds, &sample, counters))?;
        (table.sample_statistics, table.level_statistics) = (copy(&sample), copy(&levels));
        table.counters_after_level_statistics = copy(counters);
        let mut grid = layout(&params, &levels, counters);
        table.grid_after_layout = grid;
        table.counters_after_layout = copy(counters);
        let (mut keys, mut values) = if params.is_uniform() {
            let mut offsets = entry_count(&params, objects, worlds);
            table.entry_counts = copy(&offsets);
            let needed = offsets.iter().map(|&count| u64::from(count)).sum();
            let limit = fixed(descriptor, descriptor.outputs.capacities.entries).map_or(u64::MAX, u64::from);
            params.entry_capacity = count("entries", limit.min(needed))?;
            scan_output(&ENTRIES, &mut offsets, counters, Some(params.entry_capacity))?;
            (table.entry_offsets, table.counters_after_entries) = (copy(&offsets), copy(counters));
            entry_emit(&params, objects, &mut grid, &offsets, counters, worlds)
        } else {
            let keys = completed(keys(&params, objects, &grid, worlds))?;
            let values = (0..keys.len() as u32).map(|index| index | PRIMARY_FLAGS).collect();
            (keys, values)
        };
        if params.large_table_capacity > 0 {
            let mut sums = large_table_sums(&params, objects, &grid, &keys);
            table.large_table_sums = copy(&sums);
            choose_large_table(&params, &mut sums, &mut grid);
            keys.resize(params.table_entries() as usize, 0);
            values.resize(params.table_entries() as usize, 0);
            large_table_emit(&params, objects, &grid, &mut keys, &mut values, &sums, worlds);
        }
        (table.unsorted_keys, table.unsorted_values) = (copy(&keys), copy(&values));
        for sort in table_digits(&params, descriptor.sort) {
            (keys, values) = completed(sort_digit(&sort, &grid, &keys, &values))?;
            if is_trace {
                let (keys, values) = (keys.clone(), values.clone());
                table.digits.push(SortDigit { sort, keys, values });
            }
        }
        (table.starts, table.records) = completed(gather(&params, objects, &keys, &values, &grid, worlds))?;
        table.clusters = clusters(&grid, &keys, &mut values, &mut table.records);
        Ok(Self {
            params,
            grid,
            keys,
            values,
            ..table
        })
    }

    pub fn cells(&self) -> CellTable<'_> {
        CellTable {
            grid: &self.grid,
            records: &self.records,
            starts: &self.starts,
            clusters: &self.clusters,
        }
    }

    pub(crate) fn reads(&self) -> TableReads<'_> {
        TableReads {
            table: self.cells(),
            keys: &self.keys,
            values: &self.values,
            object_count: self.params.object_count,
        }
    }
}

/// Input of a step's tables, and excluded pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    /// Of the moving, then the static table.
    pub params: [Params; 2],
    /// Prepared objects, static ones first.
    pub objects: Vec<Aabb>,
    /// Of the moving, then the static objects. Empty with one world.
    pub worlds: [Vec<u32>; 2],
    pub exclusions: Exclusions,
    pub exclusion_table: Vec<[u32; 2]>,
}

impl Inputs {
    pub fn of(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Result<Self, BroadPhaseError> {
        let (params, objects) = prepared(descriptor, scene)?;
        let list = count("excluded pairs", scene.excluded_pairs.len() as u64)?;
        let exclusions = Exclusions::new(params[0].all_objects(), list, 0);
        let mut worlds = [Vec::new(), Vec::new()];
        if params[0].has_worlds() {
            worlds = [scene.worlds, scene.static_worlds].map(<[u32]>::to_vec);
        }
        Ok(Self {
            params,
            objects,
            worlds,
            exclusions,
            exclusion_table: pair_exclude(&exclusions, scene.excluded_pairs).0,
        })
    }

    pub fn record(&self, object: u32) -> Record {
        let bounds = &self.objects[object as usize];
        Record {
            low: bounds.min.map(ordered),
            object,
            high: bounds.max.map(ordered),
            world: self.world_of(object),
        }
    }

    pub fn excludes<'a>(&'a self, admits: Option<&'a Admits<'a>>) -> Excludes<'a> {
        Excludes {
            exclusions: self.exclusions,
            table: &self.exclusion_table,
            admits,
        }
    }

    /// True if the first of `objects` are the static objects, with the same `worlds`.
    pub fn has_statics(&self, objects: &[Aabb], worlds: &[u32]) -> bool {
        let count = self.params[0].static_count as usize;
        // Words, since NaN differs from itself.
        let [own, others] = [&self.objects, objects].map(|objects| cast_slice::<_, u32>(&objects[..count]));
        self.worlds[1] == worlds && own == others
    }

    pub fn worlds(&self) -> Worlds<'_> {
        Worlds::new(&self.worlds, self.params[0].world_count)
    }

    pub fn world_of(&self, object: u32) -> u32 {
        self.worlds().of(object)
    }
}

/// Tables of a step, and what excludes pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Prepared objects, static ones first.
    pub objects: Vec<Aabb>,
    pub own: Table,
    pub statics: Option<Table>,
    pub exclusions: Exclusions,
    pub exclusion_table: Vec<[u32; 2]>,
    pub counters: Vec<u32>,
}

impl Tables {
    pub(crate) fn build(
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: Inputs,
        is_trace: bool,
    ) -> Result<Self, BroadPhaseError> {
        let Inputs {
            params: [params, static_params],
            objects,
            worlds: [worlds, static_worlds],
            exclusions,
            exclusion_table,
        } = inputs;
        let build = |params: Params, worlds: &[u32], counters: &mut [u32]| {
            Table::build(descriptor, params, &objects, worlds, counters, is_trace)
        };
        let mut counters = vec![0; word::COUNT];
        let mut statics = None;
        if params.static_count > 0 {
            statics = Some(build(static_params, &static_worlds, &mut counters)?);
            // The moving table uses the same words.
            let entries = word::ENTRIES_NEEDED..word::ENTRIES_NEEDED + 2;
            counters.copy_within(entries, word::STATIC_ENTRIES_NEEDED);
        }
        let own = build(params, &worlds, &mut counters)?;
        Ok(Self {
            own,
            statics,
            objects,
            exclusions,
            exclusion_table,
            counters,
        })
    }

    pub(crate) fn held(&self) -> Held {
        Held {
            objects: self.own.params.all_objects(),
            entries: self.own.params.entry_capacity,
            static_entries: self.statics.as_ref().map_or(0, |table| table.params.entry_capacity),
            rounds: 1,
            ..Held::default()
        }
    }

    pub fn reads<'a>(&'a self, admits: Option<&'a Admits<'a>>) -> StepReads<'a> {
        StepReads {
            own: self.own.reads(),
            statics: self.statics.as_ref().map(Table::reads),
            objects: &self.objects,
            excludes: Excludes {
                exclusions: self.exclusions,
                table: &self.exclusion_table,
                admits,
            },
        }
    }
}
