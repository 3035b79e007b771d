//! The walk of the query passes: the twin of `shaders/common/query_cells.wgsl`, `shaders/common/query_walk.wgsl`,
//! `shaders/common/query_entry_one_cell.wgsl` and `shaders/common/query_entry_covered.wgsl`.

use std::ops::Range;

use super::blocks::{Overrides, Turns};
use super::pair_walk::passes_filters;
use super::query::{LoadedQuery, asked_by, distance_to, load_query, periods};
use super::rows::Table;
use crate::grid::{
    Class, DENSE, HOME_FLAG, ID_MASK, Level, NO_LEVEL, Params, Record, SCHEME_UNIFORM, axis_inverse, cell_of, classify,
    flush, key_of, place_uniform, unordered,
};
use crate::queries::{Query, asking};
use crate::types::Aabb;

/// What the query passes read, in binding order.
#[derive(Clone, Copy, Debug)]
pub struct QueryInput<'a> {
    /// Levels, records and cell table: bindings 1 to 3.
    pub table: Table<'a>,
    /// The queries; none where the objects themselves ask.
    pub queries: &'a [Query],
    /// Records of the objects that ask; none where they do not. Of the objects' own table or of another.
    pub askers: &'a [Record],
    /// The objects, for their filter words.
    pub objects: &'a [Aabb],
    /// Sorted values; read by the uniform scheme alone.
    pub values: &'a [u32],
}

impl QueryInput<'_> {
    /// Queries of the walk.
    pub(crate) fn count(&self, params: &Params) -> u32 {
        if params.asking == asking::NOBODY {
            params.query_count
        } else {
            self.askers.len() as u32
        }
    }

    /// The query with this index, and which answer it is for: askers come in the order of the records.
    pub(crate) fn begin(&self, params: &Params, index: u32) -> (LoadedQuery, u32) {
        if params.asking == asking::NOBODY {
            return (load_query(params, &self.queries[index as usize]), index);
        }
        let query = asked_by(params, self.objects, &self.askers[index as usize]);
        (query, query.asker.unwrap_or(index))
    }
}

struct Walk<'a, F> {
    params: &'a Params,
    input: &'a QueryInput<'a>,
    overrides: Overrides,
    query: LoadedQuery,
    accept: &'a mut F,
    candidates: u32,
    turns: Turns,
}

/// Hands every object of a query with its squared distance, in units of the query's scale, to `accept`; returns the box
/// tests, or 0 where they are not counted. Periodic axes have three images of an asker: itself, one period ahead and one
/// behind.
pub fn walk_query(
    params: &Params,
    input: &QueryInput<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    mut accept: impl FnMut(u32, f32),
) -> u32 {
    if !query.answers {
        return 0;
    }
    let images = periods(params).map(|period| i32::from(period > 0.0 && query.seeks_corners));
    let mut walk = Walk {
        params,
        input,
        overrides,
        query: *query,
        accept: &mut accept,
        candidates: 0,
        turns: Turns::default(),
    };
    for z in -images[2]..=images[2] {
        for y in -images[1]..=images[1] {
            for x in -images[0]..=images[0] {
                walk.query = query.at_image(params, [x, y, z]);
                walk.walk_image();
            }
        }
    }
    if overrides.count_candidates { walk.candidates } else { 0 }
}

impl<F: FnMut(u32, f32)> Walk<'_, F> {
    fn is_covered(&self) -> bool {
        self.params.scheme == SCHEME_UNIFORM
    }

    fn record(&self, entry: u32) -> &Record {
        let record = if self.is_covered() {
            self.input.values[entry as usize] & ID_MASK
        } else {
            entry
        };
        &self.input.table.records[record as usize]
    }

    fn walk_image(&mut self) {
        self.test_range(self.input.table.large(self.params, self.query.world));
        for (_, level) in self.input.table.grid.occupied_levels() {
            self.walk_level(level);
        }
    }

    fn distance_to(&mut self, record: &Record) -> Option<f32> {
        self.candidates = self.candidates.wrapping_add(1);
        distance_to(self.params, &self.query, record)
    }

    fn test_record(&mut self, record: &Record) {
        if let Some(squared) = self.distance_to(record) {
            self.found(record.object, squared);
        }
    }

    fn found(&mut self, object: u32, squared: f32) {
        let filters = Aabb {
            layers: self.query.layers,
            owner: self.query.owner,
            ..Aabb::point([0.0; 3])
        };
        if !self.overrides.filters || passes_filters(&filters, &self.input.objects[object as usize]) {
            (self.accept)(object, squared);
        }
    }

    fn test_range(&mut self, entries: Range<u32>) {
        for entry in entries {
            let is_home = !self.is_covered() || self.input.values[entry as usize] & HOME_FLAG != 0;
            if is_home {
                let record = *self.record(entry);
                self.test_record(&record);
            }
        }
    }

    /// Every object of the level but those of the large list, without cells. Entries may be many times more.
    fn test_level(&mut self, level: &Level) {
        if !self.is_covered() {
            self.test_range(self.input.table.level(level, self.query.world));
            return;
        }
        for record in self.input.table.records {
            let object = &self.input.objects[record.object as usize];
            let is_entered = classify(object) == Class::Finite
                && place_uniform(object.min, object.max, level.inverse).level != NO_LEVEL;
            if is_entered {
                self.test_record(record);
            }
        }
    }

    fn walk_level(&mut self, level: &Level) {
        let table = self.input.table;
        let detail = table.grid.x_detail;
        let inverse = axis_inverse(level.inverse, detail);
        let scheme = self.params.scheme;
        let reach = if self.query.seeks_corners {
            0
        } else {
            self.params.cell_reach()
        };
        let reach = [reach << detail, reach, reach];
        let bounds_lower = [level.lower_x, level.lower_y, level.lower_z];
        let bounds_upper = [level.upper_x, level.upper_y, level.upper_z];
        // Cells that objects of the level may be entered in.
        let lower = cell_of(scheme, self.query.search_min, inverse);
        let lower: [i32; 3] = std::array::from_fn(|axis| (lower[axis] - reach[axis]).max(bounds_lower[axis]));
        let upper = cell_of(scheme, self.query.search_max, inverse);
        let upper: [i32; 3] = std::array::from_fn(|axis| upper[axis].min(bounds_upper[axis]));
        if (0..3).any(|axis| lower[axis] > upper[axis]) {
            return;
        }
        let objects = if self.is_covered() {
            table.records.len()
        } else {
            table.level(level, self.query.world).len()
        };
        let rows = |axis: usize| upper[axis] as f32 - lower[axis] as f32 + 1.0;
        let rows = rows(1) * rows(2);
        let row_cells = (upper[0] >> level.x_shift) as f32 - (lower[0] >> level.x_shift) as f32 + 1.0;
        // Hashed slots would be looked at again and again.
        let is_crowded = level.table_mask != DENSE && rows * row_cells >= level.table_size as f32;
        let beyond = |axis: usize| upper[axis] as f32 - lower[axis] as f32 + 2.0;
        if is_crowded || rows >= objects as f32 || !self.turns.take(beyond(1) * beyond(2)) {
            self.test_level(level);
            return;
        }
        for z in lower[2]..=upper[2] {
            for y in lower[1]..=upper[1] {
                for entries in table.row(level, lower[0], upper[0], y, z, self.query.world) {
                    for entry in entries {
                        let record = *self.record(entry);
                        if let Some(squared) = self.distance_to(&record)
                            && self.is_met_here(level, entry, lower, upper, y, z)
                        {
                            self.found(record.object, squared);
                        }
                    }
                }
            }
        }
    }

    /// One entry an object: whether the entry lies in the row `y`, `z` of the query's cells rather than in one that shares
    /// its slots. Covered cells: whether this is the first cell that the object shares with the query.
    fn is_met_here(&self, level: &Level, entry: u32, lower: [i32; 3], upper: [i32; 3], y: i32, z: i32) -> bool {
        let inverse = axis_inverse(level.inverse, self.input.table.grid.x_detail);
        let corner = self.record(entry).low.map(|bound| flush(unordered(bound)));
        let home = cell_of(self.params.scheme, corner, inverse);
        if !self.is_covered() {
            return home[1] == y && home[2] == z && (lower[0]..=upper[0]).contains(&home[0]);
        }
        // Lower corners lie in the home cell.
        let first: [i32; 3] = if self.query.seeks_corners {
            home
        } else {
            std::array::from_fn(|axis| home[axis].max(lower[axis]))
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
