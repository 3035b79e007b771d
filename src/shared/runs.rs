//! Runs work on consecutive indices. The feature `rayon` uses the threads of the current pool and changes no results.

use std::ops::Range;

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::cancel::CancelToken;

const CHECK_INTERVAL: u32 = 64;
/// Indices per run: enough to hide task overhead, few enough to balance threads.
pub(crate) const RUN_LENGTH: u32 = 1024;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walked {
    pub candidates: u32,
    pub is_invalid: bool,
}

pub(crate) fn map<T: Send>(count: u32, of: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    let token = CancelToken::begin_pass(count);
    let of = |index: u32| {
        if let Some(token) = token.as_ref().filter(|_| index.is_multiple_of(CHECK_INTERVAL)) {
            token.add_done(CHECK_INTERVAL);
        }
        of(index)
    };
    #[cfg(feature = "rayon")]
    return (0..count)
        .into_par_iter()
        .with_min_len(RUN_LENGTH as usize)
        .map(of)
        .collect();
    #[cfg(not(feature = "rayon"))]
    (0..count).map(of).collect()
}

/// Yields items in order and counts them as progress. Unwinds between two items if the work was cancelled.
pub(crate) fn each<I: IntoIterator<IntoIter: ExactSizeIterator>>(items: I) -> impl Iterator<Item = I::Item> {
    let items = items.into_iter();
    let token = CancelToken::begin_pass(items.len() as u32);
    items.inspect(move |_| {
        if let Some(token) = &token {
            token.add_done(1);
        }
    })
}

pub(crate) fn in_runs<T: Send>(count: u32, work: impl Fn(Range<u32>) -> T + Sync + Send) -> Vec<T> {
    let token = CancelToken::begin_pass(count);
    let run = |run: u32| {
        let _under = token.as_ref().map(|token| {
            token.add_done(RUN_LENGTH);
            token.over_thread()
        });
        work(run * RUN_LENGTH..count.min((run + 1).saturating_mul(RUN_LENGTH)))
    };
    let runs = count.div_ceil(RUN_LENGTH);
    #[cfg(feature = "rayon")]
    return (0..runs).into_par_iter().map(run).collect();
    #[cfg(not(feature = "rayon"))]
    (0..runs).map(run).collect()
}

pub(crate) fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync + Send) {
    let token = CancelToken::begin_pass(items.len() as u32);
    let work = |item: T| {
        if let Some(token) = &token {
            token.add_done(1);
        }
        work(item);
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
