//! Finds candidates in `f32`, with a radius enlarged for the rounding, and compares their distances in `f64`.

use bytemuck::{Pod, Zeroable};
use gpu_broad_phase::{Aabb, LocalOrigin, Query};
use gpu_broad_phase_mpi::{Communicator, common_sample};

use crate::read::{Slice, up, vector};
use crate::route::routed;

/// Largest relative error of rounding to `f32`.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;
/// Covers denormals of both points, which devices may flush to zero.
const SMALLEST: f64 = 4.0 * f32::MIN_POSITIVE as f64;
/// Distance from the origin, in radii, at which an ulp is a sixteenth of the radius.
const LIMIT: f64 = (1 << 19) as f64;
/// Candidates per rank that are compared at once, to bound memory.
const ROUND: usize = 1 << 20;

/// Conversion of points, the same on all ranks.
pub struct Space {
    origin: LocalOrigin,
    /// 0 for an axis without one.
    periods: [f64; 3],
    radius: f64,
    /// Points with a larger [`reach`](Self::reach) are far.
    limit: f64,
}

impl Space {
    /// Collective.
    pub fn choose<C: Communicator>(
        ranks: &C,
        slice: &Slice,
        periods: [f64; 3],
        radius: f64,
        cell: Option<f64>,
    ) -> Self {
        let sample = common_sample(ranks, slice.rows().map(|row| [vector(row); 2]));
        let mut origin = LocalOrigin::for_boxes(sample.iter().copied(), cell);
        // As in `f32`, where the smallest periods are 0.
        let periods = periods.map(|period| if period as f32 > 0.0 { period } else { 0.0 });
        for axis in (0..3).filter(|&axis| periods[axis] > 0.0) {
            origin.position[axis] = 0.0;
        }
        let mut space = Self {
            origin,
            periods,
            radius,
            limit: 0.0,
        };
        let mut reaches: Vec<_> = sample.iter().map(|[point, _]| space.reach(*point)).collect();
        let middle = reaches.len() / 2;
        let median = match reaches.is_empty() {
            true => 0.0,
            false => *reaches.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        space.limit = (LIMIT * radius).max(2.0 * median);
        space
    }

    fn reach(&self, point: [f64; 3]) -> f64 {
        let along = |axis: usize| match self.periods[axis] > 0.0 {
            true => 0.0,
            false => (point[axis] - self.origin.position[axis]).abs(),
        };
        (0..3).map(along).fold(0.0, f64::max)
    }

    /// True if [`candidate_radius`](Self::candidate_radius) does not cover the point's rounding.
    pub fn is_far(&self, row: &[f64]) -> bool {
        self.reach(vector(row)) > self.limit
    }

    /// Rounds outward, or, on axes with a period, to the nearest float within the period.
    pub fn aabb(&self, row: &[f64]) -> Aabb {
        let point = vector(row);
        let mut bounds = self.origin.aabb(point, point);
        for axis in (0..3).filter(|&axis| self.periods[axis] > 0.0) {
            let wrapped = point[axis].rem_euclid(self.periods[axis]) as f32;
            (bounds.min[axis], bounds.max[axis]) = (wrapped, wrapped);
        }
        bounds
    }

    /// Largest distance between lower corners of neighbours that are not far.
    pub fn candidate_radius(&self) -> f32 {
        // Off by an ulp; with a period, by half an ulp of two coordinates and the period.
        let off = self.periods.map(|period| match period > 0.0 {
            true => 3.0 * period,
            false => 2.0 * self.limit,
        });
        self.enlarged(off.into_iter().fold(0.0, f64::hypot) * UNIT)
    }

    /// Finds all candidates of a point, at any distance along axes with a period.
    pub fn query(&self, row: &[f64]) -> Query {
        let mut bounds = self.aabb(row);
        for axis in (0..3).filter(|&axis| self.periods[axis] > 0.0) {
            (bounds.min[axis], bounds.max[axis]) = (f32::NEG_INFINITY, f32::INFINITY);
        }
        Query {
            radius: self.enlarged(0.0),
            ..Query::overlaps(bounds)
        }
    }

    /// Also covers the errors of devices, a few ulps.
    fn enlarged(&self, off: f64) -> f32 {
        match self.radius as f32 {
            single if single.is_finite() => {
                up((self.radius + off + SMALLEST) * (1.0 + 16.0 * f64::from(f32::EPSILON))).min(f32::MAX)
            }
            invalid => invalid,
        }
    }

    /// Compares the nearest periodic image.
    fn are_near(&self, a: [f64; 3], b: [f64; 3]) -> bool {
        let sides: [f64; 3] = std::array::from_fn(|axis| {
            let (difference, period) = (b[axis] - a[axis], self.periods[axis]);
            match period > 0.0 {
                true => difference - (difference / period).round() * period,
                false => difference,
            }
        });
        let squared: f64 = sides.iter().map(|side| side * side).sum();
        let distance = match squared.is_normal() {
            true => squared.sqrt(),
            // Squares that underflow or overflow.
            false => sides.into_iter().fold(0.0, f64::hypot),
        };
        distance <= self.radius
    }
}

/// A row, with the position of its second point.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Placed {
    row: [u64; 2],
    second: [f64; 3],
}

/// Keeps rows of neighbours, each once, sorted as by [`in_order`](crate::route::in_order). Collective.
///
/// Rows visit the rank that read their second point, then that of the first.
pub fn near_in_order<C: Communicator>(ranks: &C, rows: &[[u64; 2]], slice: &Slice, space: &Space) -> Vec<[u64; 2]> {
    let mut rounds = [rows.len().div_ceil(ROUND) as u64];
    ranks.largest(&mut rounds);
    let point = |id: u64| vector(&slice.values[(id - slice.first) as usize * slice.columns..][..slice.columns]);
    let mut parts = rows.chunks(ROUND);
    let mut found = Vec::new();
    for _ in 0..rounds[0] {
        let part = parts.next().unwrap_or_default().iter().copied();
        let placed = routed(ranks, part, slice.rows, |row| row[1])
            .into_iter()
            .map(|row| Placed {
                row,
                second: point(row[1]),
            });
        let placed = routed(ranks, placed, slice.rows, |placed| placed.row[0]);
        let is_near = |placed: &Placed| space.are_near(point(placed.row[0]), placed.second);
        found.extend(placed.into_iter().filter(is_near).map(|placed| placed.row));
    }
    found.sort_unstable();
    found.dedup();
    found
}
