//! Long work: on threads of its own, without the interpreter's lock, ended by Ctrl-C, and told how far it is.

use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gpu_broad_phase::cpu::CancelToken;
use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often signals are looked after.
const GLANCE: Duration = Duration::from_millis(50);

/// How many forks lie between the process that loaded this and the one that runs. Threads, and what a driver keeps, do
/// not come along with a fork.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The threads of each process of a chain of forks. No place is used again, so that one which was locked during the
/// fork does no harm.
static POOLS: [OnceLock<Result<ThreadPool, String>>; 64] = [const { OnceLock::new() }; 64];

/// Tells that the process is a fork's child.
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

/// Does work on the pool, on as many threads as it likes. `progress` is called from time to time with the rows of the
/// pass that runs: how many are done, and how many there are. What it raises ends the work, as a signal does.
///
/// The work must not wait for a lock: a thread that waits for a part of its own work takes up other work meanwhile.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let token = Arc::new(CancelToken::default());
    let progress = progress.map(|call| call.clone().unbind());
    py.detach(|| {
        let (done, ended) = mpsc::channel();
        pool.in_place_scope(|scope| {
            let watched = Arc::clone(&token);
            scope.spawn(move |_| {
                // Who listens waits for the end.
                let _ = done.send(watched.run(work));
            });
            let mut raised = None;
            loop {
                match ended.recv_timeout(GLANCE) {
                    Ok(Some(answer)) if raised.is_none() => return Ok(answer),
                    Ok(_) => return Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))),
                    // The scope goes on with its panic.
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

/// What several threads work with, one after the other. Who waits gets its turn, even where another thread takes it over
/// and over.
pub struct Iterations<T> {
    value: Mutex<T>,
    /// Forks before the process that has it locked, or had it locked last.
    forks: AtomicUsize,
}

impl<T: Send> Iterations<T> {
    pub fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            forks: AtomicUsize::new(forks()),
        }
    }

    /// Waits for a turn without keeping others from the interpreter, and looks after signals.
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        let locked = |guard| {
            self.forks.store(forks(), Ordering::Relaxed);
            guard
        };
        if let Some(guard) = self.value.try_lock() {
            return Ok(locked(guard));
        }
        loop {
            // A guard stays on its thread, and so does its lock, which is taken over here.
            let is_locked = py.detach(|| self.value.try_lock_for(GLANCE).map(forget).is_some());
            if is_locked {
                // SAFETY: this thread has the lock, and its guard was forgotten.
                return Ok(locked(unsafe { self.value.make_guard_unchecked() }));
            }
            // A thread of this process that has just got it has told so by now.
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
