//! Compares visible objects with the library's definition in exact arithmetic.

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Frustum, Visible};

use crate::generate::{Random, nudge};

/// Some views are invalid.
pub fn random(boxes: &[Aabb], worlds: u32, random: &mut Random) -> Vec<Frustum> {
    let count = [1, 2, 5, 32][random.below(4) as usize];
    (0..count).map(|_| view(boxes, worlds, random)).collect()
}

fn view(boxes: &[Aabb], worlds: u32, random: &mut Random) -> Frustum {
    let mut view = match random.below(8) {
        0 => Frustum::default(),
        1..=3 => Frustum::from_view_projection(camera(finite(corner(boxes, random)), random)),
        _ => {
            let planes = [(); 8].map(|()| plane(boxes, random));
            Frustum {
                plane_count: random.below(9),
                ..Frustum::new(planes)
            }
        }
    };
    view.world = random.below(worlds);
    match random.below(16) {
        0 => view.planes[random.below(8) as usize][random.below(4) as usize] = f32::NAN,
        1 => view.plane_count = [9, u32::MAX][random.below(2) as usize],
        2 => view.world = worlds,
        3..=5 => view.layers = [0x0001_0003, 0, 0x0002_0002][random.below(3) as usize],
        _ => {}
    }
    view
}

fn corner(boxes: &[Aabb], random: &mut Random) -> [f32; 3] {
    if boxes.is_empty() {
        return [0.5; 3];
    }
    let boxed = &boxes[random.below(boxes.len() as u32) as usize];
    [boxed.min, boxed.max][random.below(2) as usize]
}

fn finite(point: [f32; 3]) -> [f32; 3] {
    point.map(|at| if at.is_finite() { at } else { 0.0 })
}

/// A plane through a corner of an object, or one ulp beside it.
fn plane(boxes: &[Aabb], random: &mut Random) -> [f32; 4] {
    let scale = [1.0, 1.0, 0.3, 1e-20, 1e18][random.below(5) as usize];
    let is_on_axes = random.once_in(2);
    let mut normal = [(); 3].map(|()| {
        if is_on_axes {
            scale * (random.below(3) as f32 - 1.0)
        } else {
            scale * random.between(-0.5, 0.5) as f32
        }
    });
    if random.once_in(3) {
        normal[random.below(3) as usize] = [0.0, -0.0, 1e-42][random.below(3) as usize];
    }
    let point = finite(corner(boxes, random));
    let d: f32 = (0..3).map(|axis| -normal[axis] * point[axis]).sum();
    let d = if d.is_finite() { d } else { 0.0 };
    let [x, y, z] = normal;
    [x, y, z, nudge(d, random)]
}

/// Columns of a perspective camera in a random direction. Its far plane is sometimes infinite.
fn camera(eye: [f32; 3], random: &mut Random) -> [[f32; 4]; 4] {
    let ahead = random.direction(3).map(|at| at as f32);
    let [[x, y, z], up] = [ahead, random.direction(3).map(|at| at as f32)];
    let right = [y * up[2] - z * up[1], z * up[0] - x * up[2], x * up[1] - y * up[0]];
    let far = [3.0, 50.0, 1e4, f32::INFINITY][random.below(4) as usize];
    let near = 0.05_f32;
    let depth = if far.is_infinite() { 1.0 } else { far / (far - near) };
    let row = |axis: [f32; 3], scale: f32, ahead: f32| {
        let along: f32 = (0..3).map(|at| axis[at] * eye[at]).sum();
        [axis[0] * scale, axis[1] * scale, axis[2] * scale, ahead - scale * along]
    };
    let rows = [
        row(right, 1.5, 0.0),
        row(up, 1.5, 0.0),
        row(ahead, depth, -depth * near),
        row(ahead, 1.0, 0.0),
    ];
    std::array::from_fn(|column| rows.map(|row| row[column]))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Seen,
    /// Outside a plane by less than the possible rounding.
    Perhaps,
    Unseen,
}

pub struct Defined {
    sights: Vec<Vec<Sight>>,
    invalid: u32,
}

impl Defined {
    /// `worlds` is empty if there is only one. Static objects are treated like others.
    pub fn of(descriptor: &BroadPhaseDescriptor<'_>, boxes: &[Aabb], worlds: &[u32], views: &[Frustum]) -> Self {
        let axes = descriptor.dimensions.count() as usize;
        let boxes: Vec<_> = boxes.iter().map(|boxed| compared(descriptor, axes, boxed)).collect();
        let views: Vec<_> = views.iter().map(|view| planes(descriptor, axes, view)).collect();
        let sights = views.iter().map(|view| {
            let of_box = |(index, boxed): (usize, &Option<Aabb>)| match (view, boxed) {
                (Some((view, planes)), Some(boxed))
                    if worlds.get(index).copied().unwrap_or(0) == view.world
                        && (!descriptor.filters || layers_meet(view.layers, boxed.layers)) =>
                {
                    sight(planes, boxed)
                }
                _ => Sight::Unseen,
            };
            boxes.iter().enumerate().map(of_box).collect()
        });
        Self {
            sights: sights.collect(),
            invalid: views.iter().filter(|view| view.is_none()).count() as u32,
        }
    }

    pub fn difference(&self, visible: &Visible) -> Option<String> {
        let counts = [visible.objects.len(), visible.invalid as usize];
        let expected = [self.sights.len(), self.invalid as usize];
        if counts != expected {
            let ([views, invalid], [all, faulty]) = (counts, expected);
            return Some(format!(
                "{views} views, {invalid} of them invalid, {all} and {faulty} expected"
            ));
        }
        let views = self.sights.iter().zip(&visible.objects).enumerate();
        views.into_iter().find_map(|(view, (sights, seen))| {
            if !seen.is_sorted_by(|a, b| a < b) {
                return Some(format!("view {view}: objects out of order"));
            }
            let unknown = seen.iter().find(|&&object| object as usize >= sights.len());
            let fault = unknown.map(|object| format!("unknown object {object}"));
            let wrong = || {
                (0..).zip(sights).find_map(|(object, sight)| {
                    let is_seen = seen.binary_search(&object).is_ok();
                    match (sight, is_seen) {
                        (Sight::Seen, false) => Some(format!("object {object} is missing")),
                        (Sight::Unseen, true) => Some(format!("unexpected object {object}")),
                        _ => None,
                    }
                })
            };
            fault.or_else(wrong).map(|fault| format!("view {view}: {fault}"))
        })
    }
}

/// `None` if the box is ignored.
fn compared(descriptor: &BroadPhaseDescriptor<'_>, axes: usize, boxed: &Aabb) -> Option<Aabb> {
    let mut boxed = *boxed;
    boxed.min[axes..].fill(0.0);
    boxed.max[axes..].fill(0.0);
    let is_ignored = boxed.is_ignored(descriptor.dimensions);
    let grown = |bound: f32, by: f32, next: fn(f32) -> f32| {
        if bound.is_finite() && descriptor.margin > 0.0 {
            next(bound + by)
        } else {
            bound
        }
    };
    for axis in 0..axes {
        boxed.min[axis] = grown(boxed.min[axis], -descriptor.margin, f32::next_down);
        boxed.max[axis] = grown(boxed.max[axis], descriptor.margin, f32::next_up);
    }
    (!is_ignored).then_some(boxed)
}

fn planes(descriptor: &BroadPhaseDescriptor<'_>, axes: usize, view: &Frustum) -> Option<(Frustum, Vec<[f32; 4]>)> {
    let mut planes = view.planes.get(..view.plane_count as usize)?.to_vec();
    for plane in &mut planes {
        plane[axes..3].fill(0.0);
    }
    let is_finite = planes.as_flattened().iter().all(|part| part.is_finite());
    (is_finite && view.world < descriptor.worlds).then_some((*view, planes))
}

fn layers_meet(a: u32, b: u32) -> bool {
    let [a, b] = [a, b].map(|layers| (layers & 0xffff, layers >> 16));
    a.0 & b.1 != 0 && b.0 & a.1 != 0
}

fn sight(planes: &[[f32; 4]], boxed: &Aabb) -> Sight {
    let mut sight = Sight::Seen;
    for plane in planes {
        match side(*plane, boxed) {
            Sight::Unseen => return Sight::Unseen,
            Sight::Perhaps => sight = Sight::Perhaps,
            Sight::Seen => {}
        }
    }
    sight
}

/// Follows the documentation of [`Frustum`], in exact arithmetic.
fn side(plane: [f32; 4], boxed: &Aabb) -> Sight {
    let normal = [0, 1, 2].map(|axis| plane[axis]);
    let farthest = [0, 1, 2].map(|axis| {
        if normal[axis] < 0.0 {
            boxed.min[axis]
        } else {
            boxed.max[axis]
        }
    });
    let mut endless = (0..3).filter(|&axis| normal[axis] != 0.0 && farthest[axis].is_infinite());
    if let Some(first) = endless.next() {
        let is_ahead = |axis: usize| (normal[axis] > 0.0) == (farthest[axis] > 0.0);
        let is_inside = is_ahead(first) || endless.any(is_ahead);
        return if is_inside { Sight::Seen } else { Sight::Unseen };
    }
    // Products of floats are exact in doubles.
    let product = |axis: usize| match normal[axis] {
        0.0 => 0.0,
        part => f64::from(part) * f64::from(farthest[axis]),
    };
    let terms = [product(0), product(1), product(2), f64::from(plane[3])];
    if !is_negative(terms) {
        return Sight::Seen;
    }
    let finite = boxed.min.iter().chain(&boxed.max).filter(|bound| bound.is_finite());
    let largest = finite.chain(&normal).fold(2.0_f32, |most, part| most.max(part.abs()));
    let is_past_floats = terms.iter().map(|term| term.abs()).sum::<f64>() > 0.999_999 * f64::from(f32::MAX);
    let slack = terms.map(|term| term.abs() * 2f64.powi(-20));
    let with_slack = terms.into_iter().chain(slack);
    let with_slack = with_slack.chain([f64::from(largest) * 2f64.powi(-119)]);
    if is_past_floats || !is_negative(with_slack) {
        Sight::Perhaps
    } else {
        Sight::Unseen
    }
}

/// True if the exact sum of at most nine terms is negative. It is stored as non-overlapping doubles, small ones first
/// (after Shewchuk).
fn is_negative(terms: impl IntoIterator<Item = f64>) -> bool {
    let mut parts = [0.0_f64; 9];
    for (count, term) in terms.into_iter().enumerate() {
        let mut sum = term;
        for part in &mut parts[..count] {
            let (a, b) = (sum, *part);
            sum = a + b;
            let shared = sum - a;
            *part = (a - (sum - shared)) + (b - shared);
        }
        parts[count] = sum;
    }
    let leading = parts.iter().rev().find(|part| **part != 0.0);
    leading.is_some_and(|part| *part < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_their_sign_where_doubles_round_it_away() {
        let small = 2f64.powi(-290);
        assert!(is_negative([1e70, 1.0, -1e70, -1.0, -small]));
        assert!(!is_negative([1e70, 1.0, -1e70, -1.0, small]));
        assert!(!is_negative([1e70, 1.0, -1e70, -1.0, 0.0]));
        assert!(is_negative([small, -1.0]) && !is_negative([]));
    }

    #[test]
    fn boxes_that_touch_are_seen_and_those_clearly_outside_are_not() {
        let boxed = Aabb::new([0.1; 3], [0.3; 3]);
        let at = |d: f32| side([1.0, 0.0, 0.0, d], &boxed);
        assert_eq!(at(-0.3), Sight::Seen);
        assert_eq!(at((-0.3_f32).next_down()), Sight::Perhaps);
        assert_eq!(at(-0.3001), Sight::Unseen);
        let endless = Aabb::new([f32::NEG_INFINITY; 3], [0.3; 3]);
        assert_eq!(side([-1.0, 0.0, 0.0, -1e38], &endless), Sight::Seen);
        assert_eq!(side([1.0, 0.0, 0.0, -1.0], &endless), Sight::Unseen);
    }
}
