//! Random scenes with hard cases: boxes that touch in the last bit, have mixed sizes, are far away, infinite or NaN.

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Ray};

use crate::generate::{Random, nudge};

pub const LARGEST: u32 = 5_000;

pub struct Scene {
    pub boxes: Vec<Aabb>,
    /// World of each box, some out of range; empty with one world.
    pub worlds: Vec<u32>,
    pub rays: Vec<Ray>,
    pub descriptor: BroadPhaseDescriptor<'static>,
    pub cell_size: f32,
    pub min_scale: f32,
}

pub fn random(seed: u64, largest: u32) -> Scene {
    let random = &mut Random::new(seed);
    let boxes = count(random, largest);
    let rays = count(random, largest);
    let descriptor = variant(random);
    let is_plain = descriptor == BroadPhaseDescriptor::default();
    let cell_size = [1.0, 0.3, 12.5][if is_plain { random.below(3) as usize } else { 0 }];
    let (mut boxes, mut rays) = match random.below(12) {
        0..=6 => lattice(boxes, rays, random),
        7 => scattered(boxes, rays, random, Sizes::PowerLaw),
        8 => scattered(boxes, rays, random, Sizes::Even),
        9 => scattered(boxes, rays, random, Sizes::Points),
        10 => clusters(boxes, rays, random),
        _ => far_away(boxes, rays, random),
    };
    if random.once_in(4) {
        add_oddities(&mut boxes, random);
    }
    if random.once_in(3) {
        add_filters(&mut boxes, random);
    }
    if descriptor.dimensions == Dimensions::Two {
        flatten(&mut boxes, &mut rays);
    }
    let mut worlds = Vec::new();
    if descriptor.worlds > 1 {
        // Includes an invalid world, one past the last.
        worlds.extend(boxes.iter().map(|_| random.below(descriptor.worlds + 1)));
    }
    Scene {
        boxes,
        worlds,
        rays,
        descriptor,
        cell_size,
        min_scale: 0.5,
    }
}

/// Three in eight are three-dimensional without margin and worlds.
fn variant(random: &mut Random) -> BroadPhaseDescriptor<'static> {
    let (dimensions, margin, worlds) = match random.below(8) {
        0 | 1 => (Dimensions::Two, 0.0, 1),
        2 => (Dimensions::Three, 0.25, 1),
        3 => (Dimensions::Three, 0.0, 5),
        4 => (Dimensions::Two, 0.25, 300),
        _ => (Dimensions::Three, 0.0, 1),
    };
    BroadPhaseDescriptor {
        dimensions,
        margin,
        worlds,
        ..Default::default()
    }
}

/// Sets z to 0, as readers of two-dimensional files do.
fn flatten(boxes: &mut [Aabb], rays: &mut [Ray]) {
    for boxed in boxes {
        (boxed.min[2], boxed.max[2]) = (0.0, 0.0);
    }
    for ray in rays {
        (ray.origin[2], ray.direction[2]) = (0.0, 0.0);
    }
}

/// 0 to `largest`, with every octave equally likely.
fn count(random: &mut Random, largest: u32) -> u32 {
    let octaves = largest.ilog2() + 1;
    let octave = random.below(octaves + 1);
    if octave == 0 {
        return random.below(2);
    }
    let least = 1 << (octave - 1);
    (least + random.below(least)).min(largest)
}

#[derive(Clone, Copy)]
enum Sizes {
    Even,
    PowerLaw,
    Points,
}

/// Boxes and rays with coordinates on a lattice, each moved by at most one ulp.
fn lattice(boxes: u32, rays: u32, random: &mut Random) -> (Vec<Aabb>, Vec<Ray>) {
    let step = [1.0, 0.1, 1.0 / 3.0, 7.5, 1.0 / 1024.0][random.below(5) as usize];
    let offset = [0.0, 0.0, 0.0, 100.0, -1e6][random.below(5) as usize];
    let longest = [1_u32, 1, 2, 4][random.below(4) as usize];
    let flat = random.once_in(4);
    let axes = if flat { 2 } else { 3 };
    let mut edge = 2_u32;
    while edge.pow(axes) < boxes * (longest + 1).pow(axes) / 6 {
        edge += 1;
    }
    let at = |cell: u32, random: &mut Random| {
        nudge((offset + step * (f64::from(cell) - f64::from(edge / 2))) as f32, random)
    };
    let make_box = |random: &mut Random| {
        let (mut min, mut max) = ([0.0; 3], [0.0; 3]);
        for axis in 0..axes as usize {
            let cell = random.below(edge);
            let length = random.below(longest + 1);
            min[axis] = at(cell, random);
            max[axis] = at(cell + length, random);
            // A flat box whose bounds crossed becomes a point.
            if max[axis] < min[axis] {
                max[axis] = min[axis];
            }
        }
        Aabb::new(min, max)
    };
    let boxes = (0..boxes).map(|_| make_box(random)).collect();
    let make_ray = |random: &mut Random| {
        let (mut origin, mut direction) = ([0.0; 3], [0.0; 3]);
        for axis in 0..axes as usize {
            origin[axis] = at(random.below(edge + 2), random);
            direction[axis] = [0.0, -0.0, 1.0, -1.0, step as f32, -2.0, 1e-40][random.below(7) as usize];
        }
        let t_max = [f32::INFINITY, 1.0, step as f32, 0.0, 1e4, -1.0][random.below(6) as usize];
        Ray::new(origin, direction, t_max)
    };
    let rays = (0..rays).map(|_| make_ray(random)).collect();
    (boxes, rays)
}

fn scattered(boxes: u32, rays: u32, random: &mut Random, sizes: Sizes) -> (Vec<Aabb>, Vec<Ray>) {
    let side = 2.0 * f64::from(boxes + 1).cbrt();
    let make_box = |random: &mut Random| {
        let centre = [(); 3].map(|()| random.between(-side, side));
        let edge = match sizes {
            Sizes::Even => random.between(0.5, 1.5),
            Sizes::PowerLaw => 0.5 / (1.0 - random.between(0.0, 1.0 - 1.0 / 65536.0)).sqrt(),
            Sizes::Points => 0.0,
        };
        around(centre, [(); 3].map(|()| edge * random.between(0.5, 1.0)))
    };
    let boxes: Vec<_> = (0..boxes).map(|_| make_box(random)).collect();
    let rays = (0..rays).map(|_| ray([0.0; 3], side, random)).collect();
    (boxes, rays)
}

fn clusters(boxes: u32, rays: u32, random: &mut Random) -> (Vec<Aabb>, Vec<Ray>) {
    let side = 50.0 * f64::from(boxes + 1).cbrt();
    let centres = [(); 7].map(|()| [(); 3].map(|()| random.between(-side, side)));
    // Cells are crowded, so few boxes keep the number of pairs small.
    let boxes = boxes.min(1_000);
    let make_box = |random: &mut Random| {
        let cluster = centres[random.below(7) as usize];
        let centre = cluster.map(|value| value + random.bell());
        around(centre, [(); 3].map(|()| random.between(0.1, 0.9)))
    };
    let boxes = (0..boxes).map(|_| make_box(random)).collect();
    let rays = (0..rays)
        .map(|_| {
            let cluster = centres[random.below(7) as usize];
            ray(cluster, 3.0, random)
        })
        .collect();
    (boxes, rays)
}

/// A scene far from the origin, where an ulp may be as large as the boxes.
fn far_away(boxes: u32, rays: u32, random: &mut Random) -> (Vec<Aabb>, Vec<Ray>) {
    let distance = [1e5, 1e7, 3e9, 1e18, 1e30, 1e37][random.below(6) as usize];
    let home = [(); 3].map(|()| distance * random.between(-1.0, 1.0));
    let reach = [4.0, distance * 1e-6, distance][random.below(3) as usize];
    let make_box = |random: &mut Random| {
        let centre = home.map(|value| value + reach * random.between(-1.0, 1.0));
        around(centre, [(); 3].map(|()| 0.2 * reach * random.unit()))
    };
    let boxes = (0..boxes).map(|_| make_box(random)).collect();
    let rays = (0..rays).map(|_| ray(home, reach, random)).collect();
    (boxes, rays)
}

/// A ray that starts near `near`, sometimes along an axis, without length, or invalid.
fn ray(near: [f64; 3], reach: f64, random: &mut Random) -> Ray {
    let origin = near.map(|value| (value + reach * random.between(-1.5, 1.5)) as f32);
    let mut direction = random.direction(3).map(|value| value as f32);
    match random.below(8) {
        0 => direction[random.below(3) as usize] = 0.0,
        1 => {
            let axis = random.below(3) as usize;
            direction = [0.0; 3];
            direction[axis] = [1.0, -1.0, 3e20][random.below(3) as usize];
        }
        2 => direction = direction.map(|value| value * [1e-30, 1e-42, 1e30, 0.0][random.below(4) as usize]),
        3 if random.once_in(4) => {
            direction[random.below(3) as usize] = [f32::NAN, f32::INFINITY, f32::MAX][random.below(3) as usize];
        }
        _ => {}
    }
    let far = reach as f32;
    let t_max = match random.below(16) {
        0 => 0.0,
        1 => -1.0,
        2 => f32::NAN,
        3..=5 => far,
        6..=8 => 0.1 * far,
        _ => f32::INFINITY,
    };
    Ray::new(origin, direction, t_max)
}

fn add_oddities(boxes: &mut [Aabb], random: &mut Random) {
    let length = boxes.len() as u32;
    if length == 0 {
        return;
    }
    for _ in 0..=random.below(length.min(12)) {
        let boxed = &mut boxes[random.below(length) as usize];
        let axis = random.below(3) as usize;
        match random.below(7) {
            0 => *boxed = Aabb::new([-1e4; 3], [1e4; 3]),
            1 => *boxed = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
            2 => boxed.max[axis] = f32::INFINITY,
            3 => boxed.min[axis] = f32::NEG_INFINITY,
            4 => boxed.min[axis] = f32::NAN,
            5 => std::mem::swap(&mut boxed.min, &mut boxed.max),
            _ => *boxed = Aabb::new([f32::MIN; 3], [f32::MAX; 3]),
        }
    }
}

fn add_filters(boxes: &mut [Aabb], random: &mut Random) {
    for boxed in boxes {
        if random.once_in(2) {
            *boxed = boxed.with_layers(1 << random.below(3), 1 | 1 << random.below(3));
        }
        let group = random.below(6);
        let flag = match random.below(12) {
            0 => Aabb::EXCLUDED,
            1..=3 => Aabb::STATIC,
            _ => 0,
        };
        *boxed = boxed.with_group(group | flag);
    }
}

fn around(centre: [f64; 3], edges: [f64; 3]) -> Aabb {
    let bound = |sign: f64| std::array::from_fn(|axis| (centre[axis] + sign * edges[axis]) as f32);
    Aabb::new(bound(-0.5), bound(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_scenes_are_small_and_some_are_large() {
        let counts: Vec<_> = (0..2_000).map(|seed| random(seed, LARGEST).boxes.len()).collect();
        assert!(counts.iter().all(|&count| count <= LARGEST as usize));
        assert!(counts.contains(&0) && counts.contains(&1));
        assert!(counts.iter().filter(|&&count| count < 300).count() > 1_000);
        assert!(counts.iter().any(|&count| count > 4_000));
    }

    #[test]
    fn every_variant_comes_up() {
        let scenes: Vec<_> = (0..200).map(|seed| random(seed, LARGEST)).collect();
        let any = |wanted: fn(&Scene) -> bool| scenes.iter().any(wanted);
        assert!(any(
            |scene| scene.descriptor.dimensions == Dimensions::Two && !scene.rays.is_empty()
        ));
        assert!(any(|scene| scene.descriptor.margin > 0.0 && !scene.rays.is_empty()));
        assert!(any(|scene| scene.worlds.contains(&4)
            && scene.worlds.contains(&5)
            && !scene.rays.is_empty()));
        let plain = BroadPhaseDescriptor::default();
        assert!(scenes.iter().filter(|scene| scene.descriptor == plain).count() > 50);
        let flat = |scene: &&Scene| scene.descriptor.dimensions == Dimensions::Two;
        let mut flat_boxes = scenes.iter().filter(flat).flat_map(|scene| &scene.boxes);
        assert!(flat_boxes.all(|boxed| boxed.min[2] == 0.0 && boxed.max[2] == 0.0));
    }

    #[test]
    fn equal_seeds_make_equal_scenes() {
        let words = |seed| bytes(&random(seed, LARGEST));
        assert_eq!(words(5), words(5));
        assert_ne!(words(5), words(6));
    }

    fn bytes(scene: &Scene) -> Vec<u32> {
        let bounds = scene
            .boxes
            .iter()
            .flat_map(|boxed| boxed.min.into_iter().chain(boxed.max));
        let rays = scene
            .rays
            .iter()
            .flat_map(|ray| ray.origin.into_iter().chain(ray.direction));
        bounds.chain(rays).map(f32::to_bits).collect()
    }
}
