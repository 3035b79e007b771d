pub mod checks;
#[allow(dead_code, reason = "shared with other tests")]
#[path = "../../../../tests/wild/src/rng.rs"]
mod rng;

use gpu_broad_phase::{Aabb, Query, Ray, SweptRay};
use gpu_broad_phase_mpi::{Objects, Owned};
pub use rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Cubes of one size, at random positions.
    Uniform,
    /// Cubes with edges from 1 to 256, most of them small.
    PowerLaw,
    /// Cubes around a few centers.
    Clustered,
    /// Boxes of the triangles of a wavy surface.
    Mesh,
    /// Boxes on a lattice that touch each other and the borders, mixed with points, zeros of either sign, denormals,
    /// giants, unbounded boxes and ignored boxes.
    Wild,
    /// Identical boxes.
    Heap,
}

pub const KINDS: [Kind; 6] = [
    Kind::Uniform,
    Kind::PowerLaw,
    Kind::Clustered,
    Kind::Mesh,
    Kind::Wild,
    Kind::Heap,
];

pub fn boxes(kind: Kind, count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (count as f32).cbrt() * 1.2;
    let cube = |low: [f32; 3], edge: f32| Aabb::new(low, low.map(|low| low + edge));
    match kind {
        Kind::Uniform => (0..count).map(|_| cube(rng.point(side), 1.0)).collect(),
        Kind::PowerLaw => (0..count)
            .map(|_| {
                let edge = 1.0 / (1.0 - rng.unit() * (1.0 - 1.0 / 65_536.0)).sqrt();
                cube(rng.point(4.0 * side), edge)
            })
            .collect(),
        Kind::Clustered => {
            let places: Vec<_> = (0..8).map(|_| rng.point(40.0 * side)).collect();
            (0..count)
                .map(|_| {
                    let of = 1 + rng.below(places.len());
                    let place = places[rng.below(of)];
                    let off = rng.point(side);
                    cube([0, 1, 2].map(|axis| place[axis] + off[axis] * off[axis] / side), 0.5)
                })
                .collect()
        }
        Kind::Mesh => {
            let columns = ((count / 2) as f32).sqrt().ceil().max(1.0) as usize;
            let height = |x: usize, y: usize| ((x as f32 * 0.11).sin() + (y as f32 * 0.07).cos()) * 9.0;
            (0..count)
                .map(|triangle| {
                    let (x, y) = (triangle / 2 % columns, triangle / 2 / columns);
                    let corner = |x: usize, y: usize| [x as f32, y as f32, height(x, y)];
                    let third = if triangle.is_multiple_of(2) {
                        corner(x, y)
                    } else {
                        corner(x + 1, y + 1)
                    };
                    let corners = [corner(x + 1, y), corner(x, y + 1), third];
                    let bound = |join: fn(f32, f32) -> f32| {
                        [0, 1, 2].map(|axis| corners.iter().map(|corner| corner[axis]).reduce(join).unwrap())
                    };
                    Aabb::new(bound(f32::min), bound(f32::max))
                })
                .collect()
        }
        Kind::Wild => wild(count, rng),
        Kind::Heap => vec![cube([1.0; 3], 1.0); count.min(150)],
    }
}

fn wild(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let infinity = f32::INFINITY;
    let denormal = f32::from_bits(1);
    let special = [0.0, -0.0, denormal, -denormal, f32::MAX, infinity, -infinity, f32::NAN];
    let mut wild = |_| {
        let low = [0; 3].map(|_| rng.below(12) as f32 - 6.0);
        let mut object = Aabb::new(low, low.map(|low| low + rng.below(3) as f32));
        match rng.below(16) {
            0 => object = Aabb::point(low),
            1 => object.min[rng.below(3)] = special[rng.below(special.len())],
            2 => object.max[rng.below(3)] = special[rng.below(special.len())],
            3 => object = Aabb::point([special[rng.below(4)]; 3]),
            4 => object.group |= Aabb::EXCLUDED,
            5 => object.group = 1 + rng.below(3) as u32,
            6 => object.group |= Aabb::STATIC,
            7 => object.layers = 0x0001_0002 << rng.below(2),
            8 if rng.below(count / 16 + 1) == 0 => object = Aabb::new([-infinity; 3], [infinity; 3]),
            _ => {}
        }
        object
    };
    (0..count).map(&mut wild).collect()
}

pub fn rays(count: usize, boxes: &[Aabb], rng: &mut Rng) -> Vec<Ray> {
    let place = |rng: &mut Rng| match boxes.len() {
        0 => rng.point(10.0),
        some => boxes[rng.below(some)]
            .min
            .map(|low| if low.is_finite() { low + rng.unit() - 0.5 } else { 0.0 }),
    };
    (0..count)
        .map(|_| {
            let [from, to] = [place(rng), place(rng)];
            let mut way = [0, 1, 2].map(|axis| to[axis] - from[axis]);
            if rng.below(4) == 0 {
                way[rng.below(3)] = 0.0;
            }
            let end = [0.3, 1.0, f32::INFINITY][rng.below(3)];
            Ray::new(from, way, end)
        })
        .collect()
}

pub fn swept(rays: &[Ray], rng: &mut Rng) -> Vec<SweptRay> {
    let wide = |&ray: &Ray| {
        let half = rng.point(1.5);
        SweptRay::new(ray)
            .with_half_extents(half)
            .with_t_min(rng.below(2) as f32 * 0.1)
    };
    rays.iter().map(wide).collect()
}

pub fn queries(count: usize, boxes: &[Aabb], rng: &mut Rng) -> Vec<Query> {
    rays(count, boxes, rng)
        .iter()
        .map(|ray| match rng.below(4) {
            0 => Query::point(ray.origin),
            1 => Query::overlaps(Aabb::new(ray.origin, ray.origin.map(|low| low + 3.0 * rng.unit()))),
            2 => Query::sphere(ray.origin, f32::INFINITY),
            _ => Query::sphere(ray.origin, 4.0 * rng.unit()),
        })
        .collect()
}

/// Ids ascend with the index and exceed 32 bits.
pub fn id(index: usize) -> u64 {
    (u64::from(u32::MAX) - 20) + 3 * index as u64
}

#[derive(Clone, Copy, Debug)]
pub enum Spread {
    Slices,
    RoundRobin,
    OnOne,
    Anyhow,
}

pub const SPREADS: [Spread; 4] = [Spread::Slices, Spread::RoundRobin, Spread::OnOne, Spread::Anyhow];

impl Spread {
    pub fn rank(self, index: usize, count: usize, ranks: usize) -> usize {
        match self {
            Self::Slices => index * ranks / count.max(1),
            Self::RoundRobin => index % ranks,
            Self::OnOne => ranks / 2,
            Self::Anyhow => Rng(index as u64).below(ranks),
        }
    }
}

/// The first `statics` boxes are static.
pub fn share(world: &[Aabb], statics: usize, worlds: u32, spread: Spread, rank: usize, ranks: usize) -> Owned {
    let mut owned = Owned::default();
    for (at, object) in world.iter().enumerate() {
        if spread.rank(at, world.len(), ranks) == rank {
            let objects: &mut Objects = if at < statics {
                &mut owned.statics
            } else {
                &mut owned.moving
            };
            objects.boxes.push(*object);
            objects.ids.push(id(at));
            if worlds > 1 {
                objects.worlds.push(at as u32 % worlds);
            }
            objects.user.extend(id(at).to_le_bytes());
        }
    }
    owned
}

pub fn within(rng: &mut Rng) -> (f32, bool) {
    ([0.0, 0.7, 2.5, 40.0][rng.below(4)], rng.below(2) == 0)
}
