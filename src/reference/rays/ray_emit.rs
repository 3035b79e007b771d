use super::ray::{LARGEST_FLOAT, load_ray};
use super::ray_hits::{HitVisitor, RayReads, rays_of, walk_tables};
use crate::api::types::RayHit;
use crate::layout::blocks::{Overrides, RayBlocks};

struct Emit<'a> {
    place: u32,
    first: u32,
    hits: &'a mut [RayHit],
}

impl HitVisitor for Emit<'_> {
    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn accept_hit(&mut self, object: u32, t: f32) {
        if self.place != u32::MAX {
            if let Some(slot) = self
                .place
                .checked_sub(self.first)
                .and_then(|place| self.hits.get_mut(place as usize))
            {
                *slot = RayHit { object, t };
            }
            self.place += 1;
        }
    }
}

/// Returns the hits in the page `first_hit .. first_hit + hit_capacity`. Unwritten hits are `(0, 0.0)`. `offsets` are
/// the scanned counts of [`ray_count`](super::ray_count::ray_count).
pub fn ray_emit(params: &RayBlocks, tables: &[RayReads<'_>], overrides: Overrides, offsets: &[u32]) -> Vec<RayHit> {
    let mut hits = vec![RayHit { object: 0, t: 0.0 }; params.rays.hit_capacity as usize];
    let rays = rays_of(tables);
    for (ray, &place) in rays.iter().take(params.rays.count as usize).zip(offsets) {
        let mut emit = Emit {
            place,
            first: params.rays.first_hit,
            hits: &mut hits,
        };
        walk_tables(params, tables, overrides, &load_ray(params, ray), &mut emit);
    }
    hits
}
