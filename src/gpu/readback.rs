//! Answers that come to the host later, without a wait.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use super::device_context::DeviceContext;
use super::reading::{Reading, or_lost};
use super::staging::{Buffer, Pool};
use crate::api::error::ReadBackError;
use crate::shared::submission::Dependency;

/// An answer on its way to the host: what a `record_read_back` call returns.
///
/// The answer was copied in the caller's own encoder, right behind what it is of. It is there once the device has done
/// that submission, a frame or two later. Later steps do not change it. Nothing here submits, waits or polls: native
/// devices tell what has arrived in the course of later submissions, or of [`wgpu::Device::poll`], and browsers tell it
/// by themselves.
///
/// A frame loop keeps the handle and asks [`take`](Self::take) once per frame. A handle is a [`Future`] as well, for
/// those who have an executor: browsers need nothing else, and on native targets something has to go on submitting or
/// polling meanwhile. A handle that is dropped gives its memory back.
#[must_use = "the answer is given up with the handle"]
pub struct Readback<T> {
    slot: Arc<Slot>,
    decode: Option<Decode<T>>,
    /// The copying, and what the answer is of, which it needs.
    copied: Dependency,
    of: Dependency,
    context: Arc<DeviceContext>,
}

type Decode<T> = Box<dyn FnOnce(&Reading) -> Result<T, ReadBackError> + Send + Sync>;

/// What the device's callback and the handle share.
struct Slot {
    state: Mutex<State>,
    /// Where the memory goes once the answer was taken.
    shelf: Weak<Pool<Buffer>>,
}

enum State {
    UnderWay(Option<Waker>),
    There(Reading),
    Failed(ReadBackError),
    /// The answer was taken, or nobody wants it.
    Gone,
}

/// What the encoder keeps: where it is dropped, so is this.
struct Arrival(Arc<Slot>);

impl<T> Readback<T> {
    /// Registers the mapping of what was read, which the encoder's submission does. `copied` is that recording, `of`
    /// what it copies. `arrived` looks at what was read first, on whatever thread the device calls back.
    pub(crate) fn new(
        context: &Arc<DeviceContext>,
        shelf: Weak<Pool<Buffer>>,
        encoder: &wgpu::CommandEncoder,
        reading: Reading,
        [of, copied]: [Dependency; 2],
        arrived: impl FnOnce(&Reading) + wgpu::WasmNotSend + 'static,
        decode: impl FnOnce(&Reading) -> Result<T, ReadBackError> + Send + Sync + 'static,
    ) -> Self {
        let slot = Arc::new(Slot {
            state: Mutex::new(State::UnderWay(None)),
            shelf,
        });
        let arrival = Arrival(Arc::clone(&slot));
        let buffer = reading.buffer().clone();
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |mapped| match mapped {
            Ok(()) => {
                arrived(&reading);
                arrival.0.put(reading);
            }
            Err(error) => arrival.0.fail(ReadBackError::Map(error.to_string())),
        });
        Self {
            slot,
            decode: Some(Box::new(decode)),
            copied,
            of,
            context: Arc::clone(context),
        }
    }

    /// Whether [`take`](Self::take) has something to say: the answer is there, or will never be.
    pub fn is_ready(&self) -> bool {
        !matches!(*self.slot.lock(), State::UnderWay(_)) && !self.is_undecided()
    }

    /// Returns whether the answer is there and its submission is not yet reported.
    fn is_undecided(&self) -> bool {
        matches!(*self.slot.lock(), State::There(_)) && self.copied.is_undecided()
    }

    /// The answer, `None` while it is under way and after it was taken.
    ///
    /// # Errors
    /// [`ReadBackError::NotSubmitted`] where the encoder was dropped, or what the answer is of was not submitted before
    /// it. [`ReadBackError::Map`] or [`ReadBackError::DeviceLost`] where the device is lost.
    pub fn take(&mut self) -> Option<Result<T, ReadBackError>> {
        if self.is_undecided() {
            return None;
        }
        let state = {
            let mut state = self.slot.lock();
            if matches!(*state, State::UnderWay(_)) {
                return None;
            }
            std::mem::replace(&mut *state, State::Gone)
        };
        let decode = self.decode.take()?;
        match state {
            State::There(reading) => {
                let answer = if self.copied.was_right() {
                    decode(&reading)
                } else {
                    self.of.tells_wrong();
                    Err(ReadBackError::NotSubmitted)
                };
                self.slot.give_back(reading);
                Some(answer)
            }
            State::Failed(error) => Some(Err(or_lost(self.context.device(), error))),
            State::UnderWay(_) | State::Gone => None,
        }
    }
}

impl<T> Future for Readback<T> {
    type Output = Result<T, ReadBackError>;

    /// As [`take`](Readback::take); [`ReadBackError::NoStep`] where the answer was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::UnderWay(waker) = &mut *self.slot.lock() {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        if self.is_undecided() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.take().unwrap_or(Err(ReadBackError::NoStep)))
    }
}

impl<T> Drop for Readback<T> {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.slot.lock(), State::Gone);
        if let State::There(reading) = state {
            self.slot.give_back(reading);
        }
    }
}

impl<T> fmt::Debug for Readback<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Readback");
        shown.field("is_ready", &self.is_ready()).finish_non_exhaustive()
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, reading: Reading) {
        let mut state = self.lock();
        if matches!(*state, State::UnderWay(_)) {
            settle(state, State::There(reading));
        } else {
            *state = State::Gone;
            drop(state);
            self.give_back(reading);
        }
    }

    fn fail(&self, error: ReadBackError) {
        let state = self.lock();
        if matches!(*state, State::UnderWay(_)) {
            settle(state, State::Failed(error));
        }
    }

    fn give_back(&self, reading: Reading) {
        if let Some(shelf) = self.shelf.upgrade() {
            reading.put_back(&shelf);
        }
    }
}

/// Whoever waits is told once nothing is locked.
fn settle(mut state: MutexGuard<'_, State>, to: State) {
    let before = std::mem::replace(&mut *state, to);
    drop(state);
    if let State::UnderWay(Some(waker)) = before {
        waker.wake();
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        // Says nothing where the answer has arrived.
        self.0.fail(ReadBackError::NotSubmitted);
    }
}
