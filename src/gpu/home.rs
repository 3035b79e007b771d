//! The device that buffers and pipelines were made on.

use std::sync::{Arc, OnceLock};

use crate::api::error::{Elsewhere, StepError};
use crate::shared::submission;

/// A device, and its queue once a call has shown it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    device: wgpu::Device,
    adapter: wgpu::AdapterInfo,
    queue: Arc<OnceLock<wgpu::Queue>>,
}

impl Home {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: device.clone(),
            adapter: device.adapter_info(),
            queue: Arc::default(),
        }
    }

    /// Devices compare by a number within their instance alone: those of two instances may be equal.
    pub fn is(&self, device: &wgpu::Device) -> bool {
        self.device == *device && self.adapter == device.adapter_info()
    }

    pub fn check(&self, device: &wgpu::Device) -> Result<(), Elsewhere> {
        if self.is(device) { Ok(()) } else { Err(Elsewhere) }
    }

    /// A queue does not say whose it is: all calls have to agree with the first one.
    pub fn check_queue(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<(), Elsewhere> {
        self.check(device)?;
        if self.queue.get_or_init(|| queue.clone()) == queue {
            Ok(())
        } else {
            Err(Elsewhere)
        }
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    pub fn is_lost(&self) -> bool {
        submission::is_lost(&self.device)
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
