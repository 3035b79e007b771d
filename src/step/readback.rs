//! Reading results: calls of their own, after the submission. Everything that is read comes in one copy and one wait:
//! how long an output is stands in the counters, so that it is guessed from the last answer, and further copies bring
//! what was left out.

use std::ops::Range;

use crate::api::counters::{Counters, word};
use crate::api::error::ReadBackError;
use crate::api::result::{Outputs, StepResult};
use crate::gpu::reading::{Answer, Copy, Readable, Reading, TIMINGS, check_submitted, copy_out, or_lost, submit};
use crate::gpu::timing::Timing;
use crate::stages::shape::COUNTERS;
use crate::stages::{pairs, queries, rays};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::counter_readback::Received;
use crate::step::demand::Observed;
use crate::step::plan::Plan;

impl GpuBroadPhase {
    /// Takes in the counters of a recording, unless those of it or of a newer one were received before.
    pub(super) fn observe(&mut self, received: Received) {
        let Received {
            number,
            plan,
            counters,
            is_crowded,
            timings,
        } = received;
        if number <= self.counter_readback.newest {
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
        // A `BroadPhase` repeats steps that overflow, and logs its answers itself.
        if !self.splits_submissions {
            self.warnings.observe(&self.label, &counters, plan.is_of_step, grows);
        }
        self.counter_readback.newest = number;
        self.counter_readback.counters = Some(counters);
        self.counter_readback.timings = timings;
    }

    /// Reads the whole result of the last step, [`page`](Self::page) or [`query`](Self::query), once it was
    /// submitted: the counters and those pairs, hits, cells of rays and results of queries that it wrote and the
    /// buffers hold. A query writes no pairs.
    ///
    /// Submits a copy. On native targets the call waits for the device and polls it; in the browser it awaits it.
    ///
    /// # Errors
    /// [`ReadBackError::NoStep`] before the first step and after [`trim`](Self::trim), [`ReadBackError::NotSubmitted`]
    /// before the submission and where the encoder was dropped, [`ReadBackError::DeviceLost`] where the device is lost,
    /// which in browsers may be [`ReadBackError::Map`], [`ReadBackError::Timeout`] where it takes too long,
    /// [`ReadBackError::Device`] where it refused the recording.
    pub async fn read_back(&mut self) -> Result<StepResult, ReadBackError> {
        let (reading, submission) = self.submit_reading().await?;
        self.receive(reading, submission).await
    }

    /// Records the copies of a read-back behind what was recorded last: of counters, stage times and outputs. Where it
    /// is the last chance, what is left out cannot be read by further ones.
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

    /// Waits for a whole answer.
    pub(crate) async fn receive(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<StepResult, ReadBackError> {
        let counters = self.map_counters(&reading, submission).await?;
        let outputs = self.outputs(Outputs::ALL).ok_or(ReadBackError::NoStep)?;
        let mut readings = vec![reading];
        loop {
            let answer = Answer {
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
        let answer = Answer {
            outputs: &outputs,
            counters,
            readings: &readings,
        };
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages);
        let result = result(&answer, stages, self.context.queue().get_timestamp_period())?;
        readings.into_iter().for_each(|reading| self.put_back(reading));
        Ok(result)
    }

    /// What the last recording wrote.
    pub(crate) fn outputs(&self, outputs: Outputs) -> Option<Vec<Readable>> {
        let recorded = self.recorded.as_ref()?;
        let written = Outputs {
            pairs: outputs.pairs && recorded.emits_pairs,
            ..outputs
        };
        Some(recorded.plan.readable(written, self.demand.last()))
    }

    /// Submits a read-back of what was submitted before.
    async fn submit_reading(&mut self) -> Result<(Reading, wgpu::SubmissionIndex), ReadBackError> {
        if self.context.is_marked_lost() {
            return Err(ReadBackError::DeviceLost);
        }
        self.await_errors().await?;
        if self.recorded.is_none() {
            return Err(ReadBackError::NoStep);
        }
        if !self.is_answered() {
            return Err(ReadBackError::NotSubmitted);
        }
        let outputs = self.outputs(Outputs::ALL).ok_or(ReadBackError::NoStep)?;
        submit(&self.context, |encoder| self.record_reading(encoder, &outputs, false)).await
    }

    /// Returns whether the answer of the last recording is there. Where it is wrong, the caller tells so.
    pub(crate) fn is_answered(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| {
            recorded.answers.tells_wrong();
            recorded.answers.may_be_there()
        })
    }

    /// Listens for what the device still has to say of the recording.
    async fn await_errors(&mut self) -> Result<(), ReadBackError> {
        match std::mem::take(&mut self.errors).wait().await {
            None => Ok(()),
            Some(error) => {
                self.forget();
                Err(or_lost(self.context.device(), ReadBackError::Device(error)))
            }
        }
    }

    /// Waits for counters.
    pub(crate) async fn receive_counters(
        &mut self,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        let counters = self.map_counters(&reading, submission).await?;
        self.put_back(reading);
        Ok(counters)
    }

    /// Waits for a read-back, and takes in what its counters say.
    async fn map_counters(
        &mut self,
        reading: &Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        self.await_errors().await?;
        let recorded = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?;
        let (plan, answers) = (recorded.plan, recorded.answers.clone());
        self.map(reading, submission).await?;
        check_submitted(&answers, true)?;
        let stages = self.timing.as_ref().map_or(&[][..], Timing::stages);
        let received = received(
            reading,
            plan,
            answers.number(),
            stages,
            self.context.queue().get_timestamp_period(),
        )?;
        let counters = received.counters;
        // Of what was submitted before, so that the newest has the last word.
        self.poll_counters();
        self.observe(received);
        Ok(counters)
    }

    /// The copy of some rows.
    fn copy_of(&self, output: &Readable, rows: Range<u64>) -> Copy<'_> {
        Copy {
            name: output.id.name,
            buffer: self.buffers.get(output.id),
            row_bytes: output.row_bytes,
            bytes: rows.start * output.row_bytes..rows.end * output.row_bytes,
        }
    }

    /// Maps what was read once its submission is done.
    async fn map(&self, reading: &Reading, submission: wgpu::SubmissionIndex) -> Result<(), ReadBackError> {
        reading
            .map(self.context.device(), submission, self.descriptor().outputs.timeout)
            .await
    }

    /// Lets the next read-back use the same memory.
    pub(crate) fn put_back(&self, reading: Reading) {
        reading.put_back(self.readings.shelf());
    }
}

/// Returns what a mapped reading says of a recording with this plan and number.
pub(super) fn received(
    reading: &Reading,
    plan: Plan,
    number: u64,
    stages: &[&'static str],
    period: f32,
) -> Result<Received, ReadBackError> {
    Ok(Received {
        number,
        plan,
        counters: plan.counters(reading)?,
        is_crowded: plan.is_crowded(reading),
        timings: Timing::read(stages, &reading.ticks()?, period),
    })
}

/// An answer as a result, once all of it is mapped. The first reading has the stage times, in ticks of so many
/// nanoseconds.
pub(crate) fn result(answer: &Answer<'_>, stages: &[&'static str], period: f32) -> Result<StepResult, ReadBackError> {
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
