use gpu_broad_phase::BroadPhase;
use gpu_broad_phase::wgpu::{AdapterInfo, Device, Queue};

#[derive(Clone, Copy)]
pub struct Gpu<'a> {
    pub device: &'a Device,
    pub queue: &'a Queue,
    pub info: &'a AdapterInfo,
}

impl<'a> Gpu<'a> {
    pub fn of(broad_phase: &'a BroadPhase) -> Option<Self> {
        Some(Self {
            device: broad_phase.device()?,
            queue: broad_phase.queue()?,
            info: broad_phase.adapter_info()?,
        })
    }
}

/// Such as `llvmpipe (Vulkan)`.
pub fn title(info: &AdapterInfo) -> String {
    format!("{} ({:?})", info.name, info.backend)
}
