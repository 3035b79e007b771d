//! The device of a broad phase.

use gpu_broad_phase::BroadPhase;
use gpu_broad_phase::wgpu::{AdapterInfo, Device, Queue};

/// A device, its queue and its adapter.
#[derive(Clone, Copy)]
pub struct Gpu<'a> {
    pub device: &'a Device,
    pub queue: &'a Queue,
    pub info: &'a AdapterInfo,
}

impl<'a> Gpu<'a> {
    /// Returns the device of a broad phase, `None` on the CPU.
    pub fn of(broad_phase: &'a BroadPhase) -> Option<Self> {
        Some(Self {
            device: broad_phase.device()?,
            queue: broad_phase.queue()?,
            info: broad_phase.adapter_info()?,
        })
    }
}

/// Returns the adapter's name and backend, as in `llvmpipe (Vulkan)`.
pub fn title(info: &AdapterInfo) -> String {
    format!("{} ({:?})", info.name, info.backend)
}
