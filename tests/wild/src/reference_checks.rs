use gpu_broad_phase::{
    BroadPhaseDescriptor, Counters, Growth, NONE, NearestObject, Queries, QueryInput, RayMode, Rays, ResultOrder,
    Scene, SelfQuery, StepResult, cpu,
};

use crate::agreement::{Expected, check, check_order};
use crate::answers::{by_object, counted, hits_by_ray, lists, sorted};

/// Compares `result` with brute force. With periods, only neighbours are compared, since brute force ignores the
/// periods of other results.
pub fn check_definition(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    expected: &Expected,
    result: &StepResult,
    what: &str,
) {
    check_order(descriptor, scene, result, what);
    if descriptor.periods == [0.0; 3] {
        check(descriptor, scene, expected, result, what);
        return;
    }
    let Queries::Objects(SelfQuery::Within { .. }) = scene.query.queries else {
        return;
    };
    let (mut descriptor, mut neighbours) = (*descriptor, *scene);
    (descriptor.pairs, neighbours.query.rays) = (false, Rays::None);
    check(&descriptor, &neighbours, expected, result, what);
}

pub fn check_later(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    later: &QueryInput<'_>,
    result: &StepResult,
) {
    let (mut descriptor, mut scene) = (*descriptor, *scene);
    (descriptor.pairs, scene.query) = (false, *later);
    let expected = Expected::of(&descriptor, &scene);
    check_definition(&descriptor, &scene, &expected, result, "later queries");
    // With periods, the definition has neighbors only.
    let is_overlap = matches!(
        later.queries,
        Queries::Boxes(_) | Queries::Objects(SelfQuery::Overlaps { .. })
    );
    if is_overlap && descriptor.periods != [0.0; 3] && descriptor.outputs.growth == Growth::Grow {
        let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
        check_searches(&descriptor, &scene, result, &on_cpu);
    }
}

/// Everything but distances must be equal bit for bit.
pub fn check_reference(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    found: &StepResult,
    reference: &StepResult,
) {
    let numbers = |counters: &Counters| {
        let mut numbers = counted(counters);
        // Entries, pairs and hits needed. With fixed capacities, missing entries or rounds change them.
        if descriptor.outputs.growth == Growth::Fixed {
            numbers[7..].fill(0);
        }
        numbers
    };
    assert_eq!(numbers(&found.counters), numbers(&reference.counters), "counters");
    if descriptor.outputs.growth == Growth::Grow {
        assert_eq!(found.world_pairs, reference.world_pairs, "pairs of worlds");
        assert_eq!(found.world_offsets, reference.world_offsets, "offsets of worlds");
        match descriptor.outputs.order {
            ResultOrder::Sorted => assert!(found.pairs == reference.pairs, "pairs or their order"),
            _ => assert!(sorted(found.pairs.clone()) == sorted(reference.pairs.clone()), "pairs"),
        }
        check_searches(descriptor, scene, found, reference);
    }
}

/// Compares rays and queries. Everything but distances must be equal bit for bit.
pub fn check_searches(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    found: &StepResult,
    reference: &StepResult,
) {
    if descriptor.outputs.order == ResultOrder::Sorted {
        assert!(found.ray_hits == reference.ray_hits, "hits or their order");
    }
    match descriptor.outputs.ray_mode {
        RayMode::All => assert!(hits_by_ray(found) == hits_by_ray(reference), "hits of rays"),
        _ => assert!(
            by_object(&found.ray_hits) == by_object(&reference.ray_hits),
            "closest hits"
        ),
    }
    assert!(found.ray_any == reference.ray_any, "any hit");
    let is_exact = match scene.query.queries {
        Queries::Boxes(_) | Queries::Objects(SelfQuery::Overlaps { .. }) => true,
        Queries::General(queries) => queries.elements().unwrap().iter().all(|query| query.radius == 0.0),
        _ => false,
    };
    if is_exact {
        assert!(lists(found) == lists(reference), "results of boxes");
    }
    check_distances(&found.query_nearest, &reference.query_nearest, "nearest objects");
}

pub fn check_distances(found: &[NearestObject], on_cpu: &[NearestObject], what: &str) {
    assert_eq!(found.len(), on_cpu.len(), "{what}");
    for (found, on_cpu) in found.iter().zip(on_cpu) {
        let [a, b] = [found, on_cpu].map(|neighbor| f64::from(neighbor.squared_distance));
        let is_alike = a == b || (a - b).abs() <= 1e-6 * a.max(b);
        let is_none = [found, on_cpu].map(|neighbor| neighbor.object == NONE);
        assert!(
            is_alike && is_none[0] == is_none[1],
            "{what}: {found:?}, not {on_cpu:?}"
        );
    }
}
