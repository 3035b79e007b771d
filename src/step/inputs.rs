use super::plan::AnswerPlan;
use crate::api::counters::word;
use crate::api::error::InputError;
use crate::api::input::{self, DeviceSource, Placement, Queries, Rays, Source};
use crate::api::scene::{DeviceCount, QueryInput, Scene, check_device_count};
use crate::gpu::buffers::{self, BufferId, Buffers};
use crate::gpu::recorder::Input;
use crate::gpu::session::Session;
use crate::stages::{queries, rays};

pub(crate) struct Placer<'p> {
    session: &'p Session,
    encoder: &'p mut wgpu::CommandEncoder,
    buffers: &'p Buffers,
    pub placed: Vec<Input>,
}

impl<'p> Placer<'p> {
    pub fn new(session: &'p Session, encoder: &'p mut wgpu::CommandEncoder, buffers: &'p Buffers) -> Self {
        Self {
            session,
            encoder,
            buffers,
            placed: Vec::new(),
        }
    }

    /// Binds the caller's buffer, or uploads host data to the broad phase's buffer `id`.
    pub fn place<T: bytemuck::Pod>(&mut self, id: BufferId, source: Source<'_, T>) {
        let device = self.session.context.device();
        let placed = match source {
            Source::Device(DeviceSource { buffer, count: 1.., .. }) => {
                let alignment = device.limits().min_storage_buffer_offset_alignment;
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
                    let (uploads, label) = (&self.session.uploads, &self.session.label);
                    uploads.upload(device, self.encoder, label, bytes, own);
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

    pub fn place_queries(&mut self, queries: &QueryInput<'_>, plan: &AnswerPlan) {
        let rays = plan.rays.filter(|rays| rays.params.count > 0);
        match (queries.rays, rays) {
            (Rays::Plain(source), Some(rays)) => self.place(rays.source(), source),
            (Rays::Swept(source), Some(rays)) => self.place(rays.source(), source),
            _ => {}
        }
        self.place_count(rays::buffer::LIMITS, queries.ray_count);
        self.place_count(queries::buffer::LIMITS, queries.query_count);
        let own = plan.queries.filter(|queries| queries.params.count > 0);
        match (queries.queries, own) {
            (Queries::Boxes(source), Some(own)) => self.place(own.source(), source),
            (Queries::General(source), Some(own)) => self.place(own.source(), source),
            // Self-queries read records instead of an input.
            _ => {}
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
    check_own_queries(&input.query, own, None)
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

/// Buffers that the caller's own take the place of.
pub(crate) fn query_sources(queries: &QueryInput<'_>, plan: &AnswerPlan) -> Vec<BufferId> {
    let rays = plan.rays.filter(|_| queries.rays.is_caller_owned());
    let own = plan.queries.filter(|_| queries.queries.is_caller_owned());
    let rays = rays.map(|rays| rays.source());
    rays.into_iter().chain(own.map(|own| own.source())).collect()
}
