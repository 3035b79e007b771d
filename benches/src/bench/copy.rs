use std::time::Instant;

use anyhow::{Context, Result};
use gpu_broad_phase::wgpu::{
    AdapterInfo, Backends, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, CommandEncoder,
    ComputePassDescriptor, ComputePassTimestampWrites, ComputePipelineDescriptor, Device, DeviceDescriptor, Features,
    MapMode, PollType, QuerySet, QuerySetDescriptor, QueryType, Queue, include_wgsl,
};
use gpu_broad_phase::{GpuBroadPhase, adapters};
use pollster::block_on;

use super::gpu::warm_up;
use super::measure::median;

/// Bindable under the default limits and larger than caches.
const BYTES: u64 = 128 << 20;
const GROUP_BYTES: u64 = 256 * 16;
const COPIES: u32 = 4;
const RUNS: usize = 5;

/// Median time of a copy by a shader, since copy engines of GPUs are slower than their memory.
#[derive(Clone, Copy)]
pub struct DeviceCopy {
    pub bytes: u64,
    pub median_ms: f64,
    /// True if timed by GPU timestamps, not by the CPU.
    pub is_by_device: bool,
}

impl DeviceCopy {
    /// Gigabytes per second, reads and writes together.
    pub fn rate(&self) -> f64 {
        2.0 * self.bytes as f64 / self.median_ms / 1e6
    }
}

struct Clock {
    queries: QuerySet,
    resolved: Buffer,
    read: Buffer,
    /// Nanoseconds per tick.
    period: f32,
}

/// Makes a new device, since the adapter's device is in use.
pub fn measure(info: &AdapterInfo) -> Result<DeviceCopy> {
    let found = block_on(adapters(Backends::from(info.backend)));
    let adapter = found.into_iter().find(|adapter| adapter.get_info() == *info);
    let adapter = adapter.context("adapter lost: it is no longer listed by its backend")?;
    let request = DeviceDescriptor {
        required_features: adapter.features() & Features::TIMESTAMP_QUERY,
        required_limits: GpuBroadPhase::required_limits(),
        ..Default::default()
    };
    let (device, queue) = block_on(adapter.request_device(&request))?;
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some("copy"),
        layout: None,
        module: &device.create_shader_module(include_wgsl!("copy.wgsl")),
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let [source, destination] = [(); 2].map(|()| {
        device.create_buffer(&BufferDescriptor {
            label: Some("copy"),
            size: BYTES,
            usage: BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    });
    let entry = |(binding, buffer)| BindGroupEntry {
        binding,
        resource: Buffer::as_entire_binding(buffer),
    };
    let bindings = device.create_bind_group(&BindGroupDescriptor {
        label: Some("copy"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[(0, &source), (1, &destination)].map(entry),
    });
    let has_clock = device.features().contains(Features::TIMESTAMP_QUERY);
    let clock = has_clock.then(|| Clock::new(&device, &queue));
    let copy = || -> Result<f64> {
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor {
            label: Some("copy"),
            timestamp_writes: clock.as_ref().map(|clock| ComputePassTimestampWrites {
                query_set: &clock.queries,
                beginning_of_pass_write_index: Some(0),
                end_of_pass_write_index: Some(1),
            }),
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        for _ in 0..COPIES {
            pass.dispatch_workgroups((BYTES / GROUP_BYTES) as u32, 1, 1);
        }
        drop(pass);
        if let Some(clock) = &clock {
            clock.resolve(&mut encoder);
        }
        queue.submit([encoder.finish()]);
        device.poll(PollType::wait_indefinitely())?;
        match &clock {
            Some(clock) => clock.milliseconds(&device),
            None => Ok(start.elapsed().as_secs_f64() * 1e3),
        }
    };
    copy()?;
    warm_up(info.device_type, || copy().map(drop))?;
    let mut times = (0..RUNS).map(|_| copy()).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(DeviceCopy {
        bytes: BYTES,
        median_ms: median(&times) / f64::from(COPIES),
        is_by_device: has_clock,
    })
}

impl Clock {
    fn new(device: &Device, queue: &Queue) -> Self {
        let buffer = |usage| {
            device.create_buffer(&BufferDescriptor {
                label: Some("clock"),
                size: 16,
                usage: usage | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        Self {
            queries: device.create_query_set(&QuerySetDescriptor {
                label: Some("clock"),
                ty: QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(BufferUsages::MAP_READ),
            period: queue.get_timestamp_period(),
        }
    }

    fn resolve(&self, encoder: &mut CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, 16);
    }

    fn milliseconds(&self, device: &Device) -> Result<f64> {
        self.read.map_async(MapMode::Read, .., |_| ());
        device.poll(PollType::wait_indefinitely())?;
        let ticks: [u64; 2] = bytemuck::pod_read_unaligned(&self.read.get_mapped_range(..)?);
        self.read.unmap();
        Ok(ticks[1].saturating_sub(ticks[0]) as f64 * f64::from(self.period) / 1e6)
    }
}
