//! How fast the device copies from one buffer to another: what stage times are held to.

use std::time::Instant;

use anyhow::{Context, Result};
use gpu_broad_phase::wgpu::{
    AdapterInfo, Backends, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, Device, DeviceDescriptor, Features,
    Limits, MapMode, PollType, QuerySet, QuerySetDescriptor, QueryType, Queue,
};
use gpu_broad_phase::{GpuBroadPhase, adapters};
use pollster::block_on;

use super::measure::median;

/// Bytes of a buffer, far more than caches hold.
const BYTES: u64 = 256 << 20;
/// Copies between two time stamps, there and back again.
const COPIES: u32 = 4;
/// Measured after one more that warms up.
const RUNS: usize = 5;
/// What the device's clock needs. It stands outside of passes, as copies do.
const CLOCK: Features = Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// What was measured.
#[derive(Clone, Copy)]
pub struct DeviceCopy {
    pub bytes: u64,
    pub median_ms: f64,
    /// Whether the device told the time, or the host did.
    pub is_by_device: bool,
}

impl DeviceCopy {
    /// Gigabytes per second that are read and written.
    pub fn rate(&self) -> f64 {
        2.0 * self.bytes as f64 / self.median_ms / 1e6
    }
}

struct Clock {
    queries: QuerySet,
    resolved: Buffer,
    read: Buffer,
    /// Nanoseconds of a tick.
    period: f32,
}

/// Measures on an adapter that is in use already, with a device of its own.
pub fn measure(info: &AdapterInfo) -> Result<DeviceCopy> {
    let found = block_on(adapters(Backends::from(info.backend)));
    let adapter = found.into_iter().find(|adapter| adapter.get_info() == *info);
    let adapter = adapter.context("the adapter is gone")?;
    let has_clock = adapter.features().contains(CLOCK);
    let request = DeviceDescriptor {
        required_features: if has_clock { CLOCK } else { Features::empty() },
        required_limits: Limits {
            max_buffer_size: adapter.limits().max_buffer_size,
            ..GpuBroadPhase::required_limits()
        },
        ..Default::default()
    };
    let (device, queue) = block_on(adapter.request_device(&request))?;
    let bytes = BYTES.min(device.limits().max_buffer_size);
    let buffers = [(); 2].map(|()| {
        device.create_buffer(&BufferDescriptor {
            label: Some("copy"),
            size: bytes,
            usage: BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    });
    let clock = has_clock.then(|| Clock::new(&device, &queue));
    let mut times = Vec::new();
    for _ in 0..=RUNS {
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        if let Some(clock) = &clock {
            encoder.write_timestamp(&clock.queries, 0);
        }
        for copy in 0..COPIES as usize {
            let [from, to] = [&buffers[copy % 2], &buffers[(copy + 1) % 2]];
            encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes);
        }
        if let Some(clock) = &clock {
            clock.end(&mut encoder);
        }
        queue.submit([encoder.finish()]);
        device.poll(PollType::wait_indefinitely())?;
        let by_host = start.elapsed().as_secs_f64() * 1e3;
        times.push(match &clock {
            Some(clock) => clock.milliseconds(&device)?,
            None => by_host,
        });
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(DeviceCopy {
        bytes,
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

    fn end(&self, encoder: &mut CommandEncoder) {
        encoder.write_timestamp(&self.queries, 1);
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
