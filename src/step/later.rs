//! Answers that arrive a few frames later, without a wait.

use std::sync::Arc;

use super::broad_phase::GpuBroadPhase;
use super::readback;
use super::watch::Arrived;
use crate::api::counters::Counters;
use crate::api::error::StepError;
use crate::api::result::{Outputs, StageTime, StepResult};
use crate::gpu::later::Later;
use crate::gpu::reading::{Answer, Reading};
use crate::gpu::timing::Timing;

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
    /// encoder of the step was dropped.
    pub fn watch_counters(&self, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        self.read_later(encoder, Outputs::default()).map(drop)
    }

    /// Records the copying of the last step's answer to the host, right behind it and in the same encoder: that of the
    /// last [`step`](Self::step), [`page`](Self::page) or [`query`](Self::query), and of these `outputs` beside the
    /// counters and stage times. It arrives a frame or two later, whatever steps are recorded meanwhile, and
    /// nobody waits: see [`Later`]. It counts as [watched](Self::watch_counters), too.
    ///
    /// How long an output is only the device knows. As many rows are copied as the last answer that arrived had, a
    /// quarter more, and 64 KiB. Where the answer is longer than that, the [`status`](Counters::status) of the result
    /// says so as if the output had no room for it, and the next answer has the room.
    ///
    /// # Errors
    /// As [`watch_counters`](Self::watch_counters).
    pub fn read_later(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: Outputs,
    ) -> Result<Later<StepResult>, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        if recorded.answers.is_lost() {
            return Err(StepError::Dropped);
        }
        let plan = recorded.plan;
        let written = self.outputs(outputs).ok_or(StepError::NoStep)?;
        let reading = self.record_reading(encoder, &written, true).ok_or(StepError::NoStep)?;
        let recording = self.watch.recordings.make(encoder, [recorded.answers.clone()]);
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages).to_vec();
        let arrives = {
            let (shelf, recording, stages) = (Arc::downgrade(&self.watch.arrived), recording.clone(), stages.clone());
            move |reading: &Reading| {
                if let (Some(shelf), Ok(counters), Ok(ticks)) =
                    (shelf.upgrade(), plan.counters(reading), reading.ticks())
                {
                    shelf.lock().push(Arrived {
                        counters,
                        is_crowded: plan.is_crowded(reading),
                        plan,
                        recording,
                        stages,
                        ticks,
                    });
                }
            }
        };
        let period = self.home.queue().get_timestamp_period();
        let decode = move |reading: &Reading| {
            let answer = Answer {
                counters: plan.counters(reading)?,
                outputs: &written,
                readings: std::slice::from_ref(reading),
            };
            let mut result = readback::result(&answer, &stages, period)?;
            result.counters.status = result.counters.status.union(answer.lacking());
            Ok(result)
        };
        let shelf = Arc::downgrade(self.readings.shelf());
        let recordings = [recorded.answers.clone(), recording];
        Ok(Later::new(
            &self.home, shelf, encoder, reading, recordings, arrives, decode,
        ))
    }

    /// The counters that arrived last of those that [`watch_counters`](Self::watch_counters) asked for; none right
    /// after [`trim`](Self::trim).
    pub fn watched_counters(&mut self) -> Option<Counters> {
        self.take_in();
        self.watch.latest
    }

    /// The GPU time of each stage of the step whose counters [`watched_counters`](Self::watched_counters) tells, where
    /// the device and the descriptor have [`timestamps`](crate::OutputOptions::timestamps); else nothing.
    pub fn watched_timings(&mut self) -> Vec<StageTime> {
        self.take_in();
        Timing::read(
            &self.watch.latest_stages,
            &self.watch.latest_ticks,
            self.home.queue().get_timestamp_period(),
        )
    }

    /// Learns from what has arrived.
    pub(crate) fn take_in(&mut self) {
        let arrived = std::mem::take(&mut *self.watch.arrived.lock());
        // A device that was lost in between has nothing to tell.
        for arrived in arrived.into_iter().filter(|arrived| arrived.recording.was_right()) {
            self.note(&arrived.counters, &arrived.plan, arrived.is_crowded);
            self.watch.latest = Some(arrived.counters);
            (self.watch.latest_stages, self.watch.latest_ticks) = (arrived.stages, arrived.ticks);
        }
    }
}
