//! `rstar`: a bulk-loaded R*-tree. One thread intersects it with itself; several threads query it for each box.

use gpu_broad_phase::Aabb;
use rayon::prelude::*;
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree, RTreeObject};

use super::Work;
use crate::bench::grid::CHUNK;

pub fn pairs(boxes: &[Aabb], threads: usize) -> Work<'_> {
    let leaf = |(boxed, id): (&Aabb, u32)| GeomWithData::new(Rectangle::from_corners(boxed.min, boxed.max), id);
    let leaves: Vec<_> = boxes.iter().zip(0_u32..).map(leaf).collect();
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
