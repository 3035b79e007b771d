use super::*;

#[test]
fn queries_with_a_nan_inverted_bounds_or_a_negative_radius_find_nothing() {
    let objects = cubes();
    let all_around = Query::overlaps(Aabb::new([-9.0; 3], [9.0; 3]));
    let mut faulty: Vec<_> = (0..6)
        .flat_map(|bound| NANS.map(|nan| Query::from(with_bound(bound, nan))))
        .chain((0..3).map(|axis| Query::from(with_bound(axis, 2.0))))
        .chain([Query::from(Aabb::new([INFINITY; 3], [-INFINITY; 3]))])
        .collect();
    let bounds: Vec<_> = faulty.iter().map(|query| query.bounds).collect();
    let radii = [-1.0, -1e-45, f32::MIN, -INFINITY].into_iter().chain(NANS);
    faulty.extend(radii.map(|radius| Query { radius, ..all_around }));
    faulty.extend([1, u32::MAX].map(|world| all_around.in_world(world)));
    let excluded = Query::from(all_around.bounds.with_group(Aabb::EXCLUDED));
    let mixed: Vec<_> = faulty.iter().flat_map(|&query| [query, all_around, excluded]).collect();
    for query_mode in [QueryMode::All, QueryMode::Nearest(2)] {
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                queries: mixed.as_slice().into(),
                query_mode,
                ..QueryInput::default()
            },
            ..Default::default()
        };
        assert_eq!(check(&scene, "faulty queries").queries_invalid as usize, faulty.len());
        let scene = Scene {
            query: QueryInput {
                queries: bounds.as_slice().into(),
                ..scene.query
            },
            ..scene
        };
        let counters = check(&scene, "faulty boxes");
        assert_eq!(
            (counters.queries_invalid as usize, counters.results_needed),
            (bounds.len(), 0)
        );
    }
}

#[test]
fn infinite_huge_and_vanishing_queries_find_all_that_they_cover() {
    let mut objects = among(&[
        Aabb::new([-INFINITY; 3], [INFINITY; 3]),
        Aabb::point([INFINITY; 3]),
        Aabb::point([f32::MAX; 3]),
        Aabb::point([-1e-45; 3]),
    ]);
    objects[3].min[0] = f32::NAN;
    let boxes = [
        Aabb::new([-INFINITY; 3], [INFINITY; 3]),
        Aabb::new([-INFINITY, 0.0, 0.0], [INFINITY, 0.0, 0.5]),
        Aabb::point([INFINITY; 3]),
        Aabb::point([-INFINITY; 3]),
        Aabb::new([f32::MIN; 3], [f32::MAX; 3]),
        Aabb::new([-1e-45; 3], [-0.0; 3]),
        Aabb::point([0.0; 3]),
        Aabb::point([1e30; 3]),
    ];
    let radii = [0.0, 1e-45, f32::MIN_POSITIVE, 1e30, 3.4e38, INFINITY];
    let queries: Vec<_> = boxes
        .iter()
        .flat_map(|&bounds| {
            radii.map(|radius| Query {
                radius,
                ..bounds.into()
            })
        })
        .collect();
    for query_mode in [QueryMode::All, QueryMode::Nearest(4)] {
        for queries in [
            Queries::Boxes(Source::Host(&boxes)),
            Queries::General(Source::Host(&queries)),
        ] {
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    queries,
                    query_mode,
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            assert_eq!(check(&scene, "queries without end").queries_invalid, 0);
        }
    }
}

#[test]
fn more_nearest_objects_than_there_are_end_in_none() {
    let objects = cubes();
    let queries = [
        Query::sphere([0.5; 3], 2.0),
        Query::sphere([0.5; 3], INFINITY),
        Query::point([9.0; 3]),
    ];
    let scene = Scene {
        objects: Source::Host(&objects[..5]),
        query: QueryInput {
            queries: queries.as_slice().into(),
            query_mode: QueryMode::Nearest(40),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    check(&scene, "more than there are");
    for mut bench in benches() {
        let Bench { adapter, by_mode } = &mut *bench;
        let (descriptor, on_gpu) = &mut by_mode[0];
        for (nearest, queries) in [(0, &queries[..]), (0, &[]), (1025, &queries[..1]), (u32::MAX, &queries)] {
            let scene = Scene {
                query: QueryInput {
                    queries: queries.into(),
                    query_mode: QueryMode::Nearest(nearest),
                    ..scene.query
                },
                ..scene
            };
            let error = on_gpu
                .step(&mut encoder(adapter), scene)
                .expect_err("too few or too many");
            let expected = match nearest {
                0 => InputError::Zero {
                    what: "nearest objects",
                },
                _ => InputError::TooMany {
                    what: "nearest objects",
                    count: nearest.into(),
                    limit: 1024,
                },
            };
            assert_eq!(error, StepError::Input(expected), "{descriptor:?}");
        }
        let nobody = Scene {
            query: QueryInput {
                queries: Queries::None,
                query_mode: QueryMode::Nearest(1024),
                ..scene.query
            },
            ..scene
        };
        assert!(whole(adapter, on_gpu, nobody).query_nearest.is_empty());
    }
}

#[test]
fn a_radius_of_minus_zero_is_none() {
    let queries = [Query::sphere([0.0; 3], -0.0), Query::sphere([1.5; 3], -0.0)];
    for query_mode in [QueryMode::All, QueryMode::Nearest(2)] {
        let scene = Scene {
            objects: Source::Host(&cubes()),
            query: QueryInput {
                queries: queries.as_slice().into(),
                query_mode,
                ..QueryInput::default()
            },
            ..Default::default()
        };
        check(&scene, "minus zero");
    }
}

#[test]
fn excluded_queries_are_not_invalid_whatever_they_hold() {
    let excluded = Query::from(Aabb::new([-9.0; 3], [9.0; 3]).with_group(Aabb::EXCLUDED));
    let with_bounds = |bounds: Aabb| Query::from(bounds.with_group(Aabb::EXCLUDED));
    let queries = [
        Query {
            radius: -1.0,
            ..excluded
        },
        Query {
            radius: f32::NAN,
            ..excluded
        },
        excluded.in_world(7),
        with_bounds(with_bound(0, f32::NAN)),
        with_bounds(with_bound(1, 2.0)),
    ];
    let scene = Scene {
        objects: Source::Host(&cubes()),
        query: QueryInput {
            queries: queries.as_slice().into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    assert_eq!(check(&scene, "excluded queries").queries_invalid, 0);
}

#[test]
fn nearest_objects_come_by_distance_however_far_or_near_they_are() {
    let mut rng = Rng(77);
    for units in [&[1e19, 1e30, 3e36][..], &[1e-25, 2e-37], &[1e-30, 1.0, 1e25]] {
        let mut objects: Vec<_> = (0..60)
            .map(|_| {
                let unit = units[rng.below(units.len())];
                Aabb::point([0, 1, 2].map(|_| unit * (1.0 + 40.0 * rng.unit())))
            })
            .collect();
        objects.push(Aabb::point([0.0; 3]));
        let at_all = objects.iter().map(|object| Query::sphere(object.min, INFINITY));
        let queries: Vec<_> = at_all.chain([Query::sphere([0.0; 3], units[0] * 50.0)]).collect();
        for most in [1, 5, 70] {
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    queries: queries.as_slice().into(),
                    query_mode: QueryMode::Nearest(most),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            for mut bench in benches() {
                let Bench { adapter, by_mode } = &mut *bench;
                let (descriptor, on_gpu) = &mut by_mode[0];
                let result = check_on(adapter, descriptor, on_gpu, &scene, "extreme distances");
                let expected = brute_force::scene_queries(descriptor, &scene).unwrap();
                for (rows, found) in result.query_nearest.chunks(most as usize).zip(expected) {
                    let mut sorted: Vec<_> = found.surely.iter().map(|&(_, distance)| distance).collect();
                    sorted.sort_by(f64::total_cmp);
                    for (row, nearest) in rows.iter().zip(sorted) {
                        let (_, distance) = found.surely.iter().find(|(object, _)| *object == row.object).unwrap();
                        let is_next = (distance - nearest).abs() <= 1e-6 * nearest + 1e-37;
                        assert!(
                            is_next,
                            "{row:?} at {distance}, where {nearest} is next: {descriptor:?}"
                        );
                    }
                }
            }
        }
        let all = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                queries: queries.as_slice().into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        check(&all, "extreme distances");
    }
}

#[test]
fn minus_zero_is_zero_wherever_a_length_is_given() {
    let objects = cubes();
    let rays = [SweptRay {
        t_min: -0.0,
        half_extents: [-0.0; 3],
        ..Ray::new([0.5, 0.5, 0.5], [0.0, 0.0, 1.0], -0.0).into()
    }];
    for adapter in adapters() {
        let minus_zero = BroadPhaseDescriptor {
            margin: -0.0,
            periods: [-0.0; 3],
            ..Default::default()
        };
        for queries in [
            Queries::General(Source::Host(&[Query::sphere([0.5; 3], -0.0)])),
            SelfQuery::within(-0.0).into(),
        ] {
            for query_mode in [QueryMode::All, QueryMode::Nearest(3)] {
                let scene = Scene {
                    objects: Source::Host(&objects),
                    query: QueryInput {
                        rays: Rays::Swept(Source::Host(&rays)),
                        queries,
                        query_mode,
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let mut on_gpu = broad_phase(&adapter, &minus_zero);
                let result = check_on(&adapter, &minus_zero, &mut on_gpu, &scene, "minus zero");
                let zeros = BroadPhaseDescriptor::default();
                let expected = cpu::step_scene(&zeros, &scene).unwrap();
                assert_eq!(result.pairs, expected.pairs);
                assert!(result.ray_hits.iter().all(|hit| hit.t.is_sign_positive()));
                assert!(
                    result
                        .query_nearest
                        .iter()
                        .all(|row| row.squared_distance.is_sign_positive())
                );
            }
        }
    }
}

#[test]
fn a_radius_of_the_largest_float_reaches_everything() {
    let objects = [f32::MIN, f32::MAX].map(|far| Aabb::point([far, 0.0, 0.0]));
    let queries = [Query::sphere([f32::MIN, 0.0, 0.0], f32::MAX)];
    for queries in [
        Queries::General(Source::Host(&queries)),
        SelfQuery::Within {
            radius: f32::MAX,
            half: false,
        }
        .into(),
    ] {
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                queries,
                ..QueryInput::default()
            },
            ..Default::default()
        };
        for mut bench in benches() {
            let Bench { adapter, by_mode } = &mut *bench;
            let (descriptor, on_gpu) = &mut by_mode[0];
            let found = whole(adapter, on_gpu, scene);
            let on_cpu = cpu::step_scene(descriptor, &scene).unwrap();
            let each =
                |result: &gpu_broad_phase::StepResult| result.query_offsets.windows(2).all(|ends| ends[1] > ends[0]);
            assert!(each(&found) && each(&on_cpu), "{descriptor:?} on {}", adapter.name);
        }
    }
}
