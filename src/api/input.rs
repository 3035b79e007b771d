//! What goes into a step: where it lies and of which form it is.

use std::marker::PhantomData;

use crate::api::error::{InputError, NotOnHost};
use crate::api::queries::{Askers, Neighbors, Partners, Query, QueryMode};
use crate::api::scene::{RAY_STRIDE, SWEPT_STRIDE, Scene, SceneQueries, SceneRays, SceneStatics};
use crate::api::types::{Aabb, Pair, Ray, SweptRay};
use crate::shared::asked::Asked;
use crate::shared::blocks::{CENTER_HALF, GivenLayout, UNFILTERED};
use crate::shared::bounds::binding_limit;
use crate::shared::submission::Recording;

/// Where the elements of a step lie.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Source<'a, T> {
    /// On the host; copied to the device as part of the step.
    Host(&'a [T]),
    /// In a buffer of the caller's, with the usage `STORAGE`.
    Device {
        /// The buffer.
        buffer: &'a wgpu::Buffer,
        /// Elements in it.
        count: u32,
        /// Where in the buffer they lie and in which form, and what fills it.
        origin: Origin<'a, T>,
    },
}

/// Where in a buffer elements lie and in which form, and what fills it, where an [`ObjectSet`](crate::ObjectSet) does.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a, T> {
    recording: Option<&'a Recording>,
    offset: u64,
    /// Bytes from each element to the next, where they are not those of an element.
    stride: Option<u32>,
    form: BoxForm,
    words: BoxWords,
    element: PhantomData<T>,
}

/// What the two vectors of a box in a caller's buffer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoxForm {
    /// The lower and the upper corner, as in [`Aabb`].
    #[default]
    MinMax,
    /// The centre and the half extents. The box is that of [`Aabb::from_center_half`], bit for bit.
    CenterHalf,
}

/// What a box in a caller's buffer has beside its two vectors of three `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoxWords {
    /// A filter word behind each vector, as in [`Aabb`]: the layers, then the owner. 32 bytes.
    #[default]
    Filters,
    /// A word behind each vector that is not looked at. 32 bytes. The box is on all layers and without an owner.
    Padding,
    /// Nothing. 24 bytes. The box is on all layers and without an owner.
    Tight,
}

/// What is bound of a caller's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub offset: u64,
    pub bytes: u64,
    /// Where the elements lie in it, where they do not lie one behind the other as passes read them.
    pub given: Option<GivenLayout>,
}

impl<'a, T> Source<'a, T> {
    /// The first `count` elements of a buffer.
    pub const fn device(buffer: &'a wgpu::Buffer, count: u32) -> Self {
        Self::filled(buffer, count, None)
    }

    /// The first `count` elements of a buffer that a recording fills.
    pub(crate) const fn filled(buffer: &'a wgpu::Buffer, count: u32, recording: Option<&'a Recording>) -> Self {
        let origin = Origin {
            recording,
            offset: 0,
            stride: None,
            form: BoxForm::MinMax,
            words: BoxWords::Filters,
            element: PhantomData,
        };
        Self::Device { buffer, count, origin }
    }

    /// Elements that begin at a byte of the buffer, a multiple of 4. They are read in place where they lie one behind
    /// the other, in the form that passes read, and the offset is a multiple of the device's
    /// `min_storage_buffer_offset_alignment`. Otherwise a step copies them first, or reads boxes through the pass that
    /// prepares them. Of elements on the host this says nothing.
    #[must_use]
    pub const fn at(mut self, offset: u64) -> Self {
        if let Self::Device { ref mut origin, .. } = self {
            origin.offset = offset;
        }
        self
    }

    /// Elements that begin so many bytes from each other, a multiple of 4 that is no less than an element takes: fields
    /// of larger structures, say. Without it they lie one behind the other. Of elements on the host this says nothing.
    #[must_use]
    pub const fn stride(mut self, bytes: u32) -> Self {
        if let Self::Device { ref mut origin, .. } = self {
            origin.stride = Some(bytes);
        }
        self
    }

    /// What has to run before the elements are there.
    pub(crate) fn recording(&self) -> Option<&'a Recording> {
        match self {
            Self::Device { origin, .. } => origin.recording,
            Self::Host(_) => None,
        }
    }

    /// The buffer that the elements lie in, where it is one.
    pub const fn buffer(&self) -> Option<&'a wgpu::Buffer> {
        match self {
            Self::Device { buffer, .. } => Some(buffer),
            Self::Host(_) => None,
        }
    }

    /// Whether the elements lie in a buffer of the caller's that is to be bound.
    pub(crate) fn is_caller_owned(&self) -> bool {
        matches!(self, Self::Device { count: 1.., .. })
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Host(elements) => elements.len() as u64,
            Self::Device { count, .. } => u64::from(*count),
        }
    }

    /// What is bound of the buffer, where offsets have to be multiples of `alignment`.
    pub(crate) fn placement(&self, alignment: u32) -> Placement {
        let Self::Device { count: 1.., origin, .. } = self else {
            let bytes = self.count() * size_of::<T>() as u64;
            return Placement {
                offset: 0,
                bytes,
                given: None,
            };
        };
        let (element, stride) = (origin.element_bytes(), origin.stride_bytes());
        let bytes = (self.count() - 1) * u64::from(stride) + u64::from(element);
        let is_own_form = (origin.form, origin.words) == Default::default();
        let before = origin.offset % u64::from(alignment);
        if before == 0 && is_own_form && stride == element {
            return Placement {
                offset: origin.offset,
                bytes,
                given: None,
            };
        }
        let mut form = 0;
        if origin.form == BoxForm::CenterHalf {
            form |= CENTER_HALF;
        }
        if origin.words != BoxWords::Filters {
            form |= UNFILTERED;
        }
        Placement {
            offset: origin.offset - before,
            bytes: before + bytes,
            given: Some(GivenLayout {
                first: before as u32 / 4,
                stride: stride / 4,
                second: if origin.words == BoxWords::Tight { 3 } else { 4 },
                form,
            }),
        }
    }
}

impl<T> Origin<'_, T> {
    /// Bytes of an element.
    fn element_bytes(&self) -> u32 {
        match self.words {
            BoxWords::Tight => 24,
            _ => size_of::<T>() as u32,
        }
    }

    fn stride_bytes(&self) -> u32 {
        self.stride.unwrap_or_else(|| self.element_bytes())
    }
}

impl Source<'_, Aabb> {
    /// Boxes in a buffer of another form. Of boxes on the host this says nothing.
    ///
    /// ```
    /// # use gpu_broad_phase::{Aabb, BoxForm, BoxWords, Source, wgpu};
    /// // An engine's instances: 80 bytes each, with centre and half extents as two vectors of four behind 32 others.
    /// fn boxes(instances: &wgpu::Buffer, count: u32) -> Source<'_, Aabb> {
    ///     let boxes = Source::device(instances, count).at(32).stride(80);
    ///     boxes.form(BoxForm::CenterHalf, BoxWords::Padding)
    /// }
    /// ```
    #[must_use]
    pub const fn form(mut self, form: BoxForm, words: BoxWords) -> Self {
        if let Self::Device { ref mut origin, .. } = self {
            origin.form = form;
            origin.words = words;
        }
        self
    }
}

impl<T> Default for Source<'_, T> {
    fn default() -> Self {
        Self::Host(&[])
    }
}

/// Where the rays of a step lie, and of which form they are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rays<'a> {
    /// Lines, cast in world 0: 32 bytes each.
    Plain(Source<'a, Ray>),
    /// Boxes swept along lines, with starts and worlds: 64 bytes each.
    Swept(Source<'a, SweptRay>),
}

impl Rays<'_> {
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Plain(source) => source.count(),
            Self::Swept(source) => source.count(),
        }
    }

    pub(crate) fn is_caller_owned(&self) -> bool {
        match self {
            Self::Plain(source) => source.is_caller_owned(),
            Self::Swept(source) => source.is_caller_owned(),
        }
    }

    fn given(&self, alignment: u32) -> Option<GivenLayout> {
        match self {
            Self::Plain(source) => source.placement(alignment).given,
            Self::Swept(source) => source.placement(alignment).given,
        }
    }

    /// Vectors of four words that a ray takes.
    pub(crate) const fn stride(&self) -> u32 {
        match self {
            Self::Plain(_) => RAY_STRIDE,
            Self::Swept(_) => SWEPT_STRIDE,
        }
    }
}

impl Default for Rays<'_> {
    fn default() -> Self {
        Self::Plain(Source::default())
    }
}

impl<'a> From<Source<'a, Ray>> for Rays<'a> {
    fn from(source: Source<'a, Ray>) -> Self {
        Self::Plain(source)
    }
}

impl<'a> From<Source<'a, SweptRay>> for Rays<'a> {
    fn from(source: Source<'a, SweptRay>) -> Self {
        Self::Swept(source)
    }
}

impl<'a, T> From<&'a [T]> for Source<'a, T> {
    fn from(elements: &'a [T]) -> Self {
        Self::Host(elements)
    }
}

impl<'a> From<&'a [Ray]> for Rays<'a> {
    fn from(rays: &'a [Ray]) -> Self {
        Self::Plain(Source::Host(rays))
    }
}

impl<'a> From<&'a [SweptRay]> for Rays<'a> {
    fn from(rays: &'a [SweptRay]) -> Self {
        Self::Swept(Source::Host(rays))
    }
}

impl<'a> From<&'a [Aabb]> for Queries<'a> {
    fn from(boxes: &'a [Aabb]) -> Self {
        Self::Boxes(Source::Host(boxes))
    }
}

impl<'a> From<&'a [Query]> for Queries<'a> {
    fn from(queries: &'a [Query]) -> Self {
        Self::Spheres(Source::Host(queries))
    }
}

impl<'a> From<SceneRays<'a>> for Rays<'a> {
    fn from(rays: SceneRays<'a>) -> Self {
        match rays {
            SceneRays::Plain(rays) => Self::Plain(Source::Host(rays)),
            SceneRays::Swept(rays) => Self::Swept(Source::Host(rays)),
        }
    }
}

/// What is asked of the objects beside pairs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Queries<'a> {
    /// Nothing.
    #[default]
    None,
    /// What meets each box, in world 0: 32 bytes each. The join of two sets, with the filters of both.
    Boxes(Source<'a, Aabb>),
    /// What lies within a radius of each box, point or sphere: 48 bytes each.
    Spheres(Source<'a, Query>),
    /// The objects' own neighbours.
    Neighbors(Neighbors),
    /// The objects' own partners: the pairs as rows, one per object.
    Partners(Partners),
}

impl Queries<'_> {
    pub(crate) fn count(&self, objects: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Boxes(source) => source.count(),
            Self::Spheres(source) => source.count(),
            Self::Neighbors(_) | Self::Partners(_) => objects,
        }
    }

    pub(crate) fn is_caller_owned(&self) -> bool {
        match self {
            Self::None | Self::Neighbors(_) | Self::Partners(_) => false,
            Self::Boxes(source) => source.is_caller_owned(),
            Self::Spheres(source) => source.is_caller_owned(),
        }
    }

    fn given(&self, alignment: u32) -> Option<GivenLayout> {
        match self {
            Self::None | Self::Neighbors(_) | Self::Partners(_) => None,
            Self::Boxes(source) => source.placement(alignment).given,
            Self::Spheres(source) => source.placement(alignment).given,
        }
    }
}

impl From<Neighbors> for Queries<'_> {
    fn from(neighbors: Neighbors) -> Self {
        Self::Neighbors(neighbors)
    }
}

impl From<Partners> for Queries<'_> {
    fn from(partners: Partners) -> Self {
        Self::Partners(partners)
    }
}

impl<'a> From<Source<'a, Aabb>> for Queries<'a> {
    fn from(source: Source<'a, Aabb>) -> Self {
        Self::Boxes(source)
    }
}

impl<'a> From<Source<'a, Query>> for Queries<'a> {
    fn from(source: Source<'a, Query>) -> Self {
        Self::Spheres(source)
    }
}

impl<'a> From<SceneQueries<'a>> for Queries<'a> {
    fn from(queries: SceneQueries<'a>) -> Self {
        match queries {
            SceneQueries::None => Self::None,
            SceneQueries::Boxes(boxes) => Self::Boxes(Source::Host(boxes)),
            SceneQueries::Spheres(queries) => Self::Spheres(Source::Host(queries)),
            SceneQueries::Neighbors(neighbors) => Self::Neighbors(neighbors),
            SceneQueries::Partners(partners) => Self::Partners(partners),
        }
    }
}

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

impl<'a> From<SceneStatics<'a>> for Statics<'a> {
    fn from(statics: SceneStatics<'a>) -> Self {
        Self {
            objects: Source::Host(statics.objects),
            worlds: Source::Host(statics.worlds),
            generation: statics.generation,
        }
    }
}

/// A number that only the device knows: a word of a buffer of the caller's with the usage `STORAGE`.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCount<'a> {
    /// The buffer.
    pub buffer: &'a wgpu::Buffer,
    /// Which word of it, a `u32` each.
    pub word: u32,
}

/// The input of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepInput<'a> {
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
    /// Counts of worlds and [`Partners`] leave these pairs out, too, and so do partners that are asked of the step's
    /// table later. Rays and other queries do not look at the list. A list in a buffer is bound as it lies: without a
    /// stride, and at an offset that may be bound. A step with a list copies its objects. It takes 32 bytes more per
    /// object if nothing else copies them, 24 to 48 bytes per row, and 8 to 16 more per row of a list of the host's.
    /// There is room for as many rows as the next power of two: a list of the host's that stays within it may have
    /// another length in each step, and nothing is made anew.
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
    /// How many of [`Queries::Boxes`] or [`Queries::Spheres`] are asked, in the same way. Objects that ask are bounded
    /// by [`object_count`](Self::object_count).
    pub query_count: Option<DeviceCount<'a>>,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
}

/// What is asked of the table of the last step: the input of [`GpuBroadPhase::query`](crate::GpuBroadPhase::query).
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryInput<'a> {
    /// The rays; none by default.
    pub rays: Rays<'a>,
    /// As in [`StepInput::ray_count`].
    pub ray_count: Option<DeviceCount<'a>>,
    /// The queries; none by default.
    pub queries: Queries<'a>,
    /// As in [`StepInput::query_count`].
    pub query_count: Option<DeviceCount<'a>>,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
}

impl<'a> StepInput<'a> {
    pub(crate) const fn asked(&self) -> QueryInput<'a> {
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
    /// What the sizes of a step with so many objects depend on, where offsets of bindings have to be multiples of
    /// `alignment`.
    pub(crate) fn numbers(&self, objects: u64, alignment: u32) -> Asked {
        Asked {
            rays: self.rays.count(),
            ray_stride: self.rays.stride(),
            queries: self.queries.count(objects),
            wide_queries: matches!(self.queries, Queries::Spheres(_)),
            askers: match self.queries {
                Queries::Neighbors(neighbors) => Some(Askers::Neighbors(neighbors)),
                Queries::Partners(partners) => Some(Askers::Partners(partners)),
                _ => None,
            },
            query_mode: self.query_mode,
            ray_limit: self.ray_count.map(|limit| limit.word),
            query_limit: self.query_count.map(|limit| limit.word),
            ray_given: self.rays.given(alignment),
            query_given: self.queries.given(alignment),
        }
    }
}

impl<'a> From<&Scene<'a>> for StepInput<'a> {
    fn from(scene: &Scene<'a>) -> Self {
        Self {
            objects: Source::Host(scene.objects),
            object_count: None,
            worlds: Source::Host(scene.worlds),
            statics: scene.statics.into(),
            excluded_pairs: Source::Host(scene.excluded_pairs),
            pair_filter_data: Source::Host(scene.pair_filter_data),
            rays: scene.rays.into(),
            ray_count: None,
            queries: scene.queries.into(),
            query_count: None,
            query_mode: scene.query_mode,
        }
    }
}

impl<'a, T> Source<'a, T> {
    fn on_host(&self, what: &'static str) -> Result<&'a [T], NotOnHost> {
        match *self {
            Self::Host(elements) => Ok(elements),
            Self::Device { count: 0, .. } => Ok(&[]),
            Self::Device { .. } => Err(NotOnHost { what }),
        }
    }
}

impl<'a> TryFrom<&StepInput<'a>> for Scene<'a> {
    type Error = NotOnHost;

    /// The scene of an input, where all of it lies on the host.
    fn try_from(input: &StepInput<'a>) -> Result<Self, NotOnHost> {
        let StepInput {
            objects,
            object_count,
            worlds,
            statics,
            excluded_pairs,
            pair_filter_data,
            rays,
            ray_count,
            queries,
            query_count,
            query_mode,
        } = *input;
        for (what, limit) in [
            ("numbers of objects", object_count),
            ("numbers of rays", ray_count),
            ("numbers of queries", query_count),
        ] {
            if limit.is_some() {
                return Err(NotOnHost { what });
            }
        }
        Ok(Self {
            objects: objects.on_host("objects")?,
            worlds: worlds.on_host("worlds")?,
            statics: SceneStatics {
                objects: statics.objects.on_host("static objects")?,
                worlds: statics.worlds.on_host("worlds of static objects")?,
                generation: statics.generation,
            },
            excluded_pairs: excluded_pairs.on_host("excluded pairs")?,
            pair_filter_data: pair_filter_data.on_host("data of the pair filter")?,
            rays: match rays {
                Rays::Plain(rays) => SceneRays::Plain(rays.on_host("rays")?),
                Rays::Swept(rays) => SceneRays::Swept(rays.on_host("rays")?),
            },
            queries: match queries {
                Queries::None => SceneQueries::None,
                Queries::Boxes(boxes) => SceneQueries::Boxes(boxes.on_host("queries")?),
                Queries::Spheres(queries) => SceneQueries::Spheres(queries.on_host("queries")?),
                Queries::Neighbors(neighbors) => SceneQueries::Neighbors(neighbors),
                Queries::Partners(partners) => SceneQueries::Partners(partners),
            },
            query_mode,
        })
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

/// Whether the passes can read a caller's buffer as it lies.
pub(crate) fn check_bound<T>(
    what: &'static str,
    source: &Source<'_, T>,
    limits: &wgpu::Limits,
) -> Result<(), InputError> {
    check(what, source, limits)?;
    let alignment = limits.min_storage_buffer_offset_alignment;
    match source.placement(alignment).given {
        None => Ok(()),
        Some(_) => Err(InputError::NotInPlace { what, alignment }),
    }
}

/// Whether the passes can read a caller's buffer.
pub(crate) fn check<T>(what: &'static str, source: &Source<'_, T>, limits: &wgpu::Limits) -> Result<(), InputError> {
    let Source::Device { buffer, count, origin } = source else {
        return Ok(());
    };
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(InputError::Usage { what });
    }
    let (offset, stride, element) = (origin.offset, origin.stride_bytes(), origin.element_bytes());
    for (of, bytes) in [("offset", offset), ("stride", stride.into())] {
        if bytes % 4 != 0 {
            return Err(InputError::Misaligned { what, of, bytes });
        }
    }
    if stride < element {
        return Err(InputError::Stride {
            what,
            stride,
            needed: element,
        });
    }
    let available = buffer.size();
    if offset > available {
        return Err(InputError::Offset {
            what,
            offset,
            available,
        });
    }
    let Some(before_last) = count.checked_sub(1) else {
        return Ok(());
    };
    let needed = offset + u64::from(before_last) * u64::from(stride) + u64::from(element);
    if available < needed {
        return Err(InputError::BufferTooSmall {
            what,
            needed,
            available,
        });
    }
    let bound = source.placement(limits.min_storage_buffer_offset_alignment);
    let (needed, limit) = (bound.bytes, binding_limit(limits));
    // What lies as passes read it is as large as the own buffer in its place, which the plan looks at.
    if bound.given.is_some() && needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}
