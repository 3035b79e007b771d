//! Scenes of given sizes, of boxes as they are in programs, with a few odd ones among them.

use gpu_broad_phase::{Aabb, Query, Ray, SweptRay};

use crate::Rng;

fn around(center: [f32; 3], edges: [f32; 3]) -> Aabb {
    Aabb::new(
        [0, 1, 2].map(|axis| center[axis] - edges[axis] / 2.0),
        [0, 1, 2].map(|axis| center[axis] + edges[axis] / 2.0),
    )
}

pub fn uniform(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (8.0 * count as f32 / 6.0).cbrt();
    (0..count)
        .map(|_| around(rng.point(side), [0; 3].map(|_| 0.5 + rng.unit())))
        .collect()
}

pub fn power_law(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (192.2 * count as f32).cbrt();
    (0..count)
        .map(|_| {
            let u = rng.unit() * (1.0 - 1.0 / 65_536.0);
            around(rng.point(side), [1.0 / (1.0 - u).sqrt(); 3])
        })
        .collect()
}

/// Rods along x, each through 61 cells of size 1. Four of five rays run along the rods, half of them between rods.
pub fn rods(count: usize, rays: usize, rng: &mut Rng) -> (Vec<Aabb>, Vec<Ray>) {
    let objects = (0..count)
        .map(|_| {
            let [y, z] = [0; 2].map(|_| rng.below(2) as f32 + 0.5);
            around([rng.unit(), y, z], [60.0, 0.8, 0.8])
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

fn nudge(value: f32, rng: &mut Rng) -> f32 {
    match rng.below(4) {
        0 => value.next_up(),
        1 => value.next_down(),
        2 if value == 0.0 => -value,
        _ => value,
    }
}

/// Boxes with corners on a lattice around the origin, each coordinate moved by at most one float.
pub fn lattice(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let step = [0.5, 1.0, 1.5, 0.1][rng.below(4)];
    let side = 2 + (count as f64).cbrt() as usize;
    (0..count)
        .map(|_| {
            let low = [0; 3].map(|_| rng.below(side) as f32 - (side / 2) as f32);
            let edges = [0; 3].map(|_| rng.below(3) as f32);
            let [min, max] = [low, [0, 1, 2].map(|axis| low[axis] + edges[axis])]
                .map(|corner| corner.map(|cell| nudge(cell * step, rng)));
            Aabb::new([0, 1, 2].map(|axis| min[axis].min(max[axis])), max)
        })
        .collect()
}

/// Boxes most of which touch others. One in `rarity` is up to 2^`octaves` times larger, some flat or long.
pub fn mixed_sizes(count: usize, rarity: usize, octaves: usize, scale: f32, rng: &mut Rng) -> Vec<Aabb> {
    let side = (3.0 * count as f64).cbrt() as usize + 2;
    (0..count)
        .map(|_| {
            let is_larger = rng.below(rarity) == 0;
            let octave = rng.below(octaves) + 1;
            let sides = [0; 3].map(|_| {
                let edge = match (is_larger, rng.below(4)) {
                    (true, 0) => 0.5,
                    (true, _) => (1u64 << octave) as f32 * (1.0 - 0.125 * rng.below(4) as f32),
                    (false, _) => 0.5 * rng.below(3) as f32,
                };
                let low = 0.5 * rng.below(2 * side) as f32 - 0.5 * side as f32;
                let low = if is_larger { low - edge / 2.0 } else { low };
                let min = nudge(low * scale, rng);
                [min, nudge((low + edge) * scale, rng).max(min)]
            });
            Aabb::new(sides.map(|[min, _]| min), sides.map(|[_, max]| max))
        })
        .collect()
}

pub struct Scene {
    pub name: String,
    pub objects: Vec<Aabb>,
    pub rays: Vec<Ray>,
}

impl Scene {
    pub fn queries(&self, worlds: u32) -> Vec<Query> {
        let mut rng = Rng(self.objects.len() as u64 + 1);
        let corner = |object: &Aabb, upper: bool| if upper { object.max } else { object.min };
        (0..self.objects.len().min(300))
            .map(|_| {
                let object = self.objects[rng.below(self.objects.len())];
                let mut query = match rng.below(4) {
                    0 => Query::overlaps(object),
                    1 => Query::point(corner(&object, rng.below(2) == 0)),
                    // A random radius equals no distance on the lattice, which devices may round differently.
                    2 => Query::sphere(corner(&object, rng.below(2) == 0), 3.0 * rng.unit()),
                    _ => Query::overlaps(Aabb::new(
                        object.min.map(|low| low - 2.0),
                        object.max.map(|high| high + 4.0),
                    )),
                };
                match rng.below(25) {
                    0 => query.radius = [-1.0, f32::NAN][rng.below(2)],
                    1 => query.bounds.group = [Aabb::EXCLUDED, Aabb::STATIC, 2][rng.below(3)],
                    2 => query.bounds.layers = 0x0001_0003,
                    // With more objects, this query would exceed llvmpipe's limit of loop iterations.
                    3 if self.objects.len() < 600 => query.bounds.max[rng.below(3)] = f32::INFINITY,
                    _ => {}
                }
                query.in_world(rng.below(worlds as usize + 1) as u32)
            })
            .collect()
    }

    /// Some are out of range. Empty if `count` is 1.
    pub fn worlds(&self, count: u32) -> Vec<u32> {
        if count <= 1 {
            return Vec::new();
        }
        let mut rng = Rng(self.objects.len() as u64);
        (0..self.objects.len())
            .map(|_| match rng.below(40) {
                0 => count,
                1 => u32::MAX,
                _ => rng.below(count as usize) as u32,
            })
            .collect()
    }
}

pub const KINDS: usize = 6;

pub fn scene(kind: usize, count: usize, rays: usize, rng: &mut Rng) -> Scene {
    let (name, mut objects) = match kind {
        0 => ("uniform", uniform(count, rng)),
        1 => ("power law", power_law(count, rng)),
        2 => ("one cell", vec![around([3.0; 3], [1.0; 3]); count.min(200)]),
        3 => (
            "far clusters",
            (0..count)
                .map(|_| {
                    let far = [-3e6, 0.0, 7e5, 1e30][rng.below(4)];
                    let [x, y, z] = rng.point(8.0);
                    around([x + far, y - far, z], [0.25 + rng.unit(); 3])
                })
                .collect(),
        ),
        4 => (
            "islands in a wide void",
            (0..count)
                .map(|_| {
                    let [x, y, z] = rng.point(6.0);
                    let island = [-150.0, 0.0, 130.0][rng.below(3)];
                    around([x + island, y - island, z + island], [0.5 + rng.unit(); 3])
                })
                .collect(),
        ),
        _ => ("lattice", lattice(count, rng)),
    };
    add_oddities(&mut objects, rng);
    let rays = (0..rays).map(|_| random_ray(&objects, rng)).collect();
    Scene {
        name: format!("{name}, {} objects", objects.len()),
        objects,
        rays,
    }
}

/// Makes one box in four invalid, endless, static, excluded, filtered or very large.
pub(crate) fn add_oddities(objects: &mut [Aabb], rng: &mut Rng) {
    for object in objects {
        match rng.below(60) {
            0 => object.min[rng.below(3)] = f32::NAN,
            1 => object.max[rng.below(3)] = f32::INFINITY,
            2 => std::mem::swap(&mut object.min, &mut object.max),
            3 => object.group = Aabb::EXCLUDED,
            4..8 => object.group = Aabb::STATIC | rng.below(3) as u32,
            8..12 => *object = object.with_layers(rng.below(16) as u16, rng.below(16) as u16),
            12 if rng.below(5) == 0 => *object = around([0.0; 3], [500.0; 3]),
            13 if rng.below(5) == 0 => object.min[rng.below(3)] = f32::NEG_INFINITY,
            14 => object.group = 1 + rng.below(2) as u32,
            _ => {}
        }
    }
}

pub fn scenes(seed: u64) -> impl Iterator<Item = Scene> {
    const SIZES: [usize; 13] = [0, 1, 2, 255, 256, 257, 511, 512, 513, 1919, 1920, 1921, 5000];
    let mut rng = Rng(seed);
    let others = (0..KINDS - 1).flat_map(|kind| [257, 1921].map(|count| (kind, count)));
    let all: Vec<_> = SIZES
        .map(|count| (KINDS - 1, count))
        .into_iter()
        .chain(others)
        .chain([(1, 5000)])
        .collect();
    all.into_iter()
        .map(move |(kind, count)| scene(kind, count, [70, 256, 300][count % 3], &mut rng))
}

pub(crate) fn random_ray(objects: &[Aabb], rng: &mut Rng) -> Ray {
    let mut corner = || {
        let Some(object) = objects.get(rng.below(objects.len())) else {
            return [1.0, -0.0, 2.5];
        };
        [0, 1, 2].map(|axis| {
            if rng.below(2) == 0 {
                object.min[axis]
            } else {
                object.max[axis]
            }
        })
    };
    let (from, to) = (corner(), corner());
    let mut direction = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    let mut origin = from;
    match rng.below(14) {
        0 => direction = [0.0, -0.0, 1e-40],
        1 => direction[rng.below(3)] = 0.0,
        2 => direction = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 2.0]][rng.below(3)],
        3 => direction[rng.below(3)] = f32::NAN,
        4..7 => origin = [0, 1, 2].map(|axis| from[axis] - 2.0 * direction[axis]),
        7 => direction = direction.map(|component| component * 1e-3),
        8 => origin[rng.below(3)] = [f32::NAN, f32::NEG_INFINITY][rng.below(2)],
        9 => direction[rng.below(3)] = [2f32.powi(126), 2f32.powi(126).next_up(), f32::INFINITY][rng.below(3)],
        _ => {}
    }
    let most = [f32::INFINITY, 1.0, 2.0, 100.0, 0.0, -0.0, -1.0, 1e-40, f32::NAN];
    let t_max = most[if rng.below(3) == 0 {
        rng.below(most.len())
    } else {
        rng.below(4)
    }];
    Ray::new(origin, direction, t_max)
}

/// Some values are invalid. Small extents keep crowded scenes within llvmpipe's limit of loop iterations.
pub fn sweep(rays: &[Ray], worlds: u32, rng: &mut Rng) -> Vec<SweptRay> {
    rays.iter()
        .map(|&ray| {
            let largest = [0.0, 0.05, 0.5, 0.5, 2.0][rng.below(5)];
            let half_extents = [0; 3].map(|_| [largest, 0.0, largest * 0.5][rng.below(3)]);
            let t_min = [0.0, 0.0, -0.0, 0.25, 1.0, -2.0, 1e-40][rng.below(7)];
            let mut swept = SweptRay::new(ray)
                .with_half_extents(half_extents)
                .with_t_min(t_min)
                .with_world(rng.below(worlds as usize) as u32);
            match rng.below(40) {
                0 => swept.half_extents[rng.below(3)] = [-0.0, -1e-45, f32::NAN, f32::INFINITY][rng.below(4)],
                1 => swept.half_extents[rng.below(3)] = [1e-45, 1e30, f32::MAX, 1e6][rng.below(4)],
                2 => swept.t_min = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX][rng.below(4)],
                3 => swept.world = [worlds, u32::MAX][rng.below(2)],
                4..10 => swept.ray = ray.with_layers(rng.below(16) as u16, rng.below(16) as u16),
                _ => {}
            }
            swept
        })
        .collect()
}
