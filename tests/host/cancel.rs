//! The CPU engine searches once, on several threads, where passes search twice. Results must have the same bytes.

use std::time::Duration;

use gpu_broad_phase::cpu::{CancelToken, CpuBroadPhase, compared_objects, step_scene};
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, DescriptorError, Growth, OutputOptions, Queries, Query, QueryInput,
    QueryMode, Ray, RayHit, RayMode, Scene, StepResult,
};

/// Sorts each list, unless a capacity limits them.
fn sorted<T: Copy>(rows: &[T], offsets: &[u32], is_limited: bool, key: fn(&T) -> u32) -> Vec<T> {
    let mut rows = rows.to_vec();
    if is_limited {
        return rows;
    }
    for ends in offsets.windows(2) {
        rows[ends[0] as usize..ends[1] as usize].sort_by_key(key);
    }
    rows
}

#[test]
fn a_step_answers_what_its_passes_leave() {
    let [mut pairs, mut hits, mut results] = [0; 3];
    for number in 0..400 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let passes = trace(&descriptor, &scene).unwrap();
        let outputs = &descriptor.outputs;
        let is_limited = |capacity: Option<u32>| capacity.is_some() && outputs.growth == Growth::Fixed;
        let [hits_limited, results_limited] = [outputs.capacities.hits, outputs.capacities.results].map(is_limited);
        let by_object = |hit: &RayHit| hit.object;
        let hits_by_object = sorted(&passes.ray_hits, &passes.ray_offsets, hits_limited, by_object);
        let objects_by_number = sorted(
            &passes.query_objects,
            &passes.query_offsets,
            results_limited,
            |&object| object,
        );
        let step = || step_scene(&descriptor, &scene).unwrap();
        for answer in on_threads(step) {
            assert_eq!(answer.pairs, passes.pairs, "scene {number}");
            assert_eq!(answer.world_pairs, passes.world_pairs, "scene {number}");
            assert_eq!(answer.ray_hits, hits_by_object, "scene {number}");
            assert_eq!(answer.ray_offsets, passes.ray_offsets, "scene {number}");
            assert_eq!(answer.ray_any, passes.ray_any, "scene {number}");
            assert_eq!(answer.query_objects, objects_by_number, "scene {number}");
            assert_eq!(answer.query_offsets, passes.query_offsets, "scene {number}");
            assert_eq!(answer.query_nearest, passes.query_nearest, "scene {number}");
            let counters = answer.counters;
            let wide = |at: usize| u64::from(passes.counters[at]) | u64::from(passes.counters[at + 1]) << 32;
            // Word indices, as documented in `Counters`.
            let counted = [
                (10, counters.pairs_needed),
                (12, counters.hits_needed),
                (22, counters.results_needed),
                (14, counters.pair_candidates),
                (16, counters.ray_candidates),
                (26, counters.query_candidates),
            ];
            for (at, count) in counted {
                assert_eq!(wide(at), count, "scene {number}: word {at}");
            }
            let invalid = [counters.rays_invalid, counters.queries_invalid];
            assert_eq!([6, 24].map(|at| passes.counters[at]), invalid, "scene {number}");
            pairs += answer.pairs.len();
            hits += answer.ray_hits.len();
            results += answer.query_objects.len();
        }
    }
    assert!(pairs.min(hits).min(results) > 1000, "{pairs} {hits} {results}");
}

#[test]
fn compared_objects_have_the_pairs_of_their_scene() {
    let mut pairs = 0;
    for number in 0..200 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let objects = compared_objects(&descriptor, &scene).unwrap();
        let worlds = [scene.statics.worlds, scene.worlds].map(|worlds| worlds.elements().unwrap());
        let worlds = worlds.concat();
        let plain = BroadPhaseDescriptor {
            worlds: descriptor.worlds,
            filters: descriptor.filters,
            ..Default::default()
        };
        let compared = Scene {
            objects: objects[..].into(),
            worlds: worlds[..].into(),
            excluded_pairs: scene.excluded_pairs,
            ..Default::default()
        };
        let whole = BroadPhaseDescriptor {
            pairs: true,
            outputs: OutputOptions {
                growth: Growth::Grow,
                ..descriptor.outputs
            },
            ..descriptor
        };
        let mut expected = step_scene(&whole, &scene).unwrap().pairs;
        expected.sort_unstable();
        let mut found = brute_force::scene_pairs(&plain, &compared).unwrap();
        // Without filters, pairs of static objects are not excluded.
        found.retain(|pair| pair.b as usize >= scene.statics.objects.len());
        assert_eq!(found, expected, "scene {number}");
        pairs += expected.len();
    }
    assert!(pairs > 1000, "{pairs}");
}

#[test]
fn a_kept_table_answers_as_a_step_does() {
    let [mut hits, mut results] = [0; 2];
    for number in 0..300 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let alone = Scene {
            query: QueryInput {
                rays: Default::default(),
                queries: Default::default(),
                ..scene.query
            },
            ..scene
        };
        let mut kept = CpuBroadPhase::new(&descriptor).unwrap();
        assert_eq!(kept.query(&QueryInput::default()), Err(BroadPhaseError::NoStep));
        assert_eq!(
            kept.step_scene(&scene),
            step_scene(&descriptor, &scene),
            "scene {number}"
        );
        let pairs = kept.step_scene(&alone).unwrap();
        assert_eq!(Ok(&pairs), step_scene(&descriptor, &alone).as_ref(), "scene {number}");
        let later = wild.later.as_ref().map(|(asks, mode)| (asks.queries(), *mode));
        let own = (scene.query.queries, scene.query.query_mode);
        for (queries, query_mode) in later.into_iter().chain([own, own]) {
            for ray_mode in [
                RayMode::All,
                RayMode::Any,
                RayMode::Closest,
                descriptor.outputs.ray_mode,
            ] {
                kept.set_ray_mode(ray_mode);
                let asking = Scene {
                    query: QueryInput {
                        queries,
                        query_mode,
                        ..scene.query
                    },
                    ..scene
                };
                let asked = QueryInput {
                    rays: asking.query.rays,
                    queries,
                    query_mode,
                    ..Default::default()
                };
                let expected = step_scene(
                    &BroadPhaseDescriptor {
                        outputs: OutputOptions {
                            ray_mode,
                            ..descriptor.outputs
                        },
                        ..descriptor
                    },
                    &asking,
                )
                .unwrap();
                let found = kept.query(&asked).unwrap();
                hits += found.ray_hits.len();
                results += found.query_objects.len() + found.query_nearest.len();
                assert_eq!(found.counters, expected.counters, "scene {number}");
                let without_pairs = StepResult {
                    pairs: Vec::new(),
                    world_pairs: Vec::new(),
                    ..expected
                };
                assert_eq!(found, without_pairs, "scene {number}");
            }
            let refused = QueryInput {
                queries,
                query_mode: QueryMode::Nearest(0),
                ..Default::default()
            };
            assert!(
                matches!(kept.query(&refused), Err(BroadPhaseError::Input(_))),
                "scene {number}"
            );
        }
    }
    assert!(hits.min(results) > 1000, "{hits} {results}");
}

#[test]
fn a_cancel_token_reports_progress_and_ends_a_step() {
    // All points share a cell, and none overlap each other.
    let crowd: Vec<_> = (0..2_000_000)
        .map(|index| Aabb::point([index as f32 / 4e6, 0.25, 0.0]))
        .chain([Aabb::new([-1.0; 3], [0.9; 3])])
        .collect();
    let descriptor = BroadPhaseDescriptor {
        scheme: gpu_broad_phase::Scheme::Uniform { cell_size: 1.0 },
        ..Default::default()
    };
    let scene = Scene {
        objects: crowd[..].into(),
        ..Default::default()
    };
    let token = CancelToken::default();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| token.run(|| step_scene(&descriptor, &scene)));
        let mut seen = (0, 0);
        // Waits for the search of pairs, the only walk of this step.
        while !(seen.1 >= 2_000_000 && (1..seen.1).contains(&seen.0)) {
            assert!(!work.is_finished(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(1));
            seen = token.progress();
        }
        token.stop();
        assert_eq!(work.join().unwrap(), Err(BroadPhaseError::Cancelled));
    });
    let few = || gpu_broad_phase::cpu::step(&descriptor, &crowd[..3], &[]);
    assert_eq!(token.run(few), Err(BroadPhaseError::Cancelled));
    assert!(few().is_ok());
    let other = CancelToken::default();
    assert!(other.run(few).is_ok());
    // Neither the inner token nor a panic replaces the outer one.
    other.run(|| {
        assert!(token.run(few).is_err());
        assert!(std::panic::catch_unwind(|| token.run(|| panic!("its own"))).is_err());
        assert!(few().is_ok());
    });
}

#[test]
fn a_query_cancelled_at_any_row_leaves_a_table_that_answers_as_before() {
    let places: Vec<_> = (0..40_000)
        .map(|index| [index % 41, index % 37, index % 31].map(|place| place as f32))
        .collect();
    let objects: Vec<_> = places
        .iter()
        .map(|&place| Aabb::from_center_half(place, [1.0; 3]))
        .collect();
    let scene = Scene {
        objects: objects[..].into(),
        ..Default::default()
    };
    let queries: Vec<_> = places.iter().map(|&place| Query::sphere(place, 2.0)).collect();
    let rays: Vec<_> = places
        .iter()
        .map(|&place| Ray::new(place, [1.0, 0.5, 0.25], 20.0))
        .collect();
    let modes = [QueryMode::All, QueryMode::Nearest(4)];
    for (query_mode, ray_mode) in modes.into_iter().zip([RayMode::All, RayMode::Closest]) {
        let mut descriptor = BroadPhaseDescriptor::default();
        (descriptor.pairs, descriptor.outputs.ray_mode) = (false, ray_mode);
        let input = QueryInput {
            rays: rays[..].into(),
            queries: Queries::General(queries[..].into()),
            query_mode,
            ..Default::default()
        };
        let mut broad_phase = CpuBroadPhase::new(&descriptor).unwrap();
        broad_phase.step_scene(&scene).unwrap();
        let expected = broad_phase.clone().query(&input).unwrap();
        let mut cancelled = 0;
        for rows in [0, 1, 5000, 20_000, 39_000] {
            let token = CancelToken::default();
            std::thread::scope(|scope| {
                let work = scope.spawn(|| token.run(|| broad_phase.query(&input)));
                while token.progress().0 < rows && !work.is_finished() {
                    std::hint::spin_loop();
                }
                token.stop();
                match work.join().unwrap() {
                    Ok(found) => assert_eq!(found, expected),
                    Err(error) => {
                        assert_eq!(error, BroadPhaseError::Cancelled);
                        cancelled += 1;
                    }
                }
            });
            assert_eq!(broad_phase.query(&input).unwrap(), expected, "{rows}");
        }
        assert!(cancelled > 0);
    }
}

fn on_threads(step: impl Fn() -> StepResult + Sync) -> [StepResult; 2] {
    [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&step)
    })
}

#[test]
fn more_worlds_than_indices_can_name_are_refused_at_once() {
    let worlds = |worlds| BroadPhaseDescriptor {
        worlds,
        ..BroadPhaseDescriptor::default()
    };
    assert_eq!(worlds((1 << 29) - 1).validate(), Ok(()));
    let error = DescriptorError::TooMany {
        what: "worlds",
        count: 1 << 29,
        limit: (1 << 29) - 1,
    };
    assert_eq!(worlds(1 << 29).validate(), Err(error.clone()));
    assert_eq!(CpuBroadPhase::new(&worlds(1 << 29)).err(), Some(error));
}
