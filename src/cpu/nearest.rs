//! Nearest objects of queries. Finds the same objects as the reference pass, by other cells.
//!
//! A query tests the block of cells around it first. The distance of its farthest result then bounds the search: rows of
//! cells follow outward, each as far along x as the bound reaches. If the block has too few objects, their density
//! gives a first radius, which doubles until there are enough.

use std::ops::{Range, RangeInclusive};

use crate::api::counters::word;
use crate::api::queries::{NearestObject, self_query};
use crate::api::types::Aabb;
use crate::layout::blocks::Overrides;
use crate::layout::grid::{
    Grid, Level, Params, Record, SCHEME_ADAPTIVE, SCHEME_UNIFORM, axis_inverse, cell_of, unordered,
};
use crate::reference::pairs::pair_walk::passes_filters;
use crate::reference::queries::query::{LoadedQuery, SLACK, distance_key, distance_to, squared_float};
use crate::reference::queries::query_nearest::query_nearest;
use crate::reference::queries::query_walk::QueryReads;
use crate::shared::cancel::end_if_stopped;
use crate::shared::runs::{self, in_runs, map};

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
    let order = by_cell(params, walks);
    let run = |places: Range<u32>| {
        let mut nearest = vec![NearestObject::NONE; wanted * places.len()];
        let mut invalid = 0;
        let mut found = Vec::with_capacity(wanted + 1);
        let places = places.start as usize..places.end as usize;
        for (slots, &(_, index)) in nearest.chunks_mut(wanted).zip(&order[places]) {
            end_if_stopped();
            found.clear();
            for (walk, input) in walks.iter().enumerate() {
                let (query, _) = input.begin(params, index);
                invalid += u32::from(!query.valid && walk == 0);
                let search = Search {
                    params,
                    input,
                    filters: overrides.filters.then(|| filters_of(&query)),
                    query,
                    wanted,
                    found: &mut found,
                    corners: [0, 1, 2].map(|axis| query.corners(axis)),
                    most: f32::INFINITY,
                };
                search.run();
            }
            for (slot, &(distance, object)) in slots.iter_mut().zip(&found) {
                *slot = NearestObject {
                    object,
                    squared_distance: squared_float(distance),
                };
            }
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
fn by_cell(params: &Params, walks: &[QueryReads<'_>]) -> Vec<([i32; 3], u32)> {
    let grid = walks.first().map(|input| input.table.grid);
    let level = grid.and_then(|grid| grid.levels.get(grid.fullest_level as usize));
    let cell = |index: u32| {
        let (Some(level), Some(input)) = (level, walks.first()) else {
            return [0; 3];
        };
        let (query, _) = input.begin(params, index);
        let low = [2, 1, 0].map(|axis| query.corners(axis)[0]);
        cell_of(params.scheme, low, [level.inverse; 3])
    };
    let mut order = map(params.query_count, |index| (cell(index), index));
    runs::sort(&mut order);
    order
}

fn filters_of(query: &LoadedQuery) -> Aabb {
    Aabb {
        layers: query.layers,
        owner: query.owner,
        ..Aabb::point([0.0; 3])
    }
}

struct Search<'a> {
    params: &'a Params,
    input: &'a QueryReads<'a>,
    filters: Option<Aabb>,
    query: LoadedQuery,
    wanted: usize,
    /// Nearest objects so far, with distances as integers ([`distance_key`]), in order.
    found: &'a mut Vec<(u32, u32)>,
    /// Corners of the query.
    corners: [[f32; 2]; 3],
    /// Objects are not among the nearest if their squared distance in plain floats exceeds this.
    most: f32,
}

/// Cells of a level around a query.
struct Around<'a> {
    level: &'a Level,
    inverse: [f32; 3],
    sides: [f32; 3],
    /// Cells of the query's corners.
    own: [[i32; 3]; 2],
    /// Number of cells by which objects extend past their cell.
    reach: [i32; 3],
}

type Cells = [RangeInclusive<i32>; 3];

/// Entries that are tested in the time that a row of cells takes.
const ENTRIES_PER_ROW: u64 = 4;

impl<'a> Around<'a> {
    fn new(params: &Params, grid: &Grid, corners: [[f32; 2]; 3], level: &'a Level) -> Self {
        let inverse = axis_inverse(level.inverse, grid.x_detail);
        let unit = if params.scheme == SCHEME_ADAPTIVE { 2.0 } else { 1.0 };
        let reach = params.cell_reach();
        Self {
            level,
            inverse,
            sides: inverse.map(|inverse| unit / inverse),
            own: [0, 1].map(|end| cell_of(params.scheme, corners.map(|corner| corner[end]), inverse)),
            reach: [reach << grid.x_detail, reach, reach],
        }
    }

    fn bounds(&self) -> Cells {
        let level = self.level;
        [
            level.lower_x..=level.upper_x,
            level.lower_y..=level.upper_y,
            level.lower_z..=level.upper_z,
        ]
    }

    /// Cells that hold the objects at distance 0.
    fn block(&self) -> Cells {
        let bounds = self.bounds();
        std::array::from_fn(|axis| {
            let first = self.own[0][axis] - self.reach[axis];
            let last = self.own[1][axis];
            first.max(*bounds[axis].start())..=last.min(*bounds[axis].end())
        })
    }

    /// Lower bound of the distance along an axis to objects of a cell.
    fn gap(&self, corners: [f32; 2], axis: usize, cell: i32) -> f32 {
        let [own_lower, own_upper] = self.own.map(|own| own[axis]);
        let below = own_lower - 1 - self.reach[axis] - cell;
        let gap = below.max(cell - 1 - own_upper).max(0) as f32 * self.sides[axis];
        let [low, high] = corners.map(f32::abs);
        (gap - (gap + low.max(high)) * SLACK).max(0.0)
    }
}

fn count(cells: &RangeInclusive<i32>) -> u64 {
    (i64::from(*cells.end()) - i64::from(*cells.start()) + 1).max(0) as u64
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

impl Search<'_> {
    fn run(mut self) {
        let (table, params) = (self.input.table, self.params);
        if !self.query.answers {
            return;
        }
        self.bound();
        self.test(table.large(params, self.query.world));
        let grid = table.grid;
        let is_fullest = |&(index, _): &(u32, &Level)| index == grid.fullest_level;
        let fullest = grid.occupied_levels().find(is_fullest).map(|(_, level)| level);
        let Some(fullest) = fullest.or_else(|| grid.occupied_levels().next().map(|(_, level)| level)) else {
            return;
        };
        let around = Around::new(params, grid, self.corners, fullest);
        // Large queries cover more rows than there are entries.
        let few = table.level(fullest, self.query.world).len() as u64;
        let is_small = |block: &Cells| {
            let rows = count(&block[1]) * count(&block[2]);
            ENTRIES_PER_ROW * rows <= few && !block.iter().any(RangeInclusive::is_empty)
        };
        let block = Some(around.block()).filter(is_small);
        let entries = block.as_ref().map_or(0, |block| self.test_cells(&around, block));
        let mut radius = self.first_radius(&around, block.as_ref(), entries);
        loop {
            radius = radius.min(self.query.radius);
            let mut is_everything = true;
            for (_, level) in grid.occupied_levels() {
                if std::ptr::eq(level, fullest) {
                    is_everything &= self.test_within(&around, block.as_ref(), radius);
                } else {
                    let around = Around::new(params, grid, self.corners, level);
                    is_everything &= self.test_within(&around, None, radius);
                }
            }
            let is_far_enough = radius >= self.query.radius || self.limit() <= distance_key([radius, 0.0, 0.0]);
            if is_everything || is_far_enough {
                return;
            }
            radius = self.reach_of(2.0 * radius);
        }
    }

    /// Sets `most`. Floats whose squares overflow or lose bits bound nothing.
    fn bound(&mut self) {
        let most = squared_float(self.limit()).min(self.query.radius * self.query.radius);
        let is_exact_enough = (1e-30..1e30).contains(&most);
        self.most = if is_exact_enough { most * 1.0001 } else { f32::INFINITY };
    }

    /// Largest distance that counts.
    fn limit(&self) -> u32 {
        self.found
            .get(self.wanted - 1)
            .map_or(u32::MAX, |&(distance, _)| distance)
    }

    /// Returns `radius`, or less if results are known to be nearer.
    fn reach_of(&self, radius: f32) -> f32 {
        let limit = self.limit();
        let needed = squared_float(limit).sqrt() * (1.0 + SLACK);
        if distance_key([needed, 0.0, 0.0]) >= limit {
            radius.min(needed.max(f32::MIN_POSITIVE))
        } else {
            radius
        }
    }

    /// Radius that bounds the results, or that of a ball with enough objects if they are as dense as in the block.
    fn first_radius(&self, around: &Around<'_>, block: Option<&Cells>, entries: usize) -> f32 {
        let whole = self.reach_of(f32::MAX);
        if whole < f32::MAX {
            return whole;
        }
        let cells = |axis: usize| block.map_or(1.0, |block| count(&block[axis]) as f32);
        let volume: f32 = (0..3).map(|axis| cells(axis) * around.sides[axis]).product();
        let share = self.wanted as f32 / entries.max(1) as f32;
        let radius = (0.25 * share * volume).cbrt();
        let least = around.sides[1].clamp(f32::MIN_POSITIVE, f32::MAX);
        if radius.is_finite() { radius.max(least) } else { least }
    }

    /// Tests the entries of a block of cells. Returns their number.
    fn test_cells(&mut self, around: &Around<'_>, cells: &Cells) -> usize {
        let [x, y, z] = cells;
        let (table, world) = (self.input.table, self.query.world);
        let mut entries = 0;
        for z in z.clone() {
            for y in y.clone() {
                for row in table.row(around.level, *x.start(), *x.end(), y, z, world) {
                    entries += row.len();
                    self.test(row);
                }
            }
        }
        entries
    }

    /// Tests the entries of a level within `radius`, except those of the `block`. Returns true if these were all.
    fn test_within(&mut self, around: &Around<'_>, block: Option<&Cells>, radius: f32) -> bool {
        let (params, table, level) = (self.params, self.input.table, around.level);
        let entries = table.level(level, self.query.world);
        if entries.is_empty() {
            return true;
        }
        let reach = self.reach_of(radius);
        let ball = self.query.within(params, reach);
        let bounds = around.bounds();
        let ends = [ball.search_min, ball.search_max].map(|corner| cell_of(params.scheme, corner, around.inverse));
        let cells: Cells = std::array::from_fn(|axis| {
            let [first, last] = ends.map(|cell| cell[axis]);
            (first - around.reach[axis]).max(*bounds[axis].start())..=last.min(*bounds[axis].end())
        });
        if cells.iter().any(RangeInclusive::is_empty) {
            return false;
        }
        let rows = count(&cells[1]) * count(&cells[2]);
        if ENTRIES_PER_ROW * rows >= entries.len() as u64 || cells == bounds {
            self.test(entries);
            return true;
        }
        let own = around.own[0];
        for z in outward(&cells[2], own[2]) {
            let gap_z = around.gap(self.corners[2], 2, z);
            for y in outward(&cells[1], own[1]) {
                let gap_y = around.gap(self.corners[1], 1, y);
                let reach = self.reach_of(reach);
                let part = |gap: f32| if reach > 0.0 { gap / reach } else { 0.0 };
                let left = 1.0 + 8.0 * SLACK - part(gap_y) * part(gap_y) - part(gap_z) * part(gap_z);
                if left < 0.0 {
                    continue;
                }
                let [low, high] = self.corners[0];
                let reach = reach * left.sqrt().min(1.0);
                let reach = reach + (low.abs().max(high.abs()) + reach) * 2.0 * SLACK;
                let ends = [(low - reach).max(f32::MIN), (high + reach).min(f32::MAX), 0.0];
                let [first, last, _] = cell_of(params.scheme, ends, [around.inverse[0]; 3]);
                let first = first - around.reach[0];
                match block.filter(|block| block[1].contains(&y) && block[2].contains(&z)) {
                    Some(block) if !block[0].is_empty() => {
                        self.test_row(level, first, last.min(*block[0].start() - 1), y, z);
                        self.test_row(level, first.max(*block[0].end() + 1), last, y, z);
                    }
                    _ => self.test_row(level, first, last, y, z),
                }
            }
        }
        false
    }

    fn test_row(&mut self, level: &Level, first: i32, last: i32, y: i32, z: i32) {
        if first <= last {
            for row in self.input.table.row(level, first, last, y, z, self.query.world) {
                self.test(row);
            }
        }
    }

    fn test(&mut self, entries: Range<u32>) {
        let table = self.input.table;
        for (cluster, members) in table.clustered(entries) {
            if let Some(cluster) = cluster {
                // The cluster's box stands for objects of any world.
                let world = self.query.world;
                let cluster = Record { world, ..*cluster };
                let distance = distance_to(self.params, &self.query, &cluster);
                if distance.is_none_or(|distance| distance > self.limit()) {
                    continue;
                }
            }
            for record in &table.records[members.start as usize..members.end as usize] {
                let gap = |axis: usize| {
                    let [low, high] = self.corners[axis];
                    // Infinite bounds are clamped, as those of the query are.
                    let below = low - unordered(record.high[axis]).max(f32::MIN);
                    let above = unordered(record.low[axis]).min(f32::MAX) - high;
                    below.max(above).max(0.0)
                };
                let [x, y, z] = [gap(0), gap(1), gap(2)];
                if x * x + y * y + z * z > self.most {
                    continue;
                }
                self.test_record(record);
            }
        }
    }

    fn test_record(&mut self, record: &Record) {
        let distance = distance_to(self.params, &self.query, record);
        let Some(distance) = distance.filter(|&distance| distance <= self.limit()) else {
            return;
        };
        let object = &self.input.objects[record.object as usize];
        if self
            .filters
            .as_ref()
            .is_some_and(|filters| !passes_filters(filters, object))
        {
            return;
        }
        if let Err(place) = self.found.binary_search(&(distance, record.object))
            && place < self.wanted
        {
            self.found.truncate(self.wanted - 1);
            self.found.insert(place, (distance, record.object));
            self.bound();
        }
    }
}
