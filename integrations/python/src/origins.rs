//! Origins near the boxes, from which float64 coordinates are measured before they are rounded to float32.

use gpu_broad_phase::{Aabb, LocalOrigin};
use rayon::prelude::*;

use crate::arrays::Numbers;
use crate::boxes::{self, Bad, BoxArrays};

/// Boxes of a sample, which takes some 0.03 ms.
const SAMPLE: usize = 256;

pub type Bounds = [[f64; 3]; 2];

/// Step of coordinates and median side of boxes, if the step is coarse beside the boxes.
pub type Coarse = Option<[f64; 2]>;

/// Rows of a sample. A fixed stride could follow a pattern of the rows.
pub fn sample(rows: usize) -> impl Iterator<Item = usize> {
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    (0..rows.min(SAMPLE)).map(move |at| match rows <= SAMPLE {
        true => at,
        false => ((u128::from(GOLDEN_RATIO.wrapping_mul(at as u64)) * rows as u128) >> 64) as usize,
    })
}

/// Sample of the boxes of objects, by a function that returns `None` for slots without one.
pub fn sample_objects(slots: usize, object: impl Fn(usize) -> Option<Bounds>) -> Vec<Bounds> {
    let seen: Vec<_> = sample(slots).filter_map(&object).collect();
    match seen.len() < slots.min(SAMPLE) / 4 {
        true => (0..slots).filter_map(object).take(SAMPLE).collect(),
        false => seen,
    }
}

/// True if float32 holds all numbers of valid boxes.
fn are_exact(boxes: &[Bounds]) -> bool {
    let is_exact = |[min, max]: &Bounds| {
        let is_valid = (0..3).all(|axis| min[axis] <= max[axis]);
        !is_valid || min.iter().chain(max).all(|&number| LocalOrigin::is_exact(number))
    };
    boxes.iter().all(is_exact)
}

/// Boxes of a step, as read.
#[derive(Clone, Copy)]
pub struct Placed {
    /// 0 if float32 holds all numbers.
    pub origin: LocalOrigin,
    pub are_exact: bool,
    pub coarse: Coarse,
}

impl Default for Placed {
    fn default() -> Self {
        Self {
            origin: LocalOrigin::default(),
            are_exact: true,
            coarse: None,
        }
    }
}

/// Measures boxes from an origin near them and rounds them outward. `last` stays the origin while it serves.
pub fn read(given: BoxArrays<'_>, last: LocalOrigin, cell: Option<f64>, boxes: &mut Vec<Aabb>) -> Result<Placed, Bad> {
    let zero = LocalOrigin::default();
    let rows = match given.lower {
        Numbers::Single(_) => 0,
        Numbers::Double(_) => given.lower.rows(),
    };
    let seen: Vec<_> = sample(rows)
        .map(|row| [given.lower.row(row), given.upper.row(row)])
        .collect();
    let choose = || last.updated(seen.iter().copied(), cell);
    let seems_exact = are_exact(&seen);
    let mut origin = if seems_exact { zero } else { choose() };
    let are_exact = boxes::read(given, origin, boxes)?;
    if seems_exact && !are_exact {
        origin = choose();
        if origin != zero {
            boxes::read(given, origin, boxes)?;
        }
    }
    Ok(Placed {
        origin,
        are_exact,
        coarse: if are_exact { None } else { origin.coarse_step(seen) },
    })
}

/// Origin near boxes whose results are exact from any origin.
pub fn near(boxes: &[Bounds]) -> LocalOrigin {
    let seen: Vec<_> = sample(boxes.len()).map(|row| boxes[row]).collect();
    match are_exact(&seen) {
        true => LocalOrigin::default(),
        false => LocalOrigin::for_boxes(seen, None),
    }
}

/// Measures exact boxes from an origin and rounds them outward.
pub fn moved(boxes: &[Aabb], origin: LocalOrigin) -> Vec<Aabb> {
    let moved = |aabb: &Aabb| {
        let [min, max] = bounds(aabb);
        let Aabb { min, max, .. } = origin.aabb(min, max);
        Aabb { min, max, ..*aabb }
    };
    boxes.par_iter().map(moved).collect()
}

pub fn bounds(aabb: &Aabb) -> Bounds {
    [aabb.min, aabb.max].map(|corner| corner.map(f64::from))
}

/// Origin for rays and queries that are not exact, if the boxes are: 0 where the rounding of rays is small beside the
/// boxes, because another origin means another table.
pub fn for_questions(boxes: &[Aabb]) -> LocalOrigin {
    let zero = LocalOrigin::default();
    let object = |row: usize| (boxes[row].group & Aabb::EXCLUDED == 0).then(|| bounds(&boxes[row]));
    let seen = sample_objects(boxes.len(), object);
    let origin = LocalOrigin::for_boxes(seen.iter().copied(), None);
    if origin == zero {
        return zero;
    }
    // Points count as boxes of a thousandth of their distance from the origin, less than the distance to neighbours in
    // most clouds.
    let sized = |[min, mut max]: Bounds| {
        if min == max {
            let reach = (0..3)
                .map(|axis| (min[axis] - origin.position[axis]).abs())
                .fold(0.0, f64::max);
            max[0] = (max[0] + reach / 1024.0).next_up();
        }
        [min, max]
    };
    match zero.coarse_step(seen.into_iter().map(sized)) {
        Some(_) => origin,
        None => zero,
    }
}
