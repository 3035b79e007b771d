//! What was recorded last.

use super::plan::Plan;
use crate::gpu::bindings::Range;
use crate::gpu::buffers::BufferId;
use crate::gpu::recorder::Input;
use crate::shared::submission::Recording;
use crate::stages::pairs::buffer::{DATA, EXCLUDED, EXCLUSIONS};
use crate::stages::sort::Side;
use crate::stages::table::{buffer, statics};

/// What was recorded last.
pub(crate) struct Recorded {
    pub plan: Plan,
    pub inputs: Vec<Input>,
    /// Where the entries lie as sorted.
    pub sorted: Side,
    /// Whether pairs are written with the rest; else they stand from an earlier step.
    pub emits_pairs: bool,
    /// Where the uniform blocks of walks of the objects' table and of the static ones' lie.
    pub blocks: [Range; 2],
    /// The step, whose table queries ask. This and the next two are `None` while they are under way.
    pub step: Option<Recording>,
    /// The step or query whose counts pages start from.
    pub counts: Option<Recording>,
    /// What wrote the outputs.
    pub outputs: Option<Recording>,
}

impl Recorded {
    /// Whether what was recorded last can be read.
    pub fn is_submitted(&self) -> bool {
        self.outputs.as_ref().is_some_and(Recording::is_submitted)
    }

    /// Whether that will never be so.
    pub fn is_lost(&self) -> bool {
        self.outputs.as_ref().is_some_and(Recording::is_lost)
    }
}

/// What a step left to be asked.
pub(crate) struct LastTable {
    pub plan: Plan,
    /// Inputs that are the table's.
    pub inputs: Vec<Input>,
    pub sorted: Side,
    pub step: Option<Recording>,
    /// The counters as the step left them.
    pub counters: wgpu::Buffer,
}

/// Inputs that the table was built from or that part pairs, and the static objects' table.
pub(crate) const OF_TABLE: [BufferId; 10] = {
    let [grid, records, starts, values] = statics::INPUTS;
    [
        buffer::OBJECTS,
        buffer::GIVEN_OBJECTS,
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
