//! Nearest objects of queries. Finds the same objects as the reference pass, through other cells.
//!
//! A query first tests the block of cells that has the objects at distance 0. Its farthest result then bounds the
//! search: rows of cells follow outward, each as far along x as the bound reaches. If the block has too few objects,
//! their density gives a first radius, which doubles until there are enough.

use std::ops::{Range, RangeInclusive};

use crate::api::counters::word;
use crate::api::queries::{NearestObject, self_query};
use crate::api::types::Aabb;
use crate::layout::blocks::Overrides;
use crate::layout::grid::{Level, Params, Record, SCHEME_UNIFORM, cell_of, unordered};
use crate::reference::pairs::pair_walk::passes_filters;
use crate::reference::queries::query::{LoadedQuery, SLACK, distance_key, distance_to, squared_float};
use crate::reference::queries::query_nearest::{Nearest, query_nearest};
use crate::reference::queries::query_rings::{QueryCells, bounded, fullest_first};
use crate::reference::queries::query_walk::{Cells, QueryReads, cells_of, cluster_distance, rows_of};
use crate::shared::cancel::end_if_stopped;
use crate::shared::runs::{self, in_runs, map};

/// Entries that are tested in the time that a row of cells takes.
const ENTRIES_PER_ROW: u64 = 4;

/// Like [`query_nearest`], which it calls for the uniform scheme, for self-queries, and to count box tests.
pub(super) fn nearest(
    params: &Params,
    walks: &[QueryReads<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<NearestObject> {
    let is_self_query = params.self_query != self_query::NONE;
    if is_self_query || params.scheme == SCHEME_UNIFORM || overrides.count_candidates {
        return query_nearest(params, walks, overrides, counters);
    }
    let wanted = params.nearest as usize;
    let order = by_cell(params, &walks[0]);
    let run = |places: Range<u32>| {
        let mut nearest = vec![NearestObject::NONE; wanted * places.len()];
        let mut invalid = 0;
        let mut found = Nearest::new(wanted);
        let places = places.start as usize..places.end as usize;
        for (slots, &(_, index)) in nearest.chunks_mut(wanted).zip(&order[places]) {
            end_if_stopped();
            found.clear();
            let (query, _) = walks[0].begin(params, index);
            invalid += u32::from(!query.valid);
            if query.answers {
                for input in walks {
                    Search::new(params, input, overrides, &query, &mut found).run();
                }
            }
            found.write(slots);
        }
        (nearest, invalid)
    };
    let mut nearest = vec![NearestObject::NONE; wanted * params.query_count as usize];
    let mut order = order.iter();
    for (of_run, invalid) in in_runs(params.query_count, run) {
        for (slots, &(_, index)) in of_run.chunks(wanted).zip(&mut order) {
            nearest[wanted * index as usize..][..wanted].copy_from_slice(slots);
        }
        counters[word::QUERIES_INVALID] += invalid;
    }
    nearest
}

/// Queries in the order of their cells on the fullest level, since queries in one cell read the same objects.
fn by_cell(params: &Params, input: &QueryReads<'_>) -> Vec<([i32; 3], u32)> {
    let inverse = fullest_first(input.table.grid)
        .next()
        .map_or(0.0, |level| level.inverse);
    let cell = |index: u32| {
        let (query, _) = input.begin(params, index);
        let low = [2, 1, 0].map(|axis| query.corners(axis)[0]);
        cell_of(params.scheme, low, [inverse; 3])
    };
    let mut order = map(params.query_count, |index| (cell(index), index));
    runs::sort(&mut order);
    order
}

/// Search of a query in one table.
struct Search<'a> {
    params: &'a Params,
    input: &'a QueryReads<'a>,
    query: &'a LoadedQuery,
    filters: Option<Aabb>,
    corners: [[f32; 2]; 3],
    found: &'a mut Nearest,
    /// Objects are not among the nearest if their squared distance in plain floats exceeds this.
    most: f32,
}

fn rows(cells: &Cells) -> u64 {
    let count = |cells: &RangeInclusive<i32>| (i64::from(*cells.end()) - i64::from(*cells.start()) + 1).max(0) as u64;
    count(&cells[1]) * count(&cells[2])
}

/// The cells of a range, from `own` outward.
fn outward(cells: &RangeInclusive<i32>, own: i32) -> impl Iterator<Item = i32> + use<> {
    let (first, last) = (*cells.start(), *cells.end());
    let middle = own.min(last).max(first);
    let mut above = (middle..=last).map(move |cell| (cell - middle, cell)).peekable();
    let mut below = (first..middle).rev().map(move |cell| (middle - cell, cell)).peekable();
    std::iter::from_fn(move || match (above.peek(), below.peek()) {
        (Some(up), Some(down)) if down.0 <= up.0 => below.next(),
        (Some(_), _) => above.next(),
        (None, _) => below.next(),
    })
    .map(|(_, cell)| cell)
}

impl<'a> Search<'a> {
    fn new(
        params: &'a Params,
        input: &'a QueryReads<'a>,
        overrides: Overrides,
        query: &'a LoadedQuery,
        found: &'a mut Nearest,
    ) -> Self {
        let mut search = Self {
            params,
            input,
            query,
            filters: overrides.filters.then(|| query.filters()),
            corners: [0, 1, 2].map(|axis| query.corners(axis)),
            found,
            most: f32::INFINITY,
        };
        search.bound();
        search
    }

    fn run(mut self) {
        let (table, params, grid) = (self.input.table, self.params, self.input.table.grid);
        self.test(table.large(params, self.query.world));
        let Some(fullest) = fullest_first(grid).next() else {
            return;
        };
        let block = cells_of(params, grid, &self.query.within(params, 0.0), fullest);
        // Large queries cover more rows than there are entries.
        let is_small = ENTRIES_PER_ROW * rows(&block) <= table.level(fullest, self.query.world).len() as u64;
        let block = Some(block).filter(|block| is_small && !block.iter().any(RangeInclusive::is_empty));
        let entries = block.as_ref().map_or(0, |block| self.test_block(fullest, block));
        let around = QueryCells::new(params, grid, self.query, fullest);
        let mut radius = self.first_radius(&around, block.as_ref(), entries);
        loop {
            let mut is_everything = true;
            let mut excluded = block.as_ref();
            for level in fullest_first(grid) {
                let around = QueryCells::new(params, grid, self.query, level);
                is_everything &= self.test_within(&around, excluded.take(), radius);
            }
            let is_far_enough = radius >= self.query.radius || self.found.limit() <= distance_key([radius, 0.0, 0.0]);
            if is_everything || is_far_enough {
                return;
            }
            radius = self.bounded(2.0 * radius);
        }
    }

    /// Sets `most`. Floats whose squares overflow or lose bits bound nothing.
    fn bound(&mut self) {
        let most = squared_float(self.found.limit()).min(self.query.radius * self.query.radius);
        let is_exact_enough = (1e-30..1e30).contains(&most);
        self.most = if is_exact_enough { most * 1.0001 } else { f32::INFINITY };
    }

    fn bounded(&self, radius: f32) -> f32 {
        bounded(self.found.limit(), self.query, radius)
    }

    /// Radius that bounds the results, or that of a ball with enough objects if they are as dense as in the block.
    fn first_radius(&self, around: &QueryCells<'_>, block: Option<&Cells>, entries: usize) -> f32 {
        if self.found.limit() < u32::MAX {
            return self.bounded(f32::MAX);
        }
        let cells = |axis: usize| block.map_or(1.0, |block| (block[axis].end() - block[axis].start() + 1) as f32);
        let volume: f32 = (0..3).map(|axis| cells(axis) * around.sides[axis]).product();
        let share = self.found.wanted() as f32 / entries.max(1) as f32;
        let radius = (0.25 * share * volume).cbrt();
        let least = around.sides[1].clamp(f32::MIN_POSITIVE, f32::MAX);
        self.bounded(if radius.is_finite() { radius.max(least) } else { least })
    }

    /// Tests the entries of a block of cells. Returns their number.
    fn test_block(&mut self, level: &Level, block: &Cells) -> usize {
        let mut entries = 0;
        for (y, z) in rows_of(block) {
            entries += self.test_row(level, *block[0].start(), *block[0].end(), y, z);
        }
        entries
    }

    /// Tests the entries of a level within `radius`, except those of the block `excluded`. Returns true if these were
    /// all.
    fn test_within(&mut self, around: &QueryCells<'_>, excluded: Option<&Cells>, radius: f32) -> bool {
        let (params, table, level) = (self.params, self.input.table, around.level);
        let entries = table.level(level, self.query.world);
        if entries.is_empty() {
            return true;
        }
        let reach = self.bounded(radius);
        let cells = cells_of(params, table.grid, &self.query.within(params, reach), level);
        if cells.iter().any(RangeInclusive::is_empty) {
            return false;
        }
        if ENTRIES_PER_ROW * rows(&cells) >= entries.len() as u64 || around.spans(&cells) {
            self.test(entries);
            return true;
        }
        for z in outward(&cells[2], around.own[0][2]) {
            let gap_z = around.gap(2, z, z);
            for y in outward(&cells[1], around.own[0][1]) {
                let gap_y = around.gap(1, y, y);
                // The part of the ball in this row, along x.
                let reach = self.bounded(reach);
                let part = |gap: f32| if reach > 0.0 { gap / reach } else { 0.0 };
                let left = 1.0 + 8.0 * SLACK - part(gap_y) * part(gap_y) - part(gap_z) * part(gap_z);
                if left < 0.0 {
                    continue;
                }
                let [first, last] = around.x_within(params, table.grid, self.corners[0], reach * left.sqrt().min(1.0));
                match excluded.filter(|block| block[1].contains(&y) && block[2].contains(&z)) {
                    Some(block) => {
                        self.test_row(level, first, last.min(*block[0].start() - 1), y, z);
                        self.test_row(level, first.max(*block[0].end() + 1), last, y, z);
                    }
                    None => {
                        self.test_row(level, first, last, y, z);
                    }
                }
            }
        }
        false
    }

    /// Tests the entries of the cells `first..=last` of a row. Returns their number.
    fn test_row(&mut self, level: &Level, first: i32, last: i32, y: i32, z: i32) -> usize {
        let ranges = self.input.table.row(level, first, last, y, z, self.query.world);
        let entries = ranges.iter().map(Range::len).sum();
        ranges.into_iter().for_each(|range| self.test(range));
        entries
    }

    fn test(&mut self, entries: Range<u32>) {
        let table = self.input.table;
        for (cluster, members) in table.clustered(entries) {
            if let Some(cluster) = cluster {
                let distance = cluster_distance(self.params, self.query, cluster);
                if distance.is_none_or(|distance| distance > self.found.limit()) {
                    continue;
                }
            }
            for record in &table.records[members.start as usize..members.end as usize] {
                if self.is_near(record) {
                    self.test_record(record);
                }
            }
        }
    }

    /// Returns false only for objects beyond `most`. Cheaper than the exact distance.
    fn is_near(&self, record: &Record) -> bool {
        let gap = |axis: usize| {
            let [low, high] = self.corners[axis];
            // Infinite bounds are clamped, as those of the query are.
            let below = low - unordered(record.high[axis]).max(f32::MIN);
            let above = unordered(record.low[axis]).min(f32::MAX) - high;
            below.max(above).max(0.0)
        };
        let [x, y, z] = [gap(0), gap(1), gap(2)];
        let is_far = x * x + y * y + z * z > self.most;
        !is_far
    }

    fn test_record(&mut self, record: &Record) {
        let distance = distance_to(self.params, self.query, record);
        let Some(distance) = distance.filter(|&distance| distance <= self.found.limit()) else {
            return;
        };
        let object = &self.input.objects[record.object as usize];
        let passes = |filters: &Aabb| passes_filters(filters, object);
        if self.filters.as_ref().is_none_or(passes) {
            self.found.insert(record.object, distance);
            self.bound();
        }
    }
}
