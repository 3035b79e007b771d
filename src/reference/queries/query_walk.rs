//! Reference passes of `shaders/queries/query_cells.wgsl`, `shaders/queries/query_input.wgsl` and
//! `shaders/queries/query_walk.wgsl`.

use std::ops::{Range, RangeInclusive};

use super::query::{LoadedQuery, distance_to, load_query, self_query_of};
use crate::api::queries::{Query, self_query};
use crate::api::types::{ALL_WORLDS, Aabb, NONE};
use crate::layout::blocks::{Iterations, Overrides, QueryBlocks};
use crate::layout::grid::{DENSE, ID_MASK, Level, Record, SCHEME_UNIFORM, cell_of, flush, key_of, unordered};
use crate::reference::pairs::pair_excludes::Excludes;
use crate::reference::pairs::pair_walk::passes_filters;
use crate::reference::rows::{CellTable, Listing};

#[derive(Clone, Copy, Debug)]
pub struct QueryReads<'a> {
    pub table: CellTable<'a>,
    /// Empty for self-queries.
    pub queries: &'a [Query],
    /// Records of the querying objects, which may be of the other table. Empty without self-queries.
    pub self_query: &'a [Record],
    pub objects: &'a [Aabb],
    /// Sorted; read in the uniform scheme.
    pub values: &'a [u32],
    pub excludes: Excludes<'a>,
}

impl QueryReads<'_> {
    pub(crate) fn count(&self, params: &QueryBlocks) -> u32 {
        if params.queries.self_query == self_query::NONE {
            params.queries.count
        } else {
            self.self_query.len() as u32
        }
    }

    /// Also returns the index of the result.
    pub(crate) fn begin(&self, params: &QueryBlocks, index: u32) -> (LoadedQuery, u32) {
        if params.queries.self_query == self_query::NONE {
            return (load_query(params, &self.queries[index as usize]), index);
        }
        let record = &self.self_query[index as usize];
        let query = self_query_of(params, &self.objects[record.object as usize], record);
        (query.with_search_bounds(params), record.object)
    }
}

pub(crate) struct Walk<'a, F> {
    pub params: &'a QueryBlocks,
    pub input: &'a QueryReads<'a>,
    pub overrides: Overrides,
    pub query: LoadedQuery,
    /// Takes a result and returns the new [`limit`](Self::limit).
    accept: &'a mut F,
    /// Candidates beyond this distance are ignored.
    pub(super) limit: u32,
    pub(super) candidates: u32,
    rows: u32,
    pub(super) iterations: Iterations,
}

pub(crate) type Cells = [RangeInclusive<i32>; 3];

#[derive(PartialEq)]
pub(crate) enum LevelLook {
    Nowhere,
    Cells,
    All,
}

const MAX_MEETINGS_PER_OBJECT: u32 = 4;

/// Passes the results of a query to `accept`, with squared distances as integers (see
/// [`distance_key`](super::query::distance_key)). Returns the number of box tests, 0 if not counted.
pub fn walk_query(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    accept: impl FnMut(u32, u32),
) -> u32 {
    let [candidates, _] = count_query(params, input, overrides, query, accept);
    if overrides.count_candidates { candidates } else { 0 }
}

/// Like [`walk_query`], but always counts. Returns the numbers of box tests and of visited rows of cells.
pub fn count_query(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    mut accept: impl FnMut(u32, u32),
) -> [u32; 2] {
    if !query.answers {
        return [0; 2];
    }
    let mut accept = |object, distance| {
        accept(object, distance);
        u32::MAX
    };
    let mut walk = Walk::new(params, input, overrides, query, u32::MAX, &mut accept);
    walk.test_large(query);
    for (_, level) in input.table.grid.occupied_levels() {
        walk.walk_level(query, level);
    }
    [walk.candidates, walk.rows]
}

/// True if filters and excluded pairs allow the result.
pub(crate) fn passes(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    object: u32,
) -> bool {
    let filters = Aabb {
        layers: query.layers,
        group: query.group,
        ..Aabb::point([0.0; 3])
    };
    let passes = !overrides.filters || passes_filters(&filters, &input.objects[object as usize]);
    let asks_partners = params.queries.self_query == self_query::PARTNERS;
    let partner = query.querier.filter(|_| asks_partners);
    passes && !partner.is_some_and(|querier| input.excludes.is_excluded(querier, object))
}

impl<'a, F: FnMut(u32, u32) -> u32> Walk<'a, F> {
    pub(crate) fn new(
        params: &'a QueryBlocks,
        input: &'a QueryReads<'a>,
        overrides: Overrides,
        query: &LoadedQuery,
        limit: u32,
        accept: &'a mut F,
    ) -> Self {
        Self {
            params,
            input,
            overrides,
            query: *query,
            accept,
            limit,
            candidates: 0,
            rows: 0,
            iterations: Iterations::default(),
        }
    }

    pub(super) fn is_multi_cell(&self) -> bool {
        self.params.scheme == SCHEME_UNIFORM
    }

    pub(super) fn record(&self, entry: u32) -> &Record {
        let record = if self.is_multi_cell() {
            self.input.values[entry as usize] & ID_MASK
        } else {
            entry
        };
        &self.input.table.records[record as usize]
    }

    fn distance_to(&mut self, record: &Record) -> Option<u32> {
        self.candidates = self.candidates.wrapping_add(1);
        distance_to(self.params, &self.query, record).filter(|&distance| distance <= self.limit)
    }

    fn test_record(&mut self, record: &Record) {
        if let Some(distance) = self.distance_to(record) {
            self.found(record.object, distance);
        }
    }

    pub(crate) fn found(&mut self, object: u32, distance: u32) {
        if passes(self.params, self.input, self.overrides, &self.query, object) {
            self.limit = (self.accept)(object, distance);
        }
    }

    pub(super) fn near_entries(&mut self, entries: Range<u32>, mut found: impl FnMut(&mut Self, u32, u32)) {
        let table = self.input.table;
        if self.query.image != [0; 3] {
            for entry in entries {
                self.test_entry(entry, &mut found);
            }
            return;
        }
        for (cluster, members) in table.clustered(entries) {
            if let Some(cluster) = cluster {
                // The cluster's box stands for objects of any world, with lower corners anywhere in it.
                let around = Record {
                    object: NONE,
                    world: self.query.world,
                    ..*cluster
                };
                let query = LoadedQuery {
                    seeks_corners: false,
                    ..self.query
                };
                self.candidates = self.candidates.wrapping_add(1);
                if distance_to(self.params, &query, &around).is_none_or(|distance| distance > self.limit) {
                    continue;
                }
            }
            for entry in members {
                self.test_entry(entry, &mut found);
            }
        }
    }

    fn test_entry(&mut self, entry: u32, found: &mut impl FnMut(&mut Self, u32, u32)) {
        let record = *self.record(entry);
        if let Some(distance) = self.distance_to(&record) {
            found(self, entry, distance);
        }
    }

    pub(super) fn test_large(&mut self, query: &LoadedQuery) {
        let (table, params) = (self.input.table, self.params);
        self.query = query.nearest_of_all(params);
        for entries in table.large(params, query.world) {
            self.test_all(Listing::Entries(entries));
        }
    }

    pub(super) fn test_all(&mut self, listing: Listing) {
        let QueryReads {
            table, objects, values, ..
        } = self.input;
        if let (false, Listing::Entries(entries)) = (self.is_multi_cell(), &listing) {
            self.near_entries(entries.clone(), |walk, entry, distance| {
                walk.found(walk.record(entry).object, distance);
            });
            return;
        }
        for record in table.records_of(self.params, listing, objects, values) {
            self.test_record(record);
        }
    }

    pub(super) fn listing(&self, level: &Level) -> Listing {
        self.input.table.listing(self.params, level, self.query.world)
    }

    pub(super) fn reach_of_objects(&self, query: &LoadedQuery) -> [i32; 3] {
        let reach = if query.seeks_corners {
            0
        } else {
            self.params.cell_reach()
        };
        [reach << self.params.x_detail(), reach, reach]
    }

    pub(super) fn cells_of(&self, query: &LoadedQuery, level: &Level) -> Cells {
        let inverse = self.params.axis_inverse(level.inverse, self.input.table.grid.stretch);
        let reach = self.reach_of_objects(query);
        let [lowest, highest] = level.bounds();
        let [lower, upper] =
            [query.search_min, query.search_max].map(|corner| cell_of(self.params.scheme, corner, inverse));
        std::array::from_fn(|axis| (lower[axis] - reach[axis]).max(lowest[axis])..=upper[axis].min(highest[axis]))
    }

    fn row(&self, level: &Level, cells: &Cells, y: i32, z: i32) -> [Range<u32>; 2] {
        let world = self.query.world;
        self.input
            .table
            .row(level, *cells[0].start(), *cells[0].end(), y, z, world)
    }

    fn meets_entries_again(&mut self, query: &LoadedQuery, second: u32, level: &Level) -> bool {
        let listing = self.listing(level);
        let most = MAX_MEETINGS_PER_OBJECT * self.input.table.places(&listing);
        if matches!(listing, Listing::Entries(_)) || self.input.table.grid.entry_count <= most {
            return false;
        }
        let mut entries = 0;
        for image in images(second) {
            let cells = self.cells_of(&query.image_of(self.params, image), level);
            for (y, z) in rows_of(&cells) {
                self.rows += 1;
                entries += self.row(level, &cells, y, z).map(|row| row.len()).iter().sum::<usize>();
            }
        }
        entries > most as usize
    }

    pub(crate) fn look_of(&mut self, query: &LoadedQuery, second: u32, level: &Level) -> LevelLook {
        let is_second = [0, 1, 2].map(|axis| second & (1 << axis) != 0);
        let counts_of = |second| {
            let cells = self.cells_of(&query.image_of(self.params, second), level);
            cell_counts(&cells, level)
        };
        let own_counts = counts_of(0);
        let second_counts = if second == 0 { own_counts } else { counts_of(second) };
        let counts: [f32; 3] =
            std::array::from_fn(|axis| own_counts[axis] + if is_second[axis] { second_counts[axis] } else { 0.0 });
        if counts.contains(&0.0) {
            return LevelLook::Nowhere;
        }
        let rows = counts[1] * counts[2];
        let is_dense = level.table_mask == DENSE;
        let is_repeated = !is_dense && rows * counts[0] >= level.table_size as f32;
        let [lowest, highest] = level.bounds();
        let all_cells = std::array::from_fn(|axis| lowest[axis]..=highest[axis]);
        let level_counts = cell_counts(&all_cells, level);
        let looks_twice = is_dense && rows * counts[0] > level_counts[0] * level_counts[1] * level_counts[2];
        let copies = is_second.map(|is_second| if is_second { 2.0 } else { 1.0 });
        let iterations = self.row_iterations() * copies[0] * (counts[1] + copies[1]) * (counts[2] + copies[2]);
        if self.query.world == ALL_WORLDS
            || is_repeated
            || looks_twice
            || rows >= self.input.table.places(&self.listing(level)) as f32
            || !self.iterations.take(iterations)
            || self.meets_entries_again(query, second, level)
        {
            return LevelLook::All;
        }
        LevelLook::Cells
    }

    pub(super) fn row_iterations(&self) -> f32 {
        if self.is_multi_cell() { 3.0 } else { 2.0 }
    }

    fn walk_level(&mut self, query: &LoadedQuery, level: &Level) {
        let second = query.second_images(self.params);
        match self.look_of(query, second, level) {
            LevelLook::Nowhere => {}
            LevelLook::All => self.test_level(query, level),
            LevelLook::Cells => {
                for image in images(second) {
                    self.query = query.image_of(self.params, image);
                    self.walk_cells(level);
                }
            }
        }
    }

    pub(crate) fn test_level(&mut self, query: &LoadedQuery, level: &Level) {
        self.query = query.nearest_of_all(self.params);
        self.test_all(self.listing(level));
    }

    pub(crate) fn walk_cells(&mut self, level: &Level) {
        let cells = self.cells_of(&self.query, level);
        let [lower, upper] = [
            std::array::from_fn(|axis| *cells[axis].start()),
            std::array::from_fn(|axis| *cells[axis].end()),
        ];
        for (y, z) in rows_of(&cells) {
            self.rows += 1;
            for row in self.row(level, &cells, y, z) {
                self.near_entries(row, |walk, entry, distance| {
                    if walk.is_met_here(level, entry, lower, upper, y, z) {
                        walk.found(walk.record(entry).object, distance);
                    }
                });
            }
        }
    }

    fn is_met_here(&self, level: &Level, entry: u32, lower: [i32; 3], upper: [i32; 3], y: i32, z: i32) -> bool {
        let inverse = self.params.axis_inverse(level.inverse, self.input.table.grid.stretch);
        let corner = self.record(entry).low.map(|bound| flush(unordered(bound)));
        let primary = cell_of(self.params.scheme, corner, inverse);
        if !self.is_multi_cell() {
            return primary[1] == y && primary[2] == z && (lower[0]..=upper[0]).contains(&primary[0]);
        }
        let first: [i32; 3] = if self.query.seeks_corners {
            primary
        } else {
            std::array::from_fn(|axis| primary[axis].max(lower[axis]))
        };
        let is_outside = (0..3).any(|axis| first[axis] < lower[axis]) || first[0] > upper[0];
        if is_outside || first[1] != y || first[2] != z {
            return false;
        }
        let key = key_of(level, first, self.query.world) as usize;
        let starts = self.input.table.starts;
        (starts[key]..starts[key + 1]).contains(&entry)
    }
}

pub(super) fn cell_counts(cells: &Cells, level: &Level) -> [f32; 3] {
    let shifts = [level.x_shift, 0, 0];
    std::array::from_fn(|axis| {
        let [lower, upper] = [cells[axis].start(), cells[axis].end()].map(|cell| cell >> shifts[axis]);
        if cells[axis].is_empty() {
            0.0
        } else {
            (upper.wrapping_sub(lower) as u32 + 1) as f32
        }
    })
}

pub(crate) fn rows_of([_, y, z]: &Cells) -> impl Iterator<Item = (i32, i32)> {
    z.clone().flat_map(|z| y.clone().map(move |y| (y, z)))
}

pub(crate) fn images(second: u32) -> impl Iterator<Item = u32> {
    (0..=second).filter(move |image| image & !second == 0)
}
