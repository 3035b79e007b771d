//! One list of items per row. Items are cached, so most rows are walked only once.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shared::runs::{Rows, Walked, for_each, walk_in_runs_of};

/// Maximum number of cached items of a run of rows. Longer runs are walked again.
pub(super) const MAX_OF_RUN: usize = 1 << 20;
pub(super) const MAX_OF_ALL: usize = 1 << 27;

/// Items of a row, of which the first are cached.
pub(crate) struct Found<'a, T> {
    count: u32,
    cached: &'a mut Vec<T>,
    room: usize,
}

impl<'a, T> Found<'a, T> {
    pub fn all(cached: &'a mut Vec<T>) -> Self {
        Self {
            count: 0,
            cached,
            room: usize::MAX,
        }
    }

    pub fn accept(&mut self, item: T) {
        self.count = self.count.wrapping_add(1);
        if self.cached.len() < self.room {
            self.cached.push(item);
        }
    }
}

pub(crate) struct Lists<T> {
    /// Number of items of each row, then a 0, which the scan turns into the total.
    pub counts: Vec<u32>,
    pub candidates: u64,
    pub invalid: u32,
    runs: Vec<Run<T>>,
}

struct Run<T> {
    rows: Range<u32>,
    counts: Vec<u32>,
    candidates: u64,
    invalid: u32,
    found: Option<Vec<T>>,
}

impl<T: Copy + Send + Sync> Lists<T> {
    /// Walks all rows, `length` per run, and caches at most `most` items. `walk` finds the same items of a row in every
    /// call.
    pub fn find(
        most: usize,
        length: u32,
        rows: u32,
        walk: &(impl Fn(u32, &mut Found<'_, T>) -> Walked + Sync + Send),
    ) -> Self {
        let room = AtomicUsize::new(most);
        let find = |rows: Rows<'_>| {
            let mut found = Vec::new();
            let mut run = Run {
                rows: rows.range.clone(),
                counts: Vec::with_capacity(rows.range.len()),
                candidates: 0,
                invalid: 0,
                found: None,
            };
            let mut all = 0u64;
            for row in rows {
                let mut of_row = Found {
                    count: 0,
                    cached: &mut found,
                    room: MAX_OF_RUN,
                };
                let walked = walk(row, &mut of_row);
                run.candidates += u64::from(walked.candidates);
                run.invalid += u32::from(walked.is_invalid);
                run.counts.push(of_row.count);
                all += u64::from(of_row.count);
            }
            let take = |left: usize| left.checked_sub(found.len());
            let is_complete = all == found.len() as u64;
            if is_complete && room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                run.found = Some(found);
            }
            run
        };
        let mut runs = walk_in_runs_of(length, rows, find);
        let mut counts = Vec::with_capacity(rows as usize + 1);
        for run in &mut runs {
            counts.append(&mut run.counts);
        }
        counts.push(0);
        Self {
            counts,
            candidates: runs.iter().map(|run| run.candidates).sum(),
            invalid: runs.iter().map(|run| run.invalid).sum(),
            runs,
        }
    }

    pub fn is_cached(&self) -> bool {
        self.runs.iter().all(|run| run.found.is_some())
    }

    /// Returns the items of each run. Runs that were not cached are walked by `walk`, which may leave items out.
    pub fn into_runs(self, walk: &(impl Fn(u32, &mut Found<'_, T>) -> Walked + Sync + Send)) -> Vec<Vec<T>> {
        let mut runs: Vec<_> = self.runs.into_iter().map(|run| (run.rows, run.found)).collect();
        let walked = runs.iter_mut().filter(|(_, found)| found.is_none()).collect();
        for_each(walked, |(rows, found): &mut (Range<u32>, Option<Vec<T>>)| {
            let mut all = Vec::new();
            for row in rows.clone() {
                walk(row, &mut Found::all(&mut all));
            }
            *found = Some(all);
        });
        runs.into_iter().filter_map(|(_, found)| found).collect()
    }

    /// Writes each row's items to `all` at the row's offset. Drops items beyond the end of `all`.
    pub fn write(
        self,
        offsets: &[u32],
        all: &mut [T],
        walk: &(impl Fn(u32, &mut Found<'_, T>) -> Walked + Sync + Send),
    ) {
        let room = all.len();
        let place = |row: u32| (offsets[row as usize] as usize).min(room);
        let mut left = &mut all[place(0)..];
        let mut parts = Vec::with_capacity(self.runs.len());
        for run in self.runs {
            let (part, rest) = left.split_at_mut(place(run.rows.end) - place(run.rows.start));
            left = rest;
            parts.push((run.rows, run.found, part));
        }
        for_each(parts, |(rows, found, part)| {
            let found = found.unwrap_or_else(|| {
                let mut found = Vec::with_capacity(part.len());
                let mut of_rows = Found {
                    count: 0,
                    cached: &mut found,
                    room: part.len(),
                };
                let end = place(rows.end);
                for row in rows.take_while(|&row| place(row) < end) {
                    walk(row, &mut of_rows);
                }
                found
            });
            part.copy_from_slice(&found[..part.len()]);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::runs::RUN_LENGTH;

    #[test]
    fn lists_that_are_not_kept_are_walked_again() {
        let rows = 5000;
        // With `step` 500, runs exceed their limit. Otherwise `most` allows caching all, no or some runs.
        for (step, most) in [(3, MAX_OF_ALL), (3, 0), (3, 20_000), (500, MAX_OF_ALL)] {
            let numbers = |row: u32| (0..row % 7 * step).map(move |number| [row, number]);
            let walk = |row: u32, found: &mut Found<'_, [u32; 2]>| {
                numbers(row).for_each(|item| found.accept(item));
                Walked {
                    candidates: row % 7 * step + 1,
                    is_invalid: row.is_multiple_of(5),
                }
            };
            let expected: Vec<_> = (0..rows).flat_map(numbers).collect();
            let mut lists = Lists::find(most, RUN_LENGTH, rows, &walk);
            let kept = lists.runs.iter().filter(|run| run.found.is_some()).count();
            let runs = lists.runs.len();
            assert_eq!(kept == runs, (step, most) == (3, MAX_OF_ALL));
            assert_eq!(kept == 0, most == 0 || step == 500);
            assert_eq!(lists.candidates, expected.len() as u64 + u64::from(rows));
            assert_eq!(lists.invalid, rows / 5);
            let counts = std::mem::take(&mut lists.counts);
            assert_eq!(counts.len(), rows as usize + 1);
            let offsets: Vec<u32> = std::iter::once(0)
                .chain(counts.iter().scan(0, |sum, &count| {
                    *sum += count;
                    Some(*sum)
                }))
                .collect();
            for room in [expected.len(), expected.len() / 2 + 1, 1, 0] {
                let mut lists = Lists::find(most, RUN_LENGTH, rows, &walk);
                lists.counts.clear();
                let mut all = vec![[u32::MAX; 2]; room];
                lists.write(&offsets, &mut all, &walk);
                assert!(all == expected[..room], "{step} {most} {room}");
            }
        }
    }
}
