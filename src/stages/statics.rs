//! The table of the static objects: built where they change, kept while they do not.

use crate::api::input::{Source, Statics};
use crate::gpu::buffers::Buffers;
use crate::gpu::filled::filled;
use crate::gpu::recorder::{Bound, Input};
use crate::shared::submission::Recording;
use crate::stages::sorted::Sorted;
use crate::step::plan::Plan;

/// What walks read of the table, by the names that they have beside the moving objects' ones.
const WALKED: [(&str, &str); 3] = [("grid", GRID), ("records", RECORDS), ("starts", "static_starts")];
const VALUES: &str = "static_values";
/// The levels of the static objects.
pub(crate) const GRID: &str = "static_grid";
/// The records of the static objects.
pub(crate) const RECORDS: &str = "static_records";

/// The inputs of a step that are the table's.
pub(crate) const STATIC_INPUTS: [&str; 4] = [GRID, RECORDS, "static_starts", VALUES];

/// A table on the device. It holds what its generation says once everything recorded so far has run.
pub(crate) struct StaticTable {
    pub generation: u64,
    /// The last recording that it needs: the one that builds it, or that moved its boxes since. `None` while that is
    /// under way.
    pub recording: Option<Recording>,
    pub plan: Plan,
    pub sorted: Sorted,
    /// By the names that the same buffers have of moving objects.
    pub buffers: Buffers,
}

impl StaticTable {
    /// Whether it is that of these objects as long as they lie at the front of the objects' buffer.
    pub fn is_of(&self, generation: u64, plan: &Plan) -> bool {
        let is_lost = self.recording.as_ref().is_some_and(Recording::is_lost);
        !is_lost && self.generation == generation && self.plan.params == plan.params
    }

    /// Gives up what only the building of the table took.
    pub fn shed(&mut self) {
        let values = if self.plan.is_uniform() { self.sorted.values } else { "" };
        self.buffers.keep(&["grid", "records", "starts", "counters", values]);
    }

    /// What walks bind.
    pub fn inputs(&self) -> Vec<Input> {
        let values = self.plan.is_uniform().then_some((self.sorted.values, VALUES));
        let bound = WALKED.into_iter().chain(values);
        bound
            .map(|(of, name)| {
                let buffer = self.buffers.get(of).clone();
                let bytes = buffer.size();
                Input { name, buffer, bytes }
            })
            .collect()
    }
}

/// How walks of the table name what they bind.
pub(crate) fn names() -> [(&'static str, Bound<'static>); 4] {
    let [grid, records, starts] = WALKED.map(|(of, name)| (of, Bound::Buffer(name)));
    [grid, records, starts, ("values", Bound::Buffer(VALUES))]
}

/// What stages are called that build the table.
pub(crate) fn stage_name(stage: &'static str) -> &'static str {
    match stage {
        "prepare" => "static_prepare",
        "statistics" => "static_statistics",
        "levels" => "static_levels",
        "entries" => "static_entries",
        "sort" => "static_sort",
        "cells" => "static_cells",
        "gather" => "static_gather",
        _ => "static_table",
    }
}

/// What building the table reads: the boxes and worlds as they are given, and where the boxes go.
pub(crate) fn sources(
    device: &wgpu::Device,
    label: &str,
    statics: &Statics<'_>,
    plan: &Plan,
    objects: &wgpu::Buffer,
) -> Vec<Input> {
    let boxes = source(device, label, "given_objects", statics.objects);
    let worlds = if plan.has_worlds() {
        source(device, label, "worlds", statics.worlds)
    } else {
        // Nobody looks at them.
        Input {
            name: "worlds",
            ..boxes.clone()
        }
    };
    let objects = Input {
        name: "objects",
        buffer: objects.clone(),
        bytes: objects.size(),
    };
    vec![objects, boxes, worlds]
}

/// A buffer of the caller's, or one that is given up once the table is built.
fn source<T: bytemuck::Pod>(device: &wgpu::Device, label: &str, name: &'static str, source: Source<'_, T>) -> Input {
    let bytes = source.count() * size_of::<T>() as u64;
    let buffer = match source {
        Source::Device { buffer, .. } => buffer.clone(),
        Source::Host(elements) => {
            let usage = wgpu::BufferUsages::STORAGE;
            filled(
                device,
                &format!("{label}/{name}"),
                usage,
                bytemuck::cast_slice(elements),
            )
        }
    };
    Input { name, buffer, bytes }
}
