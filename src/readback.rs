//! Reading results: calls of their own, after the submission. Everything that is read comes in one copy and one wait:
//! how long an output is stands in the counters, so that it is guessed from the last answer, and further copies bring
//! what was left out.

use std::ops::Range;
use std::time::Duration;

use crate::broad_phase::GpuBroadPhase;
use crate::counters::{Counters, STATUS_CUT, word};
use crate::descriptor::RayMode;
use crate::error::ReadBackError;
use crate::gpu::scope::Scopes;
use crate::gpu::staging::{self, Staging};
use crate::gpu::submission;
use crate::gpu::timing::Timing;
use crate::plan::{self, Needs, Plan};
use crate::queries::Neighbor;
use crate::result::StepResult;
use crate::types::{Pair, RayCell, RayHit};

/// Bytes of an output that are read beyond what the last answer had: copying them costs less than waiting again.
const SPARE: u64 = 1 << 16;
const COUNTERS: &str = "counters";
const TIMINGS: &str = "timings";

/// What is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Counters,
    /// Counters and stage times.
    Figures,
    /// Outputs as well.
    Everything,
}

/// An output as a recording leaves it.
struct Output {
    name: &'static str,
    row_bytes: u64,
    rows: HeldRows,
}

enum HeldRows {
    Known(u64),
    /// Only the counters tell how many.
    Counted {
        needed: fn(&Counters) -> u64,
        /// Rows that the last answer needed.
        last: u32,
        /// What was needed of the rows ahead of the window.
        first: u32,
        capacity: u32,
    },
}

/// Copies of outputs that are on their way to the host.
pub(crate) struct Reading {
    staging: staging::Buffer,
    parts: Vec<Part>,
}

/// A part of a buffer that is to be read.
pub(crate) struct Copy<'b> {
    pub name: &'static str,
    pub buffer: &'b wgpu::Buffer,
    pub row_bytes: u64,
    pub bytes: Range<u64>,
}

/// Where the rows of an output lie in the staging buffer.
struct Part {
    name: &'static str,
    bytes: Range<u64>,
}

impl Output {
    fn known<T>(name: &'static str, rows: u64) -> Self {
        Self {
            name,
            row_bytes: size_of::<T>() as u64,
            rows: HeldRows::Known(rows),
        }
    }

    /// `[last, first, capacity]` as in [`HeldRows::Counted`].
    fn counted<T>(name: &'static str, needed: fn(&Counters) -> u64, [last, first, capacity]: [u32; 3]) -> Self {
        Self {
            name,
            row_bytes: size_of::<T>() as u64,
            rows: HeldRows::Counted {
                needed,
                last,
                first,
                capacity,
            },
        }
    }

    /// The rows that it holds.
    fn held(&self, counters: &Counters) -> u64 {
        match self.rows {
            HeldRows::Known(rows) => rows,
            HeldRows::Counted {
                needed,
                first,
                capacity,
                ..
            } => needed(counters).saturating_sub(first.into()).min(capacity.into()),
        }
    }

    /// The rows that are read before their number is known.
    fn guess(&self) -> u64 {
        match self.rows {
            HeldRows::Known(rows) => rows,
            HeldRows::Counted {
                last, first, capacity, ..
            } => (u64::from(last.saturating_sub(first)) + SPARE / self.row_bytes).min(capacity.into()),
        }
    }
}

/// What a recording writes beside counters; `needed` by the last answer.
fn outputs(plan: &Plan, emits_pairs: bool, needed: &Needs) -> Vec<Output> {
    let params = &plan.params;
    let mut outputs = Vec::new();
    if emits_pairs {
        let rows = [needed.pairs, params.first_pair, params.pair_capacity];
        outputs.push(Output::counted::<Pair>("pairs", |counters| counters.pairs_needed, rows));
        if plan.has_worlds() {
            outputs.push(Output::known::<u32>("world_pairs", params.world_count.into()));
        }
    }
    let rays = u64::from(params.ray_count);
    if rays > 0 {
        match plan.ray_mode {
            RayMode::Closest => outputs.push(Output::known::<RayHit>("ray_hits", rays)),
            RayMode::Any => outputs.push(Output::known::<u32>("ray_any", rays)),
            RayMode::All => {
                let rows = [needed.hits, params.first_hit, params.hit_capacity];
                outputs.push(Output::counted::<RayHit>(
                    "ray_hits",
                    |counters| counters.hits_needed,
                    rows,
                ));
                outputs.push(Output::known::<u32>("ray_offsets", rays + 1));
            }
        }
        if plan.ray_cells {
            let rows = [needed.ray_cells, params.first_ray_cell, params.ray_cell_capacity];
            outputs.push(Output::counted::<RayCell>(
                "ray_cells",
                |counters| counters.ray_cells_needed,
                rows,
            ));
            outputs.push(Output::known::<u32>("ray_cell_offsets", rays + 1));
        }
    }
    let queries = u64::from(params.query_count);
    if plan.asks_all() {
        let rows = [needed.results, params.first_result, params.result_capacity];
        outputs.push(Output::counted::<u32>(
            "query_objects",
            |counters| counters.results_needed,
            rows,
        ));
        outputs.push(Output::known::<u32>("query_offsets", queries + 1));
    }
    if plan.asks_nearest() {
        outputs.push(Output::known::<Neighbor>(
            "query_nearest",
            queries * u64::from(params.nearest),
        ));
    }
    outputs
}

impl Reading {
    /// Maps what was read once its submission is done.
    pub async fn map(
        &self,
        device: &wgpu::Device,
        #[cfg_attr(target_arch = "wasm32", allow(unused_variables, reason = "nobody waits there"))]
        submission: wgpu::SubmissionIndex,
        #[cfg_attr(target_arch = "wasm32", allow(unused_variables, reason = "nobody waits there"))] timeout: Duration,
    ) -> Result<(), ReadBackError> {
        // A device that was lost unnoticed refuses the mapping.
        let scopes = Scopes::begin(device);
        let (sender, receiver) = futures_intrusive::channel::shared::oneshot_channel();
        let mapped = move |mapped| {
            // The receiver is gone where the caller dropped the future: nobody wants the answer.
            let _ = sender.send(mapped);
        };
        let end = self.parts.iter().map(|part| part.bytes.end).fold(0, u64::max);
        self.staging.buffer.map_async(wgpu::MapMode::Read, ..end, mapped);
        if let Some(error) = scopes.end().wait().await {
            return Err(or_lost(device, ReadBackError::Map(error)));
        }
        // The browser drives its own event loop and has no blocking poll.
        #[cfg(not(target_arch = "wasm32"))]
        device
            .poll(wgpu::PollType::Wait {
                submission_index: Some(submission),
                timeout: Some(timeout),
            })
            .map_err(|error| match error {
                wgpu::PollError::Timeout => ReadBackError::Timeout(timeout),
                error => or_lost(device, ReadBackError::Map(error.to_string())),
            })?;
        match receiver.receive().await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(or_lost(device, ReadBackError::Map(error.to_string()))),
            None => Err(ReadBackError::DeviceLost),
        }
    }

    /// Lets the next read-back use the same memory.
    pub fn put_back(self, readings: &Staging) {
        self.staging.buffer.unmap();
        readings.give_back(self.staging);
    }

    /// What it is mapped in.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.staging.buffer
    }

    /// The counters of a step with this plan, once they are mapped.
    pub fn counters(&self, plan: &Plan) -> Result<Counters, ReadBackError> {
        let words: Vec<u32> = self.rows(COUNTERS, word::COUNT as u64)?;
        // Nothing was mapped of a device that is lost.
        if words.len() < word::COUNT {
            return Err(ReadBackError::DeviceLost);
        }
        Ok(Counters::from_words(
            &words,
            &plan.params,
            plan.rounds,
            plan.static_entries,
        ))
    }

    /// Timestamps, once they are mapped.
    pub fn ticks(&self) -> Result<Vec<u64>, ReadBackError> {
        self.rows(TIMINGS, u64::MAX)
    }

    fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Bytes of an output that were read.
    fn bytes(&self, name: &str) -> u64 {
        self.part(name).map_or(0, |part| part.bytes.end - part.bytes.start)
    }

    /// Rows of an output, once they are mapped.
    pub fn rows<T: bytemuck::Pod>(&self, name: &str, rows: u64) -> Result<Vec<T>, ReadBackError> {
        let Some(Part { bytes, .. }) = self.part(name).filter(|_| rows > 0) else {
            return Ok(Vec::new());
        };
        let end = bytes
            .end
            .min(bytes.start.saturating_add(rows.saturating_mul(size_of::<T>() as u64)));
        if end == bytes.start {
            return Ok(Vec::new());
        }
        let view = self.staging.buffer.get_mapped_range(bytes.start..end);
        let view = view.map_err(|error| ReadBackError::Map(error.to_string()))?;
        Ok(bytemuck::pod_collect_to_vec(&view))
    }
}

/// An answer on the host, rows of an output in one reading or in several.
struct Answer {
    outputs: Vec<Output>,
    counters: Counters,
    readings: Vec<Reading>,
}

impl Answer {
    fn rows_read(&self, output: &Output) -> u64 {
        let bytes: u64 = self.readings.iter().map(|reading| reading.bytes(output.name)).sum();
        bytes / output.row_bytes
    }

    fn rows<T: bytemuck::Pod>(&self, name: &str) -> Result<Vec<T>, ReadBackError> {
        let mut rows = Vec::new();
        if let Some(output) = self.outputs.iter().find(|output| output.name == name) {
            let held = output.held(&self.counters);
            for reading in &self.readings {
                let more = reading.rows(name, held - rows.len() as u64)?;
                // The first ones are most often all.
                if rows.is_empty() {
                    rows = more;
                } else {
                    rows.extend(more);
                }
            }
        }
        Ok(rows)
    }
}

impl GpuBroadPhase {
    /// Reads the counters of the last step, once it was submitted. With [`Growth::Grow`](crate::Growth::Grow) this is
    /// also what lets the next step make room for what this one needed.
    ///
    /// Submits a copy to `queue`. On native targets the call waits for the device; in the browser it awaits it.
    ///
    /// # Errors
    /// [`ReadBackError::NoStep`] before the first step and after [`trim`](Self::trim), [`ReadBackError::NotSubmitted`]
    /// before the submission and where the encoder was dropped, [`ReadBackError::OtherDevice`] where the device or the
    /// queue is another one than the step's, [`ReadBackError::DeviceLost`] where the device is lost, which in browsers
    /// may be [`ReadBackError::Map`], [`ReadBackError::Timeout`] where it takes too long, [`ReadBackError::Device`]
    /// where it refused the recording.
    pub async fn read_counters(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<Counters, ReadBackError> {
        let (reading, submission) = self.submit_reading(device, queue, Extent::Counters).await?;
        self.receive_counters(device, reading, submission).await
    }

    /// Takes in what the counters say of a step with this plan.
    pub(crate) fn note(&mut self, counters: &Counters, plan: &Plan) {
        self.walk_shrink
            .note(plan.walk_shrink, counters.status & STATUS_CUT != 0);
        self.wanted.walk_shrink = self.walk_shrink.level();
        let hits_kept = plan
            .all_hits()
            .then(|| plan::worth_keeping(counters.hits_needed, plan.params.ray_count.into()));
        let need = |needed: u64| u32::try_from(needed).unwrap_or(u32::MAX);
        self.needed = Needs {
            entries: need(counters.entries_needed),
            static_entries: need(counters.static_entries_needed),
            pairs: need(counters.pairs_needed),
            hits: need(counters.hits_needed),
            ray_cells: need(counters.ray_cells_needed),
            results: need(counters.results_needed),
            rounds: counters.rounds_needed,
            bit_words: plan::bit_words(counters.pairs_needed, counters.entries_needed),
            hits_kept,
            walk_shrink: self.wanted.walk_shrink,
        };
        if self.grows() {
            let held = Needs {
                entries: counters.entries_capacity,
                static_entries: counters.static_entries_capacity,
                pairs: counters.pairs_capacity,
                hits: counters.hits_capacity,
                ray_cells: counters.ray_cells_capacity,
                results: counters.results_capacity,
                rounds: counters.rounds_capacity,
                bit_words: 0,
                hits_kept: None,
                walk_shrink: 0,
            };
            self.wanted = self
                .late
                .note(self.wanted.grown(self.needed, held), self.needed, plan.is_of_step);
        }
    }

    /// Reads the whole result of the last step, [`window`](Self::window) or [`query`](Self::query), once it was
    /// submitted: the counters and those pairs, hits, cells of rays and results of queries that it wrote and the
    /// buffers hold. A query writes no pairs.
    ///
    /// # Errors
    /// As [`read_counters`](Self::read_counters).
    pub async fn read_back(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<StepResult, ReadBackError> {
        let (reading, submission) = self.submit_reading(device, queue, Extent::Everything).await?;
        self.receive(device, queue, reading, submission).await
    }

    /// Records the copies of a read-back behind what was recorded last.
    pub(crate) fn record_reading(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        extent: Extent,
    ) -> Option<Reading> {
        let whole = |name, buffer, bytes| Copy {
            name,
            buffer,
            row_bytes: bytes,
            bytes: 0..bytes,
        };
        let mut copies = vec![whole(COUNTERS, self.buffers.find(COUNTERS)?, 4 * word::COUNT as u64)];
        if extent != Extent::Counters
            && let Some((buffer, bytes)) = self.timing.as_ref().map(Timing::resolved)
        {
            copies.push(whole(TIMINGS, buffer, bytes));
        }
        if extent == Extent::Everything {
            let outputs = self.outputs()?;
            copies.extend(outputs.iter().map(|output| self.copy_of(output, 0..output.guess())));
        }
        Some(copy_out(&self.readings, device, encoder, &copies))
    }

    /// Waits for a whole answer.
    pub(crate) async fn receive(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<StepResult, ReadBackError> {
        let counters = self.map_counters(device, &reading, submission).await?;
        let outputs = self.outputs().ok_or(ReadBackError::NoStep)?;
        let mut answer = Answer {
            outputs,
            counters,
            readings: vec![reading],
        };
        loop {
            let missing: Vec<_> = answer
                .outputs
                .iter()
                .filter_map(|output| {
                    let (read, held) = (answer.rows_read(output), output.held(&counters));
                    (read < held).then(|| self.copy_of(output, read..held))
                })
                .collect();
            if missing.is_empty() {
                break;
            }
            let copy = |encoder: &mut wgpu::CommandEncoder| Some(copy_out(&self.readings, device, encoder, &missing));
            let (rest, submission) = submit(device, queue, copy).await?;
            self.map(device, &rest, submission).await?;
            answer.readings.push(rest);
        }
        let mut result = StepResult {
            pairs: answer.rows("pairs")?,
            world_pairs: answer.rows("world_pairs")?,
            ray_hits: answer.rows("ray_hits")?,
            ray_any: answer.rows("ray_any")?,
            ray_offsets: answer.rows("ray_offsets")?,
            ray_cells: answer.rows("ray_cells")?,
            ray_cell_offsets: answer.rows("ray_cell_offsets")?,
            query_objects: answer.rows("query_objects")?,
            query_offsets: answer.rows("query_offsets")?,
            query_nearest: answer.rows("query_nearest")?,
            timings: Vec::new(),
            counters,
        };
        if let Some(timing) = &self.timing {
            let ticks = answer.readings[0].ticks()?;
            result.timings = Timing::read(timing.stages(), &ticks, queue.get_timestamp_period());
        }
        answer.readings.into_iter().for_each(|reading| self.put_back(reading));
        Ok(result)
    }

    /// What the last recording wrote.
    fn outputs(&self) -> Option<Vec<Output>> {
        let recorded = self.recorded.as_ref()?;
        Some(outputs(&recorded.plan, recorded.emits_pairs, &self.needed))
    }

    /// Submits a read-back of what was submitted before.
    async fn submit_reading(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        extent: Extent,
    ) -> Result<(Reading, wgpu::SubmissionIndex), ReadBackError> {
        if self.lost {
            return Err(ReadBackError::DeviceLost);
        }
        self.home.check_queue(device, queue)?;
        self.hear().await?;
        if !self.recorded.as_ref().ok_or(ReadBackError::NoStep)?.is_submitted() {
            return Err(ReadBackError::NotSubmitted);
        }
        submit(device, queue, |encoder| self.record_reading(device, encoder, extent)).await
    }

    /// Listens for what the device still has to say of the recording.
    async fn hear(&mut self) -> Result<(), ReadBackError> {
        match std::mem::take(&mut self.caught).wait().await {
            None => Ok(()),
            Some(error) => {
                self.forget();
                Err(or_lost(self.home.device(), ReadBackError::Device(error)))
            }
        }
    }

    /// Waits for counters.
    pub(crate) async fn receive_counters(
        &mut self,
        device: &wgpu::Device,
        reading: Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        let counters = self.map_counters(device, &reading, submission).await?;
        self.put_back(reading);
        Ok(counters)
    }

    /// Waits for a read-back, and takes in what its counters say.
    async fn map_counters(
        &mut self,
        device: &wgpu::Device,
        reading: &Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<Counters, ReadBackError> {
        self.hear().await?;
        let plan = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?.plan;
        self.map(device, reading, submission).await?;
        let counters = reading.counters(&plan)?;
        // Of what was submitted before, so that the newest has the last word.
        self.take_in();
        self.note(&counters, &plan);
        Ok(counters)
    }

    /// The copy of some rows.
    fn copy_of(&self, output: &Output, rows: Range<u64>) -> Copy<'_> {
        Copy {
            name: output.name,
            buffer: self.buffers.get(output.name),
            row_bytes: output.row_bytes,
            bytes: rows.start * output.row_bytes..rows.end * output.row_bytes,
        }
    }

    /// Maps what was read once its submission is done.
    async fn map(
        &self,
        device: &wgpu::Device,
        reading: &Reading,
        submission: wgpu::SubmissionIndex,
    ) -> Result<(), ReadBackError> {
        reading.map(device, submission, self.descriptor().timeout).await
    }

    /// Lets the next read-back use the same memory.
    pub(crate) fn put_back(&self, reading: Reading) {
        reading.put_back(&self.readings);
    }
}

/// Records copies, as many rows as one buffer holds.
pub(crate) fn copy_out(
    readings: &Staging,
    device: &wgpu::Device,
    encoder: &mut wgpu::CommandEncoder,
    copies: &[Copy<'_>],
) -> Reading {
    let sizes = copies
        .iter()
        .map(|copy| (copy.row_bytes, copy.bytes.end - copy.bytes.start));
    let places = lay_out(sizes, device.limits().max_buffer_size);
    let end = places.last().map_or(0, |bytes| bytes.end);
    let staging = readings.take(device, "gpu_broad_phase/readback", end);
    let mut parts = Vec::new();
    for (copy, bytes) in copies.iter().zip(places) {
        if !bytes.is_empty() {
            let length = bytes.end - bytes.start;
            encoder.copy_buffer_to_buffer(copy.buffer, copy.bytes.start, &staging.buffer, bytes.start, length);
        }
        let name = copy.name;
        parts.push(Part { name, bytes });
    }
    Reading { staging, parts }
}

/// Where copies lie in a buffer of `limit` bytes, by the bytes of a row and of all rows: as many rows of each as there
/// is room left for.
fn lay_out(sizes: impl Iterator<Item = (u64, u64)>, limit: u64) -> Vec<Range<u64>> {
    let mut end: u64 = 0;
    let places = sizes.map(|(row_bytes, bytes)| {
        let start = end.next_multiple_of(wgpu::MAP_ALIGNMENT).min(limit);
        let rows = (limit - start) / row_bytes.max(1);
        end = start + bytes.min(rows * row_bytes);
        start..end
    });
    places.collect()
}

/// Records and submits a read-back.
pub(crate) async fn submit(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    record: impl FnOnce(&mut wgpu::CommandEncoder) -> Option<Reading>,
) -> Result<(Reading, wgpu::SubmissionIndex), ReadBackError> {
    // A device that was lost unnoticed refuses the staging buffer.
    let scopes = Scopes::begin(device);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
        label: Some("gpu_broad_phase/readback"),
    });
    let submitted = record(&mut encoder).map(|reading| (reading, queue.submit([encoder.finish()])));
    match scopes.end().wait().await {
        None => submitted.ok_or(ReadBackError::NoStep),
        Some(error) => Err(or_lost(device, ReadBackError::Map(error))),
    }
}

/// The error, or that the device is lost, which shows in many ways.
pub(crate) fn or_lost(device: &wgpu::Device, error: ReadBackError) -> ReadBackError {
    if submission::is_lost(device) {
        ReadBackError::DeviceLost
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_buffer_does_not_hold_is_left_to_the_next() {
        let sizes = [(160, 160), (0, 0), (4, 12), (8, 800), (12, 24), (4, 4)];
        assert_eq!(
            lay_out(sizes.into_iter(), 1000),
            [0..160, 160..160, 160..172, 176..976, 976..1000, 1000..1000]
        );
        assert_eq!(
            lay_out(sizes.into_iter(), 350),
            [0..160, 160..160, 160..172, 176..344, 344..344, 344..348]
        );
        assert_eq!(lay_out([(8, 80), (8, 80)].into_iter(), 85), [0..80, 80..80]);
    }
}
