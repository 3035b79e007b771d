use std::collections::BTreeSet;

use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{Aabb, Events, ObjectNames, Pair, PairEvent, PairTracker};

use crate::common::daily_adapters;
use crate::common::steps::{UNIT, broad_phase, descriptor, encoder, poll, scene_of};
use wild::Rng;

fn boxes(count: usize, side: f32, rng: &mut Rng) -> Vec<Aabb> {
    let cube = |_| Aabb::from_center_half(rng.point(side), [0.5; 3]);
    (0..count).map(cube).collect()
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

/// Frames 0 to 59 move boxes, and some encoders are dropped. Frames 60 to 69 have a crowd of 19,900 pairs, the others
/// nothing.
#[test]
fn pairs_follow_the_steps_through_overflow_bursts_and_loss() {
    for adapter in daily_adapters() {
        let mut rng = Rng(0x7ac5);
        let mut gpu = broad_phase(&adapter, &descriptor(|all| all.outputs.capacities.pairs = Some(16)));
        let mut tracker = PairTracker::new(None);
        let mut known = BTreeSet::new();
        let mut synced = Vec::new();
        let mut objects = boxes(300, 6.0, &mut rng);
        for frame in 0..80 {
            let what = format!("frame {frame} on {}", adapter.name);
            match frame {
                60 => objects = vec![UNIT; 200],
                70 => objects.clear(),
                61..70 | 71.. => {}
                7 | 22 | 37 | 52 => objects = boxes(300, [3.0, 6.0][frame / 15 % 2], &mut rng),
                _ => (0..20).for_each(|_| objects[rng.below(300)] = boxes(1, 6.0, &mut rng)[0]),
            }
            let is_dropped = matches!(frame, 12 | 13 | 25 | 40 | 45);
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, scene_of(&objects)).expect("a step");
            let names = ObjectNames::default();
            tracker.record(&mut encoder, &step, names).expect("a step");
            let ready = encoder.finish();
            adapter.queue.submit((!is_dropped).then_some(ready));
            if frame % 3 == 0 || frame >= 60 {
                poll(&adapter.device);
            }
            while let Some(changes) = tracker.update().expect("changes") {
                apply(&mut known, changes, &what);
            }
            assert!(tracker.pairs().collect::<BTreeSet<_>>() == known, "{what}");
            assert!(known.iter().all(|&event| tracker.contains(event)), "{what}");
            if tracker.in_flight() == 0 && !is_dropped && tracker.is_synced() {
                let event = |Pair { a, b }| PairEvent {
                    a,
                    b,
                    ..PairEvent::default()
                };
                let expected = brute_force::pairs(&objects).into_iter().map(event);
                assert!(known.iter().copied().eq(expected), "{what}");
                synced.push(frame);
            }
        }
        assert!(synced.len() >= 10 && synced[7] < 60, "{synced:?} on {}", adapter.name);
        let is_synced = synced.contains(&69) && synced.contains(&79);
        assert!(is_synced, "{synced:?} on {}", adapter.name);
    }
}
