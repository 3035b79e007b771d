//! Tiles of a world, stepped one by one, give the answer of the undivided world (`examples/tiles`).

#[path = "../../examples/tiles/tiles.rs"]
mod example;

use crate::common::steps::{INFINITY, NANS, SCHEMES, sorted, with_bound};
use crate::common::{KINDS, Rng, adapters, scene};
use example::{Tiles, gather, merge_closest, ordered};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, Headless, HeadlessDescriptor, Ray, RayHit, Scene, Source, StepResult,
};
use pollster::block_on;

/// Boxes and rays whose corners lie on a lattice and beside it, among points, giants and boxes without an end.
fn world(count: usize, rng: &mut Rng) -> (Vec<Aabb>, Vec<Ray>) {
    let given = scene(KINDS - 1, count, 40, rng);
    let mut objects = given.objects;
    for _ in 0..count / 8 {
        let point = objects[rng.below(objects.len())].min;
        objects.push(Aabb::point(point));
    }
    let denormal = f32::from_bits(1);
    let points = [0.0, -0.0, denormal, -denormal, f32::MAX, INFINITY, -INFINITY];
    objects.extend(points.map(|coordinate| Aabb::point([coordinate; 3])));
    // Two that meet nowhere but at infinity.
    objects.push(Aabb::new([1e30, 0.0, 0.0], [INFINITY, 1.0, 1.0]));
    objects.push(Aabb::new([INFINITY, 0.5, 0.5], [INFINITY; 3]));
    // All over one side, or over everything: no ray comes past them.
    if rng.below(3) == 0 {
        objects.extend((0..6).map(|bound| with_bound(bound, [-INFINITY, INFINITY][bound / 3])));
        objects.push(Aabb::new([-INFINITY; 3], [INFINITY; 3]));
        objects.push(Aabb::new([-1e30; 3], [1e30; 3]));
    }
    // Of no account in two dimensions, whatever the bits.
    for nan in NANS
        .into_iter()
        .chain([f32::from_bits(0x7fff_ffff), f32::from_bits(u32::MAX)])
    {
        objects.push(with_bound(2, nan));
        objects.push(with_bound(5, nan));
    }
    (objects, given.rays)
}

/// 1 to 27 tiles with borders at bounds of the boxes, beside them, at zeros of either sign and at infinity.
fn borders(objects: &[Aabb], axes: usize, rng: &mut Rng) -> Tiles {
    let counts = [0, 1, 2].map(|axis| if axis < axes { 1 + rng.below(3) } else { 1 });
    if rng.below(3) == 0 {
        return Tiles::balanced(objects, counts);
    }
    Tiles::new([0, 1, 2].map(|axis| {
        let border = |_| {
            let object = &objects[rng.below(objects.len())];
            let bound = [object.min, object.max][rng.below(2)][axis];
            match rng.below(8) {
                0 => bound.next_up(),
                1 => bound.next_down(),
                2 => [0.0, -0.0, f32::from_bits(1), INFINITY, -INFINITY][rng.below(5)],
                _ => bound,
            }
        };
        (1..counts[axis]).map(border).collect()
    }))
}

/// Steps the tiles and compares the joined answer with the definition's of the whole. Returns how many pairs tiles left
/// to others, and how many rays hit something past their start.
fn check(
    descriptor: &BroadPhaseDescriptor<'_>,
    tiles: &Tiles,
    objects: &[Aabb],
    rays: &[Ray],
    mut step: impl FnMut(&[Aabb], &[Ray]) -> StepResult,
) -> [usize; 2] {
    let mut pairs = Vec::new();
    let mut closest = vec![RayHit::MISS; rays.len()];
    let mut found = 0;
    let routed = tiles.route(descriptor.dimensions, objects, rays);
    for (tile, (members, its_rays)) in tiles.split(objects).iter().zip(&routed).enumerate() {
        let result = step(&gather(objects, members), &gather(rays, its_rays));
        found += result.pairs.len();
        pairs.extend(tiles.block(tile).keep(objects, members, &result.pairs));
        merge_closest(&mut closest, members, its_rays, &result.ray_hits);
    }
    let whole = Scene {
        objects: Source::Host(objects),
        rays: rays.into(),
        ..Scene::default()
    };
    let expected = brute_force::scene_pairs(descriptor, &whole).unwrap();
    assert!(!expected.is_empty());
    let dropped = found - pairs.len();
    assert!(sorted(pairs) == expected, "other pairs: {tiles:?}, {descriptor:?}");
    let expected: Vec<_> = brute_force::scene_rays(descriptor, &whole)
        .unwrap()
        .iter()
        .map(|hits| brute_force::closest(hits))
        .collect();
    let bits = |hits: &[RayHit]| hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect::<Vec<_>>();
    assert_eq!(bits(&closest), bits(&expected), "{tiles:?}, {descriptor:?}");
    [
        dropped,
        closest.iter().filter(|hit| hit.t > 0.0 && hit.t.is_finite()).count(),
    ]
}

const DIMENSIONS: [(Dimensions, usize); 2] = [(Dimensions::Three, 3), (Dimensions::Two, 2)];

#[test]
fn tiles_give_the_answer_of_the_whole_on_the_cpu() {
    let mut rng = Rng(97);
    let (mut most, mut dropped, mut hits) = (0, 0, 0);
    for round in 0..60 {
        let (dimensions, axes) = DIMENSIONS[round % 2];
        let descriptor = BroadPhaseDescriptor {
            dimensions,
            scheme: SCHEMES[round % 3],
            ..Default::default()
        };
        let (objects, rays) = world(20 + rng.below(150), &mut rng);
        let tiles = borders(&objects, axes, &mut rng);
        most = most.max(tiles.count());
        let counted = check(&descriptor, &tiles, &objects, &rays, |objects, rays| {
            cpu::step(&descriptor, objects, rays).unwrap()
        });
        dropped += counted[0];
        hits += counted[1];
    }
    assert!(
        most == 27 && dropped > 0 && hits > 0,
        "{most} tiles, {dropped} pairs left to others, {hits} hits past the start"
    );
}

#[test]
fn tiles_give_the_answer_of_the_whole_on_devices() {
    for adapter in adapters() {
        let mut rng = Rng(131);
        for (dimensions, axes) in DIMENSIONS {
            let descriptor = BroadPhaseDescriptor {
                dimensions,
                ..Default::default()
            };
            let mut headless = block_on(Headless::with_descriptor(&HeadlessDescriptor {
                backends: Some(adapter.backends),
                broad_phase: descriptor,
                ..Default::default()
            }))
            .unwrap();
            for _ in 0..3 {
                let (objects, rays) = world(150, &mut rng);
                let tiles = borders(&objects, axes, &mut rng);
                check(&descriptor, &tiles, &objects, &rays, |objects, rays| {
                    block_on(headless.step(objects, rays)).unwrap()
                });
            }
        }
    }
}

/// Of tiles that touch, have no room, and lie at the ends of what floats there are.
#[test]
fn every_pattern_of_bits_lies_in_one_tile_and_in_that_which_is_told() {
    let mut rng = Rng(5);
    let special = [
        0.0,
        -0.0,
        f32::from_bits(1),
        -f32::from_bits(1),
        1.0,
        f32::MAX,
        INFINITY,
        -INFINITY,
    ];
    for axis in 0..3 {
        for _ in 0..200 {
            let mut coordinate = || match rng.below(2) {
                0 => special[rng.below(special.len())],
                _ => f32::from_bits(rng.bits() as u32),
            };
            let mut borders = [const { Vec::new() }; 3];
            borders[axis] = (0..4).map(|_| coordinate()).collect();
            let tiles = Tiles::new(borders);
            for _ in 0..50 {
                let mut point = [0.5; 3];
                point[axis] = coordinate();
                let point = Aabb::point(point);
                let holding: Vec<_> = (0..tiles.count())
                    .filter(|&tile| tiles.block(tile).is_home_of(&point, &point))
                    .collect();
                assert_eq!(holding, [tiles.owner(&point)], "{point:?} in {tiles:?}");
                assert!(tiles.overlapped(&point).eq(holding), "{point:?} in {tiles:?}");
            }
        }
    }
    assert!(ordered(-0.0) == ordered(0.0) && ordered(-INFINITY) > i32::MIN);
}
