use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use exact_neighbors::{round_down, round_up};
use gpu_broad_phase::{Aabb, LocalOrigin};
use numpy::ndarray::ArrayView2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{EachView, Numbers};

/// Boxes per parallel task.
const SHARE: usize = 4096;

#[derive(Clone, Copy)]
pub struct BoxArrays<'a> {
    /// Argument name in error messages.
    pub name: &'static str,
    pub lower: Numbers<'a>,
    pub upper: Numbers<'a>,
    pub layers: EachView<'a, u32>,
    pub groups: EachView<'a, u32>,
    /// True to fail on ignored boxes.
    pub checked: bool,
}

/// Measures boxes from `origin` and rounds them outward. Returns true if the origin is 0 and float32 holds all numbers
/// of valid boxes.
pub fn read(given: BoxArrays<'_>, origin: LocalOrigin, boxes: &mut Vec<Aabb>) -> Result<bool, Bad> {
    let empty = Aabb::point([0.0; 3]);
    boxes.resize(given.lower.rows(), empty);
    let moved = |min: [f64; 3], max: [f64; 3]| {
        let Aabb { min, max, .. } = origin.aabb(min, max);
        (min, max, false)
    };
    let (first_bad, are_exact) = match (given.lower, given.upper) {
        (Numbers::Single(lower), Numbers::Single(upper)) if origin == LocalOrigin::default() => {
            fill(given, lower, upper, boxes, |min, max| (min, max, true))
        }
        (Numbers::Double(lower), Numbers::Double(upper)) if origin == LocalOrigin::default() => {
            // `moved` would give the same, but takes longer.
            fill(given, lower, upper, boxes, |min, max| {
                let (low, high) = (min.map(round_down), max.map(round_up));
                let is_exact = |axis: usize| (f64::from(low[axis]) == min[axis]) & (f64::from(high[axis]) == max[axis]);
                (low, high, is_exact(0) & is_exact(1) & is_exact(2))
            })
        }
        (Numbers::Single(lower), Numbers::Single(upper)) => fill(given, lower, upper, boxes, |min, max| {
            moved(min.map(f64::from), max.map(f64::from))
        }),
        (Numbers::Double(lower), Numbers::Double(upper)) => fill(given, lower, upper, boxes, moved),
        // Does not occur: both corners are views of one array.
        _ => return Err(Bad::mixed(given.name)),
    };
    match first_bad {
        usize::MAX => Ok(are_exact),
        row => Err(Bad::at(given, row)),
    }
}

/// Returns the first bad row, or `usize::MAX`, and true if all numbers are exact.
fn fill<T: Copy + Default + PartialOrd + Sync>(
    given: BoxArrays<'_>,
    lower: ArrayView2<'_, T>,
    upper: ArrayView2<'_, T>,
    boxes: &mut [Aabb],
    place: impl Fn([T; 3], [T; 3]) -> ([f32; 3], [f32; 3], bool) + Sync,
) -> (usize, bool) {
    let first_bad = AtomicUsize::new(usize::MAX);
    let are_exact = AtomicBool::new(true);
    let axes = lower.ncols();
    let share = |(share, boxes): (usize, &mut [Aabb])| {
        let mut all_exact = true;
        for (at, aabb) in boxes.iter_mut().enumerate() {
            let row = share * SHARE + at;
            let (mut low, mut high) = ([T::default(); 3], [T::default(); 3]);
            let mut is_good = true;
            for axis in 0..axes {
                (low[axis], high[axis]) = (lower[[row, axis]], upper[[row, axis]]);
                is_good &= low[axis] <= high[axis];
            }
            let (mut min, max, is_exact) = place(low, high);
            all_exact &= is_exact | !is_good;
            if !is_good {
                // Keeps the box invalid, even if rounding has ordered its bounds.
                min[0] = f32::NAN;
            }
            *aabb = Aabb {
                min,
                max,
                layers: given.layers.at(row),
                group: given.groups.at(row),
            };
            if given.checked && !is_good && aabb.group & Aabb::EXCLUDED == 0 {
                first_bad.fetch_min(row, Ordering::Relaxed);
            }
        }
        if !all_exact {
            are_exact.store(false, Ordering::Relaxed);
        }
    };
    boxes.par_chunks_mut(SHARE).enumerate().for_each(share);
    (first_bad.into_inner(), are_exact.into_inner())
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
