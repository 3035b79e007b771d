//! Work on consecutive indices. The feature `rayon` spreads it over the threads of the pool that it is called from.
//! What comes of it does not depend on that.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[cfg(feature = "rayon")]
use rayon::prelude::*;

/// How many indices may pass before a watch is looked at.
const GLANCE: u32 = 64;
/// Indices of a run: enough that handing one out costs nothing, few enough that all threads end at about the same time.
pub(crate) const LENGTH: u32 = 1024;

/// What the walk of a row tells beside what it found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walked {
    /// Box tests, where they are counted.
    pub candidates: u32,
    /// Whether who asks is invalid.
    pub is_invalid: bool,
}

thread_local! {
    /// The watch that work on this thread is under.
    static CURRENT: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// What work is ended with that is no longer wanted.
struct Stopped;

/// Ends the work of this thread if its watch was stopped. For rows that may take long each.
pub(crate) fn end_if_stopped() {
    CURRENT.with_borrow(|watch| {
        if let Some(watch) = watch {
            watch.add_done(0);
        }
    });
}

/// Puts a thread under a watch until it is dropped.
struct Under(Option<Arc<Watch>>);

impl Drop for Under {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Tells another thread how far the [CPU reference](crate::reference) is, and ends its work early.
///
/// ```
/// use std::sync::Arc;
/// use gpu_broad_phase::reference::{self, Watch};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor};
///
/// let watch = Arc::new(Watch::default());
/// // Another thread has a clone of it, and may call `stop` when the user has had enough.
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let answer = watch.run(|| reference::step(&BroadPhaseDescriptor::default(), &objects, &[]));
/// assert!(answer.is_some());
/// watch.stop();
/// assert!(watch.run(|| reference::step(&BroadPhaseDescriptor::default(), &objects, &[])).is_none());
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    stopped: AtomicBool,
    done: AtomicU32,
    total: AtomicU32,
}

impl Watch {
    /// Ends the work under this watch, and all that is begun under it from now on. Threads look at it between two rows
    /// of pairs and of queries, after each 64 other rows, and between two passes.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Rows of the pass that runs now: those that are done, and all. A step runs many passes one after the other, of
    /// which the walks of pairs, rays and queries take longest.
    pub fn progress(&self) -> (u32, u32) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// Does work under this watch; `None` where it was stopped before the end. The work ends by unwinding. So
    /// [`stop`](Self::stop) ends a program that aborts on panics.
    pub fn run<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> Option<T> {
        let under = self.over_thread();
        let ended = catch_unwind(AssertUnwindSafe(work));
        drop(under);
        match ended {
            Ok(done) => Some(done),
            Err(cause) if cause.is::<Stopped>() => None,
            Err(cause) => resume_unwind(cause),
        }
    }

    /// Puts this thread under the watch.
    fn over_thread(self: &Arc<Self>) -> Under {
        Under(CURRENT.replace(Some(Arc::clone(self))))
    }

    /// The watch of this thread, which begins so many rows.
    fn begin_pass(rows: u32) -> Option<Arc<Self>> {
        let watch = CURRENT.with_borrow(Clone::clone)?;
        watch.done.store(0, Ordering::Relaxed);
        watch.total.store(rows, Ordering::Relaxed);
        watch.add_done(0);
        Some(watch)
    }

    /// Counts rows that are done. Ends the work if the watch was stopped.
    fn add_done(&self, rows: u32) {
        if self.stopped.load(Ordering::Relaxed) {
            // Unlike a panic this tells nobody on its way.
            resume_unwind(Box::new(Stopped));
        }
        self.done.fetch_add(rows, Ordering::Relaxed);
    }
}

/// What `of` gives for each index of `0..count`, in order.
pub(crate) fn map<T: Send>(count: u32, of: impl Fn(u32) -> T + Sync + Send) -> Vec<T> {
    let watch = Watch::begin_pass(count);
    let of = |index: u32| {
        if let Some(watch) = watch.as_ref().filter(|_| index.is_multiple_of(GLANCE)) {
            watch.add_done(GLANCE);
        }
        of(index)
    };
    #[cfg(feature = "rayon")]
    return (0..count)
        .into_par_iter()
        .with_min_len(LENGTH as usize)
        .map(of)
        .collect();
    #[cfg(not(feature = "rayon"))]
    (0..count).map(of).collect()
}

/// What `work` gives for each run of `0..count`, in order.
pub(crate) fn in_runs<T: Send>(count: u32, work: impl Fn(Range<u32>) -> T + Sync + Send) -> Vec<T> {
    let watch = Watch::begin_pass(count);
    let run = |run: u32| {
        let _under = watch.as_ref().map(|watch| {
            watch.add_done(LENGTH);
            watch.over_thread()
        });
        work(run * LENGTH..count.min((run + 1).saturating_mul(LENGTH)))
    };
    let runs = count.div_ceil(LENGTH);
    #[cfg(feature = "rayon")]
    return (0..runs).into_par_iter().map(run).collect();
    #[cfg(not(feature = "rayon"))]
    (0..runs).map(run).collect()
}

/// Hands each of these to `work`.
pub(crate) fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync + Send) {
    let watch = Watch::begin_pass(items.len() as u32);
    let work = |item: T| {
        if let Some(watch) = &watch {
            watch.add_done(1);
        }
        work(item);
    };
    #[cfg(feature = "rayon")]
    items.into_par_iter().for_each(work);
    #[cfg(not(feature = "rayon"))]
    items.into_iter().for_each(work);
}

/// Sorts by value: equal items cannot be told apart.
pub(crate) fn sort<T: Ord + Send>(items: &mut [T]) {
    #[cfg(feature = "rayon")]
    items.par_sort_unstable();
    #[cfg(not(feature = "rayon"))]
    items.sort_unstable();
}
