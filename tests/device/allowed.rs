//! Calls that look like mistakes, but work: options at their limits, pages past the end, and steps that are used later
//! and more than once.

use crate::common::daily_adapters;
use crate::common::steps::{UNIT, broad_phase, encoder, page, poll, queries_of, scene_of, whole};
use crate::refusals::{Components, descriptor};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Output, Scheme, cpu};
use pollster::block_on;
use wild::{Expected, check_definition, check_reference};

fn descriptors() -> Vec<BroadPhaseDescriptor<'static>> {
    let power = |exponent: i32| 2f32.powi(exponent);
    let all = BroadPhaseDescriptor::default();
    let mut roomy = all;
    let capacities = &mut roomy.outputs.capacities;
    (capacities.pairs, capacities.hits) = (Some(u32::MAX), Some(u32::MAX));
    (capacities.entries, capacities.results) = (Some(u32::MAX), Some(u32::MAX));
    let margins = [1e-40, f32::MAX].map(|margin| BroadPhaseDescriptor { margin, ..all });
    let worlds =
        [(3, true), ((1 << 29) - 1, false)].map(|(worlds, pairs)| BroadPhaseDescriptor { worlds, pairs, ..all });
    let periods = [[power(-100), 0.0, power(90)], [1.5, power(90), power(-100)], [3.0; 3]];
    let periods = periods.map(|periods| BroadPhaseDescriptor { periods, ..all });
    let cells = [power(-100), power(100)].map(|cell_size| Scheme::Uniform { cell_size });
    let scales = [power(-100), power(90)].map(|min_scale| Scheme::Adaptive { min_scale });
    let schemes = cells.into_iter().chain(scales);
    let schemes = schemes.map(|scheme| BroadPhaseDescriptor { scheme, ..all });
    let alike = [roomy].into_iter().chain(margins);
    alike.chain(worlds).chain(periods).chain(schemes).collect()
}

#[test]
fn options_at_their_limits_give_the_results_of_brute_force() {
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        for descriptor in descriptors() {
            gpu.set_descriptor(&descriptor).expect("a descriptor");
            for number in 0..8 {
                let what = format!("scene {number} with {descriptor:?} on {}", adapter.name);
                let mut wild = wild::scene(number, &descriptor);
                if descriptor.worlds == 1 {
                    // A box whose edges have no finite length, and its lower corner.
                    let endless = Aabb::new([f32::MIN; 3], [f32::MAX; 3]);
                    wild.objects.extend([endless, Aabb::point(endless.min)]);
                }
                let scene = wild.scene(1000 + number);
                let found = whole(&adapter, &mut gpu, scene);
                let on_cpu = cpu::step_scene(&descriptor, &scene).expect("a result");
                let expected = Expected::of(&descriptor, &scene);
                check_definition(&descriptor, &scene, &expected, &found, &what);
                check_definition(&descriptor, &scene, &expected, &on_cpu, &what);
                check_reference(&descriptor, &scene, &found, &on_cpu);
            }
        }
    }
}

/// A denormal lower bound counts as 0, so that the first point no longer reaches the second.
#[test]
fn denormal_bounds_count_as_zero_with_a_margin() {
    let objects = [Aabb::point([1.0e-38; 3]), Aabb::point([3.3e-38; 3])];
    let descriptor = descriptor(|all| all.margin = 1.2e-38);
    assert!(cpu::step(&descriptor, &objects, &[]).unwrap().pairs.is_empty());
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &descriptor);
        assert!(whole(&adapter, &mut gpu, scene_of(&objects)).pairs.is_empty());
    }
}

#[test]
fn pages_past_the_end_are_empty() {
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut two = scene_of(&[UNIT; 2]);
        two.query = queries_of(&[UNIT]);
        let all = whole(&adapter, &mut gpu, two);
        for end in [2, u32::MAX - 1, u32::MAX] {
            let page = page(&adapter, &mut gpu, end);
            let rows = [all.pairs.len(), page.pairs.len(), page.query_objects.len()];
            assert_eq!((rows, page.counters), ([1, 0, 0], all.counters), "{}", adapter.name);
        }
    }
}

/// Each step is of another broad phase than the one before.
#[test]
fn sets_and_components_use_an_earlier_step_of_any_broad_phase_in_each_frame() {
    let together = [UNIT, Aabb::new([0.5; 3], [2.0; 3])];
    let apart = [50.0, 90.0].map(|at| Aabb::point([at; 3]));
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut both = [(); 2].map(|()| broad_phase(&adapter, &descriptor));
        let mut set = both[0].query_set("set", &descriptor.outputs).expect("options");
        let mut components = Components::new();
        let queries = queries_of(&together[..1]);
        for (round, objects) in [together, apart, together].into_iter().enumerate() {
            let mut first = encoder(&adapter);
            let step = both[round % 2].step(&mut first, scene_of(&objects)).expect("a step");
            adapter.queue.submit([first.finish()]);
            for frame in 0..2 {
                let what = format!("round {round}, frame {frame} on {}", adapter.name);
                let mut own = encoder(&adapter);
                assert_eq!(components.record(&mut own, &step), [const { Ok(()) }; 4], "{what}");
                set.record(&mut own, &step, queries).expect("a set");
                let mut seen = components.culling.record_read_back(&mut own).expect("a handle");
                let mut found = set.record_read_back(&mut own, Output::ALL).expect("a handle");
                adapter.queue.submit([own.finish()]);
                poll(&adapter.device);
                // Results that have arrived are not lost with a later encoder.
                set.record(&mut encoder(&adapter), &step, queries).expect("a set");
                let seen = seen.take().expect("arrived").expect("a result");
                assert_eq!(seen.objects, [[0, 1]], "{what}");
                let found = found.take().expect("arrived").expect("a result");
                let expected: &[u32] = if round == 1 { &[] } else { &[0, 1] };
                assert_eq!(found.query_objects, expected, "{what}");
                let changes = block_on(components.events.read_changes()).expect("events");
                let expected = if frame == 0 {
                    [[1, 0], [0, 1], [1, 0]][round]
                } else {
                    [0, 0]
                };
                assert_eq!([changes.begun.len(), changes.ended.len()], expected, "{what}");
            }
        }
    }
}
