//! The input of a step.

use crate::api::error::InputError;
use crate::api::input::{Queries, Rays, Source, check};
use crate::api::queries::{QueryMode, SelfQuery};
use crate::api::types::{Aabb, Pair};
use crate::shared::bounds::binding_limit;

/// Objects that seldom change, in a table of their own that is kept while they do not: a step with the same static
/// objects as the one before does not upload, sort or look through them.
///
/// In results they come first: static object `i` is object `i`, and moving object `i` is object `statics + i`. They
/// count as marked with [`Aabb::STATIC`], whatever their owner word says, and never pair with one another, nor with
/// moving objects of that mark, unless the descriptor's [`filters`](crate::BroadPhaseDescriptor::filters) are off: then
/// the latter do. Everything else is as if all were in one list.
///
/// They are read in the first step with a [`generation`](Self::generation), and again where that, their count or what
/// the descriptor's [`Growth`](crate::Growth) makes of their table has changed since the step before, after a step
/// without static objects, after [`trim`](crate::GpuBroadPhase::trim) and after an error of the device. Steps with
/// static objects have to be submitted in the order in which they are recorded. Where an encoder is dropped that their
/// table was to be built in, or is submitted in another order, the next step builds it anew; steps that were recorded
/// on top of it meanwhile lack it, and [`ReadBackError::NotSubmitted`](crate::ReadBackError::NotSubmitted) says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statics<'a> {
    /// The boxes. A buffer of the caller's has to hold them while they are read, not later.
    pub objects: Source<'a, Aabb>,
    /// The world of each; none with one world.
    pub worlds: Source<'a, u32>,
    /// Which state of the objects this is: any number that the state before did not have.
    pub generation: u64,
}

/// A number that only the device knows: a word of a buffer of the caller's with the usage `STORAGE`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCount<'a> {
    /// The buffer.
    pub buffer: &'a wgpu::Buffer,
    /// Which word of it, a `u32` each.
    pub word: u32,
}

/// The input of a step: what [`GpuBroadPhase::step`](crate::GpuBroadPhase::step),
/// [`BroadPhase::step_scene`](crate::BroadPhase::step_scene) and
/// [`cpu::step_scene`](crate::cpu::step_scene) answer, the last of which needs all of it on the host.
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
    /// The boxes; where there are static ones, those that move.
    pub objects: Source<'a, Aabb>,
    /// How many of [`objects`](Self::objects) take part, the first ones, where only the device knows it: particles that
    /// a pass emitted, say. The rest count as [`excluded`](crate::Counters::excluded), and the step takes as long as if
    /// all took part. A number past them is all of them.
    pub object_count: Option<DeviceCount<'a>>,
    /// The world of each object; none with one world. An object whose world does not exist is invalid.
    pub worlds: Source<'a, u32>,
    /// The static objects; none by default.
    pub statics: Statics<'a>,
    /// Pairs that are not wanted, such as those that a joint holds together; none by default. They are neither counted
    /// nor written. Objects are numbered as in results. The list may come in any order, each row with either object
    /// first, and it may be another one in each step. A row that comes twice counts once. A row that names one object
    /// twice, or an object that there is not, excludes nothing: a list of which only the device knows the length is
    /// filled up with such rows.
    ///
    /// Counts of worlds and [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps) leave these pairs out, too, and so do
    /// overlaps that are queried of the step's table later. Rays and other queries do not look at the list. A list in a
    /// buffer is bound as it lies: without a stride, and at an offset that may be bound. A step with a list copies its
    /// objects. It takes 32 bytes more per object if nothing else copies them, 24 to 48 bytes per row, and 8 to 16 more
    /// per row of a list of the host's. There is room for as many rows as the next power of two: a list of the host's
    /// that stays within it may have another length in each step, and nothing is made anew. A step without a list runs
    /// other passes, unless there is a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter). They bind for
    /// themselves the first time.
    pub excluded_pairs: Source<'a, Pair>,
    /// Words that the function of [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) reads; none by default.
    /// Without a function nothing reads them. They are copied while the step runs.
    pub pair_filter_data: Source<'a, u32>,
    /// The rays; none by default.
    pub rays: Rays<'a>,
    /// How many of the rays are cast, the first ones, where only the device knows it: those that are still alive on
    /// their paths, say. The rest meet nothing, whatever they hold; the step takes as long as if all were cast, less
    /// their walks. A number past them is all of them. With a limit rays are copied, which takes memory for all of them
    /// once more.
    pub ray_count: Option<DeviceCount<'a>>,
    /// The queries; none by default.
    pub queries: Queries<'a>,
    /// How many of [`Queries::Boxes`] or [`Queries::General`] are asked, in the same way. Objects that ask are bounded
    /// by [`object_count`](Self::object_count).
    pub query_count: Option<DeviceCount<'a>>,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
}

/// What is asked of the table of the last step: the input of [`GpuBroadPhase::query`](crate::GpuBroadPhase::query) and
/// [`BroadPhase::query`](crate::BroadPhase::query).
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryInput<'a> {
    /// The rays; none by default.
    pub rays: Rays<'a>,
    /// As in [`Scene::ray_count`].
    pub ray_count: Option<DeviceCount<'a>>,
    /// The queries; none by default.
    pub queries: Queries<'a>,
    /// As in [`Scene::query_count`].
    pub query_count: Option<DeviceCount<'a>>,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
}

impl<'a> Scene<'a> {
    /// Whether all of it lies on the host, and the host knows how many of everything there are.
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
    /// Returns the query that the objects make themselves.
    pub(crate) const fn self_query(&self) -> Option<SelfQuery> {
        match self.queries {
            Queries::Objects(query) => Some(query),
            _ => None,
        }
    }
}

/// Whether the passes can read a number of the caller's.
pub(crate) fn check_limit(
    what: &'static str,
    limit: Option<DeviceCount<'_>>,
    limits: &wgpu::Limits,
) -> Result<(), InputError> {
    let Some(DeviceCount { buffer, word }) = limit else {
        return Ok(());
    };
    // The word's place has to be told, one more.
    let count = word.saturating_add(1);
    check(what, &Source::<u32>::device(buffer, count), limits)?;
    let (needed, limit) = (4 * u64::from(count), binding_limit(limits));
    if needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}
