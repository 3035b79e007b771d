//! Rays that end at the caller's shapes, and the nearest of them, as in `shaders/table_shader/shape_rays.wgsl` and
//! `shape_queries.wgsl`.

use super::boxes::{Place, overrides_of};
use super::last_step::Searched;
use super::ray_search;
use crate::api::queries::Query;
use crate::api::types::{NONE, RayHit, SweptRay};
use crate::layout::blocks::{Overrides, QueryBlocks, RayBlocks};
use crate::layout::grid::{flush, unordered};
use crate::reference::outputs::Outputs;
use crate::reference::queries::query_walk::passes;
use crate::reference::rays::ray::LoadedRay;
use crate::reference::rays::ray_count::walk_rays;
use crate::reference::rays::ray_hits::HitVisitor;
use crate::shared::runs;

pub(super) type HitShape<'a> = dyn Fn(u32, [f32; 3], [f32; 3], f32) -> f32 + Sync + 'a;
pub(super) type ShapeDistance<'a> = dyn Fn(u32, [f32; 3]) -> f32 + Sync + 'a;

/// Covers the rounding of distances.
const DISTANCE_SLACK: f32 = 1.0 / (1 << 18) as f32;

struct Closest<'a> {
    hit_shape: &'a HitShape<'a>,
    origin: [f32; 3],
    direction: [f32; 3],
    t_min: f32,
    object: u32,
    t: f32,
    /// True to end with the first hit.
    is_any: bool,
    /// Object that `hit_shape` got last, and what it returned.
    tested: (u32, f32),
}

impl Closest<'_> {
    fn t_max(&self, object: u32) -> f32 {
        if object < self.object {
            float_after(self.t)
        } else {
            self.t
        }
    }
}

impl HitVisitor for Closest<'_> {
    const COARSE_FIRST: bool = true;
    const ACCEPTS_AGAIN: bool = true;

    fn search_limit(&self) -> f32 {
        if self.is_any && self.object != NONE {
            -1.0
        } else {
            self.t
        }
    }

    fn may_accept(&mut self, object: u32, passes: impl Fn() -> bool) -> bool {
        let t_max = self.t_max(object);
        let t = if passes() {
            (self.hit_shape)(object, self.origin, self.direction, t_max)
        } else {
            t_max
        };
        self.tested = (object, t);
        t >= self.t_min && t < t_max
    }

    fn accept_hit(&mut self, object: u32, entry: f32) {
        // Walks over cells have not tested it.
        if self.tested.0 != object {
            self.may_accept(object, || true);
        }
        let (t, t_max) = (self.tested.1, self.t_max(object));
        let counted = if t < f32::MIN_POSITIVE { 0.0 } else { t }.max(entry);
        if t >= self.t_min && t < t_max && counted < t_max {
            (self.object, self.t) = (object, counted);
        }
    }
}

/// The next larger float, of floats that are 0 or normal: GPUs may flush others to 0. At most the largest float.
fn float_after(t: f32) -> f32 {
    t.next_up().clamp(f32::MIN_POSITIVE, f32::MAX)
}

pub(super) fn hits(
    params: &RayBlocks,
    searched: &Searched<'_>,
    outputs: &mut Outputs<'_>,
    rays: &[SweptRay],
    hit_shape: &HitShape<'_>,
    is_any: bool,
) -> Vec<RayHit> {
    let tables = searched.reads.rays(rays);
    let overrides = outputs.overrides;
    walk_rays(params, &tables, &mut outputs.counters, |ray: &LoadedRay| {
        let mut closest = Closest {
            hit_shape,
            origin: ray.origin_ordered.map(|bound| flush(unordered(bound))),
            direction: ray.direction,
            t_min: ray.t_min,
            object: NONE,
            t: ray.t_max,
            is_any,
            tested: (NONE, f32::INFINITY),
        };
        let walked = ray_search::walk(params, &tables, searched.trees(None), overrides, ray, &mut closest);
        let Closest { object, t, .. } = closest;
        let hit = if object == NONE {
            RayHit::MISS
        } else {
            RayHit { object, t }
        };
        (hit, walked)
    })
}

/// Object and distance of the nearest shape of each query, if one is within its radius.
pub(super) fn nearest(
    params: &QueryBlocks,
    searched: &Searched<'_>,
    overrides: Overrides,
    queries: &[Query],
    shape_distance: &ShapeDistance<'_>,
) -> Vec<Option<(u32, f32)>> {
    let inputs = searched.reads.queries(queries, false);
    let answer = |index: u32| {
        let mut best = None;
        for (input, trees) in inputs.iter().zip(searched.trees(None)) {
            let (query, _) = input.begin(params, index);
            if !query.answers {
                return None;
            }
            let point = query.low.map(|bound| flush(unordered(bound)));
            let farthest = point.map(f32::abs).into_iter().fold(0.0, f32::max);
            let overrides = overrides_of(overrides, trees.have_filters, &query);
            let place = Place::of(params, &query);
            let limit = |best: Option<(u32, f32)>| best.map_or(query.radius, |(_, distance)| distance);
            let most = |best| {
                let limit = limit(best).max(0.0);
                place.most(limit + (farthest + limit) * DISTANCE_SLACK)
            };
            trees.search::<true>(
                query.world,
                0,
                most(best),
                |block, is_leaf, _| place.squares(block, is_leaf),
                |_, object, _| {
                    if passes(params, input, overrides, &query, object) {
                        let distance = shape_distance(object, point);
                        let before = best.map_or(NONE, |(object, _)| object);
                        if distance < limit(best) || (distance == limit(best) && object < before) {
                            best = Some((object, distance));
                        }
                    }
                    most(best)
                },
            );
        }
        best
    };
    runs::walk(queries.len() as u32, answer).collect()
}
