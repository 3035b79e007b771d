//! Scenes of a chosen number of boxes, most of them like those of programs and a few odd.

use gpu_broad_phase::{Aabb, Query, Ray, SweptRay};

use crate::Rng;
use crate::boxes::{Space, around, boxes, filter, spoil};
use crate::searches::{query, ray, swept, worlds};

pub fn uniform_within(count: usize, side: f32, rng: &mut Rng) -> Vec<Aabb> {
    (0..count)
        .map(|_| {
            around(
                rng.point(side).map(f64::from),
                [0; 3].map(|_| f64::from(0.5 + rng.unit())),
            )
        })
        .collect()
}

/// Each box overlaps about six others.
pub fn uniform(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    uniform_within(count, (8.0 * count as f32 / 6.0).cbrt(), rng)
}

/// Cubes of one unit or more. A quarter are at least twice as large, a quarter of those four times, and so on.
pub fn power_law_within(count: usize, side: f32, rng: &mut Rng) -> Vec<Aabb> {
    (0..count)
        .map(|_| {
            let u = rng.unit() * (1.0 - 1.0 / 65_536.0);
            let edge = f64::from(1.0 / (1.0 - u).sqrt());
            around(rng.point(side).map(f64::from), [edge; 3])
        })
        .collect()
}

pub fn power_law(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    power_law_within(count, (192.2 * count as f32).cbrt(), rng)
}

/// Boxes with corners on a lattice around the origin, each coordinate moved by at most one float.
pub fn lattice(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let step = rng.one_of(&[0.5, 1.0, 1.5, 0.1]);
    boxes("lattice", count, &Space::crowded(step), rng)
}

/// Rods along x, each through 61 cells of size 1. Four of five rays run along the rods, half of them between rods.
pub fn rods(count: usize, rays: usize, rng: &mut Rng) -> (Vec<Aabb>, Vec<Ray>) {
    let objects = (0..count)
        .map(|_| {
            let [y, z] = [0; 2].map(|_| rng.below(2) as f64 + 0.5);
            around([rng.unit().into(), y, z], [60.0, f64::from(0.8f32), f64::from(0.8f32)])
        })
        .collect();
    let rays = (0..rays)
        .map(|ray| {
            let at = [0.2 + 0.6 * rng.unit(), 0.95][ray % 2];
            let [y, z] = [0; 2].map(|_| rng.below(2) as f32 + at);
            match ray % 5 {
                0 => Ray::new([40.0 * rng.unit() - 20.0, y, -5.0], [0.1, 0.1, 1.0], 100.0),
                1 | 2 => Ray::new([50.0, y, z], [-1.0, 0.0001, 0.0], 100.0),
                _ => Ray::new([-50.0, y, z], [1.0, 0.0, -0.0001], 100.0),
            }
        })
        .collect();
    (objects, rays)
}

/// Crowded bars along y, flat along z, and a few cubes, which large cells hold.
fn thin(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = 1.0 + (count as f64).cbrt();
    (0..count)
        .map(|index| {
            let edges = match index % 40 {
                0 => [3.0; 3],
                _ => [0.5, rng.between(0.5, 1.0) * side, 0.02],
            };
            around([0; 3].map(|_| rng.between(0.0, 0.5 * side)), edges)
        })
        .collect()
}

pub struct Scene {
    pub name: String,
    pub objects: Vec<Aabb>,
    pub rays: Vec<Ray>,
}

impl Scene {
    /// Some are invalid. With many objects, wide queries would exceed llvmpipe's limit of loop iterations.
    pub fn queries(&self, worlds: u32) -> Vec<Query> {
        let mut rng = Rng(self.objects.len() as u64 + 1);
        let reach = if self.objects.len() < 600 { f32::INFINITY } else { 6.0 };
        (0..self.objects.len().min(300))
            .map(|_| {
                let mut query = query(&self.objects, &Space::crowded(1.0), worlds, &mut rng);
                for (low, high) in query.bounds.min.iter().zip(&mut query.bounds.max) {
                    *high = if *high - *low > reach { *low + reach } else { *high };
                }
                query.radius = if query.radius > reach {
                    0.5 * reach
                } else {
                    query.radius
                };
                query
            })
            .collect()
    }

    /// Some are out of range. Empty if `count` is 1.
    pub fn worlds(&self, count: u32) -> Vec<u32> {
        worlds(count, self.objects.len(), &mut Rng(self.objects.len() as u64))
    }
}

const NAMES: [&str; 7] = [
    "uniform",
    "power law",
    "one cell",
    "far apart",
    "islands",
    "lattice",
    "thin",
];
pub const LATTICE: usize = 5;
const THIN: usize = 6;

pub(crate) fn objects(kind: usize, count: usize, rng: &mut Rng) -> (&'static str, Vec<Aabb>) {
    let objects = match NAMES[kind] {
        "uniform" => uniform(count, rng),
        "power law" => power_law(count, rng),
        "one cell" => vec![around([3.0; 3], [1.0; 3]); count.min(200)],
        "lattice" => lattice(count, rng),
        "thin" => thin(count, rng),
        name => boxes(name, count, &Space::crowded(1.0), rng),
    };
    (NAMES[kind], objects)
}

pub fn scene(kind: usize, count: usize, rays: usize, rng: &mut Rng) -> Scene {
    let (name, mut objects) = objects(kind, count, rng);
    for object in &mut objects {
        if rng.once_in(30) {
            spoil(object, rng);
        } else if rng.once_in(3) {
            filter(object, rng);
        }
    }
    let ray = |_| ray(&objects, &Space::crowded(1.0), 1, rng).ray;
    let rays = (0..rays).map(ray).collect();
    Scene {
        name: format!("{name}, {} objects", objects.len()),
        objects,
        rays,
    }
}

pub fn scenes(seed: u64) -> impl Iterator<Item = Scene> {
    const SIZES: [usize; 13] = [0, 1, 2, 255, 256, 257, 511, 512, 513, 1919, 1920, 1921, 5000];
    let mut rng = Rng(seed);
    let lattices = SIZES.map(|count| (LATTICE, count));
    let others = (0..LATTICE).flat_map(|kind| [257, 1921].map(|count| (kind, count)));
    let all = lattices.into_iter().chain(others).chain([(1, 5000), (THIN, 1921)]);
    all.map(move |(kind, count)| scene(kind, count, [70, 256, 300][count % 3], &mut rng))
}

/// Some are invalid.
pub fn sweep(rays: &[Ray], worlds: u32, rng: &mut Rng) -> Vec<SweptRay> {
    let space = Space::crowded(1.0);
    rays.iter().map(|&ray| swept(ray, &space, worlds, rng)).collect()
}
