//! What was recorded last.

use std::fmt;
use std::sync::Arc;

use super::plan::Plan;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::StepError;
use crate::gpu::bindings::Range;
use crate::gpu::buffers::BufferId;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::recorder::Input;
use crate::shared::submission::Dependency;
use crate::stages::pairs::buffer::{DATA, EXCLUDED, EXCLUSIONS};
use crate::stages::sort::KeyValueBuffers;
use crate::stages::table::{buffer, statics};

/// What was recorded last.
pub(crate) struct Recorded {
    pub plan: Plan,
    pub inputs: Vec<Input>,
    /// Where the entries lie as sorted.
    pub sorted: KeyValueBuffers,
    /// Whether pairs are written with the rest; else they stand from an earlier step.
    pub emits_pairs: bool,
    /// Where the uniform blocks of walks of the objects' table and of the static ones' lie.
    pub blocks: [Range; 2],
    /// What walks of the table read, whenever they do.
    pub table: Vec<Dependency>,
    /// What wrote the pairs: the step, or a page of it.
    pub pairs: Option<Dependency>,
    /// The step or query whose counts pages start from.
    pub counts: Dependency,
    /// What wrote the outputs.
    pub answers: Dependency,
}

impl Recorded {
    /// Refuses a table that will never be there.
    pub fn check_table(&self) -> Result<(), StepError> {
        if self.table.iter().any(Dependency::is_lost) {
            return Err(StepError::Dropped);
        }
        Ok(())
    }
}

/// Table, descriptor and pipelines of a step, for query sets.
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

/// The table of a step, for later queries.
#[derive(Clone)]
pub(crate) struct LastTable {
    pub plan: Plan,
    /// Inputs that are the table's.
    pub inputs: Vec<Input>,
    pub sorted: KeyValueBuffers,
    /// What walks of it read.
    pub dependencies: Vec<Dependency>,
    /// The counters as the step left them.
    pub counters: wgpu::Buffer,
}

/// Inputs that the table was built from or that part pairs, and the static objects' table.
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
