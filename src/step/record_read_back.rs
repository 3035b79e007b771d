//! Answers that arrive a few frames later, without a wait.

use std::sync::Arc;

use super::broad_phase::GpuBroadPhase;
use super::readback::{self, received};
use crate::api::counters::Counters;
use crate::api::error::StepError;
use crate::api::result::{Outputs, StageTime, StepResult};
use crate::gpu::readback::Readback;
use crate::gpu::reading::{Answer, Reading};
use crate::gpu::scope::Scopes;
use crate::gpu::timing::Timing;

impl GpuBroadPhase {
    /// Records the copying of the last step's answer to the host, right behind it and in the same encoder: that of the
    /// last [`step`](Self::step), [`page`](Self::page) or [`query`](Self::query), and of these `outputs` beside the
    /// counters and stage times. It arrives a frame or two later, whatever steps are recorded meanwhile, and
    /// nobody waits: see [`Readback`].
    ///
    /// How long an output is only the device knows. As many rows are copied as the last answer that arrived had, a
    /// quarter more, and 64 KiB. Where the answer is longer than that, the [`status`](Counters::status) of the result
    /// says so as if the output had no room for it, and the next answer has the room.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step and after [`trim`](Self::trim), [`StepError::Dropped`] where the
    /// encoder of the step was dropped.
    pub fn record_read_back(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: Outputs,
    ) -> Result<Readback<StepResult>, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        if recorded.answers.is_lost() {
            return Err(StepError::Dropped);
        }
        let plan = recorded.plan;
        let written = self.outputs(outputs).ok_or(StepError::NoStep)?;
        let reading = self.record_reading(encoder, &written, true).ok_or(StepError::NoStep)?;
        let copied = self.counter_readback.copies.make(encoder, [recorded.answers.clone()]);
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages).to_vec();
        let period = self.context.queue().get_timestamp_period();
        let arrives = {
            let shelf = Arc::downgrade(&self.counter_readback.arrived);
            let (copied, number, stages) = (copied.clone(), recorded.answers.number(), stages.clone());
            move |reading: &Reading| {
                let received = received(reading, plan, number, &stages, period);
                if let (Some(shelf), Ok(received)) = (shelf.upgrade(), received) {
                    shelf.lock().push((received, copied));
                }
            }
        };
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
        let recordings = [recorded.answers.clone(), copied];
        Ok(Readback::new(
            &self.context,
            shelf,
            encoder,
            reading,
            recordings,
            arrives,
            decode,
        ))
    }

    /// Returns the counters of the newest [`step`](Self::step), [`query`](Self::query) or
    /// [`read_back`](Self::read_back) that the host has received. Those of a step arrive a frame or two later, in the
    /// course of the program's own submissions or of [`wgpu::Device::poll`]. `None` before the first and after
    /// [`trim`](Self::trim).
    pub fn counters(&mut self) -> Option<Counters> {
        self.poll_counters();
        self.counter_readback.counters
    }

    /// Returns the GPU time of each stage of the recording of [`counters`](Self::counters). Empty without
    /// [`timestamps`](crate::OutputOptions::timestamps), and on a device without them.
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.poll_counters();
        self.counter_readback.timings.clone()
    }

    /// Records the copy of the counters of the last recording to the host. It needs that recording to have ended.
    pub(super) fn bring_counters(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        let scopes = Scopes::begin(self.context.device());
        let brought = self.record_read_back(encoder, Outputs::default()).map(drop);
        self.settle(scopes)?;
        brought
    }

    /// Observes the counters that have arrived.
    pub(crate) fn poll_counters(&mut self) {
        let arrived = std::mem::take(&mut *self.counter_readback.arrived.lock());
        for (received, copied) in arrived {
            // Those of a device that was lost in between are dropped.
            if copied.was_right() {
                self.observe(received);
            } else if copied.is_undecided() {
                self.counter_readback.arrived.lock().push((received, copied));
            }
        }
    }
}
