use super::plan::Plan;
use crate::api::counters::word;
use crate::api::error::InputError;
use crate::api::input::{self, Placement, Queries, Rays, Source};
use crate::api::scene::{DeviceCount, QueryInput, Scene, check_device_count};
use crate::gpu::buffers::{self, BufferId, Buffers};
use crate::gpu::recorder::Input;
use crate::gpu::staging::Staging;
use crate::stages::{queries, rays};

pub(crate) struct Placer<'p> {
    pub device: &'p wgpu::Device,
    pub encoder: &'p mut wgpu::CommandEncoder,
    pub uploads: &'p Staging,
    pub buffers: &'p Buffers,
    pub label: &'p str,
    pub placed: Vec<Input>,
}

impl Placer<'_> {
    /// Binds the caller's buffer, or uploads host data to the broad phase's buffer `id`.
    pub fn place<T: bytemuck::Pod>(&mut self, id: BufferId, source: Source<'_, T>) {
        let placed = match source {
            Source::Device { buffer, count: 1.., .. } => {
                let alignment = self.device.limits().min_storage_buffer_offset_alignment;
                let Placement { offset, bytes, .. } = source.placement(alignment);
                Input {
                    variable: id.into(),
                    buffer: buffer.clone(),
                    offset,
                    bytes,
                }
            }
            source => {
                let own = self.buffers.get(id);
                if let Source::Host(elements) = source {
                    let bytes = bytemuck::cast_slice(elements);
                    self.uploads.upload(self.device, self.encoder, self.label, bytes, own);
                }
                // Binds the whole buffer, so bind groups stay valid if the input length changes.
                Input::whole(id, own)
            }
        };
        self.placed.push(placed);
    }

    pub fn place_count(&mut self, id: BufferId, limit: Option<DeviceCount<'_>>) {
        self.placed.extend(limit.map(|DeviceCount { buffer, word }| Input {
            variable: id.into(),
            buffer: buffer.clone(),
            offset: 0,
            bytes: 4 * (u64::from(word) + 1),
        }));
    }

    pub fn place_queries(&mut self, queries: &QueryInput<'_>, plan: &Plan) {
        let params = &plan.shape.params;
        if params.ray_count > 0 {
            match queries.rays {
                Rays::None => {}
                Rays::Plain(source) => self.place(plan.rays.source(), source),
                Rays::Swept(source) => self.place(plan.rays.source(), source),
            }
        }
        self.place_count(rays::buffer::LIMITS, queries.ray_count);
        self.place_count(queries::buffer::LIMITS, queries.query_count);
        match queries.queries {
            _ if params.query_count == 0 => {}
            Queries::None => {}
            Queries::Boxes(source) => self.place(plan.queries.source(), source),
            Queries::General(source) => self.place(plan.queries.source(), source),
            // Self-queries read records instead of an input.
            Queries::Objects(_) => {}
        }
    }
}

pub(crate) fn check_queries(queries: &QueryInput<'_>, limits: &wgpu::Limits) -> Result<(), InputError> {
    check_device_count("the number of rays", queries.ray_count, limits)?;
    check_device_count("the number of queries", queries.query_count, limits)?;
    match &queries.rays {
        Rays::None => {}
        Rays::Plain(source) => input::check("rays", source, limits)?,
        Rays::Swept(source) => input::check("rays", source, limits)?,
    }
    match &queries.queries {
        Queries::None | Queries::Objects(_) => Ok(()),
        Queries::Boxes(source) => input::check("queries", source, limits),
        Queries::General(source) => input::check("queries", source, limits),
    }
}

pub(crate) fn check_own(input: &Scene<'_>, own: &[&Buffers]) -> Result<(), InputError> {
    let statics = &input.statics;
    let sources = [
        ("objects", input.objects.buffer()),
        ("worlds", input.worlds.buffer()),
        ("the number of objects", input.object_count.map(|count| count.buffer)),
        ("static objects", statics.objects.buffer()),
        ("worlds of static objects", statics.worlds.buffer()),
        ("excluded pairs", input.excluded_pairs.buffer()),
        ("data of the pair filter", input.pair_filter_data.buffer()),
    ];
    buffers::check_own(sources, own)?;
    check_own_queries(&input.query_input(), own, None)
}

/// Fails if results overwrite rays, queries or their counts.
pub(crate) fn check_own_queries(
    queries: &QueryInput<'_>,
    own: &[&Buffers],
    counters: Option<&wgpu::Buffer>,
) -> Result<(), InputError> {
    let rays = match queries.rays {
        Rays::None => None,
        Rays::Plain(source) => source.buffer(),
        Rays::Swept(source) => source.buffer(),
    };
    let boxes = match queries.queries {
        Queries::None | Queries::Objects(_) => None,
        Queries::Boxes(source) => source.buffer(),
        Queries::General(source) => source.buffer(),
    };
    let sources = [
        ("rays", rays),
        ("queries", boxes),
        ("the number of rays", written(queries.ray_count, counters)),
        ("the number of queries", written(queries.query_count, counters)),
    ];
    buffers::check_own(sources, own)
}

/// Returns the buffer of a count, or `None` for the pair count in `counters`, which queries do not change.
fn written<'b>(count: Option<DeviceCount<'b>>, counters: Option<&wgpu::Buffer>) -> Option<&'b wgpu::Buffer> {
    let DeviceCount { buffer, word } = count?;
    let is_left = word as usize == word::PAIRS_NEEDED && counters == Some(buffer);
    (!is_left).then_some(buffer)
}

pub(crate) fn caller_owned(queries: &QueryInput<'_>, plan: &Plan) -> Vec<BufferId> {
    let rays = queries.rays.is_caller_owned().then_some(plan.rays.source());
    let queries = queries.queries.is_caller_owned().then_some(plan.queries.source());
    rays.into_iter().chain(queries).collect()
}
