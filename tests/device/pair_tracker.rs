use std::collections::BTreeSet;

use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Events, ObjectNames, OutputOptions, PairEvent, PairTracker, Scene, Source,
    wgpu,
};

use crate::common::steps::{broad_phase, encoder};
use crate::common::{TestAdapter, daily_adapters};
use wild::Rng;

fn scene(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

fn expected(objects: &[Aabb]) -> BTreeSet<PairEvent> {
    let event = |pair: gpu_broad_phase::Pair| PairEvent {
        a: pair.a,
        b: pair.b,
        ..PairEvent::default()
    };
    brute_force::pairs(objects).into_iter().map(event).collect()
}

fn boxes(count: usize, side: f32, rng: &mut Rng) -> Vec<Aabb> {
    let unit = |rng: &mut Rng| Aabb::from_center_half([0; 3].map(|_| side * rng.unit()), [0.5; 3]);
    (0..count).map(|_| unit(rng)).collect()
}

fn poll(adapter: &TestAdapter) {
    let polled = adapter.device.poll(wgpu::PollType::wait_indefinitely());
    polled.expect("a device that answers");
}

/// No pair may begin or end twice.
fn apply(known: &mut BTreeSet<PairEvent>, changes: Events, what: &str) {
    assert!(changes.begun.is_sorted() && changes.ended.is_sorted(), "{what}");
    for event in changes.ended {
        assert!(known.remove(&event), "{what}: {event:?} ends twice");
    }
    for event in changes.begun {
        assert!(known.insert(event), "{what}: {event:?} begins twice");
    }
}

#[test]
fn pairs_follow_the_steps_through_overflow_and_loss() {
    for adapter in daily_adapters() {
        let mut rng = Rng(0x7ac5);
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    pairs: Some(16),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut tracker = PairTracker::new(None);
        let mut known = BTreeSet::new();
        let mut synced = 0;
        let mut objects = boxes(300, 6.0, &mut rng);
        for frame in 0..60 {
            let what = format!("frame {frame} on {}", adapter.name);
            if frame % 15 == 7 {
                objects = boxes(300, [3.0, 6.0][frame / 15 % 2], &mut rng);
            }
            for _ in 0..20 {
                let moved = rng.below(objects.len());
                objects[moved] = boxes(1, 6.0, &mut rng)[0];
            }
            let is_dropped = matches!(frame, 12 | 13 | 25 | 40 | 45);
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, scene(&objects)).expect("a step");
            tracker
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("a step");
            let ready = encoder.finish();
            adapter.queue.submit((!is_dropped).then_some(ready));
            if frame % 3 == 0 {
                poll(&adapter);
            }
            while let Some(changes) = tracker.update().expect("changes") {
                apply(&mut known, changes, &what);
            }
            assert!(tracker.pairs().collect::<BTreeSet<_>>() == known, "{what}");
            assert!(known.iter().all(|&event| tracker.contains(event)), "{what}");
            let is_current = tracker.in_flight() == 0 && !is_dropped;
            if is_current && tracker.is_synced() {
                assert!(known == expected(&objects), "{what}");
                synced += 1;
            }
        }
        assert!(synced >= 8, "{synced} of 20 on {}", adapter.name);
    }
}

#[test]
fn a_burst_of_pairs_is_known_after_a_few_frames() {
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut tracker = PairTracker::new(None);
        let mut known = BTreeSet::new();
        for (objects, name) in [
            (vec![Aabb::new([0.0; 3], [1.0; 3]); 200], "crowd"),
            (Vec::new(), "nothing"),
        ] {
            let what = format!("{name} on {}", adapter.name);
            let all = expected(&objects);
            let mut frames = 0;
            while !(tracker.is_synced() && known == all) {
                let mut encoder = encoder(&adapter);
                let step = gpu.step(&mut encoder, scene(&objects)).expect("a step");
                tracker
                    .record(&mut encoder, &step, ObjectNames::default())
                    .expect("a step");
                adapter.queue.submit([encoder.finish()]);
                poll(&adapter);
                while let Some(changes) = tracker.update().expect("changes") {
                    apply(&mut known, changes, &what);
                }
                frames += 1;
                assert!(frames < 10, "{what}");
            }
        }
    }
}
