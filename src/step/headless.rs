//! A broad phase with a device of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::counters::{Counters, Status};
use crate::api::counters::{HITS, PAIRS, RAY_CELLS, RESULTS};
use crate::api::descriptor::MAX_ROUNDS;
use crate::api::descriptor::{BroadPhaseDescriptor, PairOrder};
use crate::api::error::{HeadlessError, ReadBackError, StepError};
use crate::api::result::{Outputs, StepResult};
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::Page;
use crate::api::types::{Aabb, Ray};
use crate::gpu::reading::Reading;
use crate::gpu::scope::Scopes;
use crate::shared::lists::sort_lists;
use crate::shared::watch::{Watch, end_if_stopped};
use crate::step::broad_phase::GpuBroadPhase;

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
    broad_phase: GpuBroadPhase,
    lost: Arc<AtomicBool>,
    /// Whether the outputs held the last answer of a step, so that they are likely to hold the next one: that is then
    /// written without being counted first, which saves a wait.
    steps_fit: bool,
    /// Whether the outputs held the last answer to queries.
    queries_fit: bool,
}

/// A read-back and the submission that it is part of.
type Submitted = (Reading, wgpu::SubmissionIndex);

/// Returns the adapters of `backends`, in the order that an index in [`HeadlessDescriptor::adapter`] counts: those of
/// GL come last. Empty if no backend of wgpu was compiled in (feature `backends`).
pub async fn adapters(backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    // wgpu panics where there is no backend at all.
    if (backends & wgpu::Instance::enabled_backend_features()).is_empty() {
        return Vec::new();
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags: wgpu::InstanceFlags::from_env_or_default(),
        // Such as the compiler of shaders on DX12.
        backend_options: wgpu::BackendOptions::from_env_or_default(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    instance.enumerate_adapters(backends).await
}

/// Returns the adapter called or numbered `wanted`, or else the best one. Opens GL only if no other backend has what is
/// wanted, or hardware: its libraries take long to load, and some print complaints where there is no display.
async fn choose(backends: wgpu::Backends, wanted: Option<&str>) -> Option<wgpu::Adapter> {
    let is_hardware = |adapter: &wgpu::Adapter| adapter.get_info().device_type != wgpu::DeviceType::Cpu;
    let place = |found: &[wgpu::Adapter]| match wanted {
        Some(wanted) => match wanted.parse::<usize>() {
            Ok(index) => (index < found.len()).then_some(index),
            Err(_) => found.iter().position(|adapter| {
                let name = adapter.get_info().name.to_lowercase();
                name.contains(&wanted.to_lowercase())
            }),
        },
        None => (0..found.len()).min_by_key(|&index| rank(&found[index].get_info())),
    };
    let mut found = adapters(backends - wgpu::Backends::GL).await;
    let mut chosen = place(&found);
    if !chosen.is_some_and(|index| wanted.is_some() || is_hardware(&found[index])) {
        found.extend(adapters(backends & wgpu::Backends::GL).await);
        chosen = place(&found);
    }
    chosen.map(|index| found.swap_remove(index))
}

impl Headless {
    /// A default broad phase on the best adapter.
    ///
    /// # Errors
    /// - [`NoBackend`](HeadlessError::NoBackend): the program was built without any backend of wgpu.
    /// - [`NoAdapter`](HeadlessError::NoAdapter), [`NoDevice`](HeadlessError::NoDevice): the machine has no usable GPU.
    /// - [`Create`](HeadlessError::Create): the adapter lacks what the passes need.
    pub async fn new() -> Result<Self, HeadlessError> {
        Self::with_descriptor(&HeadlessDescriptor::default()).await
    }

    /// A broad phase as described.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`HeadlessError::Create`] for a descriptor that cannot work.
    pub async fn with_descriptor(descriptor: &HeadlessDescriptor<'_>) -> Result<Self, HeadlessError> {
        Self::with_pipeline_cache(descriptor, |_, _| None).await
    }

    /// A broad phase as described, with a cache of compiled pipelines of the caller's
    /// ([`GpuBroadPhase::with_pipeline_cache`]).
    ///
    /// `cache` makes it on the device. It is asked where the device has
    /// [`PIPELINE_CACHE`](wgpu::Features::PIPELINE_CACHE). A cache that the device refuses counts as none, such as one
    /// with data of another device.
    ///
    /// ```no_run
    /// # use gpu_broad_phase::{Headless, HeadlessDescriptor, wgpu};
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let saved = std::fs::read("pipelines").ok();
    /// let mut cache = None;
    /// let descriptor = HeadlessDescriptor::default();
    /// let mut headless = Headless::with_pipeline_cache(&descriptor, |_, device| {
    ///     let descriptor = wgpu::PipelineCacheDescriptor {
    ///         label: None,
    ///         data: saved.as_deref(),
    ///         fallback: true,
    ///     };
    ///     // SAFETY: nobody but this program writes the file.
    ///     cache = Some(unsafe { device.create_pipeline_cache(&descriptor) });
    ///     cache.clone()
    /// })
    /// .await?;
    /// // … steps …
    /// if let Some(data) = cache.and_then(|cache| cache.get_data()) {
    ///     std::fs::write("pipelines", data)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_descriptor`](Self::with_descriptor).
    pub async fn with_pipeline_cache(
        descriptor: &HeadlessDescriptor<'_>,
        cache: impl FnOnce(&wgpu::AdapterInfo, &wgpu::Device) -> Option<wgpu::PipelineCache>,
    ) -> Result<Self, HeadlessError> {
        crate::api::descriptor::validate(&descriptor.broad_phase).map_err(crate::CreateError::from)?;
        if wgpu::Instance::enabled_backend_features().is_empty() {
            return Err(HeadlessError::NoBackend);
        }
        let backends = descriptor.backends.unwrap_or(wgpu::Backends::all());
        let adapter = choose(backends, descriptor.adapter)
            .await
            .ok_or_else(|| HeadlessError::NoAdapter {
                wanted: match (descriptor.adapter, descriptor.backends) {
                    (Some(name), _) => format!(" that is called or numbered {name}"),
                    (None, Some(backends)) => format!(" for {}", names(backends)),
                    (None, None) => String::new(),
                },
            })?;
        let (device, queue) = adapter
            .request_device(&GpuBroadPhase::device_descriptor(&adapter))
            .await
            .map_err(|error| HeadlessError::NoDevice(error.to_string()))?;
        let info = adapter.get_info();
        let mut kept = None;
        if device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            // wgpu falls back for most data that it cannot use, but not for that of another device.
            let scopes = Scopes::begin(&device);
            kept = cache(&info, &device);
            if scopes.end().now().is_some() {
                kept = None;
            }
        }
        let mut broad_phase = GpuBroadPhase::create(&device, &queue, &descriptor.broad_phase, kept.as_ref())?;
        broad_phase.splits_submissions = true;
        let lost = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&lost);
        device.set_device_lost_callback(move |_, _| flag.store(true, Ordering::Relaxed));
        Ok(Self {
            info,
            broad_phase,
            lost,
            steps_fit: false,
            queries_fit: false,
        })
    }

    /// The adapter in use.
    pub const fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// The device in use.
    pub fn device(&self) -> &wgpu::Device {
        self.broad_phase.home.device()
    }

    /// The queue in use.
    pub fn queue(&self) -> &wgpu::Queue {
        self.broad_phase.home.queue()
    }

    /// The broad phase itself.
    pub const fn broad_phase(&self) -> &GpuBroadPhase {
        &self.broad_phase
    }

    /// Takes another descriptor, as [`GpuBroadPhase::set_descriptor`] does.
    ///
    /// # Errors
    /// As [`GpuBroadPhase::new`]: this stays as it was.
    pub fn set_descriptor(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), crate::CreateError> {
        (self.steps_fit, self.queries_fit) = (false, false);
        self.broad_phase.set_descriptor(descriptor)
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
            objects: objects.into(),
            rays: rays.into(),
            ..Scene::default()
        };
        self.step_scene(&scene).await
    }

    /// As [`step`](Self::step), for all that a scene can hold, whether it lies on the host or on this device.
    ///
    /// # Errors
    /// As [`step`](Self::step), and where worlds are missing.
    pub async fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, HeadlessError> {
        if self.steps_fit {
            let reading = self.submit(|broad_phase, encoder| {
                broad_phase.record_counts(encoder, *scene)?;
                broad_phase.record_outputs(encoder, true);
                record_reading(broad_phase, encoder, Outputs::ALL)
            })?;
            if let Some(result) = self.take_if_whole(reading).await? {
                return Ok(result);
            }
        }
        loop {
            // Counting first costs a wait and saves writing into outputs that are too small.
            let mut counters = self.count(*scene).await?;
            while self.broad_phase.grows() && lacking(&counters).is_some() {
                // Missing entries hide pairs and hits: only a whole new step shows them.
                let held = |of: &Counters| u64::from(of.entries_capacity) + u64::from(of.static_entries_capacity);
                let before = held(&counters);
                counters = self.count(*scene).await?;
                if let Some((needed, capacity)) = lacking(&counters).filter(|_| held(&counters) <= before) {
                    return Err(too_many("cell entries", needed, capacity));
                }
            }
            if let Some((result, fits)) = self.finish(counters).await? {
                self.steps_fit = fits;
                return Ok(result);
            }
        }
    }

    /// Asks the table of the last step for new hits and results, without building it again. The answer is as whole as
    /// that of [`step`](Self::step) and has no pairs.
    ///
    /// # Errors
    /// As [`step`](Self::step), and [`StepError::NoStep`] before the first one.
    pub async fn query(&mut self, input: &QueryInput<'_>) -> Result<StepResult, HeadlessError> {
        if self.queries_fit {
            let reading = self.submit(|broad_phase, encoder| {
                // Pairs were handed out.
                broad_phase.record_query_counts(encoder, input, false)?;
                broad_phase.record_outputs(encoder, true);
                record_reading(broad_phase, encoder, Outputs::ALL)
            })?;
            if let Some(result) = self.take_if_whole(reading).await? {
                return Ok(result);
            }
        }
        loop {
            let reading = self.submit(|broad_phase, encoder| {
                // Pairs were handed out.
                broad_phase.record_query_counts(encoder, input, false)?;
                record_reading(broad_phase, encoder, Outputs::default())
            })?;
            let counters = self.receive_counters(reading).await?;
            if let Some((result, fits)) = self.finish(counters).await? {
                self.queries_fit = fits;
                return Ok(result);
            }
        }
    }

    /// The answer that was written without being counted first, if the outputs hold it.
    async fn take_if_whole(&mut self, reading: Submitted) -> Result<Option<StepResult>, HeadlessError> {
        let mut result = self.receive(reading).await?;
        let counters = result.counters;
        let grows = self.broad_phase.grows();
        if grows && lacking(&counters).is_some() {
            return Ok(None);
        }
        self.fit_rounds(&counters)?;
        if unfinished(&counters) || (grows && !self.is_whole(&result, &counters)) {
            return Ok(None);
        }
        if grows {
            result.counters.status = result.counters.status.intersection(Status::ROUNDS | Status::CUT);
        }
        Ok(Some(result))
    }

    /// Writes and reads what was counted, or makes room for more rounds where walks need them. Tells whether outputs
    /// held it at once.
    async fn finish(&mut self, counted: Counters) -> Result<Option<(StepResult, bool)>, HeadlessError> {
        let mut counters = counted;
        let mut result = None;
        // Closest hits and nearest objects are found with the writing of the rest.
        if !unfinished(&counters) {
            let (written, fits) = self.write(counters).await?;
            counters = written.counters;
            result = (!unfinished(&counters)).then_some((written, fits));
        }
        self.fit_rounds(&counters)?;
        Ok(result)
    }

    /// Makes room for as many rounds as walks needed.
    fn fit_rounds(&mut self, counters: &Counters) -> Result<(), HeadlessError> {
        let is_short = counters.status.has(Status::ROUNDS);
        let more = if is_short { counters.rounds_capacity + 1 } else { 1 };
        let rounds = counters.rounds_needed.max(more);
        if is_short && rounds > MAX_ROUNDS {
            let needed = u64::from(rounds);
            return Err(too_many("rounds of box tests", needed, MAX_ROUNDS));
        }
        if counters.status.has(Status::CUT) && self.broad_phase.is_cut_smallest() {
            return Err(HeadlessError::LoopsCut);
        }
        // One crowded scene need not slow those that follow.
        self.broad_phase.demand.demand_rounds(rounds.min(MAX_ROUNDS));
        Ok(())
    }

    async fn count(&mut self, input: Scene<'_>) -> Result<Counters, HeadlessError> {
        let reading = self.submit(|broad_phase, encoder| {
            broad_phase.record_counts(encoder, input)?;
            record_reading(broad_phase, encoder, Outputs::default())
        })?;
        self.receive_counters(reading).await
    }

    /// Whether a result has all that is needed.
    fn is_whole(&self, result: &StepResult, needed: &Counters) -> bool {
        let holds = |rows: usize, needed: u64| rows as u64 >= needed;
        let has_pairs = !self.broad_phase.emits_pairs() || holds(result.pairs.len(), needed.pairs_needed);
        let has_hits = result.ray_offsets.is_empty() || holds(result.ray_hits.len(), needed.hits_needed);
        let has_cells = holds(result.ray_cells.len(), needed.ray_cells_needed);
        has_pairs && has_hits && has_cells && holds(result.query_objects.len(), needed.results_needed)
    }

    /// Writes and reads the outputs that were counted: at once, as it then tells, or in chunks where one binding is too
    /// small.
    async fn write(&mut self, counters: Counters) -> Result<(StepResult, bool), HeadlessError> {
        if self.broad_phase.grows() {
            check_returnable(&counters)?;
        }
        let mut whole = self.write_page(Page::default(), true).await?;
        if !self.broad_phase.grows() {
            return Ok((whole, true));
        }
        let all_hits = !whole.ray_offsets.is_empty();
        let mut is_in_parts = false;
        loop {
            if self.is_whole(&whole, &counters) {
                if is_in_parts && self.broad_phase.descriptor().pair_order == PairOrder::Sorted {
                    whole.pairs.sort_unstable();
                    sort_lists(&mut whole.ray_hits, &whole.ray_offsets, |hit| hit.object);
                    sort_lists(&mut whole.query_objects, &whole.query_offsets, |&object| object);
                }
                // The other bits speak of the buffers as they were when the counts were taken.
                whole.counters.status = whole.counters.status.intersection(Status::ROUNDS | Status::CUT);
                return Ok((whole, !is_in_parts));
            }
            let first = Page {
                pairs: whole.pairs.len() as u32,
                hits: whole.ray_hits.len() as u32,
                ray_cells: whole.ray_cells.len() as u32,
                results: whole.query_objects.len() as u32,
            };
            is_in_parts = true;
            let chunk = self.write_page(first, false).await?;
            whole.counters.status = whole.counters.status | chunk.counters.status;
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

    async fn write_page(&mut self, first: Page, after_counts: bool) -> Result<StepResult, HeadlessError> {
        let reading = self.submit(|broad_phase, encoder| {
            broad_phase.record_page(encoder, first, after_counts)?;
            record_reading(broad_phase, encoder, Outputs::ALL)
        })?;
        self.receive(reading).await
    }

    async fn receive(&mut self, (reading, submission): Submitted) -> Result<StepResult, HeadlessError> {
        let result = self.broad_phase.receive(reading, submission).await;
        result.map_err(|error| self.cause(error))
    }

    async fn receive_counters(&mut self, (reading, submission): Submitted) -> Result<Counters, HeadlessError> {
        let counters = self.broad_phase.receive_counters(reading, submission).await;
        counters.map_err(|error| self.cause(error))
    }

    /// Looks whether the device was lost.
    fn note_loss(&mut self) -> bool {
        // Lets the device's callbacks run.
        let _ = self.device().poll(wgpu::PollType::Poll);
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
        record: impl FnOnce(&mut GpuBroadPhase, &mut wgpu::CommandEncoder) -> Result<Reading, StepError>,
    ) -> Result<Submitted, HeadlessError> {
        let mut encoder = self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/headless"),
        });
        end_if_stopped();
        self.note_loss();
        let recorded = self.broad_phase.guarded(&mut encoder, record);
        if Watch::current().is_some_and(|watch| watch.is_stopped()) {
            // Parts of the recording may not have been submitted.
            self.broad_phase.forget();
            (self.steps_fit, self.queries_fit) = (false, false);
            end_if_stopped();
        }
        let reading = recorded.map_err(|error| self.cause(error))?;
        let submission = self.queue().submit([encoder.finish()]);
        // Objects may come out of an encoder that nobody has submitted.
        if !self.broad_phase.is_answered() {
            return Err(self.cause(ReadBackError::NotSubmitted));
        }
        Ok((reading, submission))
    }
}

/// Behind what was recorded, so that both are one submission.
fn record_reading(
    broad_phase: &GpuBroadPhase,
    encoder: &mut wgpu::CommandEncoder,
    outputs: Outputs,
) -> Result<Reading, StepError> {
    let written = broad_phase.outputs(outputs).ok_or(StepError::NoStep)?;
    let reading = broad_phase.record_reading(encoder, &written, false);
    reading.ok_or(StepError::NoStep)
}

/// Whether walks ended early.
const fn unfinished(counters: &Counters) -> bool {
    counters.status.has(Status::ROUNDS.union(Status::CUT))
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

/// Refuses an answer of more rows than offsets of 32 bits can name.
fn check_returnable(counters: &Counters) -> Result<(), HeadlessError> {
    for (output, needed) in [
        (&PAIRS, counters.pairs_needed),
        (&HITS, counters.hits_needed),
        (&RAY_CELLS, counters.ray_cells_needed),
        (&RESULTS, counters.results_needed),
    ] {
        if needed >= u64::from(u32::MAX) {
            return Err(too_many(output.name, needed, u32::MAX - 1));
        }
    }
    Ok(())
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

    /// That devices count exactly past 32 bits is held by an ignored test of `tests/device/overflow.rs`.
    #[test]
    fn answers_that_no_vector_holds_are_refused_with_what_was_needed() {
        let limit = u64::from(u32::MAX) - 1;
        type Set = fn(&mut Counters, u64);
        let set: [(&str, Set); 4] = [
            ("pairs", |counters, rows| counters.pairs_needed = rows),
            ("hits", |counters, rows| counters.hits_needed = rows),
            ("ray cells", |counters, rows| counters.ray_cells_needed = rows),
            ("results of queries", |counters, rows| counters.results_needed = rows),
        ];
        for (what, set) in set {
            let needing = |rows: u64| {
                let mut counters = Counters::default();
                set(&mut counters, rows);
                check_returnable(&counters).err()
            };
            assert_eq!(needing(limit), None);
            for needed in [limit + 1, 1 << 32, 4_324_453_500] {
                assert_eq!(
                    needing(needed),
                    Some(HeadlessError::TooManyResults { what, needed, limit })
                );
            }
        }
    }

    #[test]
    fn backends_are_named_as_they_are_spoken_of() {
        assert_eq!(names(wgpu::Backends::VULKAN), "vulkan");
        assert_eq!(names(wgpu::Backends::VULKAN | wgpu::Backends::GL), "vulkan, gl");
    }
}
