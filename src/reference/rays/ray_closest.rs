use super::ray::{LARGEST_FLOAT, LoadedRay};
use super::ray_count::walk_rays;
use super::ray_hits::{HitVisitor, RayReads, walk_tables};
use crate::api::types::{NONE, RayHit};
use crate::layout::blocks::{Overrides, RayBlocks};
use crate::shared::runs::Walked;

pub(crate) struct Closest {
    object: u32,
    t: f32,
}

impl HitVisitor for Closest {
    const COARSE_FIRST: bool = true;
    const ACCEPTS_AGAIN: bool = true;

    fn search_limit(&self) -> f32 {
        self.t
    }

    fn accept_hit(&mut self, object: u32, t: f32) {
        if t < self.t || (t == self.t && object < self.object) {
            *self = Self { object, t };
        }
    }
}

pub fn ray_closest(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<RayHit> {
    closest_by(params, tables, counters, |ray, closest| {
        walk_tables(params, tables, overrides, ray, closest)
    })
}

/// Like [`ray_closest`], with a walk of its own.
pub(crate) fn closest_by(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    counters: &mut [u32],
    walk: impl Fn(&LoadedRay, &mut Closest) -> Walked + Sync + Send,
) -> Vec<RayHit> {
    walk_rays(params, tables, counters, |ray| {
        let mut closest = Closest {
            object: NONE,
            t: LARGEST_FLOAT,
        };
        let walked = walk(ray, &mut closest);
        let hit = if closest.object == NONE {
            RayHit::MISS
        } else {
            RayHit {
                object: closest.object,
                t: closest.t,
            }
        };
        (hit, walked)
    })
}
