//! Culling: which objects of a step each of several views sees.

use std::sync::Arc;
use std::time::Duration;

use crate::addons::component::{Component, check_sizes};
use crate::api::counters::Status;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{ReadBackError, StepError};
use crate::api::frustum::{self, Frustum, Visible, check_views};
use crate::api::input::{self, Source};
use crate::api::memory::MemoryUse;
use crate::api::output::Lists;
use crate::gpu::buffers::{Sizes, buffers, check_own};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::group::Group;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::reading::{self, Copy, Reading};
use crate::gpu::recorder::{Input, PARAMS, Recorder, WORKGROUP, variables};
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::staging::Staging;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::CullParams;
use crate::layout::counters::cull_word as word;
use crate::shared::submission::Dependency;
use crate::stages::scan::{self, Scan};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::{StepOutput, Table};

const VIEW_BYTES: u64 = size_of::<Frustum>() as u64;

passes! {
    "cull" {
    /// Views as the other passes read them.
    CULL_VIEWS = "cull_views";

    /// Which objects of a table each view sees.
    CULL_OBJECTS = "cull_objects";

    /// How many objects each view sees, and each word of bits has.
    CULL_COUNT = "cull_count";

    /// The lists of the objects that views see.
    CULL_EMIT = "cull_emit";

    /// Where lists begin, and indirect draws.
    CULL_ARGS = "cull_args";
    }
}

buffers! {
    /// The views as they are given: [`Frustum`].
    FRUSTA = "frusta": Inputs;
    /// The views as the passes read them.
    VIEWS = "views": Inputs;
    /// A bit for each object and view.
    VISIBLE = "visible": Answers;
    /// How many bits each word has, then the place of its first in the lists.
    PLACES = "places": Answers;
    /// The objects that views see.
    LISTS = "lists": Answers;
    /// Where the list of each view begins.
    OFFSETS = "offsets": Fixed;
    /// Indirect draws, one per view.
    DRAWS = "draws": Fixed as INDIRECT;
    /// What was counted.
    COUNTERS = "counters": Fixed;
}

variables! {
    /// The uniform block of the passes.
    CULL = "cull";
}

use variable::*;

/// What is wanted of [`Culling`] beside the bits, and what it draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CullOptions {
    /// Lists of the objects that views see, with room for so many rows in all. More than objects times views are never
    /// made room for, so that `u32::MAX` holds whatever is seen. `None` for no lists.
    pub list_capacity: Option<u32>,
    /// Indirect draws of what each view sees. `None` for no draws.
    pub draw: Option<CullDraw>,
}

/// What is drawn of each object that a view sees: one instance, all of them from the same vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CullDraw {
    /// So many vertices: four `u32` per view, as `draw_indirect` reads them.
    Vertices(u32),
    /// So many indices: five `u32` per view, as `draw_indexed_indirect` reads them.
    Indices(u32),
}

/// What views see: buffers with the usages `STORAGE` and `COPY_SRC`. The next call of [`Culling::record`] may write
/// into them or replace them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CullOutput {
    /// A bit for each view and object, static objects first, `u32`: the view `v` sees the object `o` where the bit
    /// `o % 32` of the word `v * words + o / 32` is set.
    pub visible: wgpu::Buffer,
    /// Words of bits per view.
    pub words: u32,
    /// Where [`CullOptions::list_capacity`] is given: the objects that each view sees, `u32`, ascending, a list per
    /// view.
    pub lists: Option<Lists>,
    /// Where [`CullOptions::draw`] is given: an indirect draw per view, one behind the other: that of view `v` begins
    /// at byte `16 * v`, or `20 * v` where indices are drawn. The number of instances is that of the objects that the
    /// view sees, with lists those that its list holds. All offsets and the first instance are 0. The buffer has the
    /// usage `INDIRECT` as well.
    pub draws: Option<wgpu::Buffer>,
    /// 40 `u32`: 0 the views that are invalid, 2 and 3 with lists the rows that they need (64 bits, low word first),
    /// from 8 on the objects that each view sees. Others are the library's own.
    pub counters: wgpu::Buffer,
}

/// Finds which objects of a step each of several views sees, on the GPU: cameras, cascades of a shadow map, faces of a
/// cube map, portals, regions that are simulated closely.
///
/// It reads the table of the step, so nothing is uploaded but the views. The boxes are those that the step compared:
/// with the margin, and on axes with a period at the place in `0 <= p < period` of their lower corners, not across the
/// border. Invalid and [excluded](crate::Aabb::EXCLUDED) objects are never seen. [`Frustum`] says exactly which others
/// are.
///
/// ```no_run
/// # use gpu_broad_phase::{CullDraw, CullOptions, Culling, Frustum, GpuBroadPhase, Source, Scene, wgpu};
/// # fn frame(
/// #     encoder: &mut wgpu::CommandEncoder, broad_phase: &mut GpuBroadPhase, input: Scene<'_>,
/// #     pass: impl Fn(&mut wgpu::CommandEncoder) -> wgpu::RenderPass<'_>, pipeline: &wgpu::RenderPipeline,
/// #     culling: &mut Culling, camera: [[f32; 4]; 4],
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let step = broad_phase.step(encoder, input)?;
/// let views = [Frustum::from_view_projection(camera)];
/// let options = CullOptions {
///     list_capacity: Some(u32::MAX),
///     draw: Some(CullDraw::Vertices(36)),
/// };
/// let seen = culling.record(encoder, &step, Source::Host(&views), options)?;
/// let mut pass = pass(encoder);
/// pass.set_pipeline(pipeline);
/// // pass.set_bind_group(..): in the vertex shader `list[offsets[view] + instance_index]` is the object.
/// pass.draw_indirect(&seen.draws.expect("draws are asked for"), 0);
/// # Ok(())
/// # }
/// ```
///
/// [`reference::cull`](crate::reference::cull) says the same on the CPU. Another descriptor of the broad phase needs
/// nothing of this.
///
/// Nothing is read back: the device counts the objects. One `Culling` holds the output of its last call. Several may be
/// recorded behind one step.
///
/// Memory: 1 bit for each object and view. With lists as much again, and 4 bytes per row.
pub struct Culling {
    own: Component,
    uploads: Staging,
    readings: Staging,
    timeout: Duration,
    last: Option<Recorded>,
}

/// A call that was recorded.
#[derive(Clone)]
struct Recorded {
    written: Dependency,
    params: CullParams,
}

/// The uniform blocks of a call.
struct CullBlocks {
    cull: Block,
    scan: Option<Scan>,
}

impl Culling {
    /// Most views of a call.
    pub const MOST_VIEWS: u32 = frustum::MOST_VIEWS;

    /// Culling behind the steps of broad phases on one device. `label` is put before the labels of all buffers,
    /// bind groups and passes, `gpu_broad_phase/cull` where there is none.
    pub fn new(label: Option<&str>) -> Self {
        let passes = [PASSES, scan::PASSES].into_iter().flatten().copied();
        Self {
            own: Component::new(label.unwrap_or("gpu_broad_phase/cull"), passes, &[]),
            uploads: Staging::uploads(),
            readings: Staging::readings(),
            timeout: BroadPhaseDescriptor::default().outputs.timeout,
            last: None,
        }
    }

    /// What makes its pipelines ahead of the first call, for the steps of this broad phase: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records the finding of what views see behind a step: up to 32 views, [`MOST_VIEWS`](Self::MOST_VIEWS). Never
    /// submits, waits or reads back. A [`page`](crate::GpuBroadPhase::page) or a
    /// [`query`](crate::GpuBroadPhase::query) of a step will do in its place, and so will the output of an earlier step
    /// as long as no other one is submitted before this call's encoder.
    ///
    /// # Errors
    /// [`InputError::TooMany`](crate::InputError::TooMany) for more views,
    /// [`InputError::Usage`](crate::InputError::Usage), [`InputError::NotInPlace`](crate::InputError::NotInPlace) and
    /// [`InputError::BufferTooSmall`](crate::InputError::BufferTooSmall) for a buffer of views that cannot be read,
    /// [`InputError::BufferTooLarge`](crate::InputError::BufferTooLarge) where bits or lists do not fit a binding of
    /// the device, [`StepError::OtherDevice`] on another device than in the first call,
    /// [`InputError::OwnOutput`](crate::InputError::OwnOutput) for views in a buffer that the call writes,
    /// [`StepError::Dropped`] where the encoder of the step is known to have been dropped, where a later step was
    /// submitted, or once where the last call was submitted out of order: nothing is recorded then.
    /// [`StepError::Device`] where the device refuses a buffer: the encoder has to be dropped. Browsers tell this
    /// later: the next call returns it.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        views: Source<'_, Frustum>,
        options: CullOptions,
    ) -> Result<CullOutput, StepError> {
        check_views(views.count())?;
        let table = &step.table;
        let context = self.own.begin(step, &table.dependencies)?;
        let device = context.device();
        input::check_bound("views", &views, &device.limits())?;
        check_own([("views", views.buffer())], &[&self.own.buffers])?;
        let params = params(table.params.all_objects(), table.kind.1, views.count() as u32, options);
        let sizes = sizes(&params, views.is_caller_owned());
        check_sizes("what views see", &sizes, device)?;
        let group = Group::begin(device, encoder, &self.own.label);
        let scopes = Scopes::begin(device);
        self.own.bindings.begin();
        self.uploads.begin();
        self.readings.begin();
        self.own.bindings.forget(&self.own.buffers.fit(device, sizes, &[]));
        self.record_passes(device, encoder, step, views, &params);
        let ended = self.own.end(encoder, scopes, &context, table.dependencies.clone());
        group.end(encoder);
        let written = ended.inspect_err(|_| self.trim())?;
        self.last = Some(Recorded { written, params });
        let own = |id| self.own.buffers.get(id).clone();
        Ok(CullOutput {
            visible: own(buffer::VISIBLE),
            words: params.words,
            lists: options.list_capacity.map(|_| Lists {
                buffer: own(buffer::LISTS),
                offsets: own(buffer::OFFSETS),
                capacity: params.list_capacity,
                first: 0,
            }),
            draws: options.draw.map(|_| own(buffer::DRAWS)),
            counters: own(buffer::COUNTERS),
        })
    }

    fn record_passes(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        views: Source<'_, Frustum>,
        params: &CullParams,
    ) {
        let frusta = match views {
            Source::Device { buffer, count: 1.., .. } => buffer.clone(),
            Source::Device { .. } => self.own.buffers.get(buffer::FRUSTA).clone(),
            Source::Host(views) => {
                let own = self.own.buffers.get(buffer::FRUSTA);
                self.uploads
                    .upload(device, encoder, &self.own.label, bytemuck::cast_slice(views), own);
                own.clone()
            }
        };
        let frusta = Input {
            variable: buffer::FRUSTA.into(),
            buffer: frusta,
            offset: views
                .placement(device.limits().min_storage_buffer_offset_alignment)
                .offset,
            bytes: VIEW_BYTES * u64::from(params.view_count.max(1)),
        };
        let tables = step.static_table.iter().chain([&step.table]);
        let mut blocks = Blocks::new(device);
        let tables: Vec<_> = tables.map(|table| (table, blocks.push(&table.params))).collect();
        let words = params.view_count * params.words;
        let blocks_of_call = CullBlocks {
            cull: blocks.push(params),
            scan: (params.lists != 0).then(|| {
                let status = Status::default();
                Scan::new(&mut blocks, buffer::PLACES, words + 1, word::NEEDED, u32::MAX, status)
            }),
        };
        let uniforms = blocks.finish(device, &mut self.own.bindings, &self.own.label);
        let cull = CULL.is_block(blocks_of_call.cull);
        for (place, (table, block)) in tables.iter().enumerate() {
            let mut inputs = inputs(table);
            inputs.push(frusta.clone());
            let mut recorder = self.own.recorder(device, encoder, &uniforms, *block, &inputs);
            if place == 0 {
                recorder.clear(buffer::COUNTERS);
                recorder.clear_words(buffer::VISIBLE, 0, u64::from(words).max(1));
            }
            recorder.stage("cull", |stage| {
                if place == 0 {
                    stage.run_groups(&CULL_VIEWS, 1, &[cull]);
                }
                stage.run(&CULL_OBJECTS, table.params.object_count, &[cull]);
            });
        }
        let mut recorder = self.own.recorder(device, encoder, &uniforms, blocks_of_call.cull, &[]);
        record_outputs(&mut recorder, params, blocks_of_call);
    }

    /// Gives all memory back. What was bound of steps is given up too, which keeps their outputs' memory for up to
    /// eight further calls otherwise: call it along with [`GpuBroadPhase::trim`](crate::GpuBroadPhase::trim).
    pub fn trim(&mut self) {
        self.last = None;
        self.own.clear();
        self.uploads.clear();
        self.readings.clear();
    }

    /// Bytes of the buffers on the device, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Reads what the views of the last call see, once that was submitted: all of it, whatever room lists have. Submits
    /// copies. On native targets the call waits for the device, in the browser it awaits it.
    ///
    /// # Errors
    /// [`ReadBackError::NoStep`] before the first call, [`ReadBackError::NotSubmitted`] where that call or its step was
    /// not submitted, or a later step was submitted in between, [`ReadBackError::Map`] or [`ReadBackError::DeviceLost`]
    /// where the device is lost, [`ReadBackError::Timeout`] where it takes longer than ten minutes,
    /// [`ReadBackError::Device`] where it refused the recording.
    pub async fn read_back(&mut self) -> Result<Visible, ReadBackError> {
        let context = self.own.await_errors().await.inspect_err(|_| self.trim())?;
        let Recorded { written, params } = self.last.clone().ok_or(ReadBackError::NoStep)?;
        reading::check_submitted(&written, false)?;
        let record = |encoder: &mut wgpu::CommandEncoder| Some(self.copy_out(&context, encoder, &params));
        let (reading, submission) = reading::submit(&context, record).await?;
        reading.map(context.device(), submission, self.timeout).await?;
        reading::check_submitted(&written, true)?;
        let seen = seen(&reading, &params);
        reading.put_back(self.readings.shelf());
        seen
    }

    /// Records the copying of what the views of the last call see to the host, right behind it and in the same encoder:
    /// the way for a frame loop, which never waits. It arrives a frame or two later, whatever is recorded meanwhile:
    /// see [`Readback`].
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first call, [`StepError::Dropped`] where its encoder was dropped.
    pub fn record_read_back(&self, encoder: &mut wgpu::CommandEncoder) -> Result<Readback<Visible>, StepError> {
        let context = self.own.context().ok_or(StepError::NoStep)?;
        let Recorded { written, params } = self.last.clone().ok_or(StepError::NoStep)?;
        if written.is_lost() {
            return Err(StepError::Dropped);
        }
        let reading = self.copy_out(context, encoder, &params);
        let copied = self.own.end_copy(encoder, &written).ok_or(StepError::NoStep)?;
        let decode = move |reading: &Reading| seen(reading, &params);
        let shelf = Arc::downgrade(self.readings.shelf());
        Ok(Readback::new(
            context,
            shelf,
            encoder,
            reading,
            [written, copied],
            |_| {},
            decode,
        ))
    }

    /// Records the copies of a read-back.
    fn copy_out(&self, context: &DeviceContext, encoder: &mut wgpu::CommandEncoder, params: &CullParams) -> Reading {
        let words = u64::from(params.view_count * params.words);
        let copies = [(buffer::COUNTERS, word::COUNT as u64), (buffer::VISIBLE, words)].map(|(id, words)| Copy {
            name: id.name,
            buffer: self.own.buffers.get(id),
            row_bytes: 4,
            bytes: 0..4 * words,
        });
        reading::copy_out(&self.readings, context.device(), encoder, &copies)
    }
}

/// What views see, once it is mapped.
fn seen(reading: &Reading, params: &CullParams) -> Result<Visible, ReadBackError> {
    let words = u64::from(params.view_count * params.words);
    let counters: Vec<u32> = reading.rows(buffer::COUNTERS.name, word::COUNT as u64)?;
    let bits: Vec<u32> = reading.rows(buffer::VISIBLE.name, words)?;
    // Nothing was mapped of a device that is lost.
    let invalid = *counters.get(word::INVALID).ok_or(ReadBackError::DeviceLost)?;
    if (bits.len() as u64) < words {
        return Err(ReadBackError::DeviceLost);
    }
    let seen_by = |view: u32| {
        let first = (view * params.words) as usize;
        objects_in(&bits[first..first + params.words as usize]).collect()
    };
    Ok(Visible {
        objects: (0..params.view_count).map(seen_by).collect(),
        invalid,
    })
}

/// The objects whose bits are set.
fn objects_in(words: &[u32]) -> impl Iterator<Item = u32> {
    let words = (0..).zip(words);
    words.flat_map(|(place, &word)| {
        (0..32)
            .filter(move |bit| word >> bit & 1 != 0)
            .map(move |bit| 32 * place + bit)
    })
}

/// Counts, lists, offsets and draws.
fn record_outputs(recorder: &mut Recorder<'_>, params: &CullParams, blocks: CullBlocks) {
    let words = params.view_count * params.words;
    let binds = [CULL.is_block(blocks.cull)];
    if params.lists != 0 {
        recorder.clear_words(buffer::PLACES, words as usize, 1);
    }
    recorder.stage("cull_lists", |stage| {
        let groups = params.view_count * params.words.div_ceil(WORKGROUP);
        stage.run_groups(&CULL_COUNT, groups, &binds);
        if let Some(scan) = blocks.scan {
            scan.record(stage);
            stage.run(&CULL_EMIT, words, &binds);
        }
        if params.lists != 0 || params.draw_words != 0 {
            stage.run_groups(&CULL_ARGS, 1, &binds);
        }
    });
}

/// What the passes read of a table.
fn inputs(table: &Table) -> Vec<Input> {
    // The recorder has the block.
    let parts = table.parts().into_iter().filter(|(variable, _)| *variable != PARAMS);
    parts
        .map(|(variable, part)| Input {
            variable,
            buffer: part.buffer.clone(),
            offset: part.offset,
            bytes: part.size.map_or_else(|| part.buffer.size(), wgpu::BufferSize::get),
        })
        .collect()
}

/// The uniform block of a call.
fn params(objects: u32, filters: bool, view_count: u32, options: CullOptions) -> CullParams {
    let (draw_words, draw_count) = match options.draw {
        None => (0, 0),
        Some(CullDraw::Vertices(count)) => (4, count),
        Some(CullDraw::Indices(count)) => (5, count),
    };
    CullParams {
        view_count,
        words: objects.div_ceil(32),
        filters: filters.into(),
        lists: u32::from(options.list_capacity.is_some()),
        list_capacity: options
            .list_capacity
            .unwrap_or(0)
            .min(objects.saturating_mul(view_count)),
        draw_words,
        draw_count,
    }
}

/// The buffers of a call and their bytes.
fn sizes(params: &CullParams, are_views_caller_owned: bool) -> Sizes {
    let view_count = u64::from(params.view_count.max(1));
    let words = u64::from(params.view_count) * u64::from(params.words);
    let own_views = if are_views_caller_owned { 1 } else { view_count };
    let mut sizes = vec![
        (buffer::FRUSTA, VIEW_BYTES * own_views),
        (buffer::VIEWS, VIEW_BYTES * view_count),
        (buffer::VISIBLE, 4 * words.max(1)),
        (buffer::PLACES, 4 * (u64::from(params.lists) * words + 1)),
        (buffer::LISTS, 4 * u64::from(params.list_capacity.max(1))),
        (buffer::OFFSETS, 4 * (view_count + 1)),
        (buffer::DRAWS, 4 * (view_count * u64::from(params.draw_words)).max(1)),
        (buffer::COUNTERS, 4 * word::COUNT as u64),
    ];
    if params.lists != 0 {
        sizes.extend(scan::sizes(words as u32 + 1));
    }
    sizes
}
