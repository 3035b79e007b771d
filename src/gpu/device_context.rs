//! The device that buffers and pipelines were made on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scope::Scopes;
use crate::api::error::StepError;
use crate::shared::submission;

/// A device that was seen before.
#[derive(Clone, Debug)]
pub(crate) struct KnownDevice {
    device: wgpu::Device,
    adapter: wgpu::AdapterInfo,
}

/// A device with its queue. Each broad phase has one of its own, which its sets share.
#[derive(Debug)]
pub(crate) struct DeviceContext {
    known: KnownDevice,
    queue: wgpu::Queue,
    /// True if the program said that the device is lost.
    lost: AtomicBool,
}

impl KnownDevice {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: device.clone(),
            adapter: device.adapter_info(),
        }
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Devices compare by a number within their instance alone: those of two instances may be equal.
    pub fn is(&self, device: &wgpu::Device) -> bool {
        self.device == *device && self.adapter == device.adapter_info() && share_errors(&self.device, device)
    }
}

/// Returns whether the error scopes of one device catch the errors of another one: they are the same device. A device
/// that is lost has no errors. There it is taken for the same one, and what is done with it next says that it is lost.
fn share_errors(one: &wgpu::Device, other: &wgpu::Device) -> bool {
    // Browsers compare devices as such, and tell errors later.
    if cfg!(target_arch = "wasm32") {
        return true;
    }
    let of_one = Scopes::begin(one);
    let of_other = Scopes::begin(other);
    // A buffer without usages is refused before anything is made.
    drop(one.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::empty(),
        mapped_at_creation: false,
    }));
    // The scopes that were opened last are the first to close.
    let by_other = of_other.end().now();
    let by_one = of_one.end().now();
    by_other.is_some() || by_one.is_none()
}

impl DeviceContext {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            known: KnownDevice::new(device),
            queue: queue.clone(),
            lost: AtomicBool::new(false),
        }
    }

    /// Makes every later call of the broad phase and of its query sets return that the device is lost.
    pub fn mark_lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`mark_lost`](Self::mark_lost) was called.
    pub fn is_marked_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Refuses another device.
    pub fn check(self: &Arc<Self>, other: &Arc<Self>) -> Result<(), StepError> {
        if Arc::ptr_eq(self, other) || self.known.is(other.device()) {
            Ok(())
        } else {
            Err(StepError::OtherDevice)
        }
    }

    /// Refuses another broad phase, be it on the same device.
    pub fn check_broad_phase(self: &Arc<Self>, other: &Arc<Self>) -> Result<(), StepError> {
        self.check(other)?;
        if Arc::ptr_eq(self, other) {
            Ok(())
        } else {
            Err(StepError::OtherBroadPhase)
        }
    }

    /// Whether this is the device.
    pub fn is_of(&self, device: &wgpu::Device) -> bool {
        self.known.is(device)
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.known.device
    }

    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub fn is_lost(&self) -> bool {
        submission::is_lost(self.device())
    }

    /// What the device said of a recording, or that it is lost, which shows in many ways.
    pub fn refusal(&self, error: String) -> StepError {
        if self.is_lost() {
            StepError::DeviceLost
        } else {
            StepError::Device(error)
        }
    }
}
