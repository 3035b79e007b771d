//! The step: the order of the stages, and what goes in and comes out.

use std::marker::PhantomData;

use crate::counters::{STATUS_ENTRIES, STATUS_HITS, STATUS_PAIRS, STATUS_RAY_CELLS, word};
use crate::descriptor::{self, BroadPhaseDescriptor, Growth, RayMode, Scheme};
use crate::error::{CreateError, StepError};
use crate::gpu::buffers::Buffers;
use crate::gpu::group::Group;
use crate::gpu::pass::Pipelines;
use crate::gpu::recorder::{Bound, Input, Recorder};
use crate::gpu::timing::Timing;
use crate::gpu::upload::{self, Block, Blocks, Uniforms};
use crate::plan::{self, DIGIT_BITS, Plan, Rows};
use crate::reference::blocks::{ScanParams, SortParams};
use crate::scene::{RAY_STRIDE, SWEPT_STRIDE, Scene, SceneRays};
use crate::shaders;
use crate::types::{Aabb, Ray, SweptRay};

/// Where the elements of a step lie.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Source<'a, T> {
    /// On the host; copied to the device as part of the step.
    Host(&'a [T]),
    /// In a buffer of the caller's, with the usage `STORAGE`, from its start on.
    Device {
        /// The buffer.
        buffer: &'a wgpu::Buffer,
        /// Elements in it.
        count: u32,
        /// What an element is.
        element: PhantomData<T>,
    },
}

impl<'a, T> Source<'a, T> {
    /// The first `count` elements of a buffer.
    pub const fn device(buffer: &'a wgpu::Buffer, count: u32) -> Self {
        Self::Device {
            buffer,
            count,
            element: PhantomData,
        }
    }

    /// Whether the elements lie in a buffer of the caller's that is to be bound.
    fn is_brought(&self) -> bool {
        matches!(self, Self::Device { count: 1.., .. })
    }

    fn count(&self) -> u64 {
        match self {
            Self::Host(elements) => elements.len() as u64,
            Self::Device { count, .. } => u64::from(*count),
        }
    }
}

impl<T> Default for Source<'_, T> {
    fn default() -> Self {
        Self::Host(&[])
    }
}

/// Where the rays of a step lie, and of which form they are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rays<'a> {
    /// Lines, cast in world 0: 32 bytes each.
    Plain(Source<'a, Ray>),
    /// Boxes swept along lines, with starts and worlds: 64 bytes each.
    Swept(Source<'a, SweptRay>),
}

impl Rays<'_> {
    fn count(&self) -> u64 {
        match self {
            Self::Plain(source) => source.count(),
            Self::Swept(source) => source.count(),
        }
    }

    fn is_brought(&self) -> bool {
        match self {
            Self::Plain(source) => source.is_brought(),
            Self::Swept(source) => source.is_brought(),
        }
    }

    /// Vectors of four words that a ray takes.
    const fn stride(&self) -> u32 {
        match self {
            Self::Plain(_) => RAY_STRIDE,
            Self::Swept(_) => SWEPT_STRIDE,
        }
    }
}

impl Default for Rays<'_> {
    fn default() -> Self {
        Self::Plain(Source::default())
    }
}

impl<'a> From<Source<'a, Ray>> for Rays<'a> {
    fn from(source: Source<'a, Ray>) -> Self {
        Self::Plain(source)
    }
}

impl<'a> From<Source<'a, SweptRay>> for Rays<'a> {
    fn from(source: Source<'a, SweptRay>) -> Self {
        Self::Swept(source)
    }
}

impl<'a> From<SceneRays<'a>> for Rays<'a> {
    fn from(rays: SceneRays<'a>) -> Self {
        match rays {
            SceneRays::Plain(rays) => Self::Plain(Source::Host(rays)),
            SceneRays::Swept(rays) => Self::Swept(Source::Host(rays)),
        }
    }
}

/// The input of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepInput<'a> {
    /// The boxes.
    pub objects: Source<'a, Aabb>,
    /// The world of each object; none with one world. An object whose world does not exist is invalid.
    pub worlds: Source<'a, u32>,
    /// The rays; none by default.
    pub rays: Rays<'a>,
}

impl<'a> From<&Scene<'a>> for StepInput<'a> {
    fn from(scene: &Scene<'a>) -> Self {
        Self {
            objects: Source::Host(scene.objects),
            worlds: Source::Host(scene.worlds),
            rays: scene.rays.into(),
        }
    }
}

/// The outputs of a step: buffers with the usages `STORAGE` and `COPY_SRC` that the caller's next pass can bind. The
/// next step may write into them or replace them.
#[derive(Clone, Copy, Debug)]
pub struct StepOutput<'s> {
    /// Pairs, two `u32` each, `a < b`; the first `min(needed, capacity)` are valid.
    pub pairs: Option<&'s wgpu::Buffer>,
    /// Several worlds: pairs of each, `u32`, modulo 2^32.
    pub world_pairs: Option<&'s wgpu::Buffer>,
    /// The counter words: see [`Counters`](crate::Counters).
    pub counters: &'s wgpu::Buffer,
    /// [`RayMode::All`]: offsets of each ray's hits, one more than rays, `u32`.
    pub ray_offsets: Option<&'s wgpu::Buffer>,
    /// [`RayMode::Closest`] and [`RayMode::All`]: hits, `object` as `u32` and `t` as `f32` each.
    pub ray_hits: Option<&'s wgpu::Buffer>,
    /// [`RayMode::Any`]: 1 for each ray that meets anything, else 0, `u32`.
    pub ray_any: Option<&'s wgpu::Buffer>,
    /// [`ray_cells`](BroadPhaseDescriptor::ray_cells): offsets of each ray's cells, one more than rays, `u32`.
    pub ray_cell_offsets: Option<&'s wgpu::Buffer>,
    /// [`ray_cells`](BroadPhaseDescriptor::ray_cells): the cells, see [`RayCell`](crate::RayCell); the first
    /// `min(needed, capacity)` are valid.
    pub ray_cells: Option<&'s wgpu::Buffer>,
    /// The cell table: the first entry of each cell, `u32`.
    pub cell_starts: &'s wgpu::Buffer,
    /// The sorted entries: the object of each, bit 31 set where the cell is that of the object's lower corner.
    pub entries: &'s wgpu::Buffer,
    /// The boxes as ordered integers, see [`grid::Record`](crate::grid::Record): with [`Scheme::Hierarchical`] in the order
    /// of the entries, with [`Scheme::Uniform`] in that of the objects.
    pub records: &'s wgpu::Buffer,
    /// The levels: see [`grid::Grid`](crate::grid::Grid).
    pub grid: &'s wgpu::Buffer,
    /// Pairs that fit.
    pub pair_capacity: u32,
    /// Hits that fit.
    pub hit_capacity: u32,
    /// Cells of rays that fit.
    pub ray_cell_capacity: u32,
}

/// From which place on each output of the last step is shown: see [`GpuBroadPhase::window`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Place of the first pair.
    pub pairs: u32,
    /// Place of the first hit ([`RayMode::All`]).
    pub hits: u32,
    /// Place of the first cell of a ray ([`ray_cells`](BroadPhaseDescriptor::ray_cells)).
    pub ray_cells: u32,
}

/// What was recorded last.
pub(crate) struct Recorded {
    pub plan: Plan,
    inputs: Vec<Input>,
    sorted: Sorted,
}

/// Which of the two key and value buffers hold the sorted entries.
#[derive(Clone, Copy)]
struct Sorted {
    keys: &'static str,
    values: &'static str,
}

impl Sorted {
    const SIDES: [Self; 2] = [
        Self {
            keys: "keys_0",
            values: "values_0",
        },
        Self {
            keys: "keys_1",
            values: "values_1",
        },
    ];

    /// How the passes that read entries name them.
    fn names(self) -> [(&'static str, Bound<'static>); 2] {
        [
            ("keys", Bound::Buffer(self.keys)),
            ("values", Bound::Buffer(self.values)),
        ]
    }
}

/// A broad phase on a device of the caller's.
pub struct GpuBroadPhase {
    label: String,
    descriptor: BroadPhaseDescriptor<'static>,
    pipelines: Pipelines,
    pub(crate) buffers: Buffers,
    pub(crate) timing: Option<Timing>,
    /// What read-backs have shown to be needed.
    pub(crate) wanted: Rows,
    pub(crate) recorded: Option<Recorded>,
}

/// The uniform blocks of a step.
struct StepBlocks {
    params: Block,
    scan_sort: Block,
    scan_entries: Block,
    scan_pairs: Block,
    scan_hits: Block,
    scan_ray_cells: Block,
    sort: Vec<Block>,
}

impl StepBlocks {
    fn write(device: &wgpu::Device, queue: &wgpu::Queue, label: &str, plan: &Plan) -> (Self, Uniforms) {
        let params = &plan.params;
        let mut blocks = Blocks::new(device);
        let mut scan = |count, total_word: usize, capacity, status_bit| {
            blocks.push(&ScanParams {
                count,
                total_word: total_word as u32,
                capacity,
                status_bit,
            })
        };
        let scan_sort = scan(plan.digit_counts(), word::SORT_TOTAL, u32::MAX, 0);
        let scan_entries = scan(
            params.object_count,
            word::ENTRIES_NEEDED,
            params.entry_capacity,
            STATUS_ENTRIES,
        );
        let scan_pairs = scan(
            params.entry_capacity + 1,
            word::PAIRS_NEEDED,
            params.pair_capacity,
            STATUS_PAIRS,
        );
        let scan_hits = scan(
            params.ray_count + 1,
            word::HITS_NEEDED,
            params.hit_capacity,
            STATUS_HITS,
        );
        let scan_ray_cells = scan(
            params.ray_count + 1,
            word::RAY_CELLS_NEEDED,
            params.ray_cell_capacity,
            STATUS_RAY_CELLS,
        );
        let sort = (0..plan.digits())
            .map(|digit| {
                blocks.push(&SortParams {
                    shift: digit * DIGIT_BITS,
                    tiles: plan.sort_tiles(),
                })
            })
            .collect();
        let params = blocks.push(params);
        let step_blocks = Self {
            params,
            scan_sort,
            scan_entries,
            scan_pairs,
            scan_hits,
            scan_ray_cells,
            sort,
        };
        (step_blocks, blocks.finish(device, queue, label))
    }
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
        wgpu::Features::TIMESTAMP_QUERY
    }

    /// Makes the pipelines that every step with this descriptor needs; those of optional inputs are made when they are first
    /// used. Buffers come with the first step.
    ///
    /// # Errors
    /// [`CreateError::Descriptor`] for a descriptor that cannot work, [`CreateError::Limit`] for a device whose limits
    /// are below [`required_limits`](Self::required_limits).
    pub fn new(device: &wgpu::Device, descriptor: &BroadPhaseDescriptor<'_>) -> Result<Self, CreateError> {
        descriptor::validate(descriptor)?;
        let mut missing = None;
        Self::required_limits().check_limits_with_fail_fn(&device.limits(), true, |limit, needed, available| {
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
        let constants = [
            ("FILTERS", descriptor.filters),
            ("COUNT_CANDIDATES", descriptor.count_candidates),
        ];
        let pipelines = Pipelines::new(label, &constants);
        pipelines.make(
            device,
            shaders::passes().filter(|pass| is_sure_to_run(descriptor, pass.name)),
        );
        Ok(Self {
            pipelines,
            buffers: Buffers::new(label),
            timing: descriptor.timestamps.then(|| Timing::new(device, label)).flatten(),
            wanted: Rows::default(),
            recorded: None,
            label: label.to_owned(),
            descriptor: BroadPhaseDescriptor {
                label: None,
                ..*descriptor
            },
        })
    }

    /// Records a step: finds the pairs and the hits of the input once the encoder is submitted. Never submits, waits or
    /// reads back. Several steps may be recorded into one encoder; each sees its own input.
    ///
    /// # Errors
    /// [`StepError`] where the input does not fit the device or a buffer of the caller cannot be used. Nothing is
    /// recorded then.
    pub fn step<'s>(
        &'s mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        input: StepInput<'_>,
    ) -> Result<StepOutput<'s>, StepError> {
        let group = Group::begin(device, encoder, &self.label);
        let counted = self.record_counts(device, queue, encoder, input);
        if counted.is_ok() {
            self.record_outputs(device, queue, encoder, true);
        }
        group.end(encoder);
        let plan = counted?;
        Ok(self.output(&plan))
    }

    /// Records a step up to the counts of pairs and hits; [`record_outputs`](Self::record_outputs) does the rest, once
    /// the outputs are known to be large enough or not.
    pub(crate) fn record_counts(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        input: StepInput<'_>,
    ) -> Result<Plan, StepError> {
        check_source("objects", &input.objects)?;
        check_source("worlds", &input.worlds)?;
        match &input.rays {
            Rays::Plain(source) => check_source("rays", source)?,
            Rays::Swept(source) => check_source("rays", source)?,
        }
        plan::check_worlds(&self.descriptor, input.worlds.count(), input.objects.count())?;
        let plan = Plan::new(
            &self.descriptor,
            input.objects.count(),
            input.rays.count(),
            input.rays.stride(),
            self.wanted,
            plan::binding_limit(&device.limits()),
        )?;
        let objects = if plan.prepares { "given_objects" } else { "objects" };
        let mut brought = Vec::new();
        let mut note = |name, is_brought| brought.extend(Some(name).filter(|_| is_brought));
        note(objects, input.objects.is_brought());
        note("worlds", input.worlds.is_brought());
        note("rays", input.rays.is_brought());
        self.buffers.fit(device, &plan, &brought);

        let mut inputs = vec![self.place(device, encoder, objects, input.objects)];
        if plan.has_worlds() {
            inputs.push(self.place(device, encoder, "worlds", input.worlds));
        }
        if plan.params.ray_count > 0 {
            inputs.push(match input.rays {
                Rays::Plain(source) => self.place(device, encoder, "rays", source),
                Rays::Swept(source) => self.place(device, encoder, "rays", source),
            });
        }
        let (blocks, uniforms) = StepBlocks::write(device, queue, &self.label, &plan);
        if let Some(timing) = &mut self.timing {
            timing.begin_step();
        }
        let mut recorder = Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            buffers: &self.buffers,
            uniforms: &uniforms,
            params: blocks.params,
            inputs: &inputs,
            timing: self.timing.as_mut(),
            label: &self.label,
        };
        let sorted = record_table(&mut recorder, &plan, &blocks);
        if plan.pairs {
            recorder.stage("pair_count", |stage| {
                let pass = by_scheme(&plan, &shaders::PAIR_COUNT_ONE_CELL, &shaders::PAIR_COUNT_COVERED);
                stage.run(pass, plan.params.entry_capacity + 1, &sorted.names());
            });
            if plan.has_worlds() {
                recorder.clear("world_pairs");
                recorder.stage("world_pairs", |stage| {
                    stage.run(&shaders::WORLD_PAIRS, plan.params.entry_capacity, &sorted.names());
                });
            }
            recorder.stage("pair_scan", |stage| {
                stage.scan("pair_offsets", plan.params.entry_capacity + 1, blocks.scan_pairs);
            });
        }
        if plan.params.ray_count > 0 && plan.ray_mode == RayMode::All {
            recorder.stage("ray_count", |stage| {
                let pass = by_scheme(&plan, &shaders::RAY_COUNT_ONE_CELL, &shaders::RAY_COUNT_COVERED);
                stage.run(pass, plan.params.ray_count + 1, &sorted.names());
            });
            recorder.stage("ray_scan", |stage| {
                stage.scan("ray_offsets", plan.params.ray_count + 1, blocks.scan_hits);
            });
        }
        if plan.ray_cells {
            recorder.stage("ray_cells_count", |stage| {
                stage.run(&shaders::RAY_CELLS_COUNT, plan.params.ray_count + 1, &[]);
                stage.scan("ray_cell_offsets", plan.params.ray_count + 1, blocks.scan_ray_cells);
            });
        }
        if let Some(timing) = &self.timing {
            timing.resolve(encoder);
        }

        self.recorded = Some(Recorded { plan, inputs, sorted });
        Ok(plan)
    }

    /// Records the writing of pairs and hits as the last plan says; `first` after the counts were taken, when stages are
    /// timed and what has no windows, one answer a ray, is found.
    fn record_outputs(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        first: bool,
    ) {
        let Some(recorded) = &self.recorded else {
            return;
        };
        let (blocks, uniforms) = StepBlocks::write(device, queue, &self.label, &recorded.plan);
        let mut recorder = Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            buffers: &self.buffers,
            uniforms: &uniforms,
            params: blocks.params,
            inputs: &recorded.inputs,
            timing: self.timing.as_mut().filter(|_| first),
            label: &self.label,
        };
        record_emit(&mut recorder, &recorded.plan, recorded.sorted, first);
        if let Some(timing) = self.timing.as_ref().filter(|_| first) {
            timing.resolve(encoder);
        }
    }

    /// Records a further look at the last step's answer: the pairs, hits and cells of rays from the places of `first` on,
    /// as many as fit, into the same buffers. This is how an answer larger than one binding is taken in
    /// chunks. The table of the last step is used as it is, and a caller's buffers of that step have to hold what they held
    /// then. [`RayMode::Closest`] and [`RayMode::Any`] stay as they are. The status word goes on to speak of the step's own buffers.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step; otherwise as [`step`](Self::step).
    pub fn window<'s>(
        &'s mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        first: Window,
    ) -> Result<StepOutput<'s>, StepError> {
        let group = Group::begin(device, encoder, &self.label);
        let recorded = self.record_window(device, queue, encoder, first, false);
        group.end(encoder);
        let plan = recorded?;
        Ok(self.output(&plan))
    }

    /// As [`window`](Self::window); `after_counts` right after [`record_counts`](Self::record_counts).
    pub(crate) fn record_window(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        first: Window,
        after_counts: bool,
    ) -> Result<Plan, StepError> {
        let recorded = self.recorded.as_mut().ok_or(StepError::NoStep)?;
        // The table keeps the sizes that it was built with.
        let mut plan = recorded.plan;
        plan.fit_outputs(&self.descriptor, self.wanted, plan::binding_limit(&device.limits()));
        plan.params.first_pair = first.pairs;
        plan.params.first_hit = first.hits;
        plan.params.first_ray_cell = first.ray_cells;
        recorded.plan = plan;
        self.buffers.fit(device, &plan, &["objects", "rays"]);
        self.record_outputs(device, queue, encoder, after_counts);
        Ok(plan)
    }

    /// Bytes of the buffers that the broad phase owns.
    pub fn memory(&self) -> u64 {
        self.buffers.bytes()
    }

    /// What the broad phase was made from.
    pub const fn descriptor(&self) -> &BroadPhaseDescriptor<'static> {
        &self.descriptor
    }

    /// Whether a read-back may make room for what the last step needed.
    pub(crate) fn grows(&self) -> bool {
        self.descriptor.growth == Growth::Grow
    }

    /// Where a source lies: a buffer of the caller's, or the broad phase's own, which host data is copied to.
    fn place<T: bytemuck::Pod>(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        name: &'static str,
        source: Source<'_, T>,
    ) -> Input {
        let buffer = match source {
            Source::Device { buffer, count: 1.., .. } => buffer.clone(),
            Source::Device { .. } => self.buffers.get(name).clone(),
            Source::Host(elements) => {
                let own = self.buffers.get(name);
                if !elements.is_empty() {
                    let bytes = bytemuck::cast_slice(elements);
                    let label = format!("{}/{name}_upload", self.label);
                    let upload = upload::staged(device, &label, bytes);
                    encoder.copy_buffer_to_buffer(&upload, 0, own, 0, bytes.len() as u64);
                }
                own.clone()
            }
        };
        Input {
            name,
            buffer,
            bytes: source.count() * size_of::<T>() as u64,
        }
    }

    fn output(&self, plan: &Plan) -> StepOutput<'_> {
        let has_rays = plan.params.ray_count > 0;
        StepOutput {
            pairs: plan.pairs.then(|| self.buffers.get("pairs")),
            world_pairs: (plan.pairs && plan.has_worlds()).then(|| self.buffers.get("world_pairs")),
            counters: self.buffers.get("counters"),
            ray_offsets: (has_rays && plan.ray_mode == RayMode::All).then(|| self.buffers.get("ray_offsets")),
            ray_hits: (has_rays && plan.ray_mode != RayMode::Any).then(|| self.buffers.get("ray_hits")),
            ray_any: (has_rays && plan.ray_mode == RayMode::Any).then(|| self.buffers.get("ray_any")),
            ray_cell_offsets: plan.ray_cells.then(|| self.buffers.get("ray_cell_offsets")),
            ray_cells: plan.ray_cells.then(|| self.buffers.get("ray_cells")),
            cell_starts: self.buffers.get("starts"),
            entries: self.buffers.get(
                self.recorded
                    .as_ref()
                    .map_or(Sorted::SIDES[0], |last| last.sorted)
                    .values,
            ),
            records: self.buffers.get("records"),
            grid: self.buffers.get("grid"),
            pair_capacity: plan.params.pair_capacity,
            hit_capacity: plan.params.hit_capacity,
            ray_cell_capacity: plan.params.ray_cell_capacity,
        }
    }
}

/// From objects to sorted entries and their cell table.
fn record_table(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks) -> Sorted {
    let objects = plan.params.object_count;
    let entries = plan.params.entry_capacity;
    for accumulated in [
        "size_statistics",
        "density",
        "density_slots",
        "level_statistics",
        "counters",
        "grid",
    ] {
        recorder.clear(accumulated);
    }
    if plan.prepares {
        recorder.stage("prepare", |stage| stage.run(&shaders::PREPARE, objects, &[]));
    }
    if plan.is_hierarchical() {
        recorder.stage("statistics", |stage| {
            stage.run(&shaders::SIZE_STATISTICS, objects, &[]);
            stage.run(&shaders::DENSITY, plan.params.sample_count, &[]);
            stage.run_groups(&shaders::BASE_CELL, 1, &[]);
        });
    }
    recorder.stage("levels", |stage| {
        stage.run(&shaders::LEVEL_STATISTICS, objects, &[]);
        stage.run_groups(&shaders::LAYOUT, 1, &[]);
    });
    let unsorted = Sorted::SIDES[0];
    recorder.stage("entries", |stage| {
        if plan.is_uniform() {
            stage.run(&shaders::ENTRY_COUNT, objects, &[]);
            stage.scan("entry_offsets", objects, blocks.scan_entries);
            stage.run(&shaders::ENTRY_EMIT, objects, &unsorted.names());
        } else {
            stage.run(&shaders::KEYS, objects, &unsorted.names());
        }
    });
    let mut sorted = unsorted;
    recorder.stage("sort", |stage| {
        for (digit, &block) in blocks.sort.iter().enumerate() {
            let next = Sorted::SIDES[(digit + 1) % 2];
            let names = [
                ("sort", Bound::Block(block)),
                ("keys", Bound::Buffer(sorted.keys)),
                ("values", Bound::Buffer(sorted.values)),
                ("sorted_keys", Bound::Buffer(next.keys)),
                ("sorted_values", Bound::Buffer(next.values)),
            ];
            stage.run_groups(&shaders::SORT_HISTOGRAM, plan.sort_tiles(), &names);
            stage.scan("digit_counts", plan.digit_counts(), blocks.scan_sort);
            stage.run_groups(&shaders::SORT_SCATTER, plan.sort_tiles(), &names);
            sorted = next;
        }
    });
    recorder.stage("cells", |stage| {
        stage.run(&shaders::CELL_STARTS, entries + 1, &sorted.names());
    });
    recorder.stage("gather", |stage| {
        stage.run(&shaders::GATHER, objects, &sorted.names());
    });
    sorted
}

/// From the table and the offsets to pairs and hits.
fn record_emit(recorder: &mut Recorder<'_>, plan: &Plan, sorted: Sorted, first: bool) {
    if plan.pairs {
        recorder.stage("pair_emit", |stage| {
            let pass = by_scheme(plan, &shaders::PAIR_EMIT_ONE_CELL, &shaders::PAIR_EMIT_COVERED);
            stage.run(pass, plan.params.entry_capacity, &sorted.names());
        });
    }
    let rays = plan.params.ray_count;
    match plan.ray_mode {
        _ if rays == 0 => {}
        RayMode::Closest | RayMode::Any if !first => {}
        RayMode::Closest => recorder.stage("ray_closest", |stage| {
            let pass = by_scheme(plan, &shaders::RAY_CLOSEST_ONE_CELL, &shaders::RAY_CLOSEST_COVERED);
            stage.run(pass, rays, &sorted.names());
        }),
        RayMode::Any => recorder.stage("ray_any", |stage| {
            let pass = by_scheme(plan, &shaders::RAY_ANY_ONE_CELL, &shaders::RAY_ANY_COVERED);
            stage.run(pass, rays, &sorted.names());
        }),
        RayMode::All => recorder.stage("ray_emit", |stage| {
            let pass = by_scheme(plan, &shaders::RAY_EMIT_ONE_CELL, &shaders::RAY_EMIT_COVERED);
            stage.run(pass, rays, &sorted.names());
        }),
    }
    if plan.ray_cells {
        recorder.stage("ray_cells_emit", |stage| {
            stage.run(&shaders::RAY_CELLS_EMIT, rays, &[]);
        });
    }
}

fn by_scheme(plan: &Plan, one_cell: &'static shaders::Pass, covered: &'static shaders::Pass) -> &'static shaders::Pass {
    if plan.is_uniform() { covered } else { one_cell }
}

/// Whether every step with this descriptor runs the pass.
fn is_sure_to_run(descriptor: &BroadPhaseDescriptor<'_>, pass: &str) -> bool {
    let other_scheme = match descriptor.scheme {
        Scheme::Hierarchical | Scheme::Adaptive { .. } => "_covered",
        Scheme::Uniform { .. } => "_one_cell",
    };
    if pass.ends_with(other_scheme) {
        return false;
    }
    match pass {
        "size_statistics" | "density" | "base_cell" => descriptor.scheme == Scheme::Hierarchical,
        "entry_count" | "entry_emit" => matches!(descriptor.scheme, Scheme::Uniform { .. }),
        "keys" => !matches!(descriptor.scheme, Scheme::Uniform { .. }),
        "prepare" => plan::prepares(descriptor),
        "scatter" => false,
        "world_pairs" => descriptor.pairs && descriptor.worlds > 1,
        _ if pass.starts_with("pair_") => descriptor.pairs,
        _ => !pass.starts_with("ray_"),
    }
}

fn check_source<T>(what: &'static str, source: &Source<'_, T>) -> Result<(), StepError> {
    if let Source::Device { buffer, count, .. } = source {
        if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(StepError::Usage { what });
        }
        let needed = u64::from(*count) * size_of::<T>() as u64;
        if buffer.size() < needed {
            return Err(StepError::BufferTooSmall {
                what,
                needed,
                available: buffer.size(),
            });
        }
    }
    Ok(())
}
