//! A few boxes far larger than the rest. Pairs are in the order of the reference passes.

use crate::common::steps::{broad_phase, read, submit, whole};
use crate::common::{Rng, adapters};
use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Growth, OutputOptions, Queries, QueryInput, Ray, RayMode, Rays,
    ResultOrder, Scene, SelfQuery, Source, Statics,
};
use wild::{Expected, check};

/// Random boxes, most of which touch others. One in `rarity` is up to 2^`octaves` times larger, some flat or long.
fn mixed(count: usize, rarity: usize, octaves: usize, scale: f32, rng: &mut Rng) -> Vec<Aabb> {
    let side = (3.0 * count as f64).cbrt() as usize + 2;
    let nudge = |value: f32, rng: &mut Rng| match rng.below(6) {
        0 => value.next_up(),
        1 => value.next_down(),
        _ => value,
    };
    (0..count)
        .map(|_| {
            let is_larger = rng.below(rarity) == 0;
            let octave = rng.below(octaves) + 1;
            let sides = [0; 3].map(|_| {
                let edge = match (is_larger, rng.below(4)) {
                    (true, 0) => 0.5,
                    (true, _) => (1u64 << octave) as f32 * (1.0 - 0.125 * rng.below(4) as f32),
                    (false, _) => 0.5 * rng.below(3) as f32,
                };
                let low = 0.5 * rng.below(2 * side) as f32 - 0.5 * side as f32;
                let low = if is_larger { low - edge / 2.0 } else { low };
                let min = nudge(low * scale, rng);
                [min, nudge((low + edge) * scale, rng).max(min)]
            });
            Aabb::new(sides.map(|[min, _]| min), sides.map(|[_, max]| max))
        })
        .collect()
}

fn thin_out(objects: &mut [Aabb], rng: &mut Rng) {
    for object in objects {
        match rng.below(12) {
            0 => object.min[1] = f32::NAN,
            1 => object.group |= Aabb::EXCLUDED,
            2 if rng.below(20) == 0 => object.max[2] = f32::INFINITY,
            _ => {}
        }
    }
}

fn pairs_of(trace: &Trace) -> Vec<gpu_broad_phase::Pair> {
    let mut pairs = trace.pairs.clone();
    pairs.sort_unstable();
    pairs
}

#[test]
fn larger_boxes_meet_all_that_they_reach_through_the_large_object_table() {
    let mut rng = Rng(90);
    let mut gpus: Vec<_> = Vec::new();
    let variants = [
        BroadPhaseDescriptor::default(),
        BroadPhaseDescriptor {
            worlds: 3,
            count_candidates: true,
            ..Default::default()
        },
        BroadPhaseDescriptor {
            dimensions: Dimensions::Two,
            filters: false,
            ..Default::default()
        },
        BroadPhaseDescriptor {
            margin: 0.125,
            ..Default::default()
        },
    ];
    for adapter in adapters() {
        let of_adapter = variants.map(|descriptor| broad_phase(&adapter, &descriptor));
        gpus.push((adapter, of_adapter));
    }
    let mut covered = [0; 4];
    let mut uncovered_levels = 0;
    for case in 0..24 {
        let count = [40, 300, 1023, 1024, 1025, 2500][case % 6];
        let scale = [1.0, 2f32.powi(-124), 2f32.powi(60), 0.3][case % 4];
        let octaves = [3, 6, 12][case % 3];
        let rarity = [40, 100, 300][case / 3 % 3];
        let mut objects = mixed(count, rarity, octaves, scale, &mut rng);
        if case % 5 == 4 {
            thin_out(&mut objects, &mut rng);
        }
        let worlds: Vec<u32> = (0..count).map(|_| rng.below(3) as u32).collect();
        for (variant, descriptor) in variants.iter().enumerate() {
            let has_worlds = descriptor.worlds > 1;
            let scene = Scene {
                objects: Source::Host(&objects),
                worlds: Source::Host(if has_worlds { &worlds } else { &[] }),
                ..Default::default()
            };
            let what = format!("case {case}, {descriptor:?}");
            let trace = trace(descriptor, &scene).unwrap();
            let has_large_table = trace.grid.large_table_below > 0;
            covered[variant] += u32::from(has_large_table);
            uncovered_levels += u32::from(has_large_table && trace.grid.large_table.next < 32);
            let mut expected = brute_force::scene_pairs(descriptor, &scene).unwrap();
            expected.sort_unstable();
            assert!(pairs_of(&trace) == expected, "reference, {what}");
            for (adapter, of_adapter) in &mut gpus {
                let found = whole(adapter, &mut of_adapter[variant], scene);
                assert!(found.pairs == trace.pairs, "{}, {what}", adapter.name);
            }
        }
    }
    println!("with a cover table: {covered:?} of 24 scenes each, {uncovered_levels} with larger levels still");
    assert!(covered.iter().all(|&covered| covered >= 8), "{covered:?}");
    assert!(uncovered_levels >= 5, "{uncovered_levels}");
}

/// A corner just below 0 is in cell -1 of its own level. Scaled to a coarser level, its coordinate may underflow to
/// cell 0, past all other corners.
#[test]
fn corners_that_underflow_in_coarser_cells_are_looked_up() {
    let mut rng = Rng(92);
    let mut cube = |low: f32, edge: f32, range: f32| {
        let min = [0; 3].map(|_| low + range * rng.unit());
        Aabb::new(min, min.map(|bound| bound + edge))
    };
    // The crowd makes the finest cells small, so most boxes are on a coarser level.
    let mut objects: Vec<_> = (0..150).map(|_| cube(-2.0, 0.5, 0.5)).collect();
    objects.extend((0..2500).map(|_| cube(-60.0, 2.0, 50.0)));
    objects.extend((0..8).map(|_| cube(-50.0, 9.0, 20.0)));
    let last = objects.len();
    objects.push(Aabb::new([-f32::MIN_POSITIVE; 3], [0.5; 3]));
    objects.push(Aabb::new([-9.0; 3], [0.0; 3]));
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Default::default()
    };
    let descriptor = BroadPhaseDescriptor::default();
    let trace = trace(&descriptor, &scene).unwrap();
    assert!(
        trace.grid.large_table_below > 1 && trace.grid.large_table.upper_x >= 0,
        "{:?}",
        trace.grid.large_table
    );
    let mut expected = brute_force::scene_pairs(&descriptor, &scene).unwrap();
    expected.sort_unstable();
    assert!(expected.iter().any(|pair| pair.a == last as u32));
    assert!(pairs_of(&trace) == expected);
    for adapter in adapters() {
        let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
        assert!(found.pairs == trace.pairs, "{}", adapter.name);
    }
}

#[test]
fn a_large_object_table_does_not_change_rays_and_queries() {
    let mut rng = Rng(93);
    let all = mixed(2400, 100, 5, 1.0, &mut rng);
    let (statics, moving) = all.split_at(600);
    let other = mixed(700, 30, 3, 1.0, &mut rng);
    let ray = |rng: &mut Rng| {
        let origin = [0; 3].map(|_| 40.0 * rng.unit() - 20.0);
        Ray::new(origin, [0; 3].map(|_| rng.unit() - 0.5), 30.0)
    };
    let rays: Vec<_> = (0..300).map(|_| ray(&mut rng)).collect();
    let asked: Vec<_> = all.iter().step_by(7).copied().collect();
    let base = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    };
    let variants = [
        base,
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                order: ResultOrder::Sorted,
                ..base.outputs
            },
            ..base
        },
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    rounds: Some(3),
                    ..Default::default()
                },
                ..base.outputs
            },
            ..base
        },
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    pairs: Some(900),
                    ..Default::default()
                },
                ..base.outputs
            },
            ..base
        },
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: Some(16 << 20),
                ..base.outputs
            },
            ..base
        },
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: Some(7 << 20),
                ..base.outputs
            },
            ..base
        },
    ];
    for adapter in adapters() {
        for descriptor in &variants {
            let mut gpu = broad_phase(&adapter, descriptor);
            for static_part in [&[][..], statics] {
                let scene = Scene {
                    objects: Source::Host(moving),
                    statics: Statics {
                        objects: Source::Host(static_part),
                        ..Default::default()
                    },
                    query: QueryInput {
                        rays: Rays::Plain(Source::Host(&rays)),
                        queries: Queries::Boxes(Source::Host(&asked)),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let what = format!("{} static, {descriptor:?} on {}", static_part.len(), adapter.name);
                let on_cpu = trace(descriptor, &scene).unwrap();
                assert!(on_cpu.grid.large_table_below > 0, "{what}");
                let expected = Expected::of(descriptor, &scene);
                let mut step = |scene: &Scene<'_>| {
                    for _ in 0..4 {
                        submit(&adapter, &mut gpu, *scene);
                        let result = read(&mut gpu);
                        if result.counters.is_complete() || descriptor.outputs.growth == Growth::Fixed {
                            return result;
                        }
                    }
                    panic!("{what}");
                };
                let first = step(&scene);
                check(descriptor, &scene, &expected, &first, &what);
                let unlike = Scene {
                    objects: Source::Host(&other),
                    ..Default::default()
                };
                step(&unlike);
                let again = step(&scene);
                assert!(again.pairs == first.pairs && again.ray_hits == first.ray_hits, "{what}");
                if descriptor.outputs.max_bytes.is_none() {
                    assert!(first.pairs == on_cpu.pairs, "{what}");
                }
            }
        }
    }
}

#[test]
fn neighbors_ask_once_each_beside_a_large_object_table() {
    let mut rng = Rng(94);
    let objects = mixed(1500, 100, 4, 1.0, &mut rng);
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            queries: Queries::Objects(SelfQuery::Within {
                radius: 1.0,
                half: false,
            }),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    let descriptor = BroadPhaseDescriptor::default();
    assert!(trace(&descriptor, &scene).unwrap().grid.large_table_below > 0);
    let expected = Expected::of(&descriptor, &scene);
    let on_cpu = step_scene(&descriptor, &scene).unwrap();
    check(&descriptor, &scene, &expected, &on_cpu, "reference");
    for adapter in adapters() {
        let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
        check(&descriptor, &scene, &expected, &found, &adapter.name);
    }
}

#[test]
fn the_large_object_table_saves_box_tests() {
    let mut rng = Rng(91);
    let objects = mixed(6000, 200, 6, 1.0, &mut rng);
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Default::default()
    };
    let descriptor = BroadPhaseDescriptor {
        count_candidates: true,
        ..Default::default()
    };
    let table = trace(&descriptor, &scene).unwrap().grid;
    let counters = step_scene(&descriptor, &scene).unwrap().counters;
    let each = |sum: u64| sum as f64 / objects.len() as f64;
    let (tests, pairs) = (each(counters.pair_candidates), each(counters.pairs_needed));
    println!(
        "{tests:.1} box tests and {pairs:.1} pairs an object, {} entries of larger ones",
        table.large_table.count
    );
    assert!(table.large_table_below > 0 && tests < 20.0);
}
