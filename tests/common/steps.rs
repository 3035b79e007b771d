use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, GpuBroadPhase, OutputOptions, QueryMode, RayHit, RayMode, Scene, StepOutput,
    StepResult, wgpu,
};
use pollster::block_on;

use super::{Rng, TestAdapter, lattice, own_adapters};
pub use wild::answers::{RAY_MODES, SCHEMES, by_object, counted, hits_by_ray, lists, sorted};
pub use wild::check_nearest;

pub fn broad_phase(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
    GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor).unwrap()
}

pub fn encoder(adapter: &TestAdapter) -> wgpu::CommandEncoder {
    adapter.device.create_command_encoder(&Default::default())
}

pub fn record(broad_phase: &mut GpuBroadPhase, encoder: &mut wgpu::CommandEncoder, input: Scene<'_>) -> StepOutput {
    broad_phase.step(encoder, input).unwrap()
}

pub fn submit(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: Scene<'_>) {
    let mut encoder = encoder(adapter);
    record(broad_phase, &mut encoder, input);
    adapter.queue.submit([encoder.finish()]);
}

pub fn read(broad_phase: &mut GpuBroadPhase) -> StepResult {
    block_on(broad_phase.read_back()).unwrap()
}

pub fn download<T: bytemuck::Pod>(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
    bytes: u64,
) -> Vec<T> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).unwrap())
}

pub fn whole(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: Scene<'_>) -> StepResult {
    for _ in 0..4 {
        submit(adapter, broad_phase, input);
        let result = read(broad_phase);
        if result.counters.is_complete() {
            return result;
        }
    }
    panic!("still not whole after four steps");
}

pub fn check_hits(result: &StepResult, mode: RayMode, expected: &[Vec<RayHit>], what: &str) {
    if expected.is_empty() {
        assert!(result.ray_hits.is_empty() && result.ray_any.is_empty(), "{what}");
        return;
    }
    if mode == RayMode::All {
        let found = hits_by_ray(result);
        assert_eq!(found.len(), expected.len(), "{what}");
        for (ray, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(*found, by_object(expected), "{what}: ray {ray}");
        }
        return;
    }
    if mode == RayMode::Any {
        let met: Vec<u32> = expected.iter().map(|hits| u32::from(!hits.is_empty())).collect();
        assert_eq!(result.ray_any, met, "{what}");
        return;
    }
    let closest: Vec<_> = expected.iter().map(|hits| brute_force::closest(hits)).collect();
    let bits = |hits: &[RayHit]| hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect::<Vec<_>>();
    assert_eq!(bits(&result.ray_hits), bits(&closest), "{what}");
}

pub fn check_lists(result: &StepResult, expected: &[Found], what: &str) {
    let lists = lists(result);
    assert_eq!(lists.len(), expected.len(), "{what}");
    for (query, (list, expected)) in lists.iter().zip(expected).enumerate() {
        let mut allowed: Vec<u32> = [&expected.surely[..], &expected.perhaps]
            .concat()
            .iter()
            .map(|&(object, _)| object)
            .collect();
        allowed.sort_unstable();
        let is_right = list.windows(2).all(|two| two[0] < two[1])
            && expected
                .surely
                .iter()
                .all(|(object, _)| list.binary_search(object).is_ok())
            && list.iter().all(|object| allowed.binary_search(object).is_ok());
        assert!(is_right, "{what}: query {query} finds {list:?}, not {expected:?}");
    }
}

pub const INFINITY: f32 = f32::INFINITY;
/// Quiet NaNs of either sign, and a signalling one.
pub const NANS: [f32; 3] = [f32::NAN, f32::from_bits(0xffc0_0001), f32::from_bits(0x7f80_0001)];
pub const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);

/// An adapter with one broad phase per ray mode. Tests share them, so a test starts with the buffers of the test
/// before.
pub struct Bench {
    pub adapter: TestAdapter,
    pub by_mode: [(BroadPhaseDescriptor<'static>, GpuBroadPhase); 3],
}

pub fn benches() -> impl Iterator<Item = MutexGuard<'static, Bench>> {
    static BENCHES: OnceLock<Vec<Mutex<Bench>>> = OnceLock::new();
    let make = |adapter: TestAdapter, scheme| {
        let by_mode = RAY_MODES.map(|ray_mode| {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ..Default::default()
                },
                pairs: ray_mode == RayMode::Closest,
                ..Default::default()
            };
            (descriptor, broad_phase(&adapter, &descriptor))
        });
        Mutex::new(Bench { adapter, by_mode })
    };
    let make_all = || {
        // Benches run in parallel, so each has devices of its own (see `adapters`).
        let of_scheme = |scheme| own_adapters().into_iter().map(move |adapter| make(adapter, scheme));
        SCHEMES.into_iter().flat_map(of_scheme).collect()
    };
    let benches = BENCHES.get_or_init(make_all);
    benches
        .iter()
        .map(|bench| bench.lock().unwrap_or_else(PoisonError::into_inner))
}

pub fn check_on(
    adapter: &TestAdapter,
    descriptor: &BroadPhaseDescriptor<'_>,
    on_gpu: &mut GpuBroadPhase,
    scene: &Scene<'_>,
    fault: &str,
) -> StepResult {
    let what = format!("{fault} on {}, {descriptor:?}", adapter.name);
    let on_cpu = cpu::step_scene(descriptor, scene).unwrap();
    let found = whole(adapter, on_gpu, *scene);
    assert_eq!(counted(&found.counters), counted(&on_cpu.counters), "{what}");
    let pairs = if descriptor.pairs {
        brute_force::scene_pairs(descriptor, scene).unwrap()
    } else {
        Vec::new()
    };
    let hits = brute_force::scene_rays(descriptor, scene).unwrap();
    let in_range = brute_force::scene_queries(descriptor, scene).unwrap();
    for (result, place) in [(&found, "device"), (&on_cpu, "reference")] {
        let what = format!("{what}, {place}");
        assert!(sorted(result.pairs.clone()) == pairs, "{what}: other pairs");
        check_hits(result, descriptor.outputs.ray_mode, &hits, &what);
        if scene.query.query_mode == QueryMode::All && !in_range.is_empty() {
            check_lists(result, &in_range, &what);
        }
    }
    check_nearest(&found.query_nearest, &on_cpu.query_nearest, &what);
    found
}

pub fn among(others: &[Aabb]) -> Vec<Aabb> {
    let mut rng = Rng(others.len() as u64);
    let mut objects = lattice(150, &mut rng);
    for &other in others {
        objects.insert(rng.below(objects.len()), other);
    }
    objects
}

pub fn with_bound(bound: usize, value: f32) -> Aabb {
    let mut object = UNIT;
    [&mut object.min, &mut object.max][bound / 3][bound % 3] = value;
    object
}
