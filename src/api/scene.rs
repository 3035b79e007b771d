use crate::api::error::InputError;
use crate::api::input::{Queries, Rays, Source, check};
use crate::api::queries::{QueryMode, SelfQuery};
use crate::api::types::{Aabb, Pair};
use crate::shared::bounds::binding_limit;

/// Objects that seldom change, in a cached table of their own.
///
/// While these objects stay the same, a step does not upload or sort them, and does not test them against each other.
///
/// - **Indices** in results: static object `i` has index `i`, moving object `i` has index `n + i`, where `n` is the
///   number of static objects.
/// - **Pairs**: static objects never pair with each other. They always have the flag [`Aabb::STATIC`], whatever their
///   group word. Moving objects with this flag do not pair with them either, unless
///   [`filters`](crate::BroadPhaseDescriptor::filters) are off. Otherwise results are as if all objects were in one
///   list.
/// - **Rebuild**: the table is rebuilt when [`generation`](Self::generation) or their number changes, when
///   [`Growth`](crate::Growth) resizes it, and after a step without static objects,
///   [`trim`](crate::GpuBroadPhase::trim), or a device error.
/// - **Dropped encoders**: if the encoder that builds the table is dropped, the next step rebuilds it. Until then,
///   read-backs fail with [`ReadBackError::NotSubmitted`](crate::ReadBackError::NotSubmitted).
#[derive(Clone, Copy, Debug, Default)]
pub struct Statics<'a> {
    /// Boxes of the objects. A buffer is read only while the table is rebuilt, and may change afterwards.
    pub objects: Source<'a, Aabb>,
    /// World of each object. Empty with one world.
    pub worlds: Source<'a, u32>,
    /// Version of the objects: pass another number whenever they change.
    pub generation: u64,
}

/// A count that only the device knows: a `u32` in your buffer, which needs the usage `STORAGE`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCount<'a> {
    /// The buffer.
    pub buffer: &'a wgpu::Buffer,
    /// Index of the count in the buffer, in units of `u32`.
    pub word: u32,
}

/// Input of a step.
///
/// Passed to [`GpuBroadPhase::step`](crate::GpuBroadPhase::step),
/// [`BroadPhase::step_scene`](crate::BroadPhase::step_scene) and [`cpu::step_scene`](crate::cpu::step_scene), which
/// needs all of it on the host.
///
/// ```
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, QueryInput, Ray, Scene, cpu};
///
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];
/// let scene = Scene {
///     objects: objects[..].into(),
///     query: QueryInput { rays: rays[..].into(), ..QueryInput::default() },
///     ..Scene::default()
/// };
/// let result = cpu::step_scene(&BroadPhaseDescriptor::default(), &scene)?;
/// assert_eq!(result.ray_hits[0].t, 8.0);
/// # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene<'a> {
    /// Boxes of the objects, without [`statics`](Self::statics).
    pub objects: Source<'a, Aabb>,
    /// Number of [`objects`](Self::objects) to use, if only the device knows it, such as a number of particles.
    ///
    /// Objects past this number count as [`excluded`](crate::Counters::excluded), but take as much time as others. If
    /// the number exceeds the source, all objects are used.
    pub object_count: Option<DeviceCount<'a>>,
    /// World of each object, or [`ALL_WORLDS`](crate::ALL_WORLDS). Empty with one world. An object whose world does not
    /// exist is invalid.
    pub worlds: Source<'a, u32>,
    /// Static objects. Default: none.
    pub statics: Statics<'a>,
    /// Pairs to exclude, such as two bodies that share a joint. Excluded pairs are never counted or written.
    ///
    /// - **Indices** are those of results. Order does not matter, within a row or between rows; duplicates count once.
    /// - **Padding**: a row with two equal indices, or with an index out of range, excludes nothing. Use such rows to
    ///   fill a list whose length only the device knows.
    /// - **Scope**: pairs, their counts per world and [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps), even in
    ///   later queries of the step's table. Rays and other queries ignore it.
    /// - **Lists in your buffer** are bound directly: rows must be packed, at an offset that the device can bind.
    /// - **Memory**: 24 to 48 bytes per row, 8 to 16 more per row for host lists, and 32 bytes per object unless the
    ///   step copies the objects anyway. Space is reserved up to the next power of two, so a host list may change its
    ///   length in that space at no cost.
    pub excluded_pairs: Source<'a, Pair>,
    /// Words that the [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) reads. The step copies them. Ignored
    /// without a filter.
    pub pair_filter_data: Source<'a, u32>,
    /// Rays and queries. Default: none.
    pub query: QueryInput<'a>,
}

/// Rays and queries of a step, or for the table of the last step.
///
/// Passed to [`GpuBroadPhase::query`](crate::GpuBroadPhase::query), [`QuerySet::record`](crate::QuerySet::record) and
/// [`BroadPhase::query`](crate::BroadPhase::query), or as [`Scene::query`].
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryInput<'a> {
    /// Rays. Default: none.
    pub rays: Rays<'a>,
    /// Number of rays to cast, if only the device knows it, such as those still alive.
    ///
    /// Rays past this number hit nothing, which saves only their search time. If the number exceeds the source, all
    /// rays are cast. The step copies the rays, which doubles their memory.
    pub ray_count: Option<DeviceCount<'a>>,
    /// Queries. Default: none.
    pub queries: Queries<'a>,
    /// Number of [`Queries::Boxes`] or [`Queries::General`] to run, if only the device knows it: as
    /// [`ray_count`](Self::ray_count).
    ///
    /// Self-queries run for the objects of [`Scene::object_count`].
    pub query_count: Option<DeviceCount<'a>>,
    /// Results to return per query.
    pub query_mode: QueryMode,
}

impl Scene<'_> {
    /// Fails unless all inputs and their counts are on the host.
    pub(crate) fn check_on_host(&self) -> Result<(), InputError> {
        let parts = [
            ("number of objects", self.object_count.is_some()),
            ("number of rays", self.query.ray_count.is_some()),
            ("number of queries", self.query.query_count.is_some()),
            ("objects", self.objects.is_caller_owned()),
            ("worlds", self.worlds.is_caller_owned()),
            ("static objects", self.statics.objects.is_caller_owned()),
            ("worlds of static objects", self.statics.worlds.is_caller_owned()),
            ("excluded pairs", self.excluded_pairs.is_caller_owned()),
            ("data of the pair filter", self.pair_filter_data.is_caller_owned()),
            ("rays", self.query.rays.is_caller_owned()),
            ("queries", self.query.queries.is_caller_owned()),
        ];
        match parts.into_iter().find(|&(_, is_on_device)| is_on_device) {
            Some((what, _)) => Err(InputError::NotOnHost { what }),
            None => Ok(()),
        }
    }
}

impl QueryInput<'_> {
    pub(crate) const fn self_query(&self) -> Option<SelfQuery> {
        match self.queries {
            Queries::Objects(query) => Some(query),
            _ => None,
        }
    }
}

/// Fails if passes cannot bind the buffer up to the count.
pub(crate) fn check_device_count(
    what: &'static str,
    limit: Option<DeviceCount<'_>>,
    limits: &wgpu::Limits,
) -> Result<(), InputError> {
    let Some(DeviceCount { buffer, word }) = limit else {
        return Ok(());
    };
    // Number of words up to and including the count.
    let count = word.saturating_add(1);
    check(what, &Source::<u32>::device(buffer, count), limits)?;
    let (needed, limit) = (4 * u64::from(count), binding_limit(limits));
    if needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}
