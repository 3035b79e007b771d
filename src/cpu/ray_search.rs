//! Rays through trees.

use super::boxes::{Block, LANES, larger, smaller};
use super::lists::Found;
use super::trees::Trees;
use crate::api::types::{Aabb, RayHit, SweptRay};
use crate::layout::blocks::{Overrides, RayBlocks};
use crate::layout::grid::{Record, unordered};
use crate::reference::pairs::pair_walk::passes_layers;
use crate::reference::rays::ray::{LARGEST_FLOAT, LoadedRay, enter_box, load_ray};
use crate::reference::rays::ray_hits::{HitVisitor, RayReads, walk_tables};
use crate::shared::runs::Walked;

const FARTHEST: f32 = f32::from_bits((127 + 100) << 23);

/// Like [`walk_tables`], in another order.
pub(super) fn walk(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    trees: &[&Trees],
    overrides: Overrides,
    ray: &LoadedRay,
    visitor: &mut impl HitVisitor,
) -> Walked {
    if trees.is_empty() || is_far(ray) {
        return walk_tables(params, tables, overrides, ray, visitor);
    }
    if ray.valid && ray.t_max >= 0.0 {
        for (input, trees) in tables.iter().zip(trees) {
            let slabs = Slabs::of(ray, trees.size);
            let limit = |visitor: &mut _| widened(HitVisitor::search_limit(visitor).min(ray.t_max));
            // Reading layers often misses the cache.
            let have_layers = overrides.filters && (trees.have_filters || ray.layers != Aabb::ALL_LAYERS);
            let most = limit(visitor);
            let visit = |_: f32, object: u32, record: &dyn Fn() -> Record| {
                let passes = || !have_layers || passes_layers(ray.layers, input.objects[object as usize].layers);
                if visitor.may_accept(object, passes) {
                    let record = record();
                    if let Some(t) = enter_box(ray, &record.low, &record.high)
                        && passes()
                    {
                        visitor.accept_hit(object, t);
                    }
                }
                limit(visitor)
            };
            trees.search::<true>(ray.world, 0, most, |block, _, most| slabs.enter(block, most), visit);
        }
    }
    Walked {
        candidates: 0,
        is_invalid: !ray.valid,
    }
}

/// True if trees cannot search some of the rays.
pub(super) fn are_far(params: &RayBlocks, rays: &[SweptRay]) -> bool {
    rays.iter().any(|ray| is_far(&load_ray(params, ray)))
}

fn is_far(ray: &LoadedRay) -> bool {
    (0..3).any(|axis| ray.origin[axis].abs() > FARTHEST || ray.half_extents[axis] > FARTHEST)
}

impl HitVisitor for Found<'_, RayHit> {
    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn accept_hit(&mut self, object: u32, t: f32) {
        self.accept(RayHit { object, t });
    }
}

/// More than the rounding of a parameter.
fn widened(t: f32) -> f32 {
    (t + t.abs() * (16.0 * f32::EPSILON) + f32::MIN_POSITIVE).min(f32::MAX)
}

/// A ray, for [`enter_box`] of eight wider boxes without doubles.
struct Slabs {
    /// Subtracted from the sides at which the ray enters.
    enters: [f32; 3],
    leaves: [f32; 3],
    inverse: [f32; 3],
    t_min: f32,
}

impl Slabs {
    fn of(ray: &LoadedRay, size: f32) -> Self {
        let origin = ray.origin_ordered.map(unordered);
        let extents: [f32; 3] = std::array::from_fn(|axis| match ray.half_extents[axis] {
            0.0 => 0.0,
            extent => extent + (size + origin[axis].abs() + extent) * (4.0 * f32::EPSILON),
        });
        // An axis without motion never limits a ray within the slab, even on its border.
        let inverse: [f32; 3] = std::array::from_fn(|axis| {
            if ray.moves[axis] {
                ray.inverse[axis]
            } else {
                f32::INFINITY
            }
        });
        let moved = |direction: f32| {
            std::array::from_fn(|axis| {
                let moved = origin[axis] + direction * extents[axis].copysign(inverse[axis]);
                match ray.moves[axis] {
                    true => moved,
                    false if direction > 0.0 => moved.next_up(),
                    false => moved.next_down(),
                }
            })
        };
        Self {
            enters: moved(1.0),
            leaves: moved(-1.0),
            inverse,
            t_min: ray.t_min,
        }
    }

    #[inline(always)]
    fn enter(&self, block: &Block, most: f32) -> [f32; LANES] {
        let [low, high] = block;
        let mut near = [self.t_min; LANES];
        let mut far = [most; LANES];
        for axis in 0..3 {
            let (first, last) = match self.inverse[axis] > 0.0 {
                true => (&low[axis], &high[axis]),
                false => (&high[axis], &low[axis]),
            };
            for lane in 0..LANES {
                near[lane] = larger(near[lane], (first[lane] - self.enters[axis]) * self.inverse[axis]);
                far[lane] = smaller(far[lane], (last[lane] - self.leaves[axis]) * self.inverse[axis]);
            }
        }
        std::array::from_fn(|lane| {
            let far = far[lane] * (1.0 + 16.0 * f32::EPSILON) + f32::MIN_POSITIVE;
            if near[lane] <= far { near[lane] } else { f32::INFINITY }
        })
    }
}
