use std::collections::{HashSet, VecDeque};

use crate::addons::events::{EventOutput, Events, ObjectNames, PairEvents};
use crate::api::error::{ReadBackError, StepError};
use crate::api::types::PairEvent;
use crate::gpu::preparation::Preparation;
use crate::gpu::readback::Readback;
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::StepOutput;

/// The overlapping pairs on the host, updated without waiting for the device.
///
/// [`record`](Self::record) records [`PairEvents`] after a step and their copy to the host. A frame or two later,
/// [`update`](Self::update) returns the changes of that step.
///
/// If pairs did not fit, or an encoder was dropped, events restart in the next step. The tracker then returns the
/// difference to the last known pairs. Pairs that began and ended in between are left out. An encoder that is never
/// finished delays the events of all later steps.
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
    /// True if `pairs` are those of the last arrived step.
    is_synced: bool,
    restarts: bool,
}

struct InFlight {
    events: Readback<Events>,
    is_restart: bool,
}

impl PairTracker {
    /// Creates a tracker for one broad phase. `label` is passed to [`PairEvents::new`].
    pub fn new(label: Option<&str>) -> Self {
        Self {
            events: PairEvents::new(label),
            in_flight: VecDeque::new(),
            pairs: HashSet::new(),
            is_synced: false,
            restarts: true,
        }
    }

    /// Prepares the pipelines: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.events.prepare(broad_phase)
    }

    /// Records the events of `step`, directly after it, and their copy to the host. Never submits, waits or polls.
    ///
    /// # Errors
    /// As [`PairEvents::record`]. [`StepError::Dropped`] is returned only if the step's encoder was dropped; otherwise
    /// events restart.
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
            Err(StepError::Dropped) if !self.restarts => {
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

    /// Applies the next step that has arrived, in step order. Returns its [`begun`](Events::begun) and
    /// [`ended`](Events::ended) pairs, both ascending, or `None` if no step has arrived. On native targets, steps
    /// arrive during later submissions or [`wgpu::Device::poll`].
    ///
    /// # Errors
    /// [`ReadBackError::DeviceLost`], [`ReadBackError::Map`]: the device is lost.
    pub fn update(&mut self) -> Result<Option<Events>, ReadBackError> {
        while self.in_flight.front().is_some_and(|front| front.events.is_ready())
            && let Some(InFlight { mut events, is_restart }) = self.in_flight.pop_front()
        {
            let events = match events.take() {
                Some(Ok(events)) if events.status.is_complete() && events.unread == 0 => events,
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
                // The pairs are unknown until events restart.
                continue;
            }
            changes.begun.sort_unstable();
            changes.ended.sort_unstable();
            return Ok(Some(changes));
        }
        Ok(None)
    }

    /// Returns the pairs of the last arrived step, in no particular order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = PairEvent> + '_ {
        self.pairs.iter().copied()
    }

    /// Returns `true` if `pair` overlapped in the last arrived step.
    pub fn contains(&self, pair: PairEvent) -> bool {
        self.pairs.contains(&pair)
    }

    /// Returns `true` if [`pairs`](Self::pairs) is complete for the last arrived step: not before the first arrives,
    /// nor while events restart.
    pub const fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Number of recorded steps that are not yet applied.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The underlying events, for instance for [`memory`](PairEvents::memory).
    pub const fn events(&self) -> &PairEvents {
        &self.events
    }

    fn restart(&mut self) {
        self.is_synced = false;
        self.restarts = true;
    }
}
