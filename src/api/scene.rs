//! The input of a step.

use crate::api::error::InputError;
use crate::api::input::{Queries, Rays, Source, check};
use crate::api::queries::{QueryMode, SelfQuery};
use crate::api::types::{Aabb, Pair};
use crate::shared::bounds::binding_limit;

/// Objects that seldom change, with a cached table of their own.
///
/// A step does not upload, sort or search them while they stay the same.
///
/// - **Numbering**: static objects come first in results. Static object `i` is object `i`; moving object `i` is object
///   `statics + i`.
/// - **Pairs**: they count as marked with [`Aabb::STATIC`], whatever their owner word. They never pair with each other,
///   nor with moving objects of that mark unless [`filters`](crate::BroadPhaseDescriptor::filters) are off. Otherwise
///   results are those of one list.
/// - **Rebuild**: the table is rebuilt when [`generation`](Self::generation) or their number changes, when
///   [`Growth`](crate::Growth) resizes it, and after a step without static objects,
///   [`trim`](crate::GpuBroadPhase::trim), or a device error.
/// - **Submission**: submit steps with static objects in the order of recording. If the encoder that builds the table
///   is dropped or submitted in another order, the next step rebuilds it. Steps recorded in between lack it; their
///   read-backs fail with [`ReadBackError::NotSubmitted`](crate::ReadBackError::NotSubmitted).
#[derive(Clone, Copy, Debug, Default)]
pub struct Statics<'a> {
    /// The boxes. A buffer is read only while the table is rebuilt, and may change afterwards.
    pub objects: Source<'a, Aabb>,
    /// World of each object; empty with one world.
    pub worlds: Source<'a, u32>,
    /// State of the objects: change the number whenever they change.
    pub generation: u64,
}

/// A count that only the device knows: a `u32` in your buffer, which needs the usage `STORAGE`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCount<'a> {
    /// The buffer.
    pub buffer: &'a wgpu::Buffer,
    /// Index of the word in the buffer, in units of `u32`.
    pub word: u32,
}

/// Input of a step.
///
/// For [`GpuBroadPhase::step`](crate::GpuBroadPhase::step), [`BroadPhase::step_scene`](crate::BroadPhase::step_scene)
/// and [`cpu::step_scene`](crate::cpu::step_scene), which needs all of it on the host.
///
/// ```
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Ray, Scene, cpu};
///
/// let objects = [Aabb::new([0.0; 3], [1.0; 3])];
/// let rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];
/// let scene = Scene {
///     objects: objects[..].into(),
///     rays: rays[..].into(),
///     ..Scene::default()
/// };
/// let result = cpu::step_scene(&BroadPhaseDescriptor::default(), &scene)?;
/// assert_eq!(result.ray_hits[0].t, 8.0);
/// # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene<'a> {
    /// The boxes; with [`statics`](Self::statics), the moving ones.
    pub objects: Source<'a, Aabb>,
    /// Number of [`objects`](Self::objects) in use, if only the device knows it, such as emitted particles.
    ///
    /// The first ones are used; the rest count as [`excluded`](crate::Counters::excluded) but take the same time. A
    /// larger number means all.
    pub object_count: Option<DeviceCount<'a>>,
    /// World of each object; empty with one world. An object whose world does not exist is invalid.
    pub worlds: Source<'a, u32>,
    /// Static objects. Default: none.
    pub statics: Statics<'a>,
    /// Pairs to exclude, such as bodies that share a joint. Excluded pairs are never counted or written.
    ///
    /// - **Ids** are those of the results. Order does not matter, within a row or between rows; duplicates count once.
    /// - **Padding**: a row with equal ids, or with an id out of range, excludes nothing. Use it to fill a list whose
    ///   length only the device knows.
    /// - **Scope**: also applies to counts per world and to [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps), even
    ///   in later queries of the step's table. Rays and other queries ignore it.
    /// - **GPU lists** are bound directly: packed rows, at an offset that a binding may have.
    /// - **Memory**: 24 to 48 bytes per row, 8 to 16 more per row for host lists, and 32 bytes per object unless the
    ///   objects are copied anyway. Space is reserved up to the next power of two, so a host list may change length at
    ///   no cost.
    pub excluded_pairs: Source<'a, Pair>,
    /// Words that [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) reads; ignored without one. Copied while
    /// the step runs.
    pub pair_filter_data: Source<'a, u32>,
    /// Rays. Default: none.
    pub rays: Rays<'a>,
    /// Number of rays in use, if only the device knows it, such as those still alive.
    ///
    /// The first ones are cast; the rest hit nothing and save only the time of their walks. A larger number means all.
    /// Rays are copied, which takes the memory of all of them again.
    pub ray_count: Option<DeviceCount<'a>>,
    /// Queries. Default: none.
    pub queries: Queries<'a>,
    /// Number of [`Queries::Boxes`] or [`Queries::General`] in use, as [`ray_count`](Self::ray_count).
    ///
    /// Self-queries are bounded by [`object_count`](Self::object_count).
    pub query_count: Option<DeviceCount<'a>>,
    /// Results to return per query.
    pub query_mode: QueryMode,
}

/// Rays and queries for the table of the last step.
///
/// For [`GpuBroadPhase::query`](crate::GpuBroadPhase::query) and [`BroadPhase::query`](crate::BroadPhase::query).
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryInput<'a> {
    /// Rays. Default: none.
    pub rays: Rays<'a>,
    /// As in [`Scene::ray_count`].
    pub ray_count: Option<DeviceCount<'a>>,
    /// Queries. Default: none.
    pub queries: Queries<'a>,
    /// As in [`Scene::query_count`].
    pub query_count: Option<DeviceCount<'a>>,
    /// Results to return per query.
    pub query_mode: QueryMode,
}

impl<'a> Scene<'a> {
    /// Fails unless all inputs and their counts are on the host.
    pub(crate) fn check_on_host(&self) -> Result<(), InputError> {
        let parts = [
            ("number of objects", self.object_count.is_some()),
            ("number of rays", self.ray_count.is_some()),
            ("number of queries", self.query_count.is_some()),
            ("objects", self.objects.is_caller_owned()),
            ("worlds", self.worlds.is_caller_owned()),
            ("static objects", self.statics.objects.is_caller_owned()),
            ("worlds of static objects", self.statics.worlds.is_caller_owned()),
            ("excluded pairs", self.excluded_pairs.is_caller_owned()),
            ("data of the pair filter", self.pair_filter_data.is_caller_owned()),
            ("rays", self.rays.is_caller_owned()),
            ("queries", self.queries.is_caller_owned()),
        ];
        match parts.into_iter().find(|&(_, is_on_device)| is_on_device) {
            Some((what, _)) => Err(InputError::NotOnHost { what }),
            None => Ok(()),
        }
    }

    pub(crate) const fn query_input(&self) -> QueryInput<'a> {
        QueryInput {
            rays: self.rays,
            ray_count: self.ray_count,
            queries: self.queries,
            query_count: self.query_count,
            query_mode: self.query_mode,
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

/// Fails if passes cannot read the count.
pub(crate) fn check_limit(
    what: &'static str,
    limit: Option<DeviceCount<'_>>,
    limits: &wgpu::Limits,
) -> Result<(), InputError> {
    let Some(DeviceCount { buffer, word }) = limit else {
        return Ok(());
    };
    // Passes store the index plus one.
    let count = word.saturating_add(1);
    check(what, &Source::<u32>::device(buffer, count), limits)?;
    let (needed, limit) = (4 * u64::from(count), binding_limit(limits));
    if needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}
