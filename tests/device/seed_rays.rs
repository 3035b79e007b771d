//! Example published with the algorithm: cells along a ray.

use std::collections::BTreeSet;

use crate::common::adapters;
use crate::common::pool::opened;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, OutputOptions, Ray, RayCell, Scheme, cpu};
use pollster::block_on;

const CELL: i32 = 10;

fn are_neighbours(a: RayCell, b: RayCell) -> bool {
    (a.x - b.x).abs() + (a.y - b.y).abs() == 1
}

/// From ray casting by DDA (Amanatides and Woo): a segment from (0, 0) to (100, 100) through cells of size 10.
///
/// It visits every cell whose closed square it touches: 12 on the diagonal, and two beside each of 11 corners.
#[test]
fn ray_casting_by_dda() {
    let descriptor = BroadPhaseDescriptor {
        scheme: Scheme::Uniform { cell_size: CELL as f32 },
        dimensions: Dimensions::Two,
        outputs: OutputOptions {
            ray_cells: true,
            ..Default::default()
        },
        ..Default::default()
    };
    // The grid extends past both ends of the segment, so only its length ends the search.
    let far = |at: f32| Aabb::point([at, at, 0.0]);
    let touching = Aabb::new([40.0, 25.0, 0.0], [45.0, 40.0, 0.0]);
    let objects = [far(-500.0), far(495.0), touching];
    let ray = [Ray::new([0.0; 3], [100.0, 100.0, 0.0], 1.0)];

    let expected: BTreeSet<RayCell> = (-1..=10)
        .flat_map(|x| (x - 1..=x + 1).map(move |y| (x, y)))
        .filter(|&(x, y)| x == y || (0..=10).contains(&x.max(y)))
        .map(|(x, y)| RayCell { level: 0, x, y, z: 0 })
        .collect();
    assert_eq!(expected.len(), 12 + 2 * 11);
    let mut answers = vec![cpu::step(&descriptor, &objects, &ray).unwrap()];
    for adapter in adapters() {
        let mut headless = opened(&adapter, &descriptor);
        answers.push(block_on(headless.step(&objects, &ray)).unwrap());
    }
    for answer in answers {
        let cells = &answer.ray_cells;
        let visited: BTreeSet<RayCell> = cells.iter().copied().collect();
        assert_eq!(visited, expected);
        assert_eq!(visited.len(), cells.len(), "a cell twice");
        for (place, &cell) in cells.iter().enumerate().skip(1) {
            let leads_there = cells[..place].iter().any(|&before| are_neighbours(before, cell));
            assert!(leads_there, "a diagonal jump to {cell:?}");
        }
        // The square around the segment touches 121 cells.
        assert!(cells.len() < 121 / 3);
        // This box touches the segment at (40, 40) only.
        let hit = answer.ray_hits[0];
        assert!(hit.object == 2 && (hit.t - 0.4).abs() < 1e-6, "{hit:?}");
    }
}
