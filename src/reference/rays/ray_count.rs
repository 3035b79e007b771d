use super::ray::{LARGEST_FLOAT, LoadedRay, load_ray};
use super::ray_hits::{HitVisitor, RayReads, ray_count_of, rays_of, walk_tables};
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, RayBlocks, add64};
use crate::shared::runs::{self, Walked};

struct Count(u32);

impl HitVisitor for Count {
    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn accept_hit(&mut self, _object: u32, _t: f32) {
        self.0 += 1;
    }
}

/// Returns the result of `walk` for each ray. Adds the numbers of invalid rays and box tests to the counters.
pub(crate) fn walk_rays<T: Send>(
    params: &RayBlocks,
    tables: &[RayReads<'_>],
    counters: &mut [u32],
    walk: impl Fn(&LoadedRay) -> (T, Walked) + Sync + Send,
) -> Vec<T> {
    let rays = rays_of(tables);
    let walk = |ray: u32| walk(&load_ray(params, &rays[ray as usize]));
    let (results, walks): (Vec<_>, Vec<_>) = runs::walk(ray_count_of(params, tables), walk).unzip();
    for walked in walks {
        counters[word::RAYS_INVALID] += u32::from(walked.is_invalid);
        add64(counters, word::RAY_CANDIDATES, u64::from(walked.candidates));
    }
    results
}

/// Returns the number of objects that each ray hits, then 0. Adds to the counters, as `walk_rays`.
pub fn ray_count(params: &RayBlocks, tables: &[RayReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    let mut counts = walk_rays(params, tables, counters, |ray| {
        let mut count = Count(0);
        let walked = walk_tables(params, tables, overrides, ray, &mut count);
        (count.0, walked)
    });
    counts.push(0);
    counts
}
