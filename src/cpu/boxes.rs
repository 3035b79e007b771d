//! Entries and cells near a query. May let too much pass, never too little.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::blocks::Overrides;
use crate::layout::grid::{Level, MAX_LEVELS, Params, SCHEME_ADAPTIVE, cell_on_axis, unordered};
use crate::reference::queries::query::{LoadedQuery, NEAREST_IMAGE, SLACK, periods};
use crate::reference::queries::query_walk::Cells;
use crate::reference::rows::CellTable;
use crate::shared::runs::{in_runs, map};

pub(super) const LANES: usize = 8;

/// Lower, then upper bounds of eight entries, clamped to finite floats.
pub(super) type Block = [[[f32; LANES]; 3]; 2];

#[derive(Clone, Debug)]
pub(super) struct Boxes {
    blocks: Vec<Block>,
    lengths: [[f32; 3]; MAX_LEVELS as usize],
    pub have_filters: bool,
}

impl Boxes {
    pub fn new(table: CellTable<'_>, have_filters: bool) -> Self {
        let block = |index: u32| {
            let mut block = [[[0.0; LANES]; 3]; 2];
            let records = table.records[index as usize * LANES..].iter();
            for (lane, record) in records.take(LANES).enumerate() {
                for (sides, bounds) in block.iter_mut().zip([record.low, record.high]) {
                    for (lanes, bound) in sides.iter_mut().zip(bounds) {
                        lanes[lane] = unordered(bound).clamp(f32::MIN, f32::MAX);
                    }
                }
            }
            block
        };
        let mut lengths = [[0.0f32; 3]; MAX_LEVELS as usize];
        for (index, level) in table.grid.occupied_levels() {
            let [first, end] = [0, level.table_size].map(|bucket| table.starts[(level.table_base + bucket) as usize]);
            let longest = |run: Range<u32>| {
                let records = &table.records[(first + run.start) as usize..(first + run.end) as usize];
                records.iter().fold([0.0f32; 3], |longest, record| {
                    let length = |axis: usize| unordered(record.high[axis]) - unordered(record.low[axis]);
                    std::array::from_fn(|axis| longest[axis].max(length(axis)))
                })
            };
            for longest in in_runs(end - first, longest) {
                lengths[index as usize] = std::array::from_fn(|axis| lengths[index as usize][axis].max(longest[axis]));
            }
        }
        Self {
            blocks: map(table.records.len().div_ceil(LANES) as u32, block),
            lengths,
            have_filters,
        }
    }

    /// Passes to `visit` the entries whose squared distance may be at most `most`. `visit` returns the next `most`.
    pub fn near(&self, entries: Range<u32>, place: &Place, most: f32, mut visit: impl FnMut(u32) -> f32) {
        let mut most = most;
        let mut first = entries.start as usize;
        while first < entries.end as usize {
            let block = first / LANES;
            let squares = place.squares(&self.blocks[block], true);
            let mut near = lanes_where(|lane| squares[lane] <= most);
            near &= u32::MAX << (first % LANES);
            near &= (1u64 << LANES.min(entries.end as usize - block * LANES)) as u32 - 1;
            while near != 0 {
                let lane = near.trailing_zeros() as usize;
                near &= near - 1;
                if squares[lane] <= most {
                    most = visit((block * LANES + lane) as u32);
                }
            }
            first = (block + 1) * LANES;
        }
    }
}

pub(super) fn have_filters(objects: &[Aabb]) -> bool {
    const BITS: u32 = Aabb::GROUP_MASK | Aabb::STATIC;
    let has_filters = |object: &Aabb| object.layers != Aabb::ALL_LAYERS || object.group & BITS != 0;
    let run = |run: Range<u32>| objects[run.start as usize..run.end as usize].iter().any(has_filters);
    in_runs(objects.len() as u32, run).contains(&true)
}

pub(super) fn overrides_of(overrides: Overrides, have_filters: bool, query: &LoadedQuery) -> Overrides {
    let filters_matter = have_filters || query.layers != Aabb::ALL_LAYERS || query.group != 0;
    Overrides {
        filters: overrides.filters && filters_matter,
        ..overrides
    }
}

pub(super) struct Place {
    corners: [[f32; 2]; 3],
    /// Rounding depends on these.
    sizes: [f32; 3],
    is_moved: bool,
    seeks_corners: bool,
}

impl Place {
    pub fn of(params: &Params, query: &LoadedQuery) -> Self {
        let periods = periods(params);
        let corners = [0, 1, 2].map(|axis| query.corners(axis));
        let moved = |axis: usize| match query.image[axis] {
            NEAREST_IMAGE => [f32::MIN, f32::MAX],
            image => corners[axis].map(|corner| (corner + image as f32 * periods[axis]).clamp(f32::MIN, f32::MAX)),
        };
        Self {
            corners: [0, 1, 2].map(moved),
            sizes: [0, 1, 2].map(|axis| corners[axis][0].abs().max(corners[axis][1].abs()) + periods[axis]),
            is_moved: query.image != [0; 3],
            seeks_corners: query.seeks_corners,
        }
    }

    /// Squared `radius`, rounded up. Infinite if squares overflow or lose bits.
    pub fn most(&self, radius: f32) -> f32 {
        let size = self.sizes.into_iter().fold(radius, f32::max);
        let radius = radius + if self.is_moved { size * 8.0 * SLACK } else { 0.0 };
        match radius * radius {
            0.0 if radius == 0.0 => 0.0,
            square @ 1e-30..1e30 => square * 1.0001,
            _ => f32::INFINITY,
        }
    }

    /// Lower bounds of squared distances. Boxes of objects may stand for their lower corners.
    #[inline(always)]
    pub fn squares(&self, block: &Block, are_objects: bool) -> [f32; LANES] {
        let [low, high] = block;
        let high = if self.seeks_corners && are_objects { low } else { high };
        let mut squares = [0.0; LANES];
        for axis in 0..3 {
            let [own_low, own_high] = self.corners[axis];
            for lane in 0..LANES {
                let gap = larger(own_low - high[axis][lane], low[axis][lane] - own_high);
                let gap = larger(0.0, gap);
                squares[lane] += gap * gap;
            }
        }
        squares
    }
}

/// One bit per lane, without branches.
#[inline(always)]
pub(super) fn lanes_where(holds: impl Fn(usize) -> bool) -> u32 {
    let bits: [u32; LANES] = std::array::from_fn(|lane| u32::from(holds(lane)) << lane);
    bits.into_iter().fold(0, |all, bit| all | bit)
}

/// `b` if either is NaN. Unlike [`f32::max`], a single instruction.
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// As [`larger`].
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Cells of a level, as seen from a place.
pub(super) struct Surroundings<'a> {
    pub level: &'a Level,
    place: &'a Place,
    scheme: u32,
    inverse: [f32; 3],
    pub sides: [f32; 3],
    /// Lengths of objects past their cell.
    extents: [f32; 3],
}

impl<'a> Surroundings<'a> {
    pub fn new(params: &Params, boxes: &Boxes, place: &'a Place, index: u32, level: &'a Level, stretch: u32) -> Self {
        let inverse = params.axis_inverse(level.inverse, stretch);
        let unit = if params.scheme == SCHEME_ADAPTIVE { 2.0 } else { 1.0 };
        let lengths = boxes.lengths[index as usize];
        let reaches = !place.seeks_corners && params.cell_reach() > 0;
        Self {
            level,
            place,
            scheme: params.scheme,
            inverse,
            sides: inverse.map(|inverse| unit / inverse),
            extents: lengths.map(|length| if reaches { length } else { 0.0 }),
        }
    }

    fn cell(&self, axis: usize, position: f32) -> i32 {
        cell_on_axis(self.scheme, position, self.inverse[axis])
    }

    pub fn cells(&self, reach: f32) -> Cells {
        let [lowest, highest] = self.level.bounds();
        std::array::from_fn(|axis| {
            let [first, last] = self.ends(axis, reach).map(|end| self.cell(axis, end));
            first.max(lowest[axis])..=last.min(highest[axis])
        })
    }

    /// Visits the rows of those cells: y, z, and both ends along x.
    pub fn rows(&self, reach: f32, mut visit: impl FnMut(i32, i32, [i32; 2])) {
        let [_, rows, slabs] = self.cells(reach);
        for z in slabs {
            let gap_z = self.gap(2, z);
            for y in rows.clone() {
                if let Some(ends) = self.row(reach, self.gap(1, y), gap_z) {
                    visit(y, z, ends);
                }
            }
        }
    }

    /// Ends of a row at such gaps, `None` if it is too far.
    pub fn row(&self, reach: f32, gap_y: f32, gap_z: f32) -> Option<[i32; 2]> {
        let mut share = 1.0;
        if gap_y > 0.0 || gap_z > 0.0 {
            let [y, z] = [gap_y, gap_z].map(|gap| if gap > 0.0 { gap / reach } else { 0.0 });
            let left = 1.0 + 8.0 * SLACK - y * y - z * z;
            if left < 0.0 {
                return None;
            }
            share = left.sqrt().min(1.0);
        }
        Some(self.ends(0, reach * share).map(|end| self.cell(0, end)))
    }

    /// Lower bound of the distance along an axis to objects of a cell.
    pub fn gap(&self, axis: usize, cell: i32) -> f32 {
        let [low, high] = self.place.corners[axis];
        let (side, extent) = (self.sides[axis], self.extents[axis]);
        let begin = (cell as f32 - if self.scheme == SCHEME_ADAPTIVE { 0.5 } else { 0.0 }) * side;
        let gap = (low - (begin + side + extent)).max(begin - high).max(0.0);
        (gap - (gap + self.place.sizes[axis] + side + extent) * 4.0 * SLACK).max(0.0)
    }

    fn ends(&self, axis: usize, reach: f32) -> [f32; 2] {
        let [low, high] = self.place.corners[axis];
        let extent = self.extents[axis];
        let reach = reach + (self.place.sizes[axis] + extent + reach) * 4.0 * SLACK;
        [(low - reach - extent).max(f32::MIN), (high + reach).min(f32::MAX)]
    }
}
