use super::*;
use crate::api::descriptor::ResultOrder;
use crate::api::error::DescriptorError;
use crate::api::input::{Queries, Source};
use crate::api::queries::{NearestObject, Query, QueryMode, SelfQuery};
use crate::api::scene::Statics;
use crate::reference::brute_force::Found;

fn agrees(mut found: Vec<u32>, expected: &Found) -> bool {
    found.sort_unstable();
    let is_once = found.windows(2).all(|two| two[0] < two[1]);
    let has = |list: &[(u32, f64)], object: &u32| list.binary_search_by_key(object, |&(other, _)| other).is_ok();
    let all = expected
        .surely
        .iter()
        .all(|(object, _)| found.binary_search(object).is_ok());
    let only = found
        .iter()
        .all(|object| has(&expected.surely, object) || has(&expected.perhaps, object));
    is_once && all && only
}

fn are_nearest(found: &[NearestObject], expected: &Found) -> bool {
    // Distances too small for floats count as 0; too large ones saturate.
    let clipped = |distance: f64| {
        if distance < 1e-37 {
            0.0
        } else {
            distance.min(f64::from(f32::MAX))
        }
    };
    let close = |a: f64, b: f64| (clipped(a) - clipped(b)).abs() <= 1e-6 * a.min(b).max(1e-38);
    let every: Vec<_> = expected.surely.iter().chain(&expected.perhaps).copied().collect();
    let mut distances: Vec<_> = every.iter().map(|&(_, distance)| distance).collect();
    distances.sort_by(f64::total_cmp);
    // Squared distances outside this range are inexact, so only the order of rows is tested.
    let is_lost = |squared: f32| !(2f32.powi(-120)..f32::INFINITY).contains(&squared);
    let given = found
        .iter()
        .take_while(|neighbor| neighbor.object != crate::NONE)
        .count();
    let enough = given >= expected.surely.len().min(found.len()) && given <= every.len();
    let ascending = found[..given].windows(2).all(|two| {
        let [first, second] = [two[0].squared_distance, two[1].squared_distance];
        first < second || (first == second && (two[0].object < two[1].object || is_lost(first)))
    });
    let exact = |object: u32| {
        every
            .iter()
            .find(|&&(other, _)| other == object)
            .map(|&(_, distance)| distance)
    };
    let right = found[..given].iter().zip(&distances).all(|(neighbor, &nearest)| {
        let distance = f64::from(neighbor.squared_distance).sqrt();
        exact(neighbor.object).is_some_and(|exact| {
            close(exact, nearest) && (is_lost(neighbor.squared_distance) || close(exact, distance))
        })
    });
    enough && ascending && right && found[given..].iter().all(|neighbor| *neighbor == NearestObject::NONE)
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, what: &str) {
    let expected = brute_force::scene_queries(descriptor, scene).unwrap();
    let result = step_scene(descriptor, scene).unwrap();
    assert_eq!(
        result.query_offsets.len(),
        if expected.is_empty() { 0 } else { expected.len() + 1 }
    );
    for (query, ends) in result.query_offsets.windows(2).enumerate() {
        let found = result.query_objects[ends[0] as usize..ends[1] as usize].to_vec();
        assert!(
            agrees(found.clone(), &expected[query]),
            "{what}, query {query}: {found:?}, expected {:?}",
            expected[query]
        );
    }
    for wanted in [1, 5] {
        let scene = Scene {
            query: QueryInput {
                query_mode: QueryMode::Nearest(wanted),
                ..scene.query
            },
            ..*scene
        };
        let nearest = step_scene(descriptor, &scene).unwrap().query_nearest;
        assert_eq!(nearest.len(), wanted as usize * expected.len());
        for (query, found) in nearest.chunks(wanted as usize).enumerate() {
            assert!(
                are_nearest(found, &expected[query]),
                "{what}, query {query}: {found:?}, expected {:?}",
                expected[query]
            );
        }
    }
}

fn queries(random: &mut SplitMix, objects: &[Aabb], worlds: u32) -> Vec<Query> {
    (0..60)
        .map(|_| {
            let object = objects[random.below(objects.len() as u32) as usize];
            let mut query = match random.below(5) {
                0 => Query::overlaps(object),
                1 => Query::point(if random.one_in(2) { object.min } else { object.max }),
                2 => Query::sphere(object.max, random.range(0.0, 3.0)),
                3 => Query {
                    radius: random.pick(&[0.5, 1.0, 1.5, 2.0]),
                    ..Query::overlaps(object)
                },
                _ => Query::overlaps(Aabb::new(
                    [0, 1, 2].map(|axis| object.min[axis] - 2.0),
                    [0, 1, 2].map(|axis| object.max[axis] + 5.0),
                )),
            };
            query.bounds.layers = random.pick(&[u32::MAX, u32::MAX, object.layers, 0x0003_0001]);
            match random.below(30) {
                0 => query.bounds.group = Aabb::EXCLUDED,
                1 => query.bounds.min[1] = f32::NAN,
                2 => query.bounds.max[0] = f32::INFINITY,
                3 => query.radius = -1.0,
                4 => query.radius = f32::NAN,
                5 => query.radius = random.pick(&[1e-30, 1e10, 3e38, f32::INFINITY]),
                6 => query.bounds.group = Aabb::STATIC | 1,
                _ => {}
            }
            query.in_world(random.below(worlds + 1))
        })
        .collect()
}

#[test]
fn queries_agree_with_brute_force() {
    let mut random = SplitMix(31);
    for kind in 0..KINDS {
        for count in [1, 40, 400] {
            let mut objects = scene(&mut random, kind, count);
            spoil(&mut random, &mut objects);
            for scheme in schemes(&mut random, &objects) {
                for descriptor in variants(scheme) {
                    let few = descriptor.worlds.min(4);
                    let worlds: Vec<_> = objects.iter().map(|_| random.below(few + 1)).collect();
                    let queries = queries(&mut random, &objects, few);
                    let boxes: Vec<_> = queries.iter().map(|query| query.bounds).collect();
                    let base = Scene {
                        worlds: Source::Host(if descriptor.worlds > 1 { &worlds[..] } else { &[] }),
                        ..only(&objects)
                    };
                    for queries in [
                        Queries::General(Source::Host(&queries)),
                        Queries::Boxes(Source::Host(&boxes)),
                    ] {
                        let scene = Scene {
                            query: QueryInput { queries, ..base.query },
                            ..base
                        };
                        check(
                            &descriptor,
                            &scene,
                            &format!("kind {kind} count {count} {descriptor:?}"),
                        );
                    }
                }
            }
        }
    }
}

fn points(random: &mut SplitMix, count: u32, on_lattice: bool) -> Vec<Aabb> {
    let mut coordinate = |random: &mut SplitMix| {
        if on_lattice {
            let value = random.below(8) as f32 * random.pick(&[0.25, 1.0]);
            nudge(random, value)
        } else {
            random.range(-9.0, 17.0)
        }
    };
    let mut point = |_| {
        let mut point = Aabb::point(random.vector(&mut coordinate));
        match random.below(40) {
            0 => point.group = Aabb::EXCLUDED,
            1 => point.min[0] = f32::NAN,
            2 => point.group = 5,
            3 => point.max[2] = f32::INFINITY,
            _ => {}
        }
        point
    };
    (0..count).map(&mut point).collect()
}

#[test]
fn neighbors_agree_with_brute_force() {
    let mut random = SplitMix(32);
    let asked = [
        (0.5, false),
        (1.0, true),
        (0.0, false),
        (2.3, true),
        (7.0, false),
        (1e20, true),
    ];
    let periods = [[0.0; 3], [8.0; 3], [8.0, 0.0, 16.0]];
    for (count, on_lattice) in [(1, false), (2, true), (50, true), (120, false), (200, true)] {
        let points = points(&mut random, count, on_lattice);
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 0.75 },
            Scheme::Adaptive { min_scale: 0.5 },
        ] {
            for (case, (radius, half)) in asked.into_iter().enumerate() {
                for dimensions in [Dimensions::Two, Dimensions::Three] {
                    for periods in periods {
                        let descriptor = BroadPhaseDescriptor {
                            scheme,
                            dimensions,
                            periods,
                            worlds: [1, 3][case % 2],
                            ..Default::default()
                        };
                        let ids: Vec<_> = (0..count).map(|point| point % 4).collect();
                        let scene = Scene {
                            worlds: Source::Host(if descriptor.worlds > 1 { &ids[..] } else { &[] }),
                            query: QueryInput {
                                queries: SelfQuery::Within { radius, half }.into(),
                                ..QueryInput::default()
                            },
                            ..only(&points)
                        };
                        let what =
                            format!("{count} points, on a lattice {on_lattice}, within {radius}, {descriptor:?}");
                        check(&descriptor, &scene, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn neighbors_once_are_half_of_neighbors_both_ways() {
    let mut random = SplitMix(33);
    let points: Vec<_> = (0..2000)
        .map(|_| Aabb::point(random.vector(|random| random.range(0.0, 10.0))))
        .collect();
    for periods in [[0.0; 3], [10.0; 3]] {
        let descriptor = BroadPhaseDescriptor {
            periods,
            pairs: false,
            ..Default::default()
        };
        let pairs = |half| {
            let scene = Scene {
                query: QueryInput {
                    queries: SelfQuery::Within { radius: 0.9, half }.into(),
                    ..QueryInput::default()
                },
                ..only(&points)
            };
            let result = step_scene(&descriptor, &scene).unwrap();
            let of = |query: usize| result.query_offsets[query] as usize..result.query_offsets[query + 1] as usize;
            let mut pairs: Vec<_> = (0..points.len())
                .flat_map(|query| {
                    result.query_objects[of(query)]
                        .iter()
                        .map(move |&other| (query as u32, other))
                })
                .collect();
            pairs.sort_unstable();
            pairs
        };
        let both = pairs(false);
        let once = pairs(true);
        assert_eq!(both.len(), 2 * once.len());
        assert!(once.iter().all(|&(a, b)| a < b && both.binary_search(&(b, a)).is_ok()));
    }
}

#[test]
fn query_tests_stay_few() {
    let mut random = SplitMix(34);
    let objects = benchmark(&mut random, 20_000);
    let queries: Vec<_> = objects.iter().step_by(10).copied().map(Query::overlaps).collect();
    for (scheme, limit) in [
        (Scheme::Hierarchical, 45),
        (Scheme::Uniform { cell_size: 1.5 }, 60),
        (Scheme::Adaptive { min_scale: 1.0 }, 400),
    ] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            count_candidates: true,
            pairs: false,
            ..Default::default()
        };
        let scene = Scene {
            query: QueryInput {
                queries: (&queries[..]).into(),
                ..QueryInput::default()
            },
            ..only(&objects)
        };
        let counters = step_scene(&descriptor, &scene).unwrap().counters;
        let tests = counters.query_candidates / queries.len() as u64;
        assert!((1..=limit).contains(&tests), "{scheme:?}: {tests} box tests a query");
    }
}

#[test]
fn search_bounds_hold_in_whatever_order_floats_are_summed() {
    let mut random = SplitMix(36);
    for _ in 0..200_000 {
        let scale = 2f32.powi(random.below(120) as i32 - 60);
        let low = random.range(-1.0, 1.0) * scale;
        let radius = random.range(0.0, 1.0) * scale * random.pick(&[1.0, 1e-3, 1e-6, 1e3]);
        let period = random.pick(&[0.0, 2.0, 1e3]) * scale;
        let moved = random.pick(&[-1.0, 0.0, 1.0]) * period;
        const SLACK: f32 = 1.0 / (1u32 << 20) as f32;
        let slacks = [
            low.abs() * SLACK + (period + radius) * SLACK,
            low.abs().mul_add(SLACK, (period + radius) * SLACK),
            (low.abs() + period + radius) * SLACK,
        ];
        // The slack must also cover the rounding of distances.
        let exact = f64::from(low) + f64::from(moved) - f64::from(radius);
        let rounded = 4.0 * f64::from(f32::EPSILON) * f64::from(low.abs() + moved.abs() + radius);
        for slack in slacks {
            let reaches = [radius + slack, (period + radius + low.abs()).mul_add(SLACK, radius)];
            for reach in reaches {
                for bound in [
                    low + moved - reach,
                    low + (moved - reach),
                    (low - reach) + moved,
                    (low + moved - radius) - slack,
                ] {
                    assert!(f64::from(bound) <= exact - rounded, "{low} {moved} {radius}: {bound}");
                }
            }
        }
    }
}

#[test]
fn nothing_costs_more_than_testing_everything_a_few_times() {
    let mut random = SplitMix(35);
    let points: Vec<_> = (0..300)
        .map(|_| Aabb::point(random.vector(|random| random.range(0.0, 1.0))))
        .collect();
    let boxes: Vec<_> = (0..300)
        .map(|_| {
            let corner = random.range(0.3, 0.301);
            Aabb::new([corner; 3], [corner + 3.1; 3])
        })
        .collect();
    let rods: Vec<_> = boxes
        .iter()
        .map(|cube| Aabb::new(cube.min, [cube.min[0] + 60.0, cube.min[1], cube.min[2]]))
        .collect();
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.0 },
        Scheme::Uniform { cell_size: 0.1 },
        Scheme::Adaptive { min_scale: 0.1 },
    ] {
        let descriptor = |periods| BroadPhaseDescriptor {
            scheme,
            periods,
            count_candidates: true,
            ..Default::default()
        };
        for (radius, periods) in [
            (2.0, [1.0; 3]),
            (0.5, [1.0; 3]),
            (0.49, [1.0, 0.0, 2.0]),
            (0.2, [1.0; 3]),
        ] {
            let scene = Scene {
                query: QueryInput {
                    queries: SelfQuery::within(radius).into(),
                    ..QueryInput::default()
                },
                ..only(&points)
            };
            let tests = step_scene(&descriptor(periods), &scene)
                .unwrap()
                .counters
                .query_candidates;
            let all = (points.len() * points.len()) as u64;
            assert!(
                tests <= 2 * all,
                "{scheme:?}, radius {radius} in {periods:?}: {tests} tests of {all}"
            );
        }
        for objects in [&boxes, &rods] {
            let scene = Scene {
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&objects[..40])),
                    ..QueryInput::default()
                },
                ..only(objects)
            };
            let counters = step_scene(&descriptor([0.0; 3]), &scene).unwrap().counters;
            let all = objects.len() as u64;
            assert!(counters.pair_candidates <= all * all, "{scheme:?}: {counters:?}");
            assert!(counters.query_candidates <= 4 * 40 * all, "{scheme:?}: {counters:?}");
        }
    }
}

#[test]
fn periods_and_radii_that_cannot_work_are_refused() {
    for period in [-1.0, f32::NAN, f32::INFINITY, 1e-40] {
        let descriptor = BroadPhaseDescriptor {
            periods: [0.0, period, 0.0],
            ..Default::default()
        };
        let error = step(&descriptor, &[], &[]).unwrap_err();
        assert!(
            matches!(error, BroadPhaseError::Descriptor(DescriptorError::Period(_))),
            "{period}: {error}"
        );
    }
    for radius in [-1.0, f32::NAN, f32::INFINITY] {
        let scene = Scene {
            query: QueryInput {
                queries: SelfQuery::Within { radius, half: false }.into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let error = step_scene(&BroadPhaseDescriptor::default(), &scene).unwrap_err();
        assert!(
            matches!(error, BroadPhaseError::Input(InputError::Radius(_))),
            "{radius}: {error}"
        );
    }
}

#[test]
fn neighbors_across_the_border_are_as_exact_as_elsewhere() {
    let mut random = SplitMix(35);
    for case in 0..60 {
        let period = random.pick(&[100.0, 0.1, 3.3, 7e4]);
        let radius = period * random.pick(&[1e-6, 1e-4, 0.03]);
        let iterations = random.pick(&[0, 1, 3, 1000]);
        let mut points = Vec::new();
        for _ in 0..200 {
            let border = period * (random.below(2 * iterations + 1) as f32 - iterations as f32);
            let at = random.vector(|random| border + radius * random.range(-2.0, 2.0));
            points.push(Aabb::point(at));
            points.push(Aabb::point(
                at.map(|bound| if bound < 0.0 { bound + period } else { bound }),
            ));
        }
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Uniform {
                cell_size: period / 9.0,
            },
            Scheme::Adaptive { min_scale: radius },
        ] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                periods: [period; 3],
                pairs: false,
                ..Default::default()
            };
            let neighbors = SelfQuery::Within { radius, half: false };
            let scene = Scene {
                query: QueryInput {
                    queries: neighbors.into(),
                    ..QueryInput::default()
                },
                ..only(&points)
            };
            check(
                &descriptor,
                &scene,
                &format!("case {case}, {neighbors:?}, {descriptor:?}"),
            );
        }
    }
}

#[test]
fn positions_are_moved_by_whole_periods_exactly() {
    let mut random = SplitMix(36);
    let descriptor = |period| BroadPhaseDescriptor {
        periods: [period, 0.0, 0.0],
        ..Default::default()
    };
    for _ in 0..20_000 {
        let period = random.range(0.5, 2.0) * random.pick(&[1.0, 1e-3, 64.0]);
        let value = match random.below(5) {
            0 => nudge(&mut random, period * 17.0),
            1 => nudge(&mut random, period),
            2 => random.range(-9.0, 9.0) * 1e9,
            3 => f32::from_bits(random.next() as u32),
            _ => random.range(-100.0, 100.0),
        };
        if !value.is_finite() {
            continue;
        }
        let object = [Aabb::point([value, 0.0, 0.0])];
        let moved = trace(&descriptor(period), &only(&object)).unwrap().tables.objects[0];
        let exact = grid::flush(value) % period;
        let expected = if exact < 0.0 { period + exact } else { exact };
        let expected = if expected >= period { 0.0 } else { expected };
        assert_eq!(
            (moved.min[0], moved.max[0]),
            (expected, expected),
            "{value} in {period}"
        );
    }
}

#[test]
fn nothing_apart_is_within_a_radius_of_zero() {
    let tiny = 2f32.powi(-64);
    let points = [0.0, tiny, 3.0 * tiny, tiny, -0.0].map(|x| Aabb::point([x, 0.0, 0.0]));
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.0 },
        Scheme::Uniform { cell_size: tiny },
        Scheme::Adaptive { min_scale: tiny },
    ] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..Default::default()
        };
        let scene = Scene {
            query: QueryInput {
                queries: SelfQuery::Within {
                    radius: 0.0,
                    half: false,
                }
                .into(),
                ..QueryInput::default()
            },
            ..only(&points)
        };
        check(&descriptor, &scene, &format!("{scheme:?}"));
    }
}

#[test]
fn results_are_bit_for_bit_those_of_the_reference_passes() {
    let mut random = SplitMix(61);
    for kind in 0..KINDS {
        for (count, wanted) in [(3, 8), (40, 1), (700, 3), (700, 40)] {
            let mut objects = scene(&mut random, kind, count);
            spoil(&mut random, &mut objects);
            let mut queries = queries(&mut random, &objects, 1);
            // Far from all objects, and around a crowd of them.
            queries.extend([
                Query::sphere([1e6; 3], f32::INFINITY),
                Query::sphere([0.0; 3], f32::INFINITY),
            ]);
            for statics in [0, objects.len() / 3] {
                let asked = [
                    Queries::General(Source::Host(&queries)),
                    SelfQuery::within(1.5).into(),
                    SelfQuery::Overlaps { half: true }.into(),
                ];
                let modes = [QueryMode::Nearest(wanted), QueryMode::All];
                let scenes = asked.iter().flat_map(|&queries| {
                    modes.map(|query_mode| Scene {
                        objects: objects[statics..].into(),
                        statics: Statics {
                            objects: objects[..statics].into(),
                            ..Statics::default()
                        },
                        query: QueryInput {
                            queries,
                            query_mode,
                            ..QueryInput::default()
                        },
                        ..Scene::default()
                    })
                });
                let scenes: Vec<_> = scenes.collect();
                for scheme in schemes(&mut random, &objects) {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        periods: random.pick(&[[0.0; 3], [0.0, 4.0, 7.5]]),
                        ..BroadPhaseDescriptor::default()
                    };
                    let sorted = BroadPhaseDescriptor {
                        outputs: OutputOptions {
                            order: ResultOrder::Sorted,
                            ..OutputOptions::default()
                        },
                        ..descriptor
                    };
                    for scene in &scenes {
                        let found = step_scene(&descriptor, scene).unwrap();
                        let expected = trace(&sorted, scene).unwrap();
                        let bytes = bytemuck::cast_slice::<NearestObject, u8>;
                        assert!(
                            bytes(&found.query_nearest) == bytes(&expected.query_nearest)
                                && found.query_objects == expected.query_objects,
                            "{scheme:?}, kind {kind}, {count} objects, {:?}",
                            scene.query.queries
                        );
                    }
                }
            }
        }
    }
}
