//! The table of the static objects: built where they change, kept while they do not.

use super::{TablePlan, buffer as moving};
use crate::api::input::{Placement, Source};
use crate::api::scene::Statics;
use crate::gpu::buffers::{BufferId, Buffers, buffers, rounded};
use crate::gpu::filled::filled;
use crate::gpu::recorder::{Binds, Input};
use crate::layout::grid::Params;
use crate::shared::submission::Dependency;
use crate::stages::shape::COUNTERS;
use crate::stages::sort::KeyValueBuffers;
use crate::stages::sort::variable::VALUES;

buffers! {
    /// The levels of the static objects.
    GRID = "static_grid": Fixed;
    /// The records of the static objects.
    RECORDS = "static_records": Objects;
    /// The first entry of each cell of the static objects' table.
    STARTS = "static_starts": Objects;
    /// The sorted entries of the static objects' table.
    VALUES = "static_values": Objects;
}

/// What walks read of the table: buffers of the table itself, and what they are called beside those of the moving
/// objects.
const WALKED: [(BufferId, BufferId); 3] = [
    (moving::GRID, buffer::GRID),
    (moving::RECORDS, buffer::RECORDS),
    (moving::STARTS, buffer::STARTS),
];

/// The inputs of a step that are the table's.
pub(crate) const INPUTS: [BufferId; 4] = [buffer::GRID, buffer::RECORDS, buffer::STARTS, buffer::VALUES];

/// A table on the device. It holds what its generation says once everything recorded so far has run.
pub(crate) struct StaticTable {
    pub generation: u64,
    /// What built it, or moved its boxes since.
    pub written: Dependency,
    pub params: Params,
    pub sorted: KeyValueBuffers,
    /// By the names that the buffers of moving objects have.
    pub buffers: Buffers,
}

impl StaticTable {
    /// Whether it is that of these objects as long as they lie at the front of the objects' buffer.
    pub fn is_of(&self, generation: u64, params: &Params) -> bool {
        !self.written.is_lost() && self.generation == generation && self.params == *params
    }

    /// Gives up what only the building of the table took.
    pub fn drop_scratch(&mut self) {
        self.buffers.keep(&kept(&self.params, self.sorted.values));
    }

    /// What walks bind.
    pub fn inputs(&self) -> Vec<Input> {
        let values = self.params.is_uniform().then_some((self.sorted.values, buffer::VALUES));
        let bound = WALKED.into_iter().chain(values);
        bound.map(|(of, id)| Input::whole(id, self.buffers.get(of))).collect()
    }
}

/// Buffers of a table that are kept once it is built, of those its sorted values.
pub(crate) fn kept(params: &Params, values: BufferId) -> Vec<BufferId> {
    let values = params.is_uniform().then_some(values);
    let kept = [moving::GRID, moving::RECORDS, moving::STARTS, COUNTERS];
    kept.into_iter().chain(values).collect()
}

/// How walks of the table name what they bind. Only the uniform scheme's read values; for the others any buffer will
/// do.
pub(crate) fn binds(params: &Params) -> [Binds; 4] {
    let [grid, records, starts] = WALKED.map(|(of, id)| of.is(id));
    let values = if params.is_uniform() {
        buffer::VALUES
    } else {
        buffer::RECORDS
    };
    [grid, records, starts, VALUES.is(values)]
}

/// What building the table reads: the boxes and worlds as they are given, and where the boxes go.
pub(crate) fn sources(
    device: &wgpu::Device,
    label: &str,
    statics: &Statics<'_>,
    plan: &TablePlan,
    params: &Params,
    objects: &wgpu::Buffer,
) -> Vec<Input> {
    let boxes = source(device, label, moving::SOURCE_OBJECTS, statics.objects);
    let mut inputs = vec![Input::whole(moving::OBJECTS, objects)];
    if !params.has_worlds() {
        // Nobody looks at them.
        inputs.push(Input {
            variable: moving::WORLDS.into(),
            ..boxes.clone()
        });
    } else {
        inputs.push(source(device, label, plan.worlds(), statics.worlds));
        if plan.source_worlds.is_some() {
            let bytes = 4 * u64::from(params.object_count);
            let copied = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(&format!("{label}/{}", moving::WORLDS.name)),
                size: rounded(bytes),
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            });
            inputs.push(Input::whole(moving::WORLDS, &copied));
        }
    }
    inputs.push(boxes);
    inputs
}

/// A part of a buffer of the caller's, or a buffer that is given up once the table is built.
fn source<T: bytemuck::Pod>(device: &wgpu::Device, label: &str, id: BufferId, source: Source<'_, T>) -> Input {
    let Placement { offset, bytes, .. } = source.placement(device.limits().min_storage_buffer_offset_alignment);
    let buffer = match source {
        Source::Device { buffer, .. } => buffer.clone(),
        Source::Host(elements) => {
            let usage = wgpu::BufferUsages::STORAGE;
            filled(
                device,
                &format!("{label}/{}", id.name),
                usage,
                bytemuck::cast_slice(elements),
            )
        }
    };
    Input {
        variable: id.into(),
        buffer,
        offset,
        bytes,
    }
}
