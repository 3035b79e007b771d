//! The device that buffers and pipelines were made on.

use crate::api::error::StepError;
use crate::shared::submission;

/// A device that was seen before.
#[derive(Clone, Debug)]
pub(crate) struct KnownDevice {
    device: wgpu::Device,
    adapter: wgpu::AdapterInfo,
}

/// A device with its queue.
#[derive(Debug)]
pub(crate) struct Home {
    known: KnownDevice,
    queue: wgpu::Queue,
}

impl KnownDevice {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: device.clone(),
            adapter: device.adapter_info(),
        }
    }

    /// Devices compare by a number within their instance alone: those of two instances may be equal.
    pub fn is(&self, device: &wgpu::Device) -> bool {
        self.device == *device && self.adapter == device.adapter_info()
    }
}

impl Home {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            known: KnownDevice::new(device),
            queue: queue.clone(),
        }
    }

    /// Whether this is the same device.
    pub fn check(&self, other: &Self) -> Result<(), StepError> {
        if self.known.device == other.known.device && self.known.adapter == other.known.adapter {
            Ok(())
        } else {
            Err(StepError::OtherDevice)
        }
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
