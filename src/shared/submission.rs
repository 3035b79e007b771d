//! What becomes of a recording: its encoder is submitted, is dropped, or is still open.
//!
//! wgpu has no call that asks for it. But it runs what was registered with `map_buffer_on_submit` while `Queue::submit`
//! runs, if the mapping fails at once, and it fails at once where the buffer is mapped already: on every backend, and
//! without an error of the device. (Its documentation speaks of a panic there; its code has none.) Where the encoder or
//! its command buffer is dropped, what was registered is dropped as well. So one small buffer that stays mapped tells
//! of both, and nothing polls or waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The recordings of one owner, which write into the same buffers and are numbered as they are made.
#[derive(Debug)]
pub(crate) struct Recordings {
    /// Stays mapped, and no command uses it.
    mapped: wgpu::Buffer,
    order: Arc<Order>,
}

/// Something that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    number: u64,
    state: Arc<AtomicU8>,
    order: Arc<Order>,
}

const OPEN: u8 = 0;
const SUBMITTED: u8 = 1;
const LOST: u8 = 2;

#[derive(Debug, Default)]
struct Order {
    made: AtomicU64,
    /// The highest number of those that were submitted.
    last: AtomicU64,
    /// Of recordings up to this number nothing is left for sure: one that was made before them was submitted after
    /// them.
    overwritten: AtomicU64,
}

/// What the encoder keeps of a recording.
struct Mark {
    recording: Recording,
    /// What has to run before it, as far as it was not submitted yet.
    needs: Vec<Recording>,
}

impl Recordings {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            mapped: mapped(device),
            order: Arc::default(),
        }
    }

    /// Recordings of another owner on the same device.
    pub fn beside(&self) -> Self {
        Self {
            mapped: self.mapped.clone(),
            order: Arc::default(),
        }
    }

    /// Ends a recording in its encoder. It is of worth only after those that it `needs`.
    pub fn make(&self, encoder: &wgpu::CommandEncoder, mut needs: Vec<Recording>) -> Recording {
        needs.retain(|need| !need.is_submitted());
        let recording = Recording {
            number: self.order.made.fetch_add(1, Ordering::Relaxed) + 1,
            state: Arc::new(AtomicU8::new(OPEN)),
            order: Arc::clone(&self.order),
        };
        let mark = Mark {
            recording: recording.clone(),
            needs,
        };
        encoder.map_buffer_on_submit(&self.mapped, wgpu::MapMode::Write, .., move |_| mark.submit());
        recording
    }
}

impl Recording {
    /// Whether it was submitted, behind all that it needs, and nothing has overwritten what it leaves behind.
    pub fn is_submitted(&self) -> bool {
        self.state.load(Ordering::Acquire) == SUBMITTED && !self.is_overwritten()
    }

    /// Whether that cannot be any more.
    pub fn is_lost(&self) -> bool {
        self.state.load(Ordering::Acquire) == LOST || self.is_overwritten()
    }

    fn is_overwritten(&self) -> bool {
        self.number <= self.order.overwritten.load(Ordering::Acquire)
    }
}

impl Mark {
    fn submit(self) {
        let Self { recording, needs } = &self;
        let order = &recording.order;
        let last = order.last.fetch_max(recording.number, Ordering::AcqRel);
        if recording.number < last {
            order.overwritten.fetch_max(last, Ordering::AcqRel);
        }
        let state = if needs.iter().all(Recording::is_submitted) {
            SUBMITTED
        } else {
            LOST
        };
        recording.state.store(state, Ordering::Release);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Fails where the submission has said so already.
        let state = &self.recording.state;
        let _ = state.compare_exchange(OPEN, LOST, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// A small buffer that is mapped for writing: wgpu-core 30 never frees what it maps other buffers with, unless they are
/// unmapped. A device that is lost gives one without memory.
fn mapped(device: &wgpu::Device) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("gpu_broad_phase/submissions"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Whether the device is lost. Takes some microseconds, for where something went wrong. Browsers never say so here:
/// there the device's own callback is the only word.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let lost = mapped(device).get_mapped_range(..).is_err();
    drop(scope);
    lost
}
