//! What the device says of a recording: wrong buffers and memory that is not there show as errors of the device, which
//! would otherwise reach the handler of uncaptured errors, by default a panic.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// What a scope caught. It crosses threads wherever the device does: in browsers with wgpu's feature
/// `fragile-send-sync-non-atomic-wasm`, which engines turn on.
trait ErrorFuture: Future<Output = Option<wgpu::Error>> + wgpu::WasmNotSend {}

impl<F: Future<Output = Option<wgpu::Error>> + wgpu::WasmNotSend> ErrorFuture for F {}

type ErrorReport = Pin<Box<dyn ErrorFuture>>;

/// Open error scopes.
#[must_use]
pub(crate) struct Scopes([wgpu::ErrorScopeGuard; 2]);

/// What scopes caught, which browsers tell later. The lock lets references to it cross threads.
#[derive(Default)]
pub(crate) struct DeviceErrors(Mutex<Vec<ErrorReport>>);

impl Scopes {
    pub fn begin(device: &wgpu::Device) -> Self {
        Self([wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation].map(|kind| device.push_error_scope(kind)))
    }

    pub fn end(self) -> DeviceErrors {
        let Self([memory, validation]) = self;
        // The scope that was opened last is the first to close.
        let validation: ErrorReport = Box::pin(validation.pop());
        DeviceErrors(Mutex::new(vec![validation, Box::pin(memory.pop())]))
    }
}

impl DeviceErrors {
    /// Keeps what is still to be told of an earlier recording.
    pub fn after(self, earlier: Self) -> Self {
        let lists = [earlier, self].map(|errors| errors.0.into_inner().unwrap_or_else(PoisonError::into_inner));
        Self(Mutex::new(lists.into_iter().flatten().collect()))
    }

    /// What is known already: on native targets all of it.
    pub fn now(&mut self) -> Option<String> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut first = None;
        self.0
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .retain_mut(|told| match told.as_mut().poll(&mut context) {
                std::task::Poll::Ready(error) => {
                    first = first.take().or_else(|| error.map(|error| error.to_string()));
                    false
                }
                std::task::Poll::Pending => true,
            });
        first
    }

    /// The rest of it.
    pub async fn wait(self) -> Option<String> {
        let mut first = None;
        for told in self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let error = told.await;
            first = first.or_else(|| error.map(|error| error.to_string()));
        }
        first
    }
}
