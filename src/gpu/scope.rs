//! Error scopes around recordings, so that invalid buffers and lack of memory do not reach the uncaptured-error
//! handler.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// Pending error of a scope. In browsers, it is `Send` only with wgpu's feature `fragile-send-sync-non-atomic-wasm`,
/// which engines turn on.
trait ErrorFuture: Future<Output = Option<wgpu::Error>> + wgpu::WasmNotSend {}

impl<F: Future<Output = Option<wgpu::Error>> + wgpu::WasmNotSend> ErrorFuture for F {}

type ErrorReport = Pin<Box<dyn ErrorFuture>>;

#[must_use]
pub(crate) struct Scopes([wgpu::ErrorScopeGuard; 2]);

/// Errors of closed scopes, which browsers deliver later. The mutex makes this type `Sync`.
#[derive(Default)]
pub(crate) struct DeviceErrors(Mutex<Vec<ErrorReport>>);

impl Scopes {
    pub fn begin(device: &wgpu::Device) -> Self {
        Self([wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation].map(|kind| device.push_error_scope(kind)))
    }

    pub fn end(self) -> DeviceErrors {
        let Self([memory, validation]) = self;
        let validation: ErrorReport = Box::pin(validation.pop());
        DeviceErrors(Mutex::new(vec![validation, Box::pin(memory.pop())]))
    }
}

impl DeviceErrors {
    pub fn after(self, earlier: Self) -> Self {
        let lists = [earlier, self].map(|errors| errors.0.into_inner().unwrap_or_else(PoisonError::into_inner));
        Self(Mutex::new(lists.into_iter().flatten().collect()))
    }

    /// Returns the first error that has arrived. On native targets, all have arrived.
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

    pub async fn wait(self) -> Option<String> {
        let mut first = None;
        for told in self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let error = told.await;
            first = first.or_else(|| error.map(|error| error.to_string()));
        }
        first
    }
}
