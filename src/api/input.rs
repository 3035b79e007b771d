//! What goes into a step: where it lies and of which form it is.

use std::marker::PhantomData;

use crate::api::error::InputError;
use crate::api::queries::{Query, SelfQuery};
use crate::api::types::{Aabb, Ray, SweptRay};
use crate::shared::bounds::{LARGEST_COUNT, binding_limit};
use crate::shared::source::{CENTER_HALF, SourceLayout, UNFILTERED};
use crate::shared::submission::Dependency;
use crate::shared::wgsl::number;

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
    recording: Option<&'a Dependency>,
    offset: u64,
    /// Bytes from each element to the next, where they are not those of an element.
    stride: Option<u32>,
    layout: BoxLayout,
    words: BoxWords,
    element: PhantomData<T>,
}

/// What the two vectors of a box in a caller's buffer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoxLayout {
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
    pub layout: Option<SourceLayout>,
}

impl<'a, T> Source<'a, T> {
    /// The first `count` elements of a buffer.
    pub const fn device(buffer: &'a wgpu::Buffer, count: u32) -> Self {
        Self::filled(buffer, count, None)
    }

    /// The first `count` elements of a buffer that a recording fills.
    pub(crate) const fn filled(buffer: &'a wgpu::Buffer, count: u32, recording: Option<&'a Dependency>) -> Self {
        let origin = Origin {
            recording,
            offset: 0,
            stride: None,
            layout: BoxLayout::MinMax,
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
    pub(crate) fn recording(&self) -> Option<&'a Dependency> {
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

    /// The elements, where they lie on the host.
    pub const fn elements(&self) -> Option<&'a [T]> {
        match self {
            Self::Host(elements) => Some(elements),
            Self::Device { .. } => None,
        }
    }

    /// The elements; none where they lie on a device. [`Scene::check_on_host`](crate::Scene) comes first.
    pub(crate) const fn on_host(&self) -> &'a [T] {
        match *self {
            Self::Host(elements) => elements,
            Self::Device { .. } => &[],
        }
    }

    /// Whether the elements lie in a buffer of the caller's that is to be bound.
    pub(crate) fn is_caller_owned(&self) -> bool {
        matches!(self, Self::Device { count: 1.., .. })
    }

    /// How many elements there are.
    pub const fn len(&self) -> usize {
        match self {
            Self::Host(elements) => elements.len(),
            Self::Device { count, .. } => *count as usize,
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) const fn count(&self) -> u64 {
        self.len() as u64
    }

    /// What is bound of the buffer, where offsets have to be multiples of `alignment`.
    pub(crate) fn placement(&self, alignment: u32) -> Placement {
        let Self::Device { count: 1.., origin, .. } = self else {
            let bytes = self.count() * size_of::<T>() as u64;
            return Placement {
                offset: 0,
                bytes,
                layout: None,
            };
        };
        let (element, stride) = (origin.element_bytes(), origin.stride_bytes());
        let bytes = (self.count() - 1) * u64::from(stride) + u64::from(element);
        let is_own_form = (origin.layout, origin.words) == Default::default();
        let before = origin.offset % u64::from(alignment);
        if before == 0 && is_own_form && stride == element {
            return Placement {
                offset: origin.offset,
                bytes,
                layout: None,
            };
        }
        let mut form = 0;
        if origin.layout == BoxLayout::CenterHalf {
            form |= CENTER_HALF;
        }
        if origin.words != BoxWords::Filters {
            form |= UNFILTERED;
        }
        Placement {
            offset: origin.offset - before,
            bytes: before + bytes,
            layout: Some(SourceLayout {
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
    /// # use gpu_broad_phase::{Aabb, BoxLayout, BoxWords, Source, wgpu};
    /// // An engine's instances: 80 bytes each, with centre and half extents as two vectors of four behind 32 others.
    /// fn boxes(instances: &wgpu::Buffer, count: u32) -> Source<'_, Aabb> {
    ///     let boxes = Source::device(instances, count).at(32).stride(80);
    ///     boxes.layout(BoxLayout::CenterHalf, BoxWords::Padding)
    /// }
    /// ```
    #[must_use]
    pub const fn layout(mut self, layout: BoxLayout, words: BoxWords) -> Self {
        if let Self::Device { ref mut origin, .. } = self {
            origin.layout = layout;
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

/// Vectors of four words that a [`Ray`] takes, and a [`SweptRay`]: as `shaders/rays/ray_walk.wgsl` says.
pub(crate) const RAY_STRIDE: u32 = number("rays/ray_walk", "RAY_STRIDE");
pub(crate) const SWEPT_STRIDE: u32 = number("rays/ray_walk", "SWEPT_STRIDE");

/// Where the rays of a step lie, and of which form they are.
///
/// A list of no rays is asked as well: its outputs are there, with no hits and offsets that are one 0. With
/// [`Rays::None`] there are no outputs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Rays<'a> {
    /// Nothing is cast.
    #[default]
    None,
    /// Lines, cast in world 0: 32 bytes each.
    Plain(Source<'a, Ray>),
    /// Boxes swept along lines, with starts and worlds: 64 bytes each.
    Swept(Source<'a, SweptRay>),
}

impl Rays<'_> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Plain(source) => source.len(),
            Self::Swept(source) => source.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_caller_owned(&self) -> bool {
        match self {
            Self::None => false,
            Self::Plain(source) => source.is_caller_owned(),
            Self::Swept(source) => source.is_caller_owned(),
        }
    }

    pub(crate) fn source_layout(&self, alignment: u32) -> Option<SourceLayout> {
        match self {
            Self::None => None,
            Self::Plain(source) => source.placement(alignment).layout,
            Self::Swept(source) => source.placement(alignment).layout,
        }
    }

    /// Vectors of four words that a ray takes.
    pub(crate) const fn stride(&self) -> u32 {
        match self {
            Self::None | Self::Plain(_) => RAY_STRIDE,
            Self::Swept(_) => SWEPT_STRIDE,
        }
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
        Self::General(Source::Host(queries))
    }
}

/// What is asked of the objects beside pairs.
///
/// A list of no queries is asked as well, and so is a self-query of no objects: outputs are there, with no
/// results and offsets that are one 0. With [`Queries::None`] there are no outputs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Queries<'a> {
    /// Nothing.
    #[default]
    None,
    /// What meets each box, in world 0: 32 bytes each. The join of two sets, with the filters of both.
    Boxes(Source<'a, Aabb>),
    /// Boxes, points and spheres with a radius and a world; 48 bytes each. A box in another world than 0 is
    /// [`Query::overlaps`] with [`in_world`](Query::in_world).
    General(Source<'a, Query>),
    /// A query by each object of the others.
    Objects(SelfQuery),
}

impl Queries<'_> {
    pub(crate) fn count(&self, objects: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Boxes(source) => source.count(),
            Self::General(source) => source.count(),
            Self::Objects(_) => objects,
        }
    }

    pub(crate) fn is_caller_owned(&self) -> bool {
        match self {
            Self::None | Self::Objects(_) => false,
            Self::Boxes(source) => source.is_caller_owned(),
            Self::General(source) => source.is_caller_owned(),
        }
    }

    pub(crate) fn source_layout(&self, alignment: u32) -> Option<SourceLayout> {
        match self {
            Self::None | Self::Objects(_) => None,
            Self::Boxes(source) => source.placement(alignment).layout,
            Self::General(source) => source.placement(alignment).layout,
        }
    }
}

impl From<SelfQuery> for Queries<'_> {
    fn from(query: SelfQuery) -> Self {
        Self::Objects(query)
    }
}

impl<'a> From<Source<'a, Aabb>> for Queries<'a> {
    fn from(source: Source<'a, Aabb>) -> Self {
        Self::Boxes(source)
    }
}

impl<'a> From<Source<'a, Query>> for Queries<'a> {
    fn from(source: Source<'a, Query>) -> Self {
        Self::General(source)
    }
}

/// Whether the passes can read a caller's buffer as it lies.
pub(crate) fn check_bound<T>(
    what: &'static str,
    source: &Source<'_, T>,
    limits: &wgpu::Limits,
) -> Result<(), InputError> {
    check(what, source, limits)?;
    let alignment = limits.min_storage_buffer_offset_alignment;
    match source.placement(alignment).layout {
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
    if bound.layout.is_some() && needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}

/// Fails with [`InputError::TooMany`] if `count` is not below 2^29; returns it as `u32`.
pub(crate) fn count(what: &'static str, count: u64) -> Result<u32, InputError> {
    count_within(what, count, LARGEST_COUNT as u32 - 1)
}

/// Fails with [`InputError::TooMany`] if `count` exceeds `limit`; returns it as `u32`.
pub(crate) fn count_within(what: &'static str, count: u64, limit: u32) -> Result<u32, InputError> {
    let fits = u32::try_from(count).ok().filter(|&count| count <= limit);
    let limit = limit.into();
    fits.ok_or(InputError::TooMany { what, count, limit })
}
