//! The step: the order of the stages, and what goes in and comes out.

use crate::api::counters::{STATUS_ENTRIES, STATUS_HITS, STATUS_PAIRS, STATUS_RAY_CELLS, STATUS_RESULTS, word};
use crate::api::descriptor::{self, BroadPhaseDescriptor, Growth, PairOrder, RayMode, Scheme, SortStrategy};
use crate::api::error::{CreateError, StepError};
use crate::api::input::{self, DeviceCount, Queries, QueryInput, Rays, Source, Statics, StepInput};
use crate::api::memory::MemoryUse;
use crate::api::queries::asking;
use crate::api::scene::SWEPT_STRIDE;
use crate::api::types::{Aabb, Pair, RayHit, Window};
use crate::gpu::bindings::{Bindings, Range};
use crate::gpu::buffers::Buffers;
use crate::gpu::group::Group;
use crate::gpu::home::Home;
use crate::gpu::pass::Pipelines;
use crate::gpu::recorder::{self, Bound, Input, Recorder, SUBMISSION_ROUNDS, Stage};
use crate::gpu::scope::{Caught, Scopes};
use crate::gpu::staging::Staging;
use crate::gpu::timing::Timing;
use crate::gpu::upload::{Block, Blocks, Uniforms};
use crate::shaders;
use crate::shared::blocks::{LimitParams, Round, ScanParams, SortParams};
use crate::shared::grid::{self, Params};
use crate::shared::submission::{self, Recording, Recordings};
use crate::stages::sorted::Sorted;
use crate::stages::statics::{self, STATIC_INPUTS, StaticTable};
use crate::step::output::{StepOutput, TABLE_BINDINGS, Table, table_kind};
use crate::step::plan::{self, COVER_TILE, LEVEL_TILE, LateNeeds, Needs, OF_STEP, Plan, STATIC_PARTNERS_KEPT};
use crate::step::walk_shrink::WalkShrink;
use crate::step::watch::Watch;

/// Inputs that the table was built from, and the static objects' table.
const OF_TABLE: [&str; 7] = {
    let [grid, records, starts, values] = STATIC_INPUTS;
    ["objects", "given_objects", "worlds", grid, records, starts, values]
};

/// Whether a recording's stages are timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    Anew,
    /// Behind those of the recording before.
    On,
    Not,
}

/// What a step needs to know of the static objects' table.
struct StaticState {
    /// How the step's own stages are timed.
    timed: Timed,
    /// What building the table counted.
    counters: wgpu::Buffer,
}

/// Walks that one ray or query takes part in, at most, and the object that asks for its neighbours.
const MAX_TABLES: usize = 3;

/// What was recorded last.
pub(crate) struct Recorded {
    pub plan: Plan,
    inputs: Vec<Input>,
    sorted: Sorted,
    /// Whether pairs are written with the rest; else they stand from an earlier step.
    pub emits_pairs: bool,
    /// Where the uniform blocks of walks of the objects' table and of the static ones' lie.
    blocks: [Range; 2],
    /// The step, whose table queries ask. This and the next two are `None` while they are under way.
    step: Option<Recording>,
    /// The step or query whose counts windows start from.
    counts: Option<Recording>,
    /// What wrote the outputs.
    pub outputs: Option<Recording>,
}

impl Recorded {
    /// Whether what was recorded last can be read.
    pub fn is_submitted(&self) -> bool {
        self.outputs.as_ref().is_some_and(Recording::is_submitted)
    }

    /// Whether that will never be so.
    pub fn is_lost(&self) -> bool {
        self.outputs.as_ref().is_some_and(Recording::is_lost)
    }
}

/// A broad phase on a device of the caller's.
pub struct GpuBroadPhase {
    label: String,
    descriptor: BroadPhaseDescriptor<'static>,
    pipelines: Pipelines,
    pub(crate) buffers: Buffers,
    bindings: Bindings,
    /// What read-backs are copied to.
    pub(crate) readings: Staging,
    /// What data of the host is copied from.
    uploads: Staging,
    pub(crate) timing: Option<Timing>,
    /// What read-backs have shown to be needed, with head room.
    pub(crate) wanted: Needs,
    /// What late read-backs have shown to be needed.
    pub(crate) late: LateNeeds,
    /// What the last step that was read back needed, where that is more than the descriptor's own sizes.
    pub(crate) needed: Needs,
    pub(crate) walk_shrink: WalkShrink,
    pub(crate) home: Home,
    recordings: Recordings,
    /// What the recording under way builds on.
    needs: Vec<Recording>,
    pub(crate) lost: bool,
    pub(crate) caught: Caught,
    pub(crate) watch: Watch,
    pub(crate) recorded: Option<Recorded>,
    pub(crate) statics: Option<StaticTable>,
    /// Whether a long recording may be submitted in parts, in encoders that take the place of the caller's.
    pub(crate) splits_submissions: bool,
}

/// A round of the walks of rays or queries.
struct WalkRound {
    params: Block,
    round: Block,
    /// Which table is walked.
    table: Part,
    /// Where objects ask: which ones.
    askers: Part,
    /// How many rays, queries or objects ask.
    walks: u32,
    /// Whether it is the first round of its table.
    is_first: bool,
}

/// The two parts that objects may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Moving,
    Static,
}

impl WalkRound {
    /// What the passes bind, where the moving objects' entries lie as sorted.
    fn names(&self, plan: &Plan, sorted: Sorted) -> Vec<(&'static str, Bound<'static>)> {
        let mut names = vec![
            ("params", Bound::Block(self.params)),
            ("round", Bound::Block(self.round)),
        ];
        if plan.params.asking != asking::NOBODY {
            let records = match self.askers {
                Part::Moving => "records",
                Part::Static => statics::RECORDS,
            };
            names.push(("queries", Bound::Buffer(records)));
        }
        if plan.params.ray_count > 0 {
            // Any buffer will do where rays are walked as they come.
            let order = if plan.sorts_rays() {
                rays_sorted(plan).values
            } else {
                "starts"
            };
            names.push(("walk_order", Bound::Buffer(order)));
        }
        match self.table {
            Part::Moving => names.extend(sorted.names()),
            Part::Static => names.extend(statics::names()),
        }
        names
    }
}

/// The uniform blocks of a step.
struct StepBlocks {
    params: Block,
    /// Of walks of the static objects' table.
    static_params: Block,
    scan_entries: Block,
    scan_pairs: Block,
    scan_hits: Block,
    scan_ray_cells: Block,
    scan_results: Block,
    sort: Vec<Digit>,
    ray_sort: Vec<Digit>,
    pair_rounds: Vec<Block>,
    pair_emit_rounds: Vec<Block>,
    static_pair_rounds: Vec<Block>,
    ray_rounds: Vec<WalkRound>,
    query_rounds: Vec<WalkRound>,
    /// Rays that are given, where the device says how many of them are cast.
    ray_limit: Option<(u32, Block)>,
    /// The same of queries.
    query_limit: Option<(u32, Block)>,
    /// How many values the keys of outputs may have, and their digits.
    order: [(u32, Vec<Digit>); 3],
}

/// A digit of a sort.
#[derive(Clone, Copy)]
struct Digit {
    sort: SortParams,
    block: Block,
}

impl StepBlocks {
    fn write(device: &wgpu::Device, bindings: &mut Bindings, label: &str, plan: &Plan) -> (Self, Uniforms) {
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
        let scan_entries = scan(
            plan.entry_counts(),
            word::ENTRIES_NEEDED,
            params.entry_capacity,
            STATUS_ENTRIES,
        );
        let scan_pairs = scan(
            params.pair_rows + 1,
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
        let scan_results = scan(
            params.query_count + 1,
            word::RESULTS_NEEDED,
            params.result_capacity,
            STATUS_RESULTS,
        );
        let mut digits = |digits: Vec<SortParams>| {
            let digits = digits.into_iter().map(|sort| Digit {
                block: blocks.push(&sort),
                sort,
            });
            digits.collect()
        };
        let sort = digits(plan.digits());
        let ray_sort = digits(plan.ray_digits());
        let order = plan.order_keys().map(|count| (count, digits(plan.order_digits(count))));
        let mut rounds = |walks, kept| {
            let rounds = plan.rounds_of(walks, 1, kept);
            rounds.map(|round| blocks.push(&round)).collect()
        };
        let pair_rounds = rounds(params.entry_capacity, params.partners_kept);
        let static_pair_rounds = rounds(params.object_count, STATIC_PARTNERS_KEPT);
        let pair_emit_rounds = plan.pair_emit_rounds().map(|round| blocks.push(&round)).collect();
        let ray_rounds = walk_rounds(&mut blocks, plan, params.ray_count, 1, params.hits_kept, false);
        // Nearest objects are kept in order.
        let query_rounds = walk_rounds(
            &mut blocks,
            plan,
            params.query_count,
            params.nearest + 1,
            params.nearest,
            params.asking != asking::NOBODY,
        );
        let mut limit = |limit: Option<LimitParams>| limit.map(|limit| (limit.rows, blocks.push(&limit)));
        let (ray_limit, query_limit) = (limit(plan.ray_limit), limit(plan.query_limit));
        let static_params = blocks.push(&of_statics(params));
        let params = blocks.push(params);
        let step_blocks = Self {
            params,
            static_params,
            scan_entries,
            scan_pairs,
            scan_hits,
            scan_ray_cells,
            scan_results,
            sort,
            ray_sort,
            pair_rounds,
            pair_emit_rounds,
            static_pair_rounds,
            ray_rounds,
            query_rounds,
            ray_limit,
            query_limit,
            order,
        };
        (step_blocks, blocks.finish(device, bindings, label))
    }
}

/// The block of a step for walks of its static objects' table.
fn of_statics(params: &Params) -> Params {
    Params {
        object_count: params.static_count,
        first_object: 0,
        ..*params
    }
}

/// The rounds of so many rays or queries: of all tables that each walks, one table after the other. Where objects ask,
/// static ones walk the table of the moving ones alone. A test takes up to `test_turns` turns of a loop.
fn walk_rounds(
    blocks: &mut Blocks,
    plan: &Plan,
    count: u32,
    test_turns: u32,
    kept: u32,
    is_asking: bool,
) -> Vec<WalkRound> {
    let own = plan.params;
    let asked_by_statics = Params {
        asker_count: own.static_count,
        ..own
    };
    let (has_statics, moving, statics) = (plan.has_statics(), Part::Moving, Part::Static);
    let by_moving = if is_asking { own.object_count } else { count };
    let mut walks = vec![(own, moving, moving, by_moving, [false, has_statics])];
    if has_statics {
        walks.push((of_statics(&own), statics, moving, by_moving, [true, false]));
        if is_asking {
            walks.push((asked_by_statics, moving, statics, own.static_count, [false, false]));
        }
    }
    let mut all = Vec::new();
    for (params, table, askers, walks, [continues, is_continued]) in walks {
        let params = blocks.push(&params);
        let rounds = plan.rounds_of(walks, test_turns, kept).enumerate();
        all.extend(rounds.map(|(index, round)| WalkRound {
            params,
            round: blocks.push(&Round {
                continues: continues.into(),
                is_continued: is_continued.into(),
                ..round
            }),
            table,
            askers,
            walks,
            is_first: index == 0,
        }));
    }
    all
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
        wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP
    }

    /// What to ask an adapter for where the device is made for the broad phase:
    /// [`required_limits`](Self::required_limits) with bindings and buffers as large as the adapter has them, and those
    /// of [`optional_features`](Self::optional_features) that it has. A renderer joins them to what it asks for itself,
    /// as the [guide](crate::guide) shows: this asks for nothing that drawing needs, and for no textures above 2,048
    /// pixels a side.
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

    /// Makes the pipelines that every step with this descriptor needs; those of optional inputs are made when they are
    /// first used. Buffers come with the first step.
    ///
    /// # Errors
    /// [`CreateError::Descriptor`] for a descriptor that cannot work, [`CreateError::Limit`] for a device whose limits
    /// are below [`required_limits`](Self::required_limits), [`CreateError::Device`] where the
    /// device refuses the pipelines, [`CreateError::DeviceLost`] where it is lost.
    pub fn new(device: &wgpu::Device, descriptor: &BroadPhaseDescriptor<'_>) -> Result<Self, CreateError> {
        Self::create(device, descriptor, None)
    }

    /// As [`new`](Self::new), with a cache of compiled pipelines of the caller's: those of this broad phase are looked
    /// up there and put there, now and when they are first used. Where the cache comes from, what it holds and when it
    /// is saved is the caller's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_pipeline_cache(
        device: &wgpu::Device,
        descriptor: &BroadPhaseDescriptor<'_>,
        cache: &wgpu::PipelineCache,
    ) -> Result<Self, CreateError> {
        Self::create(device, descriptor, Some(cache))
    }

    fn create(
        device: &wgpu::Device,
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
        let label = descriptor.label.unwrap_or("gpu_broad_phase");
        let constants = constants(descriptor);
        let descriptor = &BroadPhaseDescriptor {
            sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
            ..*descriptor
        };
        plan::check_smallest_step(descriptor, plan::binding_limit(&device.limits()))?;
        let scopes = Scopes::begin(device);
        let pipelines = Pipelines::new(label, &constants, cache.cloned());
        pipelines.make(
            device,
            shaders::passes().filter(|pass| is_sure_to_run(descriptor, pass.name)),
        );
        let timing = descriptor.timestamps.then(|| Timing::new(device, label)).flatten();
        let mut caught = scopes.end();
        if let Some(error) = caught.now() {
            return Err(CreateError::Device(error));
        }
        let recordings = Recordings::new(device);
        Ok(Self {
            watch: Watch::new(recordings.beside()),
            home: Home::new(device),
            recordings,
            needs: Vec::new(),
            pipelines,
            buffers: Buffers::new(label),
            bindings: Bindings::default(),
            readings: Staging::readings(),
            uploads: Staging::uploads(),
            timing,
            wanted: Needs::default(),
            late: LateNeeds::default(),
            needed: Needs::default(),
            walk_shrink: WalkShrink::default(),
            lost: false,
            caught,
            recorded: None,
            statics: None,
            splits_submissions: false,
            label: label.to_owned(),
            descriptor: BroadPhaseDescriptor {
                label: None,
                ..*descriptor
            },
        })
    }

    /// Takes another descriptor in place of the one that this was made from, and makes pipelines anew only where they
    /// depend on it. No part of the interface: tests look at thousands of descriptors, and each would cost its
    /// pipelines.
    ///
    /// # Errors
    /// As [`new`](Self::new): this stays as it was.
    #[doc(hidden)]
    pub fn redescribe(
        &mut self,
        device: &wgpu::Device,
        descriptor: &BroadPhaseDescriptor<'_>,
    ) -> Result<(), CreateError> {
        let is_alike =
            constants(descriptor) == constants(&self.descriptor) && descriptor.timestamps == self.descriptor.timestamps;
        if !is_alike {
            let splits_submissions = self.splits_submissions;
            *self = Self::new(device, descriptor)?;
            self.splits_submissions = splits_submissions;
            return Ok(());
        }
        descriptor::validate(descriptor)?;
        plan::check_smallest_step(descriptor, plan::binding_limit(&device.limits()))?;
        self.recorded = None;
        self.descriptor = BroadPhaseDescriptor {
            label: None,
            sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
            ..*descriptor
        };
        Ok(())
    }

    /// Records a step: finds the pairs and the hits of the input once the encoder is submitted. Never submits, waits or
    /// reads back. Several steps may be recorded into one encoder; each sees its own input.
    ///
    /// # Errors
    /// [`StepError`] where the input does not fit the device or a buffer of the caller cannot be used: nothing is
    /// recorded then, and the last step can still be read. [`StepError::OtherDevice`] where the device or the queue is
    /// another one than before; an encoder does not say whose it is, and one of another device fails when it is
    /// finished. [`StepError::Device`] where the device itself refuses a buffer and [`StepError::DeviceLost`] where it
    /// is lost: the encoder has to be dropped.
    pub fn step<'s>(
        &'s mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        input: StepInput<'_>,
    ) -> Result<StepOutput<'s>, StepError> {
        self.guarded(device, queue, encoder, |this, encoder| {
            this.record_counts(device, queue, encoder, input)?;
            this.record_outputs(device, queue, encoder, true);
            Ok(())
        })?;
        self.output()
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
        input::check("objects", &input.objects)?;
        input::check("worlds", &input.worlds)?;
        let limit = plan::binding_limit(&device.limits());
        input::check_limit("the object limit", input.object_limit, limit)?;
        input::check("static objects", &input.statics.objects)?;
        input::check("worlds of static objects", &input.statics.worlds)?;
        let asked = input.asked();
        check_asked(&asked, limit)?;
        let (objects, statics) = (input.objects.count(), input.statics.objects.count());
        plan::check_worlds(&self.descriptor, input.worlds.count(), objects)?;
        plan::check_worlds(&self.descriptor, input.statics.worlds.count(), statics)?;
        let static_plan = match statics {
            0 => None,
            _ => Some(Plan::of_statics(&self.descriptor, statics, self.wanted, limit)?),
        };
        let mut plan = Plan::new(
            &self.descriptor,
            objects,
            static_plan.as_ref(),
            &asked.plan(objects.saturating_add(statics)),
            self.wanted,
            limit,
        )?;
        if let Some(limit) = input.object_limit {
            plan.limit_objects(&self.descriptor, limit.word)?;
        }
        let objects = if plan.prepares { "given_objects" } else { "objects" };
        let mut caller_owned = caller_owned_names(&asked);
        caller_owned.extend(input.objects.is_caller_owned().then_some(objects));
        caller_owned.extend(input.worlds.is_caller_owned().then_some("worlds"));
        let held = self.buffers.find("objects").cloned();
        let filled = [input.objects.recording(), input.statics.objects.recording()];
        self.needs.extend(filled.into_iter().flatten().cloned());
        self.bindings.forget(&self.buffers.begin_step());
        self.fit(device, &plan, &caller_owned, &[]);
        let table = self.fit_statics(device, encoder, &input.statics, static_plan, held);

        let mut inputs = vec![self.place(device, encoder, objects, input.objects)];
        if plan.has_worlds() {
            inputs.push(self.place(device, encoder, "worlds", input.worlds));
        }
        inputs.extend(input.object_limit.map(|limit| limit_input("object_limits", limit)));
        self.place_asked(device, encoder, &asked, &plan, &mut inputs);
        let (timed, static_counters) = match table {
            Some(StaticState { timed, counters }) => (timed, Some(counters)),
            None => (Timed::Anew, None),
        };
        inputs.extend(self.statics.iter().flat_map(StaticTable::inputs));
        let (sorted, blocks) = self.record(device, queue, encoder, &plan, &inputs, timed, |recorder, blocks| {
            // Counts go on from those of the static objects.
            match &static_counters {
                Some(counters) => {
                    recorder.copy_from(counters, "counters");
                    let (needed, place) = (word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED);
                    recorder.copy_words(counters, needed, "counters", place, 2);
                }
                None => recorder.clear("counters"),
            }
            let sorted = record_table(recorder, &plan, blocks);
            if plan.pairs {
                record_pair_counts(recorder, &plan, blocks, sorted);
            }
            // What is asked of this table later starts from here.
            recorder.copy("counters", "step_counters");
            record_asked_counts(recorder, &plan, blocks, sorted);
            sorted
        });
        self.recorded = Some(Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs: plan.pairs,
            blocks,
            step: None,
            counts: None,
            outputs: None,
        });
        Ok(plan)
    }

    /// Makes room for what a plan asks for, but for buffers of the caller, and gives up what is over, but
    /// for those that are kept, where memory is limited.
    fn fit(&mut self, device: &wgpu::Device, plan: &Plan, caller_owned: &[&str], kept: &[&str]) {
        if self.descriptor.max_bytes.is_some() {
            self.bindings
                .forget(&self.buffers.release(plan.buffers(), caller_owned, kept));
        }
        self.bindings
            .forget(&self.buffers.fit(device, plan.buffers(), caller_owned));
    }

    /// Keeps the table of the static objects, or records its building where they changed; gives up that of others.
    /// `held` is the buffer of objects that the step before had.
    fn fit_statics(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        statics: &Statics<'_>,
        plan: Option<Plan>,
        held: Option<wgpu::Buffer>,
    ) -> Option<StaticState> {
        let before = self.statics.take();
        let is_kept = |table: &&StaticTable| plan.is_some_and(|plan| table.is_of(statics.generation, &plan));
        if let Some(gone) = before.as_ref().filter(|table| !is_kept(table)) {
            self.bindings.forget(&gone.buffers.all());
        }
        let plan = plan?;
        let objects = self.buffers.get("objects").clone();
        let (table, timed) = match before {
            Some(mut table) if table.is_of(statics.generation, &plan) => {
                self.needs.extend(table.recording.clone());
                // Boxes move along where moving objects need more room.
                if let Some(held) = held.filter(|held| *held != objects) {
                    let bytes = size_of::<Aabb>() as u64 * u64::from(plan.params.object_count);
                    encoder.copy_buffer_to_buffer(&held, 0, &objects, 0, bytes);
                    table.recording = None;
                }
                (table, Timed::Anew)
            }
            before => {
                let label = format!("{}/static", self.label);
                // Larger ones than are needed count as well.
                let before = before.filter(|_| self.descriptor.max_bytes.is_none());
                let mut buffers = before.map_or_else(|| Buffers::new(&label), |table| table.buffers);
                buffers.give_up_spacious(plan.buffers());
                drop(buffers.fit(device, plan.buffers(), &OF_STEP));
                // Most of what building binds is given up right after it.
                let mut bindings = Bindings::default();
                let inputs = statics::sources(device, &label, statics, &plan, &objects);
                let (blocks, uniforms) = StepBlocks::write(device, &mut bindings, &label, &plan);
                let mut timing = self.timing.as_mut();
                if let Some(timing) = timing.as_deref_mut() {
                    timing.begin_step();
                }
                let mut recorder = Recorder {
                    device,
                    encoder,
                    pipelines: &self.pipelines,
                    sweeps: false,
                    bindings: &mut bindings,
                    buffers: &buffers,
                    uniforms: &uniforms,
                    params: blocks.params,
                    inputs: &inputs,
                    timing,
                    submits: None,
                    // Stages have names of their own.
                    label: &self.label,
                    stage_name: statics::stage_name,
                };
                recorder.clear("counters");
                let sorted = record_table(&mut recorder, &plan, &blocks);
                let mut table = StaticTable {
                    generation: statics.generation,
                    recording: None,
                    plan,
                    sorted,
                    buffers,
                };
                table.shed();
                (table, Timed::On)
            }
        };
        let counters = table.buffers.get("counters").clone();
        self.statics = Some(table);
        Some(StaticState { timed, counters })
    }

    /// Records new rays and queries up to their counts, against the table of the last step.
    pub(crate) fn record_query_counts(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        input: &QueryInput<'_>,
    ) -> Result<Plan, StepError> {
        let limit = plan::binding_limit(&device.limits());
        check_asked(input, limit)?;
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        let step = recorded.step.clone();
        if step.as_ref().is_some_and(Recording::is_lost) {
            return Err(StepError::Dropped);
        }
        let mut plan = recorded.plan;
        let objects = plan.all_objects();
        plan.is_of_step = false;
        // Headless has handed its pairs out.
        plan.keeps_pairs = !self.splits_submissions;
        plan.fit_rounds(&self.descriptor, self.wanted);
        plan.ask(&self.descriptor, &input.plan(objects.into()), self.wanted, limit)?;
        let mut caller_owned = caller_owned_names(input);
        caller_owned.extend(OF_TABLE);
        let sorted = recorded.sorted;
        let of_table = |input: &&Input| OF_TABLE.contains(&input.name);
        let mut inputs: Vec<_> = recorded.inputs.iter().filter(of_table).cloned().collect();
        let kept = [&OF_TABLE[..], pairs_kept(&plan)].concat();
        self.needs.extend(step.clone());
        self.fit(device, &plan, &caller_owned, &kept);
        self.place_asked(device, encoder, input, &plan, &mut inputs);
        let ((), blocks) = self.record(
            device,
            queue,
            encoder,
            &plan,
            &inputs,
            Timed::Anew,
            |recorder, blocks| {
                recorder.copy("step_counters", "counters");
                // What pairs left unfinished is not this call's.
                recorder.clear_words("counters", word::ROUNDS_NEEDED, 2);
                record_asked_counts(recorder, &plan, blocks, sorted);
            },
        );
        self.recorded = Some(Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs: false,
            blocks,
            step,
            counts: None,
            outputs: None,
        });
        Ok(plan)
    }

    /// Records stages over a plan's buffers; `timed` where a new list of stage times begins or goes on. Returns what
    /// the body does and where the uniform blocks of both tables lie.
    #[allow(
        clippy::too_many_arguments,
        reason = "the one place that brings a step's parts together"
    )]
    fn record<T>(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        plan: &Plan,
        inputs: &[Input],
        timed: Timed,
        body: impl FnOnce(&mut Recorder<'_>, &StepBlocks) -> T,
    ) -> (T, [Range; 2]) {
        let (blocks, uniforms) = StepBlocks::write(device, &mut self.bindings, &self.label, plan);
        let mut timing = self.timing.as_mut().filter(|_| timed != Timed::Not);
        if let Some(timing) = timing.as_deref_mut().filter(|_| timed == Timed::Anew) {
            timing.begin_step();
        }
        let mut recorder = Recorder {
            device,
            encoder,
            pipelines: &self.pipelines,
            sweeps: plan.params.ray_stride == SWEPT_STRIDE,
            bindings: &mut self.bindings,
            buffers: &self.buffers,
            uniforms: &uniforms,
            params: blocks.params,
            inputs,
            timing,
            submits: self.splits_submissions.then_some(queue),
            label: &self.label,
            stage_name: |name| name,
        };
        let result = body(&mut recorder, &blocks);
        if let Some(timing) = self.timing.as_ref().filter(|_| timed != Timed::Not) {
            timing.resolve(encoder);
        }
        (
            result,
            [blocks.params, blocks.static_params].map(|block| uniforms.range(block)),
        )
    }

    /// Records the writing of outputs as the last plan says; `first` after the counts were taken, when stages are
    /// timed and what has no windows, one answer a ray, is found.
    pub(crate) fn record_outputs(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        first: bool,
    ) {
        let Some(recorded) = self.recorded.take() else {
            return;
        };
        let timed = if first { Timed::On } else { Timed::Not };
        let Recorded {
            plan,
            inputs,
            sorted,
            emits_pairs,
            ..
        } = &recorded;
        self.record(device, queue, encoder, plan, inputs, timed, |recorder, blocks| {
            if *emits_pairs {
                record_pair_emit(recorder, plan, blocks, *sorted);
            }
            record_asked_emit(recorder, plan, blocks, *sorted, first);
            for order in Order::of(plan, *emits_pairs) {
                order.record(recorder, plan, blocks);
            }
        });
        self.recorded = Some(recorded);
    }

    /// Records new rays and queries against the table of the last step, which is not built again: the objects are those
    /// of that step, and a caller's buffers of them have to hold what they held then. The counters of rays and queries,
    /// their status bits and the stage times become those of this call; pairs and their counts stay.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step, [`StepError::Dropped`] where its encoder was dropped; otherwise as
    /// [`step`](Self::step).
    pub fn query<'s>(
        &'s mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        input: QueryInput<'_>,
    ) -> Result<StepOutput<'s>, StepError> {
        self.guarded(device, queue, encoder, |this, encoder| {
            this.record_query_counts(device, queue, encoder, &input)?;
            this.record_outputs(device, queue, encoder, true);
            Ok(())
        })?;
        self.output()
    }

    /// Records a further look at the last step's answer: the pairs, hits, cells of rays and results of queries from the
    /// places of `first` on, as many as fit, into the same buffers. This is how an answer larger than one binding is
    /// taken in chunks. The table of the last step is used as it is, and a caller's buffers of that step have to hold
    /// what they held then. [`RayMode::Closest`], [`RayMode::Any`] and nearest objects stay as they are. The status
    /// word goes on to speak of the step's own buffers.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step, [`StepError::Dropped`] where its encoder, or that of the last
    /// [`query`](Self::query), was dropped; otherwise as [`step`](Self::step).
    pub fn window<'s>(
        &'s mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        first: Window,
    ) -> Result<StepOutput<'s>, StepError> {
        self.guarded(device, queue, encoder, |this, encoder| {
            this.record_window(device, queue, encoder, first, false)
        })?;
        self.output()
    }

    /// Records within a debug group, on a device that is not lost, and with an eye on what the device says of it.
    pub(crate) fn guarded<T>(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        record: impl FnOnce(&mut Self, &mut wgpu::CommandEncoder) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        if self.lost {
            return Err(StepError::DeviceLost);
        }
        self.home.check_queue(device, queue)?;
        self.take_in();
        // Submissions in parts would leave a group open.
        let is_split = self.splits_submissions && MAX_TABLES * self.rounds() as usize > SUBMISSION_ROUNDS;
        let group = (!is_split).then(|| Group::begin(device, encoder, &self.label));
        let scopes = Scopes::begin(device);
        self.bindings.begin();
        self.readings.begin();
        self.uploads.begin();
        self.needs.clear();
        let recorded = record(self, encoder);
        self.caught = scopes.end().after(std::mem::take(&mut self.caught));
        if let Some(group) = group {
            group.end(encoder);
        }
        let recorded = recorded?;
        match self.caught.now() {
            None => {
                self.sign(encoder);
                Ok(recorded)
            }
            Some(error) => {
                self.forget();
                let refusal = self.home.refusal(error);
                self.lost = refusal == StepError::DeviceLost;
                Err(refusal)
            }
        }
    }

    /// Ends the recording under way.
    fn sign(&mut self, encoder: &wgpu::CommandEncoder) {
        let needs = std::mem::take(&mut self.needs);
        let recording = self.recordings.make(encoder, needs);
        let of_table = self.statics.iter_mut().map(|table| &mut table.recording);
        let of_step = self
            .recorded
            .iter_mut()
            .flat_map(|recorded| [&mut recorded.step, &mut recorded.counts, &mut recorded.outputs]);
        for under_way in of_table.chain(of_step) {
            under_way.get_or_insert_with(|| recording.clone());
        }
    }

    /// Says that the device is lost, as its lost callback told the caller: every later call returns an error that says
    /// so. A read-back that meets a lost device says it by itself. A new device needs a new broad phase.
    pub fn mark_lost(&mut self) {
        self.lost = true;
    }

    /// Gives all memory back at once, along with the last step and what is left to read of it. Outputs then start at
    /// the size that the last step needed which was read back. [`PairEvents::trim`](crate::PairEvents::trim) and
    /// [`DebugDraw::trim`](crate::DebugDraw::trim) go along with it.
    pub fn trim(&mut self) {
        self.forget();
        if self.grows() {
            self.wanted = self.needed;
        }
    }

    /// Gives up all buffers, since those that a device refused look like any others, and what they were to hold.
    pub(crate) fn forget(&mut self) {
        self.buffers.clear();
        self.bindings.clear();
        self.readings.clear();
        self.uploads.clear();
        self.watch.clear();
        self.statics = None;
        self.recorded = None;
        self.late = LateNeeds::default();
        self.wanted = Needs {
            walk_shrink: self.walk_shrink.level(),
            ..Needs::default()
        };
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
        if recorded.counts.as_ref().is_some_and(Recording::is_lost) {
            return Err(StepError::Dropped);
        }
        // The table keeps the sizes that it was built with.
        let mut plan = recorded.plan;
        plan.is_counted = true;
        let limit = plan::binding_limit(&device.limits());
        if recorded.emits_pairs {
            plan.fit_pairs(&self.descriptor, self.wanted, limit);
        }
        plan.fit_answers(&self.descriptor, self.wanted, limit);
        plan.fit_memory(&self.descriptor)?;
        plan.params.first_pair = first.pairs;
        plan.params.first_hit = first.hits;
        plan.params.first_ray_cell = first.ray_cells;
        plan.params.first_result = first.results;
        recorded.plan = plan;
        recorded.outputs = None;
        self.needs.extend(recorded.counts.clone());
        // Inputs lie where they were put.
        let inputs = [&OF_TABLE[..], &["rays", "given_rays", "queries", "given_queries"]].concat();
        let kept = [&inputs[..], pairs_kept(&plan)].concat();
        self.fit(device, &plan, &inputs, &kept);
        self.record_outputs(device, queue, encoder, after_counts);
        Ok(plan)
    }

    /// Bytes of the buffers on the device that the broad phase owns.
    ///
    /// Memory that steps do without goes by itself. A buffer of which eight steps in a row need no more than half is
    /// made anew in the size that they need. Room that outputs grew to stays longer, since a burst that comes again
    /// should not be cut short each time: it goes after the read-backs of 64 to 127 steps that need no more than half
    /// of it. Room for 65,536 rows stays.
    ///
    /// Memory of the host that uploads and read-backs pass through comes on top. Later steps use it again, and it is
    /// freed where eight in a row did not.
    pub fn memory(&self) -> u64 {
        let statics = self.statics.as_ref().map_or(0, |table| table.buffers.bytes());
        self.buffers.bytes() + statics
    }

    /// What these bytes are for.
    pub fn memory_use(&self) -> MemoryUse {
        let own = self
            .buffers
            .sizes()
            .chain(self.statics.iter().flat_map(|table| table.buffers.sizes()));
        own.fold(MemoryUse::default(), |mut sum, (name, bytes)| {
            *sum.part(name) += bytes;
            sum
        })
    }

    /// Whether stages are timed: where the descriptor asks for [`timestamps`](BroadPhaseDescriptor::timestamps) and the
    /// device was requested with [`TIMESTAMP_QUERY`](wgpu::Features::TIMESTAMP_QUERY).
    pub const fn has_timings(&self) -> bool {
        self.timing.is_some()
    }

    /// What the broad phase was made from.
    pub const fn descriptor(&self) -> &BroadPhaseDescriptor<'static> {
        &self.descriptor
    }

    /// Whether the last recording wrote pairs.
    pub(crate) fn emits_pairs(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| recorded.emits_pairs)
    }

    /// Whether the last recording's walks cannot be cut smaller.
    pub(crate) fn is_cut_smallest(&self) -> bool {
        self.recorded
            .as_ref()
            .is_some_and(|recorded| WalkShrink::is_at_its_end(recorded.plan.walk_shrink))
    }

    /// Rounds of the next recording.
    pub(crate) fn rounds(&self) -> u32 {
        plan::rounds(&self.descriptor, self.wanted)
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
                let bytes = bytemuck::cast_slice(elements);
                self.uploads.upload(device, encoder, &self.label, bytes, own);
                own.clone()
            }
        };
        Input {
            name,
            buffer,
            bytes: source.count() * size_of::<T>() as u64,
        }
    }

    /// The inputs that rays and queries lie in.
    fn place_asked(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        asked: &QueryInput<'_>,
        plan: &Plan,
        inputs: &mut Vec<Input>,
    ) {
        if plan.params.ray_count > 0 {
            let name = ray_name(asked);
            inputs.push(match asked.rays {
                Rays::Plain(source) => self.place(device, encoder, name, source),
                Rays::Swept(source) => self.place(device, encoder, name, source),
            });
        }
        let limits = [("ray_limits", asked.ray_limit), ("query_limits", asked.query_limit)];
        inputs.extend(
            limits
                .into_iter()
                .filter_map(|(name, limit)| Some(limit_input(name, limit?))),
        );
        let name = query_name(asked);
        match asked.queries {
            _ if plan.params.query_count == 0 => {}
            Queries::None => {}
            Queries::Boxes(source) => inputs.push(self.place(device, encoder, name, source)),
            Queries::Rounded(source) => inputs.push(self.place(device, encoder, name, source)),
            // The records of the objects that ask are bound in their place.
            Queries::Neighbors(_) | Queries::Partners(_) => {}
        }
    }

    /// The table of the objects that move, or of the static ones, as a caller's shader binds it.
    fn table<'s>(&'s self, recorded: &'s Recorded, part: Part) -> Table<'s> {
        let [block, static_block] = &recorded.blocks;
        let (moving, fixed) = (recorded.sorted.names(), statics::names());
        let (params, block, names) = match part {
            Part::Moving => (recorded.plan.params, block, &moving[..]),
            Part::Static => (of_statics(&recorded.plan.params), static_block, &fixed[..]),
        };
        let resolve = |name: &str| {
            let name = match names.iter().find(|(pass_name, _)| *pass_name == name) {
                Some((_, Bound::Buffer(buffer))) => *buffer,
                _ => name,
            };
            recorder::resolve(&recorded.inputs, &self.buffers, name)
        };
        Table {
            kind: table_kind(&self.descriptor),
            params,
            home: &self.home,
            recording: recorded.outputs.as_ref(),
            parts: TABLE_BINDINGS.map(|(_, name)| match name {
                "params" => block.borrowed(),
                // Not every scheme has them: any buffer will do that is not bound.
                "values" if !recorded.plan.is_uniform() => resolve("records"),
                name => resolve(name),
            }),
        }
    }

    fn output(&self) -> Result<StepOutput<'_>, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        let plan = &recorded.plan;
        let has_rays = plan.params.ray_count > 0;
        Ok(StepOutput {
            pairs: plan.pairs.then(|| self.buffers.get("pairs")),
            world_pairs: (plan.pairs && plan.has_worlds()).then(|| self.buffers.get("world_pairs")),
            counters: self.buffers.get("counters"),
            ray_offsets: (has_rays && plan.ray_mode == RayMode::All).then(|| self.buffers.get("ray_offsets")),
            ray_hits: (has_rays && plan.ray_mode != RayMode::Any).then(|| self.buffers.get("ray_hits")),
            ray_any: (has_rays && plan.ray_mode == RayMode::Any).then(|| self.buffers.get("ray_any")),
            ray_cell_offsets: plan.ray_cells.then(|| self.buffers.get("ray_cell_offsets")),
            ray_cells: plan.ray_cells.then(|| self.buffers.get("ray_cells")),
            query_offsets: plan.asks_all().then(|| self.buffers.get("query_offsets")),
            query_objects: plan.asks_all().then(|| self.buffers.get("query_objects")),
            query_nearest: plan.asks_nearest().then(|| self.buffers.get("query_nearest")),
            cell_starts: self.buffers.get("starts"),
            entries: self.buffers.get(recorded.sorted.values),
            records: self.buffers.get("records"),
            grid: self.buffers.get("grid"),
            static_cell_starts: self.statics.as_ref().map(|table| table.buffers.get("starts")),
            static_records: self.statics.as_ref().map(|table| table.buffers.get("records")),
            static_grid: self.statics.as_ref().map(|table| table.buffers.get("grid")),
            table: self.table(recorded, Part::Moving),
            static_table: plan.has_statics().then(|| self.table(recorded, Part::Static)),
            window: Window {
                pairs: plan.params.first_pair,
                hits: plan.params.first_hit,
                ray_cells: plan.params.first_ray_cell,
                results: plan.params.first_result,
            },
            pair_capacity: plan.params.pair_capacity,
            hit_capacity: plan.params.hit_capacity,
            ray_cell_capacity: plan.params.ray_cell_capacity,
            result_capacity: plan.params.result_capacity,
        })
    }
}

/// From objects to sorted entries and their cell table.
fn record_table(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks) -> Sorted {
    let objects = plan.params.object_count;
    for accumulated in [
        "size_statistics",
        "density",
        "density_slots",
        "level_statistics",
        "grid",
    ] {
        recorder.clear(accumulated);
    }
    if plan.prepares {
        // Any buffer will do where all objects take part.
        let all = [("object_limits", Bound::Buffer("counters"))];
        let limits = if plan.params.object_limit == 0 { &all[..] } else { &[] };
        recorder.stage("prepare", |stage| stage.run(&shaders::PREPARE, objects, limits));
    }
    if plan.is_hierarchical() {
        recorder.stage("statistics", |stage| {
            stage.run(&shaders::SIZE_STATISTICS, plan.params.sample_count, &[]);
            stage.run(&shaders::DENSITY, plan.params.sample_count, &[]);
            stage.run_groups(&shaders::BASE_CELL, 1, &[]);
        });
    }
    recorder.stage("levels", |stage| {
        stage.run_groups(&shaders::LEVEL_STATISTICS, objects.div_ceil(LEVEL_TILE), &[]);
        stage.run_groups(&shaders::LAYOUT, 1, &[]);
    });
    let unsorted = Sorted::SIDES[0];
    recorder.stage("entries", |stage| {
        if plan.is_uniform() {
            stage.run(&shaders::ENTRY_COUNT, objects, &[]);
            stage.scan("entry_offsets", plan.entry_counts(), blocks.scan_entries);
            stage.run(&shaders::ENTRY_EMIT, objects, &unsorted.names());
        } else {
            stage.run(&shaders::KEYS, objects, &unsorted.names());
        }
    });
    if plan.params.cover_capacity > 0 {
        let tiles = objects.div_ceil(COVER_TILE);
        recorder.stage("cover", |stage| {
            stage.run_groups(&shaders::COVER_COUNT, tiles, &unsorted.names());
            stage.run_groups(&shaders::COVER_LAYOUT, 1, &[]);
            stage.run_groups(&shaders::COVER_EMIT, tiles, &unsorted.names());
        });
    }
    let sort = Sort {
        strategy: plan.sort,
        sides: Sorted::SIDES,
        grid: "grid",
    };
    let mut sorted = unsorted;
    recorder.stage("sort", |stage| sorted = sort.record(stage, &blocks.sort, unsorted));
    recorder.stage("cells", |stage| {
        stage.run(&shaders::CELL_STARTS, plan.params.entry_capacity + 1, &sorted.names());
    });
    recorder.stage("gather", |stage| {
        stage.run(&shaders::GATHER, objects, &sorted.names());
    });
    sorted
}

/// A radix sort of keys with values.
struct Sort {
    strategy: SortStrategy,
    sides: [Sorted; 2],
    /// Which grid says how many keys there are.
    grid: &'static str,
}

impl Sort {
    /// Records a pass a digit; returns the side that ends up sorted.
    fn record(&self, stage: &mut Stage<'_>, digits: &[Digit], unsorted: Sorted) -> Sorted {
        let passes = self.strategy.passes();
        digits.iter().fold(unsorted, |from, digit| {
            let to = self.sides[usize::from(from == self.sides[0])];
            let names = [
                ("sort", Bound::Block(digit.block)),
                ("grid", Bound::Buffer(self.grid)),
                ("keys", Bound::Buffer(from.keys)),
                ("values", Bound::Buffer(from.values)),
                ("sorted_keys", Bound::Buffer(to.keys)),
                ("sorted_values", Bound::Buffer(to.values)),
            ];
            let groups = self.strategy.groups(digit.sort.tiles);
            stage.run_groups(passes.histogram, groups, &names);
            stage.run_groups(passes.scan, self.strategy.groups(1 << digit.sort.bits), &names);
            stage.run_groups(passes.scatter, groups, &names);
            to
        })
    }
}

/// Where rays lie once they are sorted: the sides take turns.
fn rays_sorted(plan: &Plan) -> Sorted {
    Sorted::RAYS[plan.ray_digits().len() % 2]
}

/// Puts rays in the order of where they start.
fn record_ray_sort(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks) {
    let sort = Sort {
        strategy: plan.sort,
        sides: Sorted::RAYS,
        grid: "ray_grid",
    };
    let unsorted = Sorted::RAYS[0];
    recorder.stage("ray_sort", |stage| {
        let [keys, values] = unsorted.names();
        let mut names = vec![keys, values, ("sort_grid", Bound::Buffer("ray_grid"))];
        // Where most of the objects are.
        if plan.params.static_count > plan.params.object_count {
            names.push(("grid", Bound::Buffer(statics::GRID)));
        }
        stage.run(&shaders::RAY_KEYS, plan.params.ray_count, &names);
        sort.record(stage, &blocks.ray_sort, unsorted);
    });
}

/// An output whose rows are put in ascending order.
struct Order {
    stage: &'static str,
    passes: [&'static shaders::Pass; 3],
    rows: &'static str,
    offsets: &'static str,
    capacity: u32,
    row_bytes: u64,
    /// How many values the first and the second key may have.
    keys: [u32; 2],
}

impl Order {
    /// The outputs that a recording writes with pairs or without.
    fn of(plan: &Plan, emits_pairs: bool) -> Vec<Self> {
        let params = &plan.params;
        let pairs = Self {
            stage: "pair_order",
            passes: [
                &shaders::ORDER_SECONDS_PAIRS,
                &shaders::ORDER_FIRSTS_PAIRS,
                &shaders::ORDER_ROWS_PAIRS,
            ],
            rows: "pairs",
            offsets: "pair_offsets",
            capacity: params.pair_capacity,
            row_bytes: size_of::<Pair>() as u64,
            keys: [plan.all_objects(); 2],
        };
        let hits = Self {
            stage: "ray_order",
            passes: [
                &shaders::ORDER_SECONDS_HITS,
                &shaders::ORDER_FIRSTS_HITS,
                &shaders::ORDER_ROWS_HITS,
            ],
            rows: "ray_hits",
            offsets: "ray_offsets",
            capacity: params.hit_capacity,
            row_bytes: size_of::<RayHit>() as u64,
            keys: [params.ray_count, plan.all_objects()],
        };
        let results = Self {
            stage: "query_order",
            passes: [
                &shaders::ORDER_SECONDS_RESULTS,
                &shaders::ORDER_FIRSTS_RESULTS,
                &shaders::ORDER_ROWS_RESULTS,
            ],
            rows: "query_objects",
            offsets: "query_offsets",
            capacity: params.result_capacity,
            row_bytes: size_of::<u32>() as u64,
            keys: [params.query_count, plan.all_objects()],
        };
        let written = [
            (pairs, emits_pairs),
            (hits, plan.all_hits()),
            (results, plan.asks_all()),
        ];
        let sorted = written
            .into_iter()
            .filter(|(_, is_written)| plan.sorts_outputs && *is_written);
        sorted.map(|(order, _)| order).collect()
    }

    fn record(&self, recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks) {
        let sort = Sort {
            strategy: plan.sort,
            sides: Sorted::ORDER,
            grid: "order_grid",
        };
        let digits = self.keys.map(|keys| {
            let digits = blocks.order.iter().find(|(count, _)| *count == keys);
            digits.map_or(&[][..], |(_, digits)| digits)
        });
        let names = |side: Sorted| {
            [
                ("rows", Bound::Buffer(self.rows)),
                ("offsets", Bound::Buffer(self.offsets)),
                ("grid", Bound::Buffer("order_grid")),
                ("keys", Bound::Buffer(side.keys)),
                ("values", Bound::Buffer(side.values)),
                ("ordered_rows", Bound::Buffer("order_rows")),
            ]
        };
        let [seconds, firsts, rows] = self.passes;
        recorder.stage(self.stage, |stage| {
            let unsorted = Sorted::ORDER[0];
            stage.run(seconds, self.capacity, &names(unsorted));
            let by_second = sort.record(stage, digits[1], unsorted);
            stage.run(firsts, self.capacity, &names(by_second));
            let by_both = sort.record(stage, digits[0], by_second);
            stage.run(rows, self.capacity, &names(by_both));
        });
        recorder.copy_bytes("order_rows", self.rows, self.row_bytes * u64::from(self.capacity));
    }
}

/// From the table to the offsets of pairs.
fn record_pair_counts(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks, sorted: Sorted) {
    let entries = plan.params.entry_capacity;
    let pass = if plan.params.pair_bit_words > 0 {
        &shaders::PAIR_COUNT_CROWDED
    } else {
        by_scheme(plan, &shaders::PAIR_COUNT_ONE_CELL, &shaders::PAIR_COUNT_COVERED)
    };
    recorder.rounds("pair_count", &blocks.pair_rounds, |stage, &round| {
        stage.run(pass, entries + 1, &sorted.names_in(round));
    });
    if plan.has_statics() {
        let pass = by_scheme(
            plan,
            &shaders::PAIR_STATIC_COUNT_ONE_CELL,
            &shaders::PAIR_STATIC_COUNT_COVERED,
        );
        recorder.rounds("pair_static_count", &blocks.static_pair_rounds, |stage, &round| {
            stage.run(pass, plan.params.object_count + 1, &static_pair_names(blocks, round));
        });
    }
    if plan.has_worlds() {
        recorder.clear("world_pairs");
        recorder.stage("world_pairs", |stage| {
            stage.run(&shaders::WORLD_PAIRS, entries, &sorted.names());
            if plan.has_statics() {
                stage.run(&shaders::WORLD_PAIRS_STATIC, plan.params.object_count, &[]);
            }
        });
    }
    recorder.stage("pair_scan", |stage| {
        stage.scan("pair_offsets", plan.params.pair_rows + 1, blocks.scan_pairs);
    });
}

/// Makes the rays and queries that are asked of those that are given, where the device says how many of them are.
fn record_limits(recorder: &mut Recorder<'_>, blocks: &StepBlocks) {
    let limits = [
        (blocks.ray_limit, ["ray_limits", "given_rays", "rays"]),
        (blocks.query_limit, ["query_limits", "given_queries", "queries"]),
    ];
    if limits.iter().all(|(limit, _)| limit.is_none()) {
        return;
    }
    recorder.stage("limits", |stage| {
        for (limit, [limits, given, asked]) in limits {
            if let Some((rows, block)) = limit {
                let names = [
                    ("limit", Bound::Block(block)),
                    ("limits", Bound::Buffer(limits)),
                    ("given", Bound::Buffer(given)),
                    ("asked", Bound::Buffer(asked)),
                ];
                stage.run(&shaders::LIMIT_ASKED, rows, &names);
            }
        }
    });
}

/// From the table to the offsets of hits, cells of rays and results.
fn record_asked_counts(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks, sorted: Sorted) {
    let (rays, queries) = (plan.params.ray_count, plan.params.query_count);
    record_limits(recorder, blocks);
    if plan.sorts_rays() {
        record_ray_sort(recorder, plan, blocks);
    }
    if rays > 0 && plan.ray_mode == RayMode::All {
        let pass = by_scheme(plan, &shaders::RAY_COUNT_ONE_CELL, &shaders::RAY_COUNT_COVERED);
        recorder.rounds("ray_count", &blocks.ray_rounds, |stage, round| {
            stage.run(pass, round.walks + 1, &round.names(plan, sorted));
        });
        recorder.stage("ray_scan", |stage| {
            stage.scan("ray_offsets", rays + 1, blocks.scan_hits)
        });
    }
    if plan.ray_cells {
        recorder.stage("ray_cells_count", |stage| {
            for round in blocks.ray_rounds.iter().filter(|round| round.is_first) {
                stage.run(&shaders::RAY_CELLS_COUNT, rays + 1, &round.names(plan, sorted));
            }
            stage.scan("ray_cell_offsets", rays + 1, blocks.scan_ray_cells);
        });
    }
    if plan.asks_all() {
        let pass = by_scheme(plan, &shaders::QUERY_COUNT_ONE_CELL, &shaders::QUERY_COUNT_COVERED);
        recorder.rounds("query_count", &blocks.query_rounds, |stage, round| {
            stage.run(pass, round.walks + 1, &round.names(plan, sorted));
        });
        recorder.stage("query_scan", |stage| {
            stage.scan("query_offsets", queries + 1, blocks.scan_results);
        });
    }
}

fn record_pair_emit(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks, sorted: Sorted) {
    let entries = plan.params.entry_capacity;
    if plan.is_uniform() {
        recorder.rounds("pair_emit", &blocks.pair_emit_rounds, |stage, &round| {
            stage.run(&shaders::PAIR_EMIT_COVERED, entries, &sorted.names_in(round));
        });
    } else {
        const GROUPS: &str = "pair_walk_groups";
        // Keys as they were before the last digit are of no use any more.
        let list = sorted.other_side().keys;
        let walks = ("pair_walks", Bound::Buffer(list));
        recorder.clear(GROUPS);
        recorder.clear_words(list, 0, 1);
        recorder.stage("pair_emit_kept", |stage| {
            stage.run(&shaders::PAIR_EMIT_KEPT, entries, &[walks])
        });
        if plan.params.pair_bit_words > 0 {
            recorder.stage("pair_replay", |stage| {
                stage.run_indirect(&shaders::PAIR_REPLAY, GROUPS, &[walks])
            });
        }
        recorder.rounds("pair_emit", &blocks.pair_emit_rounds, |stage, &round| {
            let names = [walks, ("round", Bound::Block(round))];
            stage.run_indirect(&shaders::PAIR_EMIT_ONE_CELL, GROUPS, &names);
        });
    }
    if plan.has_statics() {
        let pass = by_scheme(
            plan,
            &shaders::PAIR_STATIC_EMIT_ONE_CELL,
            &shaders::PAIR_STATIC_EMIT_COVERED,
        );
        recorder.rounds("pair_static_emit", &blocks.static_pair_rounds, |stage, &round| {
            stage.run(pass, plan.params.object_count, &static_pair_names(blocks, round));
        });
    }
}

/// From the table and the offsets to hits, cells of rays and results; `first` where what has no windows is found as
/// well.
fn record_asked_emit(recorder: &mut Recorder<'_>, plan: &Plan, blocks: &StepBlocks, sorted: Sorted, first: bool) {
    let mut walk = |name, one_cell, covered, rounds: &[WalkRound]| {
        let pass = by_scheme(plan, one_cell, covered);
        recorder.rounds(name, rounds, |stage, round| {
            stage.run(pass, round.walks, &round.names(plan, sorted))
        });
    };
    let rays = &blocks.ray_rounds;
    match plan.ray_mode {
        _ if plan.params.ray_count == 0 => {}
        RayMode::Closest | RayMode::Any if !first => {}
        RayMode::Closest => {
            let (one_cell, covered) = (&shaders::RAY_CLOSEST_ONE_CELL, &shaders::RAY_CLOSEST_COVERED);
            walk("ray_closest", one_cell, covered, rays);
        }
        RayMode::Any => {
            let (one_cell, covered) = (&shaders::RAY_ANY_ONE_CELL, &shaders::RAY_ANY_COVERED);
            walk("ray_any", one_cell, covered, rays);
        }
        RayMode::All => {
            let (one_cell, covered) = (&shaders::RAY_EMIT_ONE_CELL, &shaders::RAY_EMIT_COVERED);
            walk("ray_emit", one_cell, covered, rays);
        }
    }
    if plan.ray_cells {
        let pass = &shaders::RAY_CELLS_EMIT;
        walk("ray_cells_emit", pass, pass, rays);
    }
    let queries = &blocks.query_rounds;
    if plan.asks_all() {
        let (one_cell, covered) = (&shaders::QUERY_EMIT_ONE_CELL, &shaders::QUERY_EMIT_COVERED);
        walk("query_emit", one_cell, covered, queries);
    }
    if plan.asks_nearest() && first {
        let (one_cell, covered) = (&shaders::QUERY_NEAREST_ONE_CELL, &shaders::QUERY_NEAREST_COVERED);
        walk("query_nearest", one_cell, covered, queries);
    }
}

fn check_asked(asked: &QueryInput<'_>, binding_limit: u64) -> Result<(), StepError> {
    input::check_limit("the ray limit", asked.ray_limit, binding_limit)?;
    input::check_limit("the query limit", asked.query_limit, binding_limit)?;
    match &asked.rays {
        Rays::Plain(source) => input::check("rays", source)?,
        Rays::Swept(source) => input::check("rays", source)?,
    }
    match &asked.queries {
        Queries::None | Queries::Neighbors(_) | Queries::Partners(_) => Ok(()),
        Queries::Boxes(source) => input::check("queries", source),
        Queries::Rounded(source) => input::check("queries", source),
    }
}

/// The inputs that come in buffers of the caller's.
fn caller_owned_names(asked: &QueryInput<'_>) -> Vec<&'static str> {
    let rays = asked.rays.is_caller_owned().then_some(ray_name(asked));
    rays.into_iter()
        .chain(asked.queries.is_caller_owned().then_some(query_name(asked)))
        .collect()
}

/// What rays are called as they come: those with a limit are not what the walks read.
const fn ray_name(asked: &QueryInput<'_>) -> &'static str {
    if asked.ray_limit.is_some() {
        "given_rays"
    } else {
        "rays"
    }
}

/// The same of queries.
const fn query_name(asked: &QueryInput<'_>) -> &'static str {
    if asked.query_limit.is_some() {
        "given_queries"
    } else {
        "queries"
    }
}

fn limit_input(name: &'static str, DeviceCount { buffer, word }: DeviceCount<'_>) -> Input {
    Input {
        name,
        buffer: buffer.clone(),
        bytes: 4 * (u64::from(word) + 1),
    }
}

/// Outputs of pairs that stand from an earlier step.
fn pairs_kept(plan: &Plan) -> &'static [&'static str] {
    if plan.keeps_pairs {
        &["pairs", "world_pairs"]
    } else {
        &[]
    }
}

/// What the passes of pairs with static objects bind in a round.
fn static_pair_names(blocks: &StepBlocks, round: Block) -> Vec<(&'static str, Bound<'static>)> {
    let mut names = vec![
        ("params", Bound::Block(blocks.static_params)),
        ("own_records", Bound::Buffer("records")),
        ("round", Bound::Block(round)),
    ];
    names.extend(statics::names());
    names
}

fn by_scheme(plan: &Plan, one_cell: &'static shaders::Pass, covered: &'static shaders::Pass) -> &'static shaders::Pass {
    if plan.is_uniform() { covered } else { one_cell }
}

/// What pipelines depend on.
fn constants(descriptor: &BroadPhaseDescriptor<'_>) -> [(&'static str, f64); 5] {
    [
        ("SCHEME", f64::from(grid::scheme_number(descriptor.scheme))),
        ("FILTERS", descriptor.filters.into()),
        ("COUNT_CANDIDATES", descriptor.count_candidates.into()),
        ("WORLDS", (descriptor.worlds > 1).into()),
        ("PERIODIC", descriptor.periods.iter().any(|&period| period > 0.0).into()),
    ]
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
        "pair_emit_kept" => descriptor.pairs && !matches!(descriptor.scheme, Scheme::Uniform { .. }),
        "cover_count" | "cover_layout" | "cover_emit" => descriptor.scheme == Scheme::Hierarchical && descriptor.pairs,
        "prepare" => plan::prepares(descriptor),
        "scatter" | "limit_asked" | "dispatch_args" | "pair_count_crowded" | "pair_replay" => false,
        _ if pass.starts_with("event_") || pass.starts_with("draw_") => false,
        _ if pass.starts_with("sort_") => {
            let passes = descriptor.sort.passes();
            [passes.histogram, passes.scan, passes.scatter]
                .iter()
                .any(|of| of.name == pass)
        }
        _ if pass.starts_with("order_") => descriptor.pair_order == PairOrder::Sorted && pass.ends_with("_pairs"),
        "world_pairs" => descriptor.pairs && descriptor.worlds > 1,
        _ if pass.contains("_static") => false,
        _ if pass.starts_with("pair_") => descriptor.pairs,
        _ => !pass.starts_with("ray_") && !pass.starts_with("query_"),
    }
}
