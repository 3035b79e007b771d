//! Examples published with the algorithms: queries.

use std::collections::HashMap;

use crate::common::pool::pooled;
use crate::common::{Rng, adapters};
use crate::seed_pairs::square;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Queries, Query, QueryInput, Scene, Scheme, Source, cpu};
use pollster::block_on;
use wild::answers::lists;

fn flat(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        scheme,
        dimensions: Dimensions::Two,
        pairs: false,
        ..Default::default()
    }
}

fn found(descriptor: &BroadPhaseDescriptor<'static>, objects: &[Aabb], queries: &[Query]) -> Vec<Vec<u32>> {
    let scene = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            queries: Queries::General(Source::Host(queries)),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    let expected = lists(&cpu::step_scene(descriptor, &scene).unwrap());
    for adapter in adapters() {
        let result = block_on(pooled(&adapter, descriptor).step_scene(&scene)).unwrap();
        assert_eq!(lists(&result), expected, "{}", adapter.name);
    }
    expected
}

/// From the spatial hash of Playchilla: once the box has moved by 2, only a query that moves too finds it.
#[test]
fn spatial_hash_move_and_overlap() {
    let descriptor = flat(Scheme::Uniform { cell_size: 10.0 });
    let test = |x: f32| Query::overlaps(square([x - 1.0, 0.0], [x + 1.0, 1.0]));
    let before = [square([0.0, 0.0], [4.0, 4.0])];
    assert_eq!(found(&descriptor, &before, &[test(0.0)]), [[0]]);
    let moved = [square([2.0, 0.0], [6.0, 4.0])];
    assert_eq!(found(&descriptor, &moved, &[test(0.0), test(2.0)]), [vec![], vec![0]]);
}

/// From the half-shifted layers (AHGrid): an object from 3 to 5 is in scale 4, one from 4 to 6 in scale 8. One lookup
/// per layer finds both.
#[test]
fn half_shifted_layers_find_at_a_point_and_within_a_radius() {
    let descriptor = BroadPhaseDescriptor {
        count_candidates: true,
        ..flat(Scheme::Adaptive { min_scale: 1.0 })
    };
    let units = [square([3.0; 2], [5.0; 2]), square([4.0; 2], [6.0; 2])];
    let at = |x: f32, y: f32| Query::point([x, y, f32::NAN]);
    let points = [
        at(3.5, 3.5),
        at(4.5, 4.5),
        at(5.0, 4.0),
        at(5.5, 5.5),
        at(6.5, 5.0),
        at(6.0, 6.0),
    ];
    assert_eq!(
        found(&descriptor, &units, &points),
        [vec![0], vec![0, 1], vec![0, 1], vec![1], vec![], vec![1]]
    );
    let around = |radius| Query::sphere([7.0, 5.0, f32::NAN], radius);
    let circles = [around(0.9), around(1.0), around(1.9), around(2.0)];
    assert_eq!(
        found(&descriptor, &units, &circles),
        [vec![], vec![1], vec![1], vec![0, 1]]
    );

    let scene = Scene {
        objects: Source::Host(&units),
        query: QueryInput {
            queries: Queries::General(Source::Host(&points[1..2])),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    let counters = cpu::step_scene(&descriptor, &scene).unwrap().counters;
    // Per layer, one test of the object and one of its cluster.
    assert_eq!((counters.levels, counters.query_candidates), (2, 4));
}

/// From the hash of points (a Python dictionary): a lookup finds exactly the points at its position.
#[test]
fn hash_of_points() {
    const POINTS: usize = 100_000;
    let descriptor = BroadPhaseDescriptor {
        scheme: Scheme::Uniform { cell_size: 10.0 },
        pairs: false,
        ..Default::default()
    };
    for adapter in adapters() {
        let mut rng = Rng(2007);
        let mut points: Vec<_> = (0..POINTS)
            .map(|_| Aabb::point([0; 3].map(|_| rng.unit() * 200.0 - 100.0)))
            .collect();
        (0..1000).for_each(|index| points[POINTS - 1 - index] = points[3 * index]);
        let mut at: HashMap<[u32; 3], Vec<u32>> = HashMap::new();
        for (index, point) in (0..).zip(&points) {
            at.entry(point.min.map(f32::to_bits)).or_default().push(index);
        }
        let mut headless = pooled(&adapter, &descriptor);
        block_on(headless.step(&points, &[])).unwrap();
        let result = block_on(headless.query(&QueryInput {
            queries: Queries::Boxes(Source::Host(&points)),
            ..QueryInput::default()
        }))
        .unwrap();
        assert!(result.counters.is_complete());
        for (point, list) in points.iter().zip(lists(&result)) {
            assert_eq!(list, at[&point.min.map(f32::to_bits)], "{}", adapter.name);
        }
    }
}
