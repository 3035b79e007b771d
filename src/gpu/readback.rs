use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use super::device_context::DeviceContext;
use super::reading::{Reading, error_or_lost};
use super::staging::{Buffer, Pool};
use crate::api::error::ReadBackError;
use crate::shared::recording::Recording;

/// A result that arrives on the host a few frames later, returned by the `record_read_back` calls.
///
/// The copy is recorded into your encoder, directly after the work it reads, so later steps cannot change it. The
/// result is ready when the GPU has finished that submission, usually one or two frames later. This type never submits,
/// waits or polls. On native targets, the result is delivered during a later submission or [`wgpu::Device::poll`];
/// browsers deliver it on their own.
///
/// In a frame loop, keep the handle and call [`take`](Self::take) once per frame. The handle is also a [`Future`],
/// which on native targets needs your program to keep submitting or polling. Dropping it discards the result and frees
/// the staging memory.
#[must_use = "the answer is given up with the handle"]
pub struct Readback<T> {
    slot: Arc<Slot>,
    decode: Option<Decode<T>>,
    /// Recording that wrote the data.
    of: Recording,
    context: Arc<DeviceContext>,
}

type Decode<T> = Box<dyn FnOnce(&Reading) -> Result<T, ReadBackError> + Send + Sync>;

struct Slot {
    state: Mutex<State>,
    /// Receives the staging buffer after the result was taken.
    pool: Weak<Pool<Buffer>>,
}

enum State {
    UnderWay(Option<Waker>),
    There(Reading),
    Failed(ReadBackError),
    Gone,
}

/// Owned by the encoder's callback. Dropped with an unsubmitted encoder, it reports `NotSubmitted`.
struct Arrival(Arc<Slot>);

impl<T> Readback<T> {
    /// Maps `reading` on submission. `arrived` runs before the result is available, on the thread of the device
    /// callback.
    pub(crate) fn new(
        context: &Arc<DeviceContext>,
        pool: Weak<Pool<Buffer>>,
        encoder: &wgpu::CommandEncoder,
        reading: Reading,
        of: Recording,
        arrived: impl FnOnce(&Reading) + wgpu::WasmNotSend + 'static,
        decode: impl FnOnce(&Reading) -> Result<T, ReadBackError> + Send + Sync + 'static,
    ) -> Self {
        let slot = Arc::new(Slot {
            state: Mutex::new(State::UnderWay(None)),
            pool,
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
            of,
            context: Arc::clone(context),
        }
    }

    /// Returns `true` if [`take`](Self::take) would return `Some`: the result arrived, or it failed.
    pub fn is_ready(&self) -> bool {
        !matches!(*self.slot.lock(), State::UnderWay(_))
    }

    /// Takes the result. Returns `None` while it is pending, and after it was taken.
    ///
    /// # Errors
    /// - [`ReadBackError::NotSubmitted`]: the encoder was dropped, or that of work it reads.
    /// - [`ReadBackError::Map`], [`ReadBackError::DeviceLost`]: the device is lost.
    pub fn take(&mut self) -> Option<Result<T, ReadBackError>> {
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
                let answer = match self.of.is_dropped() {
                    true => Err(ReadBackError::NotSubmitted),
                    false => decode(&reading),
                };
                self.slot.give_back(reading);
                Some(answer)
            }
            State::Failed(error) => Some(Err(error_or_lost(self.context.device(), error))),
            State::UnderWay(_) | State::Gone => None,
        }
    }
}

impl<T> Future for Readback<T> {
    type Output = Result<T, ReadBackError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::UnderWay(waker) = &mut *self.slot.lock() {
            *waker = Some(context.waker().clone());
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
        if let Some(pool) = self.pool.upgrade() {
            reading.recycle(&pool);
        }
    }
}

fn settle(mut state: MutexGuard<'_, State>, to: State) {
    let before = std::mem::replace(&mut *state, to);
    drop(state);
    if let State::UnderWay(Some(waker)) = before {
        waker.wake();
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        // Has no effect once the result has arrived.
        self.0.fail(ReadBackError::NotSubmitted);
    }
}
