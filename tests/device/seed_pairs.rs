//! Examples published with the algorithms: pairs and cells.

use crate::common::pool::pooled;
use crate::common::{Rng, adapters};
use gpu_broad_phase::internals::counters::PAIR_CANDIDATES;
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Pair, Scene, Scheme, Source, grid::Level};
use pollster::block_on;

fn flat(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        dimensions: Dimensions::Two,
        ..Default::default()
    }
}

pub fn square(min: [f32; 2], max: [f32; 2]) -> Aabb {
    // z is ignored in two dimensions.
    Aabb::new([min[0], min[1], f32::NAN], [max[0], max[1], f32::NAN])
}

fn pairs(descriptor: &BroadPhaseDescriptor<'_>, objects: &[Aabb]) -> Vec<Pair> {
    let mut pairs = gpu_broad_phase::cpu::step(descriptor, objects, &[]).unwrap().pairs;
    pairs.sort_unstable();
    for adapter in adapters() {
        let mut found = block_on(pooled(&adapter, descriptor).step(objects, &[])).unwrap().pairs;
        found.sort_unstable();
        assert_eq!(found, pairs, "{}", adapter.name);
    }
    pairs
}

fn layers(descriptor: &BroadPhaseDescriptor<'_>, objects: &[Aabb]) -> Vec<(f32, Level)> {
    let scene = Scene {
        objects: Source::Host(objects),
        ..Default::default()
    };
    let grid = trace(descriptor, &scene).unwrap().grid;
    let occupied = grid.levels.iter().filter(|level| level.count > 0);
    occupied.map(|level| (2.0 / level.inverse, *level)).collect()
}

/// From the spatial hash of Playchilla.
#[test]
fn spatial_hash_exclusion() {
    let descriptor = flat(Scheme::Uniform { cell_size: 10.0 });
    let mut objects = [square([0.0, 0.0], [4.0, 4.0]), square([2.0, 2.0], [6.0, 6.0])];
    assert_eq!(pairs(&descriptor, &objects), [Pair { a: 0, b: 1 }]);
    objects[1].group |= Aabb::EXCLUDED;
    assert_eq!(pairs(&descriptor, &objects), []);
    objects[1].group &= !Aabb::EXCLUDED;
    assert_eq!(pairs(&descriptor, &objects), [Pair { a: 0, b: 1 }]);
}

/// From the spatial hash: boxes are a pair while they touch, also across 0.
#[test]
fn spatial_hash_update_across_cells() {
    let descriptor = flat(Scheme::Uniform { cell_size: 10.0 });
    let resting = square([-1.0, 0.0], [1.0, 1.0]);
    for step in -30..=30 {
        let x = step as f32;
        let moving = square([x, 0.0], [x + 4.0, 4.0]);
        let expected = if (-5.0..=1.0).contains(&x) {
            vec![Pair { a: 0, b: 1 }]
        } else {
            vec![]
        };
        assert_eq!(pairs(&descriptor, &[resting, moving]), expected, "at {x}");
    }
}

/// From the hashes of points and of rectangles.
#[test]
fn boxes_over_cell_borders_are_found_from_both_sides() {
    for scheme in [
        Scheme::Uniform { cell_size: 10.0 },
        Scheme::Adaptive { min_scale: 10.0 },
        Scheme::Hierarchical,
    ] {
        let objects = [
            square([9.0, 9.0], [11.0, 11.0]),
            square([8.0, 8.0], [9.0, 9.0]),
            square([11.0, 8.0], [12.0, 9.0]),
            square([8.0, 11.0], [9.0, 12.0]),
            square([11.0, 11.0], [12.0, 12.0]),
            square([12.5, 12.5], [13.0, 13.0]),
        ];
        let expected = [1, 2, 3, 4].map(|b| Pair { a: 0, b });
        assert_eq!(pairs(&flat(scheme), &objects), expected, "{scheme:?}");
    }
}

/// From the hierarchical hash grid: sizes from 1 to 10^6 need no tuning, and objects leave and return.
#[test]
fn hierarchical_grid_of_sizes_from_one_to_a_million() {
    let mut rng = Rng(6);
    let mut objects: Vec<_> = (0..1500)
        .map(|_| {
            let size = 10f32.powf(6.0 * rng.unit());
            // Near 0, so that boxes of all sizes overlap.
            let low = [0; 3].map(|_| (rng.unit() - 0.5) * 4.0 * size);
            Aabb::new(low, low.map(|low| low + size))
        })
        .collect();
    let descriptor = BroadPhaseDescriptor::default();
    let all = pairs(&descriptor, &objects);
    assert!(all.windows(2).all(|two| two[0] < two[1]), "each pair once");
    assert_eq!(all, brute_force::pairs(&objects));
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Default::default()
    };
    let counted = BroadPhaseDescriptor {
        count_candidates: true,
        ..descriptor
    };
    let tests = trace(&counted, &scene).unwrap().counters[PAIR_CANDIDATES];
    assert!(
        tests as usize <= 6 * all.len(),
        "{tests} box tests for {} pairs",
        all.len()
    );

    objects
        .iter_mut()
        .step_by(3)
        .for_each(|object| object.group |= Aabb::EXCLUDED);
    let fewer = pairs(&descriptor, &objects);
    assert_eq!(fewer, brute_force::pairs(&objects));
    assert!(!fewer.is_empty() && fewer.len() < all.len());
    objects.iter_mut().for_each(|object| object.group &= !Aabb::EXCLUDED);
    assert_eq!(pairs(&descriptor, &objects), all);
}

/// From the half-shifted layers: [3, 5] is in cell [2, 6) of scale 4. [4, 6] crosses 6, so it is in cell [4, 12) of
/// scale 8.
#[test]
fn half_shifted_layers_of_the_published_example() {
    let descriptor = flat(Scheme::Adaptive { min_scale: 1.0 });
    let cell = |(side, level): &(f32, Level)| {
        assert_eq!((level.lower_x, level.lower_y), (level.upper_x, level.upper_y));
        let begin = (level.lower_x as f32 - 0.5) * side;
        (*side, begin, begin + side)
    };
    let only = |low: f32, high: f32| layers(&descriptor, &[square([low; 2], [high; 2])]);
    assert_eq!(only(3.0, 5.0).iter().map(cell).collect::<Vec<_>>(), [(4.0, 2.0, 6.0)]);
    assert_eq!(only(4.0, 6.0).iter().map(cell).collect::<Vec<_>>(), [(8.0, 4.0, 12.0)]);
    // Cells are not mirrored: they stay closed at the lower end.
    assert_eq!(
        only(-5.0, -3.0).iter().map(cell).collect::<Vec<_>>(),
        [(4.0, -6.0, -2.0)]
    );

    let units = [
        square([3.0; 2], [5.0; 2]),
        square([4.0; 2], [6.0; 2]),
        square([6.5; 2], [7.0; 2]),
    ];
    assert_eq!(pairs(&descriptor, &units), [Pair { a: 0, b: 1 }]);
}

/// From the half-shifted layers: per axis, small objects cross borders of at most one layer.
#[test]
fn half_shifted_layers_do_not_send_small_objects_far_up() {
    let descriptor = BroadPhaseDescriptor {
        scheme: Scheme::Adaptive { min_scale: 1.0 },
        ..Default::default()
    };
    let mut rng = Rng(8);
    for _ in 0..2000 {
        let low = [0; 3].map(|_| (rng.unit() - 0.5) * 1000.0);
        let object = Aabb::new(low, low.map(|low| low + 0.01));
        let layers = layers(&descriptor, &[object]);
        assert!(layers[0].0 <= 8.0, "{object:?} in a layer of scale {}", layers[0].0);
    }
}
