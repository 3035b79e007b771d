//! What steps counted and how long they took, told a few frames later and without a wait.

use std::sync::Arc;

use crate::broad_phase::GpuBroadPhase;
use crate::counters::Counters;
use crate::error::StepError;
use crate::gpu::staging::Shelf;
use crate::gpu::submission::{Recording, Recordings};
use crate::gpu::timing::Timing;
use crate::plan::Plan;
use crate::readback::{Extent, Reading};
use crate::result::StageTime;

/// What was asked for in an encoder.
struct Asked {
    reading: Reading,
    plan: Plan,
    /// The copying, which needs the step.
    recording: Recording,
    /// Those that have timestamps.
    stages: Vec<&'static str>,
}

/// What has arrived on the host, in the order of its arrival.
pub(crate) struct Watch {
    recordings: Recordings,
    arrived: Arc<Shelf<Asked>>,
    latest: Option<Counters>,
    latest_stages: Vec<&'static str>,
    latest_ticks: Vec<u64>,
}

impl Watch {
    pub fn new(recordings: Recordings) -> Self {
        Self {
            recordings,
            arrived: Arc::default(),
            latest: None,
            latest_stages: Vec::new(),
            latest_ticks: Vec::new(),
        }
    }

    /// Forgets what has arrived and what is under way.
    pub fn clear(&mut self) {
        *self = Self::new(self.recordings.beside());
    }
}

impl GpuBroadPhase {
    /// Records the copying of the last step's counters to the host, right behind it and in the same encoder: the way
    /// for a frame loop, which never waits. They arrive when the device is done, a frame or two later; with
    /// [`Growth::Grow`](crate::Growth::Grow) the next step after that makes room for what this one needed, and
    /// [`watched_counters`](Self::watched_counters) tells them, [`watched_timings`](Self::watched_timings) the stage
    /// times. Neither submits, waits nor polls: native devices tell what has arrived in the course of later
    /// submissions, or of `Device::poll`. Counters of a step that was not submitted before the copying do not arrive.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step and after [`trim`](Self::trim), [`StepError::Dropped`] where the
    /// encoder of the step was dropped, [`StepError::OtherDevice`] on another device than the step's.
    pub fn watch_counters(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        self.home.check(device)?;
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        if recorded.is_lost() {
            return Err(StepError::Dropped);
        }
        let (plan, needs) = (recorded.plan, recorded.outputs.iter().cloned().collect());
        let reading = self
            .record_reading(device, encoder, Extent::Figures)
            .ok_or(StepError::NoStep)?;
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages).to_vec();
        let arrived = Arc::downgrade(&self.watch.arrived);
        let buffer = reading.buffer().clone();
        let recording = self.watch.recordings.make(encoder, needs);
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |mapped| {
            if let (Ok(()), Some(arrived)) = (mapped, arrived.upgrade()) {
                arrived.lock().push(Asked {
                    reading,
                    plan,
                    recording,
                    stages,
                });
            }
        });
        Ok(())
    }

    /// The counters that arrived last of those that [`watch_counters`](Self::watch_counters) asked for; none right
    /// after [`trim`](Self::trim).
    pub fn watched_counters(&mut self) -> Option<Counters> {
        self.take_in();
        self.watch.latest
    }

    /// The GPU time of each stage of the step whose counters [`watched_counters`](Self::watched_counters) tells, where
    /// the device and the descriptor have [`timestamps`](crate::BroadPhaseDescriptor::timestamps); else nothing.
    /// `queue` is the one that the step was submitted to.
    pub fn watched_timings(&mut self, queue: &wgpu::Queue) -> Vec<StageTime> {
        self.take_in();
        Timing::read(
            &self.watch.latest_stages,
            &self.watch.latest_ticks,
            queue.get_timestamp_period(),
        )
    }

    /// Learns from what has arrived.
    pub(crate) fn take_in(&mut self) {
        let arrived = std::mem::take(&mut *self.watch.arrived.lock());
        for asked in arrived {
            let Asked {
                reading,
                plan,
                recording,
                stages,
            } = asked;
            // A device that was lost in between has nothing to tell.
            if recording.is_submitted()
                && let (Ok(counters), Ok(ticks)) = (reading.counters(&plan), reading.ticks())
            {
                self.note(&counters, &plan);
                self.watch.latest = Some(counters);
                (self.watch.latest_stages, self.watch.latest_ticks) = (stages, ticks);
            }
            self.put_back(reading);
        }
    }
}
