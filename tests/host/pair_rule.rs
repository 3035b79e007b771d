use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::reference::{PairRule, brute_force, pair_rule};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, Growth, InputError, OutputOptions, Pair, ResultOrder, Scene, Source,
    Statics,
};

const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);

fn rule(objects: &[Aabb]) -> PairRule {
    rule_of(&BroadPhaseDescriptor::default(), objects)
}

fn rule_of(descriptor: &BroadPhaseDescriptor<'_>, objects: &[Aabb]) -> PairRule {
    let scene = Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    };
    pair_rule(descriptor, &scene, 0, objects.len() as u32 - 1).unwrap()
}

#[test]
fn each_rule_is_returned() {
    let far = Aabb::new([0.0, -7.0, 0.0], [1.0, -2.0, 1.0]);
    assert_eq!(rule(&[UNIT, UNIT]), PairRule::Overlap);
    assert_eq!(rule(&[UNIT]), PairRule::SameObject);
    assert_eq!(rule(&[UNIT, far]), PairRule::Apart { axis: 1, gap: 2.0 });
    assert_eq!(rule(&[far, UNIT]), PairRule::Apart { axis: 1, gap: 2.0 });
    let invalid = Aabb::new([0.0, 2.0, 0.0], [1.0; 3]);
    assert_eq!(rule(&[UNIT, invalid]), PairRule::Invalid { object: 1 });
    let excluded = UNIT.with_group(Aabb::EXCLUDED);
    assert_eq!(rule(&[excluded, UNIT]), PairRule::Excluded { object: 0 });
    let owned = UNIT.with_group(5);
    assert_eq!(rule(&[owned, owned]), PairRule::SameGroup { group: 5 });
    let fixed = UNIT.with_group(Aabb::STATIC);
    assert_eq!(rule(&[fixed, fixed]), PairRule::BothStatic);
    let [first, second] = [UNIT.with_layers(1, 2), UNIT.with_layers(2, 2)];
    assert_eq!(rule(&[first, second]), PairRule::Layers);
    let without_filters = BroadPhaseDescriptor {
        filters: false,
        ..Default::default()
    };
    for objects in [[owned; 2], [fixed; 2], [first, second]] {
        assert_eq!(rule_of(&without_filters, &objects), PairRule::Overlap);
    }
    let with_margin = BroadPhaseDescriptor {
        margin: 1.5,
        ..Default::default()
    };
    assert_eq!(rule_of(&with_margin, &[UNIT, far]), PairRule::Overlap);
}

#[test]
fn worlds_lists_and_static_objects_count() {
    let two_worlds = BroadPhaseDescriptor {
        worlds: 2,
        ..Default::default()
    };
    let objects = [UNIT; 3];
    let scene = Scene {
        objects: Source::Host(&objects),
        worlds: Source::Host(&[0, 1, 9]),
        ..Scene::default()
    };
    let first = pair_rule(&two_worlds, &scene, 0, 1).unwrap();
    assert_eq!(first, PairRule::Worlds { first: 0, second: 1 });
    assert_eq!(
        pair_rule(&two_worlds, &scene, 1, 2).unwrap(),
        PairRule::Invalid { object: 2 }
    );
    let listed = Scene {
        objects: Source::Host(&objects),
        excluded_pairs: Source::Host(&[Pair { a: 2, b: 0 }]),
        statics: Statics {
            objects: Source::Host(&[UNIT, UNIT]),
            ..Default::default()
        },
        ..Scene::default()
    };
    let rule = |a, b| pair_rule(&BroadPhaseDescriptor::default(), &listed, a, b);
    assert_eq!(rule(0, 2), Ok(PairRule::Listed));
    assert_eq!(rule(0, 1), Ok(PairRule::BothStatic));
    assert_eq!(rule(1, 4), Ok(PairRule::Overlap));
    assert_eq!(
        rule(0, 5),
        Err(BroadPhaseError::Input(InputError::NoObject { index: 5, count: 5 }))
    );
}

#[test]
fn the_rule_is_overlap_for_pairs_alone() {
    let mut rules = std::collections::BTreeSet::new();
    for number in 0..90 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(0);
        let pairs = if descriptor.periods == [0.0; 3] {
            brute_force::scene_pairs(&descriptor, &scene).unwrap()
        } else {
            let whole = BroadPhaseDescriptor {
                pairs: true,
                outputs: OutputOptions {
                    growth: Growth::Grow,
                    order: ResultOrder::Sorted,
                    ..descriptor.outputs
                },
                ..descriptor
            };
            step_scene(&whole, &scene).unwrap().pairs
        };
        let (Source::Host(moving), Source::Host(fixed)) = (scene.objects, scene.statics.objects) else {
            panic!("wild scenes lie on the host");
        };
        let count = (moving.len() + fixed.len()) as u32;
        for a in 0..count.min(12) {
            for b in a + 1..count {
                let rule = pair_rule(&descriptor, &scene, b, a).unwrap();
                let is_pair = pairs.binary_search(&Pair { a, b }).is_ok();
                assert_eq!(
                    rule == PairRule::Overlap,
                    is_pair,
                    "scene {number}, {a} and {b}: {rule:?}"
                );
                rules.insert(rule.to_string().split(' ').take(3).collect::<Vec<_>>().join(" "));
            }
        }
    }
    assert!(rules.len() > 6, "{rules:?}");
}
