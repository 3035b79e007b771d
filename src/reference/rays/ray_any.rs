use super::ray::{LARGEST_FLOAT, LoadedRay};
use super::ray_count::walk_rays;
use super::ray_hits::{HitVisitor, RayReads, walk_tables};
use crate::layout::blocks::{Overrides, RayBlocks};
use crate::shared::runs::Walked;

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

/// Returns 1 for each ray that hits anything, else 0.
pub fn ray_any(params: &RayBlocks, tables: &[RayReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    any_by(params, tables, counters, |ray, any| {
        walk_tables(params, tables, overrides, ray, any)
    })
}

/// Like [`ray_any`], with a walk of its own.
pub(crate) fn any_by(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    counters: &mut [u32],
    walk: impl Fn(&LoadedRay, &mut Any) -> Walked + Sync + Send,
) -> Vec<u32> {
    walk_rays(params, tables, counters, |ray| {
        let mut any = Any { found: false };
        let walked = walk(ray, &mut any);
        (u32::from(any.found), walked)
    })
}
