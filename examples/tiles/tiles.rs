//! A world cut into tiles that are stepped one by one, or on a device each, and the rule that makes their answers one.
//!
//! **Rule.** Each tile is given the boxes that overlap it: its own and a halo of its neighbours'. It keeps a pair only
//! if the pair's *home point* lies in it: on each axis the larger of the two lower corners.
//!
//! **No pair twice**: every point lies in exactly one tile. **No pair lost**: if two closed boxes meet, then on each
//! axis `max(a.min, b.min) <= min(a.max, b.max)`, so their home point lies in both. The tile of the home point
//! therefore overlaps both boxes, both were given to it, and it finds the pair.
//!
//! Tiles are compared as the passes compare boxes: as integers in the order of the floats, in which −0 is 0. Nothing is
//! rounded, infinities are ordinary values, and boxes that only touch at a border meet there as they do everywhere
//! else.
//!
//! This is the rule for boxes as they are compared. With a [`margin`](gpu_broad_phase::BroadPhaseDescriptor::margin),
//! grow the boxes before they are split and leave the margin at 0. In two dimensions, leave the third axis whole.

use gpu_broad_phase::cpu;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Pair, Ray, RayHit, RayMode};

/// A float as an integer of the same order, in which −0 is 0: `ordered` of `shaders/common/box.wgsl`. Of a NaN, any
/// integer.
pub fn ordered(value: f32) -> i32 {
    let bits = value.to_bits();
    if bits < 1 << 31 {
        bits as i32
    } else {
        (1u32 << 31).wrapping_sub(bits) as i32
    }
}

/// A grid of tiles over all of space. A tile reaches from one border of each axis, inclusive, to the next, exclusive;
/// the first and the last one of an axis are endless.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// Of each axis, ordered integers, ascending. Equal ones have a tile without room between them.
    borders: [Vec<i32>; 3],
}

impl Tiles {
    /// Tiles between these borders, one more than borders along each axis. Any borders give the right answer.
    pub fn new(borders: [Vec<f32>; 3]) -> Self {
        let ascending = |axis: Vec<f32>| {
            let mut axis: Vec<_> = axis.into_iter().map(ordered).collect();
            axis.sort_unstable();
            axis
        };
        Self {
            borders: borders.map(ascending),
        }
    }

    /// As many tiles along each axis as `counts` says, with equally many lower corners between the borders of an axis.
    /// An axis without a finite lower corner stays whole.
    pub fn balanced(objects: &[Aabb], counts: [usize; 3]) -> Self {
        let borders = [0, 1, 2].map(|axis| {
            let mut corners: Vec<_> = objects.iter().map(|object| object.min[axis]).collect();
            corners.retain(|corner| corner.is_finite());
            corners.sort_unstable_by(f32::total_cmp);
            let border = |tile| corners.get(tile * corners.len() / counts[axis]).copied();
            (1..counts[axis]).filter_map(border).collect()
        });
        Self::new(borders)
    }

    fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.borders[axis].len() + 1)
    }

    /// How many there are. Tiles are numbered with x fastest.
    pub fn count(&self) -> usize {
        self.counts().iter().product()
    }

    /// Which tile of an axis holds a coordinate. Monotone: what lies between two points lies between their tiles.
    fn along(&self, axis: usize, coordinate: f32) -> usize {
        let coordinate = ordered(coordinate);
        self.borders[axis].partition_point(|&border| border <= coordinate)
    }

    /// The tiles that a box overlaps, ascending. A box that takes no part in a step, because of a NaN or inverted
    /// bounds, may get some or none: it does not matter where it is left out.
    pub fn overlapped(&self, object: &Aabb) -> impl Iterator<Item = usize> + use<> {
        let [x, y, z] =
            [0, 1, 2].map(|axis| self.along(axis, object.min[axis])..self.along(axis, object.max[axis]) + 1);
        let [columns, rows, _] = self.counts();
        z.flat_map(move |z| y.clone().map(move |y| (z * rows + y) * columns))
            .flat_map(move |row| x.clone().map(move |x| row + x))
    }

    /// The tile that owns a box: that of its lower corner. The others that overlap it have it in their halo.
    pub fn owner(&self, object: &Aabb) -> usize {
        let [x, y, z] = [0, 1, 2].map(|axis| self.along(axis, object.min[axis]));
        let [columns, rows, _] = self.counts();
        (z * rows + y) * columns + x
    }

    /// The boxes of each tile, ascending. That keeps the order of indices: a pair of a tile is the pair of the whole
    /// when both indices are replaced, with `a < b`, and the smallest object of a tie stays the smallest.
    pub fn split(&self, objects: &[Aabb]) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.count()];
        for (index, object) in (0..).zip(objects) {
            for tile in self.overlapped(object) {
                members[tile].push(index);
            }
        }
        members
    }

    /// The rays of each tile: those that hit the bounds of the boxes that it owns. Those of its halo are others' to
    /// answer for.
    ///
    /// The test of rays is monotone in the box, rounding and widening included: a ray that hits a box hits whatever
    /// holds that box, and no later. So no hit is lost, where tests against the tiles themselves could lose one to
    /// rounding. A box without an end brings every ray that meets it to the one tile that owns it.
    pub fn route(&self, dimensions: Dimensions, objects: &[Aabb], rays: &[Ray]) -> Vec<Vec<u32>> {
        // Bounds of no boxes are inverted, and are not hit.
        let nothing = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        let mut bounds = vec![nothing; self.count()];
        for object in objects {
            let bounds = &mut bounds[self.owner(object)];
            for axis in 0..3 {
                bounds.min[axis] = bounds.min[axis].min(object.min[axis]);
                bounds.max[axis] = bounds.max[axis].max(object.max[axis]);
            }
        }
        // Few boxes: the CPU will do. It answers as a device does.
        let descriptor = BroadPhaseDescriptor {
            dimensions,
            pairs: false,
            ray_mode: RayMode::All,
            ..Default::default()
        };
        let hit = cpu::step(&descriptor, &bounds, rays).expect("a few boxes and rays");
        let mut rays_of = vec![Vec::new(); bounds.len()];
        for (ray, ends) in (0..).zip(hit.ray_offsets.windows(2)) {
            for tile in &hit.ray_hits[ends[0] as usize..ends[1] as usize] {
                rays_of[tile.object as usize].push(ray);
            }
        }
        rays_of
    }

    /// What a tile holds.
    pub fn block(&self, tile: usize) -> Block {
        let [columns, rows, _] = self.counts();
        let place = [tile % columns, tile / columns % rows, tile / columns / rows];
        Block {
            first: [0, 1, 2].map(|axis| match place[axis] {
                0 => i32::MIN,
                place => self.borders[axis][place - 1],
            }),
            // Smaller by one than the border: `ordered` never gives the smallest integer.
            last: [0, 1, 2].map(|axis| match self.borders[axis].get(place[axis]) {
                None => i32::MAX,
                Some(border) => border.saturating_sub(1),
            }),
        }
    }
}

/// The points of a tile, as ordered integers. Both ends are inclusive, so that the blocks hold every pattern of bits
/// once.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub first: [i32; 3],
    pub last: [i32; 3],
}

impl Block {
    fn holds(&self, point: [i32; 3]) -> bool {
        (0..3).all(|axis| self.first[axis] <= point[axis] && point[axis] <= self.last[axis])
    }

    /// Whether the home point of two boxes that meet lies in the tile.
    pub fn is_home_of(&self, a: &Aabb, b: &Aabb) -> bool {
        self.holds([0, 1, 2].map(|axis| ordered(a.min[axis]).max(ordered(b.min[axis]))))
    }

    /// Those of a tile's pairs that are the tile's to report, as pairs of the whole world. `members` is what
    /// [`Tiles::split`] gave the tile.
    pub fn keep(&self, objects: &[Aabb], members: &[u32], found: &[Pair]) -> Vec<Pair> {
        let global = |pair: &Pair| Pair {
            a: members[pair.a as usize],
            b: members[pair.b as usize],
        };
        let is_kept = |pair: &Pair| self.is_home_of(&objects[pair.a as usize], &objects[pair.b as usize]);
        found.iter().map(global).filter(is_kept).collect()
    }
}

/// The boxes of a tile, in the order of their indices.
pub fn gather<T: Copy>(all: &[T], members: &[u32]) -> Vec<T> {
    members.iter().map(|&member| all[member as usize]).collect()
}

/// Takes a tile's closest hits into those of all rays: the smallest `t`, ties to the smallest object.
pub fn merge_closest(closest: &mut [RayHit], members: &[u32], rays: &[u32], found: &[RayHit]) {
    for (&ray, hit) in rays.iter().zip(found) {
        let Some(&object) = members.get(hit.object as usize) else {
            continue; // a miss
        };
        let best = &mut closest[ray as usize];
        if (hit.t, object) < (best.t, best.object) {
            *best = RayHit { object, t: hit.t };
        }
    }
}
