//! Pair events: which pairs begin, persist and end from one step to the next.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::addons::component::variable::STEP_COUNTERS;
use crate::addons::component::{Component, check_sizes};
use crate::addons::dispatch::variable::DISPATCH;
use crate::addons::dispatch::{self, DISPATCH_ARGS};
use crate::api::counters::{self, Status};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{ReadBackError, StepError};
use crate::api::input::{self, Placement, Source};
use crate::api::memory::MemoryUse;
use crate::api::types::OutputRows;
use crate::api::types::PairEvent;
use crate::gpu::buffers::{BufferId, Sizes, buffers, check_own};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::group::Group;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::reading::{self, Copy, Reading};
use crate::gpu::recorder::{Input, WORKGROUP, variables};
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::staging::Staging;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{DispatchParams, EventParams};
use crate::layout::counters::event_word as word;
use crate::shared::submission::Dependency;
use crate::stages::input::{Copied, Copying, GATHER_INPUT};
use crate::stages::pairs::buffer::PAIRS;
use crate::stages::scan::{self, Scan};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

const ROW_BYTES: u64 = size_of::<PairEvent>() as u64;
/// Pairs that may begin and end unforeseen where nobody waits to ask how many: 64 KiB each.
const FEW_CHANGES: u32 = 4096;

passes! {
    "events" {
    /// Which pairs of a step the step before had as well.
    EVENT_MATCH = "event_match";

    /// Pairs that persist and pairs that begin.
    EVENT_EMIT = "event_emit";

    /// Pairs that begin, on their own: what read-backs without a wait copy.
    EVENT_BEGUN = "event_begun";

    /// Pairs that end.
    EVENT_END = "event_end";

    /// The hash table of a step's pairs.
    EVENT_INSERT = "event_insert";
    }
}

buffers! {
    /// The pairs of a step with generations, those that persist first. The next two take turns, step by step.
    ROWS_0 = "rows_0": Pairs;
    /// The rows of every other step.
    ROWS_1 = "rows_1": Pairs;
    /// How many rows a step has.
    COUNTERS_0 = "counters_0": Fixed;
    /// The counters of every other step.
    COUNTERS_1 = "counters_1": Fixed;
    /// Workgroups over the rows of a step.
    GROUPS_0 = "groups_0": Fixed as INDIRECT;
    /// Workgroups over the rows of every other step.
    GROUPS_1 = "groups_1": Fixed as INDIRECT;
    /// What stands for the step before the first: zeros that nobody writes to.
    NOTHING = "nothing": Fixed as INDIRECT;
    /// The hash table of a step's pairs.
    TABLE = "table": Pairs;
    /// 1 for each pair that the step before had as well, then places.
    MARKS = "marks": Pairs;
    /// 1 for each pair of the step before that this one has as well, then places.
    MATCHED = "matched": Pairs;
    /// The pairs that end.
    ENDED = "ended": Pairs;
    /// The pairs that begin, as many as a read-back without a wait copies.
    BEGUN = "begun": Pairs;
    /// The generation of each static object.
    STATIC_GENERATIONS = "static_generations": Inputs;
    /// The generation of each moving object.
    GENERATIONS = "generations": Inputs;
    /// The generations of static objects as they are given, where they are copied first. It is always the caller's.
    GIVEN_STATIC_GENERATIONS = "given_static_generations": Inputs;
    /// The generations of moving objects as they are given, where they are copied first. It is always the caller's.
    GIVEN_GENERATIONS = "given_generations": Inputs;
}

/// Buffers that take turns, step by step.
const ROW_SIDES: [BufferId; 2] = [buffer::ROWS_0, buffer::ROWS_1];
const COUNTER_SIDES: [BufferId; 2] = [buffer::COUNTERS_0, buffer::COUNTERS_1];
const GROUP_SIDES: [BufferId; 2] = [buffer::GROUPS_0, buffer::GROUPS_1];

variables! {
    /// The uniform block of the passes.
    EVENT = "event";
    /// The rows of the step that is recorded.
    ROWS = "rows";
    /// The counters of the step that is recorded.
    COUNTERS = "counters";
    /// The rows of the step before.
    PREVIOUS_ROWS = "previous_rows";
    /// The counters of the step before.
    PREVIOUS_COUNTERS = "previous_counters";
    /// The hash table of the step before.
    PREVIOUS_TABLE = "previous_table";
}

use variable::*;

/// What names the objects of a step for good: an index, and a generation that tells apart the objects that have it one
/// after the other. [`ObjectSet::names`](crate::ObjectSet::names) gives those of its handles. The default takes the
/// indices of the step as they are: then an index has to go on standing for the same object.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectNames<'a> {
    /// How many static objects the step has, which results name first. They are named by their index with its top bit
    /// set, so that their number may change, and moving objects by their index among themselves.
    pub static_count: u32,
    /// The generation of each static object; that of others is 0. Any number that the object before at this index did
    /// not have.
    pub static_generations: Source<'a, u32>,
    /// The generation of each moving object, like those of static ones.
    pub generations: Source<'a, u32>,
}

/// The events of a step: buffers with the usages `STORAGE` and `COPY_SRC`. The next two calls of [`PairEvents::record`]
/// may write into them or replace them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventOutput {
    /// The step's pairs as [`PairEvent`]s: those that the step before had too, in the order of the pairs, and behind
    /// them those that begin, in that order.
    pub rows: wgpu::Buffer,
    /// [`PairEvent`]s that the step before had and this one does not, persisting ones of that step first.
    pub ended: wgpu::Buffer,
    /// Eight `u32`: 0 the pairs that persist, 4 those that begin, 6 those that ended, 5 the bits of the step's status
    /// that say that pairs are missing ([`Status::PAIRS`], [`Status::ENTRIES`], [`Status::ROUNDS`], [`Status::CUT`]):
    /// what is missing counts as ended, and begins when it is back.
    pub counters: wgpu::Buffer,
    /// Rows that there is room for. As many as pairs, so that they always fit.
    pub capacity: u32,
    /// Pairs that ended and fit.
    pub ended_capacity: u32,
}

/// The events of a step on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Events {
    /// Pairs that the step before had too, in the order of the step's pairs; none after
    /// [`read_changes`](PairEvents::read_changes).
    pub persisting: Vec<PairEvent>,
    /// Pairs that it did not have, in that order.
    pub begun: Vec<PairEvent>,
    /// Pairs that only the step before had.
    pub ended: Vec<PairEvent>,
    /// [`Status::PAIRS`] and the like where pairs of the step are missing: they count as ended. 0 where all are there.
    pub status: Status,
    /// Pairs that began or ended and are missing here: more than [`record_read_back`](PairEvents::record_read_back) copied.
    pub unread: u32,
}

/// Finds which pairs begin, persist and end from one step of a broad phase to the next, on the GPU.
///
/// Pairs are told apart by what names their objects for good, see [`ObjectNames`]. So a pair ends where one of its
/// objects is removed, and another begins where a new object at the same index overlaps the other one. The order of
/// events follows from that of the pairs and is as deterministic. Another descriptor of the broad phase changes no
/// name: events go on without a [`reset`](Self::reset).
///
/// ```no_run
/// # use gpu_broad_phase::{GpuBroadPhase, Handle, ObjectSet, PairEvents, wgpu};
/// # async fn frame(
/// #     device: &wgpu::Device, queue: &wgpu::Queue, broad_phase: &mut GpuBroadPhase, objects: &mut ObjectSet,
/// #     events: &mut PairEvents,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut encoder = device.create_command_encoder(&Default::default());
/// let input = objects.upload(device, &mut encoder)?;
/// let output = broad_phase.step(&mut encoder, input)?;
/// events.record(&mut encoder, &output, objects.names())?;
/// queue.submit([encoder.finish()]);
/// for event in events.read_changes().await?.begun {
///     let [a, b]: [Handle; 2] = event.into();
///     println!("{a:?} touches {b:?}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// Memory: 64 to 72 bytes for each pair that the outputs of both steps have room for, and 4 per object for generations
/// from the host, which are uploaded in every call.
pub struct PairEvents {
    own: Component,
    uploads: Staging,
    readings: Staging,
    timeout: Duration,
    last: Option<Recorded>,
    /// How many pairs began and ended in late answers that arrived without a wait.
    changes: Arc<[AtomicU32; 2]>,
}

/// A step that was recorded.
#[derive(Clone)]
struct Recorded {
    /// Its own rows, which need all before them.
    written: Dependency,
    rows: RowSide,
    /// The device of the broad phase that the step is of.
    context: Arc<DeviceContext>,
}

/// Where the rows of a step lie.
#[derive(Clone, Copy)]
struct RowSide {
    /// Which buffers of [`ROW_SIDES`] and [`COUNTER_SIDES`] are its own.
    side: usize,
    capacity: u32,
    /// Rows that the step before has room for.
    previous_capacity: u32,
}

impl RowSide {
    /// Slots of the hash table less one: at most half of them are in use.
    fn table_mask(self) -> u32 {
        (2 * self.capacity.max(1)).next_power_of_two() - 1
    }
}

impl PairEvents {
    /// Finds the events of the steps of one broad phase, on its device. `label` is put before the labels of all
    /// buffers, bind groups and passes, `gpu_broad_phase/events` where there is none.
    pub fn new(label: Option<&str>) -> Self {
        let label = label.unwrap_or("gpu_broad_phase/events");
        Self {
            own: Component::new(
                label,
                [PASSES, scan::PASSES, dispatch::PASSES]
                    .into_iter()
                    .flatten()
                    .copied()
                    .chain([&GATHER_INPUT]),
                &[],
            ),
            uploads: Staging::uploads(),
            readings: Staging::readings(),
            timeout: BroadPhaseDescriptor::default().outputs.timeout,
            last: None,
            changes: Arc::default(),
        }
    }

    /// What makes its pipelines ahead of the first call, for the steps of this broad phase: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records the finding of the events of a step, right behind it and before any
    /// [`page`](crate::GpuBroadPhase::page). In the first call, and after [`reset`](Self::reset), all pairs begin.
    /// Never submits, waits or reads back.
    ///
    /// The encoders of all calls have to be submitted, in the order of the calls.
    ///
    /// # Errors
    /// [`StepError::Dropped`] where one was dropped instead, or submitted in another order, behind a later step among
    /// it: which pairs the device knows is not certain then, and [`reset`](Self::reset) lets all begin again.
    /// [`StepError::OtherDevice`] on another device than in the first call, [`StepError::OtherBroadPhase`] for a step
    /// of another broad phase than before without a [`reset`](Self::reset). [`StepError::NoOutput`] for a step without
    /// pairs, [`StepError::Page`] for the output of a page, [`InputError::Usage`](crate::InputError::Usage),
    /// [`InputError::BufferTooSmall`](crate::InputError::BufferTooSmall) and the like for a buffer of generations that
    /// cannot be read, [`InputError::BufferTooLarge`](crate::InputError::BufferTooLarge) where the rows do not fit a
    /// binding of the device: nothing is recorded then. [`StepError::Device`] where the device refuses a buffer: the
    /// encoder has to be dropped.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        names: ObjectNames<'_>,
    ) -> Result<EventOutput, StepError> {
        let pairs = step.pairs.as_ref().ok_or(StepError::NoOutput {
            rows: OutputRows::Pairs,
        })?;
        if pairs.first > 0 {
            return Err(StepError::Page { first: pairs.first });
        }
        let limits = &step.table.context.device().limits();
        input::check("generations of static objects", &names.static_generations, limits)?;
        input::check("generations", &names.generations, limits)?;
        check_own(
            [
                ("generations of static objects", names.static_generations.buffer()),
                ("generations", names.generations.buffer()),
            ],
            &[&self.own.buffers],
        )?;
        let needs: Vec<_> = step.pairs_written.iter().cloned().collect();
        let context = self.own.begin(step, &needs)?;
        let device = context.device();
        if let Some(last) = &self.last {
            last.context.check_broad_phase(&step.table.context)?;
            if last.written.is_lost() {
                return Err(StepError::Dropped);
            }
        }
        let previous = self.last_rows();
        let recorded = RowSide {
            side: previous.map_or(0, |previous| 1 - previous.side),
            capacity: pairs.capacity,
            previous_capacity: previous.map_or(0, |previous| previous.capacity),
        };
        // What the caller brings takes none where it is read in place.
        let generations = [names.static_generations, names.generations].map(|source| {
            let alignment = limits.min_storage_buffer_offset_alignment;
            let is_in_place = source.is_caller_owned() && source.placement(alignment).layout.is_none();
            if is_in_place { 0 } else { source.count() }
        });
        let sizes = sizes(recorded, generations);
        check_sizes("pair events", &sizes, device)?;
        let group = Group::begin(device, encoder, &self.own.label);
        let scopes = Scopes::begin(device);
        self.own.bindings.begin();
        self.uploads.begin();
        self.readings.begin();
        self.record_passes(device, encoder, [&pairs.buffer, &step.counters], names, sizes, recorded);
        let before = self.last.take().map(|last| last.written);
        let ended = self
            .own
            .end(encoder, scopes, &context, before.into_iter().chain(needs).collect());
        group.end(encoder);
        let written = ended.inspect_err(|_| self.trim())?;
        self.last = Some(Recorded {
            written,
            rows: recorded,
            context: Arc::clone(&step.table.context),
        });
        Ok(EventOutput {
            rows: self.own.buffers.get(ROW_SIDES[recorded.side]).clone(),
            ended: self.own.buffers.get(buffer::ENDED).clone(),
            counters: self.own.buffers.get(COUNTER_SIDES[recorded.side]).clone(),
            capacity: recorded.capacity,
            ended_capacity: recorded.previous_capacity,
        })
    }

    fn record_passes(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        [pairs, step_counters]: [&wgpu::Buffer; 2],
        names: ObjectNames<'_>,
        sizes: Sizes,
        recorded: RowSide,
    ) {
        // Where the table has to grow, the old one is still looked in.
        let table = self.own.buffers.existing(buffer::TABLE).cloned();
        self.own.bindings.forget(&self.own.buffers.fit(device, sizes, &[]));
        let own = |id| self.own.buffers.get(id);
        let last = self.last_rows();
        let nothing = own(buffer::NOTHING);
        let of_previous = |id| if last.is_some() { own(id) } else { nothing };
        let previous_table = table.as_ref().filter(|_| last.is_some()).unwrap_or(nothing);
        let mut inputs = vec![
            Input::whole(PAIRS, pairs),
            Input::whole(STEP_COUNTERS, step_counters),
            Input::whole(ROWS, own(ROW_SIDES[recorded.side])),
            Input::whole(COUNTERS, own(COUNTER_SIDES[recorded.side])),
            Input::whole(PREVIOUS_ROWS, of_previous(ROW_SIDES[1 - recorded.side])),
            Input::whole(PREVIOUS_COUNTERS, of_previous(COUNTER_SIDES[1 - recorded.side])),
            Input::whole(PREVIOUS_TABLE, previous_table),
        ];
        let mut blocks = Blocks::new(device);
        let mut copied = Vec::new();
        let alignment = device.limits().min_storage_buffer_offset_alignment;
        for (id, source_id, source) in [
            (
                buffer::STATIC_GENERATIONS,
                buffer::GIVEN_STATIC_GENERATIONS,
                names.static_generations,
            ),
            (buffer::GENERATIONS, buffer::GIVEN_GENERATIONS, names.generations),
        ] {
            let Placement { offset, bytes, layout } = source.placement(alignment);
            if let Some(layout) = layout {
                let copying = Copying::of_words(layout, source.count() as u32);
                copied.push(Copied::new(&mut blocks, copying, [source_id, source_id, id]));
            }
            let buffer = match source {
                Source::Device { buffer, count: 1.., .. } => buffer,
                Source::Device { .. } => own(id),
                Source::Host(words) => {
                    let own = own(id);
                    self.uploads
                        .upload(device, encoder, &self.own.label, bytemuck::cast_slice(words), own);
                    own
                }
            };
            inputs.push(Input {
                variable: if layout.is_some() { source_id } else { id }.into(),
                buffer: buffer.clone(),
                offset,
                bytes: bytes.max(4),
            });
        }
        let (capacity, previous_capacity) = (recorded.capacity, recorded.previous_capacity);
        let params = blocks.push(&EventParams {
            pair_capacity: capacity,
            previous_capacity,
            table_mask: recorded.table_mask(),
            previous_mask: last.map_or(0, RowSide::table_mask),
            static_count: names.static_count,
            static_generations: names.static_generations.count() as u32,
            generations: names.generations.count() as u32,
            begun_capacity: 0,
        });
        let dispatch = blocks.push(&DispatchParams {
            needed_word: counters::word::PAIRS_NEEDED as u32,
            first: 0,
            capacity,
            workgroup_rows: WORKGROUP,
            missing_bits: 0,
        });
        let scans = [
            (buffer::MARKS, capacity, word::PERSISTING),
            (buffer::MATCHED, previous_capacity, word::MATCHED),
        ]
        .map(|(marks, rows, total_word)| {
            Scan::new(&mut blocks, marks, rows + 1, total_word, u32::MAX, Status::default())
        });
        let uniforms = blocks.finish(device, &mut self.own.bindings, &self.own.label);
        let mut recorder = self.own.recorder(device, encoder, &uniforms, params, &inputs);
        recorder.clear(COUNTER_SIDES[recorded.side]);
        recorder.clear_words(buffer::MARKS, 0, u64::from(capacity) + 1);
        recorder.clear_words(buffer::MATCHED, 0, u64::from(previous_capacity) + 1);
        let event = [EVENT.is_block(params)];
        let groups = GROUP_SIDES[recorded.side];
        let previous_groups = last.map_or(buffer::NOTHING, |last| GROUP_SIDES[last.side]);
        recorder.stage("event_match", |stage| {
            copied.iter().for_each(|words| words.record(stage));
            let args = [DISPATCH.is_block(dispatch), dispatch::buffer::ARGS.is(groups)];
            stage.run_groups(&DISPATCH_ARGS, 1, &args);
            stage.run_indirect(&EVENT_MATCH, groups, &event);
            scans.into_iter().for_each(|scan| scan.record(stage));
        });
        recorder.stage("event_emit", |stage| {
            stage.run_indirect(&EVENT_EMIT, groups, &event);
            stage.run_indirect(&EVENT_END, previous_groups, &event);
        });
        recorder.clear_words(buffer::TABLE, 0, u64::from(recorded.table_mask()) + 1);
        recorder.stage("event_insert", |stage| {
            stage.run_indirect(&EVENT_INSERT, groups, &event);
        });
    }

    /// Forgets the step before: all pairs of the next one begin.
    pub fn reset(&mut self) {
        self.last = None;
        self.own.forget();
    }

    fn last_rows(&self) -> Option<RowSide> {
        self.last.as_ref().map(|last| last.rows)
    }

    /// Gives all memory back, along with the step before. What was bound of steps is given up too, which keeps their
    /// outputs' memory for up to eight further calls otherwise: call it along with
    /// [`GpuBroadPhase::trim`](crate::GpuBroadPhase::trim).
    pub fn trim(&mut self) {
        self.reset();
        self.own.clear();
        self.uploads.clear();
        self.readings.clear();
    }

    /// Bytes of the buffers on the device, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Reads the events of the last step that was recorded, once it was submitted. Submits copies. On native targets
    /// the call waits for the device, in the browser it awaits it.
    ///
    /// # Errors
    /// [`ReadBackError::NoStep`] before the first step and after [`reset`](Self::reset),
    /// [`ReadBackError::NotSubmitted`] where that step or one before it was not submitted,
    /// [`ReadBackError::Map`] or [`ReadBackError::DeviceLost`] where
    /// the device is lost, [`ReadBackError::Timeout`] where it takes longer than ten minutes, [`ReadBackError::Device`]
    /// where it refused the recording.
    pub async fn read_back(&mut self) -> Result<Events, ReadBackError> {
        self.read(true).await
    }

    /// Reads the events of the last step without the pairs that persist, which are most of all as a rule.
    ///
    /// # Errors
    /// As [`read_back`](Self::read_back).
    pub async fn read_changes(&mut self) -> Result<Events, ReadBackError> {
        self.read(false).await
    }

    /// Records the copying of the events of the last step to the host, right behind it and in the same encoder, without
    /// the pairs that persist: the way for a frame loop, which never waits. They arrive a frame or two later, whatever
    /// is recorded meanwhile: see [`Readback`].
    ///
    /// How many pairs begin and end only the device knows. As many are copied as late answers that arrived had, a
    /// quarter more, and up to 4,096 beyond. [`Events::unread`] counts what is left out, and the next answer has room
    /// for as many.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step and after [`reset`](Self::reset), [`StepError::Dropped`] where its
    /// encoder was dropped, [`StepError::Device`] where the device refuses a buffer: the encoder then has to be
    /// dropped.
    pub fn record_read_back(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<Readback<Events>, StepError> {
        let context = self.own.context().cloned().ok_or(StepError::NoStep)?;
        let Recorded { written, rows, .. } = self.last.clone().ok_or(StepError::NoStep)?;
        if written.is_lost() {
            return Err(StepError::Dropped);
        }
        let [last_begun, last_ended] = [0, 1].map(|which: usize| self.changes[which].load(Ordering::Relaxed));
        // In steps, so that what depends on it is not made anew with each answer.
        let room = |last: u32, most: u32| {
            let steps = last.saturating_add(last / 4) / FEW_CHANGES + 1;
            steps.saturating_mul(FEW_CHANGES).min(most)
        };
        let [begun_room, ended_room] = [
            room(last_begun, rows.capacity),
            room(last_ended, rows.previous_capacity),
        ];
        let device = context.device();
        let scopes = Scopes::begin(device);
        let bytes = ROW_BYTES * u64::from(begun_room.max(1));
        self.own
            .bindings
            .forget(&self.own.buffers.fit(device, [(buffer::BEGUN, bytes)], &[]));
        let mut blocks = Blocks::new(device);
        let params = blocks.push(&EventParams {
            begun_capacity: begun_room,
            ..EventParams::default()
        });
        let uniforms = blocks.finish(device, &mut self.own.bindings, &self.own.label);
        let counters = COUNTER_SIDES[rows.side];
        let mut recorder = self.own.recorder(device, encoder, &uniforms, params, &[]);
        recorder.stage("event_begun", |stage| {
            let binds = [
                EVENT.is_block(params),
                ROWS.is(ROW_SIDES[rows.side]),
                COUNTERS.is(counters),
            ];
            stage.run(&EVENT_BEGUN, begun_room, &binds);
        });
        let copy = |id: BufferId, row_bytes: u64, rows: u64| Copy {
            name: id.name,
            buffer: self.own.buffers.get(id),
            row_bytes,
            bytes: 0..row_bytes * rows,
        };
        let copies = [
            copy(counters, 4, word::COUNT as u64),
            copy(buffer::BEGUN, ROW_BYTES, begun_room.into()),
            copy(buffer::ENDED, ROW_BYTES, ended_room.into()),
        ];
        let reading = reading::copy_out(&self.readings, device, encoder, &copies);
        let heeded = self.own.heed(scopes, &context);
        heeded.inspect_err(|_| self.last = None)?;
        let copied = self.own.end_copy(encoder, &written).ok_or(StepError::NoStep)?;
        let read_counters = move |reading: &Reading| reading.rows::<u32>(counters.name, word::COUNT as u64);
        let changes = Arc::clone(&self.changes);
        let arrives = move |reading: &Reading| {
            if let Ok(counters) = read_counters(reading) {
                for (late, word) in changes.iter().zip([word::BEGUN, word::ENDED]) {
                    let before = late.load(Ordering::Relaxed);
                    // Bursts come again.
                    let after = counters.get(word).copied().unwrap_or(0).max(before - before / 16);
                    late.store(after, Ordering::Relaxed);
                }
            }
        };
        let decode = move |reading: &Reading| {
            let counters = read_counters(reading)?;
            // Nothing was mapped of a device that is lost.
            let counted = |word| counters.get(word).copied().ok_or(ReadBackError::DeviceLost);
            let [began, ends] = [counted(word::BEGUN)?, counted(word::ENDED)?];
            let begun: Vec<_> = reading.rows(buffer::BEGUN.name, began.into())?;
            let ended: Vec<_> = reading.rows(buffer::ENDED.name, ends.into())?;
            let unread = u64::from(began) + u64::from(ends) - (begun.len() + ended.len()) as u64;
            Ok(Events {
                persisting: Vec::new(),
                begun,
                ended,
                status: Status::from_bits(counted(word::STATUS)?),
                unread: u32::try_from(unread).unwrap_or(u32::MAX),
            })
        };
        let shelf = Arc::downgrade(self.readings.shelf());
        Ok(Readback::new(
            &context,
            shelf,
            encoder,
            reading,
            [written, copied],
            arrives,
            decode,
        ))
    }

    async fn read(&mut self, all: bool) -> Result<Events, ReadBackError> {
        let context = self.own.await_errors().await.inspect_err(|_| self.trim())?;
        let Recorded { written, rows, .. } = self.last.clone().ok_or(ReadBackError::NoStep)?;
        reading::check_submitted(&written, false)?;
        let RowSide { side, .. } = rows;
        let counters: Vec<u32> = self
            .read_rows(&context, COUNTER_SIDES[side], 0..word::COUNT as u64)
            .await?;
        reading::check_submitted(&written, true)?;
        let [persisting, begun, ended] =
            [word::PERSISTING, word::BEGUN, word::ENDED].map(|word| u64::from(counters[word]));
        let first = if all { 0 } else { persisting };
        let mut rows: Vec<PairEvent> = self
            .read_rows(&context, ROW_SIDES[side], first..persisting + begun)
            .await?;
        Ok(Events {
            begun: rows.split_off((persisting - first) as usize),
            persisting: rows,
            ended: self.read_rows(&context, buffer::ENDED, 0..ended).await?,
            status: Status::from_bits(counters[word::STATUS]),
            unread: 0,
        })
    }

    async fn read_rows<T: bytemuck::Pod>(
        &self,
        context: &DeviceContext,
        id: BufferId,
        rows: Range<u64>,
    ) -> Result<Vec<T>, ReadBackError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let row_bytes = size_of::<T>() as u64;
        let copy = Copy {
            name: id.name,
            buffer: self.own.buffers.get(id),
            row_bytes,
            bytes: row_bytes * rows.start..row_bytes * rows.end,
        };
        let record = |encoder: &mut wgpu::CommandEncoder| {
            Some(reading::copy_out(&self.readings, context.device(), encoder, &[copy]))
        };
        let (reading, submission) = reading::submit(context, record).await?;
        reading.map(context.device(), submission, self.timeout).await?;
        let read = reading.rows(id.name, rows.end - rows.start);
        reading.put_back(self.readings.shelf());
        read
    }
}

/// The buffers of a step and their bytes. `generations` are the static objects and the moving ones that have one which
/// is not read in place.
fn sizes(recorded: RowSide, generations: [u64; 2]) -> Sizes {
    let (rows, previous) = (u64::from(recorded.capacity), u64::from(recorded.previous_capacity));
    let [static_generations, generations] = generations.map(|count| 4 * count.max(1));
    let mut sizes = vec![
        (ROW_SIDES[recorded.side], ROW_BYTES * rows.max(1)),
        (COUNTER_SIDES[recorded.side], 4 * word::COUNT as u64),
        (GROUP_SIDES[recorded.side], 16),
        (buffer::NOTHING, 4 * word::COUNT as u64),
        (buffer::TABLE, 4 * (u64::from(recorded.table_mask()) + 1)),
        (buffer::MARKS, 4 * (rows + 1)),
        (buffer::MATCHED, 4 * (previous + 1)),
        (buffer::ENDED, ROW_BYTES * previous.max(1)),
        (buffer::STATIC_GENERATIONS, static_generations),
        (buffer::GENERATIONS, generations),
    ];
    sizes.extend(scan::sizes(recorded.capacity.max(recorded.previous_capacity) + 1));
    sizes
}
