//! The cover table: twin of `shaders/common/large_table.wgsl`.
//!
//! Larger boxes are entered once more, in every cell that they cover of one table. An object of up to the level
//! `large_table_below - 1` looks up one cell there, that of its lower corner, and meets all boxes of the levels entered which
//! it may overlap. For that a larger box is entered as far below its own cells as such an object reaches up. All of it
//! is told in cells of that level, which are integers: rounding loses nothing.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::grid::{Grid, MAX_LEVELS, NO_LEVEL, SCHEME_HIERARCHICAL, X_DETAIL, axis_inverse, cell_of, flush};
use crate::layout::grid::{level_inverse, unordered};
use crate::shared::wgsl::number;

/// Choices of how much coarser than the highest level that looks them up the table's cells are: by 2, 4 or 8.
pub const LARGE_TABLE_SHIFTS: u32 = number("common/large_table", "LARGE_TABLE_SHIFTS");
/// Levels above that of the cells that are entered: a box of the highest has 33 cells per axis at most.
pub(crate) const LARGE_TABLE_OCTAVES: u32 = number("common/large_table", "LARGE_TABLE_OCTAVES");
/// Lanes of a workgroup of the passes that count and write entries.
pub(crate) const LARGE_TABLE_LANES: u32 = number("table/large_table_emit", "LARGE_TABLE_LANES");

/// The cells that a box is entered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LargeCells {
    pub lower: [i32; 3],
    /// Cells per axis, none where the box is out of reach.
    pub size: [u32; 3],
}

impl LargeCells {
    /// Within the cells that are looked up.
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

    /// The cells, x fastest.
    pub fn cells(self) -> impl Iterator<Item = [i32; 3]> {
        let [x, y, _] = self.size;
        (0..self.count()).map(move |entry| {
            let offset = [entry % x, entry / x % y, entry / x / y];
            std::array::from_fn(|axis| self.lower[axis] + offset[axis] as i32)
        })
    }
}

/// Cells per axis of the table, from the cells of the highest level that looks them up.
fn shifts(shift: u32) -> [u32; 3] {
    [X_DETAIL + shift, shift, shift]
}

/// Where objects lie that look cells up, in cells of a table of this shift: the grid has the bounds in cells of the
/// highest level that looks up, and, once the table's cells are chosen, in those.
pub(crate) fn bounds(grid: &Grid, shift: u32) -> [[i32; 3]; 2] {
    let cover = &grid.cover;
    let rest = if grid.large_table_shift == 0 {
        shifts(shift)
    } else {
        [0; 3]
    };
    let shifted = |cell: [i32; 3]| std::array::from_fn(|axis| cell[axis] >> rest[axis]);
    [
        shifted([cover.lower_x, cover.lower_y, cover.lower_z]),
        shifted([cover.upper_x, cover.upper_y, cover.upper_z]),
    ]
}

fn inverse(grid: &Grid) -> [f32; 3] {
    axis_inverse(level_inverse(grid.base_inverse, grid.large_table_below - 1), X_DETAIL)
}

/// The cell that an object looks up whose lower corner this is.
pub(crate) fn looked_up(grid: &Grid, low: [i32; 3]) -> [i32; 3] {
    let cell = cell_of(
        SCHEME_HIERARCHICAL,
        low.map(|bound| flush(unordered(bound))),
        inverse(grid),
    );
    let shifts = shifts(grid.large_table_shift);
    std::array::from_fn(|axis| cell[axis] >> shifts[axis])
}

/// The finest level that is too coarse to be entered, or 32.
pub(crate) fn level_past_large_table(grid: &Grid, shift: u32) -> u32 {
    let first = grid.large_table_below + shift + LARGE_TABLE_OCTAVES;
    (first..MAX_LEVELS)
        .find(|level| grid.occupied >> level & 1 != 0)
        .unwrap_or(NO_LEVEL)
}

/// The keys of the objects that are entered, whose levels' parts of the table come one behind the other, the coarsest
/// first.
pub(crate) fn larger_keys(grid: &Grid, shift: u32) -> Range<u32> {
    let past = grid.levels.get(level_past_large_table(grid, shift) as usize);
    let begin = past.map_or(0, |level| level.table_base + level.table_size);
    begin..grid.levels[grid.large_table_below as usize - 1].table_base
}
