//! `obvhs`: a tree by locally ordered clustering (PLOC), queried for each box.

use glam::Vec3A;
use gpu_broad_phase::{Aabb, Ray};
use obvhs::aabb::Aabb as Bounds;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::node::Bvh2Node;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use obvhs::ray::{Ray as Line, RayHit};
use rayon::prelude::*;

use super::{Work, each_ray, prepared};
use crate::bench::answer::Rows;
use crate::bench::exact::{PreparedRay, enter};
use crate::bench::grid::CHUNK;
use crate::bench::measure::Question;

fn bounds(boxed: &Aabb) -> Bounds {
    Bounds::new(Vec3A::from_array(boxed.min), Vec3A::from_array(boxed.max))
}

fn build(bounds: &[Bounds], distance: PlocSearchDistance) -> Bvh2 {
    let ids = (0..bounds.len() as u32).collect();
    PlocBuilder::new().build(distance, bounds, ids, SortPrecision::U64, 0)
}

pub fn pairs(boxes: &[Aabb], _: usize) -> Work<'_> {
    let bounds: Vec<_> = boxes.iter().map(bounds).collect();
    Box::new(move || {
        // The build is timed. `Minimum` was the fastest search distance tried.
        let bvh = build(&bounds, PlocSearchDistance::Minimum);
        // In tree order, so that consecutive queries are close together.
        let objects = |node: &Bvh2Node| node.first_index as usize..(node.first_index + node.prim_count) as usize;
        let leaves = bvh.nodes.iter().filter(|node| node.is_leaf());
        let asked: Vec<u32> = leaves
            .flat_map(|leaf| &bvh.primitive_indices[objects(leaf)])
            .copied()
            .collect();
        let chunks = asked.par_chunks(CHUNK);
        chunks
            .map(|chunk| {
                let mut found = Vec::new();
                for &a in chunk {
                    bvh.aabb_traverse(bounds[a as usize], |bvh, node| {
                        for &b in &bvh.primitive_indices[objects(&bvh.nodes[node as usize])] {
                            if a < b && bounds[a as usize].intersect_aabb(&bounds[b as usize]) {
                                found.push([a, b]);
                            }
                        }
                        true
                    });
                }
                found
            })
            .collect()
    })
}

pub struct Cast<'a> {
    boxes: &'a [Aabb],
    bvh: Bvh2,
    rays: Vec<(PreparedRay, Line)>,
}

impl<'a> Cast<'a> {
    pub fn new(boxes: &'a [Aabb], widened: &[Aabb], rays: &[Ray]) -> Self {
        let bounds: Vec<_> = widened.iter().map(bounds).collect();
        // Lengthens the ray, so that a hit at its very end counts.
        let line = |ray: &Ray| {
            let [origin, direction] = [ray.origin, ray.direction].map(Vec3A::from_array);
            Line::new(origin, direction, 0.0, ray.t_max * (1.0 + 1e-5))
        };
        Self {
            boxes,
            bvh: build(&bounds, PlocSearchDistance::VeryLow),
            rays: prepared(rays, line),
        }
    }

    pub fn run(&self, question: Question) -> Rows {
        each_ray(&self.rays, |ray, prepared, line, found| {
            let object = |place: usize| self.bvh.primitive_indices[place];
            let at = |place: usize| enter(prepared, &self.boxes[object(place) as usize]);
            if question == Question::ClosestHits {
                let mut hit = RayHit::none();
                self.bvh
                    .ray_traverse(*line, &mut hit, |_, place| at(place).unwrap_or(f32::INFINITY));
                if hit.primitive_id != obvhs::ray::INVALID_ID {
                    found.push([ray, hit.t.to_bits()]);
                }
            } else {
                self.bvh.ray_traverse_anyhit(*line, |_, place| {
                    if at(place).is_some() {
                        found.push([ray, object(place)]);
                    }
                });
            }
        })
    }
}
