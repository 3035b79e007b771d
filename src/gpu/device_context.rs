use std::sync::atomic::{AtomicBool, Ordering};

use super::adapter::DeviceClass;
use crate::api::error::StepError;
use crate::shared::bounds::binding_limit;

#[derive(Debug)]
pub(crate) struct DeviceContext {
    device: wgpu::Device,
    queue: wgpu::Queue,
    lost: AtomicBool,
    binding_limit: u64,
    class: DeviceClass,
}

impl DeviceContext {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self {
            device: device.clone(),
            queue: queue.clone(),
            lost: AtomicBool::new(false),
            binding_limit: binding_limit(&device.limits()),
            class: DeviceClass::of(&device.adapter_info()),
        }
    }

    pub fn mark_lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub fn is_marked_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Largest bytes of a storage binding.
    pub const fn binding_limit(&self) -> u64 {
        self.binding_limit
    }

    pub const fn class(&self) -> DeviceClass {
        self.class
    }

    pub const fn device(&self) -> &wgpu::Device {
        &self.device
    }

    pub const fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub fn refusal(&self, error: String) -> StepError {
        if is_lost(&self.device) {
            StepError::DeviceLost
        } else {
            StepError::Device(error)
        }
    }
}

/// Returns true if the device is lost: its buffers then have no memory. Takes some microseconds, so only called after
/// errors and before pipelines are created. Always false in browsers, which report a loss only to the device's own
/// callback.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("gpu_broad_phase/is_lost"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    let lost = buffer.get_mapped_range(..).is_err();
    drop(scope);
    lost
}
