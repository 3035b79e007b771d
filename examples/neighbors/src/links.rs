use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gpu_broad_phase::Pair;
use rayon::prelude::*;

use crate::{Spaces, Vector};

/// Rows per parallel task.
pub const SHARE: usize = 1024;

/// Two neighbours, and their places in each other's lists.
struct Near {
    points: [u32; 2],
    /// As of [`Spaces::points_of`].
    image: u32,
    places: [u32; 2],
}

/// Neighbours of each point, as lists (CSR).
pub struct Links {
    /// First link of each row, then their number.
    pub offsets: Vec<i64>,
    /// For [`Spaces::follow`]. They ascend by neighbour, then by shift.
    pub(crate) links: Vec<u64>,
}

impl Links {
    /// Lists pairs whose offset `is_near`. With `half`, each is listed once, for the smaller row.
    pub fn new(spaces: &Spaces<'_>, pairs: &[Pair], half: bool, is_near: impl Fn(Vector) -> bool + Sync) -> Self {
        let rows = spaces.rows();
        let counts: Vec<_> = (0..rows).map(|_| AtomicU32::new(0)).collect();
        let count = |row: u32| counts[row as usize].fetch_add(1, Ordering::Relaxed);
        let near = |pair: &Pair| {
            let ([a, b], image) = spaces.points_of(*pair);
            let (_, _, offset) = spaces.follow(a as usize, Spaces::link(b, image, false));
            is_near(offset).then(|| {
                let places = match half {
                    true => [count(a.min(b)); 2],
                    false => [count(a), count(b)],
                };
                Near {
                    points: [a, b],
                    image,
                    places,
                }
            })
        };
        let near: Vec<Vec<_>> = pairs
            .par_chunks(16 * SHARE)
            .map(|pairs| pairs.iter().filter_map(near).collect())
            .collect();
        let mut offsets = vec![0; rows + 1];
        for (row, count) in counts.into_iter().enumerate() {
            offsets[row + 1] = offsets[row] + i64::from(count.into_inner());
        }
        let links: Vec<_> = (0..offsets[rows]).map(|_| AtomicU64::new(0)).collect();
        let write = |row: u32, place: u32, link: u64| {
            links[offsets[row as usize] as usize + place as usize].store(link, Ordering::Relaxed);
        };
        near.par_iter().flatten_iter().for_each(|near| {
            let ([a, b], [place, other_place]) = (near.points, near.places);
            if !half || a <= b {
                write(a, place, Spaces::link(b, near.image, false));
            }
            if !half || a > b {
                write(b, other_place, Spaces::link(a, near.image, true));
            }
        });
        drop(near);
        let mut lists = Self {
            links: links.into_iter().map(AtomicU64::into_inner).collect(),
            offsets,
        };
        let sort = |(share, mut links): (usize, &mut [u64])| {
            for row in lists.offsets[share * SHARE..].windows(2).take(SHARE) {
                let (row, others) = links.split_at_mut((row[1] - row[0]) as usize);
                row.sort_unstable();
                links = others;
            }
        };
        split(&mut lists.links, &lists.offsets)
            .into_par_iter()
            .enumerate()
            .for_each(sort);
        lists
    }

    pub fn count(&self) -> usize {
        self.links.len()
    }

    pub fn of(&self, row: usize) -> &[u64] {
        &self.links[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// Splits values that belong to links by rows, [`SHARE`] rows each.
    pub fn split<'a, T>(&self, values: &'a mut [T]) -> Vec<&'a mut [T]> {
        split(values, &self.offsets)
    }
}

fn split<'a, T>(mut rest: &'a mut [T], offsets: &[i64]) -> Vec<&'a mut [T]> {
    let ends = offsets[1..].chunks(SHARE).map(|share| share[share.len() - 1]);
    let mut begin = 0;
    let split = |end| {
        let (share, others) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
        (rest, begin) = (others, end);
        share
    };
    ends.map(split).collect()
}
