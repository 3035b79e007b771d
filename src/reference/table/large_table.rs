//! Reference of `shaders/common/large_table.wgsl`.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::grid::{Grid, MAX_LEVELS, NO_LEVEL, SCHEME_HIERARCHICAL, X_DETAIL, cell_of, flush};
use crate::layout::grid::{axis_inverse, level_inverse, unordered};
use crate::shared::wgsl::number;

pub const LARGE_TABLE_SHIFTS: u32 = number("common/large_table", "LARGE_TABLE_SHIFTS");
pub(crate) const LARGE_TABLE_OCTAVES: u32 = number("common/large_table", "LARGE_TABLE_OCTAVES");

/// Cells of the large-object table in which a box is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LargeCells {
    pub lower: [i32; 3],
    pub size: [u32; 3],
}

impl LargeCells {
    pub fn of(grid: &Grid, object: &Aabb, shift: u32) -> Self {
        let inverse = inverse(grid);
        let shifts = shifts(shift);
        let reach = [1 << X_DETAIL, 1, 1];
        let cells = |corner: [f32; 3]| cell_of(SCHEME_HIERARCHICAL, corner.map(flush), inverse);
        let (low, high) = (cells(object.min), cells(object.max));
        let [first, last] = bounds(grid, shift);
        let lower: [i32; 3] = std::array::from_fn(|axis| first[axis].max((low[axis] - reach[axis]) >> shifts[axis]));
        let upper: [i32; 3] = std::array::from_fn(|axis| last[axis].min(high[axis] >> shifts[axis]));
        Self {
            lower,
            size: std::array::from_fn(|axis| (upper[axis] - lower[axis] + 1).max(0) as u32),
        }
    }

    pub fn count(&self) -> u32 {
        self.size.into_iter().product()
    }

    pub fn cells(self) -> impl Iterator<Item = [i32; 3]> {
        let [x, y, _] = self.size;
        (0..self.count()).map(move |entry| {
            let offset = [entry % x, entry / x % y, entry / x / y];
            std::array::from_fn(|axis| self.lower[axis] + offset[axis] as i32)
        })
    }
}

fn shifts(shift: u32) -> [u32; 3] {
    [X_DETAIL + shift, shift, shift]
}

/// First and last cell that objects look up in a table with this `shift`.
pub(crate) fn bounds(grid: &Grid, shift: u32) -> [[i32; 3]; 2] {
    let cover = &grid.large_table;
    let rest = if grid.large_table_shift == 0 {
        shifts(shift)
    } else {
        [0; 3]
    };
    let shifted = |cell: [i32; 3]| std::array::from_fn(|axis| cell[axis] >> rest[axis]);
    cover.bounds().map(shifted)
}

fn inverse(grid: &Grid) -> [f32; 3] {
    let inverse = level_inverse(grid.base_inverse, grid.large_table_below - 1);
    axis_inverse(inverse, grid.stretch, X_DETAIL)
}

pub(crate) fn lookup_cell(grid: &Grid, low: [i32; 3]) -> [i32; 3] {
    let cell = cell_of(
        SCHEME_HIERARCHICAL,
        low.map(|bound| flush(unordered(bound))),
        inverse(grid),
    );
    let shifts = shifts(grid.large_table_shift);
    std::array::from_fn(|axis| cell[axis] >> shifts[axis])
}

pub(crate) fn level_past_large_table(grid: &Grid, shift: u32) -> u32 {
    let first = grid.large_table_below + shift + LARGE_TABLE_OCTAVES;
    (first..MAX_LEVELS)
        .find(|level| grid.occupied >> level & 1 != 0)
        .unwrap_or(NO_LEVEL)
}

pub(crate) fn larger_keys(grid: &Grid, shift: u32) -> Range<u32> {
    let past = grid.levels.get(level_past_large_table(grid, shift) as usize);
    let begin = past.map_or(0, |level| level.table_base + level.table_size);
    begin..grid.levels[grid.large_table_below as usize - 1].table_base
}
