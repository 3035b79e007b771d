//! The CPU engine, which runs in a worker.

use std::collections::BTreeSet;
use std::rc::Rc;

use bytemuck::Pod;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Events, Pair, PairEvent, Queries, Query, QueryInput, Ray, Rays, Scene, Source, Statics,
    StepResult, SweptRay, cpu, reference,
};
use wasm_bindgen::prelude::*;

use crate::answer::{Answer, EventAnswer};
use crate::culling::{VisibleAnswer, views_of};
use crate::failure::Failure;
use crate::input::{PARTS, Part, Question, SelfQueryKind};
use crate::settings::Settings;

/// Flag of static objects in an event's object index.
const STATIC_NAME: u32 = 1 << 31;

#[wasm_bindgen]
#[derive(Default)]
pub struct HostInput {
    parts: [Vec<u32>; PARTS],
    question: Question,
}

#[wasm_bindgen]
impl HostInput {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows are laid out as in device buffers.
    pub fn set_rows(&mut self, part: Part, words: Vec<u32>) {
        self.parts[part as usize] = words;
    }

    pub fn set_swept(&mut self) {
        self.question.are_swept = true;
    }

    pub fn set_self_query(&mut self, self_query: SelfQueryKind, radius: f32, is_half: bool, nearest: Option<u32>) {
        self.question.ask(self_query, radius, is_half, nearest);
    }
}

impl HostInput {
    fn rows<T: Pod>(&self, part: Part) -> &[T] {
        bytemuck::cast_slice(&self.parts[part as usize])
    }

    fn source<T: Pod>(&self, part: Part) -> Source<'_, T> {
        self.rows(part).into()
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            objects: self.source(Part::Objects),
            worlds: self.source(Part::Worlds),
            statics: Statics {
                objects: self.source(Part::Statics),
                worlds: self.source(Part::StaticWorlds),
                generation: 0,
            },
            excluded_pairs: self.source(Part::ExcludedPairs),
            query: self.query(),
            ..Scene::default()
        }
    }

    fn query(&self) -> QueryInput<'_> {
        let question = self.question;
        QueryInput {
            rays: if question.are_swept {
                Rays::Swept(self.source::<SweptRay>(Part::Rays))
            } else {
                Rays::Plain(self.source::<Ray>(Part::Rays))
            },
            queries: question
                .self_query_input()
                .unwrap_or_else(|| match question.self_query {
                    SelfQueryKind::Spheres => Queries::General(self.source::<Query>(Part::Queries)),
                    _ => Queries::Boxes(self.source::<Aabb>(Part::Queries)),
                }),
            query_mode: question.query_mode(),
            ..QueryInput::default()
        }
    }
}

#[wasm_bindgen]
pub struct Cpu {
    settings: Settings,
    input: Option<Rc<HostInput>>,
    result: Option<StepResult>,
    /// Pairs of the last complete step, by index and generation of the objects. `None` without events.
    before: Option<BTreeSet<PairEvent>>,
    events: Result<Events, Failure>,
}

#[wasm_bindgen]
impl Cpu {
    /// `settings` must be valid.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: Settings, has_events: bool) -> Self {
        Self {
            settings,
            input: None,
            result: None,
            before: has_events.then(BTreeSet::new),
            events: Err(no_step()),
        }
    }

    /// Results are computed when read, except events.
    pub fn step(&mut self, input: HostInput) {
        self.result = None;
        self.input = Some(Rc::new(input));
        if self.before.is_some() {
            self.events = self.find_events();
        }
    }

    pub fn read(&mut self) -> Result<Answer, JsValue> {
        Ok(Answer::from(self.result()?.clone()))
    }

    pub fn read_events(&self) -> Result<EventAnswer, JsValue> {
        Ok(EventAnswer::from(self.events.clone()?))
    }

    pub fn cull(&self, views: &[u32]) -> Result<VisibleAnswer, JsValue> {
        let input = self.input.as_ref().ok_or_else(no_step)?;
        let seen = reference::cull(&self.settings.descriptor(), &input.scene(), &views_of(views));
        Ok(VisibleAnswer::from(seen.map_err(Failure::from)?))
    }

    /// Runs when the result is read. Later steps do not change it.
    pub fn query(&self, settings: &Settings, asked: HostInput) -> Result<HostQuery, JsValue> {
        Ok(HostQuery {
            settings: settings.clone(),
            step: self.input.clone().ok_or_else(no_step)?,
            asked,
            result: None,
        })
    }
}

#[wasm_bindgen]
pub struct HostQuery {
    settings: Settings,
    step: Rc<HostInput>,
    asked: HostInput,
    result: Option<StepResult>,
}

#[wasm_bindgen]
impl HostQuery {
    pub fn read(&mut self) -> Result<Answer, JsValue> {
        if self.result.is_none() {
            let descriptor = BroadPhaseDescriptor {
                pairs: false,
                ..self.settings.descriptor()
            };
            let scene = Scene {
                query: self.asked.query(),
                ..self.step.scene()
            };
            self.result = Some(cpu::step_scene(&descriptor, &scene).map_err(Failure::from)?);
        }
        Ok(Answer::from(self.result.clone().unwrap_or_default()))
    }
}

impl Cpu {
    fn result(&mut self) -> Result<&StepResult, Failure> {
        let input = self.input.as_ref().ok_or_else(no_step)?;
        let result = match self.result.take() {
            Some(result) => result,
            None => cpu::step_scene(&self.settings.descriptor(), &input.scene())?,
        };
        Ok(self.result.insert(result))
    }

    fn find_events(&mut self) -> Result<Events, Failure> {
        let pairs = self.result()?.pairs.clone();
        let input = self.input.as_ref().ok_or_else(no_step)?;
        let statics = input.rows::<Aabb>(Part::Statics).len() as u32;
        let name = |object: u32| {
            let (part, index, bit) = match object.checked_sub(statics) {
                Some(index) => (Part::Generations, index, 0),
                None => (Part::StaticGenerations, object, STATIC_NAME),
            };
            let generation = input.rows::<u32>(part).get(index as usize).copied();
            (index | bit, generation.unwrap_or(0))
        };
        let rows: Vec<_> = pairs
            .iter()
            .map(|&Pair { a, b }| {
                let [(a, a_generation), (b, b_generation)] = [a, b].map(name);
                PairEvent {
                    a,
                    a_generation,
                    b,
                    b_generation,
                }
            })
            .collect();
        let now: BTreeSet<_> = rows.iter().copied().collect();
        let before = self.before.replace(now.clone()).unwrap_or_default();
        Ok(Events {
            begun: rows.into_iter().filter(|row| !before.contains(row)).collect(),
            ended: before.difference(&now).copied().collect(),
            ..Events::default()
        })
    }
}

fn no_step() -> Failure {
    Failure::new(Failure::NO_RESULT, "there was no step yet")
}
