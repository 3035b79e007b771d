//! Eight boxes at a time. Near queries, may let too much pass, never too little.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::blocks::Overrides;
use crate::layout::grid::Params;
use crate::reference::queries::query::{LoadedQuery, NEAREST_IMAGE, SLACK, periods};
use crate::shared::runs::in_runs;

pub(super) const LANES: usize = 8;

/// Lower, then upper bounds of eight boxes.
pub(super) type Block = [[[f32; LANES]; 3]; 2];

pub(super) fn sides_of(object: &Aabb) -> [f32; 3] {
    [0, 1, 2].map(|axis| object.max[axis] - object.min[axis])
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
