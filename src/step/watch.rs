//! What steps counted and how long they took, told a few frames later and without a wait.

use std::sync::Arc;

use crate::api::counters::Counters;
use crate::gpu::staging::Shelf;
use crate::shared::submission::{Dependency, Recordings};
use crate::step::plan::Plan;

/// What a step counted and how long it took.
pub(crate) struct Arrived {
    pub counters: Counters,
    /// Whether its scene was crowded.
    pub is_crowded: Option<bool>,
    pub plan: Plan,
    /// The copying, which needs the step.
    pub recording: Dependency,
    /// Those that have timestamps.
    pub stages: Vec<&'static str>,
    pub ticks: Vec<u64>,
}

/// What has arrived on the host, in the order of its arrival.
pub(crate) struct Watch {
    pub recordings: Recordings,
    pub arrived: Arc<Shelf<Arrived>>,
    pub latest: Option<Counters>,
    pub latest_stages: Vec<&'static str>,
    pub latest_ticks: Vec<u64>,
}

impl Watch {
    pub fn new(recordings: Recordings) -> Self {
        Self {
            recordings,
            arrived: Arc::default(),
            latest: None,
            latest_stages: Vec::new(),
            latest_ticks: Vec::new(),
        }
    }

    /// Forgets what has arrived and what is under way.
    pub fn clear(&mut self) {
        *self = Self::new(self.recordings.beside());
    }
}
