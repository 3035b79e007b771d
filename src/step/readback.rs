//! Read-backs after submission. The number of rows to copy is guessed from the last result, so one copy usually
//! suffices.

use std::ops::Range;

use crate::api::counters::{Counters, word};
use crate::api::error::ReadBackError;
use crate::api::result::{Outputs, StepResult};
use crate::gpu::reading::{
    Copy, HostResult, Readable, Reading, TIMINGS, check_dropped, check_submitted, copy_out, error_or_lost, submit,
};
use crate::gpu::timing::Timing;
use crate::shared::recording::Recording;
use crate::stages::shape::COUNTERS;
use crate::stages::{pairs, queries, rays};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::counter_readback::Received;
use crate::step::demand::Observed;
use crate::step::plan::Plan;

impl GpuBroadPhase {
    /// Updates the demand, unless another copy of the same counters did.
    pub(super) fn observe(&mut self, received: Received) {
        let Received {
            recording,
            plan,
            counters,
            is_crowded,
            timings,
        } = received;
        let newest = &self.counter_readback.newest;
        if newest.as_ref().is_some_and(|newest| newest.is_same(&recording)) {
            return;
        }
        let observed = Observed {
            walk_shrink: plan.shape.walk_shrink,
            rays: plan.rays_counted(),
            is_crowded,
            is_of_step: plan.is_of_step,
        };
        let grows = self.grows();
        let headroom = grows.then_some(self.descriptor.outputs.headroom);
        self.demand.observe(&counters, observed, headroom);
        // `BroadPhase`, which splits submissions, repeats steps that overflow and logs its own results.
        if !self.splits_submissions {
            self.warnings.observe(&self.label, &counters, plan.is_of_step, grows);
        }
        self.counter_readback.newest = Some(recording);
        self.counter_readback.counters = Some(counters);
        self.counter_readback.timings = timings;
    }

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
        let (reading, submission) = self.submit_reading().await?;
        self.receive(reading, submission).await
    }

    /// Copies counters, stage times and `outputs`. If `is_last_chance`, copies more rows, since no copy can follow.
    pub(crate) fn record_reading(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: &[Readable],
        is_last_chance: bool,
    ) -> Option<Reading> {
        let whole = |name, buffer, bytes| Copy {
            name,
            buffer,
            row_bytes: bytes,
            bytes: 0..bytes,
        };
        let mut copies = vec![whole(
            COUNTERS.name,
            self.buffers.existing(COUNTERS)?,
            4 * word::COUNT as u64,
        )];
        if let Some((buffer, bytes)) = self.timing.as_ref().map(Timing::resolved) {
            copies.push(whole(TIMINGS, buffer, bytes));
        }
        let rows = |output: &Readable| 0..output.guess(is_last_chance);
        copies.extend(outputs.iter().map(|output| self.copy_of(output, rows(output))));
        Some(copy_out(&self.readings, self.context.device(), encoder, &copies))
    }

    pub(crate) async fn receive(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<StepResult, ReadBackError> {
        let counters = self.map_counters(&reading, submission).await?;
        let outputs = self.outputs(Outputs::ALL).ok_or(ReadBackError::NoStep)?;
        let mut readings = vec![reading];
        loop {
            let answer = HostResult {
                outputs: &outputs,
                counters,
                readings: &readings,
            };
            let missing: Vec<_> = outputs
                .iter()
                .filter_map(|output| {
                    let (read, held) = (answer.rows_read(output), output.held(&counters));
                    (read < held).then(|| self.copy_of(output, read..held))
                })
                .collect();
            if missing.is_empty() {
                break;
            }
            let copy = |encoder: &mut wgpu::CommandEncoder| {
                Some(copy_out(&self.readings, self.context.device(), encoder, &missing))
            };
            let (rest, submission) = submit(&self.context, copy).await?;
            self.map(&rest, submission).await?;
            readings.push(rest);
        }
        let answer = HostResult {
            outputs: &outputs,
            counters,
            readings: &readings,
        };
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages);
        let result = result(&answer, stages, self.context.queue().get_timestamp_period())?;
        readings.into_iter().for_each(|reading| self.recycle(reading));
        Ok(result)
    }

    pub(crate) fn outputs(&self, outputs: Outputs) -> Option<Vec<Readable>> {
        let recorded = self.recorded.as_ref()?;
        let written = Outputs {
            pairs: outputs.pairs && recorded.emits_pairs,
            ..outputs
        };
        Some(recorded.plan.readable(written, self.demand.last()))
    }

    async fn submit_reading(&mut self) -> Result<(Reading, wgpu::SubmissionIndex), ReadBackError> {
        if self.context.is_marked_lost() {
            return Err(ReadBackError::DeviceLost);
        }
        self.await_errors().await?;
        self.check_dropped()?;
        let outputs = self.outputs(Outputs::ALL).ok_or(ReadBackError::NoStep)?;
        submit(&self.context, |encoder| self.record_reading(encoder, &outputs, false)).await
    }

    pub(crate) fn check_dropped(&self) -> Result<(), ReadBackError> {
        let recorded = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?;
        check_dropped(&recorded.answers)
    }

    async fn await_errors(&mut self) -> Result<(), ReadBackError> {
        match std::mem::take(&mut self.errors).wait().await {
            None => Ok(()),
            Some(error) => {
                self.forget();
                Err(error_or_lost(self.context.device(), ReadBackError::Device(error)))
            }
        }
    }

    pub(crate) async fn receive_counters(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        let counters = self.map_counters(&reading, submission).await?;
        self.recycle(reading);
        Ok(counters)
    }

    async fn map_counters(
        &mut self,
        reading: &Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        self.await_errors().await?;
        let recorded = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?;
        let (plan, answers) = (recorded.plan, recorded.answers.clone());
        self.map(reading, submission).await?;
        check_submitted(&answers)?;
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages);
        let received = received(
            reading,
            plan,
            answers,
            stages,
            self.context.queue().get_timestamp_period(),
        )?;
        let counters = received.counters;
        // Counters of earlier recordings come first.
        self.poll_counters();
        self.observe(received);
        Ok(counters)
    }

    fn copy_of(&self, output: &Readable, rows: Range<u64>) -> Copy<'_> {
        Copy {
            name: output.id.name,
            buffer: self.buffers.get(output.id),
            row_bytes: output.row_bytes,
            bytes: rows.start * output.row_bytes..rows.end * output.row_bytes,
        }
    }

    async fn map(&self, reading: &Reading, submission: wgpu::SubmissionIndex) -> Result<(), ReadBackError> {
        reading
            .map(self.context.device(), submission, self.descriptor().outputs.timeout)
            .await
    }

    pub(crate) fn recycle(&self, reading: Reading) {
        reading.recycle(self.readings.pool());
    }
}

pub(super) fn received(
    reading: &Reading,
    plan: Plan,
    recording: Recording,
    stages: &[&'static str],
    period: f32,
) -> Result<Received, ReadBackError> {
    Ok(Received {
        recording,
        plan,
        counters: plan.counters(reading)?,
        is_crowded: plan.is_crowded(reading),
        timings: Timing::read(stages, &reading.ticks()?, period),
    })
}

/// Decodes a mapped result. `period`: nanoseconds per timestamp tick.
pub(crate) fn result(
    answer: &HostResult<'_>,
    stages: &[&'static str],
    period: f32,
) -> Result<StepResult, ReadBackError> {
    let ticks = answer.readings.first().map_or_else(|| Ok(Vec::new()), Reading::ticks)?;
    Ok(StepResult {
        pairs: answer.rows(pairs::buffer::PAIRS)?,
        world_pairs: answer.rows(pairs::buffer::WORLD_PAIRS)?,
        ray_hits: answer.rows(rays::buffer::HITS)?,
        ray_any: answer.rows(rays::buffer::ANY)?,
        ray_offsets: answer.rows(rays::buffer::OFFSETS)?,
        ray_cells: answer.rows(rays::buffer::CELLS)?,
        ray_cell_offsets: answer.rows(rays::buffer::CELL_OFFSETS)?,
        query_objects: answer.rows(queries::buffer::OBJECTS)?,
        query_offsets: answer.rows(queries::buffer::OFFSETS)?,
        query_nearest: answer.rows(queries::buffer::NEAREST)?,
        timings: Timing::read(stages, &ticks, period),
        counters: answer.counters,
    })
}
