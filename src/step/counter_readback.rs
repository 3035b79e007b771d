//! Counters and stage times, received a few frames later without waiting.

use std::sync::Arc;

use crate::api::counters::Counters;
use crate::api::result::StageTime;
use crate::gpu::staging::Pool;
use crate::shared::recording::Recording;
use crate::step::plan::Plan;

pub(crate) struct Received {
    pub recording: Recording,
    pub plan: Plan,
    pub counters: Counters,
    pub is_crowded: Option<bool>,
    pub timings: Vec<StageTime>,
}

/// Read-backs of counters. Device callbacks push to `arrived`.
#[derive(Default)]
pub(crate) struct CounterReadback {
    pub arrived: Arc<Pool<Received>>,
    /// Last recording whose counters were received.
    pub newest: Option<Recording>,
    pub counters: Option<Counters>,
    pub timings: Vec<StageTime>,
}
