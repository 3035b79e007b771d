//! The broad phase on its own GPU device.

use gpu_broad_phase::{
    EventOutput, GpuBroadPhase, Lists, PairEvents, QuerySet, Readback, StepError, StepOutput, StepResult, Table,
};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::answer::EventAnswer;
use crate::buffer::{Buffer, JsBuffer, js_buffer, not_webgpu};
use crate::failure::Failure;
use crate::input::Input;
use crate::settings::Settings;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "GPUDevice")]
    pub type JsDevice;
    #[wasm_bindgen(typescript_type = "Promise<EventAnswer>")]
    pub type PromisedEvents;
    #[wasm_bindgen(typescript_type = "Promise<void>")]
    pub type Settled;
}

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Output {
    Counters,
    Pairs,
    WorldPairs,
    WorldOffsets,
    Rays,
    RayOffsets,
    Queries,
    QueryOffsets,
    EventRows,
    EventsEnded,
    EventCounters,
    TableStarts,
    TableRecords,
    TableGrid,
    TableEntries,
}

#[wasm_bindgen]
pub struct Instance(wgpu::Instance);

#[wasm_bindgen]
impl Instance {
    /// Reads `navigator.gpu`. Panics unless there is a global `Window` or `WorkerGlobalScope`.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "TypeScript calls it")]
    pub fn new() -> Self {
        Self(wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::BROWSER_WEBGPU,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        }))
    }
}

#[wasm_bindgen]
pub struct Opened {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

/// Opens a device. `limit_names[i]` is raised to `limit_values[i]`.
#[wasm_bindgen]
pub async fn open(
    instance: Instance,
    power_preference: Option<String>,
    features: Vec<String>,
    limit_names: Vec<String>,
    limit_values: Vec<f64>,
) -> Result<Opened, JsValue> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: match power_preference.as_deref() {
            Some("low-power") => wgpu::PowerPreference::LowPower,
            Some("high-performance") => wgpu::PowerPreference::HighPerformance,
            _ => wgpu::PowerPreference::None,
        },
        ..Default::default()
    };
    let adapter = instance
        .0
        .request_adapter(&options)
        .await
        .map_err(|_| Failure::new(Failure::NO_DEVICE, "WebGPU has no adapter here"))?;
    let own = GpuBroadPhase::device_descriptor(&adapter);
    let mut required_features = own.required_features;
    for name in features {
        required_features |= feature(&name)?;
    }
    let mut limits = wgpu::Limits::default();
    let available = adapter.limits();
    for (name, value) in limit_names.iter().zip(limit_values) {
        set_limit(&mut limits, &available, name, value)?;
    }
    let descriptor = wgpu::DeviceDescriptor {
        required_features,
        required_limits: limits.or_better_values_from(&own.required_limits),
        ..own
    };
    let (device, queue) = adapter
        .request_device(&descriptor)
        .await
        .map_err(|error| Failure::new(Failure::NO_DEVICE, format!("the adapter gives no device: {error}")))?;
    Ok(Opened { device, queue })
}

/// All features that wgpu can request in a browser, by their WebGPU names.
const FEATURES: [(&str, wgpu::Features); 16] = [
    ("depth-clip-control", wgpu::Features::DEPTH_CLIP_CONTROL),
    ("depth32float-stencil8", wgpu::Features::DEPTH32FLOAT_STENCIL8),
    ("texture-compression-bc", wgpu::Features::TEXTURE_COMPRESSION_BC),
    (
        "texture-compression-bc-sliced-3d",
        wgpu::Features::TEXTURE_COMPRESSION_BC_SLICED_3D,
    ),
    ("texture-compression-etc2", wgpu::Features::TEXTURE_COMPRESSION_ETC2),
    ("texture-compression-astc", wgpu::Features::TEXTURE_COMPRESSION_ASTC),
    (
        "texture-compression-astc-sliced-3d",
        wgpu::Features::TEXTURE_COMPRESSION_ASTC_SLICED_3D,
    ),
    ("timestamp-query", wgpu::Features::TIMESTAMP_QUERY),
    ("indirect-first-instance", wgpu::Features::INDIRECT_FIRST_INSTANCE),
    ("shader-f16", wgpu::Features::SHADER_F16),
    ("rg11b10ufloat-renderable", wgpu::Features::RG11B10UFLOAT_RENDERABLE),
    ("bgra8unorm-storage", wgpu::Features::BGRA8UNORM_STORAGE),
    ("float32-filterable", wgpu::Features::FLOAT32_FILTERABLE),
    ("float32-blendable", wgpu::Features::FLOAT32_BLENDABLE),
    ("dual-source-blending", wgpu::Features::DUAL_SOURCE_BLENDING),
    ("clip-distances", wgpu::Features::CLIP_DISTANCES),
];

fn feature(name: &str) -> Result<wgpu::Features, Failure> {
    let found = FEATURES.iter().find(|(known, _)| *known == name);
    found.map(|&(_, feature)| feature).ok_or_else(|| {
        let known: Vec<_> = FEATURES.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        Failure::new(
            Failure::REFUSED,
            format!("the feature {name} cannot be asked for; these can: {known}"),
        )
    })
}

fn set_limit(limits: &mut wgpu::Limits, available: &wgpu::Limits, name: &str, value: f64) -> Result<(), Failure> {
    macro_rules! limits {
        ($($name:literal $field:ident)+) => {
            match name {
                $($name => {
                    let most = available.$field as f64;
                    if value > most {
                        let message = format!("the limit {name} is asked to be {value}, the adapter has {most}");
                        return Err(Failure::new(Failure::REFUSED, message));
                    }
                    limits.$field = limits.$field.max(value as _);
                    Ok(())
                })+
                _ => {
                    let message = format!("the limit {name} cannot be asked for");
                    Err(Failure::new(Failure::REFUSED, message))
                }
            }
        };
    }
    limits! {
        "maxTextureDimension1D" max_texture_dimension_1d
        "maxTextureDimension2D" max_texture_dimension_2d
        "maxTextureDimension3D" max_texture_dimension_3d
        "maxTextureArrayLayers" max_texture_array_layers
        "maxBindGroups" max_bind_groups
        "maxBindGroupsPlusVertexBuffers" max_bind_groups_plus_vertex_buffers
        "maxBindingsPerBindGroup" max_bindings_per_bind_group
        "maxDynamicUniformBuffersPerPipelineLayout" max_dynamic_uniform_buffers_per_pipeline_layout
        "maxDynamicStorageBuffersPerPipelineLayout" max_dynamic_storage_buffers_per_pipeline_layout
        "maxSampledTexturesPerShaderStage" max_sampled_textures_per_shader_stage
        "maxSamplersPerShaderStage" max_samplers_per_shader_stage
        "maxStorageBuffersPerShaderStage" max_storage_buffers_per_shader_stage
        "maxStorageTexturesPerShaderStage" max_storage_textures_per_shader_stage
        "maxUniformBuffersPerShaderStage" max_uniform_buffers_per_shader_stage
        "maxUniformBufferBindingSize" max_uniform_buffer_binding_size
        "maxStorageBufferBindingSize" max_storage_buffer_binding_size
        "maxVertexBuffers" max_vertex_buffers
        "maxBufferSize" max_buffer_size
        "maxVertexAttributes" max_vertex_attributes
        "maxVertexBufferArrayStride" max_vertex_buffer_array_stride
        "maxInterStageShaderVariables" max_inter_stage_shader_variables
        "maxColorAttachments" max_color_attachments
        "maxColorAttachmentBytesPerSample" max_color_attachment_bytes_per_sample
        "maxComputeWorkgroupStorageSize" max_compute_workgroup_storage_size
        "maxComputeInvocationsPerWorkgroup" max_compute_invocations_per_workgroup
        "maxComputeWorkgroupSizeX" max_compute_workgroup_size_x
        "maxComputeWorkgroupSizeY" max_compute_workgroup_size_y
        "maxComputeWorkgroupSizeZ" max_compute_workgroup_size_z
        "maxComputeWorkgroupsPerDimension" max_compute_workgroups_per_dimension
    }
}

#[wasm_bindgen]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    broad_phase: GpuBroadPhase,
    events: Option<PairEvents>,
    /// Recorded but not submitted.
    recorded: Option<Recorded>,
    output: Option<StepOutput>,
    event_output: Option<EventOutput>,
}

struct Recorded {
    encoder: wgpu::CommandEncoder,
    output: StepOutput,
    /// `None` for a repeated step, which keeps its first events.
    event_output: Option<EventOutput>,
}

#[wasm_bindgen]
impl Gpu {
    /// Compiles the pipelines of these settings. On failure, destroys a device that it owns.
    #[wasm_bindgen(constructor)]
    pub fn new(opened: Opened, is_owned: bool, settings: &Settings, has_events: bool) -> Result<Self, JsValue> {
        let Opened { device, queue } = opened;
        let made = GpuBroadPhase::new(&device, &queue, &settings.descriptor());
        let broad_phase = made
            .inspect_err(|_| {
                if is_owned {
                    device.destroy();
                }
            })
            .map_err(Failure::from)?;
        Ok(Self {
            device,
            queue,
            broad_phase,
            events: has_events.then(|| PairEvents::new(None)),
            recorded: None,
            output: None,
            event_output: None,
        })
    }

    pub fn device(&self) -> Result<JsDevice, JsValue> {
        let device = self.device.as_webgpu().ok_or_else(not_webgpu)?;
        Ok(JsValue::from(device.clone()).unchecked_into())
    }

    /// `usage` has the bits of `GPUBufferUsage`.
    pub fn create_buffer(&self, label: &str, size: f64, usage: u32) -> Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: size as u64,
            usage: wgpu::BufferUsages::from_bits_truncate(usage),
            mapped_at_creation: false,
        });
        buffer.into()
    }

    /// Records a step. A refused step leaves the last one unchanged. Repetitions record no events.
    pub fn record(&mut self, input: &Input, is_repeated: bool) -> Result<(), JsValue> {
        self.recorded = Some(self.recorded(input, is_repeated).map_err(Failure::from)?);
        Ok(())
    }

    fn recorded(&mut self, input: &Input, is_repeated: bool) -> Result<Recorded, StepError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/step"),
        });
        let output = self.broad_phase.step(&mut encoder, input.scene())?;
        let event_output = match &mut self.events {
            Some(events) if !is_repeated => Some(events.record(&mut encoder, &output, input.names())?),
            _ => None,
        };
        Ok(Recorded {
            encoder,
            output,
            event_output,
        })
    }

    pub fn submit(&mut self) {
        if let Some(recorded) = self.recorded.take() {
            self.queue.submit([recorded.encoder.finish()]);
            self.output = Some(recorded.output);
            self.event_output = recorded.event_output.or(self.event_output.take());
        }
    }

    pub fn output(&self, which: Output) -> Result<Option<JsBuffer>, JsValue> {
        let of_events = self.event_output.as_ref().and_then(|output| match which {
            Output::EventRows => Some(&output.rows),
            Output::EventsEnded => Some(&output.ended),
            Output::EventCounters => Some(&output.counters),
            _ => None,
        });
        let found = of_events.or_else(|| buffer_of(self.output.as_ref()?, which));
        Ok(found.map(js_buffer).transpose()?)
    }

    /// Capacity of an output, in rows.
    pub fn capacity(&self, which: Output) -> u32 {
        let of_events = self.event_output.as_ref().map_or(0, |output| match which {
            Output::EventRows => output.capacity,
            Output::EventsEnded => output.ended_capacity,
            _ => 0,
        });
        of_events.max(self.output.as_ref().map_or(0, |output| capacity_of(output, which)))
    }

    /// Resolves when the next step knows the capacities that the last one needed.
    pub fn settle(&self) -> Result<Settled, JsValue> {
        let mut encoder = reading_encoder(&self.device);
        let later = self.broad_phase.record_read_back(&mut encoder, &[]);
        settled(&self.queue, encoder, later)
    }

    pub fn read_events(&mut self) -> Result<PromisedEvents, JsValue> {
        let events = self.events.as_mut().ok_or(StepError::NoStep).map_err(Failure::from)?;
        let mut encoder = reading_encoder(&self.device);
        let later = events.record_read_back(&mut encoder).map_err(Failure::from)?;
        self.queue.submit([encoder.finish()]);
        let promise = future_to_promise(async move {
            let found = later.await.map_err(Failure::from)?;
            Ok(EventAnswer::from(found).into())
        });
        Ok(promise.unchecked_into())
    }

    pub fn query_set(&self, settings: &Settings) -> Result<Set, JsValue> {
        let set = self.broad_phase.query_set("queries", &settings.descriptor().outputs);
        Ok(Set {
            device: self.device.clone(),
            queue: self.queue.clone(),
            set: set.map_err(Failure::from)?,
            recorded: None,
            output: None,
        })
    }

    /// Bytes without the caller's own buffers.
    pub fn memory(&self) -> f64 {
        let of_events = self.events.as_ref().map_or(0, |events| events.memory().total());
        (self.broad_phase.memory().total() + of_events) as f64
    }
}

#[wasm_bindgen]
pub struct Set {
    device: wgpu::Device,
    queue: wgpu::Queue,
    set: QuerySet,
    recorded: Option<Recorded>,
    output: Option<StepOutput>,
}

#[wasm_bindgen]
impl Set {
    pub fn record(&mut self, gpu: &Gpu, input: &Input) -> Result<(), JsValue> {
        self.recorded = Some(self.recorded(gpu, input).map_err(Failure::from)?);
        Ok(())
    }

    fn recorded(&mut self, gpu: &Gpu, input: &Input) -> Result<Recorded, StepError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/query"),
        });
        let step = gpu.last()?;
        let output = self.set.record(&mut encoder, step, input.query_input())?;
        Ok(Recorded {
            encoder,
            output,
            event_output: None,
        })
    }

    pub fn submit(&mut self) {
        if let Some(recorded) = self.recorded.take() {
            self.queue.submit([recorded.encoder.finish()]);
            self.output = Some(recorded.output);
        }
    }

    pub fn settle(&self) -> Result<Settled, JsValue> {
        let mut encoder = reading_encoder(&self.device);
        let later = self.set.record_read_back(&mut encoder, &[]);
        settled(&self.queue, encoder, later)
    }

    pub fn output(&self, which: Output) -> Result<Option<JsBuffer>, JsValue> {
        let found = self.output.as_ref().and_then(|output| buffer_of(output, which));
        Ok(found.map(js_buffer).transpose()?)
    }

    pub fn capacity(&self, which: Output) -> u32 {
        self.output.as_ref().map_or(0, |output| capacity_of(output, which))
    }
}

impl Gpu {
    pub fn last(&self) -> Result<&StepOutput, StepError> {
        self.output.as_ref().ok_or(StepError::NoStep)
    }

    pub fn device_and_queue(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.device, &self.queue)
    }
}

pub fn reading_encoder(device: &wgpu::Device) -> wgpu::CommandEncoder {
    device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
        label: Some("gpu_broad_phase/readback"),
    })
}

fn settled(
    queue: &wgpu::Queue,
    encoder: wgpu::CommandEncoder,
    later: Result<Readback<StepResult>, StepError>,
) -> Result<Settled, JsValue> {
    let later = later.map_err(Failure::from)?;
    queue.submit([encoder.finish()]);
    let promise = future_to_promise(async move {
        later.await.map_err(Failure::from)?;
        Ok(JsValue::UNDEFINED)
    });
    Ok(promise.unchecked_into())
}

fn buffer_of(output: &StepOutput, which: Output) -> Option<&wgpu::Buffer> {
    let StepOutput {
        counters,
        pairs,
        rays,
        queries,
        table,
        ..
    } = output;
    let Table {
        starts,
        records,
        grid,
        entries,
        ..
    } = table;
    match which {
        Output::Counters => Some(counters),
        Output::Pairs => Some(&pairs.as_ref()?.buffer),
        Output::WorldPairs => pairs.as_ref()?.per_world.as_ref(),
        Output::WorldOffsets => pairs.as_ref()?.world_offsets.as_ref(),
        Output::Rays => {
            let of_all = rays.hits.as_ref().map(|hits| &hits.buffer);
            rays.closest.as_ref().or(rays.any.as_ref()).or(of_all)
        }
        Output::RayOffsets => Some(&rays.hits.as_ref()?.offsets),
        Output::Queries => {
            let of_all = queries.objects.as_ref().map(|objects| &objects.buffer);
            queries.nearest.as_ref().or(of_all)
        }
        Output::QueryOffsets => Some(&queries.objects.as_ref()?.offsets),
        Output::TableStarts => Some(starts),
        Output::TableRecords => Some(records),
        Output::TableGrid => Some(grid),
        Output::TableEntries => entries.as_ref(),
        Output::EventRows | Output::EventsEnded | Output::EventCounters => None,
    }
}

fn capacity_of(output: &StepOutput, which: Output) -> u32 {
    let of = |lists: &Option<Lists>| lists.as_ref().map_or(0, |lists| lists.capacity);
    match which {
        Output::Pairs => output.pairs.as_ref().map_or(0, |pairs| pairs.capacity),
        Output::Rays => of(&output.rays.hits),
        Output::Queries => of(&output.queries.objects),
        _ => 0,
    }
}
