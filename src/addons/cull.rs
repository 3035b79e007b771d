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
use crate::gpu::passes::{Passes, WORKGROUP, variables};
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::gpu::reading::{self, Copy, Reading};
use crate::gpu::recorder::Input;
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::staging::Staging;
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::CullParams;
use crate::layout::counters::cull_word as word;
use crate::shared::recording::Recording;
use crate::stages::scan::{self, Scan};
use crate::stages::table::PARAMS;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::{StepOutput, Table};

const VIEW_BYTES: u64 = size_of::<Frustum>() as u64;

passes! {
    "cull" {
    CULL_VIEWS = "cull_views";

    CULL_OBJECTS = "cull_objects";

    CULL_COUNT = "cull_count";

    CULL_EMIT = "cull_emit";

    CULL_ARGS = "cull_args";
    }
}

buffers! {
    FRUSTA = "frusta": Inputs;
    VIEWS = "views": Inputs;
    VISIBLE = "visible": Results;
    /// Number of set bits in each word of `visible`. The scan turns it into the list row of the word's first object.
    LIST_ROWS = "places": Results;
    LISTS = "lists": Results;
    OFFSETS = "offsets": Fixed;
    DRAWS = "draws": Fixed as INDIRECT;
    COUNTERS = "counters": Fixed;
}

variables! {
    CULL = "cull";
}

use variable::*;

/// Optional outputs of [`Culling`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CullOptions {
    /// Row capacity of the lists of visible objects, for all views together. Capped at objects times views, so
    /// `u32::MAX` holds every result. `None`: no lists.
    pub list_capacity: Option<u32>,
    /// One indirect draw per view, of its visible objects. `None`: no draws.
    pub draw: Option<CullDraw>,
}

/// Geometry of a visible object. Each object is one instance of the same vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CullDraw {
    /// Number of vertices per object. Draws have four `u32` per view, for `draw_indirect`.
    Vertices(u32),
    /// Number of indices per object. Draws have five `u32` per view, for `draw_indexed_indirect`.
    Indices(u32),
}

/// Results of culling: buffers with the usages `STORAGE` and `COPY_SRC`. The next [`Culling::record`] may overwrite or
/// replace them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CullOutput {
    /// Bits as `u32`: view `v` sees object `o` if bit `o % 32` of word `v * words + o / 32` is set. Static objects have
    /// the lowest indices.
    pub visible: wgpu::Buffer,
    /// Number of words per view in `visible`.
    pub words: u32,
    /// Indices of each view's visible objects, `u32`, ascending, if [`CullOptions::list_capacity`] is set.
    pub lists: Option<Lists>,
    /// One indirect draw per view if [`CullOptions::draw`] is set. Has the usage `INDIRECT`, too.
    ///
    /// The draw of view `v` starts at byte `16 * v`, or `20 * v` with indices. Its instance count is the number of
    /// visible objects or, with lists, of objects in the view's list. First vertex or index, base vertex and first
    /// instance are 0.
    pub draws: Option<wgpu::Buffer>,
    /// 40 `u32`. Word 0: number of invalid views. Words 2 and 3: 64-bit number of list rows needed, low word first
    /// (only with lists). Word `8 + v`: number of objects that view `v` sees. Others are reserved.
    pub counters: wgpu::Buffer,
}

/// Finds the objects of a step that each of several views sees, on the GPU. Views are cameras, shadow cascades,
/// cube-map faces, portals, or regions to simulate closely.
///
/// Only views are uploaded. Boxes include the margin. On periodic axes, a box has its lower corner in
/// `0 <= p < period`; its periodic images are not tested. [`Frustum`] defines which objects are visible; invalid and
/// [excluded](crate::Aabb::EXCLUDED) ones never are.
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
/// [`reference::cull`](crate::reference::cull) is the CPU equivalent. A `Culling` stays usable after
/// [`GpuBroadPhase::set_descriptor`](crate::GpuBroadPhase::set_descriptor).
///
/// Memory: 1 bit per object and view. Lists add another bit per object and view, and 4 bytes per row.
pub struct Culling {
    own: Component,
    readings: Staging,
    timeout: Duration,
    last: Option<Recorded>,
}

#[derive(Clone)]
struct Recorded {
    written: Recording,
    params: CullParams,
}

struct CullUniforms {
    cull: Block,
    scan: Option<Scan>,
}

impl Culling {
    /// Maximum number of views per call.
    pub const MAX_VIEWS: u32 = frustum::MAX_VIEWS;

    /// Creates culling for broad phases on one device. `label` prefixes all labels; the default is
    /// `gpu_broad_phase/cull`.
    pub fn new(label: Option<&str>) -> Self {
        let passes = [PASSES, scan::PASSES].into_iter().flatten().copied();
        Self {
            own: Component::new(label.unwrap_or("gpu_broad_phase/cull"), passes, &[]),
            readings: Staging::readings(),
            timeout: BroadPhaseDescriptor::default().outputs.timeout,
            last: None,
        }
    }

    /// Prepares the pipelines: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records culling of `step` for up to 32 views ([`MAX_VIEWS`](Self::MAX_VIEWS)). Never submits, waits or reads
    /// back. `step` may also be a [`page`](crate::GpuBroadPhase::page) or [`query`](crate::GpuBroadPhase::query) of the
    /// last step.
    ///
    /// # Errors
    /// Nothing is recorded, except with [`StepError::Device`].
    /// - [`InputError::TooMany`](crate::InputError::TooMany): too many views.
    /// - [`InputError::Usage`](crate::InputError::Usage), [`InputError::NotInPlace`](crate::InputError::NotInPlace),
    ///   [`InputError::BufferTooSmall`](crate::InputError::BufferTooSmall): the buffer of views cannot be read.
    /// - [`InputError::OwnOutput`](crate::InputError::OwnOutput): this call writes the buffer of views.
    /// - [`InputError::BufferTooLarge`](crate::InputError::BufferTooLarge): visibility bits or lists exceed the binding
    ///   limit.
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    /// - [`StepError::Device`]: the device refused a buffer; drop the encoder. In browsers, the next call returns this.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        views: Source<'_, Frustum>,
        options: CullOptions,
    ) -> Result<CullOutput, StepError> {
        check_views(views.count())?;
        let table = &step.table;
        let context = self.own.begin(step, &table.recording)?;
        let device = context.device();
        input::check_bound("views", &views, &device.limits())?;
        check_own([("views", views.buffer())], &[&self.own.buffers])?;
        let params = params(table.params.all_objects(), table.kind.1, views.count() as u32, options);
        let sizes = sizes(&params, views.is_caller_owned());
        check_sizes("culling results", &sizes, device)?;
        let group = Group::begin(device, encoder, &self.own.label);
        let scopes = Scopes::begin(device);
        self.own.bindings.begin();
        self.readings.begin();
        self.own.bindings.forget(&self.own.buffers.fit(device, sizes, &[]));
        self.record_passes(device, encoder, step, views, &params);
        let (written, mark) = Recording::begin();
        let written = written.reading([&table.recording]);
        self.readings.mark_end(device, encoder, mark);
        let checked = self.own.check_errors(scopes, &context);
        group.end(encoder);
        checked.inspect_err(|_| self.trim())?;
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
            Source::Device(source) if source.count > 0 => source.buffer.clone(),
            Source::Device(_) => self.own.buffers.get(buffer::FRUSTA).clone(),
            Source::Host(views) => {
                let own = self.own.buffers.get(buffer::FRUSTA);
                self.own
                    .uploads
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
        let blocks_of_call = CullUniforms {
            cull: blocks.push(params),
            scan: (params.lists != 0).then(|| {
                let status = Status::default();
                Scan::new(
                    &mut blocks,
                    buffer::LIST_ROWS,
                    words + 1,
                    word::NEEDED,
                    u32::MAX,
                    status,
                )
            }),
        };
        let uniforms = self.own.write(device, encoder, blocks);
        let cull = CULL.is_block(blocks_of_call.cull);
        for (place, (table, block)) in tables.iter().enumerate() {
            let mut inputs = inputs(table);
            inputs.push(frusta.clone());
            let mut passes = Passes::new(vec![PARAMS.is_block(*block)]);
            if place == 0 {
                passes.clear(buffer::COUNTERS);
                passes.clear_words(buffer::VISIBLE, 0, u64::from(words).max(1));
            }
            passes.stage("cull", |stage| {
                if place == 0 {
                    stage.run_groups(&CULL_VIEWS, 1, &[cull]);
                }
                stage.run(&CULL_OBJECTS, table.params.object_count, &[cull]);
            });
            self.own.record(device, encoder, &passes, &uniforms, &inputs);
        }
        let mut passes = Passes::default();
        record_outputs(&mut passes, params, blocks_of_call);
        self.own.record(device, encoder, &passes, &uniforms, &[]);
    }

    /// Frees all memory. Drops bind groups of past steps, which keep their outputs alive. Call it with
    /// [`GpuBroadPhase::trim`](crate::GpuBroadPhase::trim).
    pub fn trim(&mut self) {
        self.last = None;
        self.own.clear();
        self.readings.clear();
    }

    /// Bytes of device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Reads the objects that each view of the last call sees, whatever the list capacity. Call it after submission.
    /// Submits copies. Waits for the device on native targets, awaits it in browsers.
    ///
    /// # Errors
    /// - [`ReadBackError::NoStep`]: nothing was recorded.
    /// - [`ReadBackError::NotSubmitted`]: the call or its step was not submitted.
    /// - [`ReadBackError::Map`], [`ReadBackError::DeviceLost`]: the device is lost.
    /// - [`ReadBackError::Timeout`]: no result within ten minutes.
    /// - [`ReadBackError::Device`]: the device refused the recording.
    pub async fn read_back(&mut self) -> Result<Visible, ReadBackError> {
        let context = self.own.await_errors().await.inspect_err(|_| self.trim())?;
        let Recorded { written, params } = self.last.clone().ok_or(ReadBackError::NoStep)?;
        reading::check_dropped(&written)?;
        let record = |encoder: &mut wgpu::CommandEncoder| Some(self.copy_out(&context, encoder, &params));
        let (reading, submission) = reading::submit(&context, record).await?;
        reading.map(context.device(), submission, self.timeout).await?;
        reading::check_submitted(&written)?;
        let seen = seen(&reading, &params);
        reading.recycle(self.readings.pool());
        seen
    }

    /// Records a copy of the last call's result to the host, directly after that call in the same encoder. Never waits:
    /// the result arrives a frame or two later. See [`Readback`].
    ///
    /// # Errors
    /// - [`StepError::NoStep`]: nothing was recorded.
    /// - [`StepError::Dropped`]: the last call's encoder was dropped.
    pub fn record_read_back(&self, encoder: &mut wgpu::CommandEncoder) -> Result<Readback<Visible>, StepError> {
        let context = self.own.context().ok_or(StepError::NoStep)?;
        let Recorded { written, params } = self.last.clone().ok_or(StepError::NoStep)?;
        if written.is_dropped() {
            return Err(StepError::Dropped);
        }
        let reading = self.copy_out(context, encoder, &params);
        let decode = move |reading: &Reading| seen(reading, &params);
        let pool = Arc::downgrade(self.readings.pool());
        Ok(Readback::new(context, pool, encoder, reading, written, |_| {}, decode))
    }

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

fn seen(reading: &Reading, params: &CullParams) -> Result<Visible, ReadBackError> {
    let words = u64::from(params.view_count * params.words);
    let counters: Vec<u32> = reading.rows(buffer::COUNTERS.name, word::COUNT as u64)?;
    let bits: Vec<u32> = reading.rows(buffer::VISIBLE.name, words)?;
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

fn objects_in(words: &[u32]) -> impl Iterator<Item = u32> {
    let words = (0..).zip(words);
    words.flat_map(|(place, &word)| {
        (0..32)
            .filter(move |bit| word >> bit & 1 != 0)
            .map(move |bit| 32 * place + bit)
    })
}

fn record_outputs(passes: &mut Passes, params: &CullParams, blocks: CullUniforms) {
    let words = params.view_count * params.words;
    let binds = [CULL.is_block(blocks.cull)];
    if params.lists != 0 {
        passes.clear_words(buffer::LIST_ROWS, words as usize, 1);
    }
    passes.stage("cull_lists", |stage| {
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

fn inputs(table: &Table) -> Vec<Input> {
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

fn sizes(params: &CullParams, are_views_caller_owned: bool) -> Sizes {
    let view_count = u64::from(params.view_count.max(1));
    let words = u64::from(params.view_count) * u64::from(params.words);
    let own_views = if are_views_caller_owned { 1 } else { view_count };
    let mut sizes = vec![
        (buffer::FRUSTA, VIEW_BYTES * own_views),
        (buffer::VIEWS, VIEW_BYTES * view_count),
        (buffer::VISIBLE, 4 * words.max(1)),
        (buffer::LIST_ROWS, 4 * (u64::from(params.lists) * words + 1)),
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
