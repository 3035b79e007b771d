//! Plain data in the layout that the shaders read.

use bytemuck::{Pod, Zeroable};

use crate::shared::outward::bound_around;
use crate::shared::wgsl::number;

/// The object index that stands for "none".
pub const NONE: u32 = u32::MAX;

/// World of an object that is in every world, and meets the objects of all. For objects only: rays and queries with it
/// are invalid.
///
/// A GPU tests it against every object, so it suits few: a floor, walls, a light.
pub const ALL_WORLDS: u32 = number("common/prelude", "ALL_WORLDS");

/// Bit of an index in [`PairEvent`] that is set for static objects. Indices are below 2^29.
pub(crate) const STATIC_BIT: u32 = number("events/event_rows", "STATIC_BIT");

/// An axis-aligned bounding box with its filter words. 32 bytes.
///
/// Buffer layout (little endian): `min.x, min.y, min.z` as `f32`, `layers` as `u32`, `max.x, max.y, max.z` as `f32`,
/// `group` as `u32`. In WGSL, bind it as `array<vec4<u32>>`, two elements per object.
///
/// - **Closed**: boxes that only touch overlap. A box of zero size is a point. Bounds may be infinite.
/// - **Invalid**: a box with a NaN, or with `min > max` on an axis, is ignored and counted in
///   [`Counters::invalid`](crate::Counters::invalid).
/// - **Vectors** of glam, mint, nalgebra and others convert: `Aabb::new(low.into(), high.into())`,
///   `Vec3::from(bounds.min)`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Aabb {
    /// Lower corner.
    pub min: [f32; 3],
    /// Layers. Low 16 bits: membership, a bit per layer. High 16 bits: mask of layers it may pair with.
    ///
    /// Two objects pair only if each of them is a member of a layer in the other's mask.
    pub layers: u32,
    /// Upper corner.
    pub max: [f32; 3],
    /// Group and flags.
    ///
    /// - **Low 30 bits**: the group. Objects with the same nonzero group never pair.
    /// - **Bit 30**, [`Aabb::STATIC`]: two objects with this bit never pair. Objects of [`Statics`](crate::Statics)
    ///   always count as having it.
    /// - **Bit 31**, [`Aabb::EXCLUDED`]: the object is ignored.
    pub group: u32,
}

impl Aabb {
    /// Member of all layers, with all layers in the mask: the default of [`Aabb::layers`].
    pub const ALL_LAYERS: u32 = u32::MAX;
    /// Flag of the group word: the object is ignored.
    pub const EXCLUDED: u32 = 1 << 31;
    /// Flag of the group word: two objects with it never pair.
    pub const STATIC: u32 = 1 << 30;
    /// Bits of the group word that hold the group.
    pub const GROUP_MASK: u32 = Self::STATIC - 1;

    /// Creates a box on all layers and without a group.
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self {
            min,
            layers: Self::ALL_LAYERS,
            max,
            group: 0,
        }
    }

    /// Creates the smallest box that contains all points from `center - half` to `center + half`.
    ///
    /// The box is on all layers and has no group. Bounds are exact, or rounded outward to the next float, which may be
    /// infinity. An infinite half extent makes both bounds infinite. A negative half extent or a NaN gives a box of
    /// NaNs, which steps ignore.
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

    /// Creates a box in two dimensions. z is 0.
    pub const fn new_2d(min: [f32; 2], max: [f32; 2]) -> Self {
        Self::new([min[0], min[1], 0.0], [max[0], max[1], 0.0])
    }

    /// Creates a box of zero size.
    pub const fn point(position: [f32; 3]) -> Self {
        Self::new(position, position)
    }

    /// Sets membership and mask of the layers.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }

    /// Replaces the group word: group and flags.
    #[must_use]
    pub const fn with_group(mut self, group: u32) -> Self {
        self.group = group;
        self
    }

    /// Sets [`Aabb::STATIC`]: the box never pairs with another static one.
    #[must_use]
    pub const fn into_static(mut self) -> Self {
        self.group |= Self::STATIC;
        self
    }

    /// Returns true if steps ignore the box: NaN or `min > max` on an axis of `dimensions`, or [`Aabb::EXCLUDED`].
    pub fn is_ignored(&self, dimensions: Dimensions) -> bool {
        let axes = dimensions.count() as usize;
        // A comparison with a NaN is false.
        let is_valid = (0..axes).all(|axis| self.min[axis] <= self.max[axis]);
        !is_valid || self.group & Self::EXCLUDED != 0
    }
}

/// Number of axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Dimensions {
    /// x and y. The third component of boxes, rays and queries is ignored, even if it is NaN.
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

/// A ray: the points `origin + t * direction` for `0 <= t <= t_max`. 32 bytes.
///
/// Buffer layout (little endian): `origin.x, origin.y, origin.z, t_max, direction.x, direction.y, direction.z` as
/// `f32`, `layers` as `u32`. It is cast in world 0; [`SweptRay`] adds an extent, a start and a world.
///
/// - **Units**: `t` is in units of `direction`, which need not be a unit vector.
/// - **Direction**: denormal components count as zero, unlike those of origins and boxes. A zero direction finds the
///   objects at the origin.
/// - **`t_max`** may be infinite. A positive denormal counts as 0. With a negative value, even a denormal one, the ray
///   hits nothing.
/// - **No misses**: a ray hits every box that it meets in exact arithmetic, except with `t` above [`f32::MAX`].
///   Rounding may add boxes up to `t_max * (1 + 2^-21)`.
/// - **Begin rays near the scene**: from 1e6 away, 30 % found a wrong closest unit box
///   ([more](crate::guide#pass-objects)).
/// - **Invalid**: a NaN, an infinite origin or direction, or a direction component beyond 2^126. The ray hits nothing
///   and is counted in [`Counters::rays_invalid`](crate::Counters::rays_invalid).
/// - **Two dimensions**: z counts as 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// Start of the ray.
    pub origin: [f32; 3],
    /// Largest `t` of a hit.
    pub t_max: f32,
    /// Direction, in which `t` is measured.
    pub direction: [f32; 3],
    /// Layers, as in [`Aabb::layers`]. The ray hits an object only if each of the two is a member of a layer in the
    /// other's mask.
    ///
    /// Ignored if [`filters`](crate::BroadPhaseDescriptor::filters) are off. Rays ignore groups and [`Aabb::STATIC`].
    pub layers: u32,
}

impl Ray {
    /// Creates a ray on all layers, up to the parameter `t_max`.
    pub const fn new(origin: [f32; 3], direction: [f32; 3], t_max: f32) -> Self {
        Self {
            origin,
            t_max,
            direction,
            layers: Aabb::ALL_LAYERS,
        }
    }

    /// Creates a ray in two dimensions: z is 0.
    pub const fn new_2d(origin: [f32; 2], direction: [f32; 2], t_max: f32) -> Self {
        Self::new([origin[0], origin[1], 0.0], [direction[0], direction[1], 0.0], t_max)
    }

    /// Sets membership and mask of the layers.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }
}

/// A box that is swept along a ray, with a start and a world. 64 bytes.
///
/// Buffer layout (little endian): the 32 bytes of [`Ray`], `half_extents.x, half_extents.y, half_extents.z, t_min` as
/// `f32`, `world` as `u32`, three unused words.
///
/// It hits an object if the ray meets the object's box grown by `half_extents`, with each bound moved outward by one
/// more float against rounding. Zero and denormal half extents grow nothing, so a swept ray without extents hits what
/// the plain ray hits.
///
/// It is invalid if the [`Ray`] is, if a half extent is negative, infinite or NaN, if `t_min` is NaN, or if the world
/// does not exist.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SweptRay {
    /// Path of the box's centre.
    pub ray: Ray,
    /// Half the edges of the swept box. For a sphere of radius `r`, `[r; 3]` finds all hits and some more.
    pub half_extents: [f32; 3],
    /// Smallest `t` of a hit, in the units of [`Ray::t_max`].
    ///
    /// Negative and denormal values count as 0. The ray hits nothing if `t_min` is infinite or above `t_max`.
    pub t_min: f32,
    /// World that the ray is cast in.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: [u32; 3],
}

impl SweptRay {
    /// Creates a swept ray without extents in world 0, from the ray's origin on.
    pub const fn new(ray: Ray) -> Self {
        Self {
            ray,
            half_extents: [0.0; 3],
            t_min: 0.0,
            world: 0,
            reserved: [0; 3],
        }
    }

    /// Sets the half extents of the swept box.
    #[must_use]
    pub const fn with_half_extents(mut self, half_extents: [f32; 3]) -> Self {
        self.half_extents = half_extents;
        self
    }

    /// Sets the smallest `t` of a hit.
    #[must_use]
    pub const fn with_t_min(mut self, t_min: f32) -> Self {
        self.t_min = t_min;
        self
    }

    /// Sets the world that the ray is cast in.
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

/// Two overlapping objects, `a < b`. 8 bytes: two `u32` indices.
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
    /// Creates a pair from two objects in either order.
    pub fn new(a: u32, b: u32) -> Self {
        Self {
            a: a.min(b),
            b: a.max(b),
        }
    }
}

/// A pair of objects with ids that persist across steps, from [`PairEvents`](crate::PairEvents). 16 bytes: four `u32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PairEvent {
    /// Index of the pair's first object, counted among static or among moving objects. The top bit is set for static
    /// ones.
    pub a: u32,
    /// Generation of the first object's index: see [`ObjectNames`](crate::ObjectNames).
    pub a_generation: u32,
    /// Index of the second object, as [`a`](Self::a).
    pub b: u32,
    /// Generation of the second object's index.
    pub b_generation: u32,
}

/// A hit of a ray. 8 bytes: `object` as `u32`, `t` as `f32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RayHit {
    /// Index of the object, or [`NONE`] if a [`RayMode::Closest`](crate::RayMode::Closest) ray hits nothing.
    pub object: u32,
    /// Parameter at which the ray enters the box.
    ///
    /// For a ray that starts inside the box, this is the start (0 or `t_min`). For [`NONE`] it is infinite. Values up
    /// to the smallest normal float, 2^-126, are reported as 0 (or `t_min`).
    pub t: f32,
}

impl RayHit {
    /// Row of a [`RayMode::Closest`](crate::RayMode::Closest) ray that hits nothing.
    pub const MISS: Self = Self {
        object: NONE,
        t: f32::INFINITY,
    };
}

/// A cell that a ray visits. 16 bytes: `level` as `u32`, `x, y, z` as `i32`.
///
/// Extent of cell `c` along an axis:
///
/// - [`Scheme::Uniform`](crate::Scheme::Uniform): from `c` to `c + 1` times the cell size.
/// - [`Scheme::Hierarchical`](crate::Scheme::Hierarchical): the same, with the cell's side on that axis: `1 /`
///   [`Level::inverse`](crate::grid::Level::inverse), times 2 to the axis's octaves in
///   [`Grid::stretch`](crate::grid::Grid::stretch).
/// - [`Scheme::Adaptive`](crate::Scheme::Adaptive): from `c - 1/2` to `c + 1/2` times the layer's scale.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RayCell {
    /// Level of the cell; 0 is the finest. Levels of the static objects' table start at 32.
    pub level: u32,
    /// Index of the cell along x.
    pub x: i32,
    /// Index of the cell along y.
    pub y: i32,
    /// Index of the cell along z.
    pub z: i32,
}

/// An end of a line. 16 bytes: `position` as three `f32`, `color` as four bytes, red first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct LineVertex {
    /// Position in the coordinates of the boxes.
    pub position: [f32; 3],
    /// Red, green, blue and alpha, red in the lowest bits.
    ///
    /// Colors that you pass are not converted. Colors of levels are sRGB: decode them if the target is sRGB.
    pub color: u32,
}

const _: () = assert!(size_of::<Aabb>() == 32 && size_of::<Ray>() == 32 && size_of::<SweptRay>() == 64);
const _: () = assert!(size_of::<RayCell>() == 16 && size_of::<LineVertex>() == 16);
const _: () = assert!(size_of::<Pair>() == 8 && size_of::<RayHit>() == 8);
