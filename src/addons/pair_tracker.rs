//! The overlapping pairs on the host, kept up by events that arrive late.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::addons::events::{EventOutput, Events, ObjectNames, PairEvents};
use crate::api::error::{ReadBackError, StepError};
use crate::api::types::PairEvent;
use crate::gpu::later::Later;
use crate::gpu::preparation::Preparation;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

/// The set of overlapping pairs on the host, kept up without waiting for the device.
///
/// [`record`](Self::record) records [`PairEvents`] behind a step and their copy to the host. [`update`](Self::update)
/// applies the events that have arrived, a frame or two later. If events are lost, because pairs had no room or an
/// encoder was dropped or submitted out of order, the tracker starts the events again in the next step. It then compares
/// all pairs with those that it knows, so that no change is missed or reported twice. An encoder that is never finished
/// holds back the events of all later steps.
///
/// ```no_run
/// # use gpu_broad_phase::{GpuBroadPhase, Handle, ObjectSet, PairTracker, wgpu};
/// # fn frame(
/// #     device: &wgpu::Device, queue: &wgpu::Queue, broad_phase: &mut GpuBroadPhase, objects: &mut ObjectSet,
/// #     tracker: &mut PairTracker,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut encoder = device.create_command_encoder(&Default::default());
/// let input = objects.upload(device, &mut encoder)?;
/// let step = broad_phase.step(&mut encoder, input)?;
/// tracker.record(&mut encoder, &step, objects.names())?;
/// queue.submit([encoder.finish()]);
/// for event in tracker.update()?.begun {
///     let [a, b]: [Handle; 2] = event.into();
///     println!("{a:?} touches {b:?}");
/// }
/// # Ok(())
/// # }
/// ```
pub struct PairTracker {
    events: PairEvents,
    in_flight: VecDeque<InFlight>,
    pairs: HashSet<PairEvent>,
    /// Changes that no update has returned yet.
    changes: Changes,
    /// True if the pairs are those of the last step that has arrived.
    is_synced: bool,
    /// True if the next step starts the events again.
    restarts: bool,
}

/// Events that are on their way.
struct InFlight {
    events: Later<Events>,
    /// True if all pairs of the step begin.
    is_restart: bool,
}

impl PairTracker {
    /// Creates a tracker for the steps of one broad phase. `label` is that of its [`PairEvents`].
    pub fn new(label: Option<&str>) -> Self {
        Self {
            events: PairEvents::new(label),
            in_flight: VecDeque::new(),
            pairs: HashSet::new(),
            changes: Changes::default(),
            is_synced: false,
            restarts: true,
        }
    }

    /// Creates the pipelines before the first call: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.events.prepare(broad_phase)
    }

    /// Records the events of a step, right behind it, and their copy to the host. Never submits, waits or polls.
    ///
    /// # Errors
    /// As [`PairEvents::record`], except that [`StepError::Dropped`] and [`StepError::OtherBroadPhase`] are returned
    /// only if the step itself cannot be used: the events start again otherwise.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        names: ObjectNames<'_>,
    ) -> Result<EventOutput, StepError> {
        if self.restarts {
            self.events.reset();
        }
        let recorded = match self.events.record(encoder, step, names) {
            Err(StepError::Dropped | StepError::OtherBroadPhase) if !self.restarts => {
                self.restart();
                self.events.reset();
                self.events.record(encoder, step, names)?
            }
            recorded => recorded?,
        };
        let events = self.events.read_later(encoder).inspect_err(|_| self.restart())?;
        self.in_flight.push_back(InFlight {
            events,
            is_restart: self.restarts,
        });
        self.restarts = false;
        Ok(recorded)
    }

    /// Applies the events that have arrived, in the order of their steps, and returns the changes since the update
    /// before: [`begun`](Events::begun) and [`ended`](Events::ended), each ascending and without pairs that came and went
    /// in between. Native devices report what has arrived in the course of later submissions, or of
    /// [`wgpu::Device::poll`].
    ///
    /// # Errors
    /// [`ReadBackError::DeviceLost`] or [`ReadBackError::Map`] if the device is lost.
    pub fn update(&mut self) -> Result<Events, ReadBackError> {
        while self.in_flight.front().is_some_and(|front| front.events.is_ready())
            && let Some(InFlight { mut events, is_restart }) = self.in_flight.pop_front()
        {
            let events = match events.take() {
                Some(Ok(events)) if events.status.is_whole() && events.unread == 0 => Some(events),
                Some(Ok(_) | Err(ReadBackError::NotSubmitted)) | None => None,
                Some(Err(error)) => {
                    self.restart();
                    return Err(error);
                }
            };
            match events {
                Some(events) if is_restart => {
                    let now: HashSet<_> = events.begun.into_iter().collect();
                    self.changes.add(self.pairs.difference(&now), false);
                    self.changes.add(now.difference(&self.pairs), true);
                    self.pairs = now;
                    self.is_synced = true;
                }
                Some(events) if self.is_synced => {
                    self.changes
                        .add(events.ended.iter().filter(|event| self.pairs.remove(*event)), false);
                    self.changes
                        .add(events.begun.iter().filter(|event| self.pairs.insert(**event)), true);
                }
                // Nothing can be said until the events have started again.
                Some(_) => {}
                None if is_restart || self.is_synced => self.restart(),
                None => {}
            }
        }
        Ok(std::mem::take(&mut self.changes).sorted())
    }

    /// Returns the pairs of the last step that has arrived, in no particular order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = PairEvent> + '_ {
        self.pairs.iter().copied()
    }

    /// Returns whether `pair` overlapped in the last step that has arrived.
    pub fn contains(&self, pair: PairEvent) -> bool {
        self.pairs.contains(&pair)
    }

    /// Returns whether the pairs are all those of the last step that has arrived. Not before the first, nor while events
    /// start again.
    pub const fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Returns the number of recorded steps whose events have not been applied yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns the events, for instance for [`memory`](PairEvents::memory).
    pub const fn events(&self) -> &PairEvents {
        &self.events
    }

    /// Starts the events again in the next step.
    fn restart(&mut self) {
        self.is_synced = false;
        self.restarts = true;
    }
}

/// Net changes of pairs: whether each begins or ends.
#[derive(Default)]
struct Changes(HashMap<PairEvent, bool>);

impl Changes {
    /// Adds changes of one kind. A pair that changes back is no change.
    fn add<'a>(&mut self, pairs: impl Iterator<Item = &'a PairEvent>, begins: bool) {
        for &pair in pairs {
            match self.0.entry(pair) {
                Entry::Occupied(before) if *before.get() != begins => {
                    before.remove();
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert(begins);
                }
            }
        }
    }

    fn sorted(self) -> Events {
        let mut changes = Events::default();
        for (pair, begins) in self.0 {
            let list = if begins { &mut changes.begun } else { &mut changes.ended };
            list.push(pair);
        }
        changes.begun.sort_unstable();
        changes.ended.sort_unstable();
        changes
    }
}
