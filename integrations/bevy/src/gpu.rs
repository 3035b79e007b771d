//! Steps on a device: recorded, submitted, and heard of a frame or two later without a wait.

use std::collections::VecDeque;

use gpu_broad_phase::{
    BroadPhaseDescriptor, CreateError, Events, GpuBroadPhase, InputError, Later, Outputs, PairEvents, QueryInput,
    QuerySet, ReadBackError, Source, StepError, StepOutput, StepResult, Uses, wgpu,
};

use crate::objects::{ObjectEntities, Objects};
use crate::overlaps::Update;
use crate::rays::{Batch, Hits};

/// Steps that may be under way where nothing else holds frames back, as a window does. Past them objects wait.
const MOST_UNDER_WAY: usize = 3;

/// How often whole pairs may come too short before the device is given up: outputs have long grown by then.
const MOST_ATTEMPTS: u32 = 100;

/// Why the device cannot go on.
#[derive(Debug)]
pub(crate) enum GpuError {
    NoDevice(String),
    Create(CreateError),
    Input(InputError),
    Step(StepError),
    ReadBack(ReadBackError),
    NeverWhole,
}

impl std::fmt::Display for GpuError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoDevice(error) => write!(formatter, "no device: {error}"),
            Self::Create(error) => error.fmt(formatter),
            Self::Input(error) => error.fmt(formatter),
            Self::Step(error) => error.fmt(formatter),
            Self::ReadBack(error) => error.fmt(formatter),
            Self::NeverWhole => write!(formatter, "the pairs are more than the device has room for"),
        }
    }
}

impl From<StepError> for GpuError {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

/// What a step wrote, and what it read of the objects: for passes that run behind it.
#[derive(Clone)]
#[cfg_attr(not(feature = "render"), allow(dead_code, reason = "passes of a renderer read it"))]
pub(crate) struct Written {
    pub step: StepOutput,
    pub objects: wgpu::Buffer,
    pub statics: Option<wgpu::Buffer>,
    pub entities: ObjectEntities,
}

/// A broad phase on a device, and what is on its way from there.
pub(crate) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    broad_phase: GpuBroadPhase,
    events: PairEvents,
    rays: QuerySet,
    written: Option<Written>,
    steps: VecDeque<Step>,
    batches: VecDeque<(u64, ObjectEntities, Later<StepResult>)>,
    /// Whether events were lost, so that whole pairs have to come before events count again.
    is_stale: bool,
    /// Whether a frame goes without a step while the device has enough to do.
    skips_frames: bool,
    attempts: u32,
    /// How often whole pairs took the place of events.
    resyncs: u64,
    #[cfg(feature = "gizmos")]
    pub lines: crate::lines::Lines,
}

/// A step that has not been heard of yet.
struct Step {
    number: u64,
    events: Later<Events>,
    whole: Option<(ObjectEntities, Later<StepResult>)>,
}

impl Gpu {
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
        skips_frames: bool,
    ) -> Result<Self, GpuError> {
        let broad_phase = GpuBroadPhase::new(device, queue, descriptor).map_err(GpuError::Create)?;
        let mut rays = broad_phase.query_set("picking", descriptor);
        let events = PairEvents::new(Some("gpu_broad_phase/bevy/events"));
        // What steps need every now and then, so that no frame stops to compile it.
        let uses = Uses {
            statics: true,
            ..Uses::default()
        };
        let casts = Uses {
            rays: true,
            statics: true,
            ..Uses::default()
        };
        let preparation = broad_phase.prepare(uses).and(events.prepare(&broad_phase));
        let preparation = match cfg!(feature = "picking") {
            true => preparation.and(rays.prepare(&broad_phase, casts)),
            false => preparation,
        };
        preparation.run().map_err(GpuError::Create)?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            #[cfg(feature = "gizmos")]
            lines: crate::lines::Lines::new(device, broad_phase.descriptor()),
            broad_phase,
            events,
            rays,
            written: None,
            steps: VecDeque::new(),
            batches: VecDeque::new(),
            // What is known by now may be of another device.
            is_stale: true,
            skips_frames,
            attempts: 0,
            resyncs: 0,
        })
    }

    /// Records and submits a step where objects changed or pairs are short, and the rays. Never waits.
    pub fn step(&mut self, objects: &mut Objects, batch: &Batch) -> Result<(), GpuError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/bevy"),
        });
        let is_busy = self.skips_frames && self.steps.len().max(self.batches.len()) >= MOST_UNDER_WAY;
        let is_due = objects.has_changed || self.is_stale && objects.entities.object_count() > 0;
        let steps = is_due && !is_busy;
        if steps {
            self.record_step(&mut encoder, objects)?;
        }
        let casts = !batch.rays.is_empty() && self.written.is_some() && !is_busy;
        if let (true, Some(written)) = (casts, &self.written) {
            let input = QueryInput {
                rays: batch.rays[..].into(),
                ..QueryInput::default()
            };
            self.rays.record(&mut encoder, &self.broad_phase, input)?;
            let hits = Outputs {
                rays: true,
                ..Outputs::default()
            };
            let later = self.rays.read_later(&mut encoder, hits)?;
            self.batches.push_back((batch.number, written.entities.clone(), later));
        }
        #[cfg(feature = "gizmos")]
        let draws = self
            .lines
            .record(&mut encoder, self.written.as_ref().map(|written| &written.step))?;
        #[cfg(not(feature = "gizmos"))]
        let draws = false;
        if steps || casts || draws {
            self.queue.submit([encoder.finish()]);
        }
        // Looks at what is done, and goes on. Without it nothing arrives where nothing is submitted.
        if !self.steps.is_empty() || !self.batches.is_empty() {
            _ = self.device.poll(wgpu::PollType::Poll);
        }
        Ok(())
    }

    fn record_step(&mut self, encoder: &mut wgpu::CommandEncoder, objects: &mut Objects) -> Result<(), GpuError> {
        let input = objects.set.record(&self.device, encoder).map_err(GpuError::Input)?;
        let buffer_of = |source: Source<'_, gpu_broad_phase::Aabb>| match source {
            Source::Device { buffer, .. } => Some(buffer.clone()),
            _ => None,
        };
        let [moving, statics] = [input.objects, input.statics.objects].map(buffer_of);
        let step = self.broad_phase.step(encoder, input)?;
        self.events.record(encoder, &step, objects.set.names())?;
        let events = self.events.read_later(encoder)?;
        let whole = if self.is_stale {
            let pairs = Outputs {
                pairs: true,
                ..Outputs::default()
            };
            Some((objects.entities.clone(), self.broad_phase.read_later(encoder, pairs)?))
        } else {
            self.broad_phase.watch_counters(encoder)?;
            None
        };
        let number = objects.begin_step();
        self.steps.push_back(Step { number, events, whole });
        self.written = moving.map(|moving| Written {
            step,
            objects: moving,
            statics,
            entities: objects.entities.clone(),
        });
        Ok(())
    }

    /// What steps found that has arrived, in the order of the steps.
    pub fn take_updates(&mut self, objects: &mut Objects) -> Result<Vec<Update>, GpuError> {
        let mut updates = Vec::new();
        let is_ready =
            |step: &mut Step| step.events.is_ready() && step.whole.as_ref().is_none_or(|(_, whole)| whole.is_ready());
        while let Some(mut step) = self.steps.pop_front_if(is_ready) {
            let events = step
                .events
                .take()
                .and_then(|events| self.heard(events).transpose())
                .transpose()?;
            let whole = match &mut step.whole {
                // Whole pairs of an earlier step have come meanwhile: events say the rest.
                Some((entities, whole)) if self.is_stale => {
                    let result = whole
                        .take()
                        .and_then(|result| self.heard(result).transpose())
                        .transpose()?;
                    result.map(|result| (entities, result))
                }
                _ => None,
            };
            match (whole, events) {
                (Some((entities, result)), _) => {
                    if !result.counters.status.is_whole() {
                        self.attempts += 1;
                        if self.attempts > MOST_ATTEMPTS {
                            return Err(GpuError::NeverWhole);
                        }
                        continue;
                    }
                    let entity = |object| entities.entity(object);
                    let pairs = result
                        .pairs
                        .iter()
                        .filter_map(|pair| Some([entity(pair.a)?, entity(pair.b)?]));
                    updates.push(Update::Whole(pairs.collect()));
                    (self.is_stale, self.attempts) = (false, 0);
                    self.resyncs += 1;
                }
                (None, Some(events)) if !self.is_stale && events.unread == 0 && events.status.is_whole() => {
                    let of = |events: Vec<_>| {
                        events
                            .into_iter()
                            .filter_map(|event| objects.entities_of(event))
                            .collect()
                    };
                    updates.push(Update::Changes {
                        ended: of(events.ended),
                        begun: of(events.begun),
                    });
                }
                _ => {
                    self.is_stale = true;
                    continue;
                }
            }
            objects.end_step(step.number);
        }
        Ok(updates)
    }

    /// An answer; `None` where its recording did not run, which has to be made good.
    fn heard<T>(&mut self, answer: Result<T, ReadBackError>) -> Result<Option<T>, GpuError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(ReadBackError::NotSubmitted) => {
                self.events.reset();
                self.is_stale = true;
                self.attempts += 1;
                if self.attempts > MOST_ATTEMPTS {
                    Err(GpuError::ReadBack(ReadBackError::NotSubmitted))
                } else {
                    Ok(None)
                }
            }
            Err(error) => Err(GpuError::ReadBack(error)),
        }
    }

    /// The last whole hits that have arrived.
    pub fn take_hits(&mut self) -> Option<Hits> {
        let mut hits = None;
        while let Some((batch, entities, mut later)) = self.batches.pop_front_if(|(_, _, later)| later.is_ready()) {
            // What comes too short has room in the next answer. Errors are told by the step's own.
            if let Some(Ok(result)) = later.take()
                && result.counters.status.is_whole()
            {
                hits = Some(Hits::new(batch, &result, &entities));
            }
        }
        hits
    }

    #[cfg(feature = "render")]
    pub fn written(&self) -> Option<&Written> {
        self.written.as_ref()
    }

    pub fn resyncs(&self) -> u64 {
        self.resyncs
    }

    /// Steps that have not been heard of yet.
    pub fn steps_under_way(&self) -> usize {
        self.steps.len()
    }

    /// Bytes of all buffers on the device.
    pub fn bytes(&self, objects: &Objects) -> u64 {
        let parts = [
            self.broad_phase.memory(),
            self.events.memory(),
            self.rays.memory(),
            objects.set.memory(),
        ];
        let bytes: u64 = parts.iter().map(|memory| memory.total()).sum();
        #[cfg(feature = "gizmos")]
        let bytes = self.lines.bytes() + bytes;
        bytes
    }
}

/// Opens a device of its own.
pub(crate) fn open(descriptor: &BroadPhaseDescriptor<'_>) -> Result<Gpu, GpuError> {
    #[cfg(target_arch = "wasm32")]
    return Err(GpuError::NoDevice(
        "in browsers the plugin shares that of the renderer alone".into(),
    ));
    #[cfg(not(target_arch = "wasm32"))]
    bevy::tasks::block_on(async {
        let none = |error: &dyn std::fmt::Display| GpuError::NoDevice(error.to_string());
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await.map_err(|error| none(&error))?;
        let asked = GpuBroadPhase::device_descriptor(&adapter);
        let (device, queue) = adapter.request_device(&asked).await.map_err(|error| none(&error))?;
        Gpu::new(&device, &queue, descriptor, true)
    })
}
