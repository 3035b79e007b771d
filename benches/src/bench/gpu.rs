//! Measures the library on a GPU: steps by wall clock, stages by GPU timestamps, rays through the table of an earlier
//! step.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::wgpu::{Buffer, BufferUsages, CommandEncoder, Device, DeviceType, PollType, Queue};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Counters, GpuBroadPhase, Growth, NONE, OutputOptions, Page, QueryInput,
    Rays, Scene, Source, Status, StepResult,
};
use pollster::block_on;

use super::answer::Answer;
use super::measure::{Contestant, Question, TOTAL};
use crate::Gpu;

pub const NAME: &str = "gpu-broad-phase";
const MOST_STEPS: u32 = 64;

/// Work before a timed run on an idle GPU, which lowers its clocks by up to five times and raises them only after some
/// hundred milliseconds of work.
const WARM_UP: Duration = Duration::from_millis(300);
/// Longest idle time after which clocks are still high.
const STAYS_WARM: Duration = Duration::from_millis(10);

thread_local! {
    static WORKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Repeats `work` until a hardware GPU has raised its clocks.
pub fn warm_up(device_type: DeviceType, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let is_warm = WORKED.get().is_some_and(|worked| worked.elapsed() < STAYS_WARM);
    let began = Instant::now();
    while device_type != DeviceType::Cpu && !is_warm && began.elapsed() < WARM_UP {
        work()?;
    }
    Ok(())
}

pub fn note_work() {
    WORKED.set(Some(Instant::now()));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// From boxes in CPU memory to results in GPU memory.
    Total,
    /// From boxes to results in GPU memory.
    Resident,
    Stages,
}

pub struct OnDevice<'a> {
    pub gpu: Gpu<'a>,
    pub boxes: &'a [Aabb],
    buffer: Buffer,
    counted: Cell<Option<Counters>>,
}

impl<'a> OnDevice<'a> {
    pub fn new(gpu: Gpu<'a>, boxes: &'a [Aabb]) -> Self {
        Self {
            gpu,
            boxes,
            buffer: upload(gpu.device, boxes),
            counted: Cell::new(None),
        }
    }

    pub fn device(&self) -> &Device {
        self.gpu.device
    }

    pub fn queue(&self) -> &Queue {
        self.gpu.queue
    }

    fn resident(&self) -> Scene<'_> {
        Scene {
            objects: Source::device(&self.buffer, self.boxes.len() as u32),
            ..Default::default()
        }
    }

    fn uploaded(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(self.boxes),
            ..Default::default()
        }
    }

    fn submit(&self, record: impl FnOnce(&mut CommandEncoder) -> Result<()>) -> Result<()> {
        let mut encoder = self.device().create_command_encoder(&Default::default());
        record(&mut encoder)?;
        self.queue().submit([encoder.finish()]);
        Ok(())
    }

    pub fn wait(&self) -> Result<()> {
        self.device().poll(PollType::wait_indefinitely())?;
        Ok(())
    }

    /// Cost of a step with exactly sized outputs; `None` before a step was prepared.
    pub fn exact(&self, descriptor: &BroadPhaseDescriptor<'static>) -> Result<Option<Exact>> {
        let Some(counters) = self.counted.get() else {
            return Ok(None);
        };
        let rows =
            |needed: u64, capacity: u32| u32::try_from(needed).map_or(capacity, |rows| rows.min(capacity).max(1));
        let exact = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    pairs: Some(rows(counters.pairs_needed, counters.pairs_capacity)),
                    entries: Some(rows(counters.entries_needed, counters.entries_capacity)),
                    rounds: Some(counters.rounds_needed.max(1)),
                    ..Default::default()
                },
                ..descriptor.outputs
            },
            ..*descriptor
        };
        let mut broad_phase = GpuBroadPhase::new(self.device(), self.queue(), &exact)?;
        let step = |broad_phase: &mut GpuBroadPhase| {
            let before = broad_phase.dispatches();
            self.submit(|encoder| {
                broad_phase.step(encoder, self.resident())?;
                Ok(())
            })?;
            self.wait()?;
            anyhow::Ok(broad_phase.dispatches() - before)
        };
        // The second step saves a dispatch, because it knows the counters of the first.
        step(&mut broad_phase)?;
        let dispatches = step(&mut broad_phase)?;
        let pairs = counters.pairs_needed.min(counters.pairs_capacity.into());
        Ok(Some(Exact {
            bytes: broad_phase.memory().total(),
            pairs,
            dispatches,
        }))
    }
}

#[derive(Clone, Copy)]
pub struct Exact {
    /// GPU memory without the caller's boxes.
    pub bytes: u64,
    pub pairs: u64,
    /// Dispatches of a step without rays, after an earlier step's counters were read.
    pub dispatches: u32,
}

pub fn upload<T: bytemuck::NoUninit>(device: &Device, rows: &[T]) -> Buffer {
    device.create_buffer_init(&BufferInitDescriptor {
        label: Some("bench"),
        contents: bytemuck::cast_slice(rows),
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
    })
}

struct Recording<'a> {
    scene: &'a OnDevice<'a>,
    broad_phase: GpuBroadPhase,
    request: Request,
    /// Pages after the first, if the results exceed a binding.
    parts: Vec<Page>,
}

enum Request {
    Step(Variant),
    Rays {
        question: Question,
        rays: Buffer,
        count: u32,
    },
}

impl<'a> Recording<'a> {
    fn new(scene: &'a OnDevice<'a>, descriptor: &BroadPhaseDescriptor<'static>, request: Request) -> Result<Self> {
        Ok(Self {
            scene,
            broad_phase: GpuBroadPhase::new(scene.device(), scene.queue(), descriptor)?,
            request,
            parts: Vec::new(),
        })
    }

    fn submit_first(&mut self) -> Result<()> {
        let (scene, broad_phase) = (self.scene, &mut self.broad_phase);
        scene.submit(|encoder| {
            match &self.request {
                Request::Step(Variant::Total) => broad_phase.step(encoder, scene.uploaded())?,
                Request::Step(_) => broad_phase.step(encoder, scene.resident())?,
                Request::Rays { rays, count, .. } => {
                    let input = QueryInput {
                        rays: Rays::Plain(Source::device(rays, *count)),
                        ..Default::default()
                    };
                    broad_phase.query(encoder, input)?
                }
            };
            Ok(())
        })
    }

    fn submit_part(&mut self, first: Page) -> Result<()> {
        let (scene, broad_phase) = (self.scene, &mut self.broad_phase);
        scene.submit(|encoder| {
            broad_phase.page(encoder, first)?;
            Ok(())
        })
    }

    fn read(&mut self) -> Result<StepResult> {
        Ok(block_on(self.broad_phase.read_back())?)
    }

    /// Status bit that reports missing results, the number needed, and the capacity.
    fn need(&self, counters: &Counters) -> (Status, u64, u32) {
        match self.request {
            Request::Step(_) => (Status::PAIRS, counters.pairs_needed, counters.pairs_capacity),
            Request::Rays { .. } => (Status::HITS, counters.hits_needed, counters.hits_capacity),
        }
    }

    /// Repeats the step until buffers, rounds and pages fit the answer.
    fn settle(&mut self) -> Result<Answer> {
        let mut held = 0;
        for _ in 0..MOST_STEPS {
            self.submit_first()?;
            let first = self.read()?;
            let (short, needed, capacity) = self.need(&first.counters);
            let status = first.counters.status;
            // Outputs at the binding limit stop growing; the rest is read in pages.
            if status.is_complete() || status == short && capacity == held {
                let places = (1..)
                    .map(|part| part * u64::from(capacity))
                    .take_while(|&place| place < needed);
                let window = |place: u64| Page {
                    pairs: place as u32,
                    hits: place as u32,
                    ..Default::default()
                };
                self.parts = places.map(window).collect();
                return self.collect(first);
            }
            held = capacity;
        }
        bail!("{NAME}: incomplete results after {MOST_STEPS} steps");
    }

    fn collect(&mut self, first: StepResult) -> Result<Answer> {
        let mut whole = first;
        for part in self.parts.clone() {
            self.submit_part(part)?;
            let result = self.read()?;
            whole.pairs.extend(result.pairs);
            whole.ray_hits.extend(result.ray_hits);
        }
        if let Request::Step(_) = self.request {
            self.scene.counted.set(Some(whole.counters));
        }
        Ok(match &self.request {
            Request::Step(_) => Answer::of_pairs(&vec![whole.pairs.iter().map(|pair| [pair.a, pair.b]).collect()]),
            Request::Rays {
                question: Question::AllHits,
                ..
            } => {
                let mut rows = Vec::with_capacity(whole.ray_hits.len());
                for (range, ray) in whole.ray_offsets.windows(2).zip(0..) {
                    let hits = &whole.ray_hits[range[0] as usize..range[1] as usize];
                    rows.extend(hits.iter().map(|hit| [ray, hit.object]));
                }
                Answer::of_hits(&vec![rows])
            }
            Request::Rays { .. } => {
                let hits = (0..).zip(&whole.ray_hits).filter(|(_, hit)| hit.object != NONE);
                Answer::of_hits(&vec![hits.map(|(ray, hit)| [ray, hit.t.to_bits()]).collect()])
            }
        })
    }

    fn warm_up(&mut self) -> Result<()> {
        warm_up(self.scene.gpu.info.device_type, || {
            self.submit_first()?;
            self.scene.wait()
        })
    }

    fn time(&mut self) -> Result<f64> {
        self.warm_up()?;
        let start = Instant::now();
        self.submit_first()?;
        for part in 0..self.parts.len() {
            self.submit_part(self.parts[part])?;
        }
        self.scene.wait()?;
        // An upload leaves the device idle, so its clocks drop.
        if !matches!(self.request, Request::Step(Variant::Total)) {
            note_work();
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn stages(&mut self) -> Result<Vec<(&'static str, f64)>> {
        self.warm_up()?;
        self.submit_first()?;
        let mut timings = self.read()?.timings;
        for part in self.parts.clone() {
            self.submit_part(part)?;
            timings.extend(self.read()?.timings);
        }
        let mut stages: Vec<(&'static str, f64)> = Vec::new();
        for timing in timings {
            let time = timing.nanoseconds / 1e6;
            match stages.iter_mut().find(|(stage, _)| *stage == timing.stage) {
                Some((_, sum)) => *sum += time,
                None => stages.push((timing.stage, time)),
            }
        }
        note_work();
        if !stages.is_empty() {
            stages.push(("stages", stages.iter().map(|(_, time)| time).sum()));
        }
        Ok(stages)
    }
}

pub struct Step<'a> {
    recording: Recording<'a>,
    variant: Variant,
}

impl<'a> Step<'a> {
    pub fn new(scene: &'a OnDevice<'a>, descriptor: &BroadPhaseDescriptor<'static>, variant: Variant) -> Result<Self> {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                timestamps: variant == Variant::Stages,
                ..descriptor.outputs
            },
            ..*descriptor
        };
        Ok(Self {
            recording: Recording::new(scene, &descriptor, Request::Step(variant))?,
            variant,
        })
    }
}

impl Contestant for Step<'_> {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn threads(&self) -> usize {
        0
    }

    fn question(&self) -> Question {
        Question::Pairs
    }

    fn is_complete(&self) -> bool {
        self.variant == Variant::Total
    }

    fn prepare(&mut self) -> Result<Answer> {
        self.recording.settle()
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        match self.variant {
            Variant::Total => Ok(vec![(TOTAL, self.recording.time()?)]),
            Variant::Resident => Ok(vec![("total_resident", self.recording.time()?)]),
            Variant::Stages => self.recording.stages(),
        }
    }
}

pub struct RayCast<'a> {
    recording: Recording<'a>,
    question: Question,
}

impl<'a> RayCast<'a> {
    pub fn new(
        scene: &'a OnDevice<'a>,
        descriptor: &BroadPhaseDescriptor<'static>,
        question: Question,
        rays: &[gpu_broad_phase::Ray],
    ) -> Result<Self> {
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            outputs: OutputOptions {
                ray_mode: question.ray_mode(),
                ..descriptor.outputs
            },
            ..*descriptor
        };
        let request = Request::Rays {
            question,
            rays: upload(scene.device(), rays),
            count: u32::try_from(rays.len()).context("too many rays: ids have 32 bits")?,
        };
        Ok(Self {
            recording: Recording::new(scene, &descriptor, request)?,
            question,
        })
    }

    fn build(&mut self) -> Result<()> {
        let Recording { scene, broad_phase, .. } = &mut self.recording;
        for _ in 0..MOST_STEPS {
            scene.submit(|encoder| {
                broad_phase.step(encoder, scene.resident())?;
                Ok(())
            })?;
            scene.wait()?;
            if broad_phase.counters().is_some_and(|counters| counters.is_complete()) {
                return Ok(());
            }
        }
        bail!("{NAME}: incomplete table after {MOST_STEPS} steps");
    }
}

impl Contestant for RayCast<'_> {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn threads(&self) -> usize {
        0
    }

    fn question(&self) -> Question {
        self.question
    }

    fn prepare(&mut self) -> Result<Answer> {
        self.build()?;
        self.recording.settle()
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        Ok(vec![(self.question.stage(), self.recording.time()?)])
    }
}
