//! Queries: what lies at, in or near something.

use bytemuck::{Pod, Zeroable};

use crate::api::types::{Aabb, NONE};

/// Everything within `radius` of a box. 48 bytes, three 16-byte loads.
///
/// Buffer layout (little endian): the box as [`Aabb`], `radius` as `f32`, `world` as `u32`, two unused words.
///
/// With radius 0 these are the objects that meet the box, by the exact test of pairs: boxes and points. With a radius
/// it is a rounded box, and a sphere where the box is a point: objects whose closed box comes within `radius` of the
/// query's, by `f32` distances, so that devices may differ within 4 ulps of the radius. Gaps below
/// [`f32::MIN_POSITIVE`] count as 0, and so does a denormal radius. A radius of [`f32::MAX`] or infinity reaches
/// everything.
///
/// The box's filter words count as an object's: layers, owner and static flag admit results as they admit pairs, and an
/// [excluded](Aabb::EXCLUDED) query finds nothing. Any other query with a NaN, with `min > max`, with a negative radius
/// or with a world that does not exist is *invalid*: it finds nothing and is counted in
/// [`Counters::queries_invalid`](crate::Counters::queries_invalid).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Query {
    /// The box. The descriptor's margin does not grow it.
    pub bounds: Aabb,
    /// How far from the box objects may be; may be infinite.
    pub radius: f32,
    /// Only objects of this world are found.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: [u32; 2],
}

impl Query {
    /// What meets the box.
    pub const fn overlaps(bounds: Aabb) -> Self {
        Self {
            bounds,
            radius: 0.0,
            world: 0,
            reserved: [0; 2],
        }
    }

    /// What lies at a position.
    pub const fn point(position: [f32; 3]) -> Self {
        Self::overlaps(Aabb::point(position))
    }

    /// What comes within `radius` of `center`.
    pub const fn sphere(center: [f32; 3], radius: f32) -> Self {
        Self {
            radius,
            ..Self::point(center)
        }
    }

    /// Asks the query of another world.
    #[must_use]
    pub const fn in_world(mut self, world: u32) -> Self {
        self.world = world;
        self
    }
}

impl From<Aabb> for Query {
    fn from(bounds: Aabb) -> Self {
        Self::overlaps(bounds)
    }
}

/// A query that each object makes of the others: a result list per object (CSR). The objects near object `i` are at
/// `query_offsets[i]..query_offsets[i + 1]` of [`QueryOutput::objects`](crate::QueryOutput::objects).
///
/// With `half` a list has only the objects after its own, so that each two objects are listed once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SelfQuery {
    /// Fixed-radius neighbours: the other objects within a radius.
    ///
    /// Objects are meant to be points, boxes of zero size. Of other boxes the lower corner counts, and infinite ones
    /// have no neighbours. On axes with a [period](crate::BroadPhaseDescriptor::periods) the distance is that to the
    /// nearest image, whatever the radius. Filters count as for pairs. Devices may differ within 4 ulps of the radius.
    Within {
        /// The largest distance; finite and not negative. A denormal one counts as 0. [`f32::MAX`] reaches everything.
        radius: f32,
        /// Only neighbours after the object itself.
        half: bool,
    },
    /// The other objects that the object overlaps: the pairs as a list per object.
    ///
    /// Boxes are compared and filtered as for pairs, so that the margin counts on both sides.
    /// [`excluded_pairs`](crate::Scene::excluded_pairs) and
    /// [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) apply. Boxes across a
    /// [period](crate::BroadPhaseDescriptor::periods) do not meet.
    ///
    /// [`pairs`](crate::BroadPhaseDescriptor::pairs) of the descriptor may be off. The lists take longer than the
    /// pairs. With [`QueryMode::Nearest`] all distances are 0, so that the result is the `k`
    /// objects of smallest index.
    Overlaps {
        /// Only objects after the object itself.
        half: bool,
    },
}

impl SelfQuery {
    /// Returns the query for all neighbours within `radius`, in both directions.
    pub const fn within(radius: f32) -> Self {
        Self::Within { radius, half: false }
    }
}

/// Who asks: `Params::self_query`.
pub(crate) mod self_query {
    pub const NOBODY: u32 = 0;
    pub const NEIGHBORS: u32 = 1;
    pub const PARTNERS: u32 = 2;
}

/// Which results of a query are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QueryMode {
    /// All, as a range of objects a query (CSR).
    #[default]
    All,
    /// So many of the nearest, by distance and then by index; at most 1,024. A walk looks outward until nothing past
    /// what it has seen can be among them, so that a radius saves little. It tests all objects where cells are far
    /// smaller than the way to what it finds, as in a void between dense clusters, or where fewer objects may be found
    /// than are wanted.
    Nearest(u32),
}

/// An object near a query. 8 bytes: `object` as `u32`, `squared_distance` as `f32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NearestObject {
    /// The object, or [`NONE`] past the last one that is near enough.
    pub object: u32,
    /// Squared distance between the query and the object's closed box (of [`SelfQuery::Within`]: its lower corner);
    /// infinite for [`NONE`]. The order is that of distances even where their squares are past the range of `f32`:
    /// infinite from 2^64 on, 0 below 2^-63. Distances beyond the largest float along one axis count as that float, and
    /// come by index.
    pub squared_distance: f32,
}

impl NearestObject {
    /// No object.
    pub const NONE: Self = Self {
        object: NONE,
        squared_distance: f32::INFINITY,
    };
}

const _: () = assert!(size_of::<Query>() == 48 && size_of::<NearestObject>() == 8);
