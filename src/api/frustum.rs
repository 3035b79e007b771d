use bytemuck::{Pod, Zeroable};

use crate::api::error::InputError;
use crate::api::input::count_within;
use crate::api::types::Aabb;
use crate::shared::wgsl::number;

/// Maximum number of views per call: the bits of a `u32`.
pub(crate) const MAX_VIEWS: u32 = number("cull/view", "MAX_VIEWS");

pub(crate) fn check_views(count: u64) -> Result<(), InputError> {
    count_within("views", count, MAX_VIEWS).map(|_| ())
}

/// A view for culling: the convex region inside all of its planes. 144 bytes.
///
/// Buffer layout (little endian): eight planes `normal.x, normal.y, normal.z, d` as `f32`, then `plane_count`,
/// `layers`, `world` as `u32` and an unused word.
///
/// - **Planes**: a point `p` is inside if `normal * p + d >= 0`. Normals need no unit length. Planes past
///   [`plane_count`](Self::plane_count) are ignored; a view without planes sees all objects of its world.
/// - **Test**: an object is visible unless its whole box is outside one plane. A box outside the region but near one of
///   its edges may therefore be visible.
/// - **Conservative**: by exact arithmetic, a plane never culls a box that is inside it or touches it. It always culls
///   a box if `normal * c + d` is below
///   `-2^-20 * (|normal.x * c.x| + |normal.y * c.y| + |normal.z * c.z| + |d|) - 2^-119 * e`. Here `c` is the corner
///   farthest along the normal, and `e` is the largest of 2 and all finite magnitudes of the bounds and the normal. If
///   the sum in brackets overflows, the box is kept. All devices agree bit for bit.
/// - **Infinite bounds**: a box with an infinite bound on the inner side of a plane is not outside that plane. A box
///   that is infinitely far away on the outer side is outside. Bounds along an axis with a zero normal component are
///   ignored.
/// - **Two dimensions**: boxes are at z = 0, and z of the normals is ignored.
/// - **Invalid**: a NaN or an infinity in a used plane, more than eight planes, or a world that does not exist. The
///   view sees nothing and is counted in [`Visible::invalid`].
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frustum {
    /// Planes: an inward normal, then `d`.
    pub planes: [[f32; 4]; 8],
    /// Number of planes in use, from the first.
    pub plane_count: u32,
    /// Layers, as in [`Aabb::layers`]. An object is visible only if each of the two, view and object, is a member of a
    /// layer in the other's mask.
    ///
    /// Ignored if [`filters`](crate::BroadPhaseDescriptor::filters) are off. Views ignore groups and [`Aabb::STATIC`].
    pub layers: u32,
    /// World whose objects the view sees.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: u32,
}

const _: () = assert!(size_of::<Frustum>() == 16 * number("cull/view", "VIEW_VECTORS") as usize);

/// Planes are sums of two matrix rows. A plane's normal below this share of the rows' normals is only rounding error.
const ROUNDING_SHARE: f32 = 1.0 / (1 << 21) as f32;

impl Frustum {
    /// Maximum planes of a view.
    pub const MAX_PLANES: usize = number("cull/view", "MAX_PLANES") as usize;

    /// Creates a view of planes `normal.x, normal.y, normal.z, d`, on all layers, in world 0.
    ///
    /// More than eight planes fail to compile.
    pub const fn new<const COUNT: usize>(planes: [[f32; 4]; COUNT]) -> Self {
        const { assert!(COUNT <= Self::MAX_PLANES, "a view has at most eight planes") };
        let mut all = [[0.0; 4]; Self::MAX_PLANES];
        let mut place = 0;
        while place < COUNT {
            all[place] = planes[place];
            place += 1;
        }
        Self {
            planes: all,
            plane_count: COUNT as u32,
            layers: Aabb::ALL_LAYERS,
            world: 0,
            reserved: 0,
        }
    }

    /// Creates the view of a camera from its world-to-clip matrix, on all layers, in world 0.
    ///
    /// The matrix is an array of columns, as from glam's `to_cols_array_2d`, and multiplies column vectors. Clip space
    /// is wgpu's: x and y from `-w` to `w`, z from 0 to `w`.
    ///
    /// Depth may be reversed, and the far plane at infinity. A plane is omitted if it contains all points and its
    /// normal is 0 or only rounding error (below 2^-21 of the added matrix rows). A matrix with a NaN makes an invalid
    /// view.
    pub fn from_view_projection(matrix: [[f32; 4]; 4]) -> Self {
        let row = |row: usize| matrix.map(|column| column[row]);
        let [x, y, z, w] = [0, 1, 2, 3].map(row);
        let sum = |sign: f32, axis: [f32; 4]| {
            let plane: [f32; 4] = std::array::from_fn(|at| w[at] + sign * axis[at]);
            let is_lost =
                (0..3).all(|at| plane[at].abs() <= ROUNDING_SHARE * largest_component(w).max(largest_component(axis)));
            (plane, is_lost)
        };
        let near = (z, (0..3).all(|at| z[at] == 0.0));
        let mut view = Self::default();
        for (plane, is_lost) in [sum(1.0, x), sum(-1.0, x), sum(1.0, y), sum(-1.0, y), near, sum(-1.0, z)] {
            // A plane without a normal contains all points if `d >= 0`, else none.
            let has_no_effect = is_lost && plane[3] >= 0.0;
            if !has_no_effect {
                view.planes[view.plane_count as usize] = plane;
                view.plane_count += 1;
            }
        }
        view
    }

    /// Sets membership and mask of the layers.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }

    /// Sets the world whose objects the view sees.
    #[must_use]
    pub const fn with_world(mut self, world: u32) -> Self {
        self.world = world;
        self
    }
}

fn largest_component(row: [f32; 4]) -> f32 {
    row[..3].iter().map(|at| at.abs()).fold(0.0, f32::max)
}

impl Default for Frustum {
    /// A view without planes sees all objects of world 0, on all layers.
    fn default() -> Self {
        Self::new([])
    }
}

/// Visible objects of each view, on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Visible {
    /// Objects that each view sees, ascending by index, so static objects precede moving ones.
    pub objects: Vec<Vec<u32>>,
    /// Number of invalid views, which see nothing: see [`Frustum`].
    pub invalid: u32,
}
