//! Reference pass of `shaders/rays/ray_any.wgsl`.

use super::ray::{LARGEST_FLOAT, LoadedRay, load_ray};
use super::ray_count::finish_counters;
use super::ray_hits::{HitVisitor, RayReads, ray_count_of, rays_of, walk_tables};
use crate::layout::blocks::Overrides;
use crate::layout::grid::Params;
use crate::shared::runs::{Walked, map};

pub(crate) struct Any {
    found: bool,
}

impl HitVisitor for Any {
    const COARSE_FIRST: bool = true;
    const ACCEPTS_AGAIN: bool = true;

    fn search_limit(&self) -> f32 {
        if self.found { -1.0 } else { LARGEST_FLOAT }
    }

    fn accept_hit(&mut self, _object: u32, _t: f32) {
        self.found = true;
    }
}

/// Returns 1 for each ray that hits anything, else 0. Adds the numbers of invalid rays and box tests to the counters.
pub fn ray_any(params: &Params, tables: &[RayReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    any_by(params, tables, counters, |ray, any| {
        walk_tables(params, tables, overrides, ray, any)
    })
}

/// Like [`ray_any`], with a walk of its own.
pub(crate) fn any_by(
    params: &Params,
    tables: &[RayReads<'_>],
    counters: &mut [u32],
    walk: impl Fn(&LoadedRay, &mut Any) -> Walked + Sync + Send,
) -> Vec<u32> {
    let rays = rays_of(tables);
    let any = |ray: u32| {
        let ray = load_ray(params, &rays[ray as usize]);
        let mut any = Any { found: false };
        let walked = walk(&ray, &mut any);
        (u32::from(any.found), walked)
    };
    let (found, walks): (Vec<_>, Vec<_>) = map(ray_count_of(params, tables), any).into_iter().unzip();
    finish_counters(counters, &walks);
    found
}
