use std::collections::{BTreeSet, VecDeque};

use crate::common::steps::{SCHEMES, UNIT, broad_phase, check_hits, check_lists, encoder, sorted};
use crate::common::{Rng, adapters, uniform};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, Events, GpuBroadPhase, ObjectNames, Output, OutputOptions,
    Page, Pair, PairEvents, Queries, QueryInput, Ray, RayMode, ReadBackError, Readback, Scene, Source, Status,
    StepError, StepResult, adapters as all_adapters, cpu, reference::brute_force, wgpu,
};
use pollster::block_on;

const MOST_FRAMES: usize = 3;

const ROOMY: Capacities = Capacities {
    pairs: Some(1 << 16),
    hits: Some(1 << 16),
    entries: Some(1 << 14),
    ray_cells: None,
    results: Some(1 << 16),
    rounds: None,
};

fn poll(device: &wgpu::Device) {
    device
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("an idle device");
}

struct Frame {
    boxes: Vec<Aabb>,
    rays: Vec<Ray>,
    queries: Vec<Aabb>,
}

impl Frame {
    fn new(count: usize, rng: &mut Rng) -> Self {
        let boxes = uniform(count, rng);
        let rays = boxes.iter().take(30).map(|of| Ray::new(of.min, [0.4, 1.0, 0.3], 20.0));
        Self {
            rays: rays.collect(),
            queries: boxes.iter().step_by(7).copied().collect(),
            boxes,
        }
    }

    fn input(&self) -> Scene<'_> {
        Scene {
            query: QueryInput {
                queries: Queries::Boxes(Source::Host(&self.queries)),
                ..host(&self.boxes, &self.rays).query
            },
            ..host(&self.boxes, &self.rays)
        }
    }

    fn check(&self, descriptor: &BroadPhaseDescriptor<'_>, found: &StepResult, what: &str) {
        let expected = Scene {
            objects: Source::Host(&self.boxes),
            query: QueryInput {
                rays: self.rays[..].into(),
                queries: Queries::Boxes(Source::Host(&self.queries)),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        assert!(found.counters.is_complete(), "{what}: {}", found.counters.status);
        let pairs = brute_force::scene_pairs(descriptor, &expected).unwrap();
        assert_eq!(sorted(found.pairs.clone()), pairs, "{what}");
        check_hits(
            found,
            RayMode::All,
            &brute_force::scene_rays(descriptor, &expected).unwrap(),
            what,
        );
        check_lists(found, &brute_force::scene_queries(descriptor, &expected).unwrap(), what);
    }
}

#[test]
fn answers_of_many_frames_arrive_in_turn_and_are_those_of_their_own_frame() {
    for (adapter, scheme) in adapters()
        .iter()
        .flat_map(|adapter| SCHEMES.map(|scheme| (adapter, scheme)))
    {
        for dimensions in [Dimensions::Two, Dimensions::Three] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                dimensions,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    capacities: ROOMY,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut gpu = broad_phase(adapter, &descriptor);
            let mut rng = Rng(7);
            let mut asked: VecDeque<(usize, Frame, Readback<StepResult>)> = VecDeque::new();
            let mut seen = 0;
            for number in 0..24 {
                let frame = Frame::new(40 + 90 * (number % 5), &mut rng);
                let mut encoder = encoder(adapter);
                gpu.step(&mut encoder, frame.input()).expect("a step");
                let answer = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
                assert!(!answer.is_ready());
                adapter.queue.submit([encoder.finish()]);
                asked.push_back((number, frame, answer));
                if asked.len() == MOST_FRAMES {
                    poll(&adapter.device);
                }
                while let Some((of, frame, answer)) = asked.front_mut() {
                    let what = format!("{}, {descriptor:?}, frame {of}", adapter.name);
                    let Some(found) = answer.take() else { break };
                    frame.check(&descriptor, &found.expect("an answer"), &what);
                    assert!(answer.take().is_none(), "{what}");
                    assert!(number - *of < MOST_FRAMES, "{what}");
                    asked.pop_front();
                    seen += 1;
                }
            }
            assert!(seen > 20, "{}: {seen}", adapter.name);
        }
    }
}

#[test]
fn what_was_asked_for_is_what_arrives() {
    for adapter in adapters() {
        let name = &adapter.name;
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let frame = Frame::new(600, &mut Rng(3));
        let mut encoder = encoder(&adapter);
        gpu.step(&mut encoder, frame.input()).expect("a step");
        let all = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
        let hits = [Output::RayHits];
        let hits = gpu.record_read_back(&mut encoder, &hits).expect("a handle");
        let cells = [Output::RayCells];
        let cells = gpu.record_read_back(&mut encoder, &cells).expect("a handle");
        let figures = gpu.record_read_back(&mut encoder, &[]).expect("a handle");
        let first = Page {
            pairs: 5,
            ..Page::default()
        };
        gpu.page(&mut encoder, first).expect("a page");
        let page = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
        let query = QueryInput {
            queries: Queries::Boxes(Source::Host(&frame.boxes[..50])),
            ..Default::default()
        };
        gpu.query(&mut encoder, query).expect("a query");
        let asked = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
        adapter.queue.submit([encoder.finish()]);
        let after = block_on(gpu.read_back()).expect("a result");
        let [all, hits, cells, figures, page, asked] =
            [all, hits, cells, figures, page, asked].map(|answer| block_on(answer).expect("an answer"));
        frame.check(&descriptor, &all, name);
        let hits_alone = StepResult {
            ray_hits: all.ray_hits.clone(),
            ray_offsets: all.ray_offsets.clone(),
            counters: all.counters,
            ..StepResult::default()
        };
        let cells_alone = StepResult {
            ray_cells: all.ray_cells.clone(),
            ray_cell_offsets: all.ray_cell_offsets.clone(),
            counters: all.counters,
            ..StepResult::default()
        };
        assert!(!all.ray_hits.is_empty() && !all.ray_cells.is_empty(), "{name}");
        assert_eq!((hits, cells), (hits_alone, cells_alone), "{name}");
        assert_eq!(figures.counters, all.counters, "{name}");
        assert!(figures.pairs.is_empty() && figures.query_offsets.is_empty(), "{name}");
        assert_eq!(page.pairs, all.pairs[5..], "{name}");
        assert_eq!(asked, after, "{name}");
        assert_eq!(asked.query_offsets.len(), 51, "{name}");
        assert!(asked.pairs.is_empty(), "{name}");
    }
}

#[test]
fn what_is_copied_grows_with_the_answer() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = broad_phase(&adapter, &descriptor);
        let few = uniform(300, &mut Rng(1));
        // 300 equal boxes have 44,850 pairs, of which a copy of 64 KiB holds 8,192.
        let crowd = vec![UNIT; 300];
        let mut cut = 0;
        for frame in 0..12 {
            let boxes = if frame < 3 { &few } else { &crowd };
            let mut encoder = encoder(&adapter);
            gpu.step(&mut encoder, host(boxes, &[])).expect("a step");
            let answer = gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle");
            adapter.queue.submit([encoder.finish()]);
            poll(&adapter.device);
            let found = block_on(answer).expect("an answer");
            let is_cut = (found.pairs.len() as u64) < found.counters.pairs_needed;
            assert_eq!(
                found.counters.status.has(Status::PAIRS),
                is_cut,
                "{}, {frame}",
                adapter.name
            );
            cut += u32::from(is_cut);
            assert!(!is_cut || (3..6).contains(&frame), "{}, {frame}", adapter.name);
        }
        assert!(cut > 0, "{}", adapter.name);
    }
}

#[test]
fn what_was_not_submitted_never_arrives_and_says_so() {
    for adapter in adapters() {
        let name = &adapter.name;
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut early = encoder(&adapter);
        assert_eq!(
            gpu.record_read_back(&mut early, Output::ALL).err(),
            Some(StepError::NoStep),
            "{name}"
        );
        let mut dropped = encoder(&adapter);
        gpu.step(&mut dropped, host(&[UNIT; 3], &[])).expect("a step");
        let mut answer = gpu.record_read_back(&mut dropped, Output::ALL).expect("a handle");
        drop(dropped);
        assert!(answer.is_ready(), "{name}");
        assert_eq!(answer.take(), Some(Err(ReadBackError::NotSubmitted)), "{name}");
        assert_eq!(
            gpu.record_read_back(&mut early, Output::ALL).err(),
            Some(StepError::Dropped),
            "{name}"
        );
        let mut step = encoder(&adapter);
        gpu.step(&mut step, host(&[UNIT; 3], &[])).expect("a step");
        let answer = gpu.record_read_back(&mut early, Output::ALL).expect("a handle");
        drop(step);
        adapter.queue.submit([early.finish()]);
        poll(&adapter.device);
        assert_eq!(block_on(answer), Err(ReadBackError::NotSubmitted), "{name}");
        let mut last = encoder(&adapter);
        gpu.step(&mut last, host(&[UNIT; 3], &[])).expect("a step");
        let answer = gpu.record_read_back(&mut last, Output::ALL).expect("a handle");
        drop(gpu.record_read_back(&mut last, Output::ALL).expect("a handle"));
        adapter.queue.submit([last.finish()]);
        drop(gpu);
        poll(&adapter.device);
        assert_eq!(block_on(answer).expect("an answer").pairs.len(), 3, "{name}");
    }
}

#[test]
fn events_arrive_later_as_they_are_read() {
    for adapter in adapters() {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: ROOMY,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut events = PairEvents::new(None);
        let mut before: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut unread = 0;
        let mut early = encoder(&adapter);
        assert_eq!(events.record_read_back(&mut early).err(), Some(StepError::NoStep));
        for frame in 0..14u64 {
            let name = format!("{}, frame {frame}", adapter.name);
            let boxes = match frame {
                6 | 7 | 9 => vec![UNIT; 200],
                _ => uniform(250, &mut Rng(1 + frame / 2)),
            };
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, host(&boxes, &[])).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            let answer = events.record_read_back(&mut encoder).expect("a handle");
            adapter.queue.submit([encoder.finish()]);
            let read = block_on(events.read_changes()).expect("events");
            let later: Events = block_on(answer).expect("events");
            assert!(later.persisting.is_empty(), "{name}");
            let missing = read.begun.len() + read.ended.len() - later.begun.len() - later.ended.len();
            assert_eq!(later.unread as usize, missing, "{name}");
            assert!(
                read.begun.starts_with(&later.begun) && read.ended.starts_with(&later.ended),
                "{name}"
            );
            assert!(missing == 0 || frame == 6 || frame == 8, "{name}: {missing}");
            unread += missing;
            let now: BTreeSet<_> = pairs_of(&boxes).iter().map(|pair| (pair.a, pair.b)).collect();
            let begun: BTreeSet<_> = read.begun.iter().map(|event| (event.a, event.b)).collect();
            assert!(begun.iter().eq(now.difference(&before)), "{name}");
            before = now;
        }
        assert!(unread > 0);
    }
}

fn pairs_of(boxes: &[Aabb]) -> Vec<Pair> {
    let result = cpu::step(&BroadPhaseDescriptor::default(), boxes, &[]);
    result.expect("boxes that can be answered").pairs
}

#[test]
fn a_steady_frame_loop_makes_no_buffer_and_no_bind_group() {
    for adapter in adapters() {
        let own = block_on(all_adapters(adapter.backends)).into_iter().next();
        let request = GpuBroadPhase::device_descriptor(own.as_ref().expect("an adapter"));
        let (device, queue) = block_on(own.expect("an adapter").request_device(&request)).expect("a device");
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        let mut events = PairEvents::new(None);
        let frame = Frame::new(500, &mut Rng(11));
        let mut asked = VecDeque::new();
        let mut late_events = VecDeque::new();
        let created = || {
            let counters = device.get_internal_counters().hal;
            [counters.buffers.read(), counters.bind_groups.read()]
        };
        for number in 0..60 {
            let before = created();
            let mut encoder = device.create_command_encoder(&Default::default());
            let step = gpu.step(&mut encoder, frame.input()).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            asked.push_back(gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle"));
            late_events.push_back(events.record_read_back(&mut encoder).expect("a handle"));
            drop(gpu.record_read_back(&mut encoder, &[]).expect("a handle"));
            if number > 30 {
                assert_eq!(created(), before, "{}, frame {number}", adapter.name);
            }
            queue.submit([encoder.finish()]);
            if asked.len() > 5 {
                poll(&device);
                let found = asked.pop_front().and_then(|mut answer| answer.take());
                frame.check(
                    &descriptor,
                    &found.expect("an answer").expect("an answer"),
                    &adapter.name,
                );
                drop(late_events.pop_front());
            }
        }
    }
}

#[allow(dead_code, reason = "handles go wherever an engine keeps them")]
fn handles_cross_threads(handle: Readback<StepResult>) -> impl Send + Sync + Unpin {
    handle
}

fn host<'a>(objects: &'a [Aabb], rays: &'a [Ray]) -> Scene<'a> {
    Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: Source::Host(rays).into(),
            ..QueryInput::default()
        },
        ..Default::default()
    }
}
