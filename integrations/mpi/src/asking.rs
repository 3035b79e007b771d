use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytemuck::Pod;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, OutputOptions, Queries, Query, QueryInput, QueryMode, RayMode, Scene, StepResult,
    SweptRay, cpu,
};

use crate::agreement::{RankError, agree};
use crate::communicator::Communicator;
use crate::owned::{put, take};
use crate::ranks::Ranks;

/// One list of rows per query. The list of query `q` is `rows[offsets[q]..offsets[q + 1]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<T> {
    /// Start of each list in `rows`, then the end of the last list.
    pub offsets: Vec<u64>,
    /// Rows of all lists.
    pub rows: Vec<T>,
}

impl<T: Copy> Rows<T> {
    /// Returns the list of query `question`.
    pub fn of(&self, question: usize) -> &[T] {
        &self.rows[self.offsets[question] as usize..self.offsets[question + 1] as usize]
    }

    pub(crate) fn from_lists(lists: impl IntoIterator<Item = Vec<T>>) -> Self {
        let (mut offsets, mut rows) = (vec![0], Vec::new());
        for list in lists {
            rows.extend(list);
            offsets.push(rows.len() as u64);
        }
        Self { offsets, rows }
    }
}

/// Query indices by receiving rank.
pub(crate) type Routes = Vec<(usize, Vec<u32>)>;

pub(crate) struct Bounds {
    boxes: Vec<Aabb>,
    flat: BroadPhaseDescriptor<'static>,
}

impl Bounds {
    /// Finds the ranks whose bounds a ray or query hits. Rounded tests are monotone: a ray that hits a box also hits
    /// any box around it. Receivers apply filters and worlds.
    fn step(&self, scene: &Scene<'_>) -> Result<StepResult, String> {
        cpu::step_scene(&self.flat, scene).map_err(|error| error.to_string())
    }

    fn routes(&self, offsets: &[u32], ranks: impl Iterator<Item = u32>) -> Routes {
        let mut routes = vec![Vec::new(); self.boxes.len()];
        let ranks: Vec<_> = ranks.collect();
        for (question, ends) in (0..).zip(offsets.windows(2)) {
            for &rank in &ranks[ends[0] as usize..ends[1] as usize] {
                routes[rank as usize].push(question);
            }
        }
        let given = routes.into_iter().enumerate();
        given.filter(|(_, questions)| !questions.is_empty()).collect()
    }

    pub fn of_rays(&self, rays: &[SweptRay]) -> Result<Routes, String> {
        let plain: Vec<_> = rays
            .iter()
            .map(|ray| {
                let mut plain = ray.with_world(0);
                plain.ray.layers = u32::MAX;
                plain
            })
            .collect();
        let found = self.step(&Scene {
            objects: self.boxes[..].into(),
            query: QueryInput {
                rays: plain[..].into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        })?;
        Ok(self.routes(&found.ray_offsets, found.ray_hits.iter().map(|hit| hit.object)))
    }

    pub fn of_queries(&self, queries: &[Query]) -> Result<Routes, String> {
        let plain: Vec<_> = queries
            .iter()
            .map(|query| Query {
                bounds: Aabb::new(query.bounds.min, query.bounds.max),
                // Devices measure distances within 4 ulps, so the radius grows.
                radius: if query.radius == 0.0 {
                    0.0
                } else {
                    farther(query.radius)
                },
                ..Query::overlaps(query.bounds)
            })
            .collect();
        let found = self.step(&Scene {
            objects: self.boxes[..].into(),
            query: QueryInput {
                queries: Queries::General(plain[..].into()),
                query_mode: QueryMode::All,
                ..QueryInput::default()
            },
            ..Scene::default()
        })?;
        Ok(self.routes(&found.query_offsets, found.query_objects.iter().copied()))
    }
}

/// Enlarges a distance by more than the results of two devices can differ.
pub(crate) fn farther(distance: f32) -> f32 {
    (f64::from(distance) * (1.0 + 1e-6)) as f32 + f32::MIN_POSITIVE
}

impl<C: Communicator> Ranks<C> {
    /// Gathers the bounds of all ranks. Collective.
    pub(crate) fn all_bounds(&self, own: &Aabb) -> Bounds {
        let corners = [own.min, own.max];
        let all = self.ranks.gather(bytemuck::bytes_of(&corners));
        Bounds {
            boxes: take::<[[f32; 3]; 2]>(&mut &all[..], self.ranks.size())
                .into_iter()
                .map(|[min, max]| Aabb::new(min, max))
                .collect(),
            flat: BroadPhaseDescriptor {
                dimensions: self.descriptor.broad_phase.dimensions,
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                filters: false,
                ..BroadPhaseDescriptor::default()
            },
        }
    }

    /// Sends queries along `routes` and returns their rows, by ascending rank. Collective.
    pub(crate) fn ask<Q: Pod, T: Pod>(
        &mut self,
        questions: &[Q],
        routes: Result<Routes, String>,
        answer: impl FnOnce(&mut Self, &[Q]) -> Result<Vec<Vec<T>>, String>,
    ) -> Result<Vec<Vec<T>>, RankError> {
        let routes = agree(&self.ranks, routes, &mut [])?;
        let message = |(to, asked): &(usize, Vec<u32>)| {
            let mut message = Vec::new();
            put(&mut message, asked.iter().map(|&question| questions[question as usize]));
            (*to, message)
        };
        let came = self.ranks.exchange(routes.iter().map(message).collect());
        self.clock.end(&self.ranks, "ask");
        let mut asked = Vec::new();
        let mut counts = Vec::new();
        for (from, message) in &came {
            let count = message.len() / size_of::<Q>();
            asked.extend(take::<Q>(&mut &message[..], count));
            counts.push((*from, count));
        }
        drop(came);
        let answered = answer(self, &asked);
        self.clock.end(&self.ranks, "answer");
        let mut answered = agree(&self.ranks, answered, &mut [])?.into_iter();
        let reply = |(to, count): (usize, usize)| {
            let lists: Vec<_> = answered.by_ref().take(count).collect();
            let mut message = Vec::new();
            put(&mut message, lists.iter().map(|list| list.len() as u32));
            put(&mut message, lists.iter().flatten().copied());
            (to, message)
        };
        let came = self.ranks.exchange(counts.into_iter().map(reply).collect());
        let mut found = vec![Vec::new(); questions.len()];
        for ((from, message), (to, asked)) in came.iter().zip(&routes) {
            debug_assert_eq!(from, to, "each rank that was asked answers");
            let mut message = &message[..];
            let counts = take::<u32>(&mut message, asked.len());
            for (&question, count) in asked.iter().zip(counts) {
                found[question as usize].extend(take::<T>(&mut message, count as usize));
            }
        }
        self.clock.end(&self.ranks, "reply");
        Ok(found)
    }

    /// Like [`agree`], and fails if ranks make different calls or pass different settings. Collective.
    pub(crate) fn agree_on<T>(&self, call: &str, settings: u64, own: Result<T, String>) -> Result<T, RankError> {
        let mut hasher = DefaultHasher::new();
        (call, settings).hash(&mut hasher);
        let told = hasher.finish();
        // A failed rank passes zeros, which change no maximum.
        let mut ends = if own.is_ok() { [told, !told] } else { [0; 2] };
        self.ranks.largest(&mut ends);
        let same = own.and_then(|own| match ends == [told, !told] {
            true => Ok(own),
            false => Err(format!("ranks do not all call {call} with the same settings")),
        });
        agree(&self.ranks, same, &mut [])
    }

    pub(crate) fn agree_to_ask(&self, call: &str, settings: u64, own: Result<(), String>) -> Result<(), RankError> {
        let after_step = if self.has_stepped {
            own
        } else {
            Err(format!("{call}: there is no step that went well to ask"))
        };
        self.agree_on(call, settings, after_step)
    }
}
