//! Notices dropped encoders.
//!
//! Each recording maps a small buffer on submission. No command uses it, so wgpu runs the callback in the next poll or
//! submission. With a dropped encoder or command buffer, wgpu drops the callback; this is not documented, so
//! `tests/device/dropped.rs` tests it.
//!
//! Encoders are submitted in the order of recording, so results are right unless a recording that they read was
//! dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A recording, followed by those that it reads, directly or not, unless they were submitted before.
#[derive(Clone, Debug)]
pub(crate) struct Recording(Vec<Token>);

type Token = Arc<AtomicU8>;

/// Owned by the callback of a recording.
pub(crate) struct Mark(Token);

/// Open, or submitted but not yet reported.
const RECORDED: u8 = 0;
const SUBMITTED: u8 = 1;
const DROPPED: u8 = 2;

impl Recording {
    pub fn begin() -> (Self, Mark) {
        let token = Token::new(AtomicU8::new(RECORDED));
        (Self(vec![Arc::clone(&token)]), Mark(token))
    }

    pub fn reads<'r>(&mut self, others: impl IntoIterator<Item = &'r Self>) {
        for token in others.into_iter().flat_map(|other| &other.0) {
            if state(token) != SUBMITTED && !self.0.iter().any(|known| Arc::ptr_eq(known, token)) {
                self.0.push(Arc::clone(token));
            }
        }
    }

    pub fn reading<'r>(mut self, others: impl IntoIterator<Item = &'r Self>) -> Self {
        self.reads(others);
        self
    }

    /// Returns true if its results are never written.
    pub fn is_dropped(&self) -> bool {
        self.0.iter().any(|token| state(token) == DROPPED)
    }

    /// Returns true if wgpu has reported the submission.
    pub fn is_submitted(&self) -> bool {
        self.0.iter().all(|token| state(token) == SUBMITTED)
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0[0], &other.0[0])
    }
}

impl Mark {
    pub fn submit(self) {
        self.0.store(SUBMITTED, Ordering::Release);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Has no effect after a submission.
        let _ = self
            .0
            .compare_exchange(RECORDED, DROPPED, Ordering::AcqRel, Ordering::Acquire);
    }
}

fn state(token: &Token) -> u8 {
    token.load(Ordering::Acquire)
}
