//! Finds neighbours, exact in double precision.
//!
//! The broad phase finds candidates in single precision, with a radius enlarged by the rounding error. Double precision
//! then decides.

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Queries, Scene, SelfQuery};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::Matrix;
use crate::boxes;
use crate::engine::Engine;
use crate::work;

/// Rows per parallel task.
const SHARE: usize = 1024;
const LARGEST: f64 = f32::MAX as f64;

#[derive(Default)]
struct Near {
    counts: Vec<i64>,
    objects: Vec<u32>,
    distances: Vec<f64>,
    shifts: Vec<[i32; 3]>,
}

struct Space {
    positions: Vec<[f64; 3]>,
    /// Infinite on axes without a period.
    periods: [f64; 3],
}

impl Space {
    /// Vector to the nearest image of `to`, and the image's shift in periods.
    fn offset(&self, from: usize, to: usize) -> ([f64; 3], [i32; 3]) {
        let (mut offset, mut shift) = ([0.0; 3], [0; 3]);
        for axis in 0..3 {
            let apart = self.positions[to][axis] - self.positions[from][axis];
            let period = self.periods[axis];
            if period.is_finite() {
                let images = -(apart / period).round();
                shift[axis] = images as i32;
                offset[axis] = apart + images * period;
            } else {
                offset[axis] = apart;
            }
        }
        (offset, shift)
    }

    /// Returns points in single precision, moved close to 0, and the largest error of a distance. Fails if a point is
    /// out of range.
    fn points(&self) -> Result<(Vec<Aabb>, f64), String> {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        if self.positions.is_empty() {
            (low, high) = ([0.0; 3], [0.0; 3]);
        }
        for position in &self.positions {
            for axis in 0..3 {
                low[axis] = low[axis].min(position[axis]);
                high[axis] = high[axis].max(position[axis]);
            }
        }
        for axis in 0..3 {
            let period = self.periods[axis];
            if period.is_finite() && period > LARGEST {
                return Err(format!(
                    "period is {period:?} on axis {axis}, and at most {LARGEST:?} is possible"
                ));
            }
            if !period.is_finite() && high[axis] / 2.0 - low[axis] / 2.0 > LARGEST {
                return Err(format!(
                    "points reach from {:?} to {:?} on axis {axis}, and may be at most {:?} apart",
                    low[axis],
                    high[axis],
                    2.0 * LARGEST
                ));
            }
        }
        let middle: [f64; 3] = std::array::from_fn(|axis| low[axis] / 2.0 + high[axis] / 2.0);
        let point = |position: &[f64; 3]| {
            Aabb::point(std::array::from_fn(|axis| {
                let period = self.periods[axis];
                if period.is_finite() {
                    position[axis].rem_euclid(period) as f32
                } else {
                    (position[axis] - middle[axis]) as f32
                }
            }))
        };
        // Half a unit in the last place for each coordinate and for the period.
        let off = |axis: usize| {
            let period = self.periods[axis];
            if period.is_finite() {
                3.0 * period
            } else {
                high[axis] - low[axis]
            }
        };
        let off = (0..3).map(|axis| off(axis).powi(2)).sum::<f64>().sqrt() * f64::from(f32::EPSILON) / 2.0;
        Ok((self.positions.par_iter().map(point).collect(), off))
    }
}

/// Avoids squares, which may overflow or become 0.
fn length(offset: [f64; 3]) -> f64 {
    offset.into_iter().fold(0.0, f64::hypot)
}

type NeighborRows<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<i32>>,
);

#[pyfunction]
#[pyo3(signature = (engine, points, *, radius, periods, half, progress))]
pub fn neighbors<'py>(
    py: Python<'py>,
    engine: &Engine,
    points: Matrix<'py>,
    radius: f64,
    periods: [f64; 3],
    half: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<NeighborRows<'py>> {
    let mut state = engine.lock(py)?;
    let finder = &mut state.finder;
    let points = points.view();
    let is_periodic = periods.iter().any(|period| period.is_finite());
    let near = work::run(py, progress.as_ref(), || {
        let positions: Vec<_> = (0..points.rows()).into_par_iter().map(|row| points.row(row)).collect();
        let is_bad = |position: &[f64; 3]| position.iter().any(|number| !number.is_finite());
        if let Some(row) = positions.par_iter().position_first(is_bad) {
            return Err(PyValueError::new_err(format!("points[{row}] is not finite")));
        }
        let space = Space { positions, periods };
        let (candidates, off) = space.points().map_err(PyValueError::new_err)?;
        // Devices may be off by some units in the last place.
        let wide = boxes::round_up((radius + off) * (1.0 + 16.0 * f64::from(f32::EPSILON)));
        if !wide.is_finite() {
            return Err(PyValueError::new_err(format!(
                "radius is {radius:?}, and less than {LARGEST:?} is needed"
            )));
        }
        let own = |axis: usize| {
            if periods[axis].is_finite() {
                periods[axis] as f32
            } else {
                0.0
            }
        };
        let scene = Scene {
            objects: candidates[..].into(),
            queries: Queries::Objects(SelfQuery::Within { radius: wide, half }),
            ..Scene::default()
        };
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            periods: [0, 1, 2].map(own),
            ..finder.plain
        };
        let result = finder.step(&descriptor, &scene, None);
        // The caller cannot query this table: it has points, not the caller's boxes.
        finder.has_table = false;
        let result = result?;
        let limit = radius * radius;
        let share = |first: usize| {
            let mut near = Near::default();
            for row in first..(first + SHARE).min(space.positions.len()) {
                let before = near.objects.len();
                let [begin, end] = [row, row + 1].map(|at| result.query_offsets[at] as usize);
                for &object in &result.query_objects[begin..end] {
                    let (offset, shift) = space.offset(row, object as usize);
                    let squared: f64 = offset.iter().map(|along| along * along).sum();
                    let is_near = if limit.is_normal() {
                        squared <= limit
                    } else {
                        length(offset) <= radius
                    };
                    if is_near {
                        near.objects.push(object);
                        near.distances.push(if squared.is_normal() {
                            squared.sqrt()
                        } else {
                            length(offset)
                        });
                        if is_periodic {
                            near.shifts.push(shift);
                        }
                    }
                }
                near.counts.push((near.objects.len() - before) as i64);
            }
            near
        };
        let shares: Vec<_> = (0..space.positions.len())
            .into_par_iter()
            .step_by(SHARE)
            .map(share)
            .collect();
        let mut all = Near::default();
        let rows: usize = shares.iter().map(|share| share.objects.len()).sum();
        all.objects.reserve_exact(rows);
        all.distances.reserve_exact(rows);
        all.counts.push(0);
        let mut end = 0;
        for share in shares {
            for count in share.counts {
                end += count;
                all.counts.push(end);
            }
            all.objects.extend(share.objects);
            all.distances.extend(share.distances);
            all.shifts.extend(share.shifts);
        }
        Ok(all)
    })??;
    let shape = [near.shifts.len(), 3];
    Ok((
        PyArray1::from_vec(py, near.counts),
        PyArray1::from_vec(py, near.objects),
        PyArray1::from_vec(py, near.distances),
        PyArray1::from_vec(py, bytemuck::allocation::cast_vec(near.shifts)).reshape(shape)?,
    ))
}
