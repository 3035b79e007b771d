use std::collections::VecDeque;

use gpu_broad_phase::{
    BroadPhaseDescriptor, CreateError, GpuBroadPhase, InputError, Output, PairTracker, QuerySet, ReadBackError,
    Readback, StepError, StepOutput, StepResult, Uses, wgpu,
};

use crate::batch::{Answer, Batch};
use crate::objects::{ObjectEntities, Objects};
use crate::overlaps::Update;

/// Largest number of pending steps without a renderer. Further frames skip their step.
const MOST_UNDER_WAY: usize = 3;

/// Number of incomplete results in a row after which the CPU takes over.
const MOST_ATTEMPTS: usize = 100;

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
            Self::NeverWhole => write!(formatter, "pairs or answers are more than the device has room for"),
        }
    }
}

impl From<StepError> for GpuError {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

#[derive(Clone)]
#[cfg_attr(not(feature = "render"), allow(dead_code, reason = "passes of a renderer read it"))]
pub(crate) struct Written {
    pub step: StepOutput,
    pub objects: wgpu::Buffer,
    pub statics: Option<wgpu::Buffer>,
    pub entities: ObjectEntities,
}

pub(crate) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    broad_phase: GpuBroadPhase,
    tracker: PairTracker,
    query_set: QuerySet,
    written: Option<Written>,
    batches: VecDeque<(u64, ObjectEntities, Readback<StepResult>)>,
    skips_frames: bool,
    attempts: usize,
    batch_attempts: usize,
    resyncs: u64,
    #[cfg(feature = "gizmos")]
    pub lines: crate::lines::Lines,
    /// Number of pending results that tests hold back.
    #[cfg(test)]
    held_back: usize,
}

impl Gpu {
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &BroadPhaseDescriptor<'_>,
        skips_frames: bool,
    ) -> Result<Self, GpuError> {
        let broad_phase = GpuBroadPhase::new(device, queue, descriptor).map_err(GpuError::Create)?;
        let query_set = broad_phase.query_set("batch", &descriptor.outputs);
        let mut query_set = query_set.map_err(|error| GpuError::Create(error.into()))?;
        let tracker = PairTracker::new(Some("gpu_broad_phase/bevy/events"));
        // Also compiles the pipelines of rarely used passes, so that no later frame stalls.
        let uses = Uses {
            statics: true,
            ..Uses::default()
        };
        let asks = Uses {
            rays: cfg!(feature = "picking"),
            queries: true,
            ..uses
        };
        broad_phase
            .prepare(uses)
            .and(tracker.prepare(&broad_phase))
            .and(query_set.prepare(&broad_phase, asks))
            .run()
            .map_err(GpuError::Create)?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            #[cfg(feature = "gizmos")]
            lines: crate::lines::Lines::new(device, descriptor.scheme),
            broad_phase,
            tracker,
            query_set,
            written: None,
            batches: VecDeque::new(),
            skips_frames,
            attempts: 0,
            batch_attempts: 0,
            resyncs: 0,
            #[cfg(test)]
            held_back: 0,
        })
    }

    /// Records and submits the batch, and a step if objects changed or pairs are missing. Never waits.
    pub fn step(&mut self, objects: &mut Objects, batch: &Batch) -> Result<(), GpuError> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/bevy"),
        });
        let is_busy = self.skips_frames && self.steps_under_way().max(self.batches.len()) >= MOST_UNDER_WAY;
        // Queries need a step even if there are no objects.
        let has_work = objects.entities.object_count() > 0 || !batch.queries.is_empty();
        let lacks_pairs = !self.tracker.is_synced() && self.steps_under_way() == 0;
        let is_due = objects.has_changed || lacks_pairs && has_work;
        let steps = is_due && !is_busy;
        if steps {
            self.record_step(&mut encoder, objects)?;
        }
        let asks = !batch.is_empty() && self.written.is_some() && !is_busy;
        if let (true, Some(written)) = (asks, &self.written) {
            self.query_set.record(&mut encoder, &written.step, batch.input())?;
            let asked = [Output::RayHits, Output::QueryObjects];
            let later = self.query_set.record_read_back(&mut encoder, &asked)?;
            self.batches.push_back((batch.number, written.entities.clone(), later));
        }
        #[cfg(feature = "gizmos")]
        let draws = self
            .lines
            .record(&mut encoder, self.written.as_ref().map(|written| &written.step))?;
        #[cfg(not(feature = "gizmos"))]
        let draws = false;
        if steps || asks || draws {
            self.queue.submit([encoder.finish()]);
        }
        // If nothing is submitted, only a poll delivers results.
        if self.steps_under_way() > 0 || !self.batches.is_empty() {
            _ = self.device.poll(wgpu::PollType::Poll);
        }
        Ok(())
    }

    fn record_step(&mut self, encoder: &mut wgpu::CommandEncoder, objects: &mut Objects) -> Result<(), GpuError> {
        let input = objects.set.upload(&self.device, encoder).map_err(GpuError::Input)?;
        let [moving, statics] = [input.objects, input.statics.objects].map(|source| source.buffer().cloned());
        let step = self.broad_phase.step(encoder, input)?;
        self.tracker.record(encoder, &step, objects.set.names())?;
        objects.begin_step();
        self.written = moving.map(|moving| Written {
            step,
            objects: moving,
            statics,
            entities: objects.entities.clone(),
        });
        Ok(())
    }

    pub fn take_updates(&mut self, objects: &mut Objects) -> Result<Vec<Update>, GpuError> {
        let mut updates = Vec::new();
        while self.has_arrived(self.steps_under_way()) {
            let (under_way, was_synced) = (self.steps_under_way(), self.tracker.is_synced());
            let changes = self.tracker.update().map_err(GpuError::ReadBack)?;
            let entities = |event| objects.entities_of(event);
            let update = match changes {
                None => None,
                Some(changes) if was_synced => Some(Update::Changes {
                    ended: changes.ended.into_iter().filter_map(entities).collect(),
                    begun: changes.begun.into_iter().filter_map(entities).collect(),
                }),
                // Replaces earlier pairs: they may come from another device, or contain forgotten entities.
                Some(_) => Some(Update::Whole(self.tracker.pairs().filter_map(entities).collect())),
            };
            objects.end_steps(self.steps_under_way());
            let Some(update) = update else {
                self.attempts += under_way - self.steps_under_way();
                if self.attempts > MOST_ATTEMPTS {
                    return Err(GpuError::NeverWhole);
                }
                break;
            };
            self.attempts = 0;
            self.resyncs += u64::from(!was_synced);
            updates.push(update);
        }
        Ok(updates)
    }

    fn has_arrived(&self, under_way: usize) -> bool {
        #[cfg(test)]
        return under_way > self.held_back;
        #[cfg(not(test))]
        return under_way > 0;
    }

    pub fn take_answers(&mut self) -> Result<Vec<Answer>, GpuError> {
        let mut answers = Vec::new();
        while self.has_arrived(self.batches.len())
            && let Some((batch, entities, mut later)) = self.batches.pop_front_if(|(_, _, later)| later.is_ready())
        {
            match later.take() {
                Some(Ok(result)) if result.counters.status.is_complete() => {
                    answers.push(Answer::new(batch, &result, &entities));
                    self.batch_attempts = 0;
                    continue;
                }
                // A later batch repeats these queries.
                None | Some(Ok(_) | Err(ReadBackError::NotSubmitted)) => self.batch_attempts += 1,
                Some(Err(error)) => return Err(GpuError::ReadBack(error)),
            }
            if self.batch_attempts > MOST_ATTEMPTS {
                return Err(GpuError::NeverWhole);
            }
        }
        Ok(answers)
    }

    #[cfg(feature = "render")]
    pub fn written(&self) -> Option<&Written> {
        self.written.as_ref()
    }

    pub fn resyncs(&self) -> u64 {
        self.resyncs
    }

    pub fn steps_under_way(&self) -> usize {
        self.tracker.in_flight()
    }

    pub fn bytes(&self, objects: &Objects) -> u64 {
        let parts = [
            self.broad_phase.memory(),
            self.tracker.events().memory(),
            self.query_set.memory(),
            objects.set.memory(),
        ];
        let bytes: u64 = parts.iter().map(|memory| memory.total()).sum();
        #[cfg(feature = "gizmos")]
        let bytes = self.lines.bytes() + bytes;
        bytes
    }
}

pub(crate) fn open(descriptor: &BroadPhaseDescriptor<'_>) -> Result<Gpu, GpuError> {
    if cfg!(target_arch = "wasm32") {
        return Err(GpuError::NoDevice(
            "in browsers the plugin shares that of the renderer alone".into(),
        ));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, descriptor};
    use crate::overlaps::{OverlapEvents, Overlaps};
    use crate::state::{BroadPhase, Runner};
    use bevy::ecs::entity::Entity;
    use bevy::ecs::world::World;
    use gpu_broad_phase::{Aabb, Dimensions, Query};
    use std::collections::{BTreeSet, HashMap};

    type Pairs = BTreeSet<[Entity; 2]>;

    fn gpu(broad_phase: &mut BroadPhase) -> &mut Gpu {
        match &mut broad_phase.engine {
            Engine::Gpu(gpu) => gpu,
            _ => panic!("a Vulkan or GL adapter is needed"),
        }
    }

    fn is_static(entity: Entity) -> bool {
        entity.index_u32().is_multiple_of(5)
    }

    fn meet(a: &Aabb, b: &Aabb) -> bool {
        (0..3).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
    }

    /// Results arrive in bursts, up to eight steps late. No batch gets results of another.
    fn nothing_is_lost_while_the_device_is_behind(skips_frames: bool) {
        let mut broad_phase = BroadPhase::new(descriptor(Dimensions::Three, 0.0), Runner::OwnDevice);
        broad_phase.open_own();
        gpu(&mut broad_phase).skips_frames = skips_frames;
        let mut world = World::new();
        let names: Vec<_> = (0..60).map(|_| world.spawn_empty().id()).collect();
        let mut seed = 51_u64;
        let mut below = move |end: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % end
        };
        let mut boxes: HashMap<Entity, Aabb> = HashMap::new();
        // Expected pairs after each pending step.
        let mut states = VecDeque::new();
        let mut asked = HashMap::new();
        let mut overlaps = Overlaps::default();
        let (mut most_under_way, mut skipped, mut changes, mut answers) = (0, 0, 0, 0);
        for frame in 0..300 {
            let ends = frame >= 280;
            for _ in 0..if ends { 0 } else { 6 } {
                let entity = names[below(60) as usize];
                if below(6) == 0 {
                    boxes.remove(&entity);
                    broad_phase.objects.remove(entity);
                } else {
                    let min = [(); 3].map(|()| below(50) as f32 / 10.0);
                    let bounds = Aabb::new(min, min.map(|bound| bound + 1.0));
                    boxes.insert(entity, bounds);
                    broad_phase.objects.put(entity, Some(bounds), is_static(entity));
                }
            }
            let all: Vec<_> = boxes.iter().collect();
            let of_first = |(first, (a, a_bounds)): (usize, &(&Entity, &Aabb))| {
                let (a, a_bounds) = (**a, **a_bounds);
                let behind = all[first + 1..].iter();
                let partners =
                    behind.filter(move |(b, bounds)| !(is_static(a) && is_static(**b)) && meet(&a_bounds, bounds));
                partners.map(move |(b, _)| [a.min(**b), a.max(**b)]).collect::<Vec<_>>()
            };
            let state: Pairs = all.iter().enumerate().flat_map(of_first).collect();
            let min = [(); 3].map(|()| below(50) as f32 / 10.0);
            let asks = Aabb::new(min, min.map(|bound| bound + 1.5));
            let mut found: Vec<_> = boxes
                .iter()
                .filter(|(_, bounds)| meet(&asks, bounds))
                .map(|(&it, _)| it)
                .collect();
            found.sort();
            broad_phase.batch.queries.push(Query::overlaps(asks));
            asked.insert(broad_phase.batch.number, found);
            let under_way = gpu(&mut broad_phase).steps_under_way();
            broad_phase.step();
            if gpu(&mut broad_phase).steps_under_way() > under_way {
                states.push_back(state);
            }
            skipped += usize::from(broad_phase.objects.has_changed);
            most_under_way = most_under_way.max(gpu(&mut broad_phase).steps_under_way());
            gpu(&mut broad_phase).held_back = if ends { 0 } else { below(9) as usize };
            broad_phase.take_results();
            for answer in &broad_phase.answers {
                assert_eq!(answer.of_queries, [asked[&answer.number].clone()], "frame {frame}");
                answers += 1;
            }
            while let Some(update) = broad_phase.updates.pop_front() {
                changes += usize::from(matches!(update, Update::Changes { .. }));
                overlaps.apply(update, &mut OverlapEvents::default());
                let now: Pairs = overlaps.iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
                assert_eq!(states.pop_front(), Some(now), "frame {frame}");
            }
        }
        assert_eq!(
            (
                states.len(),
                gpu(&mut broad_phase).steps_under_way(),
                broad_phase.objects.gone_count()
            ),
            (0, 0, 0)
        );
        assert!(changes > 50 && answers > 50, "{changes} {answers}");
        if skips_frames {
            assert!(
                most_under_way == MOST_UNDER_WAY && skipped > 50,
                "{most_under_way} {skipped}"
            );
        } else {
            assert!(most_under_way > 5 && skipped == 0, "{most_under_way} {skipped}");
        }
    }

    #[test]
    fn nothing_is_lost_while_a_device_is_behind() {
        for skips_frames in [true, false] {
            nothing_is_lost_while_the_device_is_behind(skips_frames);
        }
    }
}
