//! What becomes of a recording: its encoder is submitted, is dropped, or is still open.
//!
//! wgpu has no call that asks for it. But it runs what was registered with `map_buffer_on_submit` while `Queue::submit`
//! runs, if the mapping fails at once, and it fails at once where the buffer is mapped already: on every backend, and
//! without an error of the device. Where the encoder or its command buffer is dropped, what was registered is dropped
//! as well. So one small buffer that stays mapped tells of both, and nothing polls or waits.
//!
//! wgpu's documentation says that such a submission panics; versions 30.0.1 and 30.0.2 do not. So the first broad phase
//! of a program tries it (`src/gpu/submission_probe.rs`). If it fails, recordings learn of their submission only when
//! the device is done with it, by `on_submitted_work_done`: reads are as exact as before, and the errors of other calls
//! come some frames later.
//!
//! Encoders may be submitted in another order than they were recorded in. So each recording says which [`Part`]s of its
//! owner's buffers it overwrites, and which [`Dependency`]s it reads. It is right if each of these is still the last
//! that was submitted of its part at the moment of its own submission. Later submissions change nothing of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The recordings of one owner, which write into the same buffers and are numbered as they are made.
#[derive(Debug)]
pub(crate) struct Recordings {
    /// Stays mapped, and no command uses it.
    mapped: wgpu::Buffer,
    order: Arc<Order>,
}

/// Buffers of an owner that are written and read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The table of a step, with all that walks of it read. Of owners whose recordings all write the same buffers: all
    /// of them.
    Table,
    /// The static objects' table, and their boxes ahead of those that move.
    Statics,
    /// Pairs and their counts.
    Pairs,
    /// What counting leaves for the writing of answers.
    Counts,
    /// Answers to rays and queries, and the counters.
    Answers,
}

const PARTS: usize = 5;

/// Something that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    number: u64,
    state: Arc<AtomicU8>,
    order: Arc<Order>,
}

/// A recording under way.
#[derive(Debug)]
pub(crate) struct Draft {
    recording: Recording,
    writes: Vec<Part>,
    needs: Vec<Dependency>,
}

/// What a recording left in a part, for others to read. It is there from the recording's submission until the next
/// submission of one that writes the part.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    recording: Recording,
    part: Part,
}

/// Recordings of an owner of which it does not know yet what became of them.
#[derive(Debug, Default)]
pub(crate) struct Pending(Vec<Dependency>);

/// How recordings learn of their submission: `UNTRIED`, `AT_ONCE` or `LATE`.
static REPORTS: AtomicU8 = AtomicU8::new(if cfg!(target_arch = "wasm32") { AT_ONCE } else { UNTRIED });

/// Not tried yet. Recordings made until then learn of it as with `LATE`.
const UNTRIED: u8 = 0;
/// Within the submission, by a mapping that fails.
const AT_ONCE: u8 = 1;
/// When the device is done, by a callback.
const LATE: u8 = 2;

/// Returns whether a program has not tried yet how submissions are reported.
pub(crate) fn is_untried() -> bool {
    REPORTS.load(Ordering::Relaxed) == UNTRIED
}

/// Makes recordings from now on learn of their submission at once, or else when the device is done with it.
pub fn report_at_once(at_once: bool) {
    REPORTS.store(if at_once { AT_ONCE } else { LATE }, Ordering::Relaxed);
}

/// Its encoder is still open, or is dropped without a word.
const OPEN: u8 = 0;
/// As `OPEN`, or it is submitted and the device is not done yet.
const UNDECIDED: u8 = 5;
/// Submitted while all was there that it needs.
const RIGHT: u8 = 1;
/// Submitted while something else was there, or nothing.
const WRONG: u8 = 2;
/// As `WRONG`, and somebody was told.
const TOLD: u8 = 3;
const DROPPED: u8 = 4;

#[derive(Debug)]
struct Order {
    device: wgpu::Device,
    made: AtomicU64,
    /// Of each part the number of the recording that wrote it and was submitted last.
    last: [AtomicU64; PARTS],
}

/// What the encoder keeps of a recording.
struct Mark(Draft);

impl Recordings {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            mapped: mapped(device),
            order: Arc::new(Order::of(device)),
        }
    }

    /// Recordings of another owner on the same device.
    pub fn beside(&self) -> Self {
        Self {
            mapped: self.mapped.clone(),
            order: Arc::new(Order::of(&self.order.device)),
        }
    }

    /// Begins a recording.
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

    /// Ends a recording in its encoder.
    pub fn end(&self, encoder: &wgpu::CommandEncoder, draft: Draft) {
        let mark = Mark(draft);
        // Its callbacks cross threads, which devices of browsers do not.
        #[cfg(not(target_arch = "wasm32"))]
        if mark.0.recording.state() == UNDECIDED {
            encoder.on_submitted_work_done(move || mark.submit());
            return;
        }
        encoder.map_buffer_on_submit(&self.mapped, wgpu::MapMode::Write, .., move |_| mark.submit());
    }

    /// Ends a recording of one part that overwrites it and reads `needs`.
    pub fn make(&self, encoder: &wgpu::CommandEncoder, needs: impl IntoIterator<Item = Dependency>) -> Dependency {
        let mut draft = self.begin();
        draft.needs(needs);
        let written = draft.writes(Part::Table);
        self.end(encoder, draft);
        written
    }
}

impl Draft {
    /// Adds a part that the recording overwrites, and returns what it leaves there.
    pub fn writes(&mut self, part: Part) -> Dependency {
        self.writes.push(part);
        Dependency {
            recording: self.recording.clone(),
            part,
        }
    }

    /// Adds what the recording reads, and what has to run before it.
    pub fn needs(&mut self, needs: impl IntoIterator<Item = Dependency>) {
        self.needs.extend(needs);
    }
}

impl Dependency {
    /// Returns whether the recording ran over all that it needs, and nothing has overwritten what it left.
    pub fn is_there(&self) -> bool {
        self.recording.state() == RIGHT && self.is_last()
    }

    /// Returns whether the recording may have been submitted without a report so far.
    pub fn is_undecided(&self) -> bool {
        self.recording.state() == UNDECIDED
    }

    /// Returns whether [`is_there`](Self::is_there) can be true once the device is done.
    pub fn may_be_there(&self) -> bool {
        self.is_there() || self.is_undecided()
    }

    /// Returns whether that cannot be any more.
    pub fn is_lost(&self) -> bool {
        match self.recording.state() {
            OPEN | UNDECIDED => false,
            RIGHT => !self.is_last(),
            _ => true,
        }
    }

    /// Returns whether the recording ran over all that it needs, whatever has overwritten it since.
    pub fn was_right(&self) -> bool {
        self.recording.state() == RIGHT
    }

    /// Returns whether the recording ran over something else than what it needs, the first time that anybody asks
    /// after that. Every answer that says so is one.
    pub fn tells_wrong(&self) -> bool {
        let state = &self.recording.state;
        let told = state.compare_exchange(WRONG, TOLD, Ordering::AcqRel, Ordering::Acquire);
        told.is_ok()
    }

    /// The number of the recording among its owner's, from 1 on in the order of recording.
    pub fn number(&self) -> u64 {
        self.recording.number
    }

    /// The device that it was recorded for.
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

    /// Returns whether one of them ran over something else than what it needs, and nobody was told. Forgets those that
    /// are submitted or dropped.
    pub fn tells_wrong(&mut self) -> bool {
        let mut is_wrong = false;
        self.0.retain(|written| {
            is_wrong |= written.tells_wrong();
            matches!(written.recording.state(), OPEN | UNDECIDED)
        });
        is_wrong
    }

    /// Forgets all of them.
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
        let state = if needs.iter().all(Dependency::is_there) {
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
        // Fails if the submission was reported already.
        let state = &self.0.recording.state;
        for open in [OPEN, UNDECIDED] {
            let _ = state.compare_exchange(open, DROPPED, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

/// A small buffer that is mapped for writing: wgpu-core 30 never frees what it maps other buffers with, unless they are
/// unmapped. A device that is lost gives one without memory.
pub(crate) fn mapped(device: &wgpu::Device) -> wgpu::Buffer {
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
