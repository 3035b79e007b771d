//! Tracks recordings until they are submitted or dropped.
//!
//! wgpu cannot be asked for this. But if the mapping of `map_buffer_on_submit` fails, `Queue::submit` runs its callback
//! at once. Mapping a mapped buffer fails on every backend, without a device error. Dropping the encoder or command
//! buffer drops the callback. So one small buffer that stays mapped reports both events, without polling.
//!
//! wgpu documents a panic for mapped buffers, but versions 30.0.1 and 30.0.2 do not panic. The first broad phase of a
//! program tests this (`src/gpu/submission_probe.rs`). If the test fails, `on_submitted_work_done` reports submissions:
//! reads are equally exact, but errors of other calls arrive some frames later.
//!
//! Encoders may be submitted in another order than recorded. So a recording lists the [`Part`]s it overwrites and the
//! [`Dependency`]s it reads. A recording is right if, when it is submitted, each dependency is the last submitted write
//! of its part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Recordings that write the same buffers of one owner, numbered in order.
#[derive(Debug)]
pub(crate) struct Recordings {
    /// Stays mapped, so that mapping it again fails.
    mapped: wgpu::Buffer,
    order: Arc<Order>,
}

/// Buffers that are written and read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The table of a step. Owners with only one part use this one.
    Table,
    /// Cell table and boxes of static objects.
    Statics,
    /// Pairs and their counts.
    Pairs,
    /// Counts of rows, before the rows are written.
    Counts,
    /// Results of rays and queries, and the counters.
    Answers,
}

const PARTS: usize = 5;

#[derive(Clone, Debug)]
pub(crate) struct Recording {
    number: u64,
    state: Arc<AtomicU8>,
    order: Arc<Order>,
}

#[derive(Debug)]
pub(crate) struct Draft {
    recording: Recording,
    writes: Vec<Part>,
    needs: Vec<Dependency>,
}

/// Contents of a part as one recording writes them. Valid from its submission until the next submitted write of the
/// part.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    recording: Recording,
    part: Part,
}

/// Recordings not yet known as submitted or dropped.
#[derive(Debug, Default)]
pub(crate) struct Pending(Vec<Dependency>);

/// `AT_ONCE` if wgpu reports a submission when it is made, `LATE` if not, `UNTRIED` before the first test.
static REPORTS: AtomicU8 = AtomicU8::new(if cfg!(target_arch = "wasm32") { AT_ONCE } else { UNTRIED });

/// Not tested yet; treated as `LATE`.
const UNTRIED: u8 = 0;
/// Reported during the submission, by a failing mapping.
const AT_ONCE: u8 = 1;
/// Reported by a callback when the device has finished.
const LATE: u8 = 2;

pub(crate) fn is_untried() -> bool {
    REPORTS.load(Ordering::Relaxed) == UNTRIED
}

/// Sets when later recordings are reported as submitted: during the submission, or when the device has finished.
pub fn report_at_once(at_once: bool) {
    REPORTS.store(if at_once { AT_ONCE } else { LATE }, Ordering::Relaxed);
}

/// Not submitted, and not reported as dropped.
const OPEN: u8 = 0;
/// `OPEN` if reports are late: may also be submitted but unfinished.
const UNDECIDED: u8 = 5;
/// Submitted, and all dependencies were valid.
const RIGHT: u8 = 1;
/// Submitted, but a dependency was not valid.
const WRONG: u8 = 2;
/// Like `WRONG`, and the error was reported.
const REPORTED: u8 = 3;
const DROPPED: u8 = 4;

#[derive(Debug)]
struct Order {
    device: wgpu::Device,
    made: AtomicU64,
    /// For each part, number of the last submitted recording that wrote it.
    last: [AtomicU64; PARTS],
}

/// Reports the recording as submitted or dropped.
struct Mark(Draft);

impl Recordings {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            mapped: mapped(device),
            order: Arc::new(Order::of(device)),
        }
    }

    pub fn beside(&self) -> Self {
        Self {
            mapped: self.mapped.clone(),
            order: Arc::new(Order::of(&self.order.device)),
        }
    }

    pub fn begin(&self) -> Draft {
        Draft {
            recording: Recording {
                number: self.order.made.fetch_add(1, Ordering::Relaxed) + 1,
                state: Arc::new(AtomicU8::new(match REPORTS.load(Ordering::Relaxed) {
                    AT_ONCE => OPEN,
                    _ => UNDECIDED,
                })),
                order: Arc::clone(&self.order),
            },
            writes: Vec::new(),
            needs: Vec::new(),
        }
    }

    pub fn end(&self, encoder: &wgpu::CommandEncoder, draft: Draft) {
        let mark = Mark(draft);
        // This callback must be `Send`, but browser devices are not.
        #[cfg(not(target_arch = "wasm32"))]
        if mark.0.recording.state() == UNDECIDED {
            encoder.on_submitted_work_done(move || mark.submit());
            return;
        }
        encoder.map_buffer_on_submit(&self.mapped, wgpu::MapMode::Write, .., move |_| mark.submit());
    }

    pub fn make(&self, encoder: &wgpu::CommandEncoder, needs: impl IntoIterator<Item = Dependency>) -> Dependency {
        let mut draft = self.begin();
        draft.needs(needs);
        let written = draft.writes(Part::Table);
        self.end(encoder, draft);
        written
    }
}

impl Draft {
    /// Returns the part's new contents.
    pub fn writes(&mut self, part: Part) -> Dependency {
        self.writes.push(part);
        Dependency {
            recording: self.recording.clone(),
            part,
        }
    }

    pub fn needs(&mut self, needs: impl IntoIterator<Item = Dependency>) {
        self.needs.extend(needs);
    }
}

impl Dependency {
    /// Returns true if the recording was right and no later one overwrote the part.
    pub fn is_valid(&self) -> bool {
        self.recording.state() == RIGHT && self.is_last()
    }

    pub fn is_undecided(&self) -> bool {
        self.recording.state() == UNDECIDED
    }

    pub fn may_be_valid(&self) -> bool {
        self.is_valid() || self.is_undecided()
    }

    /// Returns true if [`is_valid`](Self::is_valid) is false and stays false.
    pub fn is_lost(&self) -> bool {
        match self.recording.state() {
            OPEN | UNDECIDED => false,
            RIGHT => !self.is_last(),
            _ => true,
        }
    }

    pub fn was_valid(&self) -> bool {
        self.recording.state() == RIGHT
    }

    /// Marks the error as reported.
    pub fn take_error(&self) -> bool {
        let state = &self.recording.state;
        let told = state.compare_exchange(WRONG, REPORTED, Ordering::AcqRel, Ordering::Acquire);
        told.is_ok()
    }

    pub fn number(&self) -> u64 {
        self.recording.number
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.recording.order.device
    }

    fn is_last(&self) -> bool {
        let last = &self.recording.order.last[self.part as usize];
        last.load(Ordering::Acquire) == self.recording.number
    }
}

impl Pending {
    pub fn add(&mut self, written: Dependency) {
        self.0.push(written);
    }

    /// Returns true if a recording was wrong and not yet reported. Forgets submitted and dropped recordings.
    pub fn take_error(&mut self) -> bool {
        let mut is_wrong = false;
        self.0.retain(|written| {
            is_wrong |= written.take_error();
            matches!(written.recording.state(), OPEN | UNDECIDED)
        });
        is_wrong
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Recording {
    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }
}

impl Order {
    fn of(device: &wgpu::Device) -> Self {
        Self {
            device: device.clone(),
            made: AtomicU64::new(0),
            last: Default::default(),
        }
    }
}

impl Mark {
    fn submit(self) {
        let Draft {
            recording,
            writes,
            needs,
        } = &self.0;
        let state = if needs.iter().all(Dependency::is_valid) {
            RIGHT
        } else {
            WRONG
        };
        for &part in writes {
            recording.order.last[part as usize].store(recording.number, Ordering::Release);
        }
        recording.state.store(state, Ordering::Release);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Changes no state that a submission has set.
        let state = &self.0.recording.state;
        for open in [OPEN, UNDECIDED] {
            let _ = state.compare_exchange(open, DROPPED, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

/// Small buffer, mapped at creation: wgpu-core 30 leaks the staging memory of buffers mapped otherwise, unless they are
/// unmapped. On a lost device, the buffer has no memory.
pub(crate) fn mapped(device: &wgpu::Device) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("gpu_broad_phase/submissions"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Returns true if the device is lost. Takes some microseconds, so only called after errors. Always false in browsers,
/// which report a loss only to the device's own callback.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let lost = mapped(device).get_mapped_range(..).is_err();
    drop(scope);
    lost
}
