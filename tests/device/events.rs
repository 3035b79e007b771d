//! Pair events must be the difference between the brute-force pairs of two steps.

use std::collections::BTreeSet;

use crate::common::steps::{SCHEMES, UNIT, again, broad_phase, buffer, encoder, read, scene_of};
use crate::common::{Rng, TestAdapter, adapters, daily_or_full, uniform};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Events, GpuBroadPhase, Growth, Handle, ObjectNames, ObjectSet, Pair, PairEvent,
    PairEvents, ReadBackError, Scheme, Source, Status, StepError, StepResult, wgpu,
};
use pollster::block_on;

type Touch = [Handle; 2];

fn touch(event: PairEvent) -> Touch {
    let mut touch: Touch = event.into();
    touch.sort_unstable();
    touch
}

fn random_box(rng: &mut Rng) -> Aabb {
    let low = [0; 3].map(|_| rng.below(7) as f32 - 3.0);
    let size = if rng.below(12) == 0 { 4.0 } else { 1.0 };
    Aabb::new(low, low.map(|low| low + size))
}

fn disturb(set: &mut ObjectSet, handles: &mut Vec<Handle>, rng: &mut Rng) {
    let handle = handles[rng.below(handles.len())];
    match rng.below(9) {
        0 => handles.push(set.insert(random_box(rng))),
        1 => handles.push(set.insert_static(random_box(rng))),
        2 | 3 if handles.len() > 40 => {
            handles.retain(|&other| other != handle);
            set.remove(handle).unwrap();
        }
        4 => set.exclude(handle).unwrap(),
        5 => set.include(handle).unwrap(),
        6 => set
            .set_layers(handle, rng.below(4) as u16, 1 | rng.below(4) as u16)
            .unwrap(),
        _ => {
            let Aabb { min, max, .. } = random_box(rng);
            set.move_to(handle, min, max).unwrap();
        }
    }
}

fn touches(set: &ObjectSet) -> BTreeSet<Touch> {
    let (handles, boxes): (Vec<_>, Vec<_>) = set
        .iter()
        .map(|(handle, &object)| {
            let mark = if handle.is_static() { Aabb::STATIC } else { 0 };
            (handle, object.with_group(object.group | mark))
        })
        .unzip();
    let pairs = brute_force::pairs(&boxes);
    let by_handle = |Pair { a, b }: Pair| {
        let mut touch = [a, b].map(|index| handles[index as usize]);
        touch.sort_unstable();
        touch
    };
    pairs.into_iter().map(by_handle).collect()
}

fn set_of(events: &[PairEvent]) -> BTreeSet<Touch> {
    let touches: BTreeSet<_> = events.iter().map(|&event| touch(event)).collect();
    assert_eq!(touches.len(), events.len(), "a pair is reported twice");
    touches
}

fn check(events: &Events, [before, now]: &[BTreeSet<Touch>; 2], what: &str) {
    assert_eq!(events.status, Status::default(), "{what}");
    assert_eq!(set_of(&events.begun), now - before, "{what}: begun");
    assert_eq!(set_of(&events.ended), before - now, "{what}: ended");
    assert_eq!(set_of(&events.persisting), now & before, "{what}: persisting");
}

fn check_order(events: &Events, before: &BTreeSet<Touch>, pairs: &[Pair], handle: impl Fn(u32) -> Handle, what: &str) {
    let touches = pairs.iter().map(|pair| [handle(pair.a), handle(pair.b)]);
    let (persisting, begun): (Vec<Touch>, Vec<Touch>) = touches.partition(|touch| {
        let mut touch = *touch;
        touch.sort_unstable();
        before.contains(&touch)
    });
    for (events, expected) in [(&events.persisting, persisting), (&events.begun, begun)] {
        let found: Vec<Touch> = events.iter().map(|&event| event.into()).collect();
        assert_eq!(found, expected, "{what}");
    }
}

fn rows_of(pairs: &[Pair]) -> Vec<PairEvent> {
    let row = |&Pair { a, b }: &Pair| PairEvent {
        a,
        b,
        ..PairEvent::default()
    };
    pairs.iter().map(row).collect()
}

fn descriptor(scheme: Scheme, pairs: u32, entries: Option<u32>) -> BroadPhaseDescriptor<'static> {
    let mut descriptor = BroadPhaseDescriptor::default();
    descriptor.outputs.capacities.pairs = Some(pairs);
    descriptor.outputs.capacities.entries = entries;
    descriptor.scheme = scheme;
    descriptor
}

fn read_events(events: &mut PairEvents) -> Events {
    block_on(events.read_back()).unwrap()
}

fn record(
    adapter: &TestAdapter,
    encoder: &mut wgpu::CommandEncoder,
    gpu: &mut GpuBroadPhase,
    events: &mut PairEvents,
    set: &mut ObjectSet,
) {
    let input = set.upload(&adapter.device, encoder).unwrap();
    let output = gpu.step(encoder, input).unwrap();
    events.record(encoder, &output, set.names()).unwrap();
}

/// Events of many steps depend only on the list of pairs, so one run changes schemes and capacities.
#[test]
fn events_of_many_steps_are_the_differences_of_brute_force_sets() {
    const SEED: u64 = 0xe7e5;
    for adapter in adapters() {
        let steps = daily_or_full(if adapter.is_first() { 260 } else { 150 }, 1000);
        let mut rng = Rng(SEED);
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut events = PairEvents::new(None);
        let mut set = ObjectSet::new();
        let mut handles: Vec<_> = (0..80).map(|_| set.insert(random_box(&mut rng))).collect();
        let mut touching = [BTreeSet::new(), BTreeSet::new()];
        let mut seen = [0; 3];
        for step in 0..steps {
            if step % 13 == 0 {
                let turn = step / 13;
                let descriptor = descriptor(SCHEMES[turn % 3], [4000, 1 << 14][turn % 2], Some(1 << 16));
                gpu.set_descriptor(&descriptor).expect("a descriptor that works");
            }
            let what = format!("step {step} of seed {SEED:#x} on {}, again: {}", adapter.name, again());
            let mut encoder = encoder(&adapter);
            for _ in 0..=rng.below(4) / 3 {
                (0..rng.below(12)).for_each(|_| disturb(&mut set, &mut handles, &mut rng));
                record(&adapter, &mut encoder, &mut gpu, &mut events, &mut set);
                touching = [std::mem::take(&mut touching[1]), touches(&set)];
            }
            adapter.queue.submit([encoder.finish()]);
            if rng.below(8) == 0 {
                continue;
            }
            let found = read_events(&mut events);
            check(&found, &touching, &what);
            for (seen, events) in seen.iter_mut().zip([&found.persisting, &found.begun, &found.ended]) {
                *seen += events.len();
            }
            if step % 10 == 0 {
                let pairs = read(&mut gpu).pairs;
                let handle = |object| set.handle_of(object).unwrap();
                check_order(&found, &touching[0], &pairs, handle, &what);
            }
        }
        assert!(seen.iter().all(|&seen| seen > 3 * steps), "{seen:?}");
    }
}

/// Runs one step per list of boxes. Events are compared with the pairs that steps found, of which a step with too
/// little room has only some.
fn follow(adapter: &TestAdapter, capacity: u32, lists: impl Iterator<Item = Vec<Aabb>>) -> Vec<(StepResult, u32)> {
    let mut gpu = broad_phase(adapter, &descriptor(Scheme::default(), capacity, None));
    let mut events = PairEvents::new(Some("many"));
    let mut before = BTreeSet::new();
    let one = |(step, boxes): (usize, Vec<Aabb>)| {
        let mut encoder = encoder(adapter);
        let output = gpu.step(&mut encoder, scene_of(&boxes)).unwrap();
        let events_of = events.record(&mut encoder, &output, ObjectNames::default());
        let capacity = events_of.unwrap().capacity;
        adapter.queue.submit([encoder.finish()]);
        let mut found = read_events(&mut events);
        let result = read(&mut gpu);
        let what = format!("step {step} on {}", adapter.name);
        let missing = result.counters.status.intersection(Status::PAIRS);
        assert_eq!(std::mem::take(&mut found.status), missing, "{what}");
        let now = set_of(&rows_of(&result.pairs));
        check(&found, &[std::mem::replace(&mut before, now.clone()), now], &what);
        (result, capacity)
    };
    lists.enumerate().map(one).collect()
}

#[test]
fn thousands_of_pairs_that_come_and_go_are_reported_once() {
    for adapter in adapters() {
        let mut rng = Rng(77);
        let mut boxes = uniform(20_000, &mut rng);
        let lists = (0..3).map(|_| {
            for object in boxes.iter_mut().step_by(7) {
                let shift = rng.unit();
                object.min[0] += shift;
                object.max[0] += shift;
            }
            boxes.clone()
        });
        for (result, _) in follow(&adapter, 1 << 17, lists) {
            assert!(result.counters.is_complete() && result.pairs.len() > 50_000);
        }
    }
}

#[test]
fn outputs_may_grow_from_step_to_step() {
    for adapter in adapters() {
        let mut rng = Rng(5);
        let boxes: Vec<_> = (0..24 * 40).map(|_| random_box(&mut rng)).collect();
        let lists = (1..=24).map(|step| boxes[..40 * step].to_vec());
        let capacities: BTreeSet<_> = follow(&adapter, 64, lists).into_iter().map(|of| of.1).collect();
        assert!(capacities.len() > 3, "{capacities:?}");
    }
}

#[test]
fn a_reset_forgets_the_step_before_and_changes_come_without_what_persists() {
    for adapter in adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut events = PairEvents::new(None);
        let mut set = ObjectSet::new();
        let [wall, ball] = [set.insert_static(UNIT), set.insert(UNIT)];
        let mut frame = |events: &mut PairEvents, set: &mut ObjectSet| {
            let mut encoder = encoder(&adapter);
            record(&adapter, &mut encoder, &mut gpu, events, set);
            adapter.queue.submit([encoder.finish()]);
            block_on(events.read_changes()).unwrap()
        };
        let begun = |touches: &[Touch]| Events {
            begun: touches.iter().map(|&touch| touch.into()).collect(),
            ..Events::default()
        };
        assert_eq!(frame(&mut events, &mut set), begun(&[[wall, ball]]));
        assert_eq!(frame(&mut events, &mut set), Events::default());
        events.reset();
        let none = block_on(events.read_back());
        assert_eq!(none, Err(ReadBackError::NoStep));
        assert_eq!(frame(&mut events, &mut set), begun(&[[wall, ball]]));

        set.remove(ball).unwrap();
        let other = set.insert(UNIT);
        assert_eq!(other.index(), ball.index());
        let expected = Events {
            ended: vec![[wall, ball].into()],
            ..begun(&[[wall, other]])
        };
        assert_eq!(frame(&mut events, &mut set), expected);
        // A new static object changes the ball's index in results, but causes no event.
        set.insert_static(Aabb::new([9.0; 3], [10.0; 3]));
        assert_eq!(frame(&mut events, &mut set), Events::default());
        set.clear();
        let expected = Events {
            ended: vec![[wall, other].into()],
            ..Events::default()
        };
        assert_eq!(frame(&mut events, &mut set), expected);
        assert_eq!(frame(&mut events, &mut set), Events::default());
    }
}

#[test]
fn generations_may_be_on_the_host_or_the_device() {
    let boxes = [UNIT; 3];
    for adapter in adapters() {
        // Larger than a binding may be, so only a range can be bound.
        let size = adapter.device.limits().max_buffer_size.min((128 << 20) + 64);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = buffer(&adapter.device, size, usage);
        adapter
            .queue
            .write_buffer(&buffer, 0, bytemuck::cast_slice(&[7u32, 8, 9, 10]));
        let found = [Source::Host(&[7, 8][..]), Source::device(&buffer, 2)].map(|generations| {
            let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            let mut events = PairEvents::new(None);
            let mut encoder = encoder(&adapter);
            let output = gpu.step(&mut encoder, scene_of(&boxes)).unwrap();
            let names = ObjectNames {
                generations,
                ..Default::default()
            };
            events.record(&mut encoder, &output, names).unwrap();
            adapter.queue.submit([encoder.finish()]);
            read_events(&mut events).begun
        });
        let row = |a, b| PairEvent {
            a,
            a_generation: [7, 8, 0][a as usize],
            b,
            b_generation: [7, 8, 0][b as usize],
        };
        let mut expected = [row(0, 1), row(0, 2), row(1, 2)];
        expected.sort_unstable();
        for mut found in found {
            found.sort_unstable();
            assert_eq!(found, expected, "{}", adapter.name);
        }
    }
}

#[test]
fn events_of_steps_that_did_not_run_are_refused_until_a_reset() {
    let boxes = [UNIT; 5];
    for adapter in adapters() {
        let queue = &adapter.queue;
        let read = |events: &mut PairEvents| {
            let changes = block_on(events.read_changes());
            changes.map(|changes| (changes.begun.len(), changes.ended.len()))
        };
        // The encoder is dropped before or after the next call.
        for is_late in [false, true] {
            let what = format!("late {is_late} on {}", adapter.name);
            let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            let mut events = PairEvents::new(None);
            let mut frame = |events: &mut PairEvents, count| {
                let mut encoder = encoder(&adapter);
                let output = gpu.step(&mut encoder, scene_of(&boxes[..count])).unwrap();
                let recorded = events.record(&mut encoder, &output, ObjectNames::default());
                recorded.map(drop).map(|()| encoder.finish())
            };
            for _ in 0..2 {
                queue.submit(frame(&mut events, 2));
                assert_eq!(read(&mut events), Ok((1, 0)), "{what}");
                let lost = frame(&mut events, 3).unwrap();
                assert_eq!(read(&mut events), Err(ReadBackError::NotSubmitted), "{what}");
                let next = is_late.then(|| frame(&mut events, 4).unwrap());
                drop(lost);
                queue.submit(next);
                assert_eq!(read(&mut events), Err(ReadBackError::NotSubmitted), "{what}");
                let refused = frame(&mut events, 5).map(drop);
                assert_eq!(refused, Err(StepError::Dropped), "{what}");
                events.reset();
                queue.submit(frame(&mut events, 5));
                assert_eq!(read(&mut events), Ok((10, 0)), "{what}");
                events.reset();
            }
            let [mut step, mut own] = [encoder(&adapter), encoder(&adapter)];
            let output = gpu.step(&mut step, scene_of(&boxes)).unwrap();
            events.record(&mut own, &output, ObjectNames::default()).unwrap();
            drop(step);
            queue.submit([own.finish()]);
            assert_eq!(read(&mut events), Err(ReadBackError::NotSubmitted), "{what}");
        }
    }
}

#[test]
fn a_refused_step_changes_no_event_and_memory_is_as_documented() {
    let boxes = uniform(40_000, &mut Rng(8));
    for adapter in &adapters() {
        let mut descriptor = descriptor(Scheme::default(), 1 << 18, None);
        descriptor.outputs.growth = Growth::Fixed;
        let mut gpu = broad_phase(adapter, &descriptor);
        let mut events = PairEvents::new(None);
        let mut frame = |events: &mut PairEvents, names| {
            let mut encoder = encoder(adapter);
            let output = gpu.step(&mut encoder, scene_of(&boxes)).unwrap();
            let recorded = events.record(&mut encoder, &output, names).map(drop);
            if recorded.is_ok() {
                adapter.queue.submit([encoder.finish()]);
            }
            recorded
        };
        let destroyed = buffer(&adapter.device, 64, wgpu::BufferUsages::STORAGE);
        destroyed.destroy();
        let refused = ObjectNames {
            generations: Source::device(&destroyed, 4),
            ..Default::default()
        };
        for _ in 0..3 {
            let answer = frame(&mut events, refused);
            assert!(matches!(answer, Err(StepError::Device(_))), "{answer:?}");
            assert_eq!(events.memory().total(), 0);
            frame(&mut events, ObjectNames::default()).unwrap();
            frame(&mut events, ObjectNames::default()).unwrap();
            let begun = block_on(events.read_changes()).unwrap();
            assert!(begun.begun.is_empty() && begun.ended.is_empty());
        }
        frame(&mut events, ObjectNames::default()).unwrap();
        let each = events.memory().total() as f64 / f64::from(1u32 << 18);
        assert!((64.0..72.1).contains(&each), "{each} bytes a pair");
        events.trim();
        assert_eq!(events.memory().total(), 0);
    }
}
