//! Rows of cells as ranges of sorted entries: the twin of `shaders/common/rows.wgsl`.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::grid::{
    CLUSTER, DENSE, Grid, ID_MASK, Level, PRIMARY_FLAGS, Params, Record, SCHEME_UNIFORM, bucket_of, is_in_cells, key_of,
};

/// What the walks read, in binding order.
#[derive(Clone, Copy, Debug)]
pub struct CellTable<'a> {
    /// The levels.
    pub grid: &'a Grid,
    /// Output of [`gather`](super::table::gather::gather).
    pub records: &'a [Record],
    /// Output of [`cell_starts`](super::table::gather::cell_starts).
    pub starts: &'a [u32],
    /// Output of [`clusters`](super::table::clusters::clusters), which the shaders read behind the records. Empty where
    /// the scene is not crowded.
    pub clusters: &'a [Record],
}

/// What is looked at without cells.
pub(crate) enum Listing {
    /// Those in home cells count.
    Entries(Range<u32>),
    /// The records of all objects. Those in cells count.
    Records,
}

impl CellTable<'_> {
    /// The entries as a walk tests them: in a crowded scene with the box of their cluster ahead of them.
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

    /// The objects of a level and a world: its entries or, where the uniform scheme has more of these than objects, the
    /// records.
    pub(crate) fn listing(&self, params: &Params, level: &Level, world: u32) -> Listing {
        let entries = self.level(level, world);
        if params.scheme == SCHEME_UNIFORM && entries.len() > self.records.len() {
            Listing::Records
        } else {
            Listing::Entries(entries)
        }
    }

    /// The records of those of a listing who are looked for: an object comes once. Values are read by the uniform
    /// scheme alone.
    pub(crate) fn listed<'a>(
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
        // Of one level: the uniform scheme alone lists records.
        let are_all_in_cells = self.grid.levels[0].count as usize == records.len();
        let is_in_cells = move |record: &&Record| {
            are_all_in_cells || is_in_cells(&objects[record.object as usize], params.cell_inverse)
        };
        of_entries.chain(records.iter().filter(is_in_cells))
    }

    /// How many places a listing has.
    pub(crate) fn places(&self, listing: &Listing) -> u32 {
        match listing {
            Listing::Entries(entries) => entries.len() as u32,
            Listing::Records => self.records.len() as u32,
        }
    }

    /// A world's share of the large list, which it may have in common with others.
    pub(crate) fn large(&self, params: &Params, world: u32) -> Range<u32> {
        self.entries(self.large_buckets(params, world))
    }

    fn large_buckets(&self, params: &Params, world: u32) -> Range<u32> {
        let key = params.large_key(self.grid, world);
        key..key + 1
    }

    /// The first entry of the large list.
    pub(crate) fn large_begin(&self) -> u32 {
        self.starts[self.grid.table_cells as usize]
    }

    /// The first entry of what takes no part.
    pub(crate) fn absent_begin(&self, params: &Params) -> u32 {
        self.starts[params.absent_key(self.grid) as usize]
    }

    /// All entries of a world on a level, with those of others where slots are hashed.
    pub(crate) fn level(&self, level: &Level, world: u32) -> Range<u32> {
        self.entries(level_buckets(level, world))
    }

    /// The entries of one cell.
    pub(crate) fn cell(&self, level: &Level, cell: [i32; 3], world: u32) -> Range<u32> {
        self.entries(cell_bucket(level, cell, world))
    }

    fn entries(&self, slots: Range<u32>) -> Range<u32> {
        self.starts[slots.start as usize]..self.starts[slots.end as usize]
    }

    /// The entries of the cells `x_from..=x_to` (detailed x), `y`, `z`, which lie within the level's bounds for y and
    /// z. Two ranges, since a row of hashed slots may wrap past the end of its level's part. Other cells and worlds may
    /// share hashed slots.
    pub(crate) fn row(&self, level: &Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> [Range<u32>; 2] {
        row_buckets(level, x_from, x_to, y, z, world).map(|slots| self.entries(slots))
    }
}

/// The slots of a world on a level, those of others too where they are hashed.
fn level_buckets(level: &Level, world: u32) -> Range<u32> {
    if level.table_mask == DENSE {
        let base = level.table_base + world * level.stride_world;
        return base..base + level.stride_world;
    }
    level.table_base..level.table_base + level.table_size
}

fn cell_bucket(level: &Level, cell: [i32; 3], world: u32) -> Range<u32> {
    let key = key_of(level, cell, world);
    key..key + 1
}

/// The slots of a row of cells: see [`CellTable::row`].
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
