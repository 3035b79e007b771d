//! Twin of `shaders/rays/ray_count.wgsl` and `shaders/rays/ray_counters.wgsl`.

use super::ray::{LARGEST_FLOAT, LoadedRay, load_ray};
use super::ray_hits::{HitVisitor, RayReads, rays_of, walk_tables};
use crate::api::counters::word;
use crate::shared::blocks::{Overrides, add64};
use crate::shared::grid::Params;

struct Count(u32);

impl HitVisitor for Count {
    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn accept_hit(&mut self, _object: u32, _t: f32) {
        self.0 += 1;
    }
}

/// What a walk adds to the counters at its end.
pub(crate) fn finish_counters(counters: &mut [u32], ray: &LoadedRay, candidates: u32) {
    if !ray.valid {
        counters[word::RAYS_INVALID] += 1;
    }
    add64(counters, word::RAY_CANDIDATES, u64::from(candidates));
}

/// How many objects each ray meets; the shader keeps some of them for writing, which changes no answer. Returns one
/// word more than there are rays, so that the scan ends with the total; adds invalid rays and, where they are counted,
/// box tests to the counters.
pub fn ray_count(params: &Params, tables: &[RayReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    let rays = rays_of(tables);
    let rays = rays.iter().take(params.ray_count as usize);
    let count = |ray| {
        let ray = load_ray(params, &ray);
        let mut count = Count(0);
        let candidates = walk_tables(params, tables, overrides, &ray, &mut count);
        finish_counters(counters, &ray, candidates);
        count.0
    };
    rays.map(count).chain([0]).collect()
}
