//! Dropped encoders. A result must be its own step's, or an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::steps::{broad_phase, encoder, sorted};
use crate::common::{Rng, TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullOptions, Culling, Events, Frustum, GpuBroadPhase, Handle, ObjectNames, ObjectSet,
    Output, Page, PairEvents, Queries, QueryInput, QuerySet, Ray, ReadBackError, Readback, Scene, Source, Statics,
    StepError, StepOutput, StepResult, Visible, cpu, reference, wgpu,
};
use pollster::block_on;

const BOXES: usize = 8;
/// Default number of cases. `GPU_BROAD_PHASE_DROPPED` replaces it.
const CASES: u64 = 140;

#[derive(Clone)]
struct Input {
    boxes: Vec<Aabb>,
    statics: Vec<Aabb>,
    generation: u64,
}

impl Input {
    fn scene(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.boxes),
            statics: Statics {
                objects: Source::Host(&self.statics),
                generation: self.generation,
                ..Statics::default()
            },
            ..Scene::default()
        }
    }
}

/// Boxes of step `number`. `number % 7 + 2` of them overlap, and their height determines the ray's hit.
fn boxes(number: usize) -> Vec<Aabb> {
    let height = 1.0 + (number % 64) as f32 * 0.25;
    let meets = number % 7 + 2;
    let one = |index: usize| {
        let aside = if index < meets {
            0.0
        } else {
            1000.0 + 10.0 * index as f32
        };
        let of_query = if number.is_multiple_of(2) { 1 } else { 2 };
        Aabb::new([aside, 0.0, 0.0], [aside + 1.0, 1.0, height]).with_layers(of_query | 4, !0)
    };
    (0..BOXES).map(one).collect()
}

struct Inputs {
    rays: [Ray; 1],
    queries: [Aabb; 1],
    views: [Frustum; 1],
}

impl Inputs {
    fn new() -> Self {
        Self {
            rays: [Ray::new([0.5, 0.5, 99.0], [0.0, 0.0, -1.0], 200.0)],
            // The query overlaps all boxes, but its layers admit only those of even steps.
            queries: [Aabb::new([-9.0; 3], [9.0; 3]).with_layers(1, 1)],
            views: [Frustum::new([[-1.0, 0.0, 0.0, 500.0]])],
        }
    }

    fn input(&self) -> QueryInput<'_> {
        QueryInput {
            rays: self.rays[..].into(),
            queries: Queries::Boxes(Source::Host(&self.queries)),
            ..QueryInput::default()
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Answer {
    pairs: Vec<gpu_broad_phase::Pair>,
    t: Vec<u32>,
    objects: Vec<u32>,
}

impl Answer {
    fn of(result: &StepResult) -> Self {
        let mut objects = result.query_objects.clone();
        objects.sort_unstable();
        Self {
            pairs: sorted(result.pairs.clone()),
            t: result.ray_hits.iter().map(|hit| hit.t.to_bits()).collect(),
            objects,
        }
    }

    fn without_pairs(mut self) -> Self {
        self.pairs.clear();
        self
    }
}

#[derive(Clone)]
struct Step {
    output: StepOutput,
    statics: u32,
    seen: Vec<Vec<u32>>,
    names: Vec<[u32; 2]>,
}

enum Coming {
    Answer(&'static str, Readback<StepResult>, Answer),
    Visible(Readback<Visible>, Vec<Vec<u32>>),
    Events(Readback<Events>, [Vec<[u32; 2]>; 2]),
}

fn names(event: &gpu_broad_phase::PairEvent) -> [u32; 2] {
    [event.a, event.b]
}

#[derive(Debug, Default)]
struct Counts {
    right: u32,
    read: u32,
    refused: u32,
}

struct World<'a> {
    adapter: &'a TestAdapter,
    asked: Inputs,
    gpu: GpuBroadPhase,
    objects: ObjectSet,
    handles: Vec<Handle>,
    walls: [Handle; 2],
    set: QuerySet,
    culling: Culling,
    events: PairEvents,
    step: Option<Step>,
    last: Option<Answer>,
    last_of_set: Option<Answer>,
    last_seen: Option<Vec<Vec<u32>>>,
    known: Vec<[u32; 2]>,
    last_events: Option<[Vec<[u32; 2]>; 2]>,
    statics: (usize, u64),
    number: usize,
    coming: Vec<Coming>,
    counts: BTreeMap<&'static str, Counts>,
}

impl<'a> World<'a> {
    fn new(adapter: &'a TestAdapter) -> Self {
        let descriptor = BroadPhaseDescriptor::default();
        let gpu = broad_phase(adapter, &descriptor);
        let mut objects = ObjectSet::new();
        Self {
            adapter,
            asked: Inputs::new(),
            handles: boxes(0).into_iter().map(|object| objects.insert(object)).collect(),
            walls: [0, 1].map(|at| objects.insert_static(wall(at))),
            objects,
            set: gpu.query_set("set", &descriptor.outputs).expect("options"),
            gpu,
            culling: Culling::new(None),
            events: PairEvents::new(None),
            step: None,
            last: None,
            last_of_set: None,
            last_seen: None,
            known: Vec::new(),
            last_events: None,
            statics: (0, 1),
            number: 0,
            coming: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) -> &mut Counts {
        self.counts.entry(what).or_default()
    }

    /// Uploads of the `ObjectSet` go into `uploads`, the step into `encoder` if it is given.
    fn step(&mut self, rng: &mut Rng, uploads: &mut wgpu::CommandEncoder, encoder: Option<&mut wgpu::CommandEncoder>) {
        self.number += 1;
        let moved = boxes(self.number);
        let is_set = rng.below(2) == 0;
        let input = if is_set {
            for (&handle, &object) in self.handles.iter().zip(&moved) {
                self.objects.set(handle, object).unwrap();
            }
            if rng.below(3) == 0 {
                self.objects.set(self.walls[0], wall(self.number)).unwrap();
            }
            Input {
                boxes: self.objects.slots().to_vec(),
                statics: self.objects.static_slots().to_vec(),
                generation: 0,
            }
        } else {
            if rng.below(2) == 0 {
                let (count, generation) = self.statics;
                self.statics = ([0, 1, 3][(count + rng.below(3)) % 3], generation + 1);
            }
            let (count, generation) = self.statics;
            Input {
                boxes: moved,
                statics: (0..count).map(|at| wall(at + generation as usize)).collect(),
                generation: generation | 1 << 60,
            }
        };
        let scene = Scene {
            query: QueryInput {
                rays: self.asked.rays[..].into(),
                queries: Queries::Boxes(Source::Host(&self.asked.queries)),
                ..input.scene().query
            },
            ..input.scene()
        };
        let descriptor = BroadPhaseDescriptor::default();
        let answer = Answer::of(&cpu::step_scene(&descriptor, &scene).unwrap());
        let seen = reference::cull(&descriptor, &scene, &self.asked.views).unwrap().objects;
        let on_device = if is_set {
            self.objects.upload(&self.adapter.device, uploads).unwrap()
        } else {
            input.scene()
        };
        let on_device = Scene {
            query: QueryInput {
                rays: scene.query.rays,
                queries: scene.query.queries,
                ..on_device.query
            },
            ..on_device
        };
        let encoder = encoder.unwrap_or(uploads);
        let output = self.gpu.step(encoder, on_device).unwrap();
        let statics = input.statics.len() as u32;
        let name = |object: u32| object.checked_sub(statics).unwrap_or(object | 1 << 31);
        let names = answer.pairs.iter().map(|pair| [name(pair.a), name(pair.b)]);
        self.step = Some(Step {
            output,
            statics,
            names: names.collect(),
            seen,
        });
        self.last = Some(answer);
    }

    fn other(&mut self, rng: &mut Rng, encoder: &mut wgpu::CommandEncoder) -> Result<(), (&'static str, StepError)> {
        let step = self.step.clone().unwrap();
        match rng.below(6) {
            0 => {
                let named = |error| ("set", error);
                self.set
                    .record(encoder, &step.output, self.asked.input())
                    .map_err(named)?;
                let answer = self.last.clone().unwrap().without_pairs();
                let later = self.set.record_read_back(encoder, Output::ALL).map_err(named)?;
                self.coming.push(Coming::Answer("set", later, answer.clone()));
                self.last_of_set = Some(answer);
            }
            1 => {
                let named = |error| ("query", error);
                let output = self.gpu.query(encoder, self.asked.input()).map_err(named)?;
                self.step.as_mut().unwrap().output = output;
                let answer = self.last.clone().unwrap().without_pairs();
                let later = self.gpu.record_read_back(encoder, Output::ALL).map_err(named)?;
                self.coming.push(Coming::Answer("query", later, answer.clone()));
                self.last = Some(answer);
            }
            2 => {
                let named = |error| ("page", error);
                let output = self.gpu.page(encoder, Page::default()).map_err(named)?;
                self.step.as_mut().unwrap().output = output;
                let later = self.gpu.record_read_back(encoder, Output::ALL).map_err(named)?;
                self.coming
                    .push(Coming::Answer("page", later, self.last.clone().unwrap()));
            }
            3 => {
                let later = self
                    .gpu
                    .record_read_back(encoder, Output::ALL)
                    .map_err(|error| ("step", error))?;
                self.coming
                    .push(Coming::Answer("step", later, self.last.clone().unwrap()));
            }
            4 => {
                let named = |error| ("culling", error);
                let views = Source::Host(&self.asked.views[..]);
                self.culling
                    .record(encoder, &step.output, views, CullOptions::default())
                    .map_err(named)?;
                let later = self.culling.record_read_back(encoder).map_err(named)?;
                self.coming.push(Coming::Visible(later, step.seen.clone()));
                self.last_seen = Some(step.seen);
            }
            _ => {
                let named = |error| ("events", error);
                let names = ObjectNames {
                    static_count: step.statics,
                    ..ObjectNames::default()
                };
                self.events.record(encoder, &step.output, names).map_err(named)?;
                let only = |these: &[[u32; 2]], those: &[[u32; 2]]| {
                    let mut only: Vec<_> = these.iter().filter(|pair| !those.contains(pair)).copied().collect();
                    only.sort_unstable();
                    only
                };
                let expected = [only(&step.names, &self.known), only(&self.known, &step.names)];
                self.known = step.names;
                let later = self.events.record_read_back(encoder).map_err(named)?;
                self.coming.push(Coming::Events(later, expected.clone()));
                self.last_events = Some(expected);
            }
        }
        Ok(())
    }

    fn check(&mut self, is_whole: bool, what: &str) {
        for coming in std::mem::take(&mut self.coming) {
            let (of, told) = match coming {
                Coming::Answer(of, mut later, expected) => {
                    let found = later
                        .take()
                        .unwrap_or_else(|| panic!("{what}: {of} is still under way"));
                    (
                        of,
                        found.map(|found| assert_eq!(Answer::of(&found), expected, "{what}: {of}")),
                    )
                }
                Coming::Visible(mut later, expected) => {
                    let found = later.take().expect("an answer");
                    let of = "culling";
                    (
                        of,
                        found.map(|found| assert_eq!(found.objects, expected, "{what}: {of}")),
                    )
                }
                Coming::Events(mut later, expected) => {
                    let found = later.take().expect("an answer");
                    let of = "events";
                    (
                        of,
                        found.map(|found| assert_eq!(changes(&found), expected, "{what}: {of}")),
                    )
                }
            };
            self.tally(of, told, is_whole, what);
        }
        if let Some(expected) = self.last.clone() {
            let read = block_on(self.gpu.read_back());
            let told = read.map(|found| assert_eq!(Answer::of(&found), expected, "{what}: read back"));
            self.tally("step", told, is_whole, what);
        }
        if let Some(expected) = self.last_of_set.take() {
            let read = block_on(self.set.read_back());
            let told = read.map(|found| assert_eq!(Answer::of(&found), expected, "{what}: set read back"));
            self.tally("set", told, is_whole, what);
        }
        if let Some(expected) = self.last_seen.take() {
            let read = block_on(self.culling.read_back());
            let told = read.map(|found| assert_eq!(found.objects, expected, "{what}: culling read back"));
            self.tally("culling", told, is_whole, what);
        }
        if let Some(expected) = self.last_events.take() {
            let read = block_on(self.events.read_changes());
            let told = read.map(|found| assert_eq!(changes(&found), expected, "{what}: events read back"));
            self.tally("events", told, is_whole, what);
        }
    }

    fn tally(&mut self, of: &'static str, told: Result<(), ReadBackError>, is_whole: bool, what: &str) {
        match told {
            Ok(()) => self.count(of).right += 1,
            Err(error) => {
                assert_eq!(error, ReadBackError::NotSubmitted, "{what}: {of}");
                assert!(!is_whole, "{what}: {of} was submitted");
                self.count(of).read += 1;
            }
        }
    }

    /// Records a step, which is right whatever was dropped before.
    fn recover(&mut self, rng: &mut Rng, what: &str) {
        let mut encoder = encoder(self.adapter);
        self.step(rng, &mut encoder, None);
        let step = self.step.clone().unwrap();
        self.events.reset();
        self.known.clear();
        let views = Source::Host(&self.asked.views[..]);
        let asked = self.asked.input();
        self.set.record(&mut encoder, &step.output, asked).expect("a set");
        self.culling
            .record(&mut encoder, &step.output, views, CullOptions::default())
            .expect("views");
        self.adapter.queue.submit([encoder.finish()]);
        self.last_of_set = self.last.clone().map(Answer::without_pairs);
        self.last_seen = Some(step.seen);
        self.check(true, &format!("{what}, after it"));
    }
}

fn changes(events: &Events) -> [Vec<[u32; 2]>; 2] {
    [&events.begun, &events.ended].map(|list| {
        let mut list: Vec<_> = list.iter().map(names).collect();
        list.sort_unstable();
        list
    })
}

/// Static box `number`. Every third one overlaps the boxes of a step.
fn wall(number: usize) -> Aabb {
    let side = if number.is_multiple_of(3) {
        0.5
    } else {
        300.0 + number as f32
    };
    Aabb::new([side, 0.0, 0.0], [side + 0.25, 1.0, 1.0])
}

#[test]
fn results_are_of_their_step_or_say_that_they_are_not() {
    let wanted = std::env::var("GPU_BROAD_PHASE_DROPPED").ok();
    let cases = wanted.map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    for adapter in &adapters() {
        let mut world = World::new(adapter);
        let mut rng = Rng(20);
        world.recover(&mut rng, "the first step");
        for case in 0..cases {
            let is_whole = case % 3 == 0;
            let what = format!("case {case}, whole {is_whole}, on {}", adapter.name);
            let mut encoders: Vec<_> = (0..1 + rng.below(4)).map(|_| Some(encoder(adapter))).collect();
            let mut at = 0;
            for _ in 0..3 + rng.below(8) {
                let before = at;
                at = (at + rng.below(2)).min(encoders.len() - 1);
                if rng.below(4) == 0 {
                    let (done, rest) = encoders.split_at_mut(at);
                    let current = rest[0].as_mut().expect("not dropped yet");
                    // The upload may be the end of the encoder before.
                    match done.get_mut(before).and_then(Option::as_mut) {
                        Some(uploads) => world.step(&mut rng, uploads, Some(current)),
                        None => world.step(&mut rng, current, None),
                    }
                } else if let Err((of, error)) = world.other(&mut rng, encoders[at].as_mut().expect("not dropped yet"))
                {
                    assert_eq!(error, StepError::Dropped, "{what}: {of}");
                    assert!(!is_whole, "{what}: {of} was submitted");
                    world.count(of).refused += 1;
                }
                if !is_whole && before < at && rng.below(4) == 0 {
                    encoders[before] = None;
                }
            }
            let mut commands: Vec<_> = encoders
                .into_iter()
                .flatten()
                .map(wgpu::CommandEncoder::finish)
                .collect();
            if !is_whole && rng.below(2) == 0 && !commands.is_empty() {
                commands.remove(rng.below(commands.len()));
            }
            let together = rng.below(commands.len() + 1);
            adapter.queue.submit(commands.drain(..together));
            for command in commands {
                adapter.queue.submit([command]);
            }
            adapter
                .device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            world.check(is_whole, &what);
            world.recover(&mut rng, &what);
        }
        println!("{}: {:#?}", adapter.name, world.counts);
        for of in ["set", "query", "page", "step", "culling", "events"] {
            let Counts { right, read, .. } = world.counts[of];
            assert!(
                right >= 10 && read >= 5,
                "{of} on {}: {:?}",
                adapter.name,
                world.counts[of]
            );
        }
    }
}

/// wgpu does not document this.
#[test]
fn callbacks_are_dropped_with_their_encoder() {
    for adapter in adapters() {
        for is_finished in [false, true] {
            let buffer = adapter.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 16,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let token = Arc::new(());
            let held = Arc::clone(&token);
            let encoder = encoder(&adapter);
            encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |_| {
                let _held = held;
                panic!("called");
            });
            if is_finished {
                drop(encoder.finish());
            } else {
                drop(encoder);
            }
            assert_eq!(
                Arc::strong_count(&token),
                1,
                "finished {is_finished} on {}",
                adapter.name
            );
        }
    }
}

/// The second step reuses the static table of the first, the third rebuilds it. Moving objects may outgrow the buffer,
/// so that static boxes are copied.
#[test]
fn static_tables_survive_any_dropped_steps() {
    for adapter in adapters() {
        for (dropped, grows) in (0..8_u32).flat_map(|dropped| [false, true].map(|grows| (dropped, grows))) {
            let what = format!("dropped {dropped:03b}, grows {grows} on {}", adapter.name);
            let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            let run = |gpu: &mut GpuBroadPhase, walls: usize, count: usize, is_dropped: bool| {
                let input = Input {
                    boxes: boxes(0)
                        .into_iter()
                        .chain((1..count).map(|at| wall(3 * at + 1)))
                        .collect(),
                    statics: (0..walls).map(|at| wall(3 * at)).collect(),
                    generation: walls as u64,
                };
                let mut encoder = encoder(&adapter);
                gpu.step(&mut encoder, input.scene()).expect("a step");
                if is_dropped {
                    return None;
                }
                adapter.queue.submit([encoder.finish()]);
                let expected = cpu::step_scene(&gpu.descriptor(), &input.scene()).unwrap();
                Some((block_on(gpu.read_back()), sorted(expected.pairs)))
            };
            for (place, walls) in [1, 1, 2, 2, 2].into_iter().enumerate() {
                let count = if grows { 1 << (3 * place) } else { 1 };
                let found = run(&mut gpu, walls, count.min(512), dropped >> place & 1 == 1);
                let Some((found, expected)) = found else { continue };
                assert_eq!(sorted(found.expect("a result").pairs), expected, "{what}, step {place}");
            }
        }
    }
}
