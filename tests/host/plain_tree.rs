//! A tree of boxes as a measure of work: halved at the median of the longest axis, four boxes per leaf.

use gpu_broad_phase::{Aabb, Query, SweptRay};

const LEAF: usize = 4;

pub struct Tree {
    bounds: Aabb,
    /// Children, or none and the boxes of a leaf.
    children: Vec<Tree>,
    boxes: Vec<Aabb>,
}

fn around(boxes: &[Aabb]) -> Aabb {
    let mut bounds = boxes[0];
    for boxed in boxes {
        for axis in 0..3 {
            bounds.min[axis] = bounds.min[axis].min(boxed.min[axis]);
            bounds.max[axis] = bounds.max[axis].max(boxed.max[axis]);
        }
    }
    bounds
}

impl Tree {
    pub fn of(mut boxes: Vec<Aabb>) -> Self {
        let bounds = around(&boxes);
        let mut children = Vec::new();
        if boxes.len() > LEAF {
            let length = |axis: &usize| bounds.max[*axis] - bounds.min[*axis];
            let longest = (0..3).max_by(|a, b| length(a).total_cmp(&length(b))).unwrap();
            let centre = |boxed: &Aabb| 0.5 * boxed.min[longest] + 0.5 * boxed.max[longest];
            boxes.sort_by(|a, b| centre(a).total_cmp(&centre(b)));
            let upper = boxes.split_off(boxes.len() / 2);
            children = vec![Self::of(std::mem::take(&mut boxes)), Self::of(upper)];
        }
        Self {
            bounds,
            children,
            boxes,
        }
    }

    /// Returns the number of box tests of a search for boxes that are `met`.
    pub fn tests(&self, met: &impl Fn(&Aabb) -> bool) -> u64 {
        let below = self.children.iter().map(|child| match met(&child.bounds) {
            true => 1 + child.tests(met),
            false => 1,
        });
        self.boxes.len() as u64 + below.sum::<u64>()
    }
}

pub fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..3).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
}

/// Box around all that a query may find.
pub fn reach_of(query: &Query) -> Aabb {
    let mut bounds = query.bounds;
    bounds.min = bounds.min.map(|low| low - query.radius);
    bounds.max = bounds.max.map(|high| high + query.radius);
    bounds
}

pub fn hits(ray: &SweptRay, boxed: &Aabb) -> bool {
    let (mut near, mut far) = (0.0f64, f64::from(ray.ray.t_max));
    for axis in 0..3 {
        let origin = f64::from(ray.ray.origin[axis]);
        let along = f64::from(ray.ray.direction[axis]);
        let ends = [boxed.min, boxed.max].map(|corner| f64::from(corner[axis]) - origin);
        if along == 0.0 {
            if ends[0] > 0.0 || ends[1] < 0.0 {
                return false;
            }
            continue;
        }
        let at = ends.map(|end| end / along);
        near = near.max(at[0].min(at[1]));
        far = far.min(at[0].max(at[1]));
    }
    near <= far
}
