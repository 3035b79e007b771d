use std::sync::OnceLock;

use super::boxes::{Boxes, have_filters};
use super::trees::Trees;
use crate::api::counters::ENTRIES;
use crate::api::counters::word;
use crate::api::descriptor::{BroadPhaseDescriptor, SortStrategy};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::layout::blocks::Exclusions;
use crate::layout::counters::Held;
use crate::layout::digits::table_digits;
use crate::layout::grid::{Grid, PRIMARY_FLAGS, Params, Record};
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_exclude::pair_exclude;
use crate::reference::pairs::pair_excludes::{Admits, Excludes};
use crate::reference::params::{save_static_entries, scan_output, sized};
use crate::reference::reads::{StepReads, TableReads};
use crate::reference::rows::CellTable;
use crate::reference::sort::sort_digit;
use crate::reference::table::clusters::clusters;
use crate::reference::table::entry_count::entry_count;
use crate::reference::table::entry_emit::entry_emit;
use crate::reference::table::gather::gather;
use crate::reference::table::keys::{keys, large_table_sums};
use crate::reference::table::large_table_emit::{choose_large_table, large_table_emit};
use crate::reference::table::layout::layout;
use crate::reference::table::level_statistics::level_statistics;
use crate::reference::table::sample_statistics::sample_statistics;

/// Boxes that enter a tree in the time that it saves a search.
const BOXES_PER_SEARCH: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub params: Params,
    /// With the capacity of the step's pairs.
    pub held: Held,
    pub counters: Vec<u32>,
    /// Boxes as passes compare them, static ones first.
    objects: Vec<Aabb>,
    pub have_filters: bool,
    cells: Cells,
    statics: Option<(Params, Cells)>,
    exclusions: Exclusions,
    exclusion_table: Vec<[u32; 2]>,
    /// Number of rays and queries of earlier calls.
    pub searches: u32,
}

impl Table {
    pub fn build(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Result<Self, BroadPhaseError> {
        let ([params, of_statics], objects) = sized(descriptor, scene)?;
        let mut counters = vec![0; word::COUNT];
        let mut statics = None;
        if params.static_count > 0 {
            let cells = Cells::build(&of_statics, &objects, scene.static_worlds, &mut counters)?;
            save_static_entries(&mut counters);
            statics = Some((of_statics, cells));
        }
        let cells = Cells::build(&params, &objects, scene.worlds, &mut counters)?;
        let list = count("excluded pairs", scene.excluded_pairs.len() as u64)?;
        let exclusions = Exclusions::new(params.all_objects(), list, 0);
        Ok(Self {
            exclusion_table: pair_exclude(&exclusions, scene.excluded_pairs).0,
            held: Held {
                objects: params.all_objects(),
                entries: params.entry_capacity,
                static_entries: statics.as_ref().map_or(0, |(params, _)| params.entry_capacity),
                rounds: 1,
                ..Held::default()
            },
            params,
            counters,
            have_filters: have_filters(&objects),
            objects,
            cells,
            statics,
            exclusions,
            searches: 0,
        })
    }

    /// One per walk of queries.
    pub fn boxes<'a>(&'a self) -> Vec<&'a Boxes> {
        let own = (&self.params, &self.cells);
        let statics = self.statics.as_ref().map(|(params, cells)| (params, cells));
        let boxes = |(params, cells): (&Params, &'a Cells)| {
            cells
                .boxes
                .get_or_init(|| Boxes::new(cells.reads(params).table, self.have_filters))
        };
        [Some(own), statics, Some(own)]
            .into_iter()
            .flatten()
            .map(boxes)
            .collect()
    }

    /// One per table. Empty in the uniform scheme, and if building takes longer than `count` and earlier searches save.
    pub fn trees(&self, count: u32) -> Vec<&Trees> {
        let own = (&self.params, &self.cells);
        let statics = self.statics.as_ref().map(|(params, cells)| (params, cells));
        let pays = self.params.all_objects() / BOXES_PER_SEARCH <= self.searches.saturating_add(count);
        if self.params.is_uniform() || !pays {
            return Vec::new();
        }
        let tables = [Some(own), statics].into_iter().flatten();
        tables
            .map(|(params, cells)| cells.trees(params, self.have_filters))
            .collect()
    }

    pub fn reads<'a>(&'a self, admits: Option<&'a Admits<'a>>) -> StepReads<'a> {
        StepReads {
            own: self.cells.reads(&self.params),
            statics: self.statics.as_ref().map(|(params, cells)| cells.reads(params)),
            objects: &self.objects,
            excludes: Excludes {
                exclusions: self.exclusions,
                table: &self.exclusion_table,
                admits,
            },
        }
    }
}

#[derive(Clone, Debug)]
struct Cells {
    grid: Grid,
    keys: Vec<u32>,
    values: Vec<u32>,
    starts: Vec<u32>,
    records: Vec<Record>,
    clusters: Vec<Record>,
    boxes: OnceLock<Boxes>,
    trees: OnceLock<Trees>,
}

impl Cells {
    fn build(params: &Params, objects: &[Aabb], worlds: &[u32], counters: &mut [u32]) -> Result<Self, BroadPhaseError> {
        let sample = match params.is_hierarchical() {
            true => sample_statistics(params, objects, worlds),
            false => Vec::new(),
        };
        let levels = level_statistics(params, objects, &sample, counters);
        let mut grid = completed(layout(params, &levels, counters))?;
        let (mut keys, mut values) = if params.is_uniform() {
            let mut offsets = entry_count(params, objects);
            scan_output(&ENTRIES, &mut offsets, counters, Some(params.entry_capacity))?;
            entry_emit(params, objects, &mut grid, &offsets, counters, worlds)
        } else {
            let keys = completed(keys(params, objects, &grid, worlds))?;
            let values = (0..keys.len() as u32).map(|index| index | PRIMARY_FLAGS).collect();
            (keys, values)
        };
        if params.large_table_capacity > 0 {
            let mut sums = large_table_sums(params, objects, &grid, &keys);
            choose_large_table(params, &mut sums, &mut grid);
            keys.resize(params.table_entries() as usize, 0);
            values.resize(params.table_entries() as usize, 0);
            large_table_emit(params, objects, &grid, &mut keys, &mut values, &sums, worlds);
        }
        // All sort strategies give the same order.
        for digit in table_digits(params, SortStrategy::Portable) {
            (keys, values) = completed(sort_digit(&digit, &grid, &keys, &values))?;
        }
        let (starts, mut records) = completed(gather(params, objects, &keys, &values, &grid, worlds))?;
        let clusters = clusters(&grid, &keys, &mut values, &mut records);
        Ok(Self {
            grid,
            keys,
            values,
            starts,
            records,
            clusters,
            boxes: OnceLock::new(),
            trees: OnceLock::new(),
        })
    }

    fn trees(&self, params: &Params, have_filters: bool) -> &Trees {
        self.trees
            .get_or_init(|| Trees::new(params, self.reads(params).table, have_filters))
    }

    fn reads(&self, params: &Params) -> TableReads<'_> {
        TableReads {
            table: CellTable {
                grid: &self.grid,
                records: &self.records,
                starts: &self.starts,
                clusters: &self.clusters,
            },
            keys: &self.keys,
            values: &self.values,
            object_count: params.object_count,
        }
    }
}
