//! Nearest objects of queries. Finds the same objects as the reference pass, through other cells.
//!
//! A query first tests the block of cells around it. Its farthest result then bounds the search: rows of cells follow
//! outward, each as far along x as the bound reaches. If the block has too few objects, their density gives a first
//! radius, which doubles until there are enough.

use std::ops::{Range, RangeInclusive};

use super::boxes::{Boxes, Place, Surroundings};
use crate::api::counters::word;
use crate::api::queries::{NearestObject, self_query};
use crate::layout::blocks::Overrides;
use crate::layout::grid::{Level, Params, SCHEME_UNIFORM, cell_of};
use crate::reference::queries::query::{LoadedQuery, distance_key, distance_to, periods, squared_float};
use crate::reference::queries::query_nearest::{Nearest, query_nearest};
use crate::reference::queries::query_rings::{bounded, fullest_first};
use crate::reference::queries::query_walk::{Cells, QueryReads, passes, rows_of, spans_level};
use crate::shared::cancel::end_if_stopped;
use crate::shared::runs::{self, in_runs, map};

/// Entries that are tested in the time that a row of cells takes.
const ENTRIES_PER_ROW: u64 = 4;

/// Like [`query_nearest`], which it calls for the uniform scheme, across periods, and to count box tests.
pub(super) fn nearest(
    params: &Params,
    walks: &[QueryReads<'_>],
    boxes: &[&Boxes],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<NearestObject> {
    let is_periodic = params.self_query == self_query::NEIGHBORS && periods(params) != [0.0; 3];
    if is_periodic || params.scheme == SCHEME_UNIFORM || overrides.count_candidates {
        return query_nearest(params, walks, overrides, counters);
    }
    let wanted = params.nearest as usize;
    let mut nearest = vec![NearestObject::NONE; wanted * params.query_count as usize];
    // Two walks ask the same queries.
    let walks: Vec<_> = walks.iter().zip(boxes).collect();
    for walks in walks.chunks(2) {
        let input = walks[0].0;
        let order = order_of(params, input);
        let run = |places: Range<u32>| {
            let mut nearest = vec![NearestObject::NONE; wanted * places.len()];
            let mut answers = Vec::with_capacity(places.len());
            let mut invalid = 0;
            let mut found = Nearest::new(wanted);
            for (slots, place) in nearest.chunks_mut(wanted).zip(places) {
                end_if_stopped();
                found.clear();
                let index = order.as_ref().map_or(place, |order| order[place as usize].1);
                let (query, answer) = input.begin(params, index);
                answers.push(answer);
                invalid += u32::from(!query.valid);
                if query.answers {
                    let place = Place::of(params, &query);
                    for (input, boxes) in walks {
                        let mut search = Search {
                            params,
                            input,
                            boxes,
                            overrides: boxes.overrides_of(&query, overrides),
                            query: &query,
                            place: &place,
                            found: &mut found,
                            most: f32::INFINITY,
                            reach: f32::MAX,
                        };
                        search.run();
                    }
                }
                found.write(slots);
            }
            (answers, nearest, invalid)
        };
        for (answers, of_run, invalid) in in_runs(input.count(params), run) {
            for (slots, answer) in of_run.chunks(wanted).zip(answers) {
                nearest[wanted * answer as usize..][..wanted].copy_from_slice(slots);
            }
            counters[word::QUERIES_INVALID] += invalid;
        }
    }
    nearest
}

/// Queries in the order of their cells, since queries in one cell read the same objects. `None` if they are already.
fn order_of(params: &Params, input: &QueryReads<'_>) -> Option<Vec<([i32; 3], u32)>> {
    let (_, level) = fullest_first(input.table.grid).next()?;
    if params.self_query != self_query::NONE {
        return None;
    }
    let cell = |index: u32| {
        let (query, _) = input.begin(params, index);
        let low = [2, 1, 0].map(|axis| query.corners(axis)[0]);
        cell_of(params.scheme, low, [level.inverse; 3])
    };
    let mut order = map(params.query_count, |index| (cell(index), index));
    runs::sort(&mut order);
    Some(order)
}

struct Search<'a> {
    params: &'a Params,
    input: &'a QueryReads<'a>,
    boxes: &'a Boxes,
    overrides: Overrides,
    query: &'a LoadedQuery,
    place: &'a Place,
    found: &'a mut Nearest,
    /// As in [`Boxes::near`].
    most: f32,
    /// Largest radius to search.
    reach: f32,
}

fn rows(cells: &Cells) -> u64 {
    let count = |cells: &RangeInclusive<i32>| (i64::from(*cells.end()) - i64::from(*cells.start()) + 1).max(0) as u64;
    count(&cells[1]) * count(&cells[2])
}

/// Visits the cells of a range, from `own` outward.
fn outward(cells: &RangeInclusive<i32>, own: i32, mut visit: impl FnMut(i32)) {
    let middle = own.min(*cells.end()).max(*cells.start());
    visit(middle);
    for step in 1..=(cells.end() - middle).max(middle - cells.start()) {
        for cell in [middle - step, middle + step] {
            if cells.contains(&cell) {
                visit(cell);
            }
        }
    }
}

impl Search<'_> {
    fn run(&mut self) {
        let (table, params) = (self.input.table, self.params);
        self.bound();
        self.test(table.large(params, self.query.world));
        let Some((index, fullest)) = fullest_first(table.grid).next() else {
            return;
        };
        let around = Surroundings::new(params, self.boxes, self.place, index, fullest);
        let block = around.cells(self.bounded(0.5 * around.sides[1]));
        // Large queries cover more rows than there are entries.
        let is_small = ENTRIES_PER_ROW * rows(&block) <= table.level(fullest, self.query.world).len() as u64;
        let block = Some(block).filter(|block| is_small && !block.iter().any(RangeInclusive::is_empty));
        let entries = block.as_ref().map_or(0, |block| self.test_block(fullest, block));
        let mut radius = self.first_radius(&around, block.as_ref(), entries);
        loop {
            let mut is_everything = true;
            let mut excluded = block.as_ref();
            for (index, level) in fullest_first(table.grid) {
                let around = Surroundings::new(params, self.boxes, self.place, index, level);
                is_everything &= self.test_within(&around, excluded.take(), radius);
            }
            let is_far_enough = radius >= self.query.radius || self.found.limit() <= distance_key([radius, 0.0, 0.0]);
            if is_everything || is_far_enough {
                return;
            }
            radius = self.bounded(2.0 * radius);
        }
    }

    /// Sets `most`, which it returns, and `reach`.
    fn bound(&mut self) -> f32 {
        let limit = self.found.limit();
        let farthest = match squared_float(limit) {
            // Too small for a float.
            0.0 if limit > 0 => f32::INFINITY,
            squared => squared.sqrt(),
        };
        self.reach = bounded(limit, self.query, f32::MAX);
        self.most = self.place.most(farthest.min(self.query.radius));
        self.most
    }

    fn bounded(&self, radius: f32) -> f32 {
        radius.max(f32::MIN_POSITIVE).min(self.reach)
    }

    /// Radius that bounds the results, or that of a ball with enough objects if they are as dense as in the block.
    fn first_radius(&self, around: &Surroundings<'_>, block: Option<&Cells>, entries: usize) -> f32 {
        if self.found.limit() < u32::MAX {
            return self.reach;
        }
        let cells = |axis: usize| block.map_or(1.0, |block| (block[axis].end() - block[axis].start() + 1) as f32);
        let volume: f32 = (0..3).map(|axis| cells(axis) * around.sides[axis]).product();
        let share = self.found.wanted() as f32 / entries.max(1) as f32;
        let radius = (0.4 * share * volume).cbrt();
        self.bounded(if radius.is_finite() { radius } else { around.sides[1] })
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
    fn test_within(&mut self, around: &Surroundings<'_>, excluded: Option<&Cells>, radius: f32) -> bool {
        let level = around.level;
        let entries = self.input.table.level(level, self.query.world);
        if entries.is_empty() {
            return true;
        }
        let reach = self.bounded(radius);
        let cells = around.cells(reach);
        if cells.iter().any(RangeInclusive::is_empty) {
            return false;
        }
        if ENTRIES_PER_ROW * rows(&cells) >= entries.len() as u64 || spans_level(&cells, level) {
            self.test(entries);
            return true;
        }
        let own = around.own();
        outward(&cells[2], own[2], |z| {
            let gap_z = around.gap(2, z);
            if gap_z > self.reach {
                return;
            }
            outward(&cells[1], own[1], |y| {
                let Some([first, last]) = around.row(self.bounded(reach), around.gap(1, y), gap_z) else {
                    return;
                };
                match excluded.filter(|block| block[1].contains(&y) && block[2].contains(&z)) {
                    Some(block) => {
                        self.test_row(level, first, last.min(*block[0].start() - 1), y, z);
                        self.test_row(level, first.max(*block[0].end() + 1), last, y, z);
                    }
                    None => {
                        self.test_row(level, first, last, y, z);
                    }
                }
            });
        });
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
        let (boxes, place) = (self.boxes, self.place);
        boxes.near(entries, place, self.most, |entry| self.test_entry(entry));
    }

    /// Returns the new `most`.
    fn test_entry(&mut self, entry: u32) -> f32 {
        let record = &self.input.table.records[entry as usize];
        let distance = distance_to(self.params, self.query, record);
        let Some(distance) = distance.filter(|&distance| distance <= self.found.limit()) else {
            return self.most;
        };
        if !passes(self.params, self.input, self.overrides, self.query, record.object) {
            return self.most;
        }
        self.found.insert(record.object, distance);
        self.bound()
    }
}
