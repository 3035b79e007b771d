//! Counters and stage times of steps, received on the host a few frames later and without a wait.

use std::sync::Arc;

use crate::api::counters::Counters;
use crate::api::result::StageTime;
use crate::gpu::staging::Pool;
use crate::shared::submission::{Dependency, Recordings};
use crate::step::plan::Plan;

/// Counters of a recording, as a read-back brings them.
pub(crate) struct Received {
    /// Number of the recording.
    pub number: u64,
    pub plan: Plan,
    pub counters: Counters,
    /// True if its scene was crowded.
    pub is_crowded: Option<bool>,
    pub timings: Vec<StageTime>,
}

/// The counters that read-backs bring. A device's callback puts them into `arrived`.
pub(crate) struct CounterReadback {
    /// The copies to the host.
    pub copies: Recordings,
    /// With the copy that each came by.
    pub arrived: Arc<Pool<(Received, Dependency)>>,
    /// Number of the newest recording that was received.
    pub newest: u64,
    pub counters: Option<Counters>,
    pub timings: Vec<StageTime>,
}

impl CounterReadback {
    pub fn new(copies: Recordings) -> Self {
        Self {
            copies,
            arrived: Arc::default(),
            newest: 0,
            counters: None,
            timings: Vec::new(),
        }
    }

    /// Forgets what was received and what is under way.
    pub fn clear(&mut self) {
        *self = Self {
            newest: self.newest,
            ..Self::new(self.copies.beside())
        };
    }
}
