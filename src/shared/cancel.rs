use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Shows another thread the progress of the [CPU engine](crate::cpu) or a [`BroadPhase`](crate::BroadPhase), and
/// cancels their work. Clones share one state.
///
/// ```
/// use gpu_broad_phase::cpu::{self, CancelToken};
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, BroadPhaseError};
///
/// let token = CancelToken::default();
/// // Another thread has a clone of it, and may call `stop` when the user has had enough.
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let step = || cpu::step(&BroadPhaseDescriptor::default(), &objects, &[]);
/// assert!(token.run(step).is_ok());
/// token.stop();
/// assert_eq!(token.run(step), Err(BroadPhaseError::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    done: AtomicU32,
    total: AtomicU32,
}

impl CancelToken {
    /// Cancels the current work and all later work of this token. The CPU checks the token between passes, and between
    /// rows of pairs, rays and queries. With a GPU, [`BroadPhase`](crate::BroadPhase) checks every 50 ms: submitted
    /// work completes, but no more is submitted. In browsers, it only checks before each call.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns finished and total rows of the current walk of pairs, rays or queries. A step has several. On a GPU,
    /// counts the rounds of a walk that is split into submissions.
    pub fn progress(&self) -> (u32, u32) {
        let total = self.0.total.load(Ordering::Relaxed);
        (self.0.done.load(Ordering::Relaxed).min(total), total)
    }

    /// Runs `work` with this token on the current thread. Once stopped, calls within `work` fail with
    /// [`Cancelled`](crate::BroadPhaseError::Cancelled). After a cancelled step, a `BroadPhase` needs another step
    /// before queries.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _outer = Outer(CURRENT.replace(Some(self.clone())));
        work()
    }

    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, rows: u32) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(rows, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, rows: u32) {
        self.0.done.fetch_add(rows, Ordering::Relaxed);
    }
}

/// Returns true if the thread's token was stopped. Walks may then have ended early.
pub(crate) fn is_stopped() -> bool {
    CURRENT.with_borrow(|token| token.as_ref().is_some_and(CancelToken::is_stopped))
}

/// Restores the token of the code around, even if `work` panics.
struct Outer(Option<CancelToken>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
