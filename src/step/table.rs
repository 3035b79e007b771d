//! The tables of a broad phase: of moving and of static objects.

use std::sync::Arc;

use super::sequence::TableUniformBlocks;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::gpu::buffers::Buffers;
use crate::gpu::device_context::DeviceContext;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::recorder::Input;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::Exclusions;
use crate::layout::counters::Held;
use crate::shared::recording::Recording;
use crate::stages::shape::COUNTERS;
use crate::stages::table::statics::{WALKED, buffer as fixed};
use crate::stages::table::{TablePlan, buffer as moving};

/// Buffers of a table, and its last build.
pub(crate) struct TableEngine {
    pub buffers: Buffers,
    pub built: Option<Built>,
}

pub(crate) struct Built {
    pub plan: TablePlan,
    /// Version of static objects.
    pub generation: u64,
    /// Recording that built the table or last copied its boxes.
    pub recording: Recording,
}

impl Built {
    /// Returns true if the table is that of `plan`, and of static objects of this generation.
    pub fn is_of(&self, plan: &TablePlan, generation: u64) -> bool {
        !self.recording.is_dropped() && self.generation == generation && self.plan.params == plan.params
    }
}

impl TableEngine {
    pub fn new(label: &str) -> Self {
        Self {
            buffers: Buffers::new(label),
            built: None,
        }
    }

    /// Drops and returns buffers that only building needs.
    pub fn drop_scratch(&mut self) -> Vec<wgpu::Buffer> {
        let Some(built) = &self.built else { return Vec::new() };
        let params = &built.plan.params;
        let values = params.is_uniform().then_some(built.plan.sorted().values);
        let worlds = params.has_worlds().then_some(moving::WORLDS);
        let kept = [moving::GRID, moving::RECORDS, moving::STARTS, COUNTERS];
        let kept: Vec<_> = kept.into_iter().chain(values).chain(worlds).collect();
        self.buffers.keep(&kept)
    }

    /// Inputs of passes that read this table of static objects.
    pub fn static_inputs(&self) -> Vec<Input> {
        let Some(built) = &self.built else {
            return Vec::new();
        };
        let params = &built.plan.params;
        let values = params
            .is_uniform()
            .then_some((built.plan.sorted().values, fixed::VALUES));
        let worlds = params.has_worlds().then_some((moving::WORLDS, fixed::WORLDS));
        let bound = WALKED.into_iter().chain(values).chain(worlds);
        bound.map(|(of, id)| Input::whole(id, self.buffers.get(of))).collect()
    }

    pub fn clear(&mut self) {
        self.buffers.clear();
        self.built = None;
    }
}

/// The tables of a step, as queries and the caller's shaders bind them.
pub(crate) struct TableView {
    pub table: TablePlan,
    pub statics: Option<TablePlan>,
    pub exclusions: Option<Exclusions>,
    /// Buffers that walks bind, and the counters from which queries start.
    pub inputs: Vec<Input>,
    pub held: Held,
    /// Bytes of the tables, as planned.
    pub bytes: u64,
    pub recording: Recording,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub context: Arc<DeviceContext>,
    pub pipelines: Arc<Pipelines>,
}

impl TableView {
    pub fn write(&self, blocks: &mut Blocks) -> TableUniformBlocks {
        TableUniformBlocks::write(blocks, &self.table, self.statics.as_ref(), self.exclusions)
    }
}

impl std::fmt::Debug for TableView {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TableView").finish_non_exhaustive()
    }
}
