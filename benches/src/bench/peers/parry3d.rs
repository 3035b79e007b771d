//! `parry3d`: a binned tree, traversed against itself for pairs.

use gpu_broad_phase::{Aabb, Ray};
use parry3d::bounding_volume::Aabb as Bounds;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhNode, BvhWorkspace, TraversalAction};
use parry3d::query::Ray as Line;

use super::{Work, each_ray, prepared};
use crate::bench::answer::Rows;
use crate::bench::exact::{PreparedRay, enter};
use crate::bench::measure::Question;

fn leaves(boxes: &[Aabb]) -> Vec<Bounds> {
    let bounds = |boxed: &Aabb| Bounds::new(Vector::from_array(boxed.min), Vector::from_array(boxed.max));
    boxes.iter().map(bounds).collect()
}

pub fn pairs(boxes: &[Aabb], threads: usize) -> Work<'_> {
    let leaves = leaves(boxes);
    Box::new(move || {
        let bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves);
        let mut found = Vec::new();
        if threads == 1 {
            let workspace = &mut BvhWorkspace::default();
            bvh.traverse_bvtt_single_tree::<false>(workspace, &mut |a, b| found.push([a, b]));
            return vec![found];
        }
        let pairs = bvh.traverse_bvtt_single_tree_parallel::<false>();
        found.extend(pairs.into_iter().map(<[u32; 2]>::from));
        vec![found]
    })
}

pub struct Cast<'a> {
    boxes: &'a [Aabb],
    bvh: Bvh,
    rays: Vec<(PreparedRay, Line)>,
    limits: Vec<f32>,
}

impl<'a> Cast<'a> {
    pub fn new(boxes: &'a [Aabb], widened: &[Aabb], rays: &[Ray]) -> Self {
        let line = |ray: &Ray| Line::new(Vector::from_array(ray.origin), Vector::from_array(ray.direction));
        Self {
            boxes,
            bvh: Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves(widened)),
            rays: prepared(rays, line),
            limits: rays.iter().map(|ray| ray.t_max).collect(),
        }
    }

    pub fn run(&self, question: Question) -> Rows {
        each_ray(&self.rays, |ray, prepared, line, found| {
            let limit = self.limits[ray as usize];
            if question == Question::ClosestHits {
                let at = |leaf: u32, _| enter(prepared, &self.boxes[leaf as usize]);
                if let Some((_, t)) = self.bvh.cast_ray(line, limit.next_up(), at) {
                    found.push([ray, t.to_bits()]);
                }
                return;
            }
            let inverse = Vector::ONE / line.dir;
            self.bvh.traverse(|node: &BvhNode| {
                let (one, other) = (
                    (node.mins() - line.origin) * inverse,
                    (node.maxs() - line.origin) * inverse,
                );
                let near = one.min(other).max_element().max(0.0);
                if near > one.max(other).min_element() || near > limit * (1.0 + 1e-5) {
                    return TraversalAction::Prune;
                }
                if let Some(leaf) = node.leaf_data()
                    && enter(prepared, &self.boxes[leaf as usize]).is_some()
                {
                    found.push([ray, leaf]);
                }
                TraversalAction::Continue
            });
        })
    }
}
