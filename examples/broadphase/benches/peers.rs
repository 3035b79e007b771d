//! Build and all pairs, beside parry3d on the same boxes: medians of alternating runs, in milliseconds of wall time.
//!
//! `cargo bench -p broadphase --features peers -- [RUNS]`

use std::collections::BTreeMap;
use std::time::Instant;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, GpuBroadPhase, Headless, HeadlessDescriptor, Source, StepInput};
use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use pollster::block_on;

#[allow(
    dead_code,
    unused_imports,
    reason = "the generator of the command line has more than is measured"
)]
#[path = "../src/generate/boxes.rs"]
mod boxes;
#[allow(dead_code, reason = "the generator of the command line has more than is measured")]
#[path = "../src/generate/random.rs"]
mod random;

use random::Random;

/// Records, submits and waits: objects from the host, pairs left on the device.
struct Engine {
    headless: Headless,
    broad_phase: GpuBroadPhase,
}

impl Engine {
    fn new() -> Self {
        let headless = block_on(Headless::with_descriptor(&HeadlessDescriptor::default())).expect("an adapter");
        let descriptor = BroadPhaseDescriptor {
            filters: false,
            timestamps: true,
            ..Default::default()
        };
        let broad_phase = GpuBroadPhase::new(headless.device(), &descriptor).expect("a broad phase");
        Self { headless, broad_phase }
    }

    fn step(&mut self, objects: &[Aabb]) {
        let (device, queue) = (self.headless.device(), self.headless.queue());
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = StepInput {
            objects: Source::Host(objects),
            ..Default::default()
        };
        self.broad_phase
            .step(device, queue, &mut encoder, input)
            .expect("a step that fits");
        queue.submit([encoder.finish()]);
        device
            .poll(gpu_broad_phase::wgpu::PollType::wait_indefinitely())
            .expect("a device that answers");
    }

    /// Pairs and the milliseconds of each stage of the last step.
    fn read(&mut self) -> (u64, Vec<(&'static str, f64)>) {
        let (device, queue) = (self.headless.device(), self.headless.queue());
        let result = block_on(self.broad_phase.read_back(device, queue)).expect("a read-back");
        let stages = result.timings.iter().map(|time| (time.stage, time.nanoseconds / 1e6));
        (result.counters.pairs_needed, stages.collect())
    }
}

fn parry_boxes(objects: &[Aabb]) -> Vec<ParryAabb> {
    let vector = |[x, y, z]: [f32; 3]| Vector::new(x, y, z);
    objects
        .iter()
        .map(|object| ParryAabb::new(vector(object.min), vector(object.max)))
        .collect()
}

fn parry_one_thread(leaves: &[ParryAabb]) -> u64 {
    let bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, leaves);
    let mut pairs = Vec::new();
    bvh.traverse_bvtt_single_tree::<false>(&mut BvhWorkspace::default(), &mut |a, b| pairs.push((a, b)));
    pairs.len() as u64
}

fn parry_all_threads(leaves: &[ParryAabb]) -> u64 {
    let bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, leaves);
    bvh.traverse_bvtt_single_tree_parallel::<false>().len() as u64
}

fn milliseconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let value = run();
    (start.elapsed().as_secs_f64() * 1e3, value)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let runs = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(5);
    let mut engine = Engine::new();
    let info = engine.headless.adapter_info().clone();
    println!("{} ({:?}), driver {}", info.name, info.backend, info.driver_info);
    for (scene, count) in [
        ("uniform", 10_000),
        ("uniform", 100_000),
        ("uniform", 1_000_000),
        ("power-law", 1_000_000),
    ] {
        let mut random = Random::new(1);
        let rows = match scene {
            "uniform" => boxes::uniform(count, 3, &mut random),
            _ => boxes::power_law(count, 3, &mut random),
        };
        let objects: Vec<_> = rows
            .chunks_exact(6)
            .map(|row| Aabb::new([row[0], row[1], row[2]], [row[3], row[4], row[5]]))
            .collect();
        let leaves = parry_boxes(&objects);
        engine.step(&objects);
        let (pairs, _) = engine.read();
        engine.step(&objects);
        let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for _ in 0..runs {
            times
                .entry("gpu-broad-phase")
                .or_default()
                .push(milliseconds(|| engine.step(&objects)).0);
            let (time, found) = milliseconds(|| parry_one_thread(&leaves));
            assert_eq!(found, pairs, "parry3d finds other pairs");
            times.entry("parry3d, 1 thread").or_default().push(time);
            let (time, found) = milliseconds(|| parry_all_threads(&leaves));
            assert_eq!(found, pairs, "parry3d finds other pairs");
            times.entry("parry3d, all threads").or_default().push(time);
        }
        println!("\n{scene} {count}: {pairs} pairs");
        for (engine, times) in &mut times {
            println!("  {engine:<22} {:8.1} ms", median(times));
        }
        let (_, stages) = engine.read();
        let stages: Vec<_> = stages
            .iter()
            .map(|(stage, time)| format!("{stage} {time:.1}"))
            .collect();
        println!("  {}", stages.join(", "));
    }
}
