//! Dropped encoders. A result must be its own step's, or an error.

use std::collections::BTreeMap;

use crate::common::steps::{broad_phase, encoder, poll, scene_of};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullOptions, Culling, Events, Frustum, GpuBroadPhase, Handle, ObjectNames, ObjectSet,
    Output, Page, PairEvents, QueryInput, QuerySet, Ray, ReadBackError, Readback, Scene, Source, StepError, StepOutput,
    StepResult, Visible, cpu, reference, wgpu,
};
use pollster::block_on;
use wild::answers::{lists, sorted};

const BOXES: usize = 8;
/// Default number of cases. `GPU_BROAD_PHASE_DROPPED` replaces it.
const CASES: u64 = 140;

/// Boxes of step `number`. `number % 7 + 2` of them overlap, and their height determines the ray's hit.
fn boxes(number: usize) -> Vec<Aabb> {
    let height = 1.0 + (number % 64) as f32 * 0.25;
    let overlapping = number % 7 + 2;
    let one = |index: usize| {
        let at = if index < overlapping {
            0.0
        } else {
            1000.0 + 10.0 * index as f32
        };
        let of_query = if number.is_multiple_of(2) { 1 } else { 2 };
        Aabb::new([at, 0.0, 0.0], [at + 1.0, 1.0, height]).with_layers(of_query | 4, !0)
    };
    (0..BOXES).map(one).collect()
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

/// The query overlaps all boxes, but its layers admit only those of even steps.
const QUERIES: [Aabb; 1] = [Aabb::new([-9.0; 3], [9.0; 3]).with_layers(1, 1)];
const RAYS: [Ray; 1] = [Ray::new([0.5, 0.5, 99.0], [0.0, 0.0, -1.0], 200.0)];

fn query() -> QueryInput<'static> {
    QueryInput {
        rays: RAYS[..].into(),
        queries: QUERIES[..].into(),
        ..QueryInput::default()
    }
}

fn views() -> [Frustum; 1] {
    [Frustum::new([[-1.0, 0.0, 0.0, 500.0]])]
}

/// Comparable results.
type Seen = Vec<Vec<u32>>;

/// Returns pairs, hits and results of queries.
fn of_result(result: &StepResult) -> Seen {
    let pairs = sorted(result.pairs.clone());
    vec![
        pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect(),
        result.ray_hits.iter().map(|hit| hit.t.to_bits()).collect(),
        lists(result).concat(),
    ]
}

fn of_visible(visible: &Visible) -> Seen {
    visible.objects.clone()
}

fn of_events(events: &Events) -> Seen {
    let lists = [&events.begun, &events.ended];
    lists
        .map(|list| joined(list.iter().map(|event| [event.a, event.b])))
        .to_vec()
}

fn joined(names: impl Iterator<Item = [u32; 2]>) -> Vec<u32> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.concat()
}

type Take = Box<dyn FnMut() -> Option<Result<Seen, ReadBackError>>>;

fn later<T: Send + 'static>(mut readback: Readback<T>, seen: fn(&T) -> Seen) -> Take {
    Box::new(move || readback.take().map(|result| result.map(|result| seen(&result))))
}

/// A recorded step and its expected results.
#[derive(Clone)]
struct Step {
    output: StepOutput,
    statics: u32,
    answer: Seen,
    visible: Seen,
    pairs: Vec<[u32; 2]>,
}

#[derive(Debug, Default)]
struct Counts {
    right: u32,
    not_submitted: u32,
    refused: u32,
}

struct World<'a> {
    adapter: &'a TestAdapter,
    gpu: GpuBroadPhase,
    objects: ObjectSet,
    handles: Vec<Handle>,
    wall: Handle,
    set: QuerySet,
    culling: Culling,
    events: PairEvents,
    step: Option<Step>,
    /// Pairs of the step before, for events.
    known: Vec<[u32; 2]>,
    number: usize,
    /// Expected results of read-backs that are not recorded, by component.
    last: BTreeMap<&'static str, Seen>,
    coming: Vec<(&'static str, Seen, Take)>,
    counts: BTreeMap<&'static str, Counts>,
}

impl<'a> World<'a> {
    fn new(adapter: &'a TestAdapter) -> Self {
        let descriptor = BroadPhaseDescriptor::default();
        let gpu = broad_phase(adapter, &descriptor);
        let mut objects = ObjectSet::new();
        Self {
            adapter,
            handles: boxes(0).into_iter().map(|object| objects.insert(object)).collect(),
            wall: [0, 1].map(|at| objects.insert_static(wall(at)))[0],
            objects,
            set: gpu.query_set("set", &descriptor.outputs).expect("options"),
            gpu,
            culling: Culling::new(None),
            events: PairEvents::new(None),
            step: None,
            known: Vec::new(),
            number: 0,
            last: BTreeMap::new(),
            coming: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// The step goes into `encoder`, if it is given, and uploads of the set into `uploads`, else all into `uploads`.
    fn step(&mut self, rng: &mut Rng, uploads: &mut wgpu::CommandEncoder, encoder: Option<&mut wgpu::CommandEncoder>) {
        self.number += 1;
        for (&handle, object) in self.handles.iter().zip(boxes(self.number)) {
            self.objects.set(handle, object).unwrap();
        }
        if rng.once_in(3) {
            self.objects.set(self.wall, wall(self.number)).unwrap();
        }
        let scene = Scene {
            query: query(),
            ..self.objects.scene()
        };
        let statics = scene.statics.objects.len() as u32;
        let descriptor = BroadPhaseDescriptor::default();
        let expected = cpu::step_scene(&descriptor, &scene).unwrap();
        let visible = of_visible(&reference::cull(&descriptor, &scene, &views()).unwrap());
        let on_device = if rng.once_in(2) {
            Scene {
                query: query(),
                ..self.objects.upload(&self.adapter.device, uploads).unwrap()
            }
        } else {
            scene
        };
        let output = self.gpu.step(encoder.unwrap_or(uploads), on_device).unwrap();
        let name = |object: u32| object.checked_sub(statics).unwrap_or(object | 1 << 31);
        self.step = Some(Step {
            output,
            statics,
            pairs: expected.pairs.iter().map(|pair| [name(pair.a), name(pair.b)]).collect(),
            answer: of_result(&expected),
            visible,
        });
        self.last.insert("step", of_result(&expected));
    }

    /// Records something behind the last step.
    fn other(&mut self, of: &'static str, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        let mut step = self.step.clone().unwrap();
        let views = views();
        let without_pairs = [&[vec![]], &step.answer[1..]].concat();
        let (component, expected, take) = match of {
            "set" => {
                self.set.record(encoder, &step.output, query())?;
                let readback = self.set.record_read_back(encoder, Output::ALL)?;
                ("set", without_pairs, later(readback, of_result))
            }
            "culling" => {
                let options = CullOptions::default();
                self.culling
                    .record(encoder, &step.output, Source::Host(&views), options)?;
                let readback = self.culling.record_read_back(encoder)?;
                ("culling", step.visible.clone(), later(readback, of_visible))
            }
            "events" => {
                let names = ObjectNames {
                    static_count: step.statics,
                    ..ObjectNames::default()
                };
                self.events.record(encoder, &step.output, names)?;
                let before = std::mem::replace(&mut self.known, step.pairs.clone());
                let only = |these: &[[u32; 2]], those: &[[u32; 2]]| {
                    joined(these.iter().filter(|pair| !those.contains(pair)).copied())
                };
                let expected = vec![only(&step.pairs, &before), only(&before, &step.pairs)];
                (
                    "events",
                    expected,
                    later(self.events.record_read_back(encoder)?, of_events),
                )
            }
            _ => {
                let recorded = self.step.as_mut().unwrap();
                if of == "query" {
                    recorded.output = self.gpu.query(encoder, query())?;
                    step.answer = without_pairs;
                } else if of == "page" {
                    recorded.output = self.gpu.page(encoder, Page::default())?;
                }
                let readback = self.gpu.record_read_back(encoder, Output::ALL)?;
                recorded.answer.clone_from(&step.answer);
                ("step", step.answer, later(readback, of_result))
            }
        };
        self.last.insert(component, expected.clone());
        self.coming.push((of, expected, take));
        Ok(())
    }

    fn check(&mut self, is_whole: bool, what: &str) {
        let mut results = Vec::new();
        for (of, expected, mut take) in std::mem::take(&mut self.coming) {
            let found = take().unwrap_or_else(|| panic!("{what}: {of} is still under way"));
            results.push((of, found, expected));
        }
        for (of, expected) in std::mem::take(&mut self.last) {
            let found = match of {
                "set" => block_on(self.set.read_back()).map(|result| of_result(&result)),
                "culling" => block_on(self.culling.read_back()).map(|visible| of_visible(&visible)),
                "events" => block_on(self.events.read_changes()).map(|events| of_events(&events)),
                _ => block_on(self.gpu.read_back()).map(|result| of_result(&result)),
            };
            if of == "step" {
                self.last.insert(of, expected.clone());
            }
            results.push((of, found, expected));
        }
        for (of, found, expected) in results {
            let counts = self.counts.entry(of).or_default();
            match found {
                Ok(found) => {
                    assert_eq!(found, expected, "{what}: {of}");
                    counts.right += 1;
                }
                Err(error) => {
                    assert_eq!(error, ReadBackError::NotSubmitted, "{what}: {of}");
                    assert!(!is_whole, "{what}: {of} was submitted");
                    counts.not_submitted += 1;
                }
            }
        }
    }

    /// Records a step, which is right whatever was dropped before.
    fn recover(&mut self, rng: &mut Rng, what: &str) {
        let mut encoder = encoder(self.adapter);
        self.step(rng, &mut encoder, None);
        self.events.reset();
        self.known.clear();
        for of in ["set", "culling", "step"] {
            self.other(of, &mut encoder).expect("a step");
        }
        self.adapter.queue.submit([encoder.finish()]);
        poll(&self.adapter.device);
        self.check(true, &format!("{what}, after it"));
    }
}

#[test]
fn results_are_of_their_step_or_say_that_they_are_not() {
    const KINDS: [&str; 6] = ["set", "query", "page", "step", "culling", "events"];
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
                let (done, rest) = encoders.split_at_mut(at);
                let current = rest[0].as_mut().expect("not dropped yet");
                if rng.once_in(4) {
                    // The upload may be the end of the encoder before.
                    match done.get_mut(before).and_then(Option::as_mut) {
                        Some(uploads) => world.step(&mut rng, uploads, Some(current)),
                        None => world.step(&mut rng, current, None),
                    }
                } else {
                    let of = rng.one_of(&KINDS);
                    if let Err(error) = world.other(of, current) {
                        assert_eq!(error, StepError::Dropped, "{what}: {of}");
                        assert!(!is_whole, "{what}: {of} was submitted");
                        world.counts.entry(of).or_default().refused += 1;
                    }
                }
                if !is_whole && before < at && rng.once_in(4) {
                    encoders[before] = None;
                }
            }
            let encoders = encoders.into_iter().flatten();
            let mut commands: Vec<_> = encoders.map(wgpu::CommandEncoder::finish).collect();
            if !is_whole && rng.once_in(2) && !commands.is_empty() {
                commands.remove(rng.below(commands.len()));
            }
            let together = rng.below(commands.len() + 1);
            adapter.queue.submit(commands.drain(..together));
            commands
                .into_iter()
                .for_each(|command| _ = adapter.queue.submit([command]));
            poll(&adapter.device);
            world.check(is_whole, &what);
            world.recover(&mut rng, &what);
        }
        for of in KINDS {
            let counts = &world.counts[of];
            let is_met = counts.right >= 10 && counts.not_submitted >= 5;
            assert!(is_met, "{of} on {}: {counts:?}", adapter.name);
        }
    }
}

/// The second step reuses the static table of the first, the third rebuilds it. Static boxes are copied if moving
/// objects outgrow the buffer. A dropped encoder may live until the next step is recorded.
#[test]
fn static_tables_survive_any_dropped_steps() {
    for adapter in daily_adapters() {
        for pattern in 0..32_u32 {
            let (dropped, grows, is_late) = (pattern & 7, pattern & 8 > 0, pattern & 16 > 0);
            let what = format!(
                "dropped {dropped:03b}, grows {grows}, late {is_late} on {}",
                adapter.name
            );
            let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
            let mut held = None;
            for (place, walls) in [1, 1, 2, 2, 2].into_iter().enumerate() {
                let count = if grows { 1 << (3 * place) } else { 1 };
                let others = (1..count.min(512)).map(|at| wall(3 * at + 1));
                let boxes: Vec<_> = boxes(0).into_iter().chain(others).collect();
                let walls: Vec<_> = (0..walls).map(|at| wall(3 * at)).collect();
                let mut scene = scene_of(&boxes);
                (scene.statics.objects, scene.statics.generation) = (walls[..].into(), walls.len() as u64);
                let mut encoder = encoder(&adapter);
                gpu.step(&mut encoder, scene).expect("a step");
                drop(held.take());
                let commands = encoder.finish();
                if dropped >> place & 1 == 1 {
                    held = is_late.then_some(commands);
                    continue;
                }
                adapter.queue.submit([commands]);
                match block_on(gpu.read_back()) {
                    Ok(found) => {
                        let expected = cpu::step_scene(&gpu.descriptor(), &scene).unwrap();
                        assert_eq!(of_result(&found), of_result(&expected), "{what}, step {place}");
                    }
                    Err(error) => {
                        assert_eq!(error, ReadBackError::NotSubmitted, "{what}, step {place}");
                        assert!(is_late && place < 4, "{what}, step {place}");
                    }
                }
            }
        }
    }
}
