use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use glam::UVec2;
use gpu_broad_phase::{GpuBroadPhase, ReadBackError};

use crate::failure::Failure;

pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub format: wgpu::TextureFormat,
    /// A fallback adapter runs on the CPU.
    pub is_software: bool,
    surface: wgpu::Surface<'static>,
    events: Arc<Mutex<Events>>,
    in_flight: Arc<AtomicU32>,
}

#[derive(Clone, Debug, Default)]
pub struct Events {
    pub lost: Option<String>,
    pub errors: Vec<String>,
}

impl Gpu {
    pub async fn open(canvas: &web_sys::HtmlCanvasElement) -> Result<Self, Failure> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let surface = surface_of(&instance, canvas)?;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: Some(&surface),
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await;
        let adapter = adapter.map_err(|_| Failure::NoAdapter)?;
        let needed = GpuBroadPhase::device_descriptor(&adapter);
        let own = wgpu::Limits {
            max_texture_dimension_2d: adapter.limits().max_texture_dimension_2d,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: own.or_better_values_from(&needed.required_limits),
            ..needed
        };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|error| Failure::NoDevice(browser_message(&error.to_string())))?;
        let events = Arc::new(Mutex::new(Events::default()));
        let (of_errors, of_loss) = (Arc::clone(&events), Arc::clone(&events));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&of_errors).errors.push(error.to_string())
        }));
        device.set_device_lost_callback(move |reason, message| {
            let told = if message.is_empty() {
                format!("{reason:?}")
            } else {
                message
            };
            lock(&of_loss).lost = Some(told);
        });
        let formats = surface.get_capabilities(&adapter).formats;
        let Some(&format) = formats.first() else {
            return Err(Failure::NoCanvas("the adapter has no format for it".to_owned()));
        };
        Ok(Self {
            device,
            queue,
            format,
            is_software: adapter.get_info().device_type == wgpu::DeviceType::Cpu,
            surface,
            events,
            in_flight: Arc::default(),
        })
    }

    pub fn has_timestamps(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    pub fn take_events(&self) -> Events {
        std::mem::take(&mut *lock(&self.events))
    }

    pub fn configure(&self, size: UVec2) {
        self.surface.configure(
            &self.device,
            &wgpu::SurfaceConfiguration {
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                format: self.format,
                color_space: wgpu::SurfaceColorSpace::Auto,
                width: size.x,
                height: size.y,
                present_mode: wgpu::PresentMode::AutoVsync,
                desired_maximum_frame_latency: 2,
                alpha_mode: wgpu::CompositeAlphaMode::Opaque,
                view_formats: Vec::new(),
            },
        );
    }

    /// `None` if the canvas is unavailable at the moment.
    pub fn next_frame(&self) -> Option<wgpu::SurfaceTexture> {
        match self.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(texture) | wgpu::CurrentSurfaceTexture::Suboptimal(texture) => {
                Some(texture)
            }
            _ => None,
        }
    }

    /// Adds `STORAGE`, `COPY_SRC` and `COPY_DST`.
    pub fn empty(&self, label: &str, bytes: u64, more: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: STORAGE | more,
            mapped_at_creation: false,
        })
    }

    pub fn uniform(&self, label: &str, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// The frame is in flight until the GPU has finished.
    pub fn submit(&self, encoder: wgpu::CommandEncoder) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.queue.submit([encoder.finish()]);
        let in_flight = Arc::clone(&self.in_flight);
        self.queue.on_submitted_work_done(move || {
            in_flight.fetch_sub(1, Ordering::Relaxed);
        });
    }

    pub fn frames_in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Reads after all earlier submissions.
    pub async fn read<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer, rows: u32) -> Result<Vec<T>, Failure> {
        let bytes = u64::from(rows) * size_of::<T>() as u64;
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = futures_channel::oneshot::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            let _ = sender.send(mapped.is_ok());
        });
        let refused = || Failure::ReadBack(ReadBackError::DeviceLost);
        if receiver.await != Ok(true) {
            return Err(refused());
        }
        let mapped = staging.get_mapped_range(..).map_err(|_| refused())?;
        Ok(bytemuck::pod_collect_to_vec(&mapped))
    }

    pub fn bind_group(&self, layout: &wgpu::BindGroupLayout, buffers: &[(u32, &wgpu::Buffer)]) -> wgpu::BindGroup {
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

    pub fn shader(&self, label: &str, text: &str) -> wgpu::ShaderModule {
        self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(text.into()),
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
}

const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

/// Extracts the message from `JsValue(Name: message` and a stack.
fn browser_message(printed: &str) -> String {
    let Some(inner) = printed.strip_prefix("JsValue(").and_then(|rest| rest.strip_suffix(')')) else {
        return printed.lines().collect::<Vec<_>>().join(" ");
    };
    let message = match inner.split_once(": ") {
        Some((name, message)) if name.chars().all(char::is_alphanumeric) => message,
        _ => inner,
    };
    let first = inner.lines().next().unwrap_or_default();
    // Depending on the browser, the stack repeats the error, begins with a location, or is missing.
    let is_stack = |line: &str| {
        line == "undefined"
            || line == first
            || line.starts_with("Error")
            || line.trim().starts_with("at ")
            || line.contains('@')
    };
    let mut lines = message.lines();
    let begin = lines.next().into_iter();
    begin
        .chain(lines.take_while(|line| !is_stack(line)))
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

fn lock(events: &Mutex<Events>) -> std::sync::MutexGuard<'_, Events> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_arch = "wasm32")]
fn surface_of(
    instance: &wgpu::Instance,
    canvas: &web_sys::HtmlCanvasElement,
) -> Result<wgpu::Surface<'static>, Failure> {
    let target = wgpu::SurfaceTarget::Canvas(canvas.clone());
    instance
        .create_surface(target)
        .map_err(|error| Failure::NoCanvas(error.to_string()))
}

/// For compiling and testing outside a browser.
#[cfg(not(target_arch = "wasm32"))]
fn surface_of(_: &wgpu::Instance, _: &web_sys::HtmlCanvasElement) -> Result<wgpu::Surface<'static>, Failure> {
    Err(Failure::NoWebGpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_of_the_browser_only_its_message_is_shown() {
        let shown = [
            "JsValue(OperationError: not today\nundefined)",
            "JsValue(TypeError: not today\nTypeError: not today\n    at requestDevice (web.js:1:2))",
            "JsValue(OperationError: not today\nwasm.init@web.js:1:2\n)",
            "not today",
        ];
        for printed in shown {
            assert_eq!(browser_message(printed), "not today", "{printed}");
        }
        let two_lines = "JsValue(OperationError: a limit: too low\n - While asking\nundefined)";
        assert_eq!(browser_message(two_lines), "a limit: too low - While asking");
        assert_eq!(browser_message("JsValue(null)"), "null");
    }
}
