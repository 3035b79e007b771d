//! Encoders dropped or submitted out of order. A result must be its own step's, or an error.

use std::collections::BTreeMap;
use std::sync::mpsc;

use crate::common::steps::{broad_phase, encoder, sorted};
use crate::common::{Rng, TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullOptions, Culling, DebugDraw, DebugLines, DispatchArgs, Events, Frustum,
    GpuBroadPhase, Handle, ObjectNames, ObjectSet, OutputRows, Outputs, Page, PairEvents, Queries, QueryInput,
    QuerySet, Ray, ReadBackError, Readback, Scene, Source, Statics, StepError, StepOutput, StepResult, Visible, cpu,
    reference, wgpu,
};
use pollster::block_on;

const BOXES: usize = 8;
/// Default number of cases. `GPU_BROAD_PHASE_DISORDER` replaces it.
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
    answer: Answer,
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

struct Unread {
    component: &'static str,
    words: mpsc::Receiver<Vec<u32>>,
    expected: Vec<u32>,
}

#[derive(Debug, Default)]
struct Counts {
    right: u32,
    read: u32,
    refused: u32,
    next: u32,
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
    args: DispatchArgs,
    lines: DebugDraw,
    bits: Culling,
    kept: Vec<Step>,
    last: Option<Answer>,
    last_of_set: Option<Answer>,
    last_seen: Option<Vec<Vec<u32>>>,
    known: Vec<[u32; 2]>,
    last_events: Option<[Vec<[u32; 2]>; 2]>,
    statics: (usize, u64),
    number: usize,
    coming: Vec<Coming>,
    unread: Vec<Unread>,
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
            args: DispatchArgs::new(None),
            lines: DebugDraw::new(&descriptor, None),
            bits: Culling::new(Some("bits")),
            kept: Vec::new(),
            last: None,
            last_of_set: None,
            last_seen: None,
            known: Vec::new(),
            last_events: None,
            statics: (0, 1),
            number: 0,
            coming: Vec::new(),
            unread: Vec::new(),
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
            rays: self.asked.rays[..].into(),
            queries: Queries::Boxes(Source::Host(&self.asked.queries)),
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
            rays: scene.rays,
            queries: scene.queries,
            ..on_device
        };
        let encoder = encoder.unwrap_or(uploads);
        let output = match self.gpu.step(encoder, on_device) {
            // The error of an earlier recording that nothing read is reported here, once.
            Err(StepError::Dropped) => {
                self.counts.entry("step").or_default().next += 1;
                self.gpu.step(encoder, on_device)
            }
            recorded => recorded,
        };
        let output = output.unwrap();
        let statics = input.statics.len() as u32;
        let name = |object: u32| object.checked_sub(statics).unwrap_or(object | 1 << 31);
        let names = answer.pairs.iter().map(|pair| [name(pair.a), name(pair.b)]);
        self.kept.push(Step {
            output,
            statics,
            names: names.collect(),
            answer: answer.clone(),
            seen,
        });
        if self.kept.len() > 4 {
            self.kept.remove(0);
        }
        self.last = Some(answer);
    }

    fn other(
        &mut self,
        rng: &mut Rng,
        is_ordered: bool,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), (&'static str, StepError)> {
        let back = if is_ordered {
            0
        } else {
            rng.below(2).min(self.kept.len() - 1)
        };
        let kept = self.kept[self.kept.len() - 1 - back].clone();
        match rng.below(9) {
            0 => {
                let named = |error| ("set", error);
                let step = &self.kept.last().unwrap().output;
                self.set.record(encoder, step, self.asked.input()).map_err(named)?;
                let answer = self.last.clone().unwrap().without_pairs();
                let later = self.set.record_read_back(encoder, Outputs::ALL).map_err(named)?;
                self.coming.push(Coming::Answer("set", later, answer.clone()));
                self.last_of_set = Some(answer);
            }
            1 => {
                let named = |error| ("query", error);
                let output = self.gpu.query(encoder, self.asked.input()).map_err(named)?;
                self.kept.last_mut().unwrap().output = output;
                let answer = self.last.clone().unwrap().without_pairs();
                let later = self.gpu.record_read_back(encoder, Outputs::ALL).map_err(named)?;
                self.coming.push(Coming::Answer("query", later, answer.clone()));
                self.last = Some(answer);
            }
            2 => {
                let named = |error| ("page", error);
                let output = self.gpu.page(encoder, Page::default()).map_err(named)?;
                self.kept.last_mut().unwrap().output = output;
                let later = self.gpu.record_read_back(encoder, Outputs::ALL).map_err(named)?;
                self.coming
                    .push(Coming::Answer("page", later, self.last.clone().unwrap()));
            }
            3 => {
                let later = self
                    .gpu
                    .record_read_back(encoder, Outputs::ALL)
                    .map_err(|error| ("step", error))?;
                self.coming
                    .push(Coming::Answer("step", later, self.last.clone().unwrap()));
            }
            4 => {
                let named = |error| ("culling", error);
                let views = Source::Host(&self.asked.views[..]);
                self.culling
                    .record(encoder, &kept.output, views, CullOptions::default())
                    .map_err(named)?;
                let later = self.culling.record_read_back(encoder).map_err(named)?;
                self.coming.push(Coming::Visible(later, kept.seen.clone()));
                self.last_seen = Some(kept.seen);
            }
            5 => {
                let named = |error| ("events", error);
                let step = self.kept.last().unwrap().clone();
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
            unread => {
                // The component's next call reports an error of this one, so each case records it only once.
                let component = ["args", "lines", "bits"][unread - 6];
                if self.unread.iter().any(|other| other.component == component) {
                    return Ok(());
                }
                let named = |error| (component, error);
                let pairs = kept.answer.pairs.len() as u32;
                let (buffer, expected) = match component {
                    "args" => {
                        let args = self
                            .args
                            .record(encoder, &kept.output, OutputRows::Pairs, 64)
                            .map_err(named)?;
                        (args, vec![1, 1, 1, pairs])
                    }
                    "lines" => {
                        let pair_lines = DebugLines::Pairs;
                        let lines = self
                            .lines
                            .record(encoder, &kept.output, pair_lines, [0; 4], 1000)
                            .map_err(named)?;
                        (lines.args, vec![2 * pairs, 1])
                    }
                    _ => {
                        let views = Source::Host(&self.asked.views[..]);
                        let bits = self
                            .bits
                            .record(encoder, &kept.output, views, CullOptions::default())
                            .map_err(named)?;
                        let word = kept.seen[0].iter().fold(0, |word, object| word | 1 << object);
                        (bits.visible, vec![word])
                    }
                };
                let words = copied(self.adapter, encoder, &buffer, expected.len());
                self.unread.push(Unread {
                    component,
                    words,
                    expected,
                });
            }
        }
        Ok(())
    }

    fn check(&mut self, is_ordered: bool, what: &str) {
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
            self.tally(of, told, is_ordered, what);
        }
        if let Some(expected) = self.last.clone() {
            let read = block_on(self.gpu.read_back());
            let told = read.map(|found| assert_eq!(Answer::of(&found), expected, "{what}: read back"));
            self.tally("step", told, is_ordered, what);
        }
        if let Some(expected) = self.last_of_set.take() {
            let read = block_on(self.set.read_back());
            let told = read.map(|found| assert_eq!(Answer::of(&found), expected, "{what}: set read back"));
            self.tally("set", told, is_ordered, what);
        }
        if let Some(expected) = self.last_seen.take() {
            let read = block_on(self.culling.read_back());
            let told = read.map(|found| assert_eq!(found.objects, expected, "{what}: culling read back"));
            self.tally("culling", told, is_ordered, what);
        }
        if let Some(expected) = self.last_events.take() {
            let read = block_on(self.events.read_changes());
            let told = read.map(|found| assert_eq!(changes(&found), expected, "{what}: events read back"));
            self.tally("events", told, is_ordered, what);
        }
    }

    fn tally(&mut self, of: &'static str, told: Result<(), ReadBackError>, is_ordered: bool, what: &str) {
        match told {
            Ok(()) => self.count(of).right += 1,
            Err(error) => {
                assert_eq!(error, ReadBackError::NotSubmitted, "{what}: {of}");
                assert!(!is_ordered, "{what}: {of} was in order");
                self.count(of).read += 1;
            }
        }
    }

    /// Records a step in order. Calls first report errors that nothing read, then succeed.
    fn recover(&mut self, rng: &mut Rng, was_ordered: bool, what: &str) {
        let mut encoder = encoder(self.adapter);
        let told = self.count("step").next;
        self.step(rng, &mut encoder, None);
        assert!(
            !was_ordered || self.count("step").next == told,
            "{what}: step was in order"
        );
        let step = self.kept.last().unwrap().clone();
        for unread in std::mem::take(&mut self.unread) {
            let of = unread.component;
            // Words of a dropped encoder never arrive.
            let is_wrong = unread.words.recv().is_ok_and(|words| words != unread.expected);
            let told = self.record_unread(of, &mut encoder, &step.output);
            assert!(!is_wrong || told == Err(StepError::Dropped), "{what}: {of} was wrong");
            assert!(!was_ordered || (!is_wrong && told.is_ok()), "{what}: {of} was in order");
            match told {
                Ok(()) => self.count(of).right += 1,
                Err(_) => {
                    self.count(of).next += 1;
                    assert_eq!(
                        self.record_unread(of, &mut encoder, &step.output),
                        Ok(()),
                        "{what}: {of}"
                    );
                }
            }
        }
        self.events.reset();
        self.known.clear();
        let views = Source::Host(&self.asked.views[..]);
        let asked = self.asked.input();
        self.set
            .record(&mut encoder, &step.output, asked)
            .expect("reads have told what was wrong");
        self.culling
            .record(&mut encoder, &step.output, views, CullOptions::default())
            .expect("reads have told what was wrong");
        self.adapter.queue.submit([encoder.finish()]);
        self.last_of_set = self.last.clone().map(Answer::without_pairs);
        self.last_seen = Some(step.seen);
        self.check(true, &format!("{what}, after it"));
        self.kept.drain(..self.kept.len() - 1);
    }

    fn record_unread(
        &mut self,
        of: &str,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
    ) -> Result<(), StepError> {
        match of {
            "args" => self.args.record(encoder, step, OutputRows::Pairs, 64).map(drop),
            "lines" => self
                .lines
                .record(encoder, step, DebugLines::Pairs, [0; 4], 1000)
                .map(drop),
            _ => {
                let views = Source::Host(&self.asked.views[..]);
                self.bits.record(encoder, step, views, CullOptions::default()).map(drop)
            }
        }
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

fn copied(
    adapter: &TestAdapter,
    encoder: &mut wgpu::CommandEncoder,
    buffer: &wgpu::Buffer,
    count: usize,
) -> mpsc::Receiver<Vec<u32>> {
    let bytes = 4 * count as u64;
    let staging = adapter.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("unread"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
    let (sender, receiver) = mpsc::channel();
    let mapped = staging.clone();
    encoder.map_buffer_on_submit(&staging, wgpu::MapMode::Read, .., move |result| {
        result.expect("words");
        let words = bytemuck::pod_collect_to_vec(&mapped.get_mapped_range(..).expect("words"));
        let _ = sender.send(words);
    });
    receiver
}

fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for end in (1..list.len()).rev() {
        list.swap(end, rng.below(end + 1));
    }
}

#[test]
fn answers_are_of_their_step_or_say_that_they_are_not() {
    let wanted = std::env::var("GPU_BROAD_PHASE_DISORDER").ok();
    let cases = wanted.map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    for adapter in &adapters() {
        let mut world = World::new(adapter);
        let mut rng = Rng(20);
        world.recover(&mut rng, true, "the first step");
        for case in 0..cases {
            let is_ordered = case % 3 == 0;
            let what = format!("case {case}, ordered {is_ordered}, on {}", adapter.name);
            let mut encoders: Vec<_> = (0..1 + rng.below(4)).map(|_| encoder(adapter)).collect();
            let (count, mut at) = (encoders.len(), 0);
            for _ in 0..3 + rng.below(8) {
                at = if is_ordered {
                    (at + rng.below(2)).min(count - 1)
                } else {
                    rng.below(count)
                };
                let uploads_at = if is_ordered { at } else { rng.below(count) };
                if rng.below(4) == 0 {
                    match encoders.get_disjoint_mut([uploads_at, at]) {
                        Ok([uploads, encoder]) => world.step(&mut rng, uploads, Some(encoder)),
                        Err(_) => world.step(&mut rng, &mut encoders[at], None),
                    }
                } else if let Err((of, error)) = world.other(&mut rng, is_ordered, &mut encoders[at]) {
                    assert_eq!(error, StepError::Dropped, "{what}: {of}");
                    assert!(!is_ordered, "{what}: {of} was in order");
                    world.count(of).refused += 1;
                }
                if !is_ordered && rng.below(12) == 0 {
                    encoders[at] = encoder(adapter);
                }
            }
            let mut commands: Vec<_> = encoders.into_iter().map(wgpu::CommandEncoder::finish).collect();
            if !is_ordered {
                if rng.below(4) == 0 {
                    commands.swap_remove(rng.below(count));
                }
                shuffle(&mut commands, &mut rng);
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
            world.check(is_ordered, &what);
            world.recover(&mut rng, is_ordered, &what);
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
        assert!(world.counts["step"].next >= 3, "{:?}", world.counts["step"]);
        for of in ["args", "lines", "bits"] {
            let Counts { right, next, .. } = world.counts[of];
            assert!(
                right >= 10 && next >= 3,
                "{of} on {}: {:?}",
                adapter.name,
                world.counts[of]
            );
        }
    }
}
