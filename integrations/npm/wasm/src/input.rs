//! Input rows in device buffers, and their layouts.

use bytemuck::Pod;
use gpu_broad_phase::{
    Aabb, BoxLayout, BoxWords, DeviceCount, ObjectNames, Queries, QueryInput, QueryMode, Rays, Scene, SelfQuery,
    Source, Statics,
};
use wasm_bindgen::prelude::*;

use crate::buffer::Buffer;

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Part {
    Objects,
    Worlds,
    Generations,
    Statics,
    StaticWorlds,
    StaticGenerations,
    ExcludedPairs,
    PairFilterData,
    Rays,
    Queries,
}

pub const PARTS: usize = Part::Queries as usize + 1;

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Counted {
    Objects,
    Rays,
    Queries,
}

#[wasm_bindgen]
#[derive(Clone, Copy, Default)]
pub enum SelfQueryKind {
    #[default]
    Boxes,
    /// Rows of 48 bytes: a box, sphere or point, and a radius.
    Spheres,
    Neighbors,
    Partners,
}

/// Word that follows each of the two vectors of a box.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Words {
    Filters,
    Padding,
    Nothing,
}

#[derive(Clone, Copy, Default)]
pub struct Question {
    pub are_swept: bool,
    pub self_query: SelfQueryKind,
    pub radius: f32,
    pub is_half: bool,
    pub nearest: Option<u32>,
}

impl Question {
    /// Sets the query options, but not `are_swept`.
    pub fn ask(&mut self, self_query: SelfQueryKind, radius: f32, is_half: bool, nearest: Option<u32>) {
        *self = Self {
            self_query,
            radius,
            is_half,
            nearest,
            ..*self
        };
    }

    pub fn query_mode(self) -> QueryMode {
        self.nearest.map_or(QueryMode::All, QueryMode::Nearest)
    }

    pub fn self_query_input(self) -> Option<Queries<'static>> {
        match self.self_query {
            SelfQueryKind::Neighbors => Some(Queries::Objects(SelfQuery::Within {
                radius: self.radius,
                half: self.is_half,
            })),
            SelfQueryKind::Partners => Some(Queries::Objects(SelfQuery::Overlaps { half: self.is_half })),
            SelfQueryKind::Boxes | SelfQueryKind::Spheres => None,
        }
    }
}

struct Rows {
    buffer: wgpu::Buffer,
    count: u32,
    offset: u64,
    stride: Option<u32>,
    form: BoxLayout,
    words: BoxWords,
}

/// Input of a step. Holds the buffers, so that the step can be repeated.
#[wasm_bindgen]
#[derive(Default)]
pub struct Input {
    parts: [Option<Rows>; PARTS],
    counts: [Option<(wgpu::Buffer, u32)>; 3],
    question: Question,
    generation: u64,
}

#[wasm_bindgen]
impl Input {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows are packed if `stride` is `None`.
    pub fn set_rows(&mut self, part: Part, buffer: &Buffer, count: u32, offset: f64, stride: Option<u32>) {
        self.parts[part as usize] = Some(Rows {
            buffer: buffer.buffer().clone(),
            count,
            offset: offset as u64,
            stride,
            form: BoxLayout::default(),
            words: BoxWords::default(),
        });
    }

    /// Call this after `set_rows`, which resets the layout.
    pub fn set_layout(&mut self, part: Part, is_center_half: bool, words: Words) {
        if let Some(rows) = &mut self.parts[part as usize] {
            rows.form = if is_center_half {
                BoxLayout::CenterHalf
            } else {
                BoxLayout::MinMax
            };
            rows.words = match words {
                Words::Filters => BoxWords::Filters,
                Words::Padding => BoxWords::Padding,
                Words::Nothing => BoxWords::Tight,
            };
        }
    }

    pub fn set_count(&mut self, counted: Counted, buffer: &Buffer, word: u32) {
        self.counts[counted as usize] = Some((buffer.buffer().clone(), word));
    }

    pub fn set_static_generation(&mut self, generation: f64) {
        self.generation = generation as u64;
    }

    pub fn set_swept(&mut self) {
        self.question.are_swept = true;
    }

    pub fn set_self_query(&mut self, self_query: SelfQueryKind, radius: f32, is_half: bool, nearest: Option<u32>) {
        self.question.ask(self_query, radius, is_half, nearest);
    }
}

impl Input {
    fn source<T: Pod>(&self, part: Part) -> Source<'_, T> {
        self.parts[part as usize].as_ref().map_or_else(Source::default, |rows| {
            let source = Source::device(&rows.buffer, rows.count).at(rows.offset);
            rows.stride.map_or(source, |stride| source.stride(stride))
        })
    }

    fn boxes(&self, part: Part) -> Source<'_, Aabb> {
        let source = self.source(part);
        match &self.parts[part as usize] {
            Some(rows) => source.layout(rows.form, rows.words),
            None => source,
        }
    }

    fn device_count(&self, counted: Counted) -> Option<DeviceCount<'_>> {
        let (buffer, word) = self.counts[counted as usize].as_ref()?;
        Some(DeviceCount { buffer, word: *word })
    }

    fn static_count(&self) -> u32 {
        self.parts[Part::Statics as usize].as_ref().map_or(0, |rows| rows.count)
    }

    pub fn query_input(&self) -> QueryInput<'_> {
        let question = self.question;
        QueryInput {
            rays: if question.are_swept {
                Rays::Swept(self.source(Part::Rays))
            } else {
                Rays::Plain(self.source(Part::Rays))
            },
            ray_count: self.device_count(Counted::Rays),
            queries: question
                .self_query_input()
                .unwrap_or_else(|| match question.self_query {
                    SelfQueryKind::Spheres => Queries::General(self.source(Part::Queries)),
                    _ => Queries::Boxes(self.boxes(Part::Queries)),
                }),
            query_count: self.device_count(Counted::Queries),
            query_mode: question.query_mode(),
        }
    }

    pub fn scene(&self) -> Scene<'_> {
        Scene {
            objects: self.boxes(Part::Objects),
            object_count: self.device_count(Counted::Objects),
            worlds: self.source(Part::Worlds),
            statics: Statics {
                objects: self.boxes(Part::Statics),
                worlds: self.source(Part::StaticWorlds),
                generation: self.generation,
            },
            excluded_pairs: self.source(Part::ExcludedPairs),
            pair_filter_data: self.source(Part::PairFilterData),
            query: self.query_input(),
        }
    }

    pub fn names(&self) -> ObjectNames<'_> {
        ObjectNames {
            static_count: self.static_count(),
            static_generations: self.source(Part::StaticGenerations),
            generations: self.source(Part::Generations),
        }
    }
}
