//! Results by definition: every object is tested against every other, static ones first. Shares with the grid
//! only [`enter_box`], the exact ray test, and [`load_ray`].

use std::collections::HashSet;

use super::rays::ray::{enter_box, load_ray};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::InputError;
use crate::api::queries::{Query, SelfQuery};
use crate::api::scene::Scene;
use crate::api::types::{ALL_WORLDS, Aabb, Dimensions, Pair, Ray, RayHit, SweptRay};
use crate::layout::grid::{Params, ordered};
use crate::reference::host::HostScene;

fn is_admitted(a: &Aabb, b: &Aabb) -> bool {
    let [members_a, members_b] = [a, b].map(|object| object.layers as u16);
    let [mask_a, mask_b] = [a, b].map(|object| (object.layers >> 16) as u16);
    let group_of = |object: &Aabb| object.group % Aabb::STATIC;
    let is_static = |object: &Aabb| object.group & Aabb::STATIC != 0;
    members_a & mask_b != 0
        && members_b & mask_a != 0
        && (group_of(a) == 0 || group_of(a) != group_of(b))
        && !(is_static(a) && is_static(b))
}

/// Returns all pairs that filters admit, ascending. Takes quadratic time.
pub fn pairs(objects: &[Aabb]) -> Vec<Pair> {
    let active: Vec<(u32, &Aabb)> = (0..)
        .zip(objects)
        .filter(|(_, object)| !object.is_ignored(Dimensions::Three))
        .collect();
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

fn as_compared(descriptor: &BroadPhaseDescriptor<'_>, object: &Aabb) -> Aabb {
    let axes = descriptor.dimensions.count() as usize;
    let mut object = *object;
    object.min[axes..].fill(0.0);
    object.max[axes..].fill(0.0);
    if descriptor.margin.is_normal() && !object.is_ignored(Dimensions::Three) {
        for axis in 0..axes {
            let (low, high) = (object.min[axis], object.max[axis]);
            if low.is_finite() {
                object.min[axis] = (low - descriptor.margin).next_down();
            }
            if high.is_finite() {
                object.max[axis] = (high + descriptor.margin).next_up();
            }
        }
    }
    object
}

fn meet(world: u32, other: u32) -> bool {
    world == other || [world, other].contains(&ALL_WORLDS)
}

fn excluded(scene: &HostScene<'_>) -> HashSet<Pair> {
    let in_order = |pair: &Pair| Pair::new(pair.a, pair.b);
    scene.excluded_pairs.iter().map(in_order).collect()
}

/// Returns all pairs of a scene that are not excluded, ascending. The descriptor's dimensions, margin, worlds and
/// filters apply.
///
/// # Errors
/// Fails if part of the scene is on a device.
pub fn scene_pairs(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Vec<Pair>, InputError> {
    Ok(pairs_of(descriptor, &HostScene::of(scene)?))
}

pub(crate) fn pairs_of(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Vec<Pair> {
    let (mut objects, worlds) = scene.all_objects();
    for (index, object) in objects.iter_mut().enumerate() {
        *object = as_compared(descriptor, object);
        if !descriptor.filters {
            // Static objects never pair with each other, even without filters.
            let kept = if index < scene.static_objects.len() {
                Aabb::EXCLUDED | Aabb::STATIC
            } else {
                Aabb::EXCLUDED
            };
            object.layers = Aabb::ALL_LAYERS;
            object.group &= kept;
        }
    }
    let mut pairs = pairs(&objects);
    let excluded = excluded(scene);
    pairs.retain(|pair| !excluded.contains(pair));
    if descriptor.worlds > 1 {
        let world = |object: u32| worlds[object as usize];
        let exists = |world: u32| world < descriptor.worlds || world == ALL_WORLDS;
        pairs.retain(|pair| {
            let [a, b] = [pair.a, pair.b].map(world);
            meet(a, b) && exists(a) && exists(b)
        });
    }
    pairs
}

/// Returns all hits of each ray of a scene, ascending by object. The descriptor's dimensions, margin and worlds apply,
/// and layers if its filters are on.
///
/// # Errors
/// As [`scene_pairs`].
pub fn scene_rays(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Vec<Vec<RayHit>>, InputError> {
    Ok(rays_of(descriptor, &HostScene::of(scene)?))
}

pub(crate) fn rays_of(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Vec<Vec<RayHit>> {
    let params = Params {
        dimensions: descriptor.dimensions.count(),
        world_count: descriptor.worlds,
        ..Params::default()
    };
    let (objects, worlds) = scene.all_objects();
    let hits = |ray: &SweptRay| {
        let ray = load_ray(&params, ray);
        let asks = ray.valid && ray.t_max >= 0.0;
        let candidates = if asks { &objects[..] } else { &[] };
        let hit = |(index, object): (u32, &Aabb)| {
            let object = as_compared(descriptor, object);
            let in_world = descriptor.worlds == 1 || meet(worlds[index as usize], ray.world);
            let meets_layers = ray.layers as u16 & (object.layers >> 16) as u16 != 0
                && object.layers as u16 & (ray.layers >> 16) as u16 != 0;
            if object.is_ignored(Dimensions::Three) || !in_world || (descriptor.filters && !meets_layers) {
                return None;
            }
            let t = enter_box(&ray, &object.min.map(ordered), &object.max.map(ordered))?;
            Some(RayHit { object: index, t })
        };
        (0..).zip(candidates).filter_map(hit).collect()
    };
    scene.rays.iter().map(hits).collect()
}

/// Returns the hit with the smallest `t`, then the smallest object, or [`RayHit::MISS`]. `hits` must be ascending by
/// object.
pub fn closest(hits: &[RayHit]) -> RayHit {
    let nearer = |best: RayHit, &hit: &RayHit| if hit.t < best.t { hit } else { best };
    hits.iter().fold(RayHit::MISS, nearer)
}

/// As [`scene_rays`], with a default descriptor.
pub fn rays_all(objects: &[Aabb], rays: &[Ray]) -> Vec<Vec<RayHit>> {
    let scene = HostScene {
        objects,
        rays: rays.iter().copied().map(SweptRay::new).collect(),
        ..HostScene::default()
    };
    rays_of(&BroadPhaseDescriptor::default(), &scene)
}

/// Returns the closest hit of each ray.
pub fn rays_closest(objects: &[Aabb], rays: &[Ray]) -> Vec<RayHit> {
    rays_all(objects, rays).iter().map(|hits| closest(hits)).collect()
}

/// Returns 1 for each ray that hits anything, else 0.
pub fn rays_any(objects: &[Aabb], rays: &[Ray]) -> Vec<u32> {
    let any = |hits: &Vec<RayHit>| u32::from(!hits.is_empty());
    rays_all(objects, rays).iter().map(any).collect()
}

/// Results of a query. Distances are exact to 2^-50 here, but the passes round to 24 bits. So an object may be found or
/// not if its distance is within this tolerance of the radius:
/// `4 * (radius * f32::EPSILON + f32::MIN_POSITIVE)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Objects that must be found, ascending, with their distances.
    pub surely: Vec<(u32, f64)>,
    /// Objects that may be found, ascending, with their distances.
    pub perhaps: Vec<(u32, f64)>,
}

impl Found {
    fn add(&mut self, object: u32, distance: f64, radius: f32) {
        // The largest float stands for an infinite radius.
        let is_endless = radius >= f32::MAX;
        let radius = f64::from(radius);
        // Passes flush denormals to 0, hence the second term.
        let tolerance = 4.0 * (radius * f64::from(f32::EPSILON) + f64::from(f32::MIN_POSITIVE));
        if distance <= radius - tolerance || distance == 0.0 || is_endless {
            self.surely.push((object, distance));
        } else if distance <= radius + tolerance {
            self.perhaps.push((object, distance));
        }
    }
}

/// Returns the results of each query of a scene. A self-query for overlaps omits excluded pairs.
///
/// # Errors
/// As [`scene_pairs`].
pub fn scene_queries(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Vec<Found>, InputError> {
    Ok(queries_of(descriptor, &HostScene::of(scene)?))
}

/// An object as compared, with its index and world.
type Compared = (u32, Aabb, u32);

pub(crate) fn queries_of(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Vec<Found> {
    let (all, worlds) = scene.all_objects();
    let objects: Vec<Compared> = (0..)
        .zip(&all)
        .map(|(index, object)| {
            let world = match descriptor.worlds {
                1 => 0,
                _ => worlds[index as usize],
            };
            (index, as_compared(descriptor, object), world)
        })
        .filter(|(_, object, world)| {
            !object.is_ignored(Dimensions::Three) && (*world < descriptor.worlds || *world == ALL_WORLDS)
        })
        .collect();
    match scene.query_input.self_query() {
        Some(asked_for) => self_query_of(descriptor, scene, asked_for, &objects, all.len()),
        None => {
            let answer = |query: &Query| query_of(descriptor, query, &objects);
            scene.queries.iter().map(answer).collect()
        }
    }
}

fn query_of(descriptor: &BroadPhaseDescriptor<'_>, query: &Query, objects: &[Compared]) -> Found {
    let exact = BroadPhaseDescriptor {
        margin: 0.0,
        ..*descriptor
    };
    let bounds = as_compared(&exact, &query.bounds);
    let mut found = Found::default();
    let has_radius = query.radius >= 0.0;
    if bounds.is_ignored(Dimensions::Three) || !has_radius || query.world >= descriptor.worlds {
        return found;
    }
    for (index, object, world) in objects {
        if meet(*world, query.world) && (!descriptor.filters || is_admitted(object, &bounds)) {
            let gap = |axis: usize| {
                let after = f64::from(object.min[axis]) - f64::from(bounds.max[axis]);
                let before = f64::from(bounds.min[axis]) - f64::from(object.max[axis]);
                after.max(before).max(0.0)
            };
            found.add(*index, norm(descriptor, gap), query.radius);
        }
    }
    found
}

fn norm(descriptor: &BroadPhaseDescriptor<'_>, gap: impl Fn(usize) -> f64) -> f64 {
    let axes = 0..descriptor.dimensions.count() as usize;
    axes.map(|axis| gap(axis).powi(2)).sum::<f64>().sqrt()
}

fn self_query_of(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
    asked_for: SelfQuery,
    objects: &[Compared],
    count: usize,
) -> Vec<Found> {
    let position = |object: &Aabb, axis: usize| match descriptor.periods[axis] {
        0.0 => f64::from(object.min[axis]),
        // `rem_euclid` may round up to the period.
        period => match object.min[axis].rem_euclid(period) {
            moved if moved < period => f64::from(moved),
            _ => 0.0,
        },
    };
    let is_finite = |object: &Aabb| object.min.iter().chain(&object.max).all(|bound| bound.is_finite());
    let (half, is_near) = match asked_for {
        SelfQuery::Within { half, .. } => (half, true),
        SelfQuery::Overlaps { half } => (half, false),
    };
    let takes_part = |(_, object, _): &&Compared| !is_near || is_finite(object);
    let parts: Vec<_> = objects.iter().filter(takes_part).collect();
    let mut answers = vec![Found::default(); count];
    let excluded = excluded(scene);
    for &(querier, by, own_world) in &parts {
        for &(index, object, world) in &parts {
            let is_wanted = if half { index > querier } else { index != querier };
            let are_static = (*index.max(querier) as usize) < scene.static_objects.len();
            let is_admitted = !descriptor.filters || is_admitted(object, by);
            if !is_wanted || are_static || !meet(*world, *own_world) || !is_admitted {
                continue;
            }
            let found = &mut answers[*querier as usize];
            match asked_for {
                SelfQuery::Overlaps { .. } => {
                    let meets = |axis: usize| object.min[axis] <= by.max[axis] && by.min[axis] <= object.max[axis];
                    let axes = descriptor.dimensions.count() as usize;
                    if (0..axes).all(meets) && !excluded.contains(&Pair::new(*querier, *index)) {
                        found.surely.push((*index, 0.0));
                    }
                }
                SelfQuery::Within { radius, .. } => {
                    let gap = |axis: usize| {
                        let apart = (position(object, axis) - position(by, axis)).abs();
                        match descriptor.periods[axis] {
                            0.0 => apart,
                            period => apart.min(f64::from(period) - apart),
                        }
                    };
                    found.add(*index, norm(descriptor, gap), radius);
                }
            }
        }
    }
    answers
}
