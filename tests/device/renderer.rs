//! A frame loop with every component, which never waits for its latest frame.

use std::collections::{BTreeSet, VecDeque};
use std::env;

use crate::common::steps::{check_hits, check_lists, sorted};
use crate::common::{Rng, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, CullDraw, CullOptions, Culling, Events, Frustum, GpuBroadPhase,
    ObjectNames, Output, OutputOptions, Pair, PairEvents, Queries, Query, QueryInput, Ray, RayMode, Readback, Scene,
    Source, StepResult, Uses, Visible, adapters as all_adapters, reference, reference::brute_force, wgpu,
};
use pollster::block_on;

/// Default number of frames. 5,000 were run by hand.
const FRAMES: usize = 400;
const FRAMES_VARIABLE: &str = "GPU_BROAD_PHASE_FRAMES";
const IN_FLIGHT: usize = 3;
/// Frames after which nothing new is allocated.
const WARM_UP: usize = 60;

const BOXES: usize = 240;
const SIDE: f32 = 12.0;

struct World {
    boxes: Vec<Aabb>,
    speeds: Vec<[f32; 3]>,
}

impl World {
    fn new(rng: &mut Rng) -> Self {
        let mut of = |scale: f32, shift: f32| -> [f32; 3] { std::array::from_fn(|_| scale * (rng.unit() + shift)) };
        let boxes = (0..BOXES).map(|_| {
            let (low, size) = (of(SIDE, 0.0), of(1.0, 0.25));
            Aabb::new(low, std::array::from_fn(|axis| low[axis] + size[axis]))
        });
        let boxes = boxes.collect();
        let speeds = (0..BOXES).map(|_| of(0.25, -0.5)).collect();
        Self { boxes, speeds }
    }

    fn advance(&mut self) {
        for (of, speed) in self.boxes.iter_mut().zip(&mut self.speeds) {
            for (axis, speed) in speed.iter_mut().enumerate() {
                if !(0.0..=SIDE).contains(&(of.min[axis] + *speed)) {
                    *speed = -*speed;
                }
                of.min[axis] += *speed;
                of.max[axis] += *speed;
            }
        }
    }
}

fn joints(boxes: &[Aabb], number: usize) -> Vec<Pair> {
    let scene = Scene {
        objects: boxes.into(),
        ..Scene::default()
    };
    let found = brute_force::scene_pairs(&BroadPhaseDescriptor::default(), &scene).unwrap();
    let held = found.into_iter().skip(number % 3).step_by(3);
    let others = (1..BOXES as u32).map(|place| Pair::new(place - 1, place));
    held.chain(others).take(1 + 37 * number % 100).collect()
}

fn view(turn: f32) -> Frustum {
    let [sides @ .., ahead] = [-0.125, 0.125, 0.0].map(|side| {
        let angle = (turn + side) * std::f32::consts::TAU;
        [angle.cos(), angle.sin()]
    });
    let middle = 0.5 * SIDE;
    let plane = |x: f32, y: f32, d: f32| [x, y, 0.0, d - middle * (x + y)];
    let [[x0, y0], [x1, y1]] = sides;
    Frustum::new([
        plane(-y0, x0, 0.0),
        plane(y1, -x1, 0.0),
        plane(-ahead[0], -ahead[1], 0.8 * SIDE),
    ])
}

struct Frame {
    number: usize,
    boxes: Vec<Aabb>,
    excluded: Vec<Pair>,
    rays: Vec<Ray>,
    probes: Vec<Aabb>,
    spheres: Vec<Query>,
    views: [Frustum; 3],
    seen: Readback<Visible>,
    step: Readback<StepResult>,
    picking: Readback<StepResult>,
    sensors: Readback<StepResult>,
    events: Readback<Events>,
}

impl Frame {
    fn check(
        mut self,
        descriptors: &[BroadPhaseDescriptor<'_>; 3],
        before: &BTreeSet<(u32, u32)>,
    ) -> BTreeSet<(u32, u32)> {
        let what = format!("frame {}", self.number);
        let [step, picking, sensors] = [&mut self.step, &mut self.picking, &mut self.sensors]
            .map(|answer| answer.take().expect("an answer that is there").expect("an answer"));
        let events = self.events.take().expect("events that are there").expect("events");
        let seen = self.seen.take().expect("views that are there").expect("what they see");
        let cast = Scene {
            objects: Source::Host(&self.boxes),
            excluded_pairs: Source::Host(&self.excluded),
            query: QueryInput {
                rays: self.rays[..].into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        for (found, descriptor) in [&step, &picking, &sensors].into_iter().zip(descriptors) {
            assert!(found.counters.is_complete(), "{what}: {}", found.counters.status);
            check_hits(
                found,
                descriptor.outputs.ray_mode,
                &brute_force::scene_rays(descriptor, &cast).unwrap(),
                &what,
            );
        }
        let defined = reference::cull(&descriptors[0], &cast, &self.views).expect("views");
        assert_eq!(seen, defined, "{what}");
        let of = |queries| {
            brute_force::scene_queries(
                &descriptors[0],
                &Scene {
                    query: QueryInput { queries, ..cast.query },
                    ..cast
                },
            )
            .unwrap()
        };
        check_lists(&picking, &of(Queries::Boxes(Source::Host(&self.probes))), &what);
        check_lists(&sensors, &of(Queries::General(Source::Host(&self.spheres))), &what);
        let pairs = brute_force::scene_pairs(&descriptors[0], &cast).unwrap();
        assert_eq!(sorted(step.pairs), pairs, "{what}");
        let now: BTreeSet<_> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        let names = |events: Vec<gpu_broad_phase::PairEvent>| -> BTreeSet<_> {
            events.iter().map(|event| (event.a, event.b)).collect()
        };
        assert_eq!((events.unread, events.status), (0, Default::default()), "{what}");
        assert!(names(events.begun).iter().eq(now.difference(before)), "{what}");
        assert!(names(events.ended).iter().eq(before.difference(&now)), "{what}");
        now
    }
}

#[test]
fn thousands_of_frames_wait_for_nothing_make_nothing_and_are_right() {
    let frames = env::var(FRAMES_VARIABLE).map_or(FRAMES, |frames| frames.parse().expect("a number of frames"));
    for adapter in adapters() {
        let own = block_on(all_adapters(adapter.backends))
            .into_iter()
            .next()
            .expect("an adapter");
        let request = GpuBroadPhase::device_descriptor(&own);
        let (device, queue) = block_on(own.request_device(&request)).expect("a device");
        let of_mode = |ray_mode| BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode,
                capacities: Capacities {
                    pairs: Some(1 << 13),
                    hits: Some(1 << 12),
                    results: Some(1 << 12),
                    ..Capacities::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let descriptors = [RayMode::All, RayMode::Closest, RayMode::Any].map(of_mode);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptors[0]).expect("a broad phase");
        let mut events = PairEvents::new(None);
        let mut culling = Culling::new(None);
        let mut picking = gpu.query_set("picking", &descriptors[1].outputs).expect("options");
        let mut sensors = gpu.query_set("sensors", &descriptors[2].outputs).expect("options");
        let uses = Uses {
            rays: true,
            queries: true,
            excluded_pairs: true,
            ..Uses::default()
        };
        for preparation in [
            gpu.prepare(uses),
            picking.prepare(&gpu, uses),
            sensors.prepare(&gpu, uses),
            events.prepare(&gpu),
            culling.prepare(&gpu),
        ] {
            preparation.run().expect("pipelines");
        }
        let counted = || {
            let counters = device.get_internal_counters().hal;
            [&counters.buffers, &counters.bind_groups, &counters.compute_pipelines].map(|counter| counter.read())
        };
        let pipelines = counted()[2];
        let mut world = World::new(&mut Rng(2026));
        let mut asked: VecDeque<(Frame, Option<wgpu::SubmissionIndex>)> = VecDeque::new();
        let mut pairs_before = BTreeSet::new();
        let mut recorded = Vec::new();
        let mut steady_memory = None;
        for number in 0..frames {
            // As in a renderer, waits for the oldest frame in flight, whose results have then arrived.
            if asked.len() == IN_FLIGHT
                && let Some((frame, submission)) = asked.pop_front()
            {
                let done = wgpu::PollType::Wait {
                    submission_index: submission,
                    timeout: None,
                };
                device.poll(done).expect("a device that goes on");
                pairs_before = frame.check(&descriptors, &pairs_before);
            }
            world.advance();
            let rays = world
                .boxes
                .iter()
                .step_by(11)
                .map(|of| Ray::new(of.min, [0.5, 0.25, 1.0], 20.0));
            let rays: Vec<_> = rays.collect();
            let probes: Vec<_> = world
                .boxes
                .iter()
                .skip(number % 5)
                .step_by(17)
                .copied()
                .take(13)
                .collect();
            let spheres = world.boxes.iter().step_by(19).map(|of| Query::sphere(of.max, 1.25));
            let spheres: Vec<_> = spheres.collect();
            let views = [0.0, 0.25, 0.5].map(|turn| view(turn + 0.01 * number as f32));
            let excluded = joints(&world.boxes, number);
            let before = counted();
            let mut encoder = device.create_command_encoder(&Default::default());
            let cast = Source::Host(&rays[..]).into();
            let input = Scene {
                objects: Source::Host(&world.boxes),
                excluded_pairs: Source::Host(&excluded),
                query: QueryInput {
                    rays: cast,
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let step = gpu.step(&mut encoder, input).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            let options = CullOptions {
                list_capacity: Some(3 * BOXES as u32),
                draw: Some(CullDraw::Vertices(36)),
            };
            culling
                .record(&mut encoder, &step, Source::Host(&views), options)
                .expect("views");
            let picks = QueryInput {
                rays: cast,
                queries: Queries::Boxes(Source::Host(&probes)),
                ..Default::default()
            };
            picking.record(&mut encoder, &step, picks).expect("a set");
            let senses = QueryInput {
                rays: cast,
                queries: Queries::General(Source::Host(&spheres)),
                ..Default::default()
            };
            sensors.record(&mut encoder, &step, senses).expect("a set");
            let frame = Frame {
                number,
                step: gpu.record_read_back(&mut encoder, Output::ALL).expect("a handle"),
                picking: picking.record_read_back(&mut encoder, Output::ALL).expect("a handle"),
                sensors: sensors.record_read_back(&mut encoder, Output::ALL).expect("a handle"),
                events: events.record_read_back(&mut encoder).expect("a handle"),
                seen: culling.record_read_back(&mut encoder).expect("a handle"),
                views,
                boxes: world.boxes.clone(),
                excluded,
                rays,
                probes,
                spheres,
            };
            let after = counted();
            assert_eq!(after[2], pipelines, "{}, frame {number}", adapter.name);
            if number >= WARM_UP {
                assert_eq!(after, before, "{}, frame {number}", adapter.name);
                let memory = gpu.memory().total()
                    + picking.memory().total()
                    + sensors.memory().total()
                    + events.memory().total()
                    + culling.memory().total();
                assert_eq!(
                    memory,
                    *steady_memory.get_or_insert(memory),
                    "{}, frame {number}",
                    adapter.name
                );
            }
            asked.push_back((frame, None));
            recorded.push(encoder.finish());
            // During warm-up, frames are submitted as late as possible.
            if number >= WARM_UP || recorded.len() == IN_FLIGHT {
                let submission = queue.submit(recorded.drain(..));
                let waiting = asked.iter_mut().filter(|(_, submission)| submission.is_none());
                waiting.for_each(|(_, of_frame)| *of_frame = Some(submission.clone()));
            }
        }
    }
}
