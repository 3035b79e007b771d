//! Runs long work on a thread pool, without the interpreter's lock. Ctrl-C cancels it.

use std::mem::forget;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use gpu_broad_phase::cpu::CancelToken;
use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

const GLANCE: Duration = Duration::from_millis(50);

/// Number of forks since this module was loaded. A fork loses threads and driver state.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// One pool per fork depth, because a pool locked during a fork is unusable.
static POOLS: [OnceLock<Result<ThreadPool, String>>; 64] = [const { OnceLock::new() }; 64];

#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

pub fn forks() -> usize {
    FORKS.load(Ordering::Relaxed)
}

fn pool() -> PyResult<&'static ThreadPool> {
    let place = POOLS
        .get(forks())
        .ok_or_else(|| PyRuntimeError::new_err("this process is the child of 64 forks: start a new one"))?;
    let build = || {
        let named = |index| format!("gpu_broad_phase {index}");
        let pool = ThreadPoolBuilder::new().thread_name(named).build();
        pool.map_err(|error| error.to_string())
    };
    let pool = place.get_or_init(build).as_ref();
    pool.map_err(|error| PyRuntimeError::new_err(format!("no threads could be started: {error}")))
}

/// Runs `work` on the pool, and `progress` regularly, with the current pass's rows done and total. Its exceptions and
/// signals cancel the work.
///
/// `work` must not wait for a lock, because a waiting pool thread may run other work.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let token = CancelToken::default();
    let progress = progress.map(|call| call.clone().unbind());
    py.detach(|| {
        let (done, ended) = mpsc::channel();
        pool.in_place_scope(|scope| {
            let watched = token.clone();
            scope.spawn(move |_| {
                let _ = done.send(watched.run(work));
            });
            let mut raised = None;
            loop {
                match ended.recv_timeout(GLANCE) {
                    Ok(answer) => return raised.map_or(Ok(answer), Err),
                    Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the work failed")),
                    Err(RecvTimeoutError::Timeout) if raised.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let (rows, total) = token.progress();
                        let looked = Python::attach(|py| {
                            py.check_signals()?;
                            match &progress {
                                Some(call) => call.call1(py, (rows, total)).map(drop),
                                None => Ok(()),
                            }
                        });
                        raised = looked.err();
                        if raised.is_some() {
                            token.stop();
                        }
                    }
                }
            }
        })
    })
}

/// A fair mutex: threads get it in turn.
pub struct FairMutex<T> {
    value: Mutex<T>,
    /// Fork count when last locked.
    forks: AtomicUsize,
}

impl<T: Send> FairMutex<T> {
    pub fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            forks: AtomicUsize::new(forks()),
        }
    }

    /// Checks signals while waiting, without the interpreter's lock.
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        let locked = |guard| {
            self.forks.store(forks(), Ordering::Relaxed);
            guard
        };
        if let Some(guard) = self.value.try_lock() {
            return Ok(locked(guard));
        }
        loop {
            // A guard cannot move to another thread, so it is forgotten. The lock stays held.
            let is_locked = py.detach(|| self.value.try_lock_for(GLANCE).map(forget).is_some());
            if is_locked {
                // SAFETY: this thread has the lock, and its guard was forgotten.
                return Ok(locked(unsafe { self.value.make_guard_unchecked() }));
            }
            // A lock holder in this process would have stored the current fork count by now.
            if self.forks.load(Ordering::Relaxed) != forks() {
                return Err(PyRuntimeError::new_err(
                    "another thread was at work with this when the process was forked: make a new one",
                ));
            }
            py.check_signals()?;
        }
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}
