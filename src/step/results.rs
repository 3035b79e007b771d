//! Results on the host. The number of rows to copy is guessed from the last result, so one copy usually suffices.

use std::sync::Arc;
use std::time::Duration;

use super::growth::{Facts, Growth};
use super::warnings::Warnings;
use crate::api::counters::{Counters, Output, word};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{ReadBackError, StepError};
use crate::api::result::{StageTime, StepResult};
use crate::api::types::Pair;
use crate::gpu::buffers::Buffers;
use crate::gpu::readback::Readback;
use crate::gpu::reading::{Copy, HostResult, Readable, Reading, TIMINGS, check_dropped, check_submitted, submit};
use crate::gpu::session::Session;
use crate::gpu::staging::Pool;
use crate::gpu::timing::Timing;
use crate::shared::recording::Recording;
use crate::stages::shape::COUNTERS;
use crate::stages::{order, pairs, queries, rays};

impl Recording {
    pub fn check(&self) -> Result<(), StepError> {
        match self.is_dropped() {
            true => Err(StepError::Dropped),
            false => Ok(()),
        }
    }
}

/// Buffers that the last recording writes for the host.
#[derive(Clone)]
pub(crate) struct Recorded<B = wgpu::Buffer> {
    pub counters: B,
    pub outputs: Vec<Readable<B>>,
    pub facts: Facts,
    /// Stages with times.
    pub stages: Vec<&'static str>,
    /// Nanoseconds per timestamp tick.
    pub period: f32,
}

pub(crate) struct Received {
    pub facts: Facts,
    pub counters: Counters,
    pub is_crowded: Option<bool>,
    pub timings: Vec<StageTime>,
}

type Grown<'g> = (&'g BroadPhaseDescriptor<'static>, &'g mut Growth);

/// Counters and stage times that have arrived. Device callbacks push to `arrived`.
#[derive(Default)]
pub(crate) struct Results {
    arrived: Arc<Pool<Received>>,
    /// Last recording whose counters were received.
    newest: Option<Recording>,
    pub counters: Option<Counters>,
    pub timings: Vec<StageTime>,
    warnings: Warnings,
}

impl Recorded {
    /// `answers`: buffers of the counters.
    pub fn new(session: &Session, answers: &Buffers, outputs: Vec<Readable>, facts: Facts) -> Self {
        Self {
            counters: answers.get(COUNTERS).clone(),
            outputs,
            facts,
            stages: session.timing.as_ref().map_or(&[][..], Timing::stages).to_vec(),
            period: session.context.queue().get_timestamp_period(),
        }
    }

    fn outputs(&self, wanted: &[Output]) -> Vec<Readable> {
        let outputs = self.outputs.iter();
        outputs.filter(|rows| wanted.contains(&rows.output)).cloned().collect()
    }

    fn without_buffers(&self) -> Recorded<()> {
        Recorded {
            counters: (),
            outputs: Vec::new(),
            facts: self.facts.clone(),
            stages: self.stages.clone(),
            period: self.period,
        }
    }
}

impl<B> Recorded<B> {
    fn received(&self, reading: &Reading) -> Result<Received, ReadBackError> {
        let words: Vec<u32> = reading.rows(COUNTERS.name, word::COUNT as u64)?;
        if words.len() < word::COUNT {
            return Err(ReadBackError::DeviceLost);
        }
        let facts = self.facts.clone();
        let mut counters = Counters::from_words(&words, &facts.held);
        counters.status = counters.status.intersection(facts.reports);
        Ok(Received {
            counters,
            is_crowded: facts.sees_crowds.then(|| words[word::CROWDED] != 0),
            timings: Timing::read(&self.stages, &reading.ticks()?, self.period),
            facts,
        })
    }

    /// Decodes a mapped result.
    fn result(&self, answer: &HostResult<'_, B>) -> Result<StepResult, ReadBackError> {
        let ticks = answer.readings.first().map_or_else(|| Ok(Vec::new()), Reading::ticks)?;
        let pairs: Vec<Pair> = answer.rows(pairs::buffer::PAIRS)?;
        let offsets: Vec<u32> = answer.rows(order::buffer::WORLD_OFFSETS)?;
        // The copy may hold the first pairs only.
        let read = pairs.len() as u32;
        Ok(StepResult {
            pairs,
            world_offsets: offsets.into_iter().map(|offset| offset.min(read)).collect(),
            world_pairs: answer.rows(pairs::buffer::WORLD_PAIRS)?,
            ray_hits: answer.rows(rays::buffer::HITS)?,
            ray_any: answer.rows(rays::buffer::ANY)?,
            ray_offsets: answer.rows(rays::buffer::OFFSETS)?,
            ray_cells: answer.rows(rays::buffer::CELLS)?,
            ray_cell_offsets: answer.rows(rays::buffer::CELL_OFFSETS)?,
            query_objects: answer.rows(queries::buffer::OBJECTS)?,
            query_offsets: answer.rows(queries::buffer::OFFSETS)?,
            query_nearest: answer.rows(queries::buffer::NEAREST)?,
            timings: Timing::read(&self.stages, &ticks, self.period),
            counters: answer.counters,
        })
    }
}

impl Results {
    /// Updates the demand, unless another copy of the same counters did.
    fn observe(&mut self, received: Received, session: &Session, (descriptor, growth): Grown<'_>) {
        let Received {
            facts,
            counters,
            is_crowded,
            timings,
        } = received;
        if self
            .newest
            .as_ref()
            .is_some_and(|newest| newest.is_same(&facts.recording))
        {
            return;
        }
        let headroom = descriptor.headroom();
        growth.observe(&counters, &facts, is_crowded, headroom);
        // `BroadPhase`, which splits submissions, repeats steps that overflow and logs its own results.
        if session.part_timeout.is_none() {
            let grows = headroom.is_some();
            self.warnings
                .observe(&session.label, &counters, facts.is_of_step, grows);
        }
        self.newest = Some(facts.recording);
        self.counters = Some(counters);
        self.timings = timings;
    }

    /// Discards counters that have not arrived.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn poll(&mut self, session: &Session, (descriptor, growth): Grown<'_>) {
        let arrived = std::mem::take(&mut *self.arrived.lock());
        for received in arrived {
            if !received.facts.recording.is_dropped() {
                self.observe(received, session, (descriptor, &mut *growth));
            }
        }
    }

    /// Copies counters, stage times and rows. If `is_last_chance`, copies more rows, since no copy can follow.
    pub fn record_reading(
        &self,
        session: &Session,
        encoder: &mut wgpu::CommandEncoder,
        recorded: &Recorded,
        rows: &[Readable],
        is_last_chance: bool,
    ) -> Reading {
        let whole = |name, buffer, bytes| Copy {
            name,
            buffer,
            row_bytes: bytes,
            bytes: 0..bytes,
        };
        let mut copies = vec![whole(COUNTERS.name, &recorded.counters, 4 * word::COUNT as u64)];
        if let Some((buffer, bytes)) = session.timing.as_ref().map(Timing::resolved) {
            copies.push(whole(TIMINGS, buffer, bytes));
        }
        let newest = self.counters.as_ref();
        copies.extend(rows.iter().map(|rows| rows.copy(0..rows.guess(newest, is_last_chance))));
        session.copy_out(encoder, &copies)
    }

    /// Records a copy of `outputs` to the host.
    pub fn record_read_back(
        &self,
        session: &Session,
        encoder: &mut wgpu::CommandEncoder,
        recorded: Recorded,
        outputs: &[Output],
    ) -> Result<Readback<StepResult>, StepError> {
        recorded.facts.recording.check()?;
        let outputs = recorded.outputs(outputs);
        let reading = self.record_reading(session, encoder, &recorded, &outputs, true);
        let recorded = recorded.without_buffers();
        let outputs: Vec<_> = outputs.iter().map(Readable::without_buffer).collect();
        let arrives = {
            let (pool, recorded) = (Arc::downgrade(&self.arrived), recorded.clone());
            move |reading: &Reading| {
                if let (Some(pool), Ok(received)) = (pool.upgrade(), recorded.received(reading)) {
                    pool.lock().push(received);
                }
            }
        };
        let recording = recorded.facts.recording.clone();
        let decode = move |reading: &Reading| {
            let answer = HostResult {
                counters: recorded.received(reading)?.counters,
                outputs: &outputs,
                readings: std::slice::from_ref(reading),
            };
            let mut result = recorded.result(&answer)?;
            result.counters.status = result.counters.status.union(answer.lacking());
            Ok(result)
        };
        let pool = Arc::downgrade(session.readings.pool());
        Ok(Readback::new(
            &session.context,
            pool,
            encoder,
            reading,
            recording,
            arrives,
            decode,
        ))
    }

    /// Submits a copy of all outputs, and waits for it.
    pub async fn read_back(
        &mut self,
        session: &Session,
        growth: Grown<'_>,
        recorded: &Recorded,
    ) -> Result<StepResult, ReadBackError> {
        check_dropped(&recorded.facts.recording)?;
        let record = |encoder: &mut _| Some(self.record_reading(session, encoder, recorded, &recorded.outputs, false));
        let submitted = submit(&session.context, record).await?;
        self.receive(session, growth, recorded, submitted).await
    }

    /// Waits for a submitted copy, and returns the result.
    pub async fn receive(
        &mut self,
        session: &Session,
        growth: Grown<'_>,
        recorded: &Recorded,
        (reading, submission): (Reading, wgpu::SubmissionIndex),
    ) -> Result<StepResult, ReadBackError> {
        let read = (&reading, submission);
        let (descriptor, growth) = growth;
        let timeout = descriptor.outputs.timeout;
        let counters = self.map_counters(session, (descriptor, growth), recorded, read).await?;
        complete(session, recorded, counters, reading, timeout).await
    }

    /// Maps a reading, and returns its counters.
    pub async fn map_counters(
        &mut self,
        session: &Session,
        (descriptor, growth): Grown<'_>,
        recorded: &Recorded,
        (reading, submission): (&Reading, wgpu::SubmissionIndex),
    ) -> Result<Counters, ReadBackError> {
        let timeout = descriptor.outputs.timeout;
        reading.map(session.context.device(), submission, timeout).await?;
        check_submitted(&recorded.facts.recording)?;
        let received = recorded.received(reading)?;
        let counters = received.counters;
        // Counters of earlier recordings come first.
        self.poll(session, (descriptor, &mut *growth));
        self.observe(received, session, (descriptor, growth));
        Ok(counters)
    }
}

/// Reads the rows that the first copy lacks, and returns the result.
async fn complete(
    session: &Session,
    recorded: &Recorded,
    counters: Counters,
    reading: Reading,
    timeout: Duration,
) -> Result<StepResult, ReadBackError> {
    let outputs = &recorded.outputs;
    let mut readings = vec![reading];
    loop {
        let answer = HostResult {
            outputs,
            counters,
            readings: &readings,
        };
        let missing = outputs.iter().filter_map(|output| {
            let (read, held) = (answer.rows_read(output), output.held(&counters));
            (read < held).then(|| output.copy(read..held))
        });
        let missing: Vec<_> = missing.collect();
        if missing.is_empty() {
            break;
        }
        let record = |encoder: &mut _| Some(session.copy_out(encoder, &missing));
        let (rest, submission) = submit(&session.context, record).await?;
        rest.map(session.context.device(), submission, timeout).await?;
        readings.push(rest);
    }
    let result = recorded.result(&HostResult {
        outputs,
        counters,
        readings: &readings,
    })?;
    readings.into_iter().for_each(|reading| session.recycle(reading));
    Ok(result)
}
