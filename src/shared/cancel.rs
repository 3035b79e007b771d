use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<Arc<CancelToken>>> = const { RefCell::new(None) };
}

struct Stopped;

/// Unwinds if the work was cancelled. Called within rows that take long.
pub(crate) fn end_if_stopped() {
    CURRENT.with_borrow(|token| {
        if let Some(token) = token {
            token.add_done(0);
        }
    });
}

pub(crate) struct TokenScope(Option<Arc<CancelToken>>);

impl Drop for TokenScope {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Shows another thread the progress of the [CPU engine](crate::cpu) or a [`BroadPhase`](crate::BroadPhase), and
/// cancels their work.
///
/// ```
/// use std::sync::Arc;
/// use gpu_broad_phase::cpu::{self, CancelToken};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor};
///
/// let token = Arc::new(CancelToken::default());
/// // Another thread has a clone of it, and may call `stop` when the user has had enough.
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let answer = token.run(|| cpu::step(&BroadPhaseDescriptor::default(), &objects, &[]));
/// assert!(answer.is_some());
/// token.stop();
/// assert!(token.run(|| cpu::step(&BroadPhaseDescriptor::default(), &objects, &[])).is_none());
/// ```
#[derive(Debug, Default)]
pub struct CancelToken {
    stopped: AtomicBool,
    done: AtomicU32,
    total: AtomicU32,
}

impl CancelToken {
    /// Cancels the current work and all later work of this token. The CPU checks the token between rows of pairs and
    /// queries, every 64 rows of other work, and between passes. With a GPU, [`BroadPhase`](crate::BroadPhase) checks
    /// every 50 ms: submitted work completes, but no more is submitted. In browsers, it only checks before each call.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns finished and total rows of the current pass. A step has many passes; walks of pairs, rays and queries
    /// take longest. On a GPU, counts the rounds of a walk that is split into submissions.
    pub fn progress(&self) -> (u32, u32) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// Runs `work`. Returns `None` if it was cancelled. Cancelling unwinds, so [`stop`](Self::stop) ends a program that
    /// aborts on panic. After a cancelled step, a `BroadPhase` needs another step before queries.
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

    pub(crate) fn over_thread(self: &Arc<Self>) -> TokenScope {
        TokenScope(CURRENT.replace(Some(Arc::clone(self))))
    }

    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, rows: u32) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(rows, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, rows: u32) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn begin_pass(rows: u32) -> Option<Arc<Self>> {
        let token = Self::current()?;
        token.begin(rows);
        token.add_done(0);
        Some(token)
    }

    /// Counts finished rows. Unwinds if the work was cancelled.
    pub(crate) fn add_done(&self, rows: u32) {
        if self.is_stopped() {
            // Unlike a panic, this prints no message.
            resume_unwind(Box::new(Stopped));
        }
        self.count(rows);
    }
}
