use std::sync::Arc;

use super::answers::QueryEngine;
use super::growth::Growth;
use super::output::StepOutput;
use super::pair_filter;
use super::pair_finder::PairFinder;
use super::plan;
use super::results::Results;
use super::samples::{passes, preparation, variants};
use super::table::TableEngine;
use super::walk_shrink::WalkShrink;
use crate::api::descriptor::{self, BroadPhaseDescriptor, SortStrategy, Uses};
use crate::api::error::{CreateError, DescriptorError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::output::Page;
use crate::api::scene::{QueryInput, Scene};
use crate::gpu::adapter::DeviceClass;
use crate::gpu::buffers::Buffers;
use crate::gpu::device_context::{DeviceContext, is_lost};
use crate::gpu::link::Replacement;
use crate::gpu::pipelines::Pipelines;
use crate::gpu::preparation::Preparation;
use crate::gpu::scope::Scopes;
use crate::gpu::session::Session;
use crate::gpu::timing::Timing;
use crate::layout::grid;
use crate::stages::pairs;

/// A broad phase on your own device. Records compute passes into your command encoders.
pub struct GpuBroadPhase {
    pub(super) session: Session,
    pub(super) descriptor: BroadPhaseDescriptor<'static>,
    pub(super) table: TableEngine,
    pub(super) statics: TableEngine,
    pub(super) pairs: PairFinder,
    pub(super) queries: QueryEngine,
    pub(super) growth: Growth,
    pub(super) results: Results,
}

impl GpuBroadPhase {
    /// Limits that every device needs: the WebGPU defaults of all limits that compute passes depend on.
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

    /// Features that the broad phase uses if the device has them.
    pub fn optional_features() -> wgpu::Features {
        wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP | wgpu::Features::PIPELINE_CACHE
    }

    /// Returns a device descriptor for the broad phase alone: [`required_limits`](Self::required_limits), the adapter's
    /// largest bindings and buffers, and its [`optional_features`](Self::optional_features).
    ///
    /// A renderer merges it with its own needs (see the [guide](crate::guide)). It requests no limits for drawing, and
    /// no textures above 2,048 pixels per side.
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

    /// Creates the pipelines that every step with this descriptor needs. Pipelines of optional inputs, and all buffers,
    /// are created on first use.
    ///
    /// # Errors
    /// - [`CreateError::Descriptor`]: the descriptor is invalid.
    /// - [`CreateError::Limit`]: a device limit is below [`required_limits`](Self::required_limits).
    /// - [`CreateError::Device`]: the device refused the pipelines.
    /// - [`CreateError::DeviceLost`]: the device is lost.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
    ) -> Result<Self, CreateError> {
        Self::create(device, queue, descriptor, None)
    }

    /// As [`new`](Self::new), with your pipeline cache, also for pipelines created later. You load and save it; wgpu
    /// has caches on Vulkan only. Pipelines are not shared with other broad phases.
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
        // Creating pipelines does not report a lost device.
        if is_lost(device) {
            return Err(CreateError::DeviceLost);
        }
        let mut missing = None;
        let mut required = Self::required_limits();
        // Strict WebGPU devices have no native-only limits.
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
        let label = descriptor.label.unwrap_or("gpu_broad_phase");
        let context = Arc::new(DeviceContext::new(device, queue));
        let descriptor = &BroadPhaseDescriptor {
            sort: descriptor.sort.of(&context),
            ..*descriptor
        };
        let constants = constants(descriptor, context.class());
        plan::check_smallest_step(descriptor, context.binding_limit())?;
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
        let error = pipelines.make(device, &variants(descriptor, None, context.binding_limit()));
        let timing = Timing::new(device, label, descriptor.outputs.timestamps);
        let mut errors = scopes.end();
        if let Some(error) = error.or_else(|| errors.now()) {
            return Err(CreateError::Device(error));
        }
        Ok(Self {
            table: TableEngine::new(label),
            statics: TableEngine::new(&format!("{label}/static")),
            pairs: PairFinder::new(label),
            queries: QueryEngine::new(label),
            growth: Growth::default(),
            results: Results::default(),
            session: Session::new(context, pipelines, timing, errors, label),
            descriptor: kept(descriptor),
        })
    }

    /// Prepares the pipelines that steps with `uses` may need, such as those of occasional inputs and crowded scenes.
    /// Otherwise each is created on first use, in the middle of a frame. A [`Preparation`] can run while frames
    /// continue. Components have their own calls, such as [`PairEvents::prepare`](crate::PairEvents::prepare).
    pub fn prepare(&self, uses: Uses) -> Preparation {
        let Session { context, pipelines, .. } = &self.session;
        preparation(context, pipelines, &self.descriptor, Some(uses))
    }

    /// Replaces the descriptor. Only pipelines that differ are created again.
    ///
    /// - **Pipelines** depend on the scheme, [`filters`](BroadPhaseDescriptor::filters),
    ///   [`pair_filter`](BroadPhaseDescriptor::pair_filter),
    ///   [`count_candidates`](BroadPhaseDescriptor::count_candidates), and on having several worlds or any periods.
    ///   Other changes at most need pipelines of passes not used before. Call [`prepare`](Self::prepare) again for
    ///   optional inputs, and that of query sets.
    /// - **Buffers** and the label stay. If another scheme needs larger ones, such as for entries of
    ///   [`Scheme::Uniform`](crate::Scheme::Uniform), they grow.
    /// - **Results**: the last step is discarded; pending read-backs still arrive.
    ///
    /// To change single fields, copy the others from [`descriptor`](Self::descriptor). Label and
    /// [`pair_filter`](BroadPhaseDescriptor::pair_filter) must be your own. Without a filter, the current one is
    /// removed.
    ///
    /// ```no_run
    /// # use gpu_broad_phase::{BroadPhaseDescriptor, CreateError, GpuBroadPhase};
    /// # fn widen(broad_phase: &mut GpuBroadPhase, margin: f32) -> Result<(), CreateError> {
    /// broad_phase.set_descriptor(&BroadPhaseDescriptor {
    ///     margin,
    ///     label: None,
    ///     pair_filter: None,
    ///     ..broad_phase.descriptor()
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new). The descriptor is then unchanged.
    pub fn set_descriptor(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), CreateError> {
        let context = Arc::clone(&self.session.context);
        let device = context.device();
        descriptor::validate(descriptor)?;
        let descriptor = BroadPhaseDescriptor {
            sort: descriptor.sort.of(&context),
            ..*descriptor
        };
        plan::check_smallest_step(&descriptor, context.binding_limit())?;
        let constants_after = constants(&descriptor, context.class());
        let replacement_after = replacement(&descriptor);
        let session = &mut self.session;
        let is_alike = constants_after == constants(&self.descriptor, context.class())
            && replacement_after.as_ref() == session.pipelines.replacement();
        let pipelines = if is_alike {
            Arc::clone(&session.pipelines)
        } else {
            if let Some(text) = descriptor.pair_filter {
                pair_filter::check(device, &session.label, text).map_err(DescriptorError::from)?;
            }
            let others = session
                .pipelines
                .with_others(passes(), &constants_after, replacement_after);
            Arc::new(others)
        };
        preparation(&context, &pipelines, &descriptor, None).run()?;
        session.pipelines = pipelines;
        if descriptor.outputs.timestamps != self.descriptor.outputs.timestamps {
            session.timing = Timing::new(device, &session.label, descriptor.outputs.timestamps);
        }
        // Bind groups belong to the old pipelines.
        session.bindings.clear();
        (self.pairs.found, self.queries.last) = (None, None);
        self.statics.clear();
        self.descriptor = kept(&descriptor);
        Ok(())
    }

    /// Names of needed passes that no recent step has dispatched. Needed are the passes of every step or, with `uses`,
    /// all that such a step may need.
    #[doc(hidden)]
    pub fn unused_passes(&self, uses: Option<Uses>) -> Vec<&'static str> {
        let needed = variants(&self.descriptor, uses, self.context().binding_limit()).into_iter();
        let unused = needed.filter(|variant| !self.session.bindings.has(variant.key()));
        unused.map(|variant| variant.pass.name).collect()
    }

    /// Records a step, which finds the pairs and hits of `input` when the encoder is submitted. Never submits, waits or
    /// polls. Several steps may share an encoder; each sees its own input.
    ///
    /// Counters are also copied to the host. They arrive a frame or two later, during your submissions or
    /// [`wgpu::Device::poll`]: [`counters`](Self::counters) then returns them, and with
    /// [`Growth::Grow`](crate::Growth::Grow) the next step has enough capacity.
    ///
    /// # Errors
    /// - [`StepError::Input`]: the input does not fit the device, or a buffer cannot be used, such as an output of the
    ///   previous step ([`InputError::OwnOutput`](crate::InputError::OwnOutput)). Nothing is recorded; the last step
    ///   can still be read.
    /// - [`StepError::Device`], [`StepError::DeviceLost`]: the device refused a buffer or is lost; drop the encoder.
    ///
    /// If `encoder` is of another device, finishing it fails.
    pub fn step(&mut self, encoder: &mut wgpu::CommandEncoder, input: Scene<'_>) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| {
            this.record_step(encoder, input, true)?;
            this.read_counters(encoder)
        })?;
        self.output()
    }

    /// Records new rays and queries against the last step's table. Your buffers of that step's objects, and its
    /// [`ObjectSet`](crate::ObjectSet), must be unchanged. Counters, status bits and stage times of rays and queries
    /// are replaced; pairs and their counts stay. With several subsystems, use a [`QuerySet`](crate::QuerySet) for
    /// each.
    ///
    /// # Errors
    /// - [`StepError::NoStep`]: nothing was recorded.
    /// - [`StepError::Dropped`]: the last step's encoder was dropped.
    /// - Otherwise as [`step`](Self::step).
    pub fn query(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        input: QueryInput<'_>,
    ) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| {
            this.record_query(encoder, &input, true)?;
            this.read_counters(encoder)
        })?;
        self.output()
    }

    /// Records another page of the last result, for results larger than a binding: pairs, hits, ray cells and query
    /// results from the indices in `first` on, up to capacity, into the same buffers.
    ///
    /// Your buffers of that step must be unchanged. [`RayMode::Closest`](crate::RayMode::Closest),
    /// [`RayMode::Any`](crate::RayMode::Any) and nearest objects have no pages and stay. The status still describes the
    /// step's own output.
    ///
    /// # Errors
    /// - [`StepError::NoStep`]: nothing was recorded.
    /// - [`StepError::Dropped`]: the encoder of the last step or [`query`](Self::query) was dropped.
    /// - Otherwise as [`step`](Self::step).
    pub fn page(&mut self, encoder: &mut wgpu::CommandEncoder, first: Page) -> Result<StepOutput, StepError> {
        self.guarded(encoder, |this, encoder| this.record_page(encoder, first, false))?;
        self.output()
    }

    /// Marks the device as lost, so that later calls fail. Call it on your device-lost callback. Read-backs detect it
    /// by themselves. A new device needs a new broad phase.
    pub fn mark_lost(&mut self) {
        self.session.context.mark_lost();
    }

    /// Frees all memory and discards the last step with its unread results. Outputs restart at the capacity that the
    /// newest [`counters`](Self::counters) needed. Components have their own calls, such as
    /// [`PairEvents::trim`](crate::PairEvents::trim).
    pub fn trim(&mut self) {
        self.forget();
        if self.grows() {
            self.growth.return_to_last();
        }
    }

    /// Drops all buffers and results. Invalid buffers cannot be recognized.
    pub(crate) fn forget(&mut self) {
        self.session.clear();
        self.table.clear();
        self.statics.clear();
        self.pairs.clear();
        self.queries.clear();
        self.results.clear();
        self.growth.forget();
    }

    /// Bytes of device memory by purpose.
    ///
    /// A buffer shrinks after eight consecutive steps that need less than half of it, output capacity after 64 to 127,
    /// down to 65,536 rows.
    ///
    /// Uniform blocks and staging memory are not included.
    pub fn memory(&self) -> MemoryUse {
        MemoryUse::of(self.own_buffers().into_iter().flat_map(Buffers::sizes))
    }

    /// Number of dispatches recorded, for `broadphase bench`.
    #[doc(hidden)]
    pub fn dispatches(&self) -> u32 {
        self.session.pipelines.dispatches()
    }

    /// Number of pipelines created, for the command line.
    #[doc(hidden)]
    pub fn pipelines_made(&self) -> usize {
        self.session.pipelines.made()
    }

    /// The descriptor in use, without the label.
    pub fn descriptor(&self) -> BroadPhaseDescriptor<'_> {
        let filter = self.session.pipelines.replacement();
        BroadPhaseDescriptor {
            pair_filter: filter.map(|filter| &*filter.text),
            ..self.descriptor
        }
    }

    pub(crate) fn context(&self) -> &Arc<DeviceContext> {
        &self.session.context
    }

    /// True if the last recording was a step that finds pairs.
    pub(crate) fn emits_pairs(&self) -> bool {
        let (found, last) = (self.pairs.found.as_ref(), self.queries.last.as_ref());
        found
            .zip(last)
            .is_some_and(|(found, last)| found.counts.is_same(&last.counts))
    }

    /// Returns `true` if the last recording's walks were as short as possible.
    pub(crate) fn is_cut_smallest(&self) -> bool {
        let last = self.queries.last.as_ref();
        last.is_some_and(|last| WalkShrink::is_at_its_end(last.plan.rounds.shrink))
    }

    pub(crate) fn grows(&self) -> bool {
        self.descriptor.headroom().is_some()
    }

    pub(super) fn output(&self) -> Result<StepOutput, StepError> {
        let last = self.queries.last.as_ref().ok_or(StepError::NoStep)?;
        let pairs = self.pairs.found.as_ref().map(|found| &found.recording);
        self.queries
            .output(self.pairs.output(), last.recording.clone().reading(pairs))
    }
}

/// The descriptor as stored. The text of its filter is that of the pipelines.
fn kept(descriptor: &BroadPhaseDescriptor<'_>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        label: None,
        pair_filter: descriptor.pair_filter.map(|_| ""),
        ..*descriptor
    }
}

fn replacement(descriptor: &BroadPhaseDescriptor<'_>) -> Option<Replacement> {
    descriptor.pair_filter.map(|text| Replacement {
        path: pair_filter::REPLACED,
        text: text.to_owned(),
        switch: pairs::EXCLUDES,
    })
}

pub(super) fn constants(descriptor: &BroadPhaseDescriptor<'_>, class: DeviceClass) -> [(&'static str, f64); 8] {
    [
        ("SCHEME", f64::from(grid::scheme_number(descriptor.scheme))),
        ("FILTERS", descriptor.filters.into()),
        ("COUNT_CANDIDATES", descriptor.count_candidates.into()),
        ("WORLDS", descriptor.has_worlds().into()),
        ("PERIODIC", descriptor.periods.iter().any(|&period| period > 0.0).into()),
        ("STORES_IN_LOOP", (class != DeviceClass::Software).into()),
        ("SERIAL_SORT", (descriptor.sort == SortStrategy::SerialTiles).into()),
        ("DRIVER_CUTS_LOOPS", (class != DeviceClass::Hardware).into()),
    ]
}
