use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use gpu_broad_phase::GpuBroadPhase;
use wgpu::util::{DeviceExt, initialize_adapter_from_env_or_default};

use crate::targets::{DEPTH_FORMAT, SAMPLES};

/// Linear background and fog colour of shaded boxes.
pub const SOLID_BACKGROUND: wgpu::Color = wgpu::Color {
    r: 0.004,
    g: 0.0055,
    b: 0.0095,
    a: 1.0,
};

pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub info: wgpu::AdapterInfo,
    /// An sRGB format, so shaders write linear colours.
    pub format: wgpu::TextureFormat,
    submissions: Cell<u64>,
    bytes_read: RefCell<BTreeMap<&'static str, u64>>,
}

/// Submissions and bytes read back, except for pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub submissions: u64,
    /// Bytes per label.
    pub bytes_read: BTreeMap<&'static str, u64>,
}

/// Draw state. Default: opaque, depth tested, two-sided.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrawState {
    pub topology: wgpu::PrimitiveTopology,
    pub cull_mode: Option<wgpu::Face>,
    pub blend: Option<wgpu::BlendState>,
    pub no_depth: bool,
    /// Alpha is the fraction of a pixel's samples that are drawn, for smooth rims.
    pub alpha_to_coverage: bool,
}

impl Gpu {
    /// # Errors
    /// Without an adapter, or if it lacks a feature.
    pub fn offscreen() -> Result<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        Self::new(&instance, None)
    }

    /// Opens the device that `WGPU_BACKEND` and `WGPU_ADAPTER_NAME` select.
    pub(crate) fn new(instance: &wgpu::Instance, surface: Option<&wgpu::Surface<'_>>) -> Result<Self> {
        let adapter =
            pollster::block_on(initialize_adapter_from_env_or_default(instance, surface)).context("no GPU driver")?;
        let needed = GpuBroadPhase::device_descriptor(&adapter);
        let rendering = wgpu::Limits {
            max_texture_dimension_2d: adapter.limits().max_texture_dimension_2d,
            ..wgpu::Limits::downlevel_defaults()
        };
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: rendering.or_better_values_from(&needed.required_limits),
            ..needed
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        device.on_uncaptured_error(Arc::new(|error| {
            eprintln!("Error: {error}");
            std::process::exit(1);
        }));
        device.set_device_lost_callback(|reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                eprintln!("Error: the device is lost: {message}");
                std::process::exit(1);
            }
        });
        let formats = surface.map(|surface| surface.get_capabilities(&adapter).formats);
        let encoded = |formats: Vec<wgpu::TextureFormat>| {
            let encoding = formats.iter().find(|format| format.is_srgb());
            encoding.or(formats.first()).copied()
        };
        let format = match formats {
            Some(formats) => encoded(formats).context("the adapter cannot draw into the window")?,
            None => wgpu::TextureFormat::Rgba8UnormSrgb,
        };
        Ok(Self {
            device,
            queue,
            info: adapter.get_info(),
            format,
            submissions: Cell::new(0),
            bytes_read: RefCell::default(),
        })
    }

    /// Creates a buffer with `usages`, `STORAGE` and `COPY_SRC`.
    pub fn buffer<T: bytemuck::Pod>(&self, label: &str, contents: &[T], usages: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some(label),
            contents: bytemuck::cast_slice(contents),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | usages,
        })
    }

    pub fn uniform<T: bytemuck::Pod>(&self, label: &str, contents: &T) -> wgpu::Buffer {
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some(label),
            contents: bytemuck::bytes_of(contents),
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        })
    }

    /// Compiles the constant `BACKGROUND`, `solid.wgsl` and `source` together.
    pub fn solid_shader(&self, label: &str, source: &str) -> wgpu::ShaderModule {
        let wgpu::Color { r, g, b, .. } = SOLID_BACKGROUND;
        let background = format!("const BACKGROUND: vec3<f32> = vec3<f32>({r}, {g}, {b});\n");
        let solid = include_str!("solid.wgsl");
        self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(format!("{background}{solid}{source}").into()),
        })
    }

    pub fn compute_pipeline(&self, module: &wgpu::ShaderModule, entry_point: &str) -> wgpu::ComputePipeline {
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry_point),
            layout: None,
            module,
            entry_point: Some(entry_point),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    /// Uses entry points `{name}_vertex` and `{name}_fragment`.
    pub fn draw_pipeline(
        &self,
        module: &wgpu::ShaderModule,
        name: &str,
        buffers: &[wgpu::VertexBufferLayout<'_>],
        state: DrawState,
    ) -> wgpu::RenderPipeline {
        let depth_compare = match state.no_depth {
            true => wgpu::CompareFunction::Always,
            false => wgpu::CompareFunction::LessEqual,
        };
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(name),
            layout: None,
            vertex: wgpu::VertexState {
                module,
                entry_point: Some(&format!("{name}_vertex")),
                compilation_options: Default::default(),
                buffers: &buffers.iter().cloned().map(Some).collect::<Vec<_>>(),
            },
            primitive: wgpu::PrimitiveState {
                topology: state.topology,
                cull_mode: state.cull_mode,
                ..Default::default()
            },
            depth_stencil: Some(wgpu::DepthStencilState {
                format: DEPTH_FORMAT,
                depth_write_enabled: Some(!state.no_depth),
                depth_compare: Some(depth_compare),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: wgpu::MultisampleState {
                count: SAMPLES,
                alpha_to_coverage_enabled: state.alpha_to_coverage,
                ..Default::default()
            },
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: Some(&format!("{name}_fragment")),
                compilation_options: Default::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format: self.format,
                    blend: state.blend,
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }

    /// Binds whole buffers, from binding 0 on.
    pub fn bind_group(&self, layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
        let numbered: Vec<_> = (0..).zip(buffers.iter().copied()).collect();
        self.bind_group_at(layout, &numbered)
    }

    pub fn bind_group_at(&self, layout: &wgpu::BindGroupLayout, buffers: &[(u32, &wgpu::Buffer)]) -> wgpu::BindGroup {
        let entries: Vec<_> = buffers
            .iter()
            .map(|&(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
    }

    pub fn submit(&self, encoder: wgpu::CommandEncoder) {
        self.queue.submit([encoder.finish()]);
        self.submissions.set(self.submissions.get() + 1);
    }

    /// Reads the first `rows` rows of `buffer`, which needs `COPY_SRC`. Waits for the device.
    pub fn read<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer, rows: usize) -> Result<Vec<T>> {
        let bytes = (rows * size_of::<T>()) as u64;
        let rows = self.read_uncounted(bytes, |encoder, staging| {
            encoder.copy_buffer_to_buffer(buffer, 0, staging, 0, bytes);
        })?;
        self.submissions.set(self.submissions.get() + 1);
        self.count_read("buffers", bytes);
        Ok(rows)
    }

    /// Does not count the bytes.
    pub(crate) fn read_uncounted<T: bytemuck::Pod>(
        &self,
        bytes: u64,
        copy: impl FnOnce(&mut wgpu::CommandEncoder, &wgpu::Buffer),
    ) -> Result<Vec<T>> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size: bytes.next_multiple_of(4).max(4),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        copy(&mut encoder, &staging);
        self.queue.submit([encoder.finish()]);
        // Mapping errors are reported by `get_mapped_range`.
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        let rows = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..bytes)?);
        Ok(rows)
    }

    pub fn count_read(&self, what: &'static str, bytes: u64) {
        *self.bytes_read.borrow_mut().entry(what).or_default() += bytes;
    }

    pub fn traffic(&self) -> Traffic {
        Traffic {
            submissions: self.submissions.get(),
            bytes_read: self.bytes_read.borrow().clone(),
        }
    }
}
