//! Compares the sort of a step with a sorting crate, on one device with the same keys and values.

use anyhow::{Context, Result, bail};
use gpu_broad_phase::wgpu::{AdapterInfo, Backends, Device, DeviceDescriptor, DeviceType, Limits, PollType, Queue};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, GpuBroadPhase, OutputOptions, Scene, Source, adapters, internals::reference::trace,
    wgpu::Buffer,
};
use pollster::block_on;

use super::answer::Answer;
use super::brute_force::download;
use super::gpu::{self, upload};
use super::measure::{Contestant, Question};
use super::traffic::Traffic;

pub struct Keys<'a> {
    boxes: &'a [Aabb],
    unsorted: Vec<[u32; 2]>,
    expected: Vec<u32>,
    pub counts: KeyCounts,
    /// `None` except for a hierarchical step with pairs.
    pub traffic: Option<Traffic>,
}

#[derive(Clone, Copy)]
pub struct KeyCounts {
    pub keys: usize,
    pub bits: u32,
    /// Key bits that the stage `sort` sorts.
    pub digit_bits: u32,
}

impl<'a> Keys<'a> {
    pub fn new(boxes: &'a [Aabb], descriptor: &BroadPhaseDescriptor<'static>) -> Result<Self> {
        let scene = Scene {
            objects: Source::Host(boxes),
            ..Scene::default()
        };
        let keys = trace(&without_pairs(descriptor), &scene)?;
        let largest = keys.unsorted_keys.iter().copied().max().unwrap_or_default();
        let entries = keys.unsorted_keys.iter().zip(&keys.unsorted_values);
        Ok(Self {
            boxes,
            unsorted: entries.map(|(&key, &value)| [key, value]).collect(),
            expected: keys.values.clone(),
            traffic: Traffic::of(&trace(descriptor, &scene)?),
            counts: KeyCounts {
                keys: keys.unsorted_keys.len(),
                bits: (u32::BITS - largest.leading_zeros()).max(1),
                digit_bits: keys.digits.iter().map(|digit| digit.sort.bits).sum(),
            },
        })
    }

    #[cfg_attr(not(feature = "peers"), allow(dead_code, reason = "what peers sort"))]
    pub fn unsorted(&self) -> &[[u32; 2]] {
        &self.unsorted
    }

    /// Fails if `values` differ from a stable sort.
    pub fn answer(&self, engine: &str, values: Vec<u32>) -> Result<Answer> {
        if values != self.expected {
            bail!("{engine}: wrong order: it differs from a stable sort");
        }
        let rows = (0..).zip(values).map(|(place, value)| [place, value]);
        Ok(Answer::of_hits(&vec![rows.collect()]))
    }
}

fn without_pairs(descriptor: &BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        pairs: false,
        outputs: OutputOptions {
            timestamps: true,
            ..descriptor.outputs
        },
        ..*descriptor
    }
}

pub struct SortDevice {
    pub device: Device,
    pub queue: Queue,
    pub device_type: DeviceType,
}

impl SortDevice {
    /// Makes a new device, since the adapter's device is in use.
    pub fn open(info: &AdapterInfo) -> Result<Self> {
        let found = block_on(adapters(Backends::from(info.backend)));
        let adapter = found
            .into_iter()
            .find(|adapter| adapter.get_info() == *info)
            .context("adapter lost: it is no longer listed by its backend")?;
        let available = adapter.limits();
        let features = adapter.features() & GpuBroadPhase::optional_features();
        let limits = Limits {
            max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
            max_buffer_size: available.max_buffer_size,
            ..GpuBroadPhase::required_limits()
        };
        #[cfg(feature = "peers")]
        let (features, limits) = {
            let required = lampshade::KeyValueSoaSorter::requirements(&adapter);
            (required.features(features), required.limits(limits))
        };
        let request = DeviceDescriptor {
            required_features: features,
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&request))?;
        Ok(Self {
            device,
            queue,
            device_type: info.device_type,
        })
    }

    pub fn has_clock(&self) -> bool {
        self.device
            .features()
            .contains(gpu_broad_phase::wgpu::Features::TIMESTAMP_QUERY)
    }
}

pub struct StageOfStep<'a> {
    on: &'a SortDevice,
    keys: &'a Keys<'a>,
    broad_phase: GpuBroadPhase,
    buffer: Buffer,
}

impl<'a> StageOfStep<'a> {
    pub fn new(on: &'a SortDevice, keys: &'a Keys<'a>, descriptor: &BroadPhaseDescriptor<'static>) -> Result<Self> {
        Ok(Self {
            on,
            keys,
            broad_phase: GpuBroadPhase::new(&on.device, &on.queue, &without_pairs(descriptor))?,
            buffer: upload(&on.device, keys.boxes),
        })
    }

    fn step(&mut self, wants_entries: bool) -> Result<Option<Vec<u32>>> {
        let (device, queue) = (&self.on.device, &self.on.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = Scene {
            objects: Source::device(&self.buffer, self.keys.boxes.len() as u32),
            ..Default::default()
        };
        let output = self.broad_phase.step(&mut encoder, input)?;
        queue.submit([encoder.finish()]);
        let entries = output.table.entries.filter(|_| wants_entries);
        let entries = entries.map(|entries| download(device, queue, &entries)).transpose()?;
        device.poll(PollType::wait_indefinitely())?;
        Ok(entries)
    }
}

impl Contestant for StageOfStep<'_> {
    fn engine(&self) -> &'static str {
        gpu::NAME
    }

    fn threads(&self) -> usize {
        0
    }

    fn question(&self) -> Question {
        Question::Sort
    }

    fn prepare(&mut self) -> Result<Answer> {
        for _ in 0..3 {
            let mut entries = self.step(true)?.unwrap_or_default();
            let counters = self.broad_phase.counters();
            if counters.is_some_and(|counters| counters.is_complete()) {
                entries.truncate(self.keys.expected.len());
                return self.keys.answer(gpu::NAME, entries);
            }
        }
        bail!("{}: entries exceed their capacity", gpu::NAME);
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        gpu::warm_up(self.on.device_type, || self.step(false).map(drop))?;
        self.step(false)?;
        let result = block_on(self.broad_phase.read_back())?;
        gpu::note_work();
        let sort = result.timings.iter().find(|timing| timing.stage == "sort");
        let nanoseconds = sort.context("stage `sort` has no time")?.nanoseconds;
        Ok(vec![(Question::Sort.stage(), nanoseconds / 1e6)])
    }
}
