//! Counters and stage times, received a few frames later without waiting.

use std::sync::Arc;

use crate::api::counters::Counters;
use crate::api::result::StageTime;
use crate::gpu::staging::Pool;
use crate::shared::submission::{Dependency, Recordings};
use crate::step::plan::Plan;

pub(crate) struct Received {
    pub number: u64,
    pub plan: Plan,
    pub counters: Counters,
    pub is_crowded: Option<bool>,
    pub timings: Vec<StageTime>,
}

/// Read-backs of counters. Device callbacks push to `arrived`.
pub(crate) struct CounterReadback {
    pub copies: Recordings,
    pub arrived: Arc<Pool<(Received, Dependency)>>,
    /// Number of the newest recording whose counters were received.
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

    pub fn clear(&mut self) {
        *self = Self {
            newest: self.newest,
            ..Self::new(self.copies.beside())
        };
    }
}
