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

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, GpuBroadPhase, Query, Ray, SweptRay, wgpu};
use pollster::block_on;

#[allow(unused_imports, reason = "each test binary uses a part")]
pub use full::{daily_or_full, is_full};
pub use wild::Rng;

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
/// A thread owns its devices until it ends, then later threads reuse them. With shared devices, a poll may return while
/// another thread runs callbacks, and wgpu panics if a thread waits over six seconds for a GL device (wgpu issue 5299),
/// while a software driver compiles.
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

fn around(center: [f32; 3], edges: [f32; 3]) -> Aabb {
    Aabb::new(
        [0, 1, 2].map(|axis| center[axis] - edges[axis] / 2.0),
        [0, 1, 2].map(|axis| center[axis] + edges[axis] / 2.0),
    )
}

pub fn uniform(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (8.0 * count as f32 / 6.0).cbrt();
    (0..count)
        .map(|_| around(rng.point(side), [0; 3].map(|_| 0.5 + rng.unit())))
        .collect()
}

pub fn power_law(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (192.2 * count as f32).cbrt();
    (0..count)
        .map(|_| {
            let u = rng.unit() * (1.0 - 1.0 / 65_536.0);
            around(rng.point(side), [1.0 / (1.0 - u).sqrt(); 3])
        })
        .collect()
}

/// Rods along x, each through 61 cells of size 1. Four of five rays run along the rods, half of them between rods.
pub fn rods(count: usize, rays: usize, rng: &mut Rng) -> (Vec<Aabb>, Vec<Ray>) {
    let objects = (0..count)
        .map(|_| {
            let [y, z] = [0; 2].map(|_| rng.below(2) as f32 + 0.5);
            around([rng.unit(), y, z], [60.0, 0.8, 0.8])
        })
        .collect();
    let rays = (0..rays)
        .map(|ray| {
            let at = [0.2 + 0.6 * rng.unit(), 0.95][ray % 2];
            let [y, z] = [0; 2].map(|_| rng.below(2) as f32 + at);
            match ray % 5 {
                0 => Ray::new([40.0 * rng.unit() - 20.0, y, -5.0], [0.1, 0.1, 1.0], 100.0),
                1 | 2 => Ray::new([50.0, y, z], [-1.0, 0.0001, 0.0], 100.0),
                _ => Ray::new([-50.0, y, z], [1.0, 0.0, -0.0001], 100.0),
            }
        })
        .collect();
    (objects, rays)
}

fn nudge(value: f32, rng: &mut Rng) -> f32 {
    match rng.below(4) {
        0 => value.next_up(),
        1 => value.next_down(),
        2 if value == 0.0 => -value,
        _ => value,
    }
}

/// Boxes with corners on a lattice around the origin, each coordinate moved by at most one float.
pub fn lattice(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let step = [0.5, 1.0, 1.5, 0.1][rng.below(4)];
    let side = 2 + (count as f64).cbrt() as usize;
    (0..count)
        .map(|_| {
            let low = [0; 3].map(|_| rng.below(side) as f32 - (side / 2) as f32);
            let edges = [0; 3].map(|_| rng.below(3) as f32);
            let [min, max] = [low, [0, 1, 2].map(|axis| low[axis] + edges[axis])]
                .map(|corner| corner.map(|cell| nudge(cell * step, rng)));
            Aabb::new([0, 1, 2].map(|axis| min[axis].min(max[axis])), max)
        })
        .collect()
}

pub struct Scene {
    pub name: String,
    pub objects: Vec<Aabb>,
    pub rays: Vec<Ray>,
}

impl Scene {
    pub fn queries(&self, worlds: u32) -> Vec<Query> {
        let mut rng = Rng(self.objects.len() as u64 + 1);
        let corner = |object: &Aabb, upper: bool| if upper { object.max } else { object.min };
        (0..self.objects.len().min(300))
            .map(|_| {
                let object = self.objects[rng.below(self.objects.len())];
                let mut query = match rng.below(4) {
                    0 => Query::overlaps(object),
                    1 => Query::point(corner(&object, rng.below(2) == 0)),
                    // A random radius equals no distance on the lattice, which devices may round differently.
                    2 => Query::sphere(corner(&object, rng.below(2) == 0), 3.0 * rng.unit()),
                    _ => Query::overlaps(Aabb::new(
                        object.min.map(|low| low - 2.0),
                        object.max.map(|high| high + 4.0),
                    )),
                };
                match rng.below(25) {
                    0 => query.radius = [-1.0, f32::NAN][rng.below(2)],
                    1 => query.bounds.group = [Aabb::EXCLUDED, Aabb::STATIC, 2][rng.below(3)],
                    2 => query.bounds.layers = 0x0001_0003,
                    // With more objects, this query would exceed llvmpipe's limit of loop iterations.
                    3 if self.objects.len() < 600 => query.bounds.max[rng.below(3)] = f32::INFINITY,
                    _ => {}
                }
                query.in_world(rng.below(worlds as usize + 1) as u32)
            })
            .collect()
    }

    /// Some are out of range. Empty if `count` is 1.
    pub fn worlds(&self, count: u32) -> Vec<u32> {
        if count <= 1 {
            return Vec::new();
        }
        let mut rng = Rng(self.objects.len() as u64);
        (0..self.objects.len())
            .map(|_| match rng.below(40) {
                0 => count,
                1 => u32::MAX,
                _ => rng.below(count as usize) as u32,
            })
            .collect()
    }
}

pub const KINDS: usize = 6;

pub fn scene(kind: usize, count: usize, rays: usize, rng: &mut Rng) -> Scene {
    let (name, mut objects) = match kind {
        0 => ("uniform", uniform(count, rng)),
        1 => ("power law", power_law(count, rng)),
        2 => ("one cell", vec![around([3.0; 3], [1.0; 3]); count.min(200)]),
        3 => (
            "far clusters",
            (0..count)
                .map(|_| {
                    let far = [-3e6, 0.0, 7e5, 1e30][rng.below(4)];
                    let [x, y, z] = rng.point(8.0);
                    around([x + far, y - far, z], [0.25 + rng.unit(); 3])
                })
                .collect(),
        ),
        4 => (
            "islands in a wide void",
            (0..count)
                .map(|_| {
                    let [x, y, z] = rng.point(6.0);
                    let island = [-150.0, 0.0, 130.0][rng.below(3)];
                    around([x + island, y - island, z + island], [0.5 + rng.unit(); 3])
                })
                .collect(),
        ),
        _ => ("lattice", lattice(count, rng)),
    };
    for object in &mut objects {
        match rng.below(60) {
            0 => object.min[rng.below(3)] = f32::NAN,
            1 => object.max[rng.below(3)] = f32::INFINITY,
            2 => std::mem::swap(&mut object.min, &mut object.max),
            3 => object.group = Aabb::EXCLUDED,
            4..8 => object.group = Aabb::STATIC | rng.below(3) as u32,
            8..12 => *object = object.with_layers(rng.below(16) as u16, rng.below(16) as u16),
            12 if rng.below(5) == 0 => *object = around([0.0; 3], [500.0; 3]),
            13 if rng.below(5) == 0 => object.min[rng.below(3)] = f32::NEG_INFINITY,
            14 => object.group = 1 + rng.below(2) as u32,
            _ => {}
        }
    }
    let rays = (0..rays).map(|_| random_ray(&objects, rng)).collect();
    Scene {
        name: format!("{name}, {} objects", objects.len()),
        objects,
        rays,
    }
}

pub fn scenes(seed: u64) -> impl Iterator<Item = Scene> {
    const SIZES: [usize; 13] = [0, 1, 2, 255, 256, 257, 511, 512, 513, 1919, 1920, 1921, 5000];
    let mut rng = Rng(seed);
    let others = (0..KINDS - 1).flat_map(|kind| [257, 1921].map(|count| (kind, count)));
    let all: Vec<_> = SIZES
        .map(|count| (KINDS - 1, count))
        .into_iter()
        .chain(others)
        .chain([(1, 5000)])
        .collect();
    all.into_iter()
        .map(move |(kind, count)| scene(kind, count, [70, 256, 300][count % 3], &mut rng))
}

pub fn random_scene(rng: &mut Rng, max_objects: usize, max_rays: usize) -> Scene {
    let kind = rng.below(11);
    let count = [0, 1, 2, 255, 256, 257, max_objects, rng.below(max_objects)][rng.below(8)].min(max_objects);
    let rays = rng.below(max_rays + 1);
    scene(kind, count, rays, rng)
}

fn random_ray(objects: &[Aabb], rng: &mut Rng) -> Ray {
    let mut corner = || {
        let Some(object) = objects.get(rng.below(objects.len())) else {
            return [1.0, -0.0, 2.5];
        };
        [0, 1, 2].map(|axis| {
            if rng.below(2) == 0 {
                object.min[axis]
            } else {
                object.max[axis]
            }
        })
    };
    let (from, to) = (corner(), corner());
    let mut direction = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    let mut origin = from;
    match rng.below(14) {
        0 => direction = [0.0, -0.0, 1e-40],
        1 => direction[rng.below(3)] = 0.0,
        2 => direction = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 2.0]][rng.below(3)],
        3 => direction[rng.below(3)] = f32::NAN,
        4..7 => origin = [0, 1, 2].map(|axis| from[axis] - 2.0 * direction[axis]),
        7 => direction = direction.map(|component| component * 1e-3),
        8 => origin[rng.below(3)] = [f32::NAN, f32::NEG_INFINITY][rng.below(2)],
        9 => direction[rng.below(3)] = [2f32.powi(126), 2f32.powi(126).next_up(), f32::INFINITY][rng.below(3)],
        _ => {}
    }
    let most = [f32::INFINITY, 1.0, 2.0, 100.0, 0.0, -0.0, -1.0, 1e-40, f32::NAN];
    let t_max = most[if rng.below(3) == 0 {
        rng.below(most.len())
    } else {
        rng.below(4)
    }];
    Ray::new(origin, direction, t_max)
}

/// Some values are invalid. Small extents keep crowded scenes within llvmpipe's limit of loop iterations.
pub fn sweep(rays: &[Ray], worlds: u32, rng: &mut Rng) -> Vec<SweptRay> {
    rays.iter()
        .map(|&ray| {
            let largest = [0.0, 0.05, 0.5, 0.5, 2.0][rng.below(5)];
            let half_extents = [0; 3].map(|_| [largest, 0.0, largest * 0.5][rng.below(3)]);
            let t_min = [0.0, 0.0, -0.0, 0.25, 1.0, -2.0, 1e-40][rng.below(7)];
            let mut swept = SweptRay::new(ray)
                .with_half_extents(half_extents)
                .with_t_min(t_min)
                .with_world(rng.below(worlds as usize) as u32);
            match rng.below(40) {
                0 => swept.half_extents[rng.below(3)] = [-0.0, -1e-45, f32::NAN, f32::INFINITY][rng.below(4)],
                1 => swept.half_extents[rng.below(3)] = [1e-45, 1e30, f32::MAX, 1e6][rng.below(4)],
                2 => swept.t_min = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX][rng.below(4)],
                3 => swept.world = [worlds, u32::MAX][rng.below(2)],
                4..10 => swept.ray = ray.with_layers(rng.below(16) as u16, rng.below(16) as u16),
                _ => {}
            }
            swept
        })
        .collect()
}
