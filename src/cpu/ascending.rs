//! Sorts pairs.

use crate::api::types::Pair;
use crate::layout::worlds::Worlds;
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
        let count = runs.iter().map(Vec::len).sum();
        let mut pairs = vec![Pair { a: 0, b: 0 }; count];
        let bucket = |pair: &Pair| (pair.a >> shift) as usize;
        let begins = group(|| runs.iter().flatten(), bucket, buckets, &mut pairs);
        Self { pairs, begins }
    }

    fn bucket(&self, bucket: usize) -> &[Pair] {
        let [begin, end] = [0, 1].map(|side| self.begins.get(bucket + side).map_or(0, |&place| place as usize));
        &self.pairs[begin..end]
    }
}

/// Writes pairs in the order of their groups, those of a group in the order of `pairs`. Returns the begin of each
/// group, then the number of pairs.
fn group<'p, I: Iterator<Item = &'p Pair>>(
    pairs: impl Fn() -> I,
    group_of: impl Fn(&Pair) -> usize,
    groups: usize,
    written: &mut [Pair],
) -> Vec<u32> {
    let mut begins = vec![0u32; groups + 1];
    for pair in pairs() {
        begins[group_of(pair)] += 1;
    }
    let mut total = 0;
    for count in &mut begins {
        total += std::mem::replace(count, total);
    }
    let mut places = begins.clone();
    for pair in pairs() {
        let place = &mut places[group_of(pair)];
        written[*place as usize] = *pair;
        *place += 1;
    }
    begins
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
        let object = |pair: &Pair| (pair.a - first) as usize;
        let begins = group(found, object, 1 << shift, slot);
        for ends in begins.windows(2) {
            let of_object = &mut slot[ends[0] as usize..ends[1] as usize];
            match of_object.len() > PAIRS_PER_PART {
                true => sort(of_object),
                false => of_object.sort_unstable_by_key(|pair| pair.b),
            }
        }
    });
    pairs
}

/// Sorts pairs stably by world. Returns them and the offsets of worlds.
pub(crate) fn by_world(pairs: &[Pair], worlds: Worlds<'_>) -> (Vec<Pair>, Vec<u32>) {
    let mut sorted = vec![Pair { a: 0, b: 0 }; pairs.len()];
    let world = |pair: &Pair| worlds.of_pair(pair) as usize;
    let offsets = group(|| pairs.iter(), world, worlds.count as usize + 1, &mut sorted);
    (sorted, offsets)
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
