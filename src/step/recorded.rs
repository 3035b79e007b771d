use std::fmt;
use std::sync::Arc;

use super::plan::Plan;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::gpu::bindings::Range;
use crate::gpu::buffers::BufferId;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::recorder::Input;
use crate::shared::recording::Recording;
use crate::stages::pairs::buffer::{DATA, EXCLUDED, EXCLUSIONS};
use crate::stages::sort::KeyValueBuffers;
use crate::stages::table::{buffer, statics};

pub(crate) struct Recorded {
    pub plan: Plan,
    pub inputs: Vec<Input>,
    pub sorted: KeyValueBuffers,
    /// True for a step that finds pairs, false for a query.
    pub emits_pairs: bool,
    pub blocks: [Range; 2],
    pub table: Recording,
    /// Step or page that wrote the pairs.
    pub pairs: Option<Recording>,
    /// Step or query whose counts the pages use.
    pub counts: Recording,
    pub answers: Recording,
}

pub(crate) struct QuerySource {
    pub table: LastTable,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub pipelines: Arc<Pipelines>,
}

impl fmt::Debug for QuerySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QuerySource").finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(crate) struct LastTable {
    pub plan: Plan,
    pub inputs: Vec<Input>,
    pub sorted: KeyValueBuffers,
    pub recording: Recording,
    pub counters: wgpu::Buffer,
}

/// Inputs that later queries of the tables bind.
pub(crate) const OF_TABLE: [BufferId; 10] = {
    let [grid, records, starts, values] = statics::INPUTS;
    [
        buffer::OBJECTS,
        buffer::SOURCE_OBJECTS,
        buffer::WORLDS,
        grid,
        records,
        starts,
        values,
        EXCLUDED,
        DATA,
        EXCLUSIONS,
    ]
};
