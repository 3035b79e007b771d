//! The values that cross the host boundary, laid out as the shaders read them.

use bytemuck::{Pod, Zeroable};

use crate::shared::outward::bound_around;
use crate::shared::wgsl::number;

/// The object or hit index that stands for "none".
pub const NONE: u32 = u32::MAX;

/// Set in the index of a static object where it has to name it for good. Indices are below 2^29.
pub(crate) const STATIC_SLOT: u32 = number("events/event_rows", "STATIC_SLOT");

/// An axis-aligned bounding box with its filter words: 32 bytes, two 16-byte loads.
///
/// Buffer layout (little endian): `min.x, min.y, min.z` as `f32`, `layers` as `u32`, `max.x, max.y, max.z` as `f32`,
/// `owner` as `u32`. Bind it in WGSL as `array<vec4<u32>>`, two elements an object.
///
/// Vectors of glam, mint, nalgebra and the like convert to and from the arrays: `Aabb::new(low.into(), high.into())`,
/// `Vec3::from(bounds.min)`.
///
/// The box is closed: boxes that only touch overlap. A box with a NaN or with `min > max` on some axis takes no part in
/// anything and is counted as [`Counters::invalid`](crate::Counters::invalid). Infinite bounds are allowed. A box of
/// zero size is a point.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Aabb {
    /// Lower corner.
    pub min: [f32; 3],
    /// Low 16 bits: the layers that the object is a member of. High 16 bits: the layers that it meets.
    /// Two objects pair when each one's membership meets the other's mask.
    pub layers: u32,
    /// Upper corner.
    pub max: [f32; 3],
    /// Low 30 bits: objects of one nonzero owner never pair. Bit 30 ([`Aabb::STATIC`]): two static objects never pair;
    /// those of [`Statics`](crate::Statics) count as marked. Bit 31 ([`Aabb::EXCLUDED`]): the object takes no part in
    /// anything.
    pub owner: u32,
}

impl Aabb {
    /// Member of every layer, meets every layer: the default of [`Aabb::layers`].
    pub const ALL_LAYERS: u32 = u32::MAX;
    /// Owner-word flag: the object takes no part.
    pub const EXCLUDED: u32 = 1 << 31;
    /// Owner-word flag: the object never pairs with another static one.
    pub const STATIC: u32 = 1 << 30;
    /// The bits of the owner word that name the owner.
    pub const OWNER_MASK: u32 = Self::STATIC - 1;

    /// A box on all layers and without an owner.
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self {
            min,
            layers: Self::ALL_LAYERS,
            max,
            owner: 0,
        }
    }

    /// The smallest box of floats around all points from `center - half` to `center + half`, on all layers and without
    /// an owner. Its bounds are those of exact arithmetic, rounded outward where no float is as exact. A bound past the
    /// largest float is infinite, and so are both bounds of an axis with an infinite half extent. Where a half extent
    /// is negative or either vector has a NaN, the box has NaNs and takes no part in anything.
    pub const fn from_center_half(center: [f32; 3], half: [f32; 3]) -> Self {
        const fn bound(center: f32, half: f32, is_upper: bool) -> f32 {
            f32::from_bits(bound_around(center.to_bits(), half.to_bits(), is_upper))
        }
        let ([x, y, z], [half_x, half_y, half_z]) = (center, half);
        Self::new(
            [
                bound(x, half_x, false),
                bound(y, half_y, false),
                bound(z, half_z, false),
            ],
            [bound(x, half_x, true), bound(y, half_y, true), bound(z, half_z, true)],
        )
    }

    /// A box in two dimensions, on all layers and without an owner.
    pub const fn new_2d(min: [f32; 2], max: [f32; 2]) -> Self {
        Self::new([min[0], min[1], 0.0], [max[0], max[1], 0.0])
    }

    /// A box of zero size.
    pub const fn point(position: [f32; 3]) -> Self {
        Self::new(position, position)
    }

    /// Makes the box a member of the layers in `membership` that meets the layers in `mask`.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }

    /// Gives the box another owner word (owner number and flags).
    #[must_use]
    pub const fn with_owner(mut self, owner: u32) -> Self {
        self.owner = owner;
        self
    }

    /// Returns the box with the flag [`Aabb::STATIC`]: it never pairs with another static one.
    #[must_use]
    pub const fn into_static(mut self) -> Self {
        self.owner |= Self::STATIC;
        self
    }

    /// Returns true if steps ignore the box: a bound is NaN, `min > max` on an axis of `dimensions`, or
    /// [`Aabb::EXCLUDED`] is set.
    pub fn is_ignored(&self, dimensions: Dimensions) -> bool {
        let axes = dimensions.count() as usize;
        // False with a NaN.
        let is_valid = (0..axes).all(|axis| self.min[axis] <= self.max[axis]);
        !is_valid || self.owner & Self::EXCLUDED != 0
    }
}

/// Number of axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Dimensions {
    /// x and y. The third component of every box, ray and query is ignored, whatever it holds.
    Two,
    /// x, y and z.
    #[default]
    Three,
}

impl Dimensions {
    /// Returns 2 or 3.
    pub const fn count(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// A ray: the points `origin + t * direction` for `0 <= t <= t_max`. 32 bytes, two 16-byte loads.
///
/// Buffer layout: `origin.x, origin.y, origin.z, t_max, direction.x, direction.y, direction.z` as `f32`, `layers` as
/// `u32`.
///
/// `t` is in units of `direction`, which need not have length one. Direction components that are zero or denormal count
/// as zero; a zero direction asks for the objects at the origin. Origins and bounds of boxes count as they are.
///
/// `t_max` may be infinite. A positive denormal one counts as zero. A ray with a negative one, a negative denormal too,
/// hits nothing. No hit of exact arithmetic is missed, so far ends are raised: a box may be hit up to
/// `t_max * (1 + 2^-21)`. A box whose `t` is past [`f32::MAX`] is missed, whatever `t_max` is. A ray with a NaN,
/// an infinite origin or direction, or a direction component beyond 2^126 is *invalid*: it hits nothing and is counted
/// in [`Counters::rays_invalid`](crate::Counters::rays_invalid). In two dimensions z is taken as 0, whatever it holds.
/// A ray of this form is cast in world 0; [`SweptRay`] has more to say.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// Where the ray starts.
    pub origin: [f32; 3],
    /// The largest parameter that still counts.
    pub t_max: f32,
    /// Where the ray goes.
    pub direction: [f32; 3],
    /// As [`Aabb::layers`]: the ray hits objects of which each one's membership meets the other's mask, where
    /// [`filters`](crate::BroadPhaseDescriptor::filters) are on. Owners and [`Aabb::STATIC`] do not matter to rays.
    pub layers: u32,
}

impl Ray {
    /// On all layers, the ray from `origin` along `direction` up to the parameter `t_max`.
    pub const fn new(origin: [f32; 3], direction: [f32; 3], t_max: f32) -> Self {
        Self {
            origin,
            t_max,
            direction,
            layers: Aabb::ALL_LAYERS,
        }
    }

    /// A ray in two dimensions: z is 0.
    pub const fn new_2d(origin: [f32; 2], direction: [f32; 2], t_max: f32) -> Self {
        Self::new([origin[0], origin[1], 0.0], [direction[0], direction[1], 0.0], t_max)
    }

    /// Makes the ray a member of the layers in `membership` that hits the layers in `mask`.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }
}

/// A ray with a width, a start and a world: the box of some half extents whose centre moves along a ray. 64 bytes, four
/// 16-byte loads.
///
/// Buffer layout: the 32 bytes of [`Ray`], `half_extents.x, half_extents.y, half_extents.z, t_min` as `f32`, `world` as
/// `u32`, three unused words.
///
/// It hits an object where the ray meets the object's box grown by the half extents, each bound rounded outward by one
/// float more. An axis of half extent zero (or denormal) is left as it is, so that a swept ray without extents hits
/// what the plain one does. A denormal `t_min` counts as zero. A ray with a half extent that is negative, infinite or
/// not a number, with a `t_min` that is not a number, or with a world that does not exist is invalid like a [`Ray`]
/// with a NaN.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SweptRay {
    /// The way of the centre.
    pub ray: Ray,
    /// Half the edges of the box that is swept along. A sphere of radius `r` lies within `[r; 3]`: its hits are among
    /// those.
    pub half_extents: [f32; 3],
    /// The smallest parameter that still counts, in the units of [`Ray::t_max`]; a negative one counts as 0. Nothing is
    /// hit where it is infinite or above `t_max`.
    pub t_min: f32,
    /// The world that the ray is cast in.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: [u32; 3],
}

impl SweptRay {
    /// The ray itself: without a width, from its origin on, in world 0.
    pub const fn new(ray: Ray) -> Self {
        Self {
            ray,
            half_extents: [0.0; 3],
            t_min: 0.0,
            world: 0,
            reserved: [0; 3],
        }
    }

    /// Sweeps a box of these half extents along the ray.
    #[must_use]
    pub const fn with_half_extents(mut self, half_extents: [f32; 3]) -> Self {
        self.half_extents = half_extents;
        self
    }

    /// Lets the ray start at another `t`.
    #[must_use]
    pub const fn with_t_min(mut self, t_min: f32) -> Self {
        self.t_min = t_min;
        self
    }

    /// Casts the ray in another world.
    #[must_use]
    pub const fn with_world(mut self, world: u32) -> Self {
        self.world = world;
        self
    }
}

impl From<Ray> for SweptRay {
    fn from(ray: Ray) -> Self {
        Self::new(ray)
    }
}

/// Two overlapping objects, `a < b`. 8 bytes: two `u32` indices into the objects.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair {
    /// The smaller index.
    pub a: u32,
    /// The larger index.
    pub b: u32,
}

impl Pair {
    /// The pair of two objects, whichever comes first.
    pub fn new(a: u32, b: u32) -> Self {
        Self {
            a: a.min(b),
            b: a.max(b),
        }
    }
}

/// A pair of objects under names that last from step to step: of [`PairEvents`](crate::PairEvents). 16 bytes: four
/// `u32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PairEvent {
    /// Index of the object that results name first; its top bit is set where it is that of a static object.
    pub a: u32,
    /// Which of the objects that have had this index: see [`ObjectNames`](crate::ObjectNames).
    pub a_generation: u32,
    /// As [`a`](Self::a), of the other object.
    pub b: u32,
    /// As [`a_generation`](Self::a_generation), of the other object.
    pub b_generation: u32,
}

/// A hit of a ray. 8 bytes: `object` as `u32`, `t` as `f32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RayHit {
    /// The object, or [`NONE`] where a [`RayMode::Closest`](crate::RayMode::Closest) ray hits nothing.
    pub object: u32,
    /// Where the ray enters the box: the parameter along the ray, its start (0 or `t_min`) where that is inside,
    /// infinite for [`NONE`]. What is no larger than the smallest normal float, 2^-126, is told as 0 (or `t_min`).
    pub t: f32,
}

impl RayHit {
    /// No hit.
    pub const MISS: Self = Self {
        object: NONE,
        t: f32::INFINITY,
    };
}

/// A cell that a ray's walk visits. 16 bytes: `level` as `u32`, `x, y, z` as `i32`.
///
/// On [`Scheme::Uniform`](crate::Scheme::Uniform) cell `c` lies between `c` and `c + 1` times the cell size. On
/// [`Scheme::Hierarchical`](crate::Scheme::Hierarchical) it is likewise a multiple of the side of the level's cells
/// (the inverse of [`Level::inverse`](crate::grid::Level::inverse)). On [`Scheme::Adaptive`](crate::Scheme::Adaptive)
/// it lies between `c - 1/2` and `c + 1/2` times the layer's scale.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RayCell {
    /// The level: the finest is 0. Levels of the static objects' table, which has cells of its own, begin with 32.
    pub level: u32,
    /// Whole cells along x, of the same side as those of y and z.
    pub x: i32,
    /// Cells along y.
    pub y: i32,
    /// Cells along z.
    pub z: i32,
}

/// An end of a line. 16 bytes: `position` as three `f32`, `color` as four bytes, red first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct LineVertex {
    /// Where it is, in the world of the boxes.
    pub position: [f32; 3],
    /// Red, green, blue and alpha, the first in the lowest bits: the caller's as they were given, and those of levels
    /// as sRGB has them, which a shader that writes to an sRGB target has to decode.
    pub color: u32,
}

const _: () = assert!(size_of::<Aabb>() == 32 && size_of::<Ray>() == 32 && size_of::<SweptRay>() == 64);
const _: () = assert!(size_of::<RayCell>() == 16 && size_of::<LineVertex>() == 16);
const _: () = assert!(size_of::<Pair>() == 8 && size_of::<RayHit>() == 8);

/// An output whose rows only the device counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputRows {
    /// [`StepOutput::pairs`](crate::StepOutput::pairs).
    Pairs,
    /// [`RayOutput::hits`](crate::RayOutput::hits).
    Hits,
    /// [`RayOutput::cells`](crate::RayOutput::cells).
    RayCells,
    /// [`QueryOutput::objects`](crate::QueryOutput::objects).
    QueryObjects,
}

/// From which place on each output of the last step is shown: see
/// [`GpuBroadPhase::page`](crate::GpuBroadPhase::page).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Place of the first pair.
    pub pairs: u32,
    /// Place of the first hit ([`RayMode::All`](crate::RayMode::All)).
    pub hits: u32,
    /// Place of the first cell of a ray ([`ray_cells`](crate::OutputOptions::ray_cells)).
    pub ray_cells: u32,
    /// Place of the first result of a query ([`QueryMode::All`](crate::QueryMode::All)).
    pub results: u32,
}
