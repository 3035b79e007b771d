//! Rays, queries and worlds for any boxes.

use gpu_broad_phase::{ALL_WORLDS, Aabb, Query, Ray, SweptRay};

use crate::Rng;
use crate::boxes::{Space, around, between, filter, float, spoil};

/// Returns a corner of an object, a point in or near one, or any point.
fn place(objects: &[Aabb], space: &Space, rng: &mut Rng) -> [f32; 3] {
    let near = 4.0 * space.unit;
    match (rng.below(6), objects.len()) {
        (0 | 1, 1..) => {
            let object = &objects[rng.below(objects.len())];
            [0, 1, 2].map(|axis| rng.one_of(&[object.min[axis], object.max[axis]]))
        }
        (2, 1..) => {
            let object = &objects[rng.below(objects.len())];
            [0, 1, 2].map(|axis| {
                let [low, high] = [object.min[axis], object.max[axis]].map(f64::from);
                float(low + (high - low) * rng.between(-0.2, 1.2))
            })
        }
        (3, _) if rng.once_in(4) => [0; 3].map(|_| float(rng.sign() * rng.magnitude(-45.0, 38.5))),
        _ => space.middle.map(|middle| float(middle + rng.between(-near, near))),
    }
}

pub(crate) fn ray(objects: &[Aabb], space: &Space, worlds: u32, rng: &mut Rng) -> SweptRay {
    let (mut origin, to) = (place(objects, space, rng), place(objects, space, rng));
    let mut direction = [0, 1, 2].map(|axis| to[axis] - origin[axis]);
    let axis = rng.below(3);
    match rng.below(16) {
        0 => direction = [0.0, -0.0, 1e-40],
        1 => direction[axis] = 0.0,
        2 | 3 => direction = [0, 1, 2].map(|other| if other == axis { direction[axis] } else { 0.0 }),
        4 => origin = [0, 1, 2].map(|axis| origin[axis] - 2.0 * direction[axis]),
        5 => direction = direction.map(|component| component * 1e-3),
        6 => direction = direction.map(|component| component * float(rng.magnitude(-30.0, 30.0))),
        7 => direction[axis] *= 1e-30,
        8 => direction[axis] *= 1e-7,
        9 => direction = direction.map(|component| component.signum()),
        10 if rng.once_in(4) => direction[axis] = rng.one_of(&[f32::NAN, 1e38, f32::INFINITY, 2f32.powi(126)]),
        11 if rng.once_in(4) => origin[axis] = rng.one_of(&[f32::NAN, f32::NEG_INFINITY, 1e-40, 1e30]),
        _ => {}
    }
    let t_max = match rng.below(12) {
        0 => rng.one_of(&[0.0, -0.0, -1.0, f32::NAN, 1e-40, f32::MAX]),
        1..4 => rng.one_of(&[1.0, 0.5, 2.0, 100.0]),
        4 => float(rng.magnitude(-10.0, 10.0)),
        _ => f32::INFINITY,
    };
    swept(Ray::new(origin, direction, t_max), space, worlds, rng)
}

pub(crate) fn swept(ray: Ray, space: &Space, worlds: u32, rng: &mut Rng) -> SweptRay {
    let mut swept = SweptRay::new(ray).with_world(rng.below(worlds as usize) as u32);
    let axis = rng.below(3);
    if rng.once_in(2) {
        let extent = (space.unit * rng.magnitude(-6.0, 2.0)).min(space.widest);
        swept.half_extents = [0; 3].map(|_| float(extent * rng.one_of(&[0.0, 0.5, 1.0])));
    }
    match rng.below(24) {
        0 => swept.half_extents[axis] = rng.one_of(&[-0.0, -1e-45, f32::NAN, f32::INFINITY, 1e-45, 1e30, f32::MAX]),
        1 => swept.t_min = rng.one_of(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-40]),
        2..6 => swept.t_min = rng.one_of(&[0.25, 1.0, -2.0, 0.5]),
        6 => swept.world = rng.one_of(&[worlds, u32::MAX]),
        7..10 => swept.ray = ray.with_layers(rng.below(16) as u16, rng.below(16) as u16),
        _ => {}
    }
    swept
}

pub(crate) fn query(objects: &[Aabb], space: &Space, worlds: u32, rng: &mut Rng) -> Query {
    let corner = place(objects, space, rng);
    let mut bounds = match rng.below(5) {
        0 => Aabb::point(corner),
        1 => between(corner, place(objects, space, rng)),
        2 if !objects.is_empty() => {
            let object = objects[rng.below(objects.len())];
            let grown = space.unit * rng.one_of(&[0.0, 1e-3, 1.0, 1e3]);
            let moved = |corner: [f32; 3], side: f64| corner.map(|bound| float(f64::from(bound) + side * grown));
            between(moved(object.min, -1.0), moved(object.max, 1.0))
        }
        _ => {
            let edges = [0; 3].map(|_| space.unit * rng.magnitude(-6.0, 4.0));
            let shift = rng.between(0.0, 1.0);
            let centre = [0, 1, 2].map(|axis| f64::from(corner[axis]) + shift * edges[axis]);
            around(centre, edges)
        }
    };
    if let Some(axis) = space.flat.filter(|_| !rng.once_in(4)) {
        bounds.min[axis] = float(space.middle[axis]);
        bounds.max[axis] = bounds.min[axis];
    }
    if rng.once_in(20) {
        spoil(&mut bounds, rng);
    }
    if rng.once_in(10) {
        filter(&mut bounds, rng);
    }
    let radius = match rng.below(12) {
        0..5 => 0.0,
        5 => rng.one_of(&[f32::INFINITY, f32::MAX, f32::NAN, -1.0, -0.0, 1e-40, 1e30]),
        6 => float(rng.magnitude(-44.0, 38.0)),
        _ => float(space.unit * rng.magnitude(-4.0, 4.0)),
    };
    Query {
        bounds,
        radius,
        world: if rng.once_in(30) {
            worlds
        } else {
            rng.below(worlds as usize) as u32
        },
        reserved: [0; 2],
    }
}

const MOST_OF_ALL: u32 = 20;

/// Few worlds have most objects. Some worlds do not exist, few objects are in all. Empty if `count` is 1.
pub(crate) fn worlds(count: u32, objects: usize, rng: &mut Rng) -> Vec<u32> {
    let mut of_all = 0;
    let world = |_| match rng.below(30) {
        0 => {
            let world = rng.one_of(&[count, ALL_WORLDS]);
            of_all += u32::from(world == ALL_WORLDS);
            if of_all <= MOST_OF_ALL { world } else { count }
        }
        1 => rng.below(count as usize) as u32,
        _ => rng.below(2) as u32,
    };
    let objects = if count == 1 { 0 } else { objects };
    (0..objects).map(world).collect()
}
