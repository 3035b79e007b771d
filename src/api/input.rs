use std::marker::PhantomData;

use crate::api::error::InputError;
use crate::api::queries::{Query, SelfQuery};
use crate::api::types::{Aabb, Ray, SweptRay};
use crate::shared::bounds::{LARGEST_COUNT, binding_limit};
use crate::shared::recording::Recording;
use crate::shared::source::{CENTER_HALF, SourceLayout, UNFILTERED};
use crate::shared::wgsl::number;

/// Elements of an input, on the host or on the device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Source<'a, T> {
    /// Elements on the host. The step copies them to the device.
    Host(&'a [T]),
    /// Elements in your buffer, which needs the usage `STORAGE`.
    Device(DeviceSource<'a, T>),
}

/// Elements in a buffer: see [`Source::device`].
#[derive(Clone, Copy, Debug)]
pub struct DeviceSource<'a, T> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) count: u32,
    /// The [`ObjectSet`](crate::ObjectSet) upload that fills the buffer.
    recording: Option<&'a Recording>,
    offset: u64,
    stride: Option<u32>,
    layout: BoxLayout,
    words: BoxWords,
    element: PhantomData<T>,
}

/// Meaning of the two vectors that store a box in your buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoxLayout {
    /// Lower and upper corner, as in [`Aabb`].
    #[default]
    MinMax,
    /// Centre and half extents, converted bit for bit as by [`Aabb::from_center_half`].
    CenterHalf,
}

/// Words after each of the two vectors that store a box in your buffer. A vector is three `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoxWords {
    /// Filter words, as in [`Aabb`]: layers after the first vector, group after the second. 32 bytes.
    #[default]
    Filters,
    /// An ignored word after each vector. 32 bytes. The box is on all layers and has no group.
    Padding,
    /// No words after the vectors. 24 bytes. The box is on all layers and has no group.
    Tight,
}

/// Range of a source buffer to bind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub offset: u64,
    pub bytes: u64,
    /// Layout of the elements. `None` if passes can read the elements in place.
    pub layout: Option<SourceLayout>,
}

impl<'a, T> Source<'a, T> {
    /// Reads the first `count` elements of a buffer.
    pub const fn device(buffer: &'a wgpu::Buffer, count: u32) -> Self {
        Self::filled(buffer, count, None)
    }

    pub(crate) const fn filled(buffer: &'a wgpu::Buffer, count: u32, recording: Option<&'a Recording>) -> Self {
        Self::Device(DeviceSource {
            buffer,
            count,
            recording,
            offset: 0,
            stride: None,
            layout: BoxLayout::MinMax,
            words: BoxWords::Filters,
            element: PhantomData,
        })
    }

    /// Sets the byte offset of the first element, a multiple of 4. Ignored for host elements.
    ///
    /// Packed elements in the default layout are read in place if the offset is a multiple of the device's
    /// `min_storage_buffer_offset_alignment`. Otherwise the step copies the elements first. Excluded pairs, filter data
    /// and views cannot be copied.
    #[must_use]
    pub const fn at(mut self, offset: u64) -> Self {
        if let Self::Device(ref mut source) = self {
            source.offset = offset;
        }
        self
    }

    /// Sets the number of bytes from one element to the next, for fields of larger structures. Ignored for host
    /// elements.
    ///
    /// `bytes` must be a multiple of 4 and at least the size of an element. Default: packed elements.
    #[must_use]
    pub const fn stride(mut self, bytes: u32) -> Self {
        if let Self::Device(ref mut source) = self {
            source.stride = Some(bytes);
        }
        self
    }

    pub(crate) fn recording(&self) -> Option<&'a Recording> {
        match self {
            Self::Device(source) => source.recording,
            Self::Host(_) => None,
        }
    }

    /// Returns the buffer if the elements are on the device.
    pub const fn buffer(&self) -> Option<&'a wgpu::Buffer> {
        match self {
            Self::Device(source) => Some(source.buffer),
            Self::Host(_) => None,
        }
    }

    /// Returns the elements if they are on the host.
    pub const fn elements(&self) -> Option<&'a [T]> {
        match self {
            Self::Host(elements) => Some(elements),
            Self::Device(_) => None,
        }
    }

    /// Returns the elements on the host, else an empty slice. Call [`Scene::check_on_host`](crate::Scene) first.
    pub(crate) const fn on_host(&self) -> &'a [T] {
        match *self {
            Self::Host(elements) => elements,
            Self::Device(_) => &[],
        }
    }

    pub(crate) fn is_caller_owned(&self) -> bool {
        matches!(self, Self::Device(source) if source.count > 0)
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        match self {
            Self::Host(elements) => elements.len(),
            Self::Device(source) => source.count as usize,
        }
    }

    /// Returns true if there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) const fn count(&self) -> u64 {
        self.len() as u64
    }

    pub(crate) fn placement(&self, alignment: u32) -> Placement {
        let origin = match self {
            Self::Device(source) if source.count > 0 => source,
            _ => {
                return Placement {
                    offset: 0,
                    bytes: self.count() * size_of::<T>() as u64,
                    layout: None,
                };
            }
        };
        let (element, stride) = (origin.element_bytes(), origin.stride_bytes());
        let bytes = (self.count() - 1) * u64::from(stride) + u64::from(element);
        let is_default_layout = (origin.layout, origin.words) == Default::default();
        let before = origin.offset % u64::from(alignment);
        if before == 0 && is_default_layout && stride == element {
            return Placement {
                offset: origin.offset,
                bytes,
                layout: None,
            };
        }
        let mut flags = 0;
        if origin.layout == BoxLayout::CenterHalf {
            flags |= CENTER_HALF;
        }
        if origin.words != BoxWords::Filters {
            flags |= UNFILTERED;
        }
        Placement {
            offset: origin.offset - before,
            bytes: before + bytes,
            layout: Some(SourceLayout {
                first: before as u32 / 4,
                stride: stride / 4,
                second: if origin.words == BoxWords::Tight { 3 } else { 4 },
                flags,
            }),
        }
    }
}

impl<T> DeviceSource<'_, T> {
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
    /// Sets the layout of boxes in a buffer. Ignored for host boxes.
    ///
    /// ```
    /// # use gpu_broad_phase::{Aabb, BoxLayout, BoxWords, Source, wgpu};
    /// // 80-byte instances of an engine. After 32 other bytes come centre and half extents, four words each.
    /// fn boxes(instances: &wgpu::Buffer, count: u32) -> Source<'_, Aabb> {
    ///     let boxes = Source::device(instances, count).at(32).stride(80);
    ///     boxes.layout(BoxLayout::CenterHalf, BoxWords::Padding)
    /// }
    /// ```
    #[must_use]
    pub const fn layout(mut self, layout: BoxLayout, words: BoxWords) -> Self {
        if let Self::Device(ref mut source) = self {
            source.layout = layout;
            source.words = words;
        }
        self
    }
}

impl<T> Default for Source<'_, T> {
    fn default() -> Self {
        Self::Host(&[])
    }
}

/// Size of a [`Ray`] in vectors of four words, from `shaders/rays/ray_walk.wgsl`.
pub(crate) const RAY_STRIDE: u32 = number("rays/ray_walk", "RAY_STRIDE");
pub(crate) const SWEPT_STRIDE: u32 = number("rays/ray_walk", "SWEPT_STRIDE");

/// Rays of a step: none, plain or swept ones.
///
/// An empty list still has outputs: no hits, and one offset, 0. [`Rays::None`] has no outputs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Rays<'a> {
    /// No rays and no outputs.
    #[default]
    None,
    /// Plain rays, cast in world 0. 32 bytes each.
    Plain(Source<'a, Ray>),
    /// Boxes swept along rays, each with a start and a world. 64 bytes each.
    Swept(Source<'a, SweptRay>),
}

impl Rays<'_> {
    /// Number of rays.
    pub const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Plain(source) => source.len(),
            Self::Swept(source) => source.len(),
        }
    }

    /// Returns true if there are no rays.
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

/// Queries of a step: none, boxes, general ones, or self-queries of the objects.
///
/// An empty list, or a self-query of no objects, still has outputs: no results, and one offset, 0. [`Queries::None`]
/// has no outputs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Queries<'a> {
    /// No queries and no outputs.
    #[default]
    None,
    /// Boxes in world 0. Each finds the objects that overlap it. 32 bytes each.
    ///
    /// Use it to join two sets of boxes. The filters of both sets apply.
    Boxes(Source<'a, Aabb>),
    /// Boxes, points and spheres, each with a world. 48 bytes each.
    ///
    /// For a box in a world other than 0, use [`Query::overlaps`] with [`in_world`](Query::in_world).
    General(Source<'a, Query>),
    /// Self-query: each object finds others.
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

pub(crate) fn check<T>(what: &'static str, source: &Source<'_, T>, limits: &wgpu::Limits) -> Result<(), InputError> {
    let Source::Device(origin) = source else {
        return Ok(());
    };
    let buffer = origin.buffer;
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
    let Some(before_last) = origin.count.checked_sub(1) else {
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
    // A source without a `layout` replaces an internal buffer of the same size, which `Plan` checks.
    if bound.layout.is_some() && needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}

/// Returns `count` as `u32`. Fails with [`InputError::TooMany`] if it is 2^29 or more.
pub(crate) fn count(what: &'static str, count: u64) -> Result<u32, InputError> {
    count_within(what, count, LARGEST_COUNT as u32 - 1)
}

pub(crate) fn count_within(what: &'static str, count: u64, limit: u32) -> Result<u32, InputError> {
    let fits = u32::try_from(count).ok().filter(|&count| count <= limit);
    let limit = limit.into();
    fits.ok_or(InputError::TooMany { what, count, limit })
}
