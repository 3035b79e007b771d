//! Schemes, ray modes, and functions that bring results into a comparable order. Uses no device.

use gpu_broad_phase::{Counters, Pair, RayHit, RayMode, Scheme, StepResult};

pub const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.5 },
    Scheme::Adaptive { min_scale: 0.5 },
];

pub const RAY_MODES: [RayMode; 3] = [RayMode::Closest, RayMode::Any, RayMode::All];

pub fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    pairs
}

fn ranges<'r, T>(offsets: &'r [u32], rows: &'r [T]) -> impl Iterator<Item = &'r [T]> {
    offsets.windows(2).map(|ends| &rows[ends[0] as usize..ends[1] as usize])
}

pub fn by_object(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(|hit| (hit.object, hit.t.to_bits())).collect();
    hits.sort_unstable();
    hits
}

pub fn hits_by_ray(result: &StepResult) -> Vec<Vec<(u32, u32)>> {
    ranges(&result.ray_offsets, &result.ray_hits).map(by_object).collect()
}

pub fn lists(result: &StepResult) -> Vec<Vec<u32>> {
    ranges(&result.query_offsets, &result.query_objects)
        .map(|found| {
            let mut found = found.to_vec();
            found.sort_unstable();
            found
        })
        .collect()
}

/// Returns the counters that are equal on all devices and the CPU engine.
pub fn counted(counters: &Counters) -> [u64; 9] {
    [
        counters.objects.into(),
        counters.invalid.into(),
        counters.excluded.into(),
        counters.large.into(),
        counters.rays_invalid.into(),
        counters.queries_invalid.into(),
        counters.entries_needed,
        counters.pairs_needed,
        counters.hits_needed,
    ]
}
