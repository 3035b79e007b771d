use std::ops::Range;
use std::time::Duration;

use super::buffers::{BufferId, Buffers};
use super::device_context::{DeviceContext, is_lost};
use super::scope::Scopes;
use super::staging::{self, Pool, Staging};
use super::waiting;
use crate::api::counters::{Counters, Output, Status};
use crate::api::error::ReadBackError;
use crate::shared::cancel::is_stopped;
use crate::shared::recording::Recording;

/// Bytes to read beyond the last result's size. Copying them costs less than another wait.
const SPARE: u64 = 1 << 16;
/// Longest wait for the callbacks of another thread's poll.
#[cfg(not(target_arch = "wasm32"))]
const CALLBACK_MILLISECONDS: u32 = 500;
pub(crate) const TIMINGS: &str = "timings";

/// `B` is `()` in read-backs, since buffers of browsers stay on their thread.
#[derive(Clone)]
pub(crate) struct Readable<B = wgpu::Buffer> {
    pub id: BufferId,
    pub buffer: B,
    pub row_bytes: u64,
    pub output: Output,
    pub rows: RowCount,
}

#[derive(Clone, Copy)]
pub(crate) enum RowCount {
    Known(u64),
    Counted { first: u32, capacity: u32 },
}

pub(crate) struct Reading {
    pub staging: staging::Buffer,
    pub parts: Vec<Place>,
}

pub(crate) struct Copy<'b> {
    pub name: &'static str,
    pub buffer: &'b wgpu::Buffer,
    pub row_bytes: u64,
    pub bytes: Range<u64>,
}

pub(crate) struct Place {
    pub name: &'static str,
    pub bytes: Range<u64>,
}

impl<B> Readable<B> {
    pub fn without_buffer(&self) -> Readable<()> {
        Readable {
            id: self.id,
            buffer: (),
            row_bytes: self.row_bytes,
            output: self.output,
            rows: self.rows,
        }
    }

    fn lacking(&self) -> Status {
        match self.rows {
            RowCount::Known(_) => Status::default(),
            RowCount::Counted { .. } => self.output.counted().status,
        }
    }

    pub fn held(&self, counters: &Counters) -> u64 {
        match self.rows {
            RowCount::Known(rows) => rows,
            RowCount::Counted { first, capacity } => {
                let (needed, _) = counters.rows(self.output);
                needed.saturating_sub(first.into()).min(capacity.into())
            }
        }
    }
}

impl Readable {
    /// Rows that belong to `output`, of known number.
    pub fn known<T>(buffers: &Buffers, id: BufferId, output: Output, rows: u64) -> Self {
        Self::new::<T>(buffers, id, output, RowCount::Known(rows))
    }

    /// The rows of `output`. `first`: index of the first row in the buffer.
    pub fn counted<T>(buffers: &Buffers, id: BufferId, output: Output, [first, capacity]: [u32; 2]) -> Self {
        Self::new::<T>(buffers, id, output, RowCount::Counted { first, capacity })
    }

    fn new<T>(buffers: &Buffers, id: BufferId, output: Output, rows: RowCount) -> Self {
        Self {
            id,
            buffer: buffers.get(id).clone(),
            row_bytes: size_of::<T>() as u64,
            output,
            rows,
        }
    }

    pub fn copy(&self, rows: Range<u64>) -> Copy<'_> {
        Copy {
            name: self.id.name,
            buffer: &self.buffer,
            row_bytes: self.row_bytes,
            bytes: rows.start * self.row_bytes..rows.end * self.row_bytes,
        }
    }

    /// Number of rows to read before their count is known, from the newest counters. If no second reading can follow,
    /// adds a quarter.
    pub fn guess(&self, newest: Option<&Counters>, is_last_chance: bool) -> u64 {
        match self.rows {
            RowCount::Known(rows) => rows,
            RowCount::Counted { first, capacity } => {
                let needed = newest.map_or(0, |counters| counters.rows(self.output).0);
                let last = needed.saturating_sub(first.into());
                let spare = SPARE / self.row_bytes + if is_last_chance { last / 4 } else { 0 };
                (last + spare).min(capacity.into())
            }
        }
    }
}

impl Reading {
    pub async fn map(
        &self,
        device: &wgpu::Device,
        submission: wgpu::SubmissionIndex,
        timeout: Duration,
    ) -> Result<(), ReadBackError> {
        // Mapping fails here if the device was lost unnoticed.
        let scopes = Scopes::begin(device);
        let (sender, receiver) = futures_intrusive::channel::shared::oneshot_channel();
        let mapped = move |mapped| {
            // The receiver is gone if the caller dropped the future.
            let _ = sender.send(mapped);
        };
        let end = self.parts.iter().map(|part| part.bytes.end).fold(0, u64::max);
        self.staging.buffer.map_async(wgpu::MapMode::Read, ..end, mapped);
        if let Some(error) = scopes.end().wait().await {
            return Err(error_or_lost(device, ReadBackError::Map(error)));
        }
        waiting::wait(device, submission, timeout).map_err(|error| match error {
            wgpu::PollError::Timeout if is_stopped() => ReadBackError::Cancelled,
            wgpu::PollError::Timeout => ReadBackError::Timeout(timeout),
            error => error_or_lost(device, ReadBackError::Map(error.to_string())),
        })?;
        match receiver.receive().await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(error_or_lost(device, ReadBackError::Map(error.to_string()))),
            None => Err(ReadBackError::DeviceLost),
        }
    }

    pub fn recycle(self, pool: &Pool<staging::Buffer>) {
        self.staging.buffer.unmap();
        pool.put(self.staging);
    }

    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.staging.buffer
    }

    pub fn ticks(&self) -> Result<Vec<u64>, ReadBackError> {
        self.rows(TIMINGS, u64::MAX)
    }

    pub fn part(&self, name: &str) -> Option<&Place> {
        self.parts.iter().find(|part| part.name == name)
    }

    pub fn bytes(&self, name: &str) -> u64 {
        self.part(name).map_or(0, |part| part.bytes.end - part.bytes.start)
    }

    pub fn rows<T: bytemuck::Pod>(&self, name: &str, rows: u64) -> Result<Vec<T>, ReadBackError> {
        let Some(Place { bytes, .. }) = self.part(name).filter(|_| rows > 0) else {
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

pub(crate) struct HostResult<'r, B = wgpu::Buffer> {
    pub outputs: &'r [Readable<B>],
    pub counters: Counters,
    pub readings: &'r [Reading],
}

impl<B> HostResult<'_, B> {
    pub fn lacking(&self) -> Status {
        let cut = |output: &&Readable<B>| self.rows_read(output) < output.held(&self.counters);
        let lacking = self.outputs.iter().filter(cut).map(Readable::lacking);
        lacking.fold(Status::default(), Status::union)
    }

    pub fn rows_read(&self, output: &Readable<B>) -> u64 {
        let bytes: u64 = self.readings.iter().map(|reading| reading.bytes(output.id.name)).sum();
        bytes / output.row_bytes
    }

    pub fn rows<T: bytemuck::Pod>(&self, id: BufferId) -> Result<Vec<T>, ReadBackError> {
        let mut rows = Vec::new();
        if let Some(output) = self.outputs.iter().find(|output| output.id == id) {
            let held = output.held(&self.counters);
            for reading in self.readings {
                let more = reading.rows(id.name, held - rows.len() as u64)?;
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

/// Records copies into one staging buffer. Cuts off rows that exceed its maximum size.
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
        parts.push(Place { name, bytes });
    }
    Reading { staging, parts }
}

/// Ranges of copies in a buffer of `limit` bytes, cut to whole rows. For each copy, `sizes` has the bytes per row and
/// the total.
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

pub(crate) async fn submit(
    context: &DeviceContext,
    record: impl FnOnce(&mut wgpu::CommandEncoder) -> Option<Reading>,
) -> Result<(Reading, wgpu::SubmissionIndex), ReadBackError> {
    let device = context.device();
    let scopes = Scopes::begin(device);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
        label: Some("gpu_broad_phase/readback"),
    });
    let submitted = record(&mut encoder).map(|reading| (reading, context.queue().submit([encoder.finish()])));
    match scopes.end().wait().await {
        None => submitted.ok_or(ReadBackError::NoStep),
        Some(error) => Err(error_or_lost(device, ReadBackError::Map(error))),
    }
}

pub(crate) fn check_dropped(written: &Recording) -> Result<(), ReadBackError> {
    match written.is_dropped() {
        true => Err(ReadBackError::NotSubmitted),
        false => Ok(()),
    }
}

/// Fails if `written` was dropped or is still open. Call it when a later submission has finished.
pub(crate) fn check_submitted(written: &Recording) -> Result<(), ReadBackError> {
    // Another thread's poll may be about to run the callbacks.
    #[cfg(not(target_arch = "wasm32"))]
    for _ in 0..CALLBACK_MILLISECONDS {
        if written.is_submitted() || written.is_dropped() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    match written.is_submitted() {
        true => Ok(()),
        false => Err(ReadBackError::NotSubmitted),
    }
}

/// Returns `DeviceLost` on a lost device, which causes many different errors.
pub(crate) fn error_or_lost(device: &wgpu::Device, error: ReadBackError) -> ReadBackError {
    if is_lost(device) {
        ReadBackError::DeviceLost
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_past_one_buffer_are_left_to_the_next() {
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
