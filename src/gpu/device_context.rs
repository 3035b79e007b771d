use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scope::Scopes;
use crate::api::error::StepError;
use crate::shared::submission;

#[derive(Clone, Debug)]
pub(crate) struct KnownDevice {
    device: wgpu::Device,
    adapter: wgpu::AdapterInfo,
}

#[derive(Debug)]
pub(crate) struct DeviceContext {
    known: KnownDevice,
    queue: wgpu::Queue,
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

    /// Returns true for the same device. Compares adapters and error scopes too, because devices of two wgpu instances
    /// may have equal ids.
    pub fn is(&self, device: &wgpu::Device) -> bool {
        self.device == *device && self.adapter == device.adapter_info() && share_errors(&self.device, device)
    }
}

/// Returns true if both devices report errors to the same error scopes, so they are one device. Also true if the device
/// is lost, because it then reports none.
fn share_errors(one: &wgpu::Device, other: &wgpu::Device) -> bool {
    // In browsers, `==` suffices, and errors arrive too late for this test.
    if cfg!(target_arch = "wasm32") {
        return true;
    }
    let of_one = Scopes::begin(one);
    let of_other = Scopes::begin(other);
    // Causes an error without an allocation: buffers need usages.
    drop(one.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::empty(),
        mapped_at_creation: false,
    }));
    // Error scopes close in reverse order.
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

    pub fn mark_lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub fn is_marked_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn check(self: &Arc<Self>, other: &Arc<Self>) -> Result<(), StepError> {
        if Arc::ptr_eq(self, other) || self.known.is(other.device()) {
            Ok(())
        } else {
            Err(StepError::OtherDevice)
        }
    }

    /// Fails even if both are on the same device.
    pub fn check_broad_phase(self: &Arc<Self>, other: &Arc<Self>) -> Result<(), StepError> {
        self.check(other)?;
        if Arc::ptr_eq(self, other) {
            Ok(())
        } else {
            Err(StepError::OtherBroadPhase)
        }
    }

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

    pub fn refusal(&self, error: String) -> StepError {
        if self.is_lost() {
            StepError::DeviceLost
        } else {
            StepError::Device(error)
        }
    }
}
