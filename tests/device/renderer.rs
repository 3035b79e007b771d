//! A frame loop with every component, which never waits for its latest frame.

use std::collections::{BTreeSet, VecDeque};

use crate::common::steps::{descriptor, scene_of};
use crate::common::{Rng, TestAdapter, adapters, daily_or_full};
use gpu_broad_phase::internals::{Work, watch};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullDraw, CullOptions, Culling, DebugDraw, DebugLines, DispatchArgs, Events, Frustum,
    GpuBroadPhase, Handle, ObjectNames, ObjectSet, Output, Pair, PairEvent, PairEvents, Queries, Query, QuerySet, Ray,
    RayMode, Readback, ResultOrder, Scene, Scheme, Source, StepResult, Uses, Visible, reference, wgpu,
};
use pollster::block_on;
use wild::{Expected, check};

const IN_FLIGHT: usize = 3;
/// Frames after which nothing new is allocated.
const WARM_UP: usize = 60;

const BOXES: usize = 240;
const WALLS: usize = 40;
const SIDE: f32 = 12.0;

/// Admits every pair.
const FILTER: &str = "fn admits_pair(a: u32, b: u32) -> bool { return pair_data(0u) != 0u || a == b; }";

struct World {
    rng: Rng,
    walls: Vec<Aabb>,
    boxes: Vec<Aabb>,
}

impl World {
    fn new() -> Self {
        let mut rng = Rng(2026);
        let mut cubes = |count: usize| -> Vec<_> {
            let cube = |_| Aabb::from_center_half(rng.point(SIDE), rng.point(0.5).map(|half| half + 0.125));
            (0..count).map(cube).collect()
        };
        let (walls, boxes) = (cubes(WALLS), cubes(BOXES));
        Self { rng, walls, boxes }
    }

    /// Boxes at frame `number` swing along a diagonal.
    fn moved(&self, number: usize) -> Vec<Aabb> {
        let swing = |(place, of): (usize, &Aabb)| {
            let by = (place as f32 + 0.125 * number as f32).sin();
            Aabb::new(of.min.map(|low| low + by), of.max.map(|high| high + by))
        };
        self.boxes.iter().enumerate().map(swing).collect()
    }
}

/// The scene of a frame whose results are on the way.
struct Frame {
    boxes: Vec<Aabb>,
    walls: Vec<Aabb>,
    excluded: Vec<Pair>,
    rays: Vec<Ray>,
    probes: Vec<Aabb>,
    spheres: Vec<Query>,
    views: [Frustum; 3],
    is_warm_up: bool,
    /// Data of the pair filter.
    words: Vec<u32>,
}

impl Frame {
    /// If it `varies`, numbers of everything vary by a factor of two, but half of the warm-up has the most.
    fn new(number: usize, world: &mut World, varies: bool) -> Self {
        let is_most = !varies || number < WARM_UP && number.is_multiple_of(2);
        let mut boxes = world.moved(number);
        let rng = &mut world.rng;
        let mut of = |most: usize| most - if is_most { 0 } else { rng.below(most / 2 + 1) };
        boxes.truncate(of(BOXES));
        let rays = boxes.iter().map(|of| Ray::new(of.min, [0.5, 0.25, 1.0], 20.0));
        let spheres = boxes.iter().take(of(16)).map(|of| Query::sphere(of.max, 1.25));
        let views = [0.0, 2.0, 4.0].map(|turn| {
            let [x, y] = [f32::cos, f32::sin].map(|of| of(turn + 0.1 * number as f32));
            Frustum::new([[x, y, 0.0, -0.7 * SIDE], [-y, x, 0.0, 0.0]])
        });
        let mut frame = Self {
            rays: rays.take(of(24)).collect(),
            probes: boxes[..of(14)].to_vec(),
            spheres: spheres.collect(),
            views,
            is_warm_up: number < WARM_UP,
            walls: world.walls.clone(),
            excluded: Vec::new(),
            words: vec![1; if varies { of(1000) } else { 0 }],
            boxes,
        };
        let pairs = Expected::of(&BroadPhaseDescriptor::default(), &frame.scene(Queries::None)).pairs;
        let others = (1..BOXES as u32).map(|place| Pair::new(place - 1, place));
        frame.excluded = pairs.into_iter().step_by(3).chain(others).take(of(100)).collect();
        frame
    }

    fn scene<'s>(&'s self, queries: Queries<'s>) -> Scene<'s> {
        let mut scene = scene_of(&self.boxes);
        (scene.statics.objects, scene.statics.generation) = (self.walls[..].into(), 1);
        scene.excluded_pairs = self.excluded[..].into();
        scene.pair_filter_data = self.words[..].into();
        (scene.query.rays, scene.query.queries) = (self.rays[..].into(), queries);
        scene
    }

    fn probes(&self) -> Queries<'_> {
        self.probes[..].into()
    }

    fn spheres(&self) -> Queries<'_> {
        Queries::General(Source::Host(&self.spheres))
    }
}

struct Answers {
    step: Readback<StepResult>,
    query_set: Readback<StepResult>,
    events: Readback<Events>,
    seen: Readback<Visible>,
}

fn arrived<T>(mut readback: Readback<T>) -> T {
    readback.take().expect("a result that has arrived").expect("a result")
}

type Names = BTreeSet<(u32, u32)>;

/// Returns the names of the frame's pairs. `before` are those of the previous frame.
fn check_frame(
    frame: &Frame,
    answers: Answers,
    [of_step, of_set]: &[BroadPhaseDescriptor<'_>; 2],
    before: &Names,
    what: &str,
) -> Names {
    let scene = frame.scene(frame.probes());
    let expected = Expected::of(of_step, &scene);
    check(of_step, &scene, &expected, &arrived(answers.step), what);
    let of_spheres = frame.scene(frame.spheres());
    let expected_of_set = Expected::of(of_set, &of_spheres);
    check(of_set, &of_spheres, &expected_of_set, &arrived(answers.query_set), what);
    let defined = reference::cull(of_step, &scene, &frame.views).expect("views");
    assert_eq!(arrived(answers.seen), defined, "{what}");

    let name = |object: u32| object.checked_sub(WALLS as u32).unwrap_or(object | 1 << 31);
    let now: Names = expected.pairs.iter().map(|pair| (name(pair.a), name(pair.b))).collect();
    let events = arrived(answers.events);
    let names = |events: Vec<PairEvent>| -> Names { events.iter().map(|event| (event.a, event.b)).collect() };
    assert_eq!((events.unread, events.status), (0, Default::default()), "{what}");
    assert!(names(events.begun).iter().eq(now.difference(before)), "{what}: begun");
    assert!(names(events.ended).iter().eq(before.difference(&now)), "{what}: ended");
    now
}

/// All components. With a set, the step has its objects, else host lists.
struct Renderer {
    descriptors: [BroadPhaseDescriptor<'static>; 2],
    gpu: GpuBroadPhase,
    query_set: QuerySet,
    events: PairEvents,
    culling: Culling,
    lines: DebugDraw,
    args: DispatchArgs,
    set: Option<(ObjectSet, Vec<Handle>)>,
}

impl Renderer {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue, world: &World, has_set: bool) -> Self {
        let (scheme, order) = if has_set {
            (Scheme::Uniform { cell_size: 2.0 }, ResultOrder::Sorted)
        } else {
            (Scheme::Hierarchical, ResultOrder::Deterministic)
        };
        let descriptors = [RayMode::All, RayMode::Closest].map(|ray_mode| {
            descriptor(|all| {
                (all.scheme, all.pairs) = (scheme, ray_mode == RayMode::All);
                (all.outputs.ray_mode, all.outputs.order) = (ray_mode, order);
                all.outputs.capacities.pairs = Some(1 << 13);
            })
        });
        let filtered = BroadPhaseDescriptor {
            pair_filter: (!has_set).then_some(FILTER),
            ..descriptors[0]
        };
        let mut gpu = GpuBroadPhase::new(device, queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        gpu.set_descriptor(&filtered).expect("a descriptor");
        Self {
            query_set: gpu.query_set("set", &descriptors[1].outputs).expect("options"),
            events: PairEvents::new(None),
            culling: Culling::new(None),
            lines: DebugDraw::new(&descriptors[0], None),
            args: DispatchArgs::new(None),
            set: has_set.then(|| {
                let mut set = ObjectSet::new();
                world.walls.iter().for_each(|&wall| _ = set.insert_static(wall));
                let handles = world.boxes.iter().map(|&object| set.insert(object)).collect();
                (set, handles)
            }),
            gpu,
            descriptors,
        }
    }

    fn prepare(&mut self) {
        let uses = Uses {
            statics: true,
            rays: true,
            queries: true,
            excluded_pairs: true,
            ..Uses::default()
        };
        let gpu = &self.gpu;
        let of_steps = gpu.prepare(uses).and(self.query_set.prepare(gpu, uses));
        let of_others = self.events.prepare(gpu).and(self.culling.prepare(gpu));
        let of_extras = self.lines.prepare(gpu).and(self.args.prepare(gpu));
        let mut all = of_steps.and(of_others).and(of_extras);
        if let Some((set, _)) = &mut self.set {
            all = all.and(set.prepare(gpu));
        }
        all.run().expect("pipelines");
    }

    /// Moves all objects of the set, or some of them.
    fn update_set(&mut self, number: usize, frame: &mut Frame) {
        if let Some((set, handles)) = &mut self.set {
            let stride = if number.is_multiple_of(2) { 1 } else { 5 };
            for (&handle, object) in handles.iter().zip(&frame.boxes).step_by(stride) {
                set.move_to(handle, object.min, object.max).unwrap();
            }
            frame.boxes = set.slots().to_vec();
        }
    }

    fn record(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, frame: &Frame) -> Answers {
        let mut input = frame.scene(frame.probes());
        if let Some((set, _)) = &mut self.set {
            let uploaded = set.upload(device, encoder).expect("an upload");
            (input.objects, input.statics) = (uploaded.objects, uploaded.statics);
        }
        let step = self.gpu.step(encoder, input).expect("a step");
        let names = ObjectNames {
            static_count: WALLS as u32,
            ..ObjectNames::default()
        };
        self.events.record(encoder, &step, names).expect("events");
        let options = CullOptions {
            list_capacity: Some(3 * (BOXES + WALLS) as u32),
            draw: Some(CullDraw::Vertices(36)),
        };
        let views = Source::Host(&frame.views[..]);
        self.culling.record(encoder, &step, views, options).expect("views");
        self.args.record(encoder, &step, Output::Pairs, 64).expect("arguments");
        // Debug lines have a bind group per call.
        for lines in [DebugLines::Boxes, DebugLines::Pairs, DebugLines::Cells { levels: !0 }] {
            if frame.is_warm_up {
                self.lines.record(encoder, &step, lines, [255; 4], 1000).expect("lines");
            }
        }
        let spheres = frame.scene(frame.spheres()).query;
        self.query_set.record(encoder, &step, spheres).expect("a set");
        Answers {
            step: self.gpu.record_read_back(encoder, Output::ALL).expect("a handle"),
            query_set: self.query_set.record_read_back(encoder, Output::ALL).expect("a handle"),
            events: self.events.record_read_back(encoder).expect("a handle"),
            seen: self.culling.record_read_back(encoder).expect("a handle"),
        }
    }

    fn memory(&self) -> u64 {
        let own = self.gpu.memory().total() + self.query_set.memory().total();
        own + self.events.memory().total() + self.culling.memory().total()
    }
}

/// A device without pipelines.
pub fn own_device(adapter: &TestAdapter) -> (wgpu::Device, wgpu::Queue) {
    let own = block_on(gpu_broad_phase::adapters(adapter.backends)).remove(0);
    block_on(own.request_device(&GpuBroadPhase::device_descriptor(&own))).expect("a device")
}

/// Pipelines are counted on a device without others.
#[test]
fn prepared_frames_wait_for_nothing_create_nothing_and_are_right() {
    let frames = daily_or_full(140, 2500);
    for (adapter, has_set) in adapters()
        .iter()
        .flat_map(|adapter| [(adapter, false), (adapter, true)])
    {
        let is_new = has_set && adapter.is_first();
        let (device, queue) = if is_new {
            own_device(adapter)
        } else {
            (adapter.device.clone(), adapter.queue.clone())
        };
        let pipelines = || device.get_internal_counters().hal.compute_pipelines.read();
        let mut world = World::new();
        let mut renderer = Renderer::new(&device, &queue, &world, has_set);
        renderer.prepare();
        let prepared = pipelines();
        let mut in_flight: VecDeque<(String, Frame, Answers, Option<wgpu::SubmissionIndex>)> = VecDeque::new();
        let mut pairs_before = Names::new();
        let mut recorded = Vec::new();
        let mut steady = None;
        for number in 0..frames {
            let what = format!("frame {number}, set {has_set}, on {}", adapter.name);
            // As in a renderer, waits for the oldest frame in flight, whose results have then arrived.
            if in_flight.len() == IN_FLIGHT
                && let Some((what, frame, answers, submission_index)) = in_flight.pop_front()
            {
                let done = wgpu::PollType::Wait {
                    submission_index,
                    timeout: None,
                };
                device.poll(done).expect("a device that goes on");
                pairs_before = check_frame(&frame, answers, &renderer.descriptors, &pairs_before, &what);
            }
            let mut frame = Frame::new(number, &mut world, !has_set);
            renderer.update_set(number, &mut frame);
            let ((answers, commands), log) = watch(|| {
                let mut encoder = device.create_command_encoder(&Default::default());
                let answers = renderer.record(&device, &mut encoder, &frame);
                (answers, encoder.finish())
            });
            in_flight.push_back((what.clone(), frame, answers, None));
            recorded.push(commands);
            // During warm-up, frames are submitted as late as possible.
            if number >= WARM_UP || recorded.len() == IN_FLIGHT {
                let submission = queue.submit(recorded.drain(..));
                let waiting = in_flight.iter_mut().filter(|(.., submission)| submission.is_none());
                waiting.for_each(|(.., of_frame)| *of_frame = Some(submission.clone()));
            }
            // Sizes of results vary by more than their inputs, so their copies to the host may need other buffers.
            let is_created = |work: &&Work| match work {
                Work::Buffer { label, .. } => has_set || !label.ends_with("/readback"),
                work => matches!(work, Work::BindGroup { .. }),
            };
            let created: Vec<_> = log.iter().filter(is_created).collect();
            assert!(number > 0 || created.len() > 20, "{what}: {created:?}");
            assert_eq!(pipelines(), prepared, "{what}");
            if number >= WARM_UP {
                assert!(created.is_empty(), "{what}: {created:?}");
                let now = renderer.memory();
                assert_eq!(now, *steady.get_or_insert(now), "{what}: bytes");
            }
        }
    }
}
