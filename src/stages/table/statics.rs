use super::{TablePlan, buffer as moving};
use crate::api::input::{Placement, Source};
use crate::api::scene::Statics;
use crate::gpu::buffers::{BufferId, Buffers, buffers, rounded};
use crate::gpu::filled::filled;
use crate::gpu::recorder::{Binds, Input};
use crate::gpu::work_log::create_buffer;
use crate::layout::grid::Params;
use crate::shared::recording::Recording;
use crate::stages::shape::COUNTERS;
use crate::stages::sort::KeyValueBuffers;
use crate::stages::sort::variable::VALUES;

buffers! {
    GRID = "static_grid": Fixed;
    RECORDS = "static_records": Objects;
    STARTS = "static_starts": Objects;
    VALUES = "static_values": Objects;
}

/// Buffers that walks read, each by its name in the build and in a step.
const WALKED: [(BufferId, BufferId); 3] = [
    (moving::GRID, buffer::GRID),
    (moving::RECORDS, buffer::RECORDS),
    (moving::STARTS, buffer::STARTS),
];

pub(crate) const INPUTS: [BufferId; 4] = [buffer::GRID, buffer::RECORDS, buffer::STARTS, buffer::VALUES];

/// A table of static objects. Its contents match `generation` once all recorded work has run.
pub(crate) struct StaticTable {
    pub generation: u64,
    /// Recording that built the table or last copied its boxes.
    pub written: Recording,
    pub params: Params,
    pub sorted: KeyValueBuffers,
    pub buffers: Buffers,
}

impl StaticTable {
    pub fn is_of(&self, generation: u64, params: &Params) -> bool {
        !self.written.is_dropped() && self.generation == generation && self.params == *params
    }

    pub fn drop_scratch(&mut self) {
        self.buffers.keep(&kept(&self.params, self.sorted.values));
    }

    pub fn inputs(&self) -> Vec<Input> {
        let values = self.params.is_uniform().then_some((self.sorted.values, buffer::VALUES));
        let bound = WALKED.into_iter().chain(values);
        bound.map(|(of, id)| Input::whole(id, self.buffers.get(of))).collect()
    }
}

pub(crate) fn kept(params: &Params, values: BufferId) -> Vec<BufferId> {
    let values = params.is_uniform().then_some(values);
    let kept = [moving::GRID, moving::RECORDS, moving::STARTS, COUNTERS];
    kept.into_iter().chain(values).collect()
}

/// Bindings for walks of the table. Only the uniform scheme reads values; the others bind any buffer.
pub(crate) fn binds(params: &Params) -> [Binds; 4] {
    let [grid, records, starts] = WALKED.map(|(of, id)| of.is(id));
    let values = if params.is_uniform() {
        buffer::VALUES
    } else {
        buffer::RECORDS
    };
    [grid, records, starts, VALUES.is(values)]
}

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
        // Placeholder, which no pass reads without worlds.
        inputs.push(Input {
            variable: moving::WORLDS.into(),
            ..boxes.clone()
        });
    } else {
        inputs.push(source(device, label, plan.worlds(), statics.worlds));
        if plan.source_worlds.is_some() {
            let bytes = 4 * u64::from(params.object_count);
            let copied = create_buffer(
                device,
                &wgpu::BufferDescriptor {
                    label: Some(&format!("{label}/{}", moving::WORLDS.name)),
                    size: rounded(bytes),
                    usage: wgpu::BufferUsages::STORAGE,
                    mapped_at_creation: false,
                },
            );
            inputs.push(Input::whole(moving::WORLDS, &copied));
        }
    }
    inputs.push(boxes);
    inputs
}

/// Returns the caller's range, or an upload that is dropped when the table is built.
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
