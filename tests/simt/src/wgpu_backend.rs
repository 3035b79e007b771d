//! A wgpu device on the interpreter, as a custom backend for buffers and compute pipelines. A submission runs at once
//! and panics at the first fault that is not allowed. Validation covers only workgroup counts and buffers bound for
//! both reading and writing, so error scopes are empty.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::future::ready;
use std::ops::Range;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_broad_phase::{GpuBroadPhase, wgpu};
use wgpu::custom::*;

use crate::code::{BufferKind, Program};
use crate::devices::{CONFIG, faults, program, run};
use crate::machine::{Config, Memory};
use crate::stats::Stats;

/// Opens a device with subgroups of `lanes` lanes. Without `watches` it ignores faults, and drops unused loads as
/// compilers do.
pub fn open(lanes: usize, by_chance: bool, watches: bool) -> (wgpu::Device, wgpu::Queue, DispatchLog) {
    let shared = Arc::new(Shared {
        lanes,
        by_chance,
        watches,
        counts: Mutex::default(),
        costs: Mutex::default(),
        callbacks: Mutex::default(),
    });
    let queue = wgpu::Queue::from_custom(Queue(shared.clone()));
    let log = DispatchLog(shared.clone());
    (wgpu::Device::from_custom(Device(shared)), queue, log)
}

pub struct DispatchLog(Arc<Shared>);

pub struct CostedDispatch {
    /// Last part of the compute pass's label.
    pub stage: String,
    pub pass: String,
    pub program: Arc<Program>,
    pub stats: Stats,
}

impl DispatchLog {
    /// Omits empty dispatches.
    pub fn dispatches(&self) -> BTreeMap<String, u64> {
        lock(&self.0.counts).clone()
    }

    pub fn begin_costs(&self) {
        *lock(&self.0.costs) = Some(Vec::new());
    }

    pub fn end_costs(&self) -> Vec<CostedDispatch> {
        lock(&self.0.costs).take().unwrap_or_default()
    }
}

type Callback = Box<dyn FnOnce() + Send>;

struct Shared {
    lanes: usize,
    by_chance: bool,
    watches: bool,
    counts: Mutex<BTreeMap<String, u64>>,
    costs: Mutex<Option<Vec<CostedDispatch>>>,
    /// Run by the next poll.
    callbacks: Mutex<Vec<Callback>>,
}

impl Debug for Shared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "warps of {} lanes", self.lanes)
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn defer(&self, callback: Callback) {
        lock(&self.callbacks).push(callback);
    }

    fn run(&self, command: Command) {
        match command {
            Command::Clear { buffer, range } => buffer.write(range.start, &vec![0; range.len()]),
            Command::Copy { from, to, at } => {
                assert!(!Arc::ptr_eq(&from.0, &to), "a copy within one buffer");
                to.write(at, &from.0.read(from.1));
            }
            Command::Dispatch(dispatch) => self.dispatch(dispatch),
        }
    }

    fn dispatch(&self, dispatch: Dispatch) {
        let Dispatch {
            stage,
            pipeline,
            groups,
            size,
        } = dispatch;
        let (size, indirect) = match size {
            Size::Count(size) => (size, None),
            Size::In(buffer, at) => {
                let words: Vec<u32> = bytemuck::pod_collect_to_vec(&buffer.read(at..at + 12));
                ([words[0], words[1], words[2]], Some(buffer))
            }
        };
        let [width, height, depth] = size;
        if width * height * depth == 0 {
            return;
        }
        let number = {
            let mut counts = lock(&self.counts);
            let count = counts.entry(pipeline.label.clone()).or_default();
            *count += 1;
            *count
        };
        let program = &*pipeline.program;
        let what = &pipeline.label;
        assert!(depth == 1, "{what}: three dimensions of workgroups");
        assert!(width.max(height) <= 65_535, "{what}: {width} times {height} workgroups");
        let bound: Vec<Option<&Bound>> = (program.buffers.iter())
            .map(|buffer| {
                let group = groups.get(buffer.group as usize)?.as_ref()?;
                group.0.iter().find(|bound| bound.binding == buffer.binding)
            })
            .collect();
        for (at, buffer) in program.buffers.iter().enumerate() {
            let is_bound = bound[at].is_some() || buffer.kind == BufferKind::Workgroup;
            assert!(is_bound, "{what}: nothing is bound to {}", buffer.name);
            let is_alone = |other: usize| {
                let both = bound[at].zip(bound[other]);
                other == at || both.is_none_or(|(one, other)| !Arc::ptr_eq(&one.buffer, &other.buffer))
            };
            let is_indirect =
                (bound[at].zip(indirect.as_ref())).is_some_and(|(one, other)| Arc::ptr_eq(&one.buffer, other));
            assert!(
                buffer.kind != BufferKind::Write || !is_indirect && (0..bound.len()).all(is_alone),
                "{what}: {} is bound to be written and for something else",
                buffer.name
            );
        }
        let memory = |bound: &Option<&Bound>| {
            let bytes = bound.map_or_else(Vec::new, |bound| bound.buffer.read(bound.range.clone()));
            Memory {
                words: bytemuck::pod_collect_to_vec(&bytes),
                given: bytes.len() / 4,
            }
        };
        let mut memories: Vec<Memory> = bound.iter().map(memory).collect();
        let config = Config {
            watches: self.watches,
            counts: lock(&self.costs).is_some(),
            seed: if self.by_chance { number } else { 0 },
            ..CONFIG
        };
        let (findings, stats) = run(self.lanes, program, &mut memories, [width, height], config);
        let faults = faults(program, &findings);
        assert!(
            faults.is_empty(),
            "{}\ndispatch {number} on {self:?}",
            faults.join("\n")
        );
        if let (Some(stats), Some(costs)) = (stats, &mut *lock(&self.costs)) {
            costs.push(CostedDispatch {
                stage,
                pass: pipeline.label.clone(),
                program: pipeline.program.clone(),
                stats,
            });
        }
        for (at, memory) in memories.iter().enumerate() {
            if let (BufferKind::Write, Some(bound)) = (program.buffers[at].kind, bound[at]) {
                bound
                    .buffer
                    .write(bound.range.start, bytemuck::cast_slice(&memory.words));
            }
        }
    }
}

struct Bytes(Mutex<Vec<u8>>);

impl Bytes {
    fn read(&self, range: Range<usize>) -> Vec<u8> {
        lock(&self.0)[range].to_vec()
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        lock(&self.0)[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

enum Command {
    Clear {
        buffer: Arc<Bytes>,
        range: Range<usize>,
    },
    Copy {
        from: (Arc<Bytes>, Range<usize>),
        to: Arc<Bytes>,
        at: usize,
    },
    Dispatch(Dispatch),
}

struct Dispatch {
    stage: String,
    pipeline: Arc<Pipeline>,
    groups: Vec<Option<Arc<Group>>>,
    size: Size,
}

enum Size {
    Count([u32; 3]),
    In(Arc<Bytes>, usize),
}

struct Pipeline {
    label: String,
    program: Arc<Program>,
}

#[derive(Clone)]
struct Group(Vec<Bound>);

#[derive(Clone)]
struct Bound {
    binding: u32,
    buffer: Arc<Bytes>,
    range: Range<usize>,
    has_offset: bool,
}

macro_rules! debug {
    ($($name:ident)+) => {
        $(impl Debug for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        })+
    };
}

macro_rules! objects {
    ($($name:ident($inside:ty): $interface:ident;)+) => {
        $(struct $name($inside);

        debug!($name);

        impl $interface for $name {})+
    };
}

objects! {
    BindGroup(Arc<Group>): BindGroupInterface;
    BindGroupLayout(Vec<u32>): BindGroupLayoutInterface;
    PipelineLayout(()): PipelineLayoutInterface;
    CommandBuffer(Mutex<Vec<Command>>): CommandBufferInterface;
}

debug!(Device Queue ShaderModule ComputePipeline Buffer Mapped Staging CommandEncoder ComputePass);

struct Device(Arc<Shared>);

struct Queue(Arc<Shared>);

struct ShaderModule(String);

struct ComputePipeline(Arc<Pipeline>);

struct Buffer {
    shared: Arc<Shared>,
    bytes: Arc<Bytes>,
}

/// Written bytes reach the buffer on drop.
struct Mapped {
    bytes: Vec<u8>,
    buffer: Arc<Bytes>,
    at: usize,
    is_written: bool,
}

struct Staging(Vec<u8>);

struct CommandEncoder(Arc<Mutex<Vec<Command>>>);

struct ComputePass {
    stage: String,
    commands: Arc<Mutex<Vec<Command>>>,
    pipeline: Option<Arc<Pipeline>>,
    groups: Vec<Option<Arc<Group>>>,
}

fn bytes_of(buffer: &DispatchBuffer) -> &Arc<Bytes> {
    &buffer.as_custom::<Buffer>().expect("a buffer of the interpreter").bytes
}

fn range(buffer: &Bytes, offset: u64, size: Option<u64>) -> Range<usize> {
    let offset = offset as usize;
    offset..size.map_or(buffer.len(), |size| offset + size as usize)
}

// wgpu's trait requires `Drop`. The commands are in the encoder already.
impl Drop for ComputePass {
    fn drop(&mut self) {}
}

impl ShaderModuleInterface for ShaderModule {
    fn get_compilation_info(&self) -> Pin<Box<dyn ShaderCompilationInfoFuture>> {
        Box::pin(ready(wgpu::CompilationInfo { messages: Vec::new() }))
    }
}

impl ComputePipelineInterface for ComputePipeline {
    fn get_bind_group_layout(&self, _: u32) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(BindGroupLayout(Vec::new()))
    }
}

impl BufferInterface for Buffer {
    fn map_async(&self, _: wgpu::MapMode, _: Range<u64>, callback: BufferMapCallback) {
        self.shared.defer(Box::new(|| callback(Ok(()))));
    }

    fn get_mapped_range(&self, range: Range<u64>) -> Result<DispatchBufferMappedRange, wgpu::MapRangeError> {
        let at = range.start as usize;
        Ok(DispatchBufferMappedRange::custom(Mapped {
            bytes: self.bytes.read(at..range.end as usize),
            buffer: self.bytes.clone(),
            at,
            is_written: false,
        }))
    }

    fn unmap(&self) {}

    fn destroy(&self) {}
}

impl BufferMappedRangeInterface for Mapped {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    unsafe fn read_slice(&self) -> &[u8] {
        &self.bytes
    }

    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        self.is_written = true;
        // SAFETY: The pointer is from a unique reference that lives as long as the returned value.
        unsafe { wgpu::WriteOnly::new(NonNull::from(&mut self.bytes[..])) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.is_written {
            self.buffer.write(self.at, &self.bytes);
        }
    }
}

impl QueueWriteBufferInterface for Staging {
    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        // SAFETY: The pointer is from a unique reference that lives as long as the returned value.
        unsafe { wgpu::WriteOnly::new(NonNull::from(&mut self.0[..])) }
    }
}

impl ComputePassInterface for ComputePass {
    fn set_pipeline(&mut self, pipeline: &DispatchComputePipeline) {
        let pipeline = pipeline
            .as_custom::<ComputePipeline>()
            .expect("a pipeline of the interpreter");
        self.pipeline = Some(pipeline.0.clone());
    }

    fn set_bind_group(&mut self, index: u32, group: Option<&DispatchBindGroup>, offsets: &[u32]) {
        let at = index as usize;
        self.groups.resize_with(self.groups.len().max(at + 1), || None);
        self.groups[at] = group.map(|group| {
            let mut group = Group::clone(&group.as_custom::<BindGroup>().expect("a group").0);
            let dynamic = group.0.iter_mut().filter(|bound| bound.has_offset);
            for (bound, &offset) in dynamic.zip(offsets) {
                bound.range.start += offset as usize;
                bound.range.end += offset as usize;
            }
            Arc::new(group)
        });
    }

    fn dispatch_workgroups(&mut self, x: u32, y: u32, z: u32) {
        self.dispatch(Size::Count([x, y, z]));
    }

    fn dispatch_workgroups_indirect(&mut self, buffer: &DispatchBuffer, offset: u64) {
        self.dispatch(Size::In(bytes_of(buffer).clone(), offset as usize));
    }

    fn insert_debug_marker(&mut self, _: &str) {}

    fn push_debug_group(&mut self, _: &str) {}

    fn pop_debug_group(&mut self) {}

    fn set_immediates(&mut self, _: u32, _: &[u8]) {
        unimplemented!()
    }

    fn write_timestamp(&mut self, _: &DispatchQuerySet, _: u32) {
        unimplemented!()
    }

    fn begin_pipeline_statistics_query(&mut self, _: &DispatchQuerySet, _: u32) {
        unimplemented!()
    }

    fn end_pipeline_statistics_query(&mut self) {
        unimplemented!()
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTextureView>>,
    ) {
    }
}

impl ComputePass {
    fn dispatch(&self, size: Size) {
        lock(&self.commands).push(Command::Dispatch(Dispatch {
            stage: self.stage.clone(),
            pipeline: self.pipeline.clone().expect("a pipeline"),
            groups: self.groups.clone(),
            size,
        }));
    }
}

impl CommandEncoderInterface for CommandEncoder {
    fn copy_buffer_to_buffer(
        &self,
        source: &DispatchBuffer,
        source_offset: u64,
        destination: &DispatchBuffer,
        destination_offset: u64,
        size: Option<u64>,
    ) {
        let source = bytes_of(source);
        lock(&self.0).push(Command::Copy {
            from: (source.clone(), range(source, source_offset, size)),
            to: bytes_of(destination).clone(),
            at: destination_offset as usize,
        });
    }

    fn begin_compute_pass(&self, pass: &wgpu::ComputePassDescriptor<'_>) -> DispatchComputePass {
        let label = pass.label.unwrap_or_default();
        DispatchComputePass::custom(ComputePass {
            stage: label.rsplit('/').next().unwrap_or_default().to_owned(),
            commands: self.0.clone(),
            pipeline: None,
            groups: Vec::new(),
        })
    }

    fn finish(&mut self) -> DispatchCommandBuffer {
        DispatchCommandBuffer::custom(CommandBuffer(Mutex::new(std::mem::take(&mut *lock(&self.0)))))
    }

    fn clear_buffer(&self, buffer: &DispatchBuffer, offset: u64, size: Option<u64>) {
        let buffer = bytes_of(buffer);
        lock(&self.0).push(Command::Clear {
            buffer: buffer.clone(),
            range: range(buffer, offset, size),
        });
    }

    fn insert_debug_marker(&self, _: &str) {}

    fn push_debug_group(&self, _: &str) {}

    fn pop_debug_group(&self) {}

    fn copy_buffer_to_texture(
        &self,
        _: wgpu::TexelCopyBufferInfo<'_>,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        unimplemented!()
    }

    fn copy_texture_to_buffer(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::TexelCopyBufferInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        unimplemented!()
    }

    fn copy_texture_to_texture(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        unimplemented!()
    }

    fn begin_render_pass(&self, _: &wgpu::RenderPassDescriptor<'_>) -> DispatchRenderPass {
        unimplemented!()
    }

    fn clear_texture(&self, _: &DispatchTexture, _: &wgpu::ImageSubresourceRange) {
        unimplemented!()
    }

    fn write_timestamp(&self, _: &DispatchQuerySet, _: u32) {
        unimplemented!()
    }

    fn resolve_query_set(&self, _: &DispatchQuerySet, _: u32, _: u32, _: &DispatchBuffer, _: u64) {
        unimplemented!()
    }

    fn mark_acceleration_structures_built<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::Blas>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        unimplemented!()
    }

    fn build_acceleration_structures<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::BlasBuildEntry<'a>>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        unimplemented!()
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTexture>>,
    ) {
    }
}

impl QueueInterface for Queue {
    fn write_buffer(&self, buffer: &DispatchBuffer, offset: u64, data: &[u8]) {
        bytes_of(buffer).write(offset as usize, data);
    }

    fn create_staging_buffer(&self, size: wgpu::BufferSize) -> Option<DispatchQueueWriteBuffer> {
        Some(DispatchQueueWriteBuffer::custom(Staging(vec![0; size.get() as usize])))
    }

    fn validate_write_buffer(&self, _: &DispatchBuffer, _: u64, _: wgpu::BufferSize) -> Option<()> {
        Some(())
    }

    fn write_staging_buffer(&self, buffer: &DispatchBuffer, offset: u64, staging: &DispatchQueueWriteBuffer) {
        let staging = staging.as_custom::<Staging>().expect("a staging buffer");
        bytes_of(buffer).write(offset as usize, &staging.0);
    }

    fn submit(&self, buffers: &mut dyn Iterator<Item = DispatchCommandBuffer>) -> u64 {
        for buffer in buffers {
            let commands = buffer
                .as_custom::<CommandBuffer>()
                .expect("commands of the interpreter");
            for command in std::mem::take(&mut *lock(&commands.0)) {
                self.0.run(command);
            }
        }
        0
    }

    fn on_submitted_work_done(&self, callback: BoxSubmittedWorkDoneCallback) {
        self.0.defer(callback);
    }

    fn get_timestamp_period(&self) -> f32 {
        1.0
    }

    fn write_texture(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: &[u8],
        _: wgpu::TexelCopyBufferLayout,
        _: wgpu::Extent3d,
    ) {
        unimplemented!()
    }

    fn compact_blas(&self, _: &DispatchBlas) -> (Option<u64>, DispatchBlas) {
        unimplemented!()
    }

    fn present(&self, _: &DispatchSurfaceOutputDetail) {
        unimplemented!()
    }
}

impl DeviceInterface for Device {
    fn features(&self) -> wgpu::Features {
        wgpu::Features::SUBGROUP
    }

    /// WebGPU's minimum if the device watches for faults, else enough for large scenes.
    fn limits(&self) -> wgpu::Limits {
        let least = GpuBroadPhase::required_limits();
        if self.0.watches {
            return least;
        }
        wgpu::Limits {
            max_storage_buffer_binding_size: 1 << 30,
            max_buffer_size: 1 << 30,
            ..least
        }
    }

    fn adapter_info(&self) -> wgpu::AdapterInfo {
        let lanes = self.0.lanes as u32;
        wgpu::AdapterInfo {
            name: format!("{:?}", self.0),
            subgroup_min_size: lanes,
            subgroup_max_size: lanes,
            ..wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, wgpu::Backend::Noop)
        }
    }

    fn create_shader_module(
        &self,
        module: wgpu::ShaderModuleDescriptor<'_>,
        _: wgpu::ShaderRuntimeChecks,
    ) -> DispatchShaderModule {
        let wgpu::ShaderSource::Wgsl(source) = module.source else {
            panic!("a shader that is not WGSL");
        };
        DispatchShaderModule::custom(ShaderModule(source.into_owned()))
    }

    fn create_bind_group_layout(&self, of: &wgpu::BindGroupLayoutDescriptor<'_>) -> DispatchBindGroupLayout {
        let dynamic = of.entries.iter().filter(|entry| {
            matches!(
                entry.ty,
                wgpu::BindingType::Buffer {
                    has_dynamic_offset: true,
                    ..
                }
            )
        });
        DispatchBindGroupLayout::custom(BindGroupLayout(dynamic.map(|entry| entry.binding).collect()))
    }

    fn create_bind_group(&self, group: &wgpu::BindGroupDescriptor<'_>) -> DispatchBindGroup {
        let layout = group.layout.as_custom::<BindGroupLayout>().expect("a layout");
        let bound = group.entries.iter().map(|entry| {
            let wgpu::BindingResource::Buffer(bound) = &entry.resource else {
                panic!("a binding is not a buffer");
            };
            let buffer = &bound
                .buffer
                .as_custom::<Buffer>()
                .expect("a buffer of the interpreter")
                .bytes;
            Bound {
                binding: entry.binding,
                buffer: buffer.clone(),
                range: range(buffer, bound.offset, bound.size.map(wgpu::BufferSize::get)),
                has_offset: layout.0.contains(&entry.binding),
            }
        });
        DispatchBindGroup::custom(BindGroup(Arc::new(Group(bound.collect()))))
    }

    fn create_pipeline_layout(&self, _: &wgpu::PipelineLayoutDescriptor<'_>) -> DispatchPipelineLayout {
        DispatchPipelineLayout::custom(PipelineLayout(()))
    }

    fn create_compute_pipeline(&self, of: &wgpu::ComputePipelineDescriptor<'_>) -> DispatchComputePipeline {
        let label = of.label.unwrap_or("a caller's shader").to_owned();
        let source = &of
            .module
            .as_custom::<ShaderModule>()
            .expect("a module of the interpreter")
            .0;
        let word = |value: f64| {
            assert_eq!(f64::from(value as u32), value, "{label}: a constant that is no u32");
            value as u32
        };
        let constants = of.compilation_options.constants.iter();
        let constants: Vec<_> = constants.map(|&(name, value)| (name, word(value))).collect();
        let program = program(&label, source, &constants, self.0.watches);
        DispatchComputePipeline::custom(ComputePipeline(Arc::new(Pipeline { label, program })))
    }

    fn create_buffer(&self, buffer: &wgpu::BufferDescriptor<'_>) -> DispatchBuffer {
        DispatchBuffer::custom(Buffer {
            shared: self.0.clone(),
            bytes: Arc::new(Bytes(Mutex::new(vec![0; buffer.size as usize]))),
        })
    }

    fn create_command_encoder(&self, _: &wgpu::CommandEncoderDescriptor<'_>) -> DispatchCommandEncoder {
        DispatchCommandEncoder::custom(CommandEncoder(Arc::default()))
    }

    fn set_device_lost_callback(&self, _: BoxDeviceLostCallback) {}

    fn on_uncaptured_error(&self, _: Arc<dyn wgpu::UncapturedErrorHandler>) {}

    fn push_error_scope(&self, _: wgpu::ErrorFilter) -> u32 {
        0
    }

    fn pop_error_scope(&self, _: u32) -> Pin<Box<dyn PopErrorScopeFuture>> {
        Box::pin(ready(None))
    }

    fn poll(&self, _: wgpu::wgt::PollType<u64>) -> Result<wgpu::PollStatus, wgpu::PollError> {
        let callbacks = std::mem::take(&mut *lock(&self.0.callbacks));
        callbacks.into_iter().for_each(|callback| callback());
        Ok(wgpu::PollStatus::QueueEmpty)
    }

    fn get_internal_counters(&self) -> wgpu::InternalCounters {
        wgpu::InternalCounters::default()
    }

    fn generate_allocator_report(&self) -> Option<wgpu::AllocatorReport> {
        None
    }

    fn destroy(&self) {}

    unsafe fn start_graphics_debugger_capture(&self) {}

    unsafe fn stop_graphics_debugger_capture(&self) {}

    unsafe fn create_shader_module_passthrough(
        &self,
        _: &wgpu::ShaderModuleDescriptorPassthrough<'_>,
    ) -> DispatchShaderModule {
        unimplemented!()
    }

    fn create_render_pipeline(&self, _: &wgpu::RenderPipelineDescriptor<'_>) -> DispatchRenderPipeline {
        unimplemented!()
    }

    fn create_mesh_pipeline(&self, _: &wgpu::MeshPipelineDescriptor<'_>) -> DispatchRenderPipeline {
        unimplemented!()
    }

    unsafe fn create_pipeline_cache(&self, _: &wgpu::PipelineCacheDescriptor<'_>) -> DispatchPipelineCache {
        unimplemented!()
    }

    fn create_texture(&self, _: &wgpu::TextureDescriptor<'_>) -> DispatchTexture {
        unimplemented!()
    }

    fn create_external_texture(
        &self,
        _: &wgpu::ExternalTextureDescriptor<'_>,
        _: &[&wgpu::TextureView],
    ) -> DispatchExternalTexture {
        unimplemented!()
    }

    fn create_blas(
        &self,
        _: &wgpu::CreateBlasDescriptor<'_>,
        _: wgpu::BlasGeometrySizeDescriptors,
    ) -> (Option<u64>, DispatchBlas) {
        unimplemented!()
    }

    fn create_tlas(&self, _: &wgpu::CreateTlasDescriptor<'_>) -> DispatchTlas {
        unimplemented!()
    }

    fn create_sampler(&self, _: &wgpu::SamplerDescriptor<'_>) -> DispatchSampler {
        unimplemented!()
    }

    fn create_query_set(&self, _: &wgpu::QuerySetDescriptor<'_>) -> DispatchQuerySet {
        unimplemented!()
    }

    fn create_render_bundle_encoder(&self, _: &wgpu::RenderBundleEncoderDescriptor<'_>) -> DispatchRenderBundleEncoder {
        unimplemented!()
    }
}
