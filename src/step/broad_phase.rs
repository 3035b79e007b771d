//! The broad phase of a caller's device: what it is made of, and its calls.

use std::sync::Arc;

use super::counter_readback::CounterReadback;
use super::demand::DemandTracker;
use super::output::{StepOutput, Table, table_kind};
use super::pair_filter;
use super::plan;
use super::recorded::{QuerySource, Recorded};
use super::walk_shrink::WalkShrink;
use super::warnings::Warnings;
use crate::api::descriptor::{self, BroadPhaseDescriptor, Growth, Uses};
use crate::api::error::{CreateError, DescriptorError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::Page;
use crate::gpu::bindings::Bindings;
use crate::gpu::buffers::Buffers;
use crate::gpu::device_context::DeviceContext;
use crate::gpu::link::Replacement;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::recorder;
use crate::gpu::scope::{DeviceErrors, Scopes};
use crate::gpu::shader::{Pass, Variant};
use crate::gpu::staging::Staging;
use crate::gpu::submission_probe;
use crate::gpu::timing::Timing;
use crate::layout::grid;
use crate::shared::bounds::binding_limit;
use crate::shared::submission::{self, Draft, Pending, Recordings};
use crate::stages::shape::COUNTERS;
use crate::stages::table::statics::{self, StaticTable};
use crate::stages::walks::TableOf;
use crate::stages::{input, order, pairs, queries, rays, scan, sort, table};

/// A broad phase on a device of the caller's.
pub struct GpuBroadPhase {
    pub(super) label: String,
    pub(super) descriptor: BroadPhaseDescriptor<'static>,
    pub(super) pipelines: Arc<Pipelines>,
    pub(super) buffers: Buffers,
    pub(super) bindings: Bindings,
    /// What read-backs are copied to.
    pub(super) readings: Staging,
    /// What data of the host is copied from.
    pub(super) uploads: Staging,
    pub(super) timing: Option<Timing>,
    pub(super) demand: DemandTracker,
    pub(super) context: Arc<DeviceContext>,
    pub(super) recordings: Recordings,
    /// The recording under way.
    pub(super) draft: Draft,
    /// Recordings so far, until somebody knows what became of them.
    pub(super) pending: Pending,
    pub(super) errors: DeviceErrors,
    pub(super) counter_readback: CounterReadback,
    pub(super) warnings: Warnings,
    pub(super) recorded: Option<Recorded>,
    pub(super) statics: Option<StaticTable>,
    /// The step of the last query, in a query set.
    pub(super) query_source: Option<Arc<QuerySource>>,
    /// Whether a long recording may be submitted in parts, in encoders that take the place of the caller's.
    pub(super) splits_submissions: bool,
}

impl GpuBroadPhase {
    /// The limits that every device needs to have: those of WebGPU's defaults that compute passes use.
    pub fn required_limits() -> wgpu::Limits {
        let defaults = wgpu::Limits::default();
        wgpu::Limits {
            max_storage_buffers_per_shader_stage: 8,
            max_storage_buffer_binding_size: defaults.max_storage_buffer_binding_size,
            max_buffer_size: defaults.max_buffer_size,
            max_compute_workgroup_storage_size: defaults.max_compute_workgroup_storage_size,
            max_compute_invocations_per_workgroup: defaults.max_compute_invocations_per_workgroup,
            max_compute_workgroup_size_x: defaults.max_compute_workgroup_size_x,
            max_compute_workgroup_size_y: 1,
            max_compute_workgroup_size_z: 1,
            max_compute_workgroups_per_dimension: defaults.max_compute_workgroups_per_dimension,
            max_bindings_per_bind_group: defaults.max_bindings_per_bind_group,
            ..wgpu::Limits::downlevel_defaults()
        }
    }

    /// The features that are used where the device has them.
    pub fn optional_features() -> wgpu::Features {
        wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP | wgpu::Features::PIPELINE_CACHE
    }

    /// What to ask an adapter for where the device is made for the broad phase:
    /// [`required_limits`](Self::required_limits) with bindings and buffers as large as the adapter has them, and those
    /// of [`optional_features`](Self::optional_features) that it has. A renderer joins them to what it asks for itself,
    /// as the [guide](crate::guide) shows: this asks for nothing that drawing needs, and for no textures above 2,048
    /// pixels per side.
    pub fn device_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
        let available = adapter.limits();
        wgpu::DeviceDescriptor {
            label: Some("gpu_broad_phase/device"),
            required_features: adapter.features() & Self::optional_features(),
            required_limits: wgpu::Limits {
                max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
                max_buffer_size: available.max_buffer_size,
                ..Self::required_limits()
            },
            ..Default::default()
        }
    }

    /// Creates the pipelines that every step with this descriptor needs; those of optional inputs are created when they
    /// are first used. Buffers come with the first step. The first call of a program submits an empty encoder.
    ///
    /// # Errors
    /// [`CreateError::Descriptor`] for a descriptor that cannot work, [`CreateError::Limit`] for a device whose limits
    /// are below [`required_limits`](Self::required_limits), [`CreateError::Device`] where the
    /// device refuses the pipelines, [`CreateError::DeviceLost`] where it is lost.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
    ) -> Result<Self, CreateError> {
        Self::create(device, queue, descriptor, None)
    }

    /// As [`new`](Self::new), with a cache of compiled pipelines of the caller's: those of this broad phase are looked
    /// up there and put there, now and when they are first used. Where the cache comes from, what it holds and when it
    /// is saved is the caller's. wgpu has caches on Vulkan alone. Its pipelines are not shared with other broad phases.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_pipeline_cache(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
        cache: &wgpu::PipelineCache,
    ) -> Result<Self, CreateError> {
        Self::create(device, queue, descriptor, Some(cache))
    }

    pub(super) fn create(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
        cache: Option<&wgpu::PipelineCache>,
    ) -> Result<Self, CreateError> {
        descriptor::validate(descriptor)?;
        // Pipelines say nothing of it.
        if submission::is_lost(device) {
            return Err(CreateError::DeviceLost);
        }
        let mut missing = None;
        let mut required = Self::required_limits();
        // Devices that keep strictly to WebGPU have none of these.
        required.zero_native_only();
        required.check_limits_with_fail_fn(&device.limits(), true, |limit, needed, available| {
            missing = Some(CreateError::Limit {
                limit,
                needed,
                available,
            });
        });
        if let Some(error) = missing {
            return Err(error);
        }
        submission_probe::probe(device, queue);
        let label = descriptor.label.unwrap_or("gpu_broad_phase");
        let constants = constants(descriptor, device);
        let descriptor = &BroadPhaseDescriptor {
            sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
            ..*descriptor
        };
        plan::check_smallest_step(descriptor, binding_limit(&device.limits()))?;
        if let Some(text) = descriptor.pair_filter {
            pair_filter::check(device, label, text).map_err(DescriptorError::from)?;
        }
        let scopes = Scopes::begin(device);
        let pipelines = Arc::new(Pipelines::new(
            label,
            passes(),
            &constants,
            cache.cloned(),
            replacement(descriptor),
        ));
        let error = pipelines.make(device, &variants(descriptor, None));
        let timing = Timing::new(device, label, descriptor.outputs.timestamps);
        let mut errors = scopes.end();
        if let Some(error) = error.or_else(|| errors.now()) {
            return Err(CreateError::Device(error));
        }
        let context = Arc::new(DeviceContext::new(device, queue));
        let recordings = Recordings::new(device);
        Ok(Self::over(
            context, pipelines, recordings, timing, errors, label, descriptor,
        ))
    }

    /// A broad phase over pipelines that are there.
    pub(super) fn over(
        context: Arc<DeviceContext>,
        pipelines: Arc<Pipelines>,
        recordings: Recordings,
        timing: Option<Timing>,
        errors: DeviceErrors,
        label: &str,
        descriptor: &BroadPhaseDescriptor<'_>,
    ) -> Self {
        Self {
            counter_readback: CounterReadback::new(recordings.beside()),
            warnings: Warnings::default(),
            context,
            draft: recordings.begin(),
            pending: Pending::default(),
            recordings,
            pipelines,
            buffers: Buffers::new(label),
            bindings: Bindings::default(),
            readings: Staging::readings(),
            uploads: Staging::uploads(),
            timing,
            demand: DemandTracker::default(),
            errors,
            recorded: None,
            statics: None,
            query_source: None,
            splits_submissions: false,
            label: label.to_owned(),
            descriptor: BroadPhaseDescriptor {
                label: None,
                pair_filter: descriptor.pair_filter.map(pair_filter::kept),
                ..*descriptor
            },
        }
    }

    /// What makes the pipelines that steps with these uses may need and that are not there yet: those of inputs that
    /// come now and then, and of scenes that turn out to be crowded. Without it each is made when it is first used, in
    /// the middle of a frame. See [`Preparation`] for how to do it beside frames that go on.
    /// [`PairEvents::prepare`](crate::PairEvents::prepare) and the like do the same for what stands beside the step.
    ///
    /// ```no_run
    /// # use gpu_broad_phase::{CreateError, GpuBroadPhase, Uses};
    /// # fn load(broad_phase: &GpuBroadPhase) -> Result<(), CreateError> {
    /// broad_phase.prepare(Uses { rays: true, statics: true, ..Uses::default() }).run()
    /// # }
    /// ```
    pub fn prepare(&self, uses: Uses) -> Preparation {
        Preparation::new(&self.context, &self.pipelines, variants(&self.descriptor, Some(uses)))
    }

    /// Takes another descriptor in place of the one that this was made from. Only what differs is made anew: pipelines
    /// depend on the scheme, on [`filters`](BroadPhaseDescriptor::filters),
    /// [`pair_filter`](BroadPhaseDescriptor::pair_filter) and
    /// [`count_candidates`](BroadPhaseDescriptor::count_candidates), on whether there are several worlds and on whether
    /// there are periods; and of these each depends on few. Margins, ray modes, capacities, orders and the rest cost no
    /// more than passes that no step had needed before. Call [`prepare`](Self::prepare) again for what later steps use
    /// beside the descriptor, that of query sets among it. Buffers stay, and so does what they grew to; what another
    /// scheme needs more, such as entries of [`Scheme::Uniform`](crate::Scheme::Uniform), comes as outputs grow. There
    /// is no last step then; answers that are under way arrive. The label stays, too.
    ///
    /// To change some fields alone, take the others from [`descriptor`](Self::descriptor). A descriptor without a
    /// [`pair_filter`](BroadPhaseDescriptor::pair_filter) takes that of the broad phase away.
    ///
    /// ```no_run
    /// # use gpu_broad_phase::{BroadPhaseDescriptor, CreateError, GpuBroadPhase};
    /// # fn widen(broad_phase: &mut GpuBroadPhase, margin: f32) -> Result<(), CreateError> {
    /// broad_phase.set_descriptor(&BroadPhaseDescriptor { margin, ..*broad_phase.descriptor() })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new): this stays as it was.
    pub fn set_descriptor(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), CreateError> {
        let context = Arc::clone(&self.context);
        let device = context.device();
        descriptor::validate(descriptor)?;
        let descriptor = BroadPhaseDescriptor {
            sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
            ..*descriptor
        };
        plan::check_smallest_step(&descriptor, binding_limit(&device.limits()))?;
        let constants_after = constants(&descriptor, device);
        let replacement_after = replacement(&descriptor);
        let is_alike = constants_after == constants(&self.descriptor, device)
            && replacement_after.as_ref() == self.pipelines.replacement();
        let pipelines = if is_alike {
            Arc::clone(&self.pipelines)
        } else {
            if let Some(text) = descriptor.pair_filter {
                pair_filter::check(device, &self.label, text).map_err(DescriptorError::from)?;
            }
            let pipelines = self
                .pipelines
                .with_others(passes(), &constants_after, replacement_after);
            Arc::new(pipelines)
        };
        Preparation::new(&context, &pipelines, variants(&descriptor, None)).run()?;
        self.pipelines = pipelines;
        if descriptor.outputs.timestamps != self.descriptor.outputs.timestamps {
            self.timing = Timing::new(device, &self.label, descriptor.outputs.timestamps);
        }
        // Bind groups are those of the pipelines before.
        self.bindings.clear();
        self.recorded = None;
        self.statics = None;
        self.descriptor = BroadPhaseDescriptor {
            label: None,
            pair_filter: descriptor.pair_filter.map(pair_filter::kept),
            ..descriptor
        };
        Ok(())
    }

    /// The passes that every step with this descriptor is to run, or any one with these uses, and that no late one
    /// dispatched. No part of the interface: tests hold rows of the pass table to it.
    #[doc(hidden)]
    pub fn unused_passes(&self, uses: Option<Uses>) -> Vec<&'static str> {
        let needed = passes().flat_map(|pass| pass.needed(&self.descriptor, uses));
        let unused = needed.filter(|variant| !self.bindings.has(variant.key()));
        unused.map(|variant| variant.pass.name).collect()
    }

    /// Records a step: finds the pairs and the hits of the input once the encoder is submitted. Never submits, waits or
    /// polls. Several steps may be recorded into one encoder; each sees its own input.
    ///
    /// The step's counters are copied to the host as well. They arrive a frame or two later, in the course of the
    /// program's own submissions or of [`wgpu::Device::poll`]. [`counters`](Self::counters) returns them, and with
    /// [`Growth::Grow`] the next step has room for what was needed.
    ///
    /// # Errors
    /// [`StepError`] where the input does not fit the device or a buffer of the caller cannot be used, such as an
    /// output of the step before ([`InputError::OwnOutput`](crate::InputError::OwnOutput)): nothing is recorded then,
    /// and the last step can still be read. [`StepError::Dropped`] once where the recording before ran over something
    /// else than it was recorded over, such as an [`ObjectSet`](crate::ObjectSet) whose upload was dropped, and no read
    /// has told it. [`StepError::Device`] where the device itself refuses a buffer and [`StepError::DeviceLost`] where
    /// it is lost: the encoder has to be dropped. An encoder does not say whose it is, and one of another device fails
    /// when it is finished.
    pub fn step(&mut self, encoder: &mut wgpu::CommandEncoder, input: Scene<'_>) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| {
            this.record_counts(encoder, input)?;
            this.record_outputs(encoder, true);
            Ok(())
        })?;
        self.bring_counters(encoder)?;
        self.output()
    }

    /// Records new rays and queries against the table of the last step, which is not built again: the objects are those
    /// of that step, and a caller's buffers of them have to hold what they held then. The counters of rays and queries,
    /// their status bits and the stage times become those of this call; pairs and their counts stay. Where several
    /// parts of a program ask, give each a [`QuerySet`](crate::QuerySet).
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step, [`StepError::Dropped`] where its encoder was dropped; otherwise as
    /// [`step`](Self::step).
    pub fn query(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        input: QueryInput<'_>,
    ) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| {
            this.record_query_counts(encoder, &input, true)?;
            this.record_outputs(encoder, true);
            Ok(())
        })?;
        self.bring_counters(encoder)?;
        self.output()
    }

    /// Records a further look at the last step's answer: the pairs, hits, cells of rays and results of queries from the
    /// places of `first` on, as many as fit, into the same buffers. This is how an answer larger than one binding is
    /// taken in chunks. The table of the last step is used as it is, and a caller's buffers of that step have to hold
    /// what they held then. [`RayMode::Closest`](crate::RayMode::Closest), [`RayMode::Any`](crate::RayMode::Any) and
    /// nearest objects stay as they are. The status word goes on to speak of the step's own buffers.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step, [`StepError::Dropped`] where its encoder, or that of the last
    /// [`query`](Self::query), was dropped; otherwise as [`step`](Self::step).
    pub fn page(&mut self, encoder: &mut wgpu::CommandEncoder, first: Page) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| this.record_page(encoder, first, false))?;
        self.output()
    }

    /// Says that the device is lost, as its lost callback told the caller: every later call returns an error that says
    /// so. A read-back that meets a lost device says it by itself. A new device needs a new broad phase.
    pub fn mark_lost(&mut self) {
        self.context.mark_lost();
    }

    /// Gives all memory back at once, along with the last step and what is left to read of it. Outputs then start at
    /// the size that the last step needed which was read back. [`PairEvents::trim`](crate::PairEvents::trim) and
    /// [`DebugDraw::trim`](crate::DebugDraw::trim) go along with it.
    pub fn trim(&mut self) {
        self.forget();
        if self.grows() {
            self.demand.return_to_last();
        }
    }

    /// Gives up all buffers, since those that a device refused look like any others, and what they were to hold.
    pub(crate) fn forget(&mut self) {
        self.buffers.clear();
        self.bindings.clear();
        self.readings.clear();
        self.uploads.clear();
        self.counter_readback.clear();
        self.statics = None;
        self.recorded = None;
        self.demand.forget();
        self.query_source = None;
    }

    /// Bytes of the buffers on the device that the broad phase owns, and what they are for.
    ///
    /// Memory that steps do without goes by itself. A buffer of which eight steps in a row need no more than half is
    /// made anew in the size that they need. Room that outputs grew to stays longer, since a burst that comes again
    /// should not be cut short each time: it goes after 64 to 127 steps that need no more than half
    /// of it. Room for 65,536 rows stays.
    ///
    /// Memory of the host that uploads and read-backs pass through comes on top. Later steps use it again, and it is
    /// freed where eight in a row did not, but for a few spare ones of each size in use.
    pub fn memory(&self) -> MemoryUse {
        let of_statics = self.statics.iter().flat_map(|table| table.buffers.sizes());
        MemoryUse::of(self.buffers.sizes().chain(of_statics))
    }

    /// Dispatches that were recorded so far. No part of the interface: `broadphase bench` tells how many a step has.
    #[doc(hidden)]
    pub fn dispatches(&self) -> u32 {
        self.pipelines.dispatches()
    }

    /// Number of pipelines that this broad phase has used so far. No part of the interface: the command line tells what
    /// drivers compile.
    #[doc(hidden)]
    pub fn pipelines_made(&self) -> usize {
        self.pipelines.made()
    }

    /// What the broad phase was made from, without the label. The text of a
    /// [`pair_filter`](BroadPhaseDescriptor::pair_filter) is a copy that stays in memory until the program ends, once
    /// for all broad phases with the same text.
    pub const fn descriptor(&self) -> &BroadPhaseDescriptor<'static> {
        &self.descriptor
    }

    /// The device and its queue.
    pub(crate) fn context(&self) -> &Arc<DeviceContext> {
        &self.context
    }

    /// Whether the last recording wrote pairs.
    pub(crate) fn emits_pairs(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| recorded.emits_pairs)
    }

    /// Whether the last recording's walks cannot be cut smaller.
    pub(crate) fn is_cut_smallest(&self) -> bool {
        self.recorded
            .as_ref()
            .is_some_and(|recorded| WalkShrink::is_at_its_end(recorded.plan.shape.walk_shrink))
    }

    /// Rounds of the next recording.
    pub(crate) fn rounds(&self) -> u32 {
        plan::rounds(&self.descriptor, self.demand.hint())
    }

    /// Whether a read-back may make room for what the last step needed.
    pub(crate) fn grows(&self) -> bool {
        self.descriptor.outputs.growth == Growth::Grow
    }

    pub(super) fn output(&self) -> Result<StepOutput, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        let plan = &recorded.plan;
        let params = &plan.shape.params;
        Ok(StepOutput {
            counters: self.buffers.get(COUNTERS).clone(),
            pairs: plan.pairs.output(params, &self.buffers),
            rays: plan.rays.output(params, &self.buffers),
            queries: plan.queries.output(params, &self.buffers),
            pairs_written: recorded.pairs.clone(),
            answers_written: recorded.answers.clone(),
            query_source: self.query_source()?,
            table: self.table(recorded, TableOf::Moving),
            static_table: params.has_statics().then(|| self.table(recorded, TableOf::Static)),
        })
    }

    /// The table of the objects that move, or of the static ones.
    fn table(&self, recorded: &Recorded, of: TableOf) -> Table {
        use statics::buffer as fixed;
        use table::buffer as moving;

        let own = recorded.plan.shape.params;
        let [block, static_block] = &recorded.blocks;
        let (params, block, buffers) = match of {
            TableOf::Moving => {
                let buffers = [moving::GRID, moving::RECORDS, moving::STARTS, recorded.sorted.values];
                (own, block, buffers)
            }
            TableOf::Static => {
                let buffers = [fixed::GRID, fixed::RECORDS, fixed::STARTS, fixed::VALUES];
                (own.of_statics(), static_block, buffers)
            }
        };
        let part_of = |id| recorder::resolve(&recorded.inputs, &self.buffers, id);
        let [grid, records, starts, values] = buffers;
        let [grid, records, starts] = [grid, records, starts].map(part_of);
        // Those of static objects are kept where records do not lie in their order.
        let has_entries = of == TableOf::Moving || own.is_uniform();
        Table {
            starts: starts.buffer.clone(),
            records: records.buffer.clone(),
            grid: grid.buffer.clone(),
            entries: has_entries.then(|| part_of(values).buffer.clone()),
            kind: table_kind(&self.descriptor),
            params,
            block: block.clone(),
            objects: part_of(moving::OBJECTS).into(),
            context: Arc::clone(&self.context),
            dependencies: recorded.table.clone(),
        }
    }
}

/// The passes of all stages of a step.
pub(crate) fn passes() -> impl Iterator<Item = &'static Pass> {
    let stages = [
        table::PASSES,
        scan::PASSES,
        sort::PASSES,
        pairs::PASSES,
        input::PASSES,
        rays::PASSES,
        queries::PASSES,
        order::PASSES,
    ];
    stages.into_iter().flatten().copied()
}

/// Returns the variants of passes that every step with this descriptor runs; with `uses`, those that any such step may
/// run.
fn variants(descriptor: &BroadPhaseDescriptor<'_>, uses: Option<Uses>) -> Vec<Variant<'static>> {
    passes().flat_map(|pass| pass.needed(descriptor, uses)).collect()
}

/// The caller's function, in place of the file that admits all pairs.
fn replacement(descriptor: &BroadPhaseDescriptor<'_>) -> Option<Replacement> {
    descriptor.pair_filter.map(|text| Replacement {
        path: pair_filter::REPLACED,
        text: text.to_owned(),
    })
}

/// What pipelines depend on.
fn constants(descriptor: &BroadPhaseDescriptor<'_>, device: &wgpu::Device) -> [(&'static str, f64); 7] {
    use wgpu::DeviceType::{Cpu, DiscreteGpu, IntegratedGpu};
    let device_type = device.adapter_info().device_type;
    // Browsers report `Other` for software adapters as well.
    let is_surely_hardware = matches!(device_type, DiscreteGpu | IntegratedGpu);
    [
        ("SCHEME", f64::from(grid::scheme_number(descriptor.scheme))),
        ("FILTERS", descriptor.filters.into()),
        ("COUNT_CANDIDATES", descriptor.count_candidates.into()),
        ("WORLDS", descriptor.has_worlds().into()),
        ("PERIODIC", descriptor.periods.iter().any(|&period| period > 0.0).into()),
        ("STORES_IN_LOOP", (device_type != Cpu).into()),
        ("DRIVER_CUTS_LOOPS", (!is_surely_hardware).into()),
    ]
}
