//! Twin of `shaders/rays/ray_any.wgsl`.

use super::ray::{LARGEST_FLOAT, load_ray};
use super::ray_count::finish_counters;
use super::ray_hits::{HitVisitor, RayReads, rays_of, walk_tables};
use crate::shared::blocks::Overrides;
use crate::shared::grid::Params;

struct Any {
    found: bool,
}

impl HitVisitor for Any {
    /// Large boxes are met soonest, in the fewest steps.
    const COARSE_FIRST: bool = true;
    const ACCEPTS_AGAIN: bool = true;

    fn search_limit(&self) -> f32 {
        if self.found { -1.0 } else { LARGEST_FLOAT }
    }

    fn accept_hit(&mut self, _object: u32, _t: f32) {
        self.found = true;
    }
}

/// Whether each ray meets anything: the walk ends at the first hit that it finds, whichever that is. Returns 1 or 0 a
/// ray; adds invalid rays and, where they are counted, box tests to the counters.
pub fn ray_any(params: &Params, tables: &[RayReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    let any = |ray| {
        let ray = load_ray(params, &ray);
        let mut any = Any { found: false };
        let candidates = walk_tables(params, tables, overrides, &ray, &mut any);
        finish_counters(counters, &ray, candidates);
        u32::from(any.found)
    };
    let rays = rays_of(tables);
    rays.iter().take(params.ray_count as usize).map(any).collect()
}
