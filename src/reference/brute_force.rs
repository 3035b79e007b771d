//! The answer by the definition: every object against every other. Shares nothing with the grid but the one exact
//! predicate of rays, [`enter_box`].

use super::ray::{LoadedRay, enter_box, load_ray};
use crate::descriptor::BroadPhaseDescriptor;
use crate::grid::ordered;
use crate::scene::Scene;
use crate::types::{Aabb, Pair, Ray, RayHit};

/// Takes part at all: not excluded, without a NaN, no bound above its opposite.
fn is_active(object: &Aabb) -> bool {
    // A NaN makes the comparison false.
    object.owner < Aabb::EXCLUDED && (0..3).all(|axis| object.min[axis] <= object.max[axis])
}

fn is_admitted(a: &Aabb, b: &Aabb) -> bool {
    let [members_a, members_b] = [a, b].map(|object| object.layers as u16);
    let [mask_a, mask_b] = [a, b].map(|object| (object.layers >> 16) as u16);
    let owner_of = |object: &Aabb| object.owner % Aabb::STATIC;
    let is_static = |object: &Aabb| object.owner & Aabb::STATIC != 0;
    members_a & mask_b != 0
        && members_b & mask_a != 0
        && (owner_of(a) == 0 || owner_of(a) != owner_of(b))
        && !(is_static(a) && is_static(b))
}

/// All pairs, ascending by `(a, b)`, filters honoured. Takes time of the order of the square of the objects.
pub fn pairs(objects: &[Aabb]) -> Vec<Pair> {
    let active: Vec<(u32, &Aabb)> = (0..).zip(objects).filter(|(_, object)| is_active(object)).collect();
    let mut pairs = Vec::new();
    for (place, &(a, first)) in active.iter().enumerate() {
        for &(b, second) in &active[place + 1..] {
            let meet = |axis: usize| first.min[axis] <= second.max[axis] && second.min[axis] <= first.max[axis];
            if meet(0) && meet(1) && meet(2) && is_admitted(first, second) {
                pairs.push(Pair { a, b });
            }
        }
    }
    pairs
}

/// All pairs of a scene, ascending: [`pairs`] after dimensions, margin and worlds are seen to.
pub fn scene_pairs(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Vec<Pair> {
    let axes = descriptor.dimensions.count() as usize;
    let as_compared = |object: &Aabb| {
        let mut object = *object;
        object.min[axes..].fill(0.0);
        object.max[axes..].fill(0.0);
        let finite = object.min.iter().chain(&object.max).all(|bound| bound.is_finite());
        if descriptor.margin > 0.0 && finite && (0..axes).all(|axis| object.min[axis] <= object.max[axis]) {
            for axis in 0..axes {
                object.min[axis] = (object.min[axis] - descriptor.margin).next_down();
                object.max[axis] = (object.max[axis] + descriptor.margin).next_up();
            }
        }
        object
    };
    let objects: Vec<_> = scene.objects.iter().map(as_compared).collect();
    let mut pairs = pairs(&objects);
    if descriptor.worlds > 1 {
        let world = |object: u32| scene.worlds[object as usize];
        pairs.retain(|pair| world(pair.a) == world(pair.b) && world(pair.a) < descriptor.worlds);
    }
    pairs
}

fn hits<'a>(objects: &'a [Aabb], ray: &'a LoadedRay) -> impl Iterator<Item = RayHit> + 'a {
    let candidates = if ray.valid && ray.t_max >= 0.0 { objects } else { &[] };
    (0..)
        .zip(candidates)
        .filter(|(_, object)| is_active(object))
        .filter_map(|(index, object)| {
            let t = enter_box(ray, &object.min.map(ordered), &object.max.map(ordered))?;
            Some(RayHit { object: index, t })
        })
}

/// The closest hit of each ray: the smallest `t`, ties to the smallest object, [`RayHit::MISS`] for none.
pub fn rays_closest(objects: &[Aabb], rays: &[Ray]) -> Vec<RayHit> {
    let closest = |ray: &Ray| {
        // Hits come by ascending object, so that the first of equals stays.
        hits(objects, &load_ray(ray)).fold(RayHit::MISS, |best, hit| if hit.t < best.t { hit } else { best })
    };
    rays.iter().map(closest).collect()
}

/// All hits of each ray, ascending by object.
pub fn rays_all(objects: &[Aabb], rays: &[Ray]) -> Vec<Vec<RayHit>> {
    rays.iter().map(|ray| hits(objects, &load_ray(ray)).collect()).collect()
}
