//! Rows of cells as ranges of sorted entries: the twin of `shaders/common/rows.wgsl`.

use std::ops::Range;

use crate::grid::{Grid, Level, Record, slot_of};

/// What the walks read, in binding order.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The levels.
    pub grid: &'a Grid,
    /// Output of [`gather`](super::gather::gather).
    pub records: &'a [Record],
    /// Output of [`cell_starts`](super::cell_starts::cell_starts).
    pub starts: &'a [u32],
}

impl Table<'_> {
    /// The large list.
    pub(crate) fn large(&self) -> Range<u32> {
        self.range(self.grid.table_cells, self.grid.table_cells + 1)
    }

    /// All entries of a level.
    pub(crate) fn level(&self, level: &Level) -> Range<u32> {
        self.range(level.table_base, level.table_base + level.table_size)
    }

    fn range(&self, from: u32, to: u32) -> Range<u32> {
        self.starts[from as usize]..self.starts[to as usize]
    }

    /// The entries of the cells `x_from..=x_to` (detailed x), `y`, `z`, which lie within the level's bounds for y and z.
    /// Two ranges, since a row of hashed slots may wrap past the end of its level's part.
    pub(crate) fn row(&self, level: &Level, x_from: i32, x_to: i32, y: i32, z: i32) -> [Range<u32>; 2] {
        let first = x_from.max(level.lower_x);
        let last = x_to.min(level.upper_x);
        if first > last {
            return [0..0, 0..0];
        }
        let from_cell = first >> level.x_shift;
        let length = (last >> level.x_shift).wrapping_sub(from_cell) as u32;
        let slot = slot_of(level, from_cell, y, z);
        let base = level.table_base;
        let until_end = level.table_mask.wrapping_sub(slot);
        if length <= until_end {
            return [self.range(base + slot, base + slot + length + 1), 0..0];
        }
        [
            self.range(base + slot, base + level.table_size),
            self.range(base, base + (length - until_end)),
        ]
    }
}
