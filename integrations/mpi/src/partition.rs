//! Regions of space, and their owners.
//!
//! Coordinates are compared as in the GPU passes: as integers in the order of the floats, with −0 as 0. Nothing is
//! rounded, and infinities are ordinary values.

use bytemuck::{Pod, Zeroable};
use gpu_broad_phase::Aabb;

/// Maps floats to integers of the same order. A NaN maps to any integer.
pub(crate) fn ordered(value: f32) -> i32 {
    let bits = value.to_bits();
    if bits < 1 << 31 {
        bits as i32
    } else {
        (1u32 << 31).wrapping_sub(bits) as i32
    }
}

/// Box of ordered coordinates, both ends included.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Span {
    pub first: [i32; 3],
    pub last: [i32; 3],
}

impl Span {
    pub fn of(object: &Aabb) -> Self {
        Self {
            first: object.min.map(ordered),
            last: object.max.map(ordered),
        }
    }

    pub const ALL: Self = Self {
        first: [i32::MIN; 3],
        last: [i32::MAX; 3],
    };

    pub fn holds(&self, point: [i32; 3]) -> bool {
        (0..3).all(|axis| self.first[axis] <= point[axis] && point[axis] <= self.last[axis])
    }
}

/// A border between two groups of ranks. Its points belong to the upper group.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Cut {
    pub axis: u32,
    pub border: i32,
}

/// A binary tree of borders, with one region per rank. Regions are half-open, and the outermost unbounded, so each
/// point is in exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Borders, indexed by the first rank of their upper half. Entry 0 is unused.
    pub cuts: Vec<Cut>,
}

pub(crate) const fn middle(first: usize, end: usize) -> usize {
    first + (end - first) / 2
}

impl Partition {
    pub fn undivided(ranks: usize) -> Self {
        let none = Cut {
            axis: 0,
            border: i32::MAX,
        };
        Self {
            cuts: vec![none; ranks],
        }
    }

    pub fn owner(&self, point: [i32; 3]) -> usize {
        let (mut first, mut end) = (0, self.cuts.len());
        while end - first > 1 {
            let middle = middle(first, end);
            let cut = self.cuts[middle];
            if point[cut.axis as usize] < cut.border {
                end = middle;
            } else {
                first = middle;
            }
        }
        first
    }

    pub fn overlapped(&self, span: &Span, with: &mut impl FnMut(usize)) {
        self.overlapped_of(span, 0, self.cuts.len(), with);
    }

    fn overlapped_of(&self, span: &Span, first: usize, end: usize, with: &mut impl FnMut(usize)) {
        if end - first == 1 {
            return with(first);
        }
        let middle = middle(first, end);
        let cut = self.cuts[middle];
        if span.first[cut.axis as usize] < cut.border {
            self.overlapped_of(span, first, middle, with);
        }
        if span.last[cut.axis as usize] >= cut.border {
            self.overlapped_of(span, middle, end, with);
        }
    }

    pub fn part(&self, rank: usize) -> Span {
        let mut part = Span::ALL;
        let (mut first, mut end) = (0, self.cuts.len());
        while end - first > 1 {
            let middle = middle(first, end);
            let Cut { axis, border } = self.cuts[middle];
            let axis = axis as usize;
            if rank < middle {
                // `ordered` never returns `i32::MIN`, so saturation loses no point.
                part.last[axis] = part.last[axis].min(border.saturating_sub(1));
                end = middle;
            } else {
                part.first[axis] = part.first[axis].max(border);
                first = middle;
            }
        }
        part
    }
}
