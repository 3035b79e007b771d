use bytemuck::{Pod, Zeroable};

use crate::api::types::{Aabb, NONE};

/// A query for all objects within `radius` of a box. 48 bytes.
///
/// Buffer layout (little endian): the box as [`Aabb`], `radius` as `f32`, `world` as `u32`, two unused words.
///
/// - **Radius 0** finds the objects that overlap the box, or contain the point, by the exact test of pairs.
/// - **With a radius**, the query finds the objects whose closed box comes within `radius` of the query's box, or of
///   its point (a sphere). Distances are `f32`, so devices may disagree about distances within 4 ulps of the radius.
///   Gaps below [`f32::MIN_POSITIVE`] and denormal radii count as 0. [`f32::MAX`] and infinity reach everything.
/// - **Filters** apply as between objects: layers, group and static flag. An [excluded](Aabb::EXCLUDED) query finds
///   nothing.
/// - **Invalid**: a query with a NaN, `min > max`, a negative radius or a world that does not exist, unless excluded.
///   It finds nothing and is counted in [`Counters::queries_invalid`](crate::Counters::queries_invalid).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Query {
    /// The query's box. The descriptor's margin does not apply to it.
    pub bounds: Aabb,
    /// Largest distance from the box; may be infinite.
    pub radius: f32,
    /// World whose objects the query finds.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: [u32; 2],
}

impl Query {
    /// Finds the objects that overlap the box.
    pub const fn overlaps(bounds: Aabb) -> Self {
        Self {
            bounds,
            radius: 0.0,
            world: 0,
            reserved: [0; 2],
        }
    }

    /// Finds the objects that contain the position.
    pub const fn point(position: [f32; 3]) -> Self {
        Self::overlaps(Aabb::point(position))
    }

    /// Finds the objects within `radius` of `center`.
    pub const fn sphere(center: [f32; 3], radius: f32) -> Self {
        Self {
            radius,
            ..Self::point(center)
        }
    }

    /// Sets the world whose objects the query finds.
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

/// Self-query: each object finds others, with one result list per object (CSR).
///
/// The results of object `i` are at `query_offsets[i]..query_offsets[i + 1]` of
/// [`QueryOutput::objects`](crate::QueryOutput::objects). With `half`, a list has only objects of larger index, so each
/// pair is listed once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SelfQuery {
    /// Fixed-radius neighbours: the other objects within `radius`.
    ///
    /// - **Points**: objects should be boxes of zero size. For other boxes, distances are those of lower corners. Boxes
    ///   with an infinite bound have no neighbours.
    /// - **Periods**: on axes with a [period](crate::BroadPhaseDescriptor::periods), the distance is that to the
    ///   nearest image, for any radius.
    /// - **Filters** apply as for pairs. Devices may disagree about distances within 4 ulps of the radius.
    Within {
        /// Largest distance, finite and not negative. Denormals count as 0. [`f32::MAX`] reaches everything.
        radius: f32,
        /// True to list only objects of larger index.
        half: bool,
    },
    /// The other objects that each object overlaps: the list of pairs, grouped by object.
    ///
    /// - **Same rules as pairs**: margin, filters, [`excluded_pairs`](crate::Scene::excluded_pairs) and
    ///   [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) apply. Boxes do not overlap across the border of a
    ///   [period](crate::BroadPhaseDescriptor::periods).
    /// - **Cost**: this query takes longer than finding pairs. You can turn [pairs](crate::BroadPhaseDescriptor::pairs)
    ///   off.
    /// - **Nearest**: with [`QueryMode::Nearest`] all distances are 0, so the result is the `k` smallest indices.
    Overlaps {
        /// True to list only objects of larger index.
        half: bool,
    },
}

impl SelfQuery {
    /// Finds all neighbours within `radius`, in both directions.
    pub const fn within(radius: f32) -> Self {
        Self::Within { radius, half: false }
    }
}

/// Values of `Params::self_query`.
pub(crate) mod self_query {
    pub const NONE: u32 = 0;
    pub const NEIGHBORS: u32 = 1;
    pub const PARTNERS: u32 = 2;
}

/// Results to return per query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QueryMode {
    /// All results, as one list of objects per query (CSR).
    #[default]
    All,
    /// The nearest `k` objects, at most 1,024, by distance and then by index.
    ///
    /// The search goes outward and ends when farther cells cannot have nearer objects, so a small radius saves little
    /// time. All objects are tested if there are fewer than `k` results, or if cells are far smaller than the distance
    /// to the results, as in a void between dense clusters.
    Nearest(u32),
}

/// An object near a query. 8 bytes: `object` as `u32`, `squared_distance` as `f32`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NearestObject {
    /// Index of the object. Rows after the last result have [`NONE`].
    pub object: u32,
    /// Squared distance to the object's closed box; infinite for [`NONE`].
    ///
    /// For [`SelfQuery::Within`] it is the squared distance between lower corners. Squares are infinite for distances
    /// from 2^64 on and 0 for those below 2^-63, but rows are still ordered by distance. A distance beyond the largest
    /// float along one axis counts as that float. Rows with such distances are ordered by index.
    pub squared_distance: f32,
}

impl NearestObject {
    /// Row after the last result.
    pub const NONE: Self = Self {
        object: NONE,
        squared_distance: f32::INFINITY,
    };
}

const _: () = assert!(size_of::<Query>() == 48 && size_of::<NearestObject>() == 8);
