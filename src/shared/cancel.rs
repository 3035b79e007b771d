//! Ends work that is no longer wanted, and tells how far it is.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

thread_local! {
    /// The watch that work on this thread is under.
    static CURRENT: RefCell<Option<Arc<CancelToken>>> = const { RefCell::new(None) };
}

/// What work is ended with that is no longer wanted.
struct Stopped;

/// Ends the work of this thread if its watch was stopped. For rows that may take long each.
pub(crate) fn end_if_stopped() {
    CURRENT.with_borrow(|token| {
        if let Some(token) = token {
            token.add_done(0);
        }
    });
}

/// Puts a thread under a watch until it is dropped.
pub(crate) struct Under(Option<Arc<CancelToken>>);

impl Drop for Under {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Tells another thread how far the [CPU engine](crate::cpu) or a [`BroadPhase`](crate::BroadPhase) is, and ends
/// its work early.
///
/// ```
/// use std::sync::Arc;
/// use gpu_broad_phase::cpu::{self, Watch};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor};
///
/// let watch = Arc::new(CancelToken::default());
/// // Another thread has a clone of it, and may call `stop` when the user has had enough.
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let answer = watch.run(|| cpu::step(&BroadPhaseDescriptor::default(), &objects, &[]));
/// assert!(answer.is_some());
/// watch.stop();
/// assert!(watch.run(|| cpu::step(&BroadPhaseDescriptor::default(), &objects, &[])).is_none());
/// ```
#[derive(Debug, Default)]
pub struct CancelToken {
    stopped: AtomicBool,
    done: AtomicU32,
    total: AtomicU32,
}

impl CancelToken {
    /// Ends the work under this watch, and all that is begun under it from now on. Threads look at it between two rows
    /// of pairs and of queries, after each 64 other rows, and between two passes. A device's
    /// [`BroadPhase`](crate::BroadPhase) looks at it every 50 ms: what was submitted by then runs to its end on the
    /// device, and no more is submitted. In browsers it looks at it before each call alone.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Rows of the pass that runs now: those that are done, and all. A step runs many passes one after the other, of
    /// which the walks of pairs, rays and queries take longest. On a device these are rounds of a walk that is cut into
    /// several submissions.
    pub fn progress(&self) -> (u32, u32) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// Does work under this watch; `None` where it was stopped before the end. The work ends by unwinding. So
    /// [`stop`](Self::stop) ends a program that aborts on panics. A `BroadPhase` whose step was ended needs another one
    /// before it answers queries.
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
    pub(crate) fn over_thread(self: &Arc<Self>) -> Under {
        Under(CURRENT.replace(Some(Arc::clone(self))))
    }

    /// The watch of this thread.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Begins a pass over `rows`.
    pub(crate) fn begin(&self, rows: u32) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(rows, Ordering::Relaxed);
    }

    /// Counts rows that are done.
    pub(crate) fn count(&self, rows: u32) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }

    /// Begins a pass over `rows` under the watch of this thread, and returns that.
    pub(crate) fn begin_pass(rows: u32) -> Option<Arc<Self>> {
        let token = Self::current()?;
        token.begin(rows);
        token.add_done(0);
        Some(token)
    }

    /// Counts rows that are done. Ends the work if the watch was stopped.
    pub(crate) fn add_done(&self, rows: u32) {
        if self.is_stopped() {
            // Unlike a panic this tells nobody on its way.
            resume_unwind(Box::new(Stopped));
        }
        self.count(rows);
    }
}
