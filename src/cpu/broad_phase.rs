use std::mem::take;

use super::answers::Answer;
use super::candidate_cache::{Before, CandidateCache};
use super::last_step::{LastStep, Searched, needs_cells};
use super::pairs::{CellSearch, TreeSearch};
use super::ray_search;
use super::shapes::{self, HitShape};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{BroadPhaseError, DescriptorError, completed};
use crate::api::input::{Queries, Rays};
use crate::api::queries::{Query, SelfQuery, self_query};
use crate::api::result::StepResult;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::RayHit;
use crate::layout::blocks::{QueryBlocks, QueryParams, RayBlocks, RayParams};
use crate::reference::builder::Inputs;
use crate::reference::host::HostScene;
use crate::reference::outputs::Outputs;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::query_params;

/// A CPU broad phase that reuses work of earlier steps: it refits trees, and while objects move little, tests candidate
/// pairs. Results are those of a new broad phase. [`BroadPhase`](crate::BroadPhase) uses a GPU if available.
///
/// ```
/// use gpu_broad_phase::cpu::CpuBroadPhase;
/// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, QueryInput, Queries, Query, Scene};
///
/// let mut broad_phase = CpuBroadPhase::new(&BroadPhaseDescriptor::default())?;
/// let objects = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([0.5; 3], [2.0; 3])];
/// let scene = Scene { objects: objects[..].into(), ..Scene::default() };
/// assert_eq!(broad_phase.step_scene(&scene)?.pairs.len(), 1);
///
/// let places = [Query::point([1.5; 3])];
/// let asked = QueryInput { queries: Queries::General(places[..].into()), ..QueryInput::default() };
/// assert_eq!(broad_phase.query(&asked)?.query_objects, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CpuBroadPhase {
    options: BroadPhaseDescriptor<'static>,
    pair_filter: Option<Box<str>>,
    last: Option<LastStep>,
    cache: CandidateCache,
}

impl CpuBroadPhase {
    /// Creates a broad phase. The CPU cannot run the WGSL of a [`pair_filter`](BroadPhaseDescriptor::pair_filter); use
    /// [`step_scene_where`](Self::step_scene_where) instead.
    ///
    /// # Errors
    /// If the descriptor is invalid.
    pub fn new(descriptor: &BroadPhaseDescriptor<'_>) -> Result<Self, DescriptorError> {
        descriptor.validate()?;
        Ok(Self::of(descriptor))
    }

    /// Leaves the descriptor's validation to steps.
    pub(super) fn of(descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        Self {
            options: BroadPhaseDescriptor {
                label: None,
                pair_filter: None,
                ..*descriptor
            },
            pair_filter: descriptor.pair_filter.map(Box::from),
            last: None,
            cache: CandidateCache::default(),
        }
    }

    /// Returns the descriptor, without the label.
    pub fn descriptor(&self) -> BroadPhaseDescriptor<'_> {
        BroadPhaseDescriptor {
            pair_filter: self.pair_filter.as_deref(),
            ..self.options
        }
    }

    /// Returns true if the next step may reuse candidate pairs.
    #[doc(hidden)]
    pub const fn has_candidates(&self) -> bool {
        self.cache.has_candidates()
    }

    /// Sets the ray mode of later steps, and of queries to the last step's table.
    pub const fn set_ray_mode(&mut self, mode: crate::RayMode) {
        self.options.outputs.ray_mode = mode;
    }

    /// Like [`step_scene`](super::step_scene).
    ///
    /// # Errors
    /// Those of [`step_scene`](super::step_scene). After an error, queries fail until the next step.
    pub fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, BroadPhaseError> {
        self.step(scene, None)
    }

    /// Like [`step_scene_where`](super::step_scene_where).
    ///
    /// # Errors
    /// Those of [`step_scene`](super::step_scene). After an error, queries fail until the next step.
    pub fn step_scene_where(
        &mut self,
        scene: &Scene<'_>,
        admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
    ) -> Result<StepResult, BroadPhaseError> {
        self.step(scene, Some(admits_pair))
    }

    /// Runs rays and queries on the last step's table. The result has no pairs.
    ///
    /// # Errors
    /// - [`BroadPhaseError::NoStep`]: no step has run.
    /// - [`BroadPhaseError::PairFilterOnCpu`]: [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps) with a
    ///   [`pair_filter`](BroadPhaseDescriptor::pair_filter).
    /// - [`InputError::NotOnHost`](crate::InputError::NotOnHost): an input is on a device.
    /// - [`InputError::TooMany`](crate::InputError::TooMany), [`BroadPhaseError::TooManyResults`]: 32-bit indices
    ///   overflow.
    pub fn query(&mut self, input: &QueryInput<'_>) -> Result<StepResult, BroadPhaseError> {
        self.check_pair_filter(false, &input.queries)?;
        let (scene, last, rays, queries) = begin(&mut self.last, &mut self.cache, input)?;
        let mut answer = Answer::new(&self.options, last.held, last.counters.clone());
        answer_queries(last, &mut answer, &scene, rays, queries, None)?;
        answer.into_result()
    }

    /// Returns the closest hit of each ray with shapes of your own, in the last step's table: the smallest `t`, then
    /// the smallest object; [`RayHit::MISS`] without a hit.
    ///
    /// `hit_shape` gets an object, the ray's origin and direction, and `t_max`. It returns the ray parameter where the
    /// ray hits the object's shape, or `t_max` without a hit. Values from `t_max` on, below the ray's `t_min`, and NaN
    /// are no hits either. `t_max` is the smallest value that cannot win: at first just above the ray's own.
    ///
    /// A ray finds only shapes whose boxes, with their margin, it enters. A hit before the box counts as that entry,
    /// one behind it as it is. Hits equal those of [`TableShader::shape_rays`](crate::TableShader::shape_rays) if both
    /// functions return the same floats.
    ///
    /// ```
    /// use gpu_broad_phase::cpu::CpuBroadPhase;
    /// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Ray, RayHit, Scene};
    ///
    /// // Spheres of radius 1.
    /// let centers = [[0.0, 0.0, 0.0], [0.9, 0.9, 4.0]];
    /// let boxes = centers.map(|center| Aabb::new(center.map(|x| x - 1.0), center.map(|x| x + 1.0)));
    /// let mut broad_phase = CpuBroadPhase::new(&BroadPhaseDescriptor::default())?;
    /// broad_phase.step_scene(&Scene { objects: boxes[..].into(), ..Scene::default() })?;
    ///
    /// let hit_sphere = |object: u32, origin: [f32; 3], direction: [f32; 3], t_max: f32| {
    ///     let center = centers[object as usize];
    ///     let way = [0, 1, 2].map(|axis| origin[axis] - center[axis]);
    ///     let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    ///     let b = dot(way, direction);
    ///     let root = b * b - dot(way, way) + 1.0;
    ///     let t = -b - root.max(0.0).sqrt();
    ///     if root >= 0.0 && t >= 0.0 { t } else { t_max }
    /// };
    /// // The first ray passes the corner of a box.
    /// let rays = [[0.9, 0.9, -5.0], [0.0, 0.0, -5.0]].map(|origin| Ray::new(origin, [0.0, 0.0, 1.0], 100.0));
    /// let hits = broad_phase.closest_shapes(rays[..].into(), &hit_sphere)?;
    /// assert_eq!(hits, [RayHit { object: 1, t: 8.0 }, RayHit { object: 0, t: 4.0 }]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn closest_shapes(
        &mut self,
        rays: Rays<'_>,
        hit_shape: &(dyn Fn(u32, [f32; 3], [f32; 3], f32) -> f32 + Sync),
    ) -> Result<Vec<RayHit>, BroadPhaseError> {
        self.hit_shapes(rays, hit_shape, false)
    }

    /// Returns the first hit that a search of each ray finds with shapes of your own, or [`RayHit::MISS`]. `hit_shape`
    /// is as in [`closest_shapes`](Self::closest_shapes).
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn any_shapes(
        &mut self,
        rays: Rays<'_>,
        hit_shape: &(dyn Fn(u32, [f32; 3], [f32; 3], f32) -> f32 + Sync),
    ) -> Result<Vec<RayHit>, BroadPhaseError> {
        self.hit_shapes(rays, hit_shape, true)
    }

    fn hit_shapes(
        &mut self,
        rays: Rays<'_>,
        hit_shape: &HitShape<'_>,
        is_any: bool,
    ) -> Result<Vec<RayHit>, BroadPhaseError> {
        let input = QueryInput {
            rays,
            ..QueryInput::default()
        };
        self.search(&input, |searched, outputs, scene, rays, _| {
            let params = RayBlocks {
                table: searched.params,
                rays,
            };
            shapes::hits(&params, searched, outputs, &scene.rays, hit_shape, is_any)
        })
    }

    /// Returns object and distance of the nearest of your own shapes, in the last step's table: the smallest distance,
    /// then the smallest object; `None` if no shape is within the query's radius, or the query is invalid.
    ///
    /// `shape_distance` gets an object and the lower corner of the query's box, which should be a point. It returns the
    /// distance to the object's shape, negative inside of it if you like. The shape must be inside its object's box.
    /// Results equal those of [`TableShader::shape_queries`](crate::TableShader::shape_queries) if both functions
    /// return the same floats.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn nearest_shapes(
        &mut self,
        queries: &[Query],
        shape_distance: &(dyn Fn(u32, [f32; 3]) -> f32 + Sync),
    ) -> Result<Vec<Option<(u32, f32)>>, BroadPhaseError> {
        let input = QueryInput {
            queries: queries.into(),
            ..QueryInput::default()
        };
        self.search(&input, |searched, outputs, scene, _, queries| {
            let params = QueryBlocks {
                table: searched.params,
                queries,
            };
            shapes::nearest(&params, searched, outputs.overrides, &scene.queries, shape_distance)
        })
    }

    fn search<T>(
        &mut self,
        input: &QueryInput<'_>,
        run: impl FnOnce(&Searched<'_>, &mut Outputs<'_>, &HostScene<'_>, RayParams, QueryParams) -> T,
    ) -> Result<T, BroadPhaseError> {
        let (scene, last, rays, queries) = begin(&mut self.last, &mut self.cache, input)?;
        let mut answer = Answer::new(&self.options, last.held, last.counters.clone());
        let table = last.inputs.params[0];
        if ray_search::are_far(&RayBlocks { table, rays }, &scene.rays) {
            last.cells(&self.options)?;
        }
        last.trees()?;
        let tables = last.tables_of_records(false);
        let searched = last.searched(&tables, None);
        completed(run(&searched, &mut answer.outputs, &scene, rays, queries))
    }

    fn check_pair_filter(&self, finds_pairs: bool, queries: &Queries<'_>) -> Result<(), BroadPhaseError> {
        let finds_overlaps = matches!(queries, Queries::Objects(SelfQuery::Overlaps { .. }));
        if self.pair_filter.is_some() && (finds_pairs || finds_overlaps) {
            // First, so that an invalid filter is a descriptor error.
            self.descriptor().validate()?;
            return Err(BroadPhaseError::PairFilterOnCpu);
        }
        Ok(())
    }

    pub(crate) fn step(
        &mut self,
        scene: &Scene<'_>,
        admits: Option<&Admits<'_>>,
    ) -> Result<StepResult, BroadPhaseError> {
        let (before, mut cache) = (self.last.take(), take(&mut self.cache));
        if admits.is_none() {
            self.check_pair_filter(self.options.pairs, &scene.query.queries)?;
        }
        let scene = HostScene::of(scene)?;
        self.descriptor().validate()?;
        let (rays, queries) = query_params(scene.object_count() as u64, &scene.query_input)?;
        let inputs = Inputs::of(&self.options, &scene)?;
        let mut before = before.map(|before| Before::new(before, &inputs));
        let cached = cache.pairs(&self.options, &inputs, before.as_mut(), scene.has_queries(), admits)?;
        let counts = cached.as_ref().map(|cached| &cached.counts);
        let trees = before.and_then(|before| before.trees);
        let mut last = LastStep::new(&self.options, inputs, counts, trees)?;
        let mut answer = Answer::new(&self.options, last.held, last.counters.clone());
        match cached {
            Some(cached) => answer.take_pairs(cached)?,
            None if self.options.pairs => find_pairs(&mut last, &mut answer, admits)?,
            None => {}
        }
        if self.options.pairs {
            answer.order_pairs(&last.inputs);
        }
        (last.held, last.counters) = (answer.outputs.held, answer.outputs.counters.clone());
        if scene.has_queries() {
            last.offer_trees(|inputs| cache.trees(inputs));
            answer_queries(&mut last, &mut answer, &scene, rays, queries, admits)?;
        }
        let result = answer.into_result()?;
        (self.last, self.cache) = (Some(last), cache);
        Ok(result)
    }
}

/// Returns what rays and queries of the last step need, with trees of `cache` if there are any.
fn begin<'a, 'i>(
    last: &'a mut Option<LastStep>,
    cache: &mut CandidateCache,
    input: &QueryInput<'i>,
) -> Result<(HostScene<'i>, &'a mut LastStep, RayParams, QueryParams), BroadPhaseError> {
    let scene = HostScene::of(&Scene {
        query: *input,
        ..Scene::default()
    })?;
    let last = last.as_mut().ok_or(BroadPhaseError::NoStep)?;
    let (rays, queries) = query_params(last.held.objects.into(), &scene.query_input)?;
    last.offer_trees(|inputs| cache.trees(inputs));
    Ok((scene, last, rays, queries))
}

fn find_pairs(
    last: &mut LastStep,
    answer: &mut Answer<'_>,
    admits: Option<&Admits<'_>>,
) -> Result<(), BroadPhaseError> {
    let descriptor = answer.outputs.descriptor;
    let overrides = answer.outputs.overrides;
    let params = last.inputs.params[0];
    if needs_cells(descriptor, &params) {
        let search = CellSearch::new(last.cells(descriptor)?, overrides, admits);
        answer.find_pairs(&search, params.has_worlds())?;
        return Ok(());
    }
    let (inputs, trees) = last.trees()?;
    let search = TreeSearch::new(inputs, trees, overrides, admits);
    let tests = answer.find_pairs(&search, params.has_worlds())?;
    trees.searched(tests);
    Ok(())
}

fn answer_queries(
    last: &mut LastStep,
    answer: &mut Answer<'_>,
    scene: &HostScene<'_>,
    rays: RayParams,
    queries: QueryParams,
    admits: Option<&Admits<'_>>,
) -> Result<(), BroadPhaseError> {
    let table = last.inputs.params[0];
    let descriptor = answer.outputs.descriptor;
    if needs_cells(descriptor, &table) || !answer.needs_only_trees(&RayBlocks { table, rays }, scene) {
        last.cells(descriptor)?;
    }
    if !needs_cells(descriptor, &table) {
        last.trees()?;
    }
    let tables = last.tables_of_records(queries.self_query != self_query::NONE);
    answer.run_queries(&last.searched(&tables, admits), scene, rays, queries)
}
