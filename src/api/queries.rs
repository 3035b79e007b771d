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
/// [`f32::MIN_POSITIVE`] count as 0, and so does a denormal radius. A radius of [`f32::MAX`] or infinity reaches everything.
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

/// Fixed-radius neighbours: each object asks which others lie within a radius of it.
///
/// Objects are meant to be points, boxes of zero size; of others the lower corner counts, and infinite ones have no
/// neighbours. On axes with a [period](crate::BroadPhaseDescriptor::periods) the distance is that to the nearest image,
/// whatever the radius. Filters count as for pairs. Devices may differ within 4 ulps of the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Neighbors {
    /// The largest distance; finite and not negative. A denormal one counts as 0. [`f32::MAX`] reaches everything.
    pub radius: f32,
    /// Only neighbours after the object itself: each pair half in place of twice.
    pub half: bool,
}

impl Neighbors {
    /// All neighbours within a radius, in both directions.
    pub const fn within(radius: f32) -> Self {
        Self { radius, half: false }
    }
}

/// The objects' own partners: each object asks which others its box overlaps. These are the pairs as rows, one an
/// object (CSR), in place of a list: who overlaps object `i` stands at `query_offsets[i]..query_offsets[i + 1]` of
/// [`QueryOutput::objects`](crate::QueryOutput::objects).
///
/// Boxes are compared and filtered as for pairs, so that the margin counts on both sides;
/// [`periods`](crate::BroadPhaseDescriptor::periods) are not looked across.
/// What [`excluded_pairs`](crate::Scene::excluded_pairs) and
/// [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) part is left out.
/// [`pairs`](crate::BroadPhaseDescriptor::pairs) of the descriptor may be off: the rows do not need the list. They take
/// longer than it does: what needs no rows is better off with pairs.
///
/// With [`QueryMode::Nearest`], all partners are at distance 0, so the result is the `k` partners of smallest index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Partners {
    /// Only partners after the object itself: each pair half in place of twice.
    pub half: bool,
}

/// What the objects themselves ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Askers {
    Neighbors(Neighbors),
    Partners(Partners),
}

/// Who asks: `Params::askers`.
pub(crate) mod askers {
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
pub struct Neighbor {
    /// The object, or [`NONE`] past the last one that is near enough.
    pub object: u32,
    /// Squared distance between the query and the object's closed box (of [`Neighbors`]: its lower corner); infinite
    /// for [`NONE`]. The order is that of distances even where their squares are past the range of `f32`: infinite from
    /// 2^64 on, 0 below 2^-63. Distances beyond the largest float along one axis count as that float, and come by
    /// index.
    pub squared_distance: f32,
}

impl Neighbor {
    /// No object.
    pub const NONE: Self = Self {
        object: NONE,
        squared_distance: f32::INFINITY,
    };
}

const _: () = assert!(size_of::<Query>() == 48 && size_of::<Neighbor>() == 8);
