//! Tokens that cancel the CPU engine, also while it queries a table.

use std::panic::catch_unwind;

use gpu_broad_phase::cpu::{CancelToken, CpuBroadPhase, step, step_scene};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, Queries, Query, QueryInput, QueryMode, Ray, RayMode, Scene,
};

#[test]
fn a_cancel_token_reports_progress_and_ends_a_step() {
    // All boxes meet, but their group excludes all pairs.
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]).with_group(1); 400_000];
    let descriptor = BroadPhaseDescriptor::default();
    let scene = Scene {
        objects: crowd[..].into(),
        ..Scene::default()
    };
    let token = CancelToken::default();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| token.run(|| step_scene(&descriptor, &scene)));
        let mut seen = (0, 0);
        // Waits for the search of pairs, the only walk of this step.
        while !(1..seen.1).contains(&seen.0) {
            assert!(!work.is_finished(), "it ended by itself");
            std::thread::yield_now();
            seen = token.progress();
        }
        token.stop();
        assert_eq!(work.join().unwrap(), Err(BroadPhaseError::Cancelled));
    });
    let few = || step(&descriptor, &crowd[..3], &[]);
    assert_eq!(token.run(few), Err(BroadPhaseError::Cancelled));
    assert!(few().is_ok());
    let other = CancelToken::default();
    assert!(other.run(few).is_ok());
    // Neither the inner token nor a panic replaces the outer one.
    other.run(|| {
        assert!(token.run(few).is_err());
        assert!(catch_unwind(|| token.run(|| panic!("its own"))).is_err());
        assert!(few().is_ok());
    });
}

#[test]
fn a_query_cancelled_at_any_row_leaves_a_table_that_answers_as_before() {
    let places: Vec<_> = (0..40_000)
        .map(|index| [index % 41, index % 37, index % 31].map(|place| place as f32))
        .collect();
    let cube = |place| Aabb::from_center_half(place, [1.0; 3]);
    let ray = |place| Ray::new(place, [1.0, 0.5, 0.25], 20.0);
    let objects: Vec<_> = places.iter().copied().map(cube).collect();
    let queries: Vec<_> = places.iter().map(|&place| Query::sphere(place, 2.0)).collect();
    let rays: Vec<_> = places.iter().copied().map(ray).collect();
    let modes = [QueryMode::All, QueryMode::Nearest(4)];
    for (query_mode, ray_mode) in modes.into_iter().zip([RayMode::All, RayMode::Closest]) {
        let mut descriptor = BroadPhaseDescriptor::default();
        (descriptor.pairs, descriptor.outputs.ray_mode) = (false, ray_mode);
        let input = QueryInput {
            rays: rays[..].into(),
            queries: Queries::General(queries[..].into()),
            query_mode,
            ..QueryInput::default()
        };
        let refused = QueryInput {
            query_mode: QueryMode::Nearest(0),
            ..input
        };
        let mut broad_phase = CpuBroadPhase::new(&descriptor).unwrap();
        assert_eq!(broad_phase.query(&input), Err(BroadPhaseError::NoStep));
        let scene = Scene {
            objects: objects[..].into(),
            ..Scene::default()
        };
        broad_phase.step_scene(&scene).unwrap();
        let expected = broad_phase.query(&input).unwrap();
        assert!(matches!(broad_phase.query(&refused), Err(BroadPhaseError::Input(_))));
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
