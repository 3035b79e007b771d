//! Baseline: the simplest good grid on the CPU. One level of cells the size of the largest box, a counting sort by the
//! cell of the lower corner, and a half shell of five rows of cells.

use gpu_broad_phase::Aabb;
use rayon::prelude::*;

use super::answer::Rows;

pub const CHUNK: usize = 4096;
/// Most cells per box; more are not worth their memory.
const MOST_CELLS: f64 = 8.0;
/// Makes cells larger than the largest box, by more than any rounding of f64.
const SLACK: f64 = 1.0 + 1e-6;

#[derive(Clone, Copy)]
struct Cells {
    low: [f64; 3],
    inverse: f64,
    size: [usize; 3],
}

impl Cells {
    /// Covers all boxes with cells of side `edge`, or larger ones if cells would exceed [`MOST_CELLS`] per box.
    fn new(boxes: &[Aabb], edge: f64) -> Self {
        let low: [f64; 3] = std::array::from_fn(|axis| {
            let values = boxes.iter().map(|boxed| f64::from(boxed.min[axis]));
            values.fold(f64::INFINITY, f64::min)
        });
        let extent: [f64; 3] = std::array::from_fn(|axis| {
            let values = boxes.iter().map(|boxed| f64::from(boxed.max[axis]));
            values.fold(f64::NEG_INFINITY, f64::max) - low[axis]
        });
        let mut edge = edge.max(1e-30) * SLACK;
        let most = MOST_CELLS * boxes.len() as f64 + 64.0;
        loop {
            let size = extent.map(|extent| (extent / edge).floor() + 1.0);
            if size.iter().product::<f64>() <= most {
                return Self {
                    low,
                    inverse: 1.0 / edge,
                    size: size.map(|cells| cells as usize),
                };
            }
            edge *= 1.25;
        }
    }

    fn count(&self) -> usize {
        self.size.iter().product()
    }

    fn cell(&self, place: [f32; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let cell = (f64::from(place[axis]) - self.low[axis]) * self.inverse;
            (cell as usize).min(self.size[axis] - 1)
        })
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.size[1] + y) * self.size[0] + x
    }
}

pub struct Sorted {
    cells: Cells,
    /// First entry of each cell, then the total.
    starts: Vec<u32>,
    ids: Vec<u32>,
    boxes: Vec<Aabb>,
}

impl Sorted {
    /// `all` must contain no box longer than a cell.
    fn new(cells: Cells, all: &[Aabb]) -> Self {
        let keys: Vec<u32> = all
            .par_iter()
            .with_min_len(CHUNK)
            .map(|boxed| cells.index(cells.cell(boxed.min)) as u32)
            .collect();
        let mut starts = vec![0_u32; cells.count() + 1];
        for &key in &keys {
            starts[key as usize + 1] += 1;
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; all.len()];
        for (id, &key) in (0..).zip(&keys) {
            sorted[next[key as usize] as usize] = id;
            next[key as usize] += 1;
        }
        let boxes = sorted.par_iter().with_min_len(CHUNK).map(|&id| all[id as usize]);
        Self {
            cells,
            starts,
            boxes: boxes.collect(),
            ids: sorted,
        }
    }

    /// Entries of cells `from` to `to` inclusive; empty outside the grid.
    fn row(&self, [from, to]: [usize; 2], y: usize, z: usize) -> std::ops::Range<usize> {
        let [width, height, depth] = self.cells.size;
        if y >= height || z >= depth {
            return 0..0;
        }
        let first = self.cells.index([from, y, z]);
        let last = self.cells.index([to.min(width - 1), y, z]);
        self.starts[first] as usize..self.starts[last + 1] as usize
    }

    /// Four neighbour rows of a cell in the half shell. y below zero wraps and gives an empty row.
    fn rows(&self, [x, y, z]: [usize; 3]) -> [std::ops::Range<usize>; 4] {
        let across = [x.saturating_sub(1), x + 1];
        [(y + 1, z), (y.wrapping_sub(1), z + 1), (y, z + 1), (y + 1, z + 1)].map(|(y, z)| self.row(across, y, z))
    }

    pub fn tests(&self) -> u64 {
        let [width, height, depth] = self.cells.size;
        let mut tests = 0;
        for (z, y, x) in (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x)))) {
            let own = self.row([x, x], y, z).len() as u64;
            if own > 0 {
                let beside: usize = self.rows([x, y, z]).into_iter().map(|row| row.len()).sum();
                let next = self.row([x, x + 1], y, z).len() as u64 - own;
                tests += own * (beside as u64 + next) + own * (own - 1) / 2;
            }
        }
        tests
    }

    pub fn pairs(&self) -> Rows {
        let chunks = self.boxes.par_chunks(CHUNK).enumerate();
        chunks
            .map(|(chunk, boxes)| {
                let mut found = Vec::new();
                for (entry, a) in (chunk * CHUNK..).zip(boxes) {
                    let cell @ [x, y, z] = self.cells.cell(a.min);
                    let own = entry + 1..self.row([x, x + 1], y, z).end;
                    for row in std::iter::once(own).chain(self.rows(cell)) {
                        for (b, &id) in self.boxes[row.clone()].iter().zip(&self.ids[row]) {
                            if overlap(a, b) {
                                found.push([self.ids[entry], id]);
                            }
                        }
                    }
                }
                found
            })
            .collect()
    }
}

/// Boxes are closed, so touching ones overlap.
fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..3).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
}

pub fn longest(boxed: &Aabb) -> f64 {
    let side = |axis: usize| f64::from(boxed.max[axis]) - f64::from(boxed.min[axis]);
    side(0).max(side(1)).max(side(2))
}

pub fn one_level(boxes: &[Aabb]) -> Sorted {
    let edge = boxes.iter().map(longest).fold(0.0, f64::max);
    Sorted::new(Cells::new(boxes, edge), boxes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::answer::Answer;
    use crate::generate::{Distribution, Random};
    use gpu_broad_phase::reference::brute_force;

    #[test]
    fn the_grid_finds_what_brute_force_finds() {
        let random = &mut Random::new(11);
        let distributions = [
            Distribution::Uniform,
            Distribution::PowerLaw,
            Distribution::Clustered,
            Distribution::Planar,
            Distribution::Lattice,
            Distribution::OneCell,
        ];
        for round in 0..60 {
            let axes = 2 + round % 2;
            let count = 1 + random.below(500);
            let mut boxes = distributions[round / 2 % distributions.len()].boxes(count, axes, random);
            if round % 5 == 0 {
                boxes.push(Aabb::point(boxes[0].max));
                boxes.push(boxes[0]);
                boxes.push(Aabb::new([-1.0; 3], [1e3; 3]));
            }
            let pairs = brute_force::pairs(&boxes);
            let expected = Answer::of_pairs(&vec![pairs.iter().map(|pair| [pair.a, pair.b]).collect()]);
            let one_level = one_level(&boxes);
            assert_eq!(Answer::of_pairs(&one_level.pairs()), expected, "round {round}");
            assert!(one_level.tests() >= expected.results);
        }
    }

    #[test]
    fn a_grid_of_one_point_is_a_grid() {
        let boxes = vec![Aabb::point([3.0; 3]); 3];
        assert_eq!(one_level(&boxes).pairs().iter().map(Vec::len).sum::<usize>(), 3);
        let cells = Cells::new(&boxes, 0.0);
        assert_eq!((cells.count(), cells.cell([3.0; 3])), (1, [0; 3]));
    }
}
