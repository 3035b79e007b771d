use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::addons::component::variable::STEP_COUNTERS;
use crate::addons::component::{Component, check_sizes};
use crate::addons::dispatch::variable::DISPATCH;
use crate::addons::dispatch::{self, DISPATCH_ARGS};
use crate::api::counters::{self, Output, Status};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{ReadBackError, StepError};
use crate::api::input::{self, Placement, Source};
use crate::api::memory::MemoryUse;
use crate::api::types::PairEvent;
use crate::gpu::buffers::{BufferId, Sizes, buffers, check_own};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::group::Group;
use crate::gpu::passes::{Passes, WORKGROUP, variables};
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::reading::{self, Copy, Reading};
use crate::gpu::recorder::Input;
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::staging::Staging;
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{DispatchParams, EventParams};
use crate::layout::counters::event_word as word;
use crate::shared::recording::Recording;
use crate::stages::input::{Copied, Copying, GATHER_INPUT};
use crate::stages::pairs::buffer::PAIRS;
use crate::stages::scan::{self, Scan};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

const ROW_BYTES: u64 = size_of::<PairEvent>() as u64;
/// Copies of begun and ended pairs are rounded up to a multiple of this number of rows (64 KiB), so that buffers are
/// seldom replaced.
const ROW_STEP: u32 = 4096;

passes! {
    "events" {
    EVENT_MATCH = "event_match";

    EVENT_EMIT = "event_emit";

    EVENT_BEGUN = "event_begun";

    EVENT_END = "event_end";

    EVENT_INSERT = "event_insert";
    }
}

buffers! {
    /// The step's pairs as `PairEvent`s, persisting pairs before begun ones. Buffers `_0` and `_1` alternate by step.
    ROWS_0 = "rows_0": Pairs;
    ROWS_1 = "rows_1": Pairs;
    COUNTERS_0 = "counters_0": Fixed;
    COUNTERS_1 = "counters_1": Fixed;
    GROUPS_0 = "groups_0": Fixed as INDIRECT;
    GROUPS_1 = "groups_1": Fixed as INDIRECT;
    /// Zeros, in place of the previous step's buffers in the first step.
    NOTHING = "nothing": Fixed as INDIRECT;
    TABLE = "table": Pairs;
    /// Per pair: 1 if it persists. After the scan: the number of persisting pairs before it.
    MARKS = "marks": Pairs;
    /// Per row of the previous step: 1 if its pair persists. After the scan: the number of such rows before it.
    MATCHED = "matched": Pairs;
    ENDED = "ended": Pairs;
    BEGUN = "begun": Pairs;
    STATIC_GENERATIONS = "static_generations": Inputs;
    GENERATIONS = "generations": Inputs;
    SOURCE_STATIC_GENERATIONS = "source_static_generations": Inputs;
    SOURCE_GENERATIONS = "source_generations": Inputs;
}

const ROW_BUFFERS: [BufferId; 2] = [buffer::ROWS_0, buffer::ROWS_1];
const COUNTER_BUFFERS: [BufferId; 2] = [buffer::COUNTERS_0, buffer::COUNTERS_1];
const GROUP_BUFFERS: [BufferId; 2] = [buffer::GROUPS_0, buffer::GROUPS_1];

variables! {
    EVENT = "event";
    ROWS = "rows";
    COUNTERS = "counters";
    PREVIOUS_ROWS = "previous_rows";
    PREVIOUS_COUNTERS = "previous_counters";
    PREVIOUS_TABLE = "previous_table";
}

use variable::*;

/// Names of objects across steps: an index, and a generation that distinguishes its successive objects.
///
/// [`ObjectSet::names`](crate::ObjectSet::names) returns the names of its handles. The default names objects by index
/// alone, so an index must always mean the same object.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectNames<'a> {
    /// Number of static objects, which may change. A static object's name is its index with the top bit set; a moving
    /// object's name is its index among the moving objects.
    pub static_count: u32,
    /// Generation of each static object. A new object that reuses an index needs another generation than the previous
    /// object. Objects past the end of the source have generation 0.
    pub static_generations: Source<'a, u32>,
    /// Generation of each moving object, as for static objects.
    pub generations: Source<'a, u32>,
}

/// Events of a step: buffers with the usages `STORAGE` and `COPY_SRC`. The next two [`PairEvents::record`] calls may
/// overwrite or replace them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventOutput {
    /// The step's pairs as [`PairEvent`]s: first persisting, then begun pairs, each in pair order.
    pub rows: wgpu::Buffer,
    /// [`PairEvent`]s that only the previous step had, in the order of its `rows`.
    pub ended: wgpu::Buffer,
    /// Eight `u32`: words 0, 4 and 6 are the numbers of persisting, begun and ended pairs. Word 5 has the status bits
    /// for missing pairs ([`Status::PAIRS`], [`Status::ENTRIES`], [`Status::ROUNDS`], [`Status::CUT`]). Missing pairs
    /// count as ended, and begin when they return.
    pub counters: wgpu::Buffer,
    /// Capacity of `rows`: the step's pair capacity, which always suffices.
    pub capacity: u32,
    /// Capacity of `ended`: the previous step's pair capacity.
    pub ended_capacity: u32,
}

/// Events of a step on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Events {
    /// Pairs that the previous step also had, in pair order. Empty after [`read_changes`](PairEvents::read_changes).
    pub persisting: Vec<PairEvent>,
    /// Pairs that the previous step lacked, in pair order.
    pub begun: Vec<PairEvent>,
    /// Pairs that only the previous step had.
    pub ended: Vec<PairEvent>,
    /// Status bits for missing pairs, such as [`Status::PAIRS`]. Missing pairs count as ended. 0 if none is missing.
    pub status: Status,
    /// Begun and ended pairs that did not fit into the copy of [`record_read_back`](PairEvents::record_read_back).
    pub unread: u32,
}

/// Finds the pairs that begin, persist and end from one step to the next, on the GPU.
///
/// Pairs are identified by the names of their objects ([`ObjectNames`]). A pair ends when one of its objects is
/// removed; a new object with that index begins new pairs. Events have the order of the step's pairs. They continue
/// after [`GpuBroadPhase::set_descriptor`](crate::GpuBroadPhase::set_descriptor) without a [`reset`](Self::reset).
///
/// [`PairTracker`](crate::PairTracker) has an example, and keeps the current pairs on the host.
///
/// Memory: 64 to 72 bytes per row of pair capacity, including the previous step's rows. Generations from the host take
/// 4 bytes per object; each call uploads them.
pub struct PairEvents {
    own: Component,
    readings: Staging,
    timeout: Duration,
    last: Option<Recorded>,
    changes: Arc<[AtomicU32; 2]>,
}

#[derive(Clone)]
struct Recorded {
    written: Recording,
    rows: RowBuffers,
}

#[derive(Clone, Copy)]
struct RowBuffers {
    side: usize,
    capacity: u32,
    previous_capacity: u32,
}

impl RowBuffers {
    /// At most half of the slots are used.
    fn table_mask(self) -> u32 {
        (2 * self.capacity.max(1)).next_power_of_two() - 1
    }
}

impl PairEvents {
    /// Creates the component for one broad phase. `label` prefixes all labels; the default is `gpu_broad_phase/events`.
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
            readings: Staging::readings(),
            timeout: BroadPhaseDescriptor::default().outputs.timeout,
            last: None,
            changes: Arc::default(),
        }
    }

    /// Prepares the pipelines: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records the events of `step`, directly after it and before any [`page`](crate::GpuBroadPhase::page). In the
    /// first call and after a [`reset`](Self::reset), all pairs begin. Never submits, waits or reads back.
    ///
    /// # Errors
    /// Nothing is recorded, except with [`StepError::Device`].
    /// - [`StepError::Dropped`]: an encoder was dropped, so the previous pairs are unknown. Call [`reset`](Self::reset)
    ///   to let all pairs begin again.
    /// - [`StepError::NoOutput`]: the step has no pairs.
    /// - [`StepError::Page`]: `step` is a page.
    /// - [`InputError::Usage`](crate::InputError::Usage),
    ///   [`InputError::BufferTooSmall`](crate::InputError::BufferTooSmall) and similar: a buffer of generations cannot
    ///   be read.
    /// - [`InputError::BufferTooLarge`](crate::InputError::BufferTooLarge): the rows exceed the binding limit.
    /// - [`StepError::Device`]: the device refused a buffer; drop the encoder.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        names: ObjectNames<'_>,
    ) -> Result<EventOutput, StepError> {
        let pairs = step
            .pairs
            .as_ref()
            .ok_or(StepError::NoOutput { output: Output::Pairs })?;
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
        let before = self.last.iter().map(|last| &last.written);
        let (written, mark) = Recording::begin();
        let written = written.reading(before.chain([&step.recording]));
        let context = self.own.begin(step, &written)?;
        let device = context.device();
        let previous = self.last_rows();
        let recorded = RowBuffers {
            side: previous.map_or(0, |previous| 1 - previous.side),
            capacity: pairs.capacity,
            previous_capacity: previous.map_or(0, |previous| previous.capacity),
        };
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
        self.readings.begin();
        self.record_passes(device, encoder, [&pairs.buffer, &step.counters], names, sizes, recorded);
        self.readings.mark_end(device, encoder, mark);
        let checked = self.own.check_errors(scopes, &context);
        group.end(encoder);
        checked.inspect_err(|_| self.trim())?;
        self.last = Some(Recorded {
            written,
            rows: recorded,
        });
        Ok(EventOutput {
            rows: self.own.buffers.get(ROW_BUFFERS[recorded.side]).clone(),
            ended: self.own.buffers.get(buffer::ENDED).clone(),
            counters: self.own.buffers.get(COUNTER_BUFFERS[recorded.side]).clone(),
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
        recorded: RowBuffers,
    ) {
        // Kept for the passes, which read the previous step's table even if `fit` replaces it.
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
            Input::whole(ROWS, own(ROW_BUFFERS[recorded.side])),
            Input::whole(COUNTERS, own(COUNTER_BUFFERS[recorded.side])),
            Input::whole(PREVIOUS_ROWS, of_previous(ROW_BUFFERS[1 - recorded.side])),
            Input::whole(PREVIOUS_COUNTERS, of_previous(COUNTER_BUFFERS[1 - recorded.side])),
            Input::whole(PREVIOUS_TABLE, previous_table),
        ];
        let mut blocks = Blocks::new(device);
        let (generations, copied) = self.generations(device, encoder, &mut blocks, names);
        inputs.extend(generations);
        let (capacity, previous_capacity) = (recorded.capacity, recorded.previous_capacity);
        let params = blocks.push(&EventParams {
            pair_capacity: capacity,
            previous_capacity,
            table_mask: recorded.table_mask(),
            previous_mask: last.map_or(0, RowBuffers::table_mask),
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
        let uniforms = self.own.write(device, encoder, blocks);
        let mut passes = Passes::default();
        passes.clear(COUNTER_BUFFERS[recorded.side]);
        passes.clear_words(buffer::MARKS, 0, u64::from(capacity) + 1);
        passes.clear_words(buffer::MATCHED, 0, u64::from(previous_capacity) + 1);
        let event = [EVENT.is_block(params)];
        let groups = GROUP_BUFFERS[recorded.side];
        let previous_groups = last.map_or(buffer::NOTHING, |last| GROUP_BUFFERS[last.side]);
        passes.stage("event_match", |stage| {
            copied.iter().for_each(|words| words.record(stage));
            let args = [DISPATCH.is_block(dispatch), dispatch::buffer::ARGS.is(groups)];
            stage.run_groups(&DISPATCH_ARGS, 1, &args);
            stage.run_indirect(&EVENT_MATCH, groups, &event);
            scans.into_iter().for_each(|scan| scan.record(stage));
        });
        passes.stage("event_emit", |stage| {
            stage.run_indirect(&EVENT_EMIT, groups, &event);
            stage.run_indirect(&EVENT_END, previous_groups, &event);
        });
        passes.clear_words(buffer::TABLE, 0, u64::from(recorded.table_mask()) + 1);
        passes.stage("event_insert", |stage| {
            stage.run_indirect(&EVENT_INSERT, groups, &event);
        });
        self.own.record(device, encoder, &passes, &uniforms, &inputs);
    }

    /// Uploads generations from the host. Returns those to copy to a packed buffer too.
    fn generations(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        blocks: &mut Blocks,
        names: ObjectNames<'_>,
    ) -> (Vec<Input>, Vec<Copied>) {
        let (mut inputs, mut copied) = (Vec::new(), Vec::new());
        let alignment = device.limits().min_storage_buffer_offset_alignment;
        for (id, source_id, source) in [
            (
                buffer::STATIC_GENERATIONS,
                buffer::SOURCE_STATIC_GENERATIONS,
                names.static_generations,
            ),
            (buffer::GENERATIONS, buffer::SOURCE_GENERATIONS, names.generations),
        ] {
            let Placement { offset, bytes, layout } = source.placement(alignment);
            if let Some(layout) = layout {
                let copying = Copying::of_words(layout, source.count() as u32);
                copied.push(Copied::new(blocks, copying, [source_id, source_id, id]));
            }
            let buffer = match source {
                Source::Device(source) if source.count > 0 => source.buffer,
                Source::Device(_) => self.own.buffers.get(id),
                Source::Host(words) => {
                    let own = self.own.buffers.get(id);
                    self.own
                        .uploads
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
        (inputs, copied)
    }

    /// Forgets the previous step: all pairs of the next step begin.
    pub fn reset(&mut self) {
        self.last = None;
    }

    fn last_rows(&self) -> Option<RowBuffers> {
        self.last.as_ref().map(|last| last.rows)
    }

    /// Frees all memory and forgets the previous step. Drops bind groups of past steps, which keep their outputs alive.
    /// Call it with [`GpuBroadPhase::trim`](crate::GpuBroadPhase::trim).
    pub fn trim(&mut self) {
        self.reset();
        self.own.clear();
        self.readings.clear();
    }

    /// Bytes of device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Reads the events of the last step after its submission. Submits copies. Waits for the device on native targets,
    /// awaits it in browsers.
    ///
    /// # Errors
    /// - [`ReadBackError::NoStep`]: nothing was recorded since the start or [`reset`](Self::reset).
    /// - [`ReadBackError::NotSubmitted`]: the last step or an earlier one was not submitted.
    /// - [`ReadBackError::Map`], [`ReadBackError::DeviceLost`]: the device is lost.
    /// - [`ReadBackError::Timeout`]: no result within ten minutes.
    /// - [`ReadBackError::Device`]: the device refused the recording.
    pub async fn read_back(&mut self) -> Result<Events, ReadBackError> {
        self.read(true).await
    }

    /// Reads only the last step's begun and ended pairs, usually a small share.
    ///
    /// # Errors
    /// As [`read_back`](Self::read_back).
    pub async fn read_changes(&mut self) -> Result<Events, ReadBackError> {
        self.read(false).await
    }

    /// Records a copy of the last step's begun and ended pairs to the host, directly after [`record`](Self::record) in
    /// the same encoder. Never waits: the result arrives a frame or two later. See [`Readback`].
    ///
    /// The copy has room for the rows of recent results, a quarter more, and up to 4,096 spare rows. [`Events::unread`]
    /// counts rows that did not fit; later copies have room for them.
    ///
    /// # Errors
    /// - [`StepError::NoStep`]: nothing was recorded since the start or [`reset`](Self::reset).
    /// - [`StepError::Dropped`]: the last step's encoder was dropped.
    /// - [`StepError::Device`]: the device refused a buffer; drop the encoder.
    pub fn record_read_back(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<Readback<Events>, StepError> {
        let context = self.own.context().cloned().ok_or(StepError::NoStep)?;
        let Recorded { written, rows } = self.last.clone().ok_or(StepError::NoStep)?;
        if written.is_dropped() {
            return Err(StepError::Dropped);
        }
        let [last_begun, last_ended] = [0, 1].map(|which: usize| self.changes[which].load(Ordering::Relaxed));
        let room = |last: u32, most: u32| {
            let steps = last.saturating_add(last / 4) / ROW_STEP + 1;
            steps.saturating_mul(ROW_STEP).min(most)
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
        let uniforms = self.own.write(device, encoder, blocks);
        let counters = COUNTER_BUFFERS[rows.side];
        let mut passes = Passes::default();
        passes.stage("event_begun", |stage| {
            let binds = [
                EVENT.is_block(params),
                ROWS.is(ROW_BUFFERS[rows.side]),
                COUNTERS.is(counters),
            ];
            stage.run(&EVENT_BEGUN, begun_room, &binds);
        });
        self.own.record(device, encoder, &passes, &uniforms, &[]);
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
        let heeded = self.own.check_errors(scopes, &context);
        heeded.inspect_err(|_| self.last = None)?;
        let changes = Arc::clone(&self.changes);
        let arrives = move |reading: &Reading| {
            if let Ok(counters) = read_counters(reading, counters) {
                for (late, word) in changes.iter().zip([word::BEGUN, word::ENDED]) {
                    let before = late.load(Ordering::Relaxed);
                    // Falls by at most a sixteenth per result, since bursts tend to return.
                    let after = counters.get(word).copied().unwrap_or(0).max(before - before / 16);
                    late.store(after, Ordering::Relaxed);
                }
            }
        };
        let decode = move |reading: &Reading| read_changes(reading, counters);
        let pool = Arc::downgrade(self.readings.pool());
        Ok(Readback::new(
            &context, pool, encoder, reading, written, arrives, decode,
        ))
    }

    async fn read(&mut self, all: bool) -> Result<Events, ReadBackError> {
        let context = self.own.await_errors().await.inspect_err(|_| self.trim())?;
        let Recorded { written, rows } = self.last.clone().ok_or(ReadBackError::NoStep)?;
        reading::check_dropped(&written)?;
        let RowBuffers { side, .. } = rows;
        let counters: Vec<u32> = self
            .read_rows(&context, COUNTER_BUFFERS[side], 0..word::COUNT as u64)
            .await?;
        reading::check_submitted(&written)?;
        let [persisting, begun, ended] =
            [word::PERSISTING, word::BEGUN, word::ENDED].map(|word| u64::from(counters[word]));
        let first = if all { 0 } else { persisting };
        let mut rows: Vec<PairEvent> = self
            .read_rows(&context, ROW_BUFFERS[side], first..persisting + begun)
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
        reading.recycle(self.readings.pool());
        read
    }
}

fn read_counters(reading: &Reading, counters: BufferId) -> Result<Vec<u32>, ReadBackError> {
    reading.rows(counters.name, word::COUNT as u64)
}

fn read_changes(reading: &Reading, counters: BufferId) -> Result<Events, ReadBackError> {
    let counters = read_counters(reading, counters)?;
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
}

fn sizes(recorded: RowBuffers, generations: [u64; 2]) -> Sizes {
    let (rows, previous) = (u64::from(recorded.capacity), u64::from(recorded.previous_capacity));
    let [static_generations, generations] = generations.map(|count| 4 * count.max(1));
    let mut sizes = vec![
        (ROW_BUFFERS[recorded.side], ROW_BYTES * rows.max(1)),
        (COUNTER_BUFFERS[recorded.side], 4 * word::COUNT as u64),
        (GROUP_BUFFERS[recorded.side], 16),
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
