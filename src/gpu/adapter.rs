use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the adapters of `backends` in the order in which [`Backend::Adapter`](crate::Backend::Adapter) numbers them,
/// GL adapters last. Empty if no wgpu backend was compiled in (feature `backends`).
pub async fn adapters(backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    // wgpu panics if no backend is enabled.
    if (backends & wgpu::Instance::enabled_backend_features()).is_empty() {
        return Vec::new();
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags: wgpu::InstanceFlags::from_env_or_default(),
        backend_options: wgpu::BackendOptions::from_env_or_default(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    instance.enumerate_adapters(backends).await
}

/// Returns the adapter with the name or index `wanted`, or the best one without `wanted`. GL adapters are only
/// enumerated if other backends have no match or no hardware: GL libraries load slowly, and some log errors without a
/// display.
pub(crate) async fn choose(backends: wgpu::Backends, wanted: Option<&str>) -> Option<wgpu::Adapter> {
    let named = |found: &[wgpu::Adapter], name: &str| {
        let name = name.to_lowercase();
        found
            .iter()
            .position(|adapter| adapter.get_info().name.to_lowercase().contains(&name))
    };
    let index = wanted.and_then(|wanted| wanted.parse::<usize>().ok());
    let place = |found: &[wgpu::Adapter]| match (index, wanted) {
        (Some(index), _) => (index < found.len()).then_some(index),
        (None, Some(name)) => named(found, name),
        (None, None) => (0..found.len()).min_by_key(|&index| rank(&found[index].get_info())),
    };
    let mut found = adapters(backends - wgpu::Backends::GL).await;
    let mut chosen = place(&found);
    if !chosen.is_some_and(|index| wanted.is_some() || is_hardware(&found[index])) {
        found.extend(adapters(backends & wgpu::Backends::GL).await);
        // The index may be part of a name, such as 4090.
        chosen = place(&found).or_else(|| named(&found, wanted?));
    }
    chosen.map(|index| found.swap_remove(index))
}

pub(crate) async fn choose_hardware() -> Option<wgpu::Adapter> {
    /// Cached, because enumerating adapters takes longer than many steps.
    static NO_HARDWARE: AtomicBool = AtomicBool::new(false);
    if NO_HARDWARE.load(Ordering::Relaxed) {
        return None;
    }
    let backends = wgpu::Backends::all() - wgpu::Backends::GL;
    let chosen = choose(backends, None).await.filter(is_hardware);
    NO_HARDWARE.store(chosen.is_none(), Ordering::Relaxed);
    chosen
}

/// Kind of a device, on which constants of pipelines, the sort and plans depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceClass {
    /// A discrete or integrated GPU.
    Hardware,
    /// A virtual GPU, or an adapter of a browser, which may be software.
    Unknown,
    /// A driver that runs shaders on the CPU.
    Software,
}

impl DeviceClass {
    pub fn of(info: &wgpu::AdapterInfo) -> Self {
        match info.device_type {
            wgpu::DeviceType::DiscreteGpu | wgpu::DeviceType::IntegratedGpu => Self::Hardware,
            wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => Self::Unknown,
            wgpu::DeviceType::Cpu => Self::Software,
        }
    }
}

fn is_hardware(adapter: &wgpu::Adapter) -> bool {
    DeviceClass::of(&adapter.get_info()) != DeviceClass::Software
}

fn rank(info: &wgpu::AdapterInfo) -> (u8, bool) {
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => 2,
        wgpu::DeviceType::Cpu => 3,
    };
    (kind, info.backend == wgpu::Backend::Gl)
}
