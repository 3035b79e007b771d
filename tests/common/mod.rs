#![allow(dead_code, reason = "each test binary uses a part")]

mod full;
pub mod golden;
pub mod pool;
pub mod steps;
mod validation;
pub mod views;

use std::cell::OnceCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_broad_phase::{BroadPhaseDescriptor, GpuBroadPhase, wgpu};
use pollster::block_on;

#[allow(unused_imports, reason = "each test binary uses a part")]
pub use full::{daily_or_full, is_full};
pub use wild::Rng;
#[allow(unused_imports, reason = "each test binary uses a part")]
pub use wild::sized::{LATTICE, Scene, lattice, power_law, rods, scene, scenes, sweep, uniform};

#[derive(Clone)]
pub struct TestAdapter {
    pub name: String,
    /// Number of the device, unique in the process. wgpu handles may compare equal across instances.
    pub number: usize,
    index: usize,
    pub backends: wgpu::Backends,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    /// Keeps the device's pipelines alive between tests.
    keeper: Arc<GpuBroadPhase>,
}

const BACKENDS: [(&str, wgpu::Backends); 4] = [
    ("vulkan", wgpu::Backends::VULKAN),
    ("metal", wgpu::Backends::METAL),
    ("dx12", wgpu::Backends::DX12),
    ("gl", wgpu::Backends::GL),
];

/// Returns one adapter per backend: those named in `GPU_BROAD_PHASE_ADAPTERS`, which must exist, or all that are found.
/// wgpu's variables apply. With `GPU_BROAD_PHASE_VALIDATION=1`, the process aborts at the first message of the Vulkan
/// validation layer.
///
/// A thread owns its devices until it ends, then later threads reuse them. If threads shared them, a poll might return
/// while another runs callbacks, and wgpu panics after six seconds of waiting for a GL device (wgpu issue 5299).
pub fn adapters() -> Vec<TestAdapter> {
    thread_local! {
        static LEASE: OnceCell<Lease> = const { OnceCell::new() };
    }
    let all = LEASE.with(|lease| lease.get_or_init(Lease::new).0.clone());
    if all.is_empty() {
        eprintln!("skipped: no adapter on this machine");
    }
    all
}

/// With `GPU_BROAD_PHASE_FULL=1`, returns all [`adapters`], else the first, for tests that compile many pipelines.
pub fn daily_adapters() -> Vec<TestAdapter> {
    let mut all = adapters();
    all.truncate(daily_or_full(1, all.len()));
    all
}

impl TestAdapter {
    pub fn new(name: String, index: usize, backends: wgpu::Backends, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        Self {
            name,
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            index,
            backends,
            keeper: Arc::new(
                GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase"),
            ),
            device,
            queue,
        }
    }

    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// True for all cases on the first adapter, and for every seventh on the others. Settings repeat every 2, 3, 4 or 5
    /// cases, so every seventh case still meets all of them.
    pub fn runs(&self, case: usize) -> bool {
        self.runs_one_in(7, case)
    }

    /// As [`runs`](Self::runs), for every `parts`-th case.
    pub fn runs_one_in(&self, parts: usize, case: usize) -> bool {
        self.is_first() || case % parts == self.index % parts || is_full()
    }
}

/// As [`adapters`], but with new devices, which the thread does not share or return.
pub fn own_adapters() -> Vec<TestAdapter> {
    validation::install();
    let required = std::env::var("GPU_BROAD_PHASE_ADAPTERS").ok();
    let names: Option<Vec<_>> = required
        .as_deref()
        .map(|names| names.split(',').map(str::trim).collect());
    let is_known = |name: &&str| BACKENDS.iter().any(|(known, _)| known == name);
    let unknown = names.iter().flatten().find(|name| !is_known(name));
    assert!(unknown.is_none(), "GPU_BROAD_PHASE_ADAPTERS names {unknown:?}");
    let mut found = Vec::new();
    for (name, backends) in BACKENDS {
        if names.as_ref().is_some_and(|names| !names.contains(&name)) {
            continue;
        }
        match open(name, backends, found.len()) {
            Some(adapter) => found.push(adapter),
            None => assert!(names.is_none(), "GPU_BROAD_PHASE_ADAPTERS asks for {name}: no adapter"),
        }
    }
    found
}

static FREE: Mutex<Vec<Vec<TestAdapter>>> = Mutex::new(Vec::new());

/// A thread's devices. They return to `FREE`, because wgpu cannot drop a device in a thread-local destructor.
struct Lease(Vec<TestAdapter>);

impl Lease {
    fn new() -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(free.unwrap_or_else(own_adapters))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let adapters = std::mem::take(&mut self.0);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(adapters);
    }
}

fn open(name: &str, backends: wgpu::Backends, index: usize) -> Option<TestAdapter> {
    let mut flags = wgpu::InstanceFlags::from_env_or_default();
    if validation::is_wanted() {
        flags |= wgpu::InstanceFlags::debugging();
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapter = block_on(instance.enumerate_adapters(backends)).into_iter().next()?;
    let (device, queue) = block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("test device"),
        required_features: adapter.features() & GpuBroadPhase::optional_features(),
        required_limits: GpuBroadPhase::required_limits(),
        ..Default::default()
    }))
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    device.on_uncaptured_error(Arc::new(|error| panic!("{error}")));
    if backends == wgpu::Backends::VULKAN {
        validation::expect_layer(&device);
    }
    let name = format!("{name} ({})", adapter.get_info().name);
    Some(TestAdapter::new(name, index, backends, device, queue))
}
