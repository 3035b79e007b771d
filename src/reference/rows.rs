//! Reference of `shaders/common/rows.wgsl`.

use std::ops::Range;

use crate::api::types::{ALL_WORLDS, Aabb};
use crate::layout::grid::{
    CLUSTER, DENSE, Grid, ID_MASK, Level, PRIMARY_FLAGS, Params, Record, SCHEME_UNIFORM, bucket_of, is_in_cells, key_of,
};

#[derive(Clone, Copy, Debug)]
pub struct CellTable<'a> {
    pub grid: &'a Grid,
    /// Output of [`gather`](super::table::gather::gather).
    pub records: &'a [Record],
    /// Output of [`cell_starts`](super::table::gather::cell_starts).
    pub starts: &'a [u32],
    /// Output of [`clusters`](super::table::clusters::clusters), which the GPU stores after the records. Empty unless
    /// the scene is crowded.
    pub clusters: &'a [Record],
}

/// Objects to test without cells.
pub(crate) enum Listing {
    /// A range of entries. In the uniform scheme, only primary ones are tested.
    Entries(Range<u32>),
    /// All records, of which only those of objects in cells are tested.
    Records,
}

impl CellTable<'_> {
    /// Splits entries by cluster. In a crowded scene, each part comes with its cluster's box.
    pub(crate) fn clustered(&self, entries: Range<u32>) -> impl Iterator<Item = (Option<&Record>, Range<u32>)> {
        let is_crowded = self.grid.is_crowded != 0;
        let mut first = entries.start;
        std::iter::from_fn(move || {
            let cluster = first / CLUSTER;
            let end = if is_crowded {
                entries.end.min((cluster + 1) * CLUSTER)
            } else {
                entries.end
            };
            let members = first..end;
            first = end;
            let is_tested = is_crowded && !members.is_empty();
            let around = is_tested.then(|| &self.clusters[cluster as usize]);
            (!members.is_empty()).then_some((around, members))
        })
    }

    /// Entries of a level and world. In the uniform scheme, all records instead if these are fewer.
    pub(crate) fn listing(&self, params: &Params, level: &Level, world: u32) -> Listing {
        let entries = self.level(level, world);
        if params.scheme == SCHEME_UNIFORM && entries.len() > self.records.len() {
            Listing::Records
        } else {
            Listing::Entries(entries)
        }
    }

    /// Records of a listing, each object once. Only the uniform scheme reads `values`.
    pub(crate) fn records_of<'a>(
        &'a self,
        params: &'a Params,
        listing: Listing,
        objects: &'a [Aabb],
        values: &'a [u32],
    ) -> impl Iterator<Item = &'a Record> {
        let is_uniform = params.scheme == SCHEME_UNIFORM;
        let (entries, records) = match listing {
            Listing::Entries(entries) => (entries, &[][..]),
            Listing::Records => (0..0, self.records),
        };
        let of_entries = entries
            .filter(move |&entry| !is_uniform || values[entry as usize] >= PRIMARY_FLAGS)
            .map(move |entry| {
                if is_uniform {
                    values[entry as usize] & ID_MASK
                } else {
                    entry
                }
            })
            .map(|record| &self.records[record as usize]);
        // Records are listed in the uniform scheme only, which has one level.
        let are_all_in_cells = self.grid.levels[0].count as usize == records.len();
        let is_in_cells = move |record: &&Record| {
            let object = &objects[record.object as usize];
            are_all_in_cells || is_in_cells(object, record.world, params.cell_inverse)
        };
        of_entries.chain(records.iter().filter(is_in_cells))
    }

    pub(crate) fn places(&self, listing: &Listing) -> u32 {
        match listing {
            Listing::Entries(entries) => entries.len() as u32,
            Listing::Records => self.records.len() as u32,
        }
    }

    /// Entries of the large list that objects of `world` meet.
    pub(crate) fn large(&self, params: &Params, world: u32) -> [Range<u32>; 2] {
        let ignored = params.ignored_key(self.grid);
        if world == ALL_WORLDS {
            return [self.large_begin()..self.ignored_begin(params), 0..0];
        }
        let key = params.large_key(self.grid, world);
        let of_all = match params.has_worlds() {
            true => self.entries(ignored - 1..ignored),
            false => 0..0,
        };
        [self.entries(key..key + 1), of_all]
    }

    pub(crate) fn large_begin(&self) -> u32 {
        self.starts[self.grid.table_cells as usize]
    }

    pub(crate) fn ignored_begin(&self, params: &Params) -> u32 {
        self.starts[params.ignored_key(self.grid) as usize]
    }

    pub(crate) fn level(&self, level: &Level, world: u32) -> Range<u32> {
        self.entries(level_buckets(level, world))
    }

    pub(crate) fn cell(&self, level: &Level, cell: [i32; 3], world: u32) -> Range<u32> {
        self.entries(cell_bucket(level, cell, world))
    }

    fn entries(&self, slots: Range<u32>) -> Range<u32> {
        self.starts[slots.start as usize]..self.starts[slots.end as usize]
    }

    /// Entries of the cells `x_from..=x_to` in row `y`, `z`, which is within the level's bounds. x counts fine cells. A
    /// row of hashed buckets may wrap around, hence two ranges.
    pub(crate) fn row(&self, level: &Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> [Range<u32>; 2] {
        row_buckets(level, x_from, x_to, y, z, world).map(|slots| self.entries(slots))
    }
}

fn level_buckets(level: &Level, world: u32) -> Range<u32> {
    if level.table_mask == DENSE && world != ALL_WORLDS {
        let base = level.table_base + world * level.stride_world;
        return base..base + level.stride_world;
    }
    level.table_base..level.table_base + level.table_size
}

fn cell_bucket(level: &Level, cell: [i32; 3], world: u32) -> Range<u32> {
    let key = key_of(level, cell, world);
    key..key + 1
}

fn row_buckets(level: &Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> [Range<u32>; 2] {
    let first = x_from.max(level.lower_x);
    let last = x_to.min(level.upper_x);
    if first > last {
        return [0..0, 0..0];
    }
    let from_cell = first >> level.x_shift;
    let length = (last >> level.x_shift).wrapping_sub(from_cell) as u32;
    let base = level.table_base;
    if length > level.table_mask {
        return [base..base + level.table_size, 0..0];
    }
    let slot = bucket_of(level, from_cell, y, z, world);
    let until_end = level.table_mask.wrapping_sub(slot);
    if length <= until_end {
        return [base + slot..base + slot + length + 1, 0..0];
    }
    [base + slot..base + level.table_size, base..base + (length - until_end)]
}
