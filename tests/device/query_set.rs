//! Query sets compared with brute force, beside the results of their step.

use crate::common::steps::{RAY_MODES, UNIT, broad_phase, encoder, poll, queries_of, read, scene_of};
use crate::common::{adapters, daily_adapters, daily_or_full};
use gpu_broad_phase::{
    BroadPhaseDescriptor, Capacities, Growth, Output, OutputOptions, Page, QueryInput, QueryMode, ReadBackError,
    ResultOrder, Scene, Scheme, Status, StepError, StepResult,
};
use pollster::block_on;
use wild::{Expected, check_definition};

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, what: &str) {
    check_definition(descriptor, scene, &Expected::of(descriptor, scene), result, what);
}

/// Each scene gives the broad phase another descriptor and the sets other options.
#[test]
fn sets_have_their_own_results_and_leave_those_of_the_step_alone() {
    let numbers = (0..).filter(|&number| {
        let descriptor = wild::descriptor(number);
        // Each scheme with worlds needs pipelines of its own.
        wild::is_daily(&descriptor) && (descriptor.worlds == 1 || descriptor.scheme == Scheme::Hierarchical)
    });
    let numbers: Vec<_> = numbers.take(daily_or_full(42, 600)).collect();
    for adapter in adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let outputs = gpu.descriptor().outputs;
        let mut compared = 0;
        let mut sets = ["picking", "sensors"].map(|name| gpu.query_set(name, &outputs).expect("options"));
        for (case, &number) in numbers.iter().enumerate().filter(|(case, _)| adapter.runs(*case)) {
            let mut descriptor = wild::descriptor(number);
            descriptor.count_candidates = false;
            (descriptor.outputs.growth, descriptor.outputs.capacities) = (Growth::Grow, Capacities::default());
            let what = format!("scene {number} on {}, {descriptor:?}", adapter.name);
            let wild = wild::scene(number, &descriptor);
            let scene = wild.scene(number);
            gpu.set_descriptor(&descriptor).expect("a descriptor");
            let of_sets = [1, 2].map(|further| BroadPhaseDescriptor {
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RAY_MODES[(case + further) % 3],
                    order: [ResultOrder::Sorted, ResultOrder::Deterministic][(case + further) % 2],
                    ..descriptor.outputs
                },
                ..descriptor
            });
            for (set, descriptor) in sets.iter_mut().zip(&of_sets) {
                set.set_options(&descriptor.outputs).expect("options");
                assert_eq!(block_on(set.read_back()), Err(ReadBackError::NoStep), "{what}");
            }
            // The first set runs its step's queries, then others.
            let other = wild
                .later
                .clone()
                .unwrap_or((wild.queries.clone(), QueryMode::Nearest(2)));
            let inputs = [
                scene.query,
                QueryInput {
                    queries: other.0.borrowed(),
                    query_mode: other.1,
                    ..scene.query
                },
            ];
            let scenes = inputs.map(|query| Scene { query, ..scene });
            let mut is_complete = false;
            for _ in 0..4 {
                let mut encoder = encoder(&adapter);
                let step = gpu.step(&mut encoder, scene).expect("a step");
                let [picking, sensors] = &mut sets;
                let picked = picking.record(&mut encoder, &step, inputs[0]).expect("a set");
                assert!(picked.pairs.is_none() && picked.counters != step.counters, "{what}");
                let first = picking.record_read_back(&mut encoder, Output::ALL).expect("a handle");
                sensors.record(&mut encoder, &step, inputs[0]).expect("a set");
                picking.record(&mut encoder, &step, inputs[1]).expect("a set");
                adapter.queue.submit([encoder.finish()]);
                let results = [
                    read(&mut gpu),
                    block_on(picking.read_back()).expect("a result"),
                    block_on(sensors.read_back()).expect("a result"),
                ];
                let first = block_on(first).expect("a result");
                is_complete = results.iter().all(|result| result.counters.is_complete());
                if !is_complete {
                    continue;
                }
                check(&descriptor, &scene, &results[0], &what);
                check(&of_sets[0], &scenes[1], &results[1], &format!("{what}: picking"));
                check(&of_sets[1], &scenes[0], &results[2], &format!("{what}: sensors"));
                // Its copy is as large as the results of the second query.
                if first.counters.is_complete() {
                    check(&of_sets[0], &scenes[0], &first, &format!("{what}: picking, first"));
                    compared += 1;
                }
                break;
            }
            assert!(is_complete, "{what}: not complete after four steps");
        }
        assert!(compared > 5, "{compared} on {}", adapter.name);
    }
}

#[test]
fn sets_grow_page_trim_and_outlive_their_broad_phase() {
    let boxes = [UNIT; 200];
    let (input, queries) = (scene_of(&boxes), queries_of(&boxes));
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut set = gpu.query_set("set", &gpu.descriptor().outputs).expect("options");
        let mut dropped = encoder(&adapter);
        let step = gpu.step(&mut dropped, input).expect("a step");
        drop(dropped);
        let refused = set.record(&mut encoder(&adapter), &step, queries).err();
        assert_eq!(refused, Some(StepError::Dropped));
        assert_eq!(set.memory().total(), 0);
        for frame in 0..3 {
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, input).expect("a step");
            set.record(&mut encoder, &step, queries).expect("a set");
            adapter.queue.submit([encoder.finish()]);
            poll(&adapter.device);
            // Sets grow by counters that arrive without a read-back.
            let counters = set.counters().expect("counters that have arrived");
            assert_eq!(counters.results_needed, 40_000);
            assert_eq!(counters.status.has(Status::RESULTS), frame == 0, "{frame}");
        }
        assert_eq!(gpu.memory().results, 0);
        drop(gpu);
        let all = block_on(set.read_back()).expect("a result");
        assert_eq!(all.query_objects.len(), 40_000);
        let mut encoder = encoder(&adapter);
        let rest = Page {
            results: 39_000,
            ..Page::default()
        };
        set.page(&mut encoder, rest).expect("a page");
        adapter.queue.submit([encoder.finish()]);
        let page = block_on(set.read_back()).expect("a result");
        assert_eq!(page.query_objects, all.query_objects[39_000..]);
        assert!(set.memory().total() > 160_000);
        set.trim();
        assert_eq!(set.memory().total(), 0);
    }
}
