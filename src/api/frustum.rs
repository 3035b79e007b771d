//! What a view sees: a convex set of planes.

use bytemuck::{Pod, Zeroable};

use crate::api::error::InputError;
use crate::api::input::count_within;
use crate::api::types::Aabb;
use crate::shared::wgsl::number;

/// Most views of a call: the bits of a word of `CullOutput::words`.
pub(crate) const MOST_VIEWS: u32 = number("cull/view", "MOST_VIEWS");

/// Fails for more views than [`MOST_VIEWS`].
pub(crate) fn check_views(count: u64) -> Result<(), InputError> {
    count_within("views", count, MOST_VIEWS).map(|_| ())
}

/// What a view sees of a step's objects: the convex set inside all of its planes. 144 bytes, nine 16-byte loads.
///
/// Buffer layout (little endian): eight planes `normal.x, normal.y, normal.z, d` as `f32`, then `plane_count`,
/// `layers`, `world` as `u32` and an unused word.
///
/// A point `p` is inside a plane where `normal * p + d >= 0`. Normals need no length. Planes past
/// [`plane_count`](Self::plane_count) do not count; without any, all objects of the world are seen. In two dimensions
/// boxes lie at z = 0: z of the normals does not count, whatever it holds.
///
/// An object is seen unless its whole box lies outside one plane. So a box near an edge of the set may be seen although
/// it is not in it: no plane alone tells them apart.
///
/// **Conservative.** A box that is inside a plane or touches it is never taken for one outside, by exact arithmetic.
/// One outside is never kept either where `normal * c + d` is below `-2^-20 * (|normal.x * c.x| + |normal.y * c.y| +
/// |normal.z * c.z| + |d|) - 2^-119 * e`: here `c` is the corner of the box that is farthest along the normal, and `e`
/// is the largest of all finite magnitudes of its bounds, of those of the normal, and 2. Boxes for which the sum in
/// brackets is past the floats are kept. The answer is the same, bit for bit, on every device.
///
/// **Infinite bounds.** A box that goes to infinity on the inner side of a plane is not outside of it. One that has
/// nothing but infinity on the outer side is. Where a component of the normal is 0, bounds along its axis do not count.
///
/// A view with a NaN or an infinity in a plane that counts, with more than eight planes, or with a world that does not
/// exist is *invalid*: it sees nothing and is counted.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frustum {
    /// The planes: a normal that points inside, and `d`.
    pub planes: [[f32; 4]; 8],
    /// How many of the planes count, the first ones.
    pub plane_count: u32,
    /// As [`Aabb::layers`]: the view sees objects of which each one's membership meets the other's mask, where the
    /// descriptor's [`filters`](crate::BroadPhaseDescriptor::filters) are on. Owners and [`Aabb::STATIC`] do not matter
    /// to views.
    pub layers: u32,
    /// Only objects of this world are seen.
    pub world: u32,
    /// Unused; any value.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reserved: u32,
}

const _: () = assert!(size_of::<Frustum>() == 16 * number("cull/view", "VIEW_VECTORS") as usize);

/// A normal this much shorter than the rows that it is the difference of is rounding: 2^-21.
const LOST: f32 = 1.0 / (1 << 21) as f32;

impl Frustum {
    /// Planes that a view may have.
    pub const MOST_PLANES: usize = number("cull/view", "MOST_PLANES") as usize;

    /// The set inside of at most eight planes `normal.x, normal.y, normal.z, d`, on all layers, in world 0. More than
    /// eight do not compile.
    pub const fn new<const COUNT: usize>(planes: [[f32; 4]; COUNT]) -> Self {
        const { assert!(COUNT <= Self::MOST_PLANES, "a view has at most eight planes") };
        let mut all = [[0.0; 4]; Self::MOST_PLANES];
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

    /// What the camera with this matrix from world to clip space sees, on all layers, in world 0. The matrix is given
    /// by columns, as glam's `to_cols_array_2d` does, and multiplies column vectors. Clip space is wgpu's: x and y
    /// between `-w` and `w`, z between 0 and `w`.
    ///
    /// Far and near may be reversed, and far may be infinite: a row that says nothing has a normal of 0, or one that is
    /// lost to rounding, less than 2^-21 of the rows that it is the difference of. It makes no plane. A matrix with a
    /// NaN makes an invalid view.
    pub fn from_view_projection(matrix: [[f32; 4]; 4]) -> Self {
        let row = |row: usize| matrix.map(|column| column[row]);
        let [x, y, z, w] = [0, 1, 2, 3].map(row);
        let sum = |sign: f32, axis: [f32; 4]| {
            let plane: [f32; 4] = std::array::from_fn(|at| w[at] + sign * axis[at]);
            let is_lost = (0..3).all(|at| plane[at].abs() <= LOST * longest(w).max(longest(axis)));
            (plane, is_lost)
        };
        let near = (z, (0..3).all(|at| z[at] == 0.0));
        let mut view = Self::default();
        for (plane, is_lost) in [sum(1.0, x), sum(-1.0, x), sum(1.0, y), sum(-1.0, y), near, sum(-1.0, z)] {
            // Without a normal, all points are inside or none is.
            let says_nothing = is_lost && plane[3] >= 0.0;
            if !says_nothing {
                view.planes[view.plane_count as usize] = plane;
                view.plane_count += 1;
            }
        }
        view
    }

    /// Makes the view a member of the layers in `membership` that sees the layers in `mask`.
    #[must_use]
    pub const fn with_layers(mut self, membership: u16, mask: u16) -> Self {
        self.layers = membership as u32 | (mask as u32) << 16;
        self
    }

    /// Lets the view look at another world.
    #[must_use]
    pub const fn with_world(mut self, world: u32) -> Self {
        self.world = world;
        self
    }
}

/// The largest component of a row's normal.
fn longest(row: [f32; 4]) -> f32 {
    row[..3].iter().map(|at| at.abs()).fold(0.0, f32::max)
}

impl Default for Frustum {
    /// Without planes: sees all objects of world 0, on all layers.
    fn default() -> Self {
        Self::new([])
    }
}

/// The objects that views see, on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Visible {
    /// The objects that each view sees, ascending, static ones first.
    pub objects: Vec<Vec<u32>>,
    /// Views that are invalid and see nothing: see [`Frustum`].
    pub invalid: u32,
}
