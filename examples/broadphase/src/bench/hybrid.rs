//! A yardstick for mixed sizes: small boxes among themselves as in [`grid`](super::grid); larger ones are entered into
//! all cells that they cover of a coarser grid, where every box looks for them in the cells that it covers itself.

use gpu_broad_phase::Aabb;
use rayon::prelude::*;

use super::answer::Rows;
use super::grid::{CHUNK, Cells, Sorted, longest, overlap};

/// How long small boxes are at most, in medians, and how large coarse cells are, in fine ones: what [`Tuning::best`]
/// tries.
const SMALL: [f64; 3] = [1.0, 1.5, 2.0];
const COARSER: [f64; 2] = [2.0, 4.0];
/// Box tests that an entry costs about as much as.
const ENTRY: u64 = 4;

/// The sizes of cells.
#[derive(Clone, Copy)]
pub struct Tuning {
    small: f64,
    coarser: f64,
}

impl Tuning {
    /// The one with the least work and its box tests, of those with at most `most` entries. A yardstick may take its
    /// time to be tuned.
    pub fn best(boxes: &[Aabb], most: u64) -> Option<(Self, u64)> {
        let tunings = SMALL
            .iter()
            .flat_map(|&small| COARSER.map(|coarser| Self { small, coarser }));
        let rated = tunings.filter_map(|tuning| {
            let hybrid = Hybrid::new(boxes, tuning, most)?;
            let tests = hybrid.tests();
            Some((tuning, tests, tests + ENTRY * hybrid.ids.len() as u64))
        });
        let best = rated.min_by_key(|&(.., cost)| cost);
        best.map(|(tuning, tests, _)| (tuning, tests))
    }
}

pub struct Hybrid<'a> {
    all: &'a [Aabb],
    small: Sorted,
    coarse: Cells,
    is_large: Vec<bool>,
    /// Where each coarse cell's entries begin, and the end of the last one's.
    starts: Vec<u32>,
    ids: Vec<u32>,
}

impl<'a> Hybrid<'a> {
    /// `None` where large boxes cover more cells than `most`.
    pub fn new(all: &'a [Aabb], tuning: Tuning, most: u64) -> Option<Self> {
        let mut lengths: Vec<f64> = all.iter().map(longest).collect();
        let largest = lengths.iter().copied().fold(0.0, f64::max);
        let middle = lengths.len() / 2;
        let limit = (tuning.small * *lengths.select_nth_unstable_by(middle, f64::total_cmp).1).min(largest);
        let cells = Cells::new(all, limit);
        let is_large: Vec<bool> = all.iter().map(|boxed| longest(boxed) > cells.longest()).collect();
        let (large, small): (Vec<u32>, Vec<u32>) = (0..all.len() as u32).partition(|&id| is_large[id as usize]);
        let coarse = Cells::new(all, tuning.coarser * cells.longest());
        let mut starts = vec![0_u32; coarse.count() + 1];
        let mut entries = 0_u64;
        for &id in &large {
            covered(&coarse, &all[id as usize], |cell| {
                starts[coarse.index(cell) + 1] += 1;
                entries += 1;
            });
            if entries > most {
                return None;
            }
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; entries as usize];
        for &id in &large {
            covered(&coarse, &all[id as usize], |cell| {
                let place = &mut next[coarse.index(cell)];
                ids[*place as usize] = id;
                *place += 1;
            });
        }
        Some(Self {
            all,
            small: Sorted::new(cells, all, &small),
            coarse,
            is_large,
            starts,
            ids,
        })
    }

    /// How many box tests [`pairs`](Self::pairs) will make.
    pub fn tests(&self) -> u64 {
        let mut tests = 0;
        for boxed in self.all {
            covered(&self.coarse, boxed, |cell| tests += self.entries(cell).len() as u64);
        }
        tests + self.small.tests()
    }

    #[cfg(test)]
    pub fn large(&self) -> usize {
        self.is_large.iter().filter(|&&is_large| is_large).count()
    }

    fn entries(&self, cell: [usize; 3]) -> &[u32] {
        let index = self.coarse.index(cell);
        &self.ids[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    pub fn pairs(&self) -> Rows {
        let mut rows = self.small.pairs();
        let with_large = self.all.par_chunks(CHUNK).enumerate().map(|(chunk, boxes)| {
            let mut found = Vec::new();
            for (id, a) in ((chunk * CHUNK) as u32..).zip(boxes) {
                covered(&self.coarse, a, |cell| {
                    for &other in self.entries(cell) {
                        let b = &self.all[other as usize];
                        // Two large boxes find each other: the smaller id reports.
                        let is_mine = !self.is_large[id as usize] || id < other;
                        // Of the cells that both cover the one that holds their highest lower corner is home.
                        if is_mine && overlap(a, b) && self.home(a, b) == cell {
                            found.push([id, other]);
                        }
                    }
                });
            }
            found
        });
        rows.par_extend(with_large);
        rows
    }

    fn home(&self, a: &Aabb, b: &Aabb) -> [usize; 3] {
        self.coarse
            .cell(std::array::from_fn(|axis| a.min[axis].max(b.min[axis])))
    }
}

fn covered(cells: &Cells, boxed: &Aabb, mut visit: impl FnMut([usize; 3])) {
    let ([x0, y0, z0], [x1, y1, z1]) = (cells.cell(boxed.min), cells.cell(boxed.max));
    for z in z0..=z1 {
        for y in y0..=y1 {
            for x in x0..=x1 {
                visit([x, y, z]);
            }
        }
    }
}
