//! `bvh`: a tree by the surface area heuristic, queried for each box.

use bvh::aabb::{Aabb as Bounds, Bounded};
use bvh::bounding_hierarchy::{BHShape, BoundingHierarchy};
use bvh::bvh::{Bvh, BvhNode};
use gpu_broad_phase::Aabb;
use nalgebra::Point3;
use rayon::prelude::*;

use super::Work;
use crate::bench::grid::CHUNK;

#[derive(Clone, Copy)]
struct Shape {
    bounds: Bounds<f32, 3>,
    id: u32,
    node: usize,
}

impl Bounded<f32, 3> for Shape {
    fn aabb(&self) -> Bounds<f32, 3> {
        self.bounds
    }
}

impl BHShape<f32, 3> for Shape {
    fn set_bh_node_index(&mut self, node: usize) {
        self.node = node;
    }

    fn bh_node_index(&self) -> usize {
        self.node
    }
}

pub fn pairs(boxes: &[Aabb], threads: usize) -> Work<'_> {
    let shape = |(boxed, id): (&Aabb, u32)| Shape {
        bounds: Bounds::with_bounds(Point3::from(boxed.min), Point3::from(boxed.max)),
        id,
        node: 0,
    };
    let shapes: Vec<_> = boxes.iter().zip(0..).map(shape).collect();
    Box::new(move || {
        // The build writes to the shapes.
        let mut shapes = shapes.clone();
        let bvh = if threads == 1 {
            Bvh::build(&mut shapes)
        } else {
            Bvh::build_par(&mut shapes)
        };
        // In tree order, so that consecutive queries are close together.
        let leaf = |node: &BvhNode<f32, 3>| match node {
            BvhNode::Leaf { shape_index, .. } => Some(&shapes[*shape_index]),
            BvhNode::Node { .. } => None,
        };
        let asked: Vec<&Shape> = bvh.nodes.iter().filter_map(leaf).collect();
        let chunks = asked.par_chunks(CHUNK);
        chunks
            .map(|chunk| {
                let mut found = Vec::new();
                for a in chunk {
                    for b in bvh.traverse_iterator(&a.bounds, &shapes) {
                        // `bvh` does not test the boxes of its leaves.
                        if a.id < b.id && a.bounds.intersects_aabb(&b.bounds) {
                            found.push([a.id, b.id]);
                        }
                    }
                }
                found
            })
            .collect()
    })
}
