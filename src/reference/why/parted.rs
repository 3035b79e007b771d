//! What parts two by the definition, told from their boxes alone.

use super::answer::{Fault, Party, Reason};
use crate::api::queries::Query;
use crate::api::types::{Aabb, SweptRay};
use crate::layout::grid::{ordered, unordered};
use crate::reference::rays::ray::{FAR_WIDENING, LoadedRay, enter_box, grown, rounded, way};

const MIN: [&str; 3] = ["min.x", "min.y", "min.z"];
const MAX: [&str; 3] = ["max.x", "max.y", "max.z"];
const ORIGIN: [&str; 3] = ["origin.x", "origin.y", "origin.z"];
const DIRECTION: [&str; 3] = ["direction.x", "direction.y", "direction.z"];
const HALF_EXTENTS: [&str; 3] = ["half_extents.x", "half_extents.y", "half_extents.z"];
/// Direction components beyond it are invalid.
const FASTEST: f32 = f32::from_bits(0x7e80_0000);

/// What a party is besides its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filters {
    pub who: Party,
    pub layers: u32,
    /// The owner word; 0 for rays.
    pub owner: u32,
    pub world: u32,
}

impl Filters {
    pub fn of(who: Party, bounds: &Aabb, world: u32) -> Self {
        Self {
            who,
            layers: bounds.layers,
            owner: bounds.owner,
            world,
        }
    }
}

fn world_fault(world: u32, worlds: u32) -> Option<Fault> {
    (world >= worlds).then_some(Fault::NoSuchWorld { world, worlds })
}

fn bounds_faults(bounds: &Aabb, axes: usize) -> Vec<Fault> {
    let numbers = (0..axes).flat_map(|axis| [(MIN[axis], bounds.min[axis]), (MAX[axis], bounds.max[axis])]);
    let mut faults: Vec<_> = numbers
        .filter(|(_, value)| value.is_nan())
        .map(|(what, _)| Fault::NotANumber { what })
        .collect();
    let inverted = (0..axes).filter(|&axis| bounds.min[axis] > bounds.max[axis]);
    faults.extend(inverted.map(|axis| Fault::Inverted {
        axis,
        min: bounds.min[axis],
        max: bounds.max[axis],
    }));
    faults
}

/// In what way an object takes no part, as it was given.
pub(super) fn object(who: Party, given: &Aabb, world: u32, worlds: u32, axes: usize) -> Vec<Reason> {
    if given.owner & Aabb::EXCLUDED != 0 {
        return vec![Reason::Excluded { who }];
    }
    let faults = bounds_faults(given, axes).into_iter().chain(world_fault(world, worlds));
    faults.map(|fault| Reason::Invalid { who, fault }).collect()
}

/// In what way a query finds nothing.
pub(super) fn query(who: Party, given: &Query, worlds: u32, axes: usize) -> Vec<Reason> {
    let mut reasons = object(who, &given.bounds, given.world, worlds, axes);
    if !matches!(reasons[..], [Reason::Excluded { .. }]) {
        let (what, value) = ("radius", given.radius);
        let fault = match value {
            value if value.is_nan() => Some(Fault::NotANumber { what }),
            value if value < 0.0 => Some(Fault::Negative { what, value }),
            _ => None,
        };
        reasons.extend(fault.map(|fault| Reason::Invalid { who, fault }));
    }
    reasons
}

/// In what way a ray is invalid or empty.
pub(super) fn ray(who: Party, given: &SweptRay, worlds: u32, axes: usize) -> Vec<Reason> {
    let SweptRay {
        ray,
        half_extents,
        t_min,
        ..
    } = *given;
    let mut faults = Vec::new();
    for axis in 0..axes {
        let (origin, direction, extent) = (ray.origin[axis], ray.direction[axis], half_extents[axis]);
        for (what, value) in [
            (ORIGIN[axis], origin),
            (DIRECTION[axis], direction),
            (HALF_EXTENTS[axis], extent),
        ] {
            if value.is_nan() {
                faults.push(Fault::NotANumber { what });
            } else if value.is_infinite() {
                faults.push(Fault::Infinite { what });
            }
        }
        if direction.is_finite() && direction.abs() > FASTEST {
            let (what, value) = (DIRECTION[axis], direction);
            faults.push(Fault::TooLarge { what, value });
        }
        if extent.is_finite() && extent < 0.0 {
            let (what, value) = (HALF_EXTENTS[axis], extent);
            faults.push(Fault::Negative { what, value });
        }
    }
    for (what, value) in [("t_max", ray.t_max), ("t_min", t_min)] {
        if value.is_nan() {
            faults.push(Fault::NotANumber { what });
        }
    }
    faults.extend(world_fault(given.world, worlds));
    faults.into_iter().map(|fault| Reason::Invalid { who, fault }).collect()
}

/// What worlds, owners, flags and layers say. Without `filters` only worlds count.
pub(super) fn filters(a: &Filters, b: &Filters, filters: bool) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if a.world != b.world {
        reasons.push(Reason::Worlds {
            first: a.world,
            second: b.world,
        });
    }
    if !filters {
        return reasons;
    }
    if a.owner & b.owner & Aabb::STATIC != 0 {
        reasons.push(Reason::BothStatic);
    }
    let [owner, other] = [a, b].map(|of| of.owner & Aabb::OWNER_MASK);
    if owner != 0 && owner == other {
        reasons.push(Reason::SameOwner { owner });
    }
    for (of, by) in [(a, b), (b, a)] {
        let (members, mask) = (of.layers as u16, (by.layers >> 16) as u16);
        if members & mask == 0 {
            reasons.push(Reason::Layers {
                of: of.who,
                members,
                by: by.who,
                mask,
            });
        }
    }
    reasons
}

/// How far two boxes reach into each other along each axis; negative where they are apart.
pub(super) fn overlap(a: &Aabb, b: &Aabb) -> [f64; 3] {
    std::array::from_fn(|axis| {
        let low = f64::from(a.min[axis]).max(f64::from(b.min[axis]));
        let high = f64::from(a.max[axis]).min(f64::from(b.max[axis]));
        if low == high { 0.0 } else { high - low }
    })
}

/// The axes along which two boxes are apart.
pub(super) fn boxes(a: (Party, &Aabb), b: (Party, &Aabb)) -> Vec<Reason> {
    let overlap = overlap(a.1, b.1);
    let apart = (0..3).filter(|&axis| overlap[axis] < 0.0);
    apart
        .map(|axis| Reason::Apart {
            axis,
            gap: -overlap[axis],
            below: if a.1.min[axis] > b.1.max[axis] { b.0 } else { a.0 },
        })
        .collect()
}

/// Why a valid ray misses a valid box, if it does.
pub(super) fn missed(ray: &LoadedRay, given: &SweptRay, bounds: &Aabb) -> Vec<Reason> {
    let (low, high) = (bounds.min.map(ordered), bounds.max.map(ordered));
    if ray.t_max >= 0.0 && enter_box(ray, &low, &high).is_some() {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    if ray.t_max < 0.0 {
        let (t_min, t_max) = (given.t_min, given.ray.t_max);
        reasons.push(Reason::EmptyRay { t_min, t_max });
    }
    let whole = LoadedRay {
        t_min: 0.0,
        t_max: f32::MAX,
        ..*ray
    };
    let Some(t) = enter_box(&whole, &low, &high) else {
        reasons.extend(line_misses(ray, low, high));
        return reasons;
    };
    if reasons.is_empty() {
        let up_to_end = LoadedRay { t_min: 0.0, ..*ray };
        reasons.push(match enter_box(&up_to_end, &low, &high) {
            None => Reason::PastEnd { t, t_max: ray.t_max },
            Some(_) => Reason::BeforeStart {
                leaves: Slabs::of(ray, low, high).leaves.1,
                t_min: ray.t_min,
            },
        });
    }
    reasons
}

/// Where a ray is between the two sides of a box, axis by axis, by the formula of [`enter_box`].
struct Slabs {
    /// Axes without motion along which the box is elsewhere, and by how much.
    beside: Vec<(usize, f64)>,
    /// Axes along which the box lies behind the origin, and by how much.
    behind: Vec<(usize, f64)>,
    /// Along which axis it reaches the box last, and when.
    enters: (usize, f64),
    /// Along which axis it leaves the box first, and when.
    leaves: (usize, f64),
}

impl Slabs {
    fn of(ray: &LoadedRay, low: [i32; 3], high: [i32; 3]) -> Self {
        let mut slabs = Self {
            beside: Vec::new(),
            behind: Vec::new(),
            enters: (0, 0.0),
            leaves: (0, f64::INFINITY),
        };
        for axis in 0..3 {
            let extent = ray.half_extents[axis];
            let [low, high] = match extent > 0.0 {
                true => [grown(low[axis], extent, -1), grown(high[axis], extent, 1)],
                false => [low[axis], high[axis]],
            };
            let origin = unordered(ray.origin_ordered[axis]);
            let [low, high] = [low, high].map(unordered);
            let gap = (f64::from(low) - f64::from(origin)).max(f64::from(origin) - f64::from(high));
            if !ray.moves[axis] {
                if gap > 0.0 {
                    slabs.beside.push((axis, gap));
                }
                continue;
            }
            let inverse = f64::from(ray.inverse[axis]);
            let at = |bound: f32| match bound.is_finite() {
                true => rounded(way(origin, bound) * inverse),
                false => f64::from(bound) * inverse,
            };
            let (first, last) = if inverse > 0.0 { (low, high) } else { (high, low) };
            let (enters, leaves) = (at(first), at(last));
            if enters > slabs.enters.1 {
                slabs.enters = (axis, enters);
            }
            if leaves < slabs.leaves.1 {
                slabs.leaves = (axis, leaves);
            }
            if leaves < 0.0 {
                slabs.behind.push((axis, gap));
            }
        }
        slabs
    }
}

/// Why the whole line from the origin on misses a box.
fn line_misses(ray: &LoadedRay, low: [i32; 3], high: [i32; 3]) -> Vec<Reason> {
    let Slabs {
        beside,
        behind,
        enters,
        leaves,
    } = Slabs::of(ray, low, high);
    let mut reasons: Vec<_> = beside
        .into_iter()
        .map(|(axis, gap)| Reason::Beside { axis, gap })
        .collect();
    reasons.extend(behind.into_iter().map(|(axis, gap)| Reason::Behind { axis, gap }));
    if reasons.is_empty() {
        let passes_by = enters.1 > rounded(leaves.1.min(f64::from(f32::MAX)) * FAR_WIDENING);
        reasons.push(if passes_by && enters.1.is_finite() && leaves.1.is_finite() {
            Reason::PassesBy {
                enters_axis: enters.0,
                enters: enters.1,
                leaves_axis: leaves.0,
                leaves: leaves.1,
            }
        } else {
            Reason::Unreachable
        });
    }
    reasons
}
