//! Steps as a caller takes them, and their answers in an order that can be compared.

use gpu_broad_phase::reference::brute_force::{self, Found};
use gpu_broad_phase::{
    BroadPhaseDescriptor, GpuBroadPhase, Pair, RayHit, RayMode, Scheme, StepInput, StepResult, wgpu,
};
use pollster::block_on;

use super::TestAdapter;

pub const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 0.5 },
];

pub const RAY_MODES: [RayMode; 3] = [RayMode::Closest, RayMode::Any, RayMode::All];

pub fn broad_phase(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> GpuBroadPhase {
    GpuBroadPhase::new(&adapter.device, descriptor).unwrap()
}

pub fn encoder(adapter: &TestAdapter) -> wgpu::CommandEncoder {
    adapter.device.create_command_encoder(&Default::default())
}

pub fn record(
    adapter: &TestAdapter,
    broad_phase: &mut GpuBroadPhase,
    encoder: &mut wgpu::CommandEncoder,
    input: StepInput<'_>,
) {
    broad_phase
        .step(&adapter.device, &adapter.queue, encoder, input)
        .unwrap();
}

pub fn submit(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: StepInput<'_>) {
    let mut encoder = encoder(adapter);
    record(adapter, broad_phase, &mut encoder, input);
    adapter.queue.submit([encoder.finish()]);
}

pub fn read(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase) -> StepResult {
    block_on(broad_phase.read_back(&adapter.device, &adapter.queue)).unwrap()
}

/// Steps until nothing overflows, as a renderer does frame by frame.
pub fn whole(adapter: &TestAdapter, broad_phase: &mut GpuBroadPhase, input: StepInput<'_>) -> StepResult {
    for _ in 0..4 {
        submit(adapter, broad_phase, input);
        let result = read(adapter, broad_phase);
        if result.counters.is_whole() {
            return result;
        }
    }
    panic!("still not whole after four steps");
}

pub fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    pairs
}

fn ranges<'r, T>(offsets: &'r [u32], rows: &'r [T]) -> impl Iterator<Item = &'r [T]> {
    offsets.windows(2).map(|ends| &rows[ends[0] as usize..ends[1] as usize])
}

/// Hits as bits, by object.
pub fn by_object(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    hits.sort_unstable();
    hits
}

/// The hits of each ray as bits, by object.
pub fn hits_by_ray(result: &StepResult) -> Vec<Vec<(u32, u32)>> {
    ranges(&result.ray_offsets, &result.ray_hits).map(by_object).collect()
}

/// What each query found, ascending.
pub fn lists(result: &StepResult) -> Vec<Vec<u32>> {
    ranges(&result.query_offsets, &result.query_objects)
        .map(|found| {
            let mut found = found.to_vec();
            found.sort_unstable();
            found
        })
        .collect()
}

/// A result's answers to rays are those that are expected, bit for bit.
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

/// Everything that has to be found, each once, and nothing that may not be.
pub fn check_lists(result: &StepResult, expected: &[Found], what: &str) {
    let lists = lists(result);
    assert_eq!(lists.len(), expected.len(), "{what}");
    for (query, (list, expected)) in lists.iter().zip(expected).enumerate() {
        let has = |found: &[(u32, f64)], object: u32| found.iter().any(|&(other, _)| other == object);
        let is_right = list.windows(2).all(|two| two[0] < two[1])
            && expected
                .surely
                .iter()
                .all(|(object, _)| list.binary_search(object).is_ok())
            && list
                .iter()
                .all(|&object| has(&expected.surely, object) || has(&expected.perhaps, object));
        assert!(is_right, "{what}: query {query} finds {list:?}, not {expected:?}");
    }
}
