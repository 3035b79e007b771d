//! Sorts pairs that were found in runs.

use crate::api::types::Pair;
use crate::shared::runs::{for_each, sort};

/// Mean number of pairs of a bucket: few enough for the cache.
const PAIRS_PER_BUCKET: usize = 1 << 11;
const MAX_BUCKETS: usize = 1 << 10;
/// Pairs of a part, which one thread puts into buckets.
const PAIRS_PER_PART: usize = 1 << 16;

/// Pairs in the order of their buckets.
#[derive(Default)]
struct Part {
    pairs: Vec<Pair>,
    /// Begin of each bucket, then the number of pairs.
    begins: Vec<u32>,
}

impl Part {
    fn of(runs: &[Vec<Pair>], shift: u32, buckets: usize) -> Self {
        let mut begins = vec![0u32; buckets + 1];
        for pair in runs.iter().flatten() {
            begins[(pair.a >> shift) as usize] += 1;
        }
        let count = to_begins(&mut begins);
        let mut pairs = vec![Pair { a: 0, b: 0 }; count as usize];
        let mut places = begins.clone();
        for &pair in runs.iter().flatten() {
            let place = &mut places[(pair.a >> shift) as usize];
            pairs[*place as usize] = pair;
            *place += 1;
        }
        Self { pairs, begins }
    }

    fn bucket(&self, bucket: usize) -> &[Pair] {
        let [begin, end] = [0, 1].map(|side| self.begins.get(bucket + side).map_or(0, |&place| place as usize));
        &self.pairs[begin..end]
    }
}

/// Turns counts into begins. Returns the total.
fn to_begins(counts: &mut [u32]) -> u32 {
    let mut total = 0;
    for count in counts {
        total += std::mem::replace(count, total);
    }
    total
}

/// Returns all pairs of the runs, sorted by `a`, then by `b`. All indices are below `objects`.
pub(crate) fn ascending(runs: Vec<Vec<Pair>>, objects: u32) -> Vec<Pair> {
    let total: usize = runs.iter().map(Vec::len).sum();
    let most = (total / PAIRS_PER_BUCKET).clamp(1, MAX_BUCKETS) as u32;
    let shift = u32::BITS - (objects / most).leading_zeros();
    // With few pairs per object, counters of all objects would take longer.
    if most == 1 || total < objects as usize / 8 {
        let mut pairs = runs.concat();
        sort(&mut pairs);
        return pairs;
    }
    let buckets = (objects >> shift) as usize + 1;
    let mut chunks = Vec::new();
    let (mut begin, mut count) = (0, 0);
    for (index, run) in runs.iter().enumerate() {
        count += run.len();
        if count >= PAIRS_PER_PART {
            chunks.push(&runs[begin..=index]);
            (begin, count) = (index + 1, 0);
        }
    }
    chunks.push(&runs[begin..]);
    let mut parts: Vec<_> = chunks.iter().map(|_| Part::default()).collect();
    for_each(parts.iter_mut().zip(chunks).collect(), |(part, runs)| {
        *part = Part::of(runs, shift, buckets);
    });
    drop(runs);
    let mut pairs = vec![Pair { a: 0, b: 0 }; total];
    let mut left = &mut pairs[..];
    let mut slots = Vec::with_capacity(buckets);
    for bucket in 0..buckets {
        let length = parts.iter().map(|part| part.bucket(bucket).len()).sum();
        let (slot, rest) = left.split_at_mut(length);
        left = rest;
        slots.push((bucket, slot));
    }
    for_each(slots, |(bucket, slot)| {
        let first = (bucket as u32) << shift;
        let found = || parts.iter().flat_map(|part| part.bucket(bucket));
        let mut places = vec![0u32; 1 << shift];
        for pair in found() {
            places[(pair.a - first) as usize] += 1;
        }
        to_begins(&mut places);
        for &pair in found() {
            let place = &mut places[(pair.a - first) as usize];
            slot[*place as usize] = pair;
            *place += 1;
        }
        let mut begin = 0;
        for end in places {
            let of_object = &mut slot[begin..end as usize];
            match of_object.len() > PAIRS_PER_PART {
                true => sort(of_object),
                false => of_object.sort_unstable_by_key(|pair| pair.b),
            }
            begin = end as usize;
        }
    });
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::tests::Random;

    #[test]
    fn pairs_of_runs_are_sorted() {
        for (objects, total) in [
            (1, 0),
            (10, 9),
            (300, 20_000),
            (5_000, 100_000),
            (1 << 20, 70_000),
            (3_000_000, 1 << 19),
        ] {
            let mut random = Random(1);
            let pairs: Vec<_> = (0..total)
                .map(|_| Pair {
                    a: random.below(objects),
                    b: random.below(objects),
                })
                .collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            for length in [7, 3_000, 1 << 20] {
                let runs = pairs.chunks(length).map(<[Pair]>::to_vec).collect();
                assert!(
                    ascending(runs, objects) == expected,
                    "{objects} objects, {total} pairs, runs of {length}"
                );
            }
        }
    }
}
