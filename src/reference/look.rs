//! Where a walk looks for what it tests.

use std::ops::Range;

/// One look of a walk into a table: a range of slots, and so of sorted entries, whose objects are tested one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Look {
    /// Which part of the grid it is.
    pub spot: Spot,
    /// The slots of the table. Where slots are hashed, other cells may share them.
    pub slots: Range<u32>,
    /// The sorted entries that are tested. A walk through the object's own row begins behind the object itself.
    pub entries: Range<u32>,
}

/// A part of the grid that a walk looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spot {
    /// The large list, whose objects everything is tested against.
    LargeList,
    /// One cell of the table in which boxes far larger than most are entered once more.
    CoverCell {
        /// The cell along each axis, in the cells of that table.
        cell: [i32; 3],
    },
    /// A row of cells along x, of one level.
    Row {
        /// The level: the finest is 0.
        level: u32,
        /// The first cell of the row.
        first: [i32; 3],
        /// The last cell of the row. Only x differs from that of the first.
        last: [i32; 3],
    },
    /// All objects of a level, without a look at its cells.
    WholeLevel {
        /// The level: the finest is 0.
        level: u32,
    },
}

/// A look that is only described where somebody asks.
pub(crate) type Lazy<'a> = &'a dyn Fn() -> Look;
