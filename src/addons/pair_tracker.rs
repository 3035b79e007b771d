//! The overlapping pairs on the host, kept up by events that arrive late.

use std::collections::{HashSet, VecDeque};

use crate::addons::events::{EventOutput, Events, ObjectNames, PairEvents};
use crate::api::error::{ReadBackError, StepError};
use crate::api::types::PairEvent;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

/// The set of overlapping pairs on the host, kept up without waiting for the device.
///
/// [`record`](Self::record) records [`PairEvents`] behind a step and their copy to the host. [`update`](Self::update)
/// returns the changes of each step that has arrived, a frame or two later. If events are lost, because pairs had no
/// room or an encoder was dropped or submitted out of order, the tracker starts the events again in the next step. It
/// then returns the difference to the pairs that it knows; pairs that came and went in between are not reported. An
/// encoder that is never finished holds back the events of all later steps.
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
/// while let Some(changes) = tracker.update()? {
///     for event in changes.begun {
///         let [a, b]: [Handle; 2] = event.into();
///         println!("{a:?} touches {b:?}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct PairTracker {
    events: PairEvents,
    in_flight: VecDeque<InFlight>,
    pairs: HashSet<PairEvent>,
    /// True if the pairs are those of the last step that has arrived.
    is_synced: bool,
    /// True if the next step starts the events again.
    restarts: bool,
}

/// Events that are on their way.
struct InFlight {
    events: Readback<Events>,
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
        let events = self.events.record_read_back(encoder).inspect_err(|_| self.restart())?;
        self.in_flight.push_back(InFlight {
            events,
            is_restart: self.restarts,
        });
        self.restarts = false;
        Ok(recorded)
    }

    /// Applies the events of the next step that has arrived, in the order of the steps, and returns its changes:
    /// [`begun`](Events::begun) and [`ended`](Events::ended) pairs, each ascending. `None` if no further step has
    /// arrived. Native devices report what has arrived in the course of later submissions, or of
    /// [`wgpu::Device::poll`].
    ///
    /// # Errors
    /// [`ReadBackError::DeviceLost`] or [`ReadBackError::Map`] if the device is lost.
    pub fn update(&mut self) -> Result<Option<Events>, ReadBackError> {
        while self.in_flight.front().is_some_and(|front| front.events.is_ready())
            && let Some(InFlight { mut events, is_restart }) = self.in_flight.pop_front()
        {
            let events = match events.take() {
                Some(Ok(events)) if events.status.is_whole() && events.unread == 0 => events,
                Some(Ok(_) | Err(ReadBackError::NotSubmitted)) | None => {
                    if is_restart || self.is_synced {
                        self.restart();
                    }
                    continue;
                }
                Some(Err(error)) => {
                    self.restart();
                    return Err(error);
                }
            };
            let mut changes = Events::default();
            if is_restart {
                let now: HashSet<_> = events.begun.into_iter().collect();
                changes.begun = now.difference(&self.pairs).copied().collect();
                changes.ended = self.pairs.difference(&now).copied().collect();
                self.pairs = now;
                self.is_synced = true;
            } else if self.is_synced {
                changes = events;
                changes.ended.retain(|event| self.pairs.remove(event));
                changes.begun.retain(|event| self.pairs.insert(*event));
            } else {
                // Nothing can be said until the events have started again.
                continue;
            }
            changes.begun.sort_unstable();
            changes.ended.sort_unstable();
            return Ok(Some(changes));
        }
        Ok(None)
    }

    /// Returns the pairs of the last step that has arrived, in no particular order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = PairEvent> + '_ {
        self.pairs.iter().copied()
    }

    /// Returns whether `pair` overlapped in the last step that has arrived.
    pub fn contains(&self, pair: PairEvent) -> bool {
        self.pairs.contains(&pair)
    }

    /// Returns whether the pairs are all those of the last step that has arrived. Not before the first, nor while
    /// events start again.
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
