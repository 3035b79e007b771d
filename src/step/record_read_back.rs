use std::sync::Arc;

use super::broad_phase::GpuBroadPhase;
use super::readback::{self, received};
use crate::api::counters::Counters;
use crate::api::error::StepError;
use crate::api::result::{Outputs, StageTime, StepResult};
use crate::gpu::readback::Readback;
use crate::gpu::reading::{HostResult, Reading};
use crate::gpu::scope::Scopes;
use crate::gpu::timing::Timing;

impl GpuBroadPhase {
    /// Records a copy of `outputs`, counters and stage times to the host, directly after the last [`step`](Self::step),
    /// [`page`](Self::page) or [`query`](Self::query) in the same encoder. Never waits: the result arrives a frame or
    /// two later, unchanged by later steps. See [`Readback`].
    ///
    /// Only the device knows the row counts, so the copy has room for the rows of the last result, a quarter more, and
    /// 64 KiB. If an output needs more, the result's [`status`](Counters::status) reports its overflow, and later
    /// copies have room.
    ///
    /// # Errors
    /// - [`StepError::NoStep`]: nothing was recorded since the start or [`trim`](Self::trim).
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    pub fn record_read_back(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: Outputs,
    ) -> Result<Readback<StepResult>, StepError> {
        let recorded = self.recorded.as_ref().ok_or(StepError::NoStep)?;
        if recorded.answers.is_dropped() {
            return Err(StepError::Dropped);
        }
        let plan = recorded.plan;
        let written = self.outputs(outputs).ok_or(StepError::NoStep)?;
        let reading = self.record_reading(encoder, &written, true).ok_or(StepError::NoStep)?;
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages).to_vec();
        let period = self.context.queue().get_timestamp_period();
        let arrives = {
            let pool = Arc::downgrade(&self.counter_readback.arrived);
            let (recording, stages) = (recorded.answers.clone(), stages.clone());
            move |reading: &Reading| {
                let received = received(reading, plan, recording, &stages, period);
                if let (Some(pool), Ok(received)) = (pool.upgrade(), received) {
                    pool.lock().push(received);
                }
            }
        };
        let decode = move |reading: &Reading| {
            let answer = HostResult {
                counters: plan.counters(reading)?,
                outputs: &written,
                readings: std::slice::from_ref(reading),
            };
            let mut result = readback::result(&answer, &stages, period)?;
            result.counters.status = result.counters.status.union(answer.lacking());
            Ok(result)
        };
        let pool = Arc::downgrade(self.readings.pool());
        let recording = recorded.answers.clone();
        Ok(Readback::new(
            &self.context,
            pool,
            encoder,
            reading,
            recording,
            arrives,
            decode,
        ))
    }

    /// Returns the newest counters on the host, of a [`step`](Self::step), [`query`](Self::query) or
    /// [`read_back`](Self::read_back). They arrive a frame or two after a step, during your submissions or
    /// [`wgpu::Device::poll`]. `None` before any arrive, and after [`trim`](Self::trim).
    pub fn counters(&mut self) -> Option<Counters> {
        self.poll_counters();
        self.counter_readback.counters
    }

    /// Returns the GPU time of each stage in the recording that [`counters`](Self::counters) describes. Empty without
    /// [`timestamps`](crate::OutputOptions::timestamps) or device support.
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.poll_counters();
        self.counter_readback.timings.clone()
    }

    /// Records a copy of the counters to the host, after the last recording has ended.
    pub(super) fn record_counter_read_back(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        let scopes = Scopes::begin(self.context.device());
        let brought = self.record_read_back(encoder, Outputs::default()).map(drop);
        self.settle(scopes)?;
        brought
    }

    pub(crate) fn poll_counters(&mut self) {
        let arrived = std::mem::take(&mut *self.counter_readback.arrived.lock());
        for received in arrived {
            if !received.recording.is_dropped() {
                self.observe(received);
            }
        }
    }
}
