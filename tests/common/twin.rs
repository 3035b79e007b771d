//! Answers of a device held to the definition and to the reference.

use gpu_broad_phase::{BroadPhaseDescriptor, Counters, Growth, PairOrder, Queries, RayMode, Rays, Scene, StepResult};

use crate::agreement::{Expected, check};
use crate::common::answers::{by_object, counted, hits_by_ray, lists, sorted};

/// The definition of pairs, hits and boxes knows no periods: there the reference is held to that of neighbours alone.
pub fn check_definition(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    expected: &Expected,
    result: &StepResult,
    what: &str,
) {
    if descriptor.periods == [0.0; 3] {
        check(descriptor, scene, expected, result, what);
        return;
    }
    let asked = BroadPhaseDescriptor {
        pairs: false,
        ..*descriptor
    };
    let scene = Scene {
        rays: Rays::default(),
        queries: match scene.queries {
            Queries::Neighbors(neighbors) => neighbors.into(),
            _ => return,
        },
        ..*scene
    };
    check(&asked, &scene, expected, result, what);
}

/// A device says what the reference says: bit for bit, but for distances.
pub fn check_twin(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, found: &StepResult, twin: &StepResult) {
    let numbers = |counters: &Counters| {
        let mut numbers = counted(counters);
        // Entries are those of the scheme of covered cells; distances decide how many results there are.
        if descriptor.growth == Growth::Fixed {
            numbers[7..].fill(0);
        }
        numbers
    };
    assert_eq!(numbers(&found.counters), numbers(&twin.counters), "counters");
    if descriptor.growth == Growth::Fixed {
        return;
    }
    if descriptor.pair_order == PairOrder::Sorted {
        assert!(found.pairs == twin.pairs, "pairs or their order");
    } else {
        assert!(sorted(found.pairs.clone()) == sorted(twin.pairs.clone()), "pairs");
    }
    match descriptor.ray_mode {
        RayMode::All => assert!(hits_by_ray(found) == hits_by_ray(twin), "hits of rays"),
        _ => assert!(by_object(&found.ray_hits) == by_object(&twin.ray_hits), "closest hits"),
    }
    assert!(found.ray_any == twin.ray_any, "any hit");
    let is_exact = match scene.queries {
        Queries::Boxes(_) | Queries::Partners(_) => true,
        Queries::Spheres(queries) => queries.elements().unwrap().iter().all(|query| query.radius == 0.0),
        _ => false,
    };
    if is_exact {
        assert!(lists(found) == lists(twin), "results of boxes");
    }
    crate::common::steps::check_nearest(&found.query_nearest, &twin.query_nearest, "nearest objects");
}
