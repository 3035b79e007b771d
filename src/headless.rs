//! A broad phase with a device of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::broad_phase::GpuBroadPhase;
use crate::counters::{Counters, STATUS_CUT, STATUS_ROUNDS};
use crate::descriptor::{BroadPhaseDescriptor, PairOrder};
use crate::error::{HeadlessError, ReadBackError, StepError};
use crate::input::{QueryInput, StepInput};
use crate::output::Window;
use crate::plan::MAX_ROUNDS;
use crate::queries::QueryMode;
use crate::reference::order::sort_walks;
use crate::result::StepResult;
use crate::scene::{Scene, SceneQueries, SceneRays};
use crate::types::{Aabb, Ray};

/// Which adapter to use and what to make on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadlessDescriptor<'a> {
    /// Only adapters of these backends; all where `None`.
    pub backends: Option<wgpu::Backends>,
    /// Only an adapter whose name contains this text, or the one at this index among those of the backends.
    pub adapter: Option<&'a str>,
    /// What to make.
    pub broad_phase: BroadPhaseDescriptor<'a>,
}

/// A broad phase with a device of its own, that returns whole answers as vectors.
pub struct Headless {
    info: wgpu::AdapterInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
    broad_phase: GpuBroadPhase,
    lost: Arc<AtomicBool>,
}

/// The adapters of the backends, in the order that an index in [`HeadlessDescriptor::adapter`] counts.
pub async fn adapters(backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags: wgpu::InstanceFlags::from_env_or_default(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    instance.enumerate_adapters(backends).await
}

impl Headless {
    /// A default broad phase on the best adapter.
    ///
    /// # Errors
    /// [`HeadlessError`] where there is no adapter or it lacks what is needed.
    pub async fn new() -> Result<Self, HeadlessError> {
        Self::with_descriptor(&HeadlessDescriptor::default()).await
    }

    /// A broad phase as described.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`HeadlessError::Create`] for a descriptor that cannot work.
    pub async fn with_descriptor(descriptor: &HeadlessDescriptor<'_>) -> Result<Self, HeadlessError> {
        crate::descriptor::validate(&descriptor.broad_phase).map_err(crate::CreateError::from)?;
        let backends = descriptor.backends.unwrap_or(wgpu::Backends::all());
        let mut adapters = adapters(backends).await;
        let chosen = match descriptor.adapter {
            Some(wanted) => match wanted.parse::<usize>() {
                Ok(index) => (index < adapters.len()).then_some(index),
                Err(_) => adapters.iter().position(|adapter| {
                    let name = adapter.get_info().name.to_lowercase();
                    name.contains(&wanted.to_lowercase())
                }),
            },
            None => (0..adapters.len()).min_by_key(|&index| rank(&adapters[index].get_info())),
        };
        let adapter = chosen
            .map(|index| adapters.swap_remove(index))
            .ok_or_else(|| HeadlessError::NoAdapter {
                wanted: match (descriptor.adapter, descriptor.backends) {
                    (Some(name), _) => format!(" that is called or numbered {name}"),
                    (None, Some(backends)) => format!(" for {}", names(backends)),
                    (None, None) => String::new(),
                },
            })?;
        let available = adapter.limits();
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("gpu_broad_phase/device"),
                required_features: adapter.features() & GpuBroadPhase::optional_features(),
                required_limits: wgpu::Limits {
                    max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
                    max_buffer_size: available.max_buffer_size,
                    ..GpuBroadPhase::required_limits()
                },
                ..Default::default()
            })
            .await
            .map_err(|error| HeadlessError::NoDevice(error.to_string()))?;
        let mut broad_phase = GpuBroadPhase::new(&device, &descriptor.broad_phase)?;
        broad_phase.splits_submissions = true;
        let lost = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&lost);
        device.set_device_lost_callback(move |_, _| flag.store(true, Ordering::Relaxed));
        Ok(Self {
            info: adapter.get_info(),
            broad_phase,
            device,
            queue,
            lost,
        })
    }

    /// The adapter in use.
    pub const fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// The device in use.
    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue in use.
    pub const fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The broad phase itself.
    pub const fn broad_phase(&self) -> &GpuBroadPhase {
        &self.broad_phase
    }

    /// Finds the pairs and hits of boxes and rays. With [`Growth::Grow`](crate::Growth::Grow) the answer is whole: the
    /// step is repeated with larger buffers, and an answer past one binding's limit is read in chunks. With
    /// [`Growth::Fixed`](crate::Growth::Fixed) it is a valid prefix, and the counters tell what was needed. Either way
    /// the walks of a crowded scene are given as many rounds as they need.
    ///
    /// # Errors
    /// [`HeadlessError`] where the input is too large for the device, the answer too large for 32-bit offsets, or the
    /// device is lost.
    pub async fn step(&mut self, objects: &[Aabb], rays: &[Ray]) -> Result<StepResult, HeadlessError> {
        let scene = Scene {
            objects,
            rays: rays.into(),
            ..Scene::default()
        };
        self.step_scene(&scene).await
    }

    /// As [`step`](Self::step), for all that a scene can hold.
    ///
    /// # Errors
    /// As [`step`](Self::step), and where worlds are missing.
    pub async fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, HeadlessError> {
        let input = StepInput::from(scene);
        loop {
            // Counting first costs a submission and saves writing into outputs that are too small.
            let mut counters = self.count(input).await?;
            while self.broad_phase.grows() && lacking(&counters).is_some() {
                // Missing entries hide pairs and hits: only a whole new step shows them.
                let held = |of: &Counters| u64::from(of.entries_capacity) + u64::from(of.static_entries_capacity);
                let before = held(&counters);
                counters = self.count(input).await?;
                if let Some((needed, capacity)) = lacking(&counters).filter(|_| held(&counters) <= before) {
                    return Err(too_many("cell entries", needed, capacity));
                }
            }
            if let Some(result) = self.finish(counters).await? {
                return Ok(result);
            }
        }
    }

    /// Asks the table of the last step for new hits and results, without building it again. The answer is as whole as that
    /// of [`step`](Self::step) and has no pairs.
    ///
    /// # Errors
    /// As [`step`](Self::step), and [`StepError::NoStep`] before the first one.
    pub async fn query(
        &mut self,
        rays: SceneRays<'_>,
        queries: SceneQueries<'_>,
        query_mode: QueryMode,
    ) -> Result<StepResult, HeadlessError> {
        let input = QueryInput {
            rays: rays.into(),
            queries: queries.into(),
            query_mode,
        };
        loop {
            self.submit(|broad_phase, device, queue, encoder| {
                broad_phase
                    .record_query_counts(device, queue, encoder, &input)
                    .map(drop)
            })?;
            let counters = self.broad_phase.read_counters(&self.device, &self.queue).await;
            let counters = counters.map_err(|error| self.cause(error))?;
            if let Some(result) = self.finish(counters).await? {
                return Ok(result);
            }
        }
    }

    /// Writes and reads what was counted, or makes room for more rounds where walks need them.
    async fn finish(&mut self, counted: Counters) -> Result<Option<StepResult>, HeadlessError> {
        let unfinished = |counters: &Counters| counters.status & (STATUS_ROUNDS | STATUS_CUT) != 0;
        let mut counters = counted;
        let mut result = None;
        // Closest hits and nearest objects are found with the writing of the rest.
        if !unfinished(&counters) {
            let written = self.write(counters).await?;
            counters = written.counters;
            result = (!unfinished(&counters)).then_some(written);
        }
        let is_short = counters.status & STATUS_ROUNDS != 0;
        let more = if is_short { counters.rounds_capacity + 1 } else { 1 };
        let rounds = counters.rounds_needed.max(more);
        if is_short && rounds > MAX_ROUNDS {
            let needed = u64::from(rounds);
            return Err(too_many("rounds of box tests", needed, MAX_ROUNDS));
        }
        // One crowded scene need not slow those that follow.
        self.broad_phase.wanted.rounds = rounds.min(MAX_ROUNDS);
        Ok(result)
    }

    async fn count(&mut self, input: StepInput<'_>) -> Result<Counters, HeadlessError> {
        self.submit(|broad_phase, device, queue, encoder| {
            broad_phase.record_counts(device, queue, encoder, input).map(drop)
        })?;
        let counters = self.broad_phase.read_counters(&self.device, &self.queue).await;
        counters.map_err(|error| self.cause(error))
    }

    /// Writes and reads the outputs that were counted: at once, or in chunks where one binding is too small.
    async fn write(&mut self, counters: Counters) -> Result<StepResult, HeadlessError> {
        if self.broad_phase.grows() {
            for (what, needed) in [
                ("pairs", counters.pairs_needed),
                ("hits", counters.hits_needed),
                ("ray cells", counters.ray_cells_needed),
                ("results of queries", counters.results_needed),
            ] {
                if needed >= u64::from(u32::MAX) {
                    return Err(too_many(what, needed, u32::MAX - 1));
                }
            }
        }
        let mut whole = self.write_window(Window::default(), true).await?;
        if !self.broad_phase.grows() {
            return Ok(whole);
        }
        let all_hits = !whole.ray_offsets.is_empty();
        let emits_pairs = self.broad_phase.emits_pairs();
        let mut is_in_parts = false;
        loop {
            let [pairs, hits, ray_cells] = [whole.pairs.len(), whole.ray_hits.len(), whole.ray_cells.len()];
            let results = whole.query_objects.len();
            let has_pairs = !emits_pairs || pairs as u64 >= counters.pairs_needed;
            let has_hits = !all_hits || hits as u64 >= counters.hits_needed;
            let has_cells = ray_cells as u64 >= counters.ray_cells_needed;
            let has_results = results as u64 >= counters.results_needed;
            if has_pairs && has_hits && has_cells && has_results {
                if is_in_parts && self.broad_phase.descriptor().pair_order == PairOrder::Sorted {
                    whole.pairs.sort_unstable();
                    sort_walks(&mut whole.ray_hits, &whole.ray_offsets, |hit| hit.object);
                    sort_walks(&mut whole.query_objects, &whole.query_offsets, |&object| object);
                }
                // The other bits speak of the buffers as they were when the counts were taken.
                whole.counters.status &= STATUS_ROUNDS | STATUS_CUT;
                return Ok(whole);
            }
            let first = Window {
                pairs: pairs as u32,
                hits: hits as u32,
                ray_cells: ray_cells as u32,
                results: results as u32,
            };
            is_in_parts = true;
            let chunk = self.write_window(first, false).await?;
            whole.counters.status |= chunk.counters.status;
            let rounds = &mut whole.counters.rounds_needed;
            *rounds = chunk.counters.rounds_needed.max(*rounds);
            whole.pairs.extend(chunk.pairs);
            if all_hits {
                whole.ray_hits.extend(chunk.ray_hits);
            }
            whole.ray_cells.extend(chunk.ray_cells);
            whole.query_objects.extend(chunk.query_objects);
        }
    }

    async fn write_window(&mut self, first: Window, after_counts: bool) -> Result<StepResult, HeadlessError> {
        self.submit(|broad_phase, device, queue, encoder| {
            broad_phase
                .record_window(device, queue, encoder, first, after_counts)
                .map(drop)
        })?;
        let result = self.broad_phase.read_back(&self.device, &self.queue).await;
        result.map_err(|error| self.cause(error))
    }

    /// Looks whether the device was lost.
    fn note_loss(&mut self) -> bool {
        // Lets the device's callbacks run.
        let _ = self.device.poll(wgpu::PollType::Poll);
        let lost = self.lost.load(Ordering::Relaxed);
        if lost {
            self.broad_phase.mark_lost();
        }
        lost
    }

    /// What went wrong, or that the device was lost meanwhile, which goes wrong in many ways.
    fn cause(&mut self, error: impl Into<HeadlessError>) -> HeadlessError {
        if self.note_loss() {
            return ReadBackError::DeviceLost.into();
        }
        error.into()
    }

    fn submit(
        &mut self,
        record: impl FnOnce(
            &mut GpuBroadPhase,
            &wgpu::Device,
            &wgpu::Queue,
            &mut wgpu::CommandEncoder,
        ) -> Result<(), StepError>,
    ) -> Result<(), HeadlessError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/headless"),
        });
        self.note_loss();
        let Self {
            device,
            queue,
            broad_phase,
            ..
        } = self;
        let recorded = broad_phase.guarded(device, &mut encoder, |broad_phase, encoder| {
            record(broad_phase, device, queue, encoder)
        });
        recorded.map_err(|error| self.cause(error))?;
        self.queue.submit([encoder.finish()]);
        Ok(())
    }
}

/// As in `vulkan, gl`.
fn names(backends: wgpu::Backends) -> String {
    let names = backends.iter_names().map(|(name, _)| name.to_lowercase());
    names.collect::<Vec<_>>().join(", ")
}

/// Entries that are needed where the table, or that of the static objects, has room for fewer.
fn lacking(counters: &Counters) -> Option<(u64, u32)> {
    let tables = [
        (counters.entries_needed, counters.entries_capacity),
        (counters.static_entries_needed, counters.static_entries_capacity),
    ];
    tables
        .into_iter()
        .find(|&(needed, capacity)| needed > u64::from(capacity))
}

fn too_many(what: &'static str, needed: u64, limit: u32) -> HeadlessError {
    HeadlessError::TooManyResults {
        what,
        needed,
        limit: u64::from(limit),
    }
}

/// Hardware before software, and among equals Vulkan, Metal and DX12 before GL.
fn rank(info: &wgpu::AdapterInfo) -> (u8, bool) {
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => 2,
        wgpu::DeviceType::Cpu => 3,
    };
    (kind, info.backend == wgpu::Backend::Gl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_named_as_they_are_spoken_of() {
        assert_eq!(names(wgpu::Backends::VULKAN), "vulkan");
        assert_eq!(names(wgpu::Backends::VULKAN | wgpu::Backends::GL), "vulkan, gl");
    }
}
