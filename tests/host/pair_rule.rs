//! `wild.rs` compares rules with the pairs of random scenes.

use gpu_broad_phase::reference::{PairRule, pair_rule};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, BroadPhaseError, InputError, Pair, Scene, Statics};

const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);

fn rule_of(descriptor: &BroadPhaseDescriptor<'_>, objects: [Aabb; 2]) -> PairRule {
    let scene = Scene {
        objects: objects[..].into(),
        ..Scene::default()
    };
    pair_rule(descriptor, &scene, 0, 1).unwrap()
}

#[test]
fn each_rule_is_returned() {
    let default = BroadPhaseDescriptor::default();
    let far = Aabb::new([0.0, -7.0, 0.0], [1.0, -2.0, 1.0]);
    let invalid = Aabb::new([0.0, 2.0, 0.0], [1.0; 3]);
    let excluded = UNIT.with_group(Aabb::EXCLUDED);
    for (objects, expected) in [
        ([UNIT, UNIT], PairRule::Overlap),
        ([UNIT, far], PairRule::Apart { axis: 1, gap: 2.0 }),
        ([far, UNIT], PairRule::Apart { axis: 1, gap: 2.0 }),
        ([UNIT, invalid], PairRule::Invalid { object: 1 }),
        ([excluded, UNIT], PairRule::Excluded { object: 0 }),
    ] {
        assert_eq!(rule_of(&default, objects), expected);
    }
    let without_filters = BroadPhaseDescriptor {
        filters: false,
        ..default
    };
    for (objects, expected) in [
        ([UNIT.with_group(5); 2], PairRule::SameGroup { group: 5 }),
        ([UNIT.with_group(Aabb::STATIC); 2], PairRule::BothStatic),
        ([UNIT.with_layers(1, 2), UNIT.with_layers(2, 2)], PairRule::Layers),
    ] {
        assert_eq!(rule_of(&default, objects), expected);
        assert_eq!(rule_of(&without_filters, objects), PairRule::Overlap);
    }
    let with_margin = BroadPhaseDescriptor { margin: 1.5, ..default };
    assert_eq!(rule_of(&with_margin, [UNIT, far]), PairRule::Overlap);
}

#[test]
fn worlds_lists_and_static_objects_count() {
    let descriptor = BroadPhaseDescriptor {
        worlds: 2,
        ..BroadPhaseDescriptor::default()
    };
    // Indices 0 and 1 are static.
    let scene = Scene {
        objects: [UNIT; 3][..].into(),
        worlds: [0, 1, 9][..].into(),
        excluded_pairs: [Pair { a: 2, b: 0 }][..].into(),
        statics: Statics {
            objects: [UNIT; 2][..].into(),
            worlds: [0, 0][..].into(),
            ..Statics::default()
        },
        ..Scene::default()
    };
    let rule = |a, b| pair_rule(&descriptor, &scene, a, b);
    assert_eq!(rule(0, 0), Ok(PairRule::SameObject));
    assert_eq!(rule(0, 1), Ok(PairRule::BothStatic));
    assert_eq!(rule(0, 2), Ok(PairRule::Listed));
    assert_eq!(rule(1, 2), Ok(PairRule::Overlap));
    assert_eq!(rule(2, 3), Ok(PairRule::Worlds { first: 0, second: 1 }));
    assert_eq!(rule(1, 4), Ok(PairRule::Invalid { object: 4 }));
    let error = InputError::NoObject { index: 5, count: 5 };
    assert_eq!(rule(0, 5), Err(BroadPhaseError::Input(error)));
}
