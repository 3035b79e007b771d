//! Reference pass of `shaders/rays/ray_closest.wgsl`.

use super::ray::{LARGEST_FLOAT, LoadedRay, load_ray};
use super::ray_count::finish_counters;
use super::ray_hits::{HitVisitor, RayReads, ray_count_of, rays_of, walk_tables};
use crate::api::types::{NONE, RayHit};
use crate::layout::blocks::Overrides;
use crate::layout::grid::Params;
use crate::shared::runs::{Walked, map};

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

/// Returns the first object that each ray hits. Adds the numbers of invalid rays and box tests to the counters.
pub fn ray_closest(
    params: &Params,
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
    params: &Params,
    tables: &[RayReads<'_>],
    counters: &mut [u32],
    walk: impl Fn(&LoadedRay, &mut Closest) -> Walked + Sync + Send,
) -> Vec<RayHit> {
    let rays = rays_of(tables);
    let closest = |ray: u32| {
        let ray = load_ray(params, &rays[ray as usize]);
        let mut closest = Closest {
            object: NONE,
            t: LARGEST_FLOAT,
        };
        let walked = walk(&ray, &mut closest);
        let hit = if closest.object == NONE {
            RayHit::MISS
        } else {
            RayHit {
                object: closest.object,
                t: closest.t,
            }
        };
        (hit, walked)
    };
    let (hits, walks): (Vec<_>, Vec<_>) = map(ray_count_of(params, tables), closest).into_iter().unzip();
    finish_counters(counters, &walks);
    hits
}
