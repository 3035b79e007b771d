//! Read-backs of a broad phase.

use super::broad_phase::GpuBroadPhase;
use super::results::Recorded;
use crate::api::counters::{Counters, Output, Status};
use crate::api::error::{ReadBackError, StepError};
use crate::api::result::{StageTime, StepResult};
use crate::gpu::readback::Readback;
use crate::gpu::reading::Reading;

impl GpuBroadPhase {
    /// Reads the result of the last step, [`page`](Self::page) or [`query`](Self::query) after its submission: counters
    /// and the rows in the output buffers. A query's result has no pairs. Submits a copy. Waits for and polls the
    /// device on native targets, awaits it in browsers.
    ///
    /// # Errors
    /// - [`ReadBackError::NoStep`]: nothing was recorded since the start or [`trim`](Self::trim).
    /// - [`ReadBackError::NotSubmitted`]: the encoder was not submitted, or was dropped.
    /// - [`ReadBackError::DeviceLost`], in browsers also [`ReadBackError::Map`]: the device is lost.
    /// - [`ReadBackError::Timeout`]: the device took too long.
    /// - [`ReadBackError::Device`]: the device refused the recording.
    pub async fn read_back(&mut self) -> Result<StepResult, ReadBackError> {
        if self.session.context.is_marked_lost() {
            return Err(ReadBackError::DeviceLost);
        }
        let recorded = self.awaited().await?;
        let growth = (&self.descriptor, &mut self.growth);
        self.results.read_back(&self.session, growth, &recorded).await
    }

    /// Records a copy of `outputs`, counters and stage times to the host, directly after the last [`step`](Self::step),
    /// [`page`](Self::page) or [`query`](Self::query) in the same encoder. Never waits: the result arrives a frame or
    /// two later, unchanged by later steps. See [`Readback`]. Outputs that the step lacks are skipped.
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
        outputs: &[Output],
    ) -> Result<Readback<StepResult>, StepError> {
        let recorded = self.recorded().ok_or(StepError::NoStep)?;
        self.results.record_read_back(&self.session, encoder, recorded, outputs)
    }

    /// Returns the newest counters on the host, of a [`step`](Self::step), [`query`](Self::query) or
    /// [`read_back`](Self::read_back). They arrive a frame or two after a step, during your submissions or
    /// [`wgpu::Device::poll`]. `None` before any arrive, and after [`trim`](Self::trim).
    pub fn counters(&mut self) -> Option<Counters> {
        self.poll_counters();
        self.results.counters
    }

    /// Returns the GPU time of each stage in the recording that [`counters`](Self::counters) describes. Empty without
    /// [`timestamps`](crate::OutputOptions::timestamps) or device support.
    pub fn timings(&mut self) -> Vec<StageTime> {
        self.poll_counters();
        self.results.timings.clone()
    }

    /// Records a copy of the counters to the host.
    pub(super) fn read_counters(&self, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        self.record_read_back(encoder, &[]).map(drop)
    }

    pub(crate) fn poll_counters(&mut self) {
        self.results.poll(&self.session, (&self.descriptor, &mut self.growth));
    }

    /// `None` before the first recording.
    fn recorded(&self) -> Option<Recorded> {
        let last = self.queries.last.as_ref()?;
        let pairs = self.pairs.found.as_ref();
        let mut outputs = self.queries.readable();
        if self.emits_pairs() {
            outputs.extend(self.pairs.readable());
        }
        let capacity = pairs.map_or(0, |pairs| pairs.pairs.plan.params.capacity);
        let facts = last.facts(capacity, Status::from_bits(!0), pairs.is_some());
        Some(Recorded::new(&self.session, &self.queries.buffers, outputs, facts))
    }

    /// Copies counters and stage times of the last recording, and all outputs with `reads_outputs`.
    pub(crate) fn record_reading(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        reads_outputs: bool,
    ) -> Result<Reading, StepError> {
        let recorded = self.recorded().ok_or(StepError::NoStep)?;
        let rows = if reads_outputs { &recorded.outputs[..] } else { &[] };
        Ok(self
            .results
            .record_reading(&self.session, encoder, &recorded, rows, false))
    }

    pub(crate) async fn receive(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<StepResult, ReadBackError> {
        let recorded = self.awaited().await?;
        let growth = (&self.descriptor, &mut self.growth);
        self.results
            .receive(&self.session, growth, &recorded, (reading, submission))
            .await
    }

    pub(crate) async fn receive_counters(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        let recorded = self.awaited().await?;
        let growth = (&self.descriptor, &mut self.growth);
        let read = (&reading, submission);
        let counters = self
            .results
            .map_counters(&self.session, growth, &recorded, read)
            .await?;
        self.session.recycle(reading);
        Ok(counters)
    }

    pub(crate) fn check_dropped(&self) -> Result<(), ReadBackError> {
        let last = self.queries.last.as_ref().ok_or(ReadBackError::NoStep)?;
        crate::gpu::reading::check_dropped(&last.recording)
    }

    /// Awaits errors. Returns the last recording.
    async fn awaited(&mut self) -> Result<Recorded, ReadBackError> {
        let awaited = self.session.await_errors().await;
        awaited.inspect_err(|_| self.forget())?;
        self.recorded().ok_or(ReadBackError::NoStep)
    }
}
