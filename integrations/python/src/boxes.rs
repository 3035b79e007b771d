use std::sync::atomic::{AtomicUsize, Ordering};

pub use exact_neighbors::{round_down, round_up};
use gpu_broad_phase::Aabb;
use numpy::ndarray::ArrayView2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{EachView, Numbers};

/// Boxes per parallel task.
const SHARE: usize = 4096;

trait Bound: Copy + PartialOrd + Sync {
    fn down(self) -> f32;
    fn up(self) -> f32;
}

impl Bound for f32 {
    fn down(self) -> f32 {
        self
    }

    fn up(self) -> f32 {
        self
    }
}

impl Bound for f64 {
    fn down(self) -> f32 {
        round_down(self)
    }

    fn up(self) -> f32 {
        round_up(self)
    }
}

#[derive(Clone, Copy)]
pub struct BoxArrays<'a> {
    /// Argument name in error messages.
    pub name: &'static str,
    pub lower: Numbers<'a>,
    pub upper: Numbers<'a>,
    pub layers: EachView<'a, u32>,
    pub owners: EachView<'a, u32>,
    /// True to fail on ignored boxes.
    pub checked: bool,
}

/// Reads boxes and rounds their bounds outward.
pub fn read(given: BoxArrays<'_>, boxes: &mut Vec<Aabb>) -> Result<(), Bad> {
    let empty = Aabb::point([0.0; 3]);
    boxes.resize(given.lower.rows(), empty);
    let first_bad = match (given.lower, given.upper) {
        (Numbers::Single(lower), Numbers::Single(upper)) => fill(given, lower, upper, boxes),
        (Numbers::Double(lower), Numbers::Double(upper)) => fill(given, lower, upper, boxes),
        // Does not occur, because both corners are views of one array.
        _ => return Err(Bad::mixed(given.name)),
    };
    match first_bad {
        usize::MAX => Ok(()),
        row => Err(Bad::at(given, row)),
    }
}

/// Fills `boxes`. Returns the first bad row, or `usize::MAX`.
fn fill<T: Bound>(
    given: BoxArrays<'_>,
    lower: ArrayView2<'_, T>,
    upper: ArrayView2<'_, T>,
    boxes: &mut [Aabb],
) -> usize {
    let first_bad = AtomicUsize::new(usize::MAX);
    let axes = lower.ncols();
    let share = |(share, boxes): (usize, &mut [Aabb])| {
        for (place, aabb) in boxes.iter_mut().enumerate() {
            let row = share * SHARE + place;
            let (mut min, mut max) = ([0.0; 3], [0.0; 3]);
            let mut is_good = true;
            for axis in 0..axes {
                let (low, high) = (lower[[row, axis]], upper[[row, axis]]);
                min[axis] = low.down();
                max[axis] = high.up();
                is_good &= low <= high;
            }
            if !is_good {
                // Keeps the box invalid, even if rounding has ordered its bounds.
                min[0] = f32::NAN;
            }
            *aabb = Aabb {
                min,
                max,
                layers: given.layers.at(row),
                owner: given.owners.at(row),
            };
            if given.checked && !is_good && aabb.owner & Aabb::EXCLUDED == 0 {
                first_bad.fetch_min(row, Ordering::Relaxed);
            }
        }
    };
    boxes.par_chunks_mut(SHARE).enumerate().for_each(share);
    first_bad.into_inner()
}

pub struct Bad(String);

impl Bad {
    fn mixed(name: &str) -> Self {
        Self(format!("{name}: both corners need the same type"))
    }

    fn at(given: BoxArrays<'_>, row: usize) -> Self {
        let (lower, upper) = (given.lower.row(row), given.upper.row(row));
        let name = given.name;
        let is_nan = |axis: &usize| lower[*axis].is_nan() || upper[*axis].is_nan();
        let is_point = lower == upper
            || (0..3)
                .find(is_nan)
                .is_some_and(|axis| lower[axis].is_nan() && upper[axis].is_nan());
        let axis = |axis: usize| ["x", "y", "z"][axis];
        Self(match (0..3).find(is_nan) {
            Some(at) if is_point => format!("{name}[{row}] has a NaN in {}", axis(at)),
            Some(at) => {
                let corner = if lower[at].is_nan() { "min" } else { "max" };
                format!("{name}[{row}] has a NaN in its {corner} {}", axis(at))
            }
            None => {
                let at = (0..3).find(|&at| lower[at] > upper[at]).unwrap_or(0);
                let (min, max) = (lower[at], upper[at]);
                format!("{name}[{row}] has a min {} of {min} above its max of {max}", axis(at))
            }
        })
    }
}

impl From<Bad> for PyErr {
    fn from(Bad(text): Bad) -> Self {
        PyValueError::new_err(text)
    }
}
