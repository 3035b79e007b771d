//! Runs work on consecutive indices. The feature `rayon` uses the threads of the current pool and changes no results.

use std::iter::Flatten;
use std::ops::Range;
use std::vec::IntoIter;

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::cancel::CancelToken;

/// Indices per run: enough to hide task overhead, few enough to balance threads.
pub(crate) const RUN_LENGTH: u32 = 1024;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walked {
    pub candidates: u32,
    pub is_invalid: bool,
}

/// A run of rows. Ends early if the work is cancelled.
pub(crate) struct Rows<'t> {
    pub range: Range<u32>,
    token: Option<&'t CancelToken>,
}

impl Iterator for Rows<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let is_stopped = self.token.is_some_and(CancelToken::is_stopped);
        self.range.next().filter(|_| !is_stopped)
    }
}

pub(crate) fn map<T: Send>(count: u32, of: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "rayon")]
    return (0..count)
        .into_par_iter()
        .with_min_len(RUN_LENGTH as usize)
        .map(of)
        .collect();
    #[cfg(not(feature = "rayon"))]
    (0..count).map(of).collect()
}

pub(crate) fn in_runs<T: Send>(count: u32, work: impl Fn(Range<u32>) -> T + Sync + Send) -> Vec<T> {
    in_runs_of(RUN_LENGTH, count, work)
}

fn in_runs_of<T: Send>(length: u32, count: u32, work: impl Fn(Range<u32>) -> T + Sync + Send) -> Vec<T> {
    let run = |run: u32| work(run * length..count.min((run + 1).saturating_mul(length)));
    let runs = count.div_ceil(length);
    #[cfg(feature = "rayon")]
    return (0..runs).into_par_iter().map(run).collect();
    #[cfg(not(feature = "rayon"))]
    (0..runs).map(run).collect()
}

/// [`in_runs`] for rows that take long, with progress. Results of cancelled work lack rows, so callers check for that
/// ([`is_stopped`](super::cancel::is_stopped)) before they use them.
pub(crate) fn walk_in_runs<T: Send>(count: u32, work: impl Fn(Rows<'_>) -> T + Sync + Send) -> Vec<T> {
    walk_in_runs_of(RUN_LENGTH, count, work)
}

/// [`walk_in_runs`] with `length` rows per run.
pub(crate) fn walk_in_runs_of<T: Send>(length: u32, count: u32, work: impl Fn(Rows<'_>) -> T + Sync + Send) -> Vec<T> {
    let token = CancelToken::current();
    let token = token.as_ref();
    if let Some(token) = token {
        token.begin(count);
    }
    in_runs_of(length, count, |range| {
        if let Some(token) = token {
            token.count(length);
        }
        work(Rows { range, token })
    })
}

/// As [`walk_in_runs`], by row.
pub(crate) fn walk<T: Send>(count: u32, of: impl Fn(u32) -> T + Sync + Send) -> Flatten<IntoIter<Vec<T>>> {
    let runs = walk_in_runs(count, |rows| rows.map(&of).collect::<Vec<_>>());
    runs.into_iter().flatten()
}

/// Leaves the rest of the items as they are if the work is cancelled.
pub(crate) fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync + Send) {
    let token = CancelToken::current();
    let work = |item: T| {
        if !token.as_ref().is_some_and(CancelToken::is_stopped) {
            work(item);
        }
    };
    #[cfg(feature = "rayon")]
    items.into_par_iter().for_each(work);
    #[cfg(not(feature = "rayon"))]
    items.into_iter().for_each(work);
}

/// Unstable, because equal items are indistinguishable.
pub(crate) fn sort<T: Ord + Send>(items: &mut [T]) {
    #[cfg(feature = "rayon")]
    items.par_sort_unstable();
    #[cfg(not(feature = "rayon"))]
    items.sort_unstable();
}

pub(crate) fn join(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    #[cfg(feature = "rayon")]
    rayon::join(first, second);
    #[cfg(not(feature = "rayon"))]
    {
        first();
        second();
    }
}
