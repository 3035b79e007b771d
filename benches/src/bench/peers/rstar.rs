//! `rstar`: a bulk-loaded R*-tree. One thread intersects it with itself; several threads query it for each box.

use gpu_broad_phase::{Aabb, Query};
use rayon::prelude::*;
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree, RTreeObject};

use super::Work;
use crate::bench::answer::Rows;
use crate::bench::grid::CHUNK;
use crate::bench::measure::Question;
use crate::bench::scenes::NEAREST;

type Leaf = GeomWithData<Rectangle<[f32; 3]>, u32>;

fn leaves(boxes: &[Aabb]) -> Vec<Leaf> {
    let leaf = |(boxed, id): (&Aabb, u32)| Leaf::new(Rectangle::from_corners(boxed.min, boxed.max), id);
    boxes.iter().zip(0_u32..).map(leaf).collect()
}

pub fn tree(boxes: &[Aabb]) -> RTree<Leaf> {
    RTree::bulk_load(leaves(boxes))
}

pub fn near(tree: &RTree<Leaf>, spheres: &[Query], question: Question) -> Rows {
    let chunks = spheres.par_chunks(CHUNK).enumerate();
    chunks
        .map(|(chunk, spheres)| {
            let mut found = Vec::new();
            for (index, sphere) in ((chunk * CHUNK) as u32..).zip(spheres) {
                let point = sphere.bounds.min;
                if question == Question::Within {
                    let near = tree.locate_within_distance(point, sphere.radius * sphere.radius);
                    found.extend(near.map(|leaf| [index, leaf.data]));
                } else {
                    let nearest = tree.nearest_neighbor_iter_with_distance_2(point);
                    found.extend(
                        nearest
                            .take(NEAREST as usize)
                            .map(|(_, squared)| [index, squared.to_bits()]),
                    );
                }
            }
            found
        })
        .collect()
}

pub fn pairs(boxes: &[Aabb], threads: usize) -> Work<'_> {
    let leaves = leaves(boxes);
    Box::new(move || {
        let tree = RTree::bulk_load(leaves.clone());
        if threads == 1 {
            let candidates = tree.intersection_candidates_with_other_tree(&tree);
            return vec![
                candidates
                    .filter(|(a, b)| a.data < b.data)
                    .map(|(a, b)| [a.data, b.data])
                    .collect(),
            ];
        }
        // In tree order, so that consecutive queries are close together.
        let asked: Vec<_> = tree.iter().collect();
        let chunks = asked.par_chunks(CHUNK);
        chunks
            .map(|chunk| {
                let mut found = Vec::new();
                for a in chunk {
                    let envelope: AABB<[f32; 3]> = a.envelope();
                    let meeting = tree.locate_in_envelope_intersecting(envelope);
                    found.extend(meeting.filter(|b| a.data < b.data).map(|b| [a.data, b.data]));
                }
                found
            })
            .collect()
    })
}
