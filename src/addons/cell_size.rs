//! Cell sizes of the uniform and adaptive schemes.

use crate::api::descriptor::{BroadPhaseDescriptor, Scheme};
use crate::api::types::{Aabb, Dimensions};
use crate::layout::grid::{Class, MAX_COVER, Params, classify, whole_cell_inverse};
use crate::reference::table::base_cell::base_cell;
use crate::reference::table::sample_statistics::sample_statistics;

/// Maximum ratio of the largest box's side to the smallest scale of the adaptive scheme. Its 32 layers span a ratio of
/// 2^31; the coarsest four are left for boxes that cross cell borders.
const MAX_SIZE_RATIO: f64 = (1u32 << 27) as f64;
/// Length limits of descriptors, tightened for rounding to `f32`.
const SMALLEST_LENGTH: f64 = 1e-30;
const LARGEST_CELL: f64 = 1e30;
const LARGEST_SCALE: f64 = 1e27;
/// Maximum ratio of the reference cell's side to the cell size. Walks find smaller cells mostly empty.
const MAX_CELL_RATIO: f64 = 2.0;
const MAX_SCALE_RATIO: f64 = 8.0;
/// Cells that a box may enter, and the share of boxes that may enter more: those on the large list.
const MOST_CELLS: f64 = MAX_COVER as f64;
const FEW: usize = 32;

impl Scheme {
    /// Returns [`Scheme::Uniform`] with the median of the boxes' longest sides as cell size.
    ///
    /// If the median is less than half the side of the reference cell, as for points, that side is the cell size. The
    /// reference cell is the finest cell of [`Scheme::Hierarchical`] (its longest side) or, if smaller, a cube (in 2D a
    /// square) that holds one box on average. Cells are larger if more than one box in 32 would enter over
    /// [`MAX_COVER`](crate::grid::MAX_COVER) of them.
    pub fn uniform_for(objects: &[Aabb], dimensions: Dimensions) -> Self {
        let boxes = finite(objects, dimensions);
        let mut sides = longest_sides(&boxes);
        let middle = sides.len() / 2;
        let median = match sides.get(middle) {
            Some(_) => *sides.select_nth_unstable_by(middle, f64::total_cmp).1,
            None => 0.0,
        };
        let cell_size = usable_length(&boxes, dimensions, median, MAX_CELL_RATIO, LARGEST_CELL);
        Self::Uniform {
            cell_size: entered_in_few(&boxes, cell_size),
        }
    }

    /// Returns [`Scheme::Adaptive`] with the smallest positive longest side of `objects` as smallest scale. The scale
    /// is raised if the largest box would exceed the coarsest layer.
    ///
    /// If the scale is less than an eighth of the side of [`uniform_for`](Self::uniform_for)'s reference cell, that
    /// side is the scale.
    pub fn adaptive_for(objects: &[Aabb], dimensions: Dimensions) -> Self {
        let boxes = finite(objects, dimensions);
        let sides = longest_sides(&boxes);
        let largest = sides.iter().copied().fold(0.0, f64::max);
        let positive = sides.into_iter().filter(|&side| side > 0.0);
        let smallest = positive.fold(largest, f64::min).max(largest / MAX_SIZE_RATIO);
        Self::Adaptive {
            min_scale: usable_length(&boxes, dimensions, smallest, MAX_SCALE_RATIO, LARGEST_SCALE),
        }
    }
}

fn axes(dimensions: Dimensions) -> usize {
    dimensions.count() as usize
}

fn finite(objects: &[Aabb], dimensions: Dimensions) -> Vec<Aabb> {
    let flat = objects.iter().map(|object| {
        let mut object = *object;
        object.min[axes(dimensions)..].fill(0.0);
        object.max[axes(dimensions)..].fill(0.0);
        object
    });
    flat.filter(|object| classify(object) == Class::Finite).collect()
}

fn edges(object: &Aabb) -> [f64; 3] {
    [0, 1, 2].map(|axis| f64::from(object.max[axis]) - f64::from(object.min[axis]))
}

fn longest_sides(boxes: &[Aabb]) -> Vec<f64> {
    let side = |object| edges(object).into_iter().fold(0.0, f64::max);
    boxes.iter().map(side).collect()
}

fn usable_length(boxes: &[Aabb], dimensions: Dimensions, length: f64, finer: f64, largest: f64) -> f32 {
    let shared = spacing(boxes, dimensions).min(finest_cell(boxes, dimensions));
    let length = if finer * length < shared { shared } else { length };
    if length > 0.0 {
        length.clamp(SMALLEST_LENGTH, largest) as f32
    } else {
        1.0
    }
}

/// Returns `cell_size`, doubled until at most one box in `FEW` enters more than `MOST_CELLS`.
fn entered_in_few(boxes: &[Aabb], cell_size: f32) -> f32 {
    let mut cell_size = f64::from(cell_size);
    loop {
        let cells = |object| edges(object).map(|edge| edge / cell_size + 1.0).iter().product::<f64>();
        let many = boxes.iter().filter(|object| cells(object) > MOST_CELLS).count();
        if many <= boxes.len() / FEW || 2.0 * cell_size > LARGEST_CELL {
            return cell_size as f32;
        }
        cell_size *= 2.0;
    }
}

fn spacing(boxes: &[Aabb], dimensions: Dimensions) -> f64 {
    let extents = (0..3).map(|axis| {
        let low = boxes.iter().map(|object| f64::from(object.min[axis]));
        let high = boxes.iter().map(|object| f64::from(object.max[axis]));
        high.fold(f64::NEG_INFINITY, f64::max) - low.fold(f64::INFINITY, f64::min)
    });
    let along = (boxes.len().max(1) as f64).powf(1.0 / axes(dimensions) as f64);
    extents.fold(0.0, f64::max) / along
}

fn finest_cell(boxes: &[Aabb], dimensions: Dimensions) -> f64 {
    let descriptor = BroadPhaseDescriptor {
        dimensions,
        ..Default::default()
    };
    let params = Params::of_table(&descriptor, boxes.len() as u32, 0);
    let (finest, _) = base_cell(&params, &sample_statistics(&params, boxes, &[]));
    let inverses = whole_cell_inverse(finest.inverse, finest.stretch);
    1.0 / f64::from(inverses.into_iter().fold(f32::INFINITY, f32::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dimensions::{Three, Two};

    fn cube(side: f32) -> Aabb {
        Aabb::new([0.0; 3], [side; 3])
    }

    fn cell_size(objects: &[Aabb], dimensions: Dimensions) -> f32 {
        match Scheme::uniform_for(objects, dimensions) {
            Scheme::Uniform { cell_size } => cell_size,
            other => panic!("{other:?}"),
        }
    }

    fn min_scale(objects: &[Aabb], dimensions: Dimensions) -> f32 {
        match Scheme::adaptive_for(objects, dimensions) {
            Scheme::Adaptive { min_scale } => min_scale,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_cell_size_is_the_median_and_never_zero() {
        assert_eq!(
            cell_size(&[cube(1.0), cube(2.0), cube(3.0), cube(f32::NAN)], Three),
            2.0
        );
        assert_eq!(cell_size(&[], Three), 1.0);
        assert_eq!(cell_size(&[cube(0.0)], Three), 1.0);
        let points = [Aabb::point([0.0; 3]), Aabb::point([8.0; 3])];
        assert_eq!(cell_size(&points, Three), (8.0 / 2f64.cbrt()) as f32);
        assert_eq!(cell_size(&points, Two), 8.0 / 2f32.sqrt());
        assert!(cell_size(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3])], Three) <= 1e30);
        assert_eq!(cell_size(&[Aabb::new([0.0, 0.0, f32::NAN], [3.0, 1.0, 9.0])], Two), 3.0);
    }

    #[test]
    fn cells_hold_long_boxes_if_they_are_many() {
        let rods = |count: usize| {
            let rods = (0..count).map(|index| {
                let mut rod = cube(1e-3);
                rod.max[index % 3] = 100.0;
                rod
            });
            rods.chain((count..1000).map(|_| cube(0.1))).collect::<Vec<_>>()
        };
        for (count, range) in [(20, 0.1..=0.1), (400, 1.5..=3.3), (900, 100.0..=100.0)] {
            let side = cell_size(&rods(count), Three);
            assert!(range.contains(&side), "{count} rods: {side}");
        }
    }

    #[test]
    fn the_smallest_scale_leaves_layers_for_the_largest_box() {
        let boxes = [cube(2.0), cube(0.5), cube(0.0), cube(f32::NAN)];
        assert_eq!(min_scale(&boxes, Three), 0.5);
        assert_eq!(min_scale(&[], Three), 1.0);
        assert!(min_scale(&[cube(1e-20), cube(2f32.powi(27))], Three) >= 1.0);
        assert!(min_scale(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3])], Three) <= 2f32.powi(90));
    }

    #[test]
    fn cells_are_no_finer_than_what_a_few_boxes_share() {
        let points = |side: f32| {
            let place = |index: i32| [index % 20, index / 20 % 20, index / 400].map(|cell| cell as f32);
            (0..8000).map(move |index| {
                let low = place(index);
                Aabb::new(low, low.map(|bound| bound + side))
            })
        };
        let far = std::iter::once(Aabb::point([1e6; 3]));
        for objects in [
            points(1e-6).collect::<Vec<_>>(),
            points(0.0).chain(far.clone()).collect(),
            points(1e-6).chain(far).collect(),
        ] {
            for length in [cell_size(&objects, Three), min_scale(&objects, Three)] {
                assert!((0.5..=2.0).contains(&length), "{length}");
            }
        }
        let boxes = |side| points(side).collect::<Vec<_>>();
        assert_eq!(
            [cell_size(&boxes(0.75), Three), min_scale(&boxes(0.25), Three)],
            [0.75, 0.25]
        );
    }
}
