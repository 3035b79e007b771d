//! A broad phase on the CPU that keeps its table.

use super::answers::{answer, find_pairs};
use super::table::Table;
use crate::api::descriptor::{BroadPhaseDescriptor, validate};
use crate::api::error::{DescriptorError, ReferenceError};
use crate::api::result::StepResult;
use crate::api::scene::{QueryInput, Scene};
use crate::layout::asked::Asked;
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_excludes::Admits;

/// A broad phase on the CPU: what [`Headless`](crate::Headless) is on a device, with the same answers.
///
/// It keeps the table of the last step, so that further rays and queries do not build it again.
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
/// let asked = QueryInput { queries: Queries::Spheres(places[..].into()), ..QueryInput::default() };
/// assert_eq!(broad_phase.query(&asked)?.query_objects, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CpuBroadPhase<'a> {
    descriptor: BroadPhaseDescriptor<'a>,
    table: Option<Table>,
    /// The counters of its step before rays and queries.
    counters: Vec<u32>,
}

impl<'a> CpuBroadPhase<'a> {
    /// A broad phase as described. A [`pair_filter`](BroadPhaseDescriptor::pair_filter) does not run here.
    ///
    /// # Errors
    ///
    /// Where the descriptor cannot work.
    pub fn new(descriptor: &BroadPhaseDescriptor<'a>) -> Result<Self, DescriptorError> {
        validate(descriptor)?;
        Ok(Self::of(descriptor))
    }

    /// A broad phase that validates its descriptor in each step.
    pub(super) const fn of(descriptor: &BroadPhaseDescriptor<'a>) -> Self {
        Self {
            descriptor: *descriptor,
            table: None,
            counters: Vec::new(),
        }
    }

    /// The descriptor in use.
    pub const fn descriptor(&self) -> &BroadPhaseDescriptor<'a> {
        &self.descriptor
    }

    /// Chooses which hits of rays are wanted from now on, of those too that ask the table of the last step.
    pub const fn set_ray_mode(&mut self, mode: crate::RayMode) {
        self.descriptor.ray_mode = mode;
    }

    /// What [`step_scene`](super::step_scene) answers.
    ///
    /// # Errors
    ///
    /// As there. Nothing can be asked then until the next step.
    pub fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, ReferenceError> {
        self.step(scene, None)
    }

    /// What [`step_scene_where`](super::step_scene_where) answers.
    ///
    /// # Errors
    ///
    /// As there. Nothing can be asked then until the next step.
    pub fn step_scene_where(
        &mut self,
        scene: &Scene<'_>,
        admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
    ) -> Result<StepResult, ReferenceError> {
        self.step(scene, Some(admits_pair))
    }

    /// Asks the table of the last step for new hits and results, without building it again. The answer has no pairs.
    /// [`Partners`](crate::Partners) are those of the boxes and of the list of excluded pairs alone.
    ///
    /// # Errors
    ///
    /// [`ReferenceError::NoStep`] before the first step; where rays, queries or an answer are more than indices can
    /// name; and [`ReferenceError::NotOnHost`] where part of the input lies on a device.
    pub fn query(&mut self, input: &QueryInput<'_>) -> Result<StepResult, ReferenceError> {
        let asked = HostScene::of(&Scene {
            rays: input.rays,
            ray_count: input.ray_count,
            queries: input.queries,
            query_count: input.query_count,
            query_mode: input.query_mode,
            ..Scene::default()
        })?;
        let table = self.table.as_mut().ok_or(ReferenceError::NoStep)?;
        let objects = table.params.all_objects();
        // A refused question leaves the block as it was.
        let mut params = table.params;
        Asked::of(&asked.asked, objects.into(), 4).write(&mut params)?;
        table.params = params;
        table.counters.clone_from(&self.counters);
        let mut result = StepResult::default();
        answer(table, &self.descriptor, &asked, None, &mut result)?;
        result.counters = table.counters();
        Ok(result)
    }

    pub(super) fn step(
        &mut self,
        scene: &Scene<'_>,
        admits: Option<&Admits<'_>>,
    ) -> Result<StepResult, ReferenceError> {
        self.table = None;
        let scene = HostScene::of(scene)?;
        let mut table = Table::build(&self.descriptor, &scene)?;
        let mut result = StepResult::default();
        if self.descriptor.pairs {
            find_pairs(&mut table, &self.descriptor, admits, &mut result)?;
        }
        self.counters.clone_from(&table.counters);
        answer(&mut table, &self.descriptor, &scene, admits, &mut result)?;
        result.counters = table.counters();
        self.table = Some(table);
        Ok(result)
    }
}
