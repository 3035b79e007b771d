use super::{TablePlan, buffer as moving};
use crate::api::input::{Placement, Source};
use crate::api::scene::Statics;
use crate::gpu::buffers::{BufferId, buffers};
use crate::gpu::filled::filled;
use crate::gpu::passes::Binds;
use crate::gpu::recorder::Input;
use crate::stages::sort::variable::VALUES;

buffers! {
    /// Counters after the build.
    COUNTERS = "static_counters": Fixed;
    GRID = "static_grid": Fixed;
    RECORDS = "static_records": Objects;
    STARTS = "static_starts": Objects;
    VALUES = "static_values": Objects;
    WORLDS = "static_worlds": Objects;
}

/// True for a buffer of the static table's own; false for one that it shares with the moving table.
pub(crate) fn is_own(id: BufferId) -> bool {
    ![moving::OBJECTS, moving::SOURCE_OBJECTS].contains(&id)
}

/// Buffers that walks read, each by its name in the build and in a step.
pub(crate) const WALKED: [(BufferId, BufferId); 3] = [
    (moving::GRID, buffer::GRID),
    (moving::RECORDS, buffer::RECORDS),
    (moving::STARTS, buffer::STARTS),
];

/// Bindings for walks of the table. Only the uniform scheme reads values; the others bind any buffer.
pub(crate) fn binds(is_uniform: bool) -> [Binds; 4] {
    let [grid, records, starts] = WALKED.map(|(of, id)| of.is(id));
    let values = if is_uniform { buffer::VALUES } else { buffer::RECORDS };
    [grid, records, starts, VALUES.is(values)]
}

pub(crate) fn sources(
    device: &wgpu::Device,
    label: &str,
    statics: &Statics<'_>,
    plan: &TablePlan,
    objects: &wgpu::Buffer,
) -> Vec<Input> {
    let mut inputs = vec![
        Input::whole(moving::OBJECTS, objects),
        source(device, label, moving::SOURCE_OBJECTS, statics.objects),
    ];
    if plan.params.has_worlds() {
        inputs.push(source(device, label, plan.worlds(), statics.worlds));
    }
    inputs
}

/// Returns the caller's range, or an upload that is dropped when the table is built.
fn source<T: bytemuck::Pod>(device: &wgpu::Device, label: &str, id: BufferId, source: Source<'_, T>) -> Input {
    let Placement { offset, bytes, .. } = source.placement(device.limits().min_storage_buffer_offset_alignment);
    let buffer = match source {
        Source::Device(source) => source.buffer.clone(),
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
